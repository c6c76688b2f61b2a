/* The memory that a connection keeps between requests, so that a call allocates almost nothing. */
#ifndef SLICED_SERVER_WORKSPACE_H
#define SLICED_SERVER_WORKSPACE_H

#include "codec/extender.h"
#include "server/app/app.h"
#include "util/data/map.h"

/* etcd takes no longer object by default: no API server has a longer pod. */
enum { SL_HELD_MAX = 3 << 19 };

/* The nodes that kube-scheduler may choose from, found in the snapshot as their names stream in.
 * The names are kept as the reply will have them: quoted, each with a comma behind it, one after
 * the other, so that a run of nodes that pass is one copy. */
struct sl_candidates {
    uint32_t *place;   /* in the snapshot, or SL_NODE_NONE: unknown */
    uint32_t *end;     /* in text, behind the comma */
    size_t *whole_end; /* in the reply, behind the comma; only where whole nodes are given back */
    size_t n;
    size_t cap;
    size_t whole_cap;
    size_t max;
    struct sl_buf text;
    bool *seen; /* by place: finds duplicates */
    size_t seen_cap;
    struct sl_map *unknown_seen; /* the same for unknown names; these are in the arena */
    uint32_t hint;               /* where the next name is expected */
};

struct sl_workspace {
    struct sl_arena arena;
    struct sl_body *body;
    uint64_t body_serial; /* of the configuration that the decoder's limits are from */
    struct sl_candidates candidates;
    struct sl_buf refused; /* filter: FailedNodes */
    struct sl_buf never;   /* filter: FailedAndUnresolvableNodes */
    struct sl_buf held;    /* a body that is kept whole (small ones only) */
};

/* For struct sl_service. */
struct sl_workspace *sl_workspace_new(void);
void sl_workspace_free(struct sl_workspace *workspace);
size_t sl_workspace_bytes(const struct sl_workspace *workspace);
void sl_workspace_reset(struct sl_workspace *workspace, bool all);

/* Starts decoding a request's body. -1 with request->err set when out of memory. */
int sl_workspace_begin(struct sl_request *request, enum sl_body_kind kind,
                       const struct sl_body_sink *sink);
/* The feed of a route whose body is decoded. -1 after sl_request_fail. */
int sl_workspace_feed(struct sl_request *request, const char *data, size_t len);

/* The feed of a route whose body is kept whole, SL_HELD_MAX bytes at most. -1 with request->err
 * set.
 */
int sl_workspace_hold(struct sl_request *request, const char *data, size_t len);

#endif
