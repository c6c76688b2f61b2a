/* Remembers a kind's objects from one look to the next, so that a watch is told each change once.
 * One look serves all requests within a moment. Private to this room. */
#ifndef SLICED_SERVER_VISIBILITY_CACHE_H
#define SLICED_SERVER_VISIBILITY_CACHE_H

#include "server/visibility/kinds.h"
#include "util/data/list.h"
#include "util/data/map.h"

enum {
    SL_VIS_WATCHES_MAX = 64, /* of a kind: each has a bit */
    SL_VIS_GONE_MAX = 4096,  /* objects that went, remembered for those who ask what went since */
    SL_VIS_SPACES = 1024,    /* namespaces told apart, by a hash */
};

struct sl_vis_watch;

/* One object. Bits stand for watches. */
struct sl_vis_object {
    uint64_t digest;  /* of what it shows */
    int64_t born;     /* revision in which it came */
    int64_t revision; /* in which it changed last, or went */
    uint64_t told;    /* who knows of it */
    uint64_t due;     /* who has to be told */
    uint64_t seen;    /* number of the look that showed it last */
    size_t place;     /* once it is gone: in the cache's list */
    struct sl_link gone;
    size_t key_len;
    size_t namespace_len; /* the key's first part */
    size_t name_len;      /* the second */
    char key[];           /* "namespace/name/uid", NUL-terminated */
};

/* Namespaces of one hash: what went of them, and is remembered. */
struct sl_vis_space {
    struct sl_list gone; /* the first one went first */
    size_t n;
    int64_t floor; /* what went of them up to that revision is forgotten */
};

struct sl_vis_cache {
    pthread_mutex_t lock; /* guards all of it; held while a reply is written */
    const struct sl_vis_kind *kind;
    struct sl_app *app;
    struct sl_vis_look look;
    struct sl_map objects; /* by key */
    struct sl_vis_object *gone[SL_VIS_GONE_MAX];
    size_t n_gone;
    struct sl_vis_space space[SL_VIS_SPACES];
    int64_t revision; /* microseconds since 1970 at the last change, and never less than before; 0:
                         nothing is known */
    int64_t begun;    /* what happened up to that revision is not known, */
    int64_t floor;    /* and up to this not all that went */
    uint64_t looks;
    int64_t looked_ns; /* monotonic */
    int64_t cost_ns;   /* of the last look */
    int64_t used_ns;   /* when somebody last asked */
    uint64_t slots;    /* watches that there are */
    uint64_t lost;     /* of them, those that missed something */
    bool closed;
    struct sl_vis_watch *watch[SL_VIS_WATCHES_MAX];
};

struct sl_visibility {
    struct sl_app *app;
    struct sl_vis_cache cache[SL_VIS_KINDS];
};

void sl_vis_cache_init(struct sl_vis_cache *cache, struct sl_app *app,
                       const struct sl_vis_kind *kind);
void sl_vis_cache_free(struct sl_vis_cache *cache);

/* Looks anew when the last look is old: with the lock held. -1 with *err set: SL_ERR_CONFLICT when
 * this replica cannot know; then all is forgotten, and watches are lost. */
int sl_vis_cache_look(struct sl_vis_cache *cache, struct sl_error *err);

/* The revision up to which something that went of the namespace (empty: of any) may be forgotten.
 */
int64_t sl_vis_cache_floor(const struct sl_vis_cache *cache, struct sl_str namespace);

/* Forgets all, unless somebody has asked lately or watches: with the lock held. */
void sl_vis_cache_rest(struct sl_vis_cache *cache);

#endif
