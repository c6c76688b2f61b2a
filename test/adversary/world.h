/* The API server's truth: objects as JSON, what a watch tells of them, and what the daemon may do
 * to them. It knows nothing of sliced but the names of paths. One lock guards all of it. */
#ifndef SLICED_ADVERSARY_WORLD_H
#define SLICED_ADVERSARY_WORLD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum world_kind {
    WORLD_NODES,
    WORLD_PODS,
    WORLD_JOBS,
    WORLD_CONFIG_MAPS,
    WORLD_SPACES, /* Namespaces */
    WORLD_KINDS
};

enum { WORLD_THINGS = 512, WORLD_KEY = 400 };

/* An object, as it is and as the daemon was told of it last. */
struct thing {
    char key[WORLD_KEY]; /* "namespace/name"; of a node or Namespace "/name" */
    json_t *now;         /* NULL: there is none (any more) */
    json_t *seen;        /* NULL: it was told of none, or of its end */
};

struct world {
    struct thing thing[WORLD_KINDS][WORLD_THINGS];
    size_t n[WORLD_KINDS];
    bool unsure; /* a list was cut off: what the daemon has seen of it is not known */
    unsigned class_reads;
};

extern struct world world;

void world_begin(void);
void world_end(void);
void world_lock(void);
void world_unlock(void);

/* Puts a new version of it there; steals object. With the lock held, as all that follows. */
void world_put(enum world_kind kind, json_t *object);
void world_delete(enum world_kind kind, struct thing *thing);
struct thing *world_find(enum world_kind kind, const char *ns, const char *name);
/* A deep copy of what is, to be changed and put. */
json_t *world_edit(const struct thing *thing);
/* Versions before now are forgotten: watches from there get 410. */
void world_compact(void);
/* There is a daemon that was told nothing yet. */
void world_forget_told(void);
/* Another replica takes the lease, or lets go of it. note: what it leaves for the next leader;
 * NULL: what stands there. */
void world_take_lease(bool take, const char *note);

/* ---- for the client ---- */

struct world_request {
    const char *method;
    const char *path; /* with its query */
    const char *content_type;
    const char *body;
    size_t len;
};

struct world_reply {
    int status;
    char *text; /* malloc; NULL: none */
    bool watch; /* it stays open */
    enum world_kind kind;
    uint64_t version;
    int list; /* page of that list, or -1 */
    size_t page_end;
    int64_t seconds; /* how long the watch is to last */
};

/* Takes the lock itself, as do the others. */
void world_answer(const struct world_request *request, struct world_reply *reply);
/* A page was told, to its end or not. */
void world_told_page(const struct world_reply *reply, bool whole);
/* The line of the next event behind that version, and its version; NULL: there is none. The caller
 * frees it. */
char *world_next_event(enum world_kind kind, uint64_t version, uint64_t *next);
char *world_bookmark(enum world_kind kind, uint64_t *version);
/* It was told something that was never sent: what it knows is not known. */
void world_told_nonsense(void);
/* It was told. */
void world_told_event(enum world_kind kind, uint64_t version);

/* ---- what was done to it ---- */

struct world_counts {
    uint64_t bound, refused_binds, patches, events, leases, reads;
};
extern struct world_counts world_counts;

#endif
