/* JSON or YAML as a tree in an arena. It holds the whole text: for tools that print one answer, not
 * for the daemon. */
#ifndef SLICED_CODEC_VALUE_H
#define SLICED_CODEC_VALUE_H

#include "util/buf.h"
#include "util/data/arena.h"
#include "util/error.h"

enum { SL_VALUE_DEPTH_MAX = 64 };

enum sl_value_kind {
    SL_VALUE_NULL,
    SL_VALUE_BOOL,
    SL_VALUE_NUMBER,
    SL_VALUE_STRING,
    SL_VALUE_ARRAY,
    SL_VALUE_OBJECT,
};

struct sl_value {
    enum sl_value_kind kind;
    bool boolean;
    struct sl_str key;      /* of an object's member */
    struct sl_str text;     /* STRING: unescaped UTF-8; NUMBER: as it stands */
    struct sl_value *first; /* ARRAY, OBJECT: what is in it, in the order of the text */
    struct sl_value *next;
};

/* Reads one JSON text, when it begins with '{' or '[', else one YAML document; all is copied into
 * the arena. -1 with *err: line and column of what is wrong; SL_ERR_LIMIT beyond the arena or the
 * depth. */
int sl_value_read(struct sl_str text, struct sl_arena *arena, struct sl_value **out,
                  struct sl_error *err);

/* What stands at a path of keys, such as "status.message"; NULL where there is none. value may be
 * NULL. */
const struct sl_value *sl_value_at(const struct sl_value *value, const char *path);

/* The text of the string or number at that path; empty: there is none. */
struct sl_str sl_value_text(const struct sl_value *value, const char *path);

/* The integer at that path; fallback where there is none. */
int64_t sl_value_i64(const struct sl_value *value, const char *path, int64_t fallback);

/* Moves what is in more's member of that key, an array or object, behind what is in value's; a
 * member that is not there moves nothing. */
void sl_value_join(struct sl_value *value, struct sl_value *more, const char *key);

/* Append the tree, and a line's end. Characters that a terminal would obey, hide or turn round come
 * as escapes. Numbers that only YAML has become JSON's. */
void sl_value_to_json(const struct sl_value *value, struct sl_buf *out);
void sl_value_to_yaml(const struct sl_value *value, struct sl_buf *out);

#endif
