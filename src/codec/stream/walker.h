/* Reads events into structs by tables of fields, so that no decoder walks a document by hand.
 * Fields that no table names are passed over at the tokenizer's speed (SL_EVENT_SKIP). Nothing
 * grows without a ceiling: open containers, entries of one map, and the arena's own maximum. */
#ifndef SLICED_CODEC_WALKER_H
#define SLICED_CODEC_WALKER_H

#include "codec/stream/event.h"
#include "sliced/facts.h"
#include "util/data/arena.h"

enum {
    SL_WALK_DEPTH_MAX = 16, /* open containers that tables name; deeper ones are skipped text */
    SL_WALK_KEY_MAX = 96,   /* of a map's key in an error's path; cut when longer */
    SL_WALK_MAP_MAX = 512,  /* kept entries of one map of strings */
};

struct sl_walker;

/* event is what led to the call. SL_EVENT_GO, SL_EVENT_SKIP (open hooks only) or what
 * sl_walk_fail() returned. */
typedef int (*sl_walk_hook)(struct sl_walker *walker, void *target, const struct sl_event *event,
                            struct sl_error *err);

/* For lists of strings that are thousands long: takes as many of the first of these as need no word
 * and returns how many; the one behind them then goes to the field's hook value. */
typedef size_t (*sl_walk_run)(struct sl_walker *walker, void *target, const struct sl_str *item,
                              size_t n);

/* Whether an entry of a map is kept. SL_WALK_KEEP_ALWAYS keeps the few entries that must not be
 * missing, however many entries stand before them. */
enum sl_walk_keep { SL_WALK_PASS, SL_WALK_KEEP, SL_WALK_KEEP_ALWAYS };

/* Fields that are needed to say what an object holds: see sl_walker.vital. */
enum sl_walk_vital { SL_VITAL_NOT, SL_VITAL_ITSELF, SL_VITAL_DEEP /* and all that is in it */ };

/* The values that a field takes, and where they go. null is the same as an absent field (as in Go),
 * but an array's elements and an object map's values may not be null. */
enum sl_field_kind {
    SL_FIELD_STRING,     /* struct sl_str at offset: a copy in the arena, NUL-terminated */
    SL_FIELD_I64,        /* int64_t at offset */
    SL_FIELD_I32,        /* int32_t at offset */
    SL_FIELD_BOOL,       /* bool at offset */
    SL_FIELD_TEXT,       /* a string for the hook value */
    SL_FIELD_SCALAR,     /* a string or a number for the hook value */
    SL_FIELD_TEXTS,      /* an array of strings, each for the hook value */
    SL_FIELD_STRINGS,    /* a map of strings: struct sl_pair * at offset, in order */
    SL_FIELD_QUANTITIES, /* the same with numbers allowed, kept as they are written */
    SL_FIELD_OBJECT,     /* an object with its table; its target is target + offset */
    SL_FIELD_OBJECTS,    /* an array of objects: see size */
    SL_FIELD_OBJECT_MAP, /* a map of objects: value is called with each KEY; target + offset */
    SL_FIELD_KINDS,
};

struct sl_table;

struct sl_field {
    const char *name;
    uint16_t name_len;
    enum sl_field_kind kind;
    size_t offset;
    const struct sl_table *table; /* OBJECT, OBJECTS, OBJECT_MAP: of the (each) object */
    size_t size; /* OBJECTS: each element is a new struct of that size, linked to a list whose
                  * head is at offset; 0: the target of all elements is target + offset */
    size_t next; /* OBJECTS with a size: offset of the pointer to the next element */
    size_t max;  /* OBJECTS, TEXTS: most elements, which also leave half of the arena to fields
                  * without one; 0: only the arena's maximum holds */
    enum sl_walk_keep (*keep)(struct sl_str key); /* maps of strings: which entries; NULL:
                                                   * SL_WALK_KEEP for all */
    enum sl_walk_vital vital;
    bool drop_zero;    /* QUANTITIES: an entry of "0" whose key has a '/' is as none */
    sl_walk_hook open; /* containers: before it is opened, with the outer target */
    sl_walk_hook value;
    sl_walk_run run; /* TEXTS: may be NULL */
};

#define SL_FIELD_NAME(text) .name = (text), .name_len = sizeof(text) - 1

struct sl_table {
    const struct sl_field *field;
    unsigned n;
    bool any_case;               /* keys match in any letter case (ASCII) */
    sl_walk_hook begin;          /* an object with this table was opened */
    sl_walk_hook end;            /* it is complete; the path still names it */
    const struct sl_table *also; /* further fields of the same object, same target; its hooks are
                                  * not called. At most 64 fields in all. */
};

#define SL_TABLE_FIELDS(fields) .field = (fields), .n = sizeof(fields) / sizeof((fields)[0])

struct sl_walk_frame {
    const struct sl_field *field;   /* that opened it; NULL: an element */
    const struct sl_table *table;   /* an object's; NULL: array or map */
    const struct sl_field *pending; /* an object's key whose value comes next */
    char *target;
    uint64_t seen;        /* an object's keys met so far, by their place in the tables */
    size_t count;         /* an array's elements before the current one; a map's kept entries */
    char *tail;           /* where the pointer to the next list element goes */
    struct sl_pair *pair; /* a map's entry whose value comes next */
    bool keyed;           /* key is set */
    char key[SL_WALK_KEY_MAX];
};

struct sl_walker {
    void *context;               /* the decoder's own */
    struct sl_arena *arena;      /* borrowed */
    const struct sl_field *root; /* what the text as a whole is; OBJECT or OBJECTS */
    void *target;                /* of root */
    bool null_root;              /* a text may be null (an empty YAML document) */
    bool vital; /* what was deferred was a vital field's type or value, which no API
                 * server lets through, or it did not fit the arena */
    bool defer; /* what cannot be read waits in deferred: see sl_walk_fail */
    unsigned depth;
    struct sl_walk_frame frame[SL_WALK_DEPTH_MAX];
    struct sl_error deferred;
};

void sl_walk_init(struct sl_walker *walker, const struct sl_field *root, void *target,
                  struct sl_arena *arena, void *context);

/* An sl_event_fn: context is the walker. After SL_EVENT_FAIL the walker must be initialised anew.
 */
int sl_walk_receive(void *context, const struct sl_event *event, struct sl_error *err);

/* Fails with the place: path of the current value, line and column of event (may be NULL). While
 * walker->defer is set SL_ERR_TYPE, SL_ERR_FIELD and SL_ERR_LIMIT do not stop the walk: the first
 * is kept in walker->deferred and the value is passed over. Return what it returns. */
int sl_walk_fail(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err,
                 enum sl_error_code code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same for a field that is not there: path is "metadata.name", seen from the current value. */
int sl_walk_missing(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err,
                    const char *path);

/* Adds the place to an error that others set, where it has none. */
void sl_walk_place(const struct sl_walker *walker, const struct sl_event *event,
                   struct sl_error *err);

/* An allocation from the arena failed: SL_ERR_LIMIT or SL_ERR_NOMEM. */
int sl_walk_nomem(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err);

/* Where the walk is, as in "Pod.spec.containers[0].resources.limits[nvidia.com/gpu]"; cut to size.
 * Empty at the root. */
void sl_walk_path(const struct sl_walker *walker, char *out, size_t size);

/* A NUL-terminated copy of the event's text in *out; fails when the text has a NUL in it. */
int sl_walk_copy(struct sl_walker *walker, const struct sl_event *event, struct sl_str *out,
                 struct sl_error *err);

#endif
