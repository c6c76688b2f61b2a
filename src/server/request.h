/* One HTTP request on its way: from headers over pieces of the body to the reply. Handlers see this
 * and nothing of the HTTP library. */
#ifndef SLICED_SERVER_REQUEST_H
#define SLICED_SERVER_REQUEST_H

#include "codec/extender.h"
#include "server/app.h"
#include "server/listeners.h"
#include "util/map.h"

enum { SL_ROUTE_PARAMS_MAX = 2 };

struct sl_request;

/* One row of the table of routes. */
struct sl_route {
    const char *method;  /* "GET" serves HEAD too */
    const char *pattern; /* "/api/v1/nodes/{name}"; NULL: the configured path of the verb */
    enum sl_class class;
    enum sl_audience audience;
    int64_t max_body; /* bytes; 0: server.maxBodyBytes alone */
    bool embedded;    /* only on an embedded cluster */
    /* 0, or -1 after sl_request_fail; may be NULL */
    int (*begin)(struct sl_request *request);
    int (*feed)(struct sl_request *request, const char *data, size_t len);
    void (*finish)(struct sl_request *request); /* writes the reply */
    const char *help;
};

/* What kube-scheduler may choose from, resolved to places in the snapshot as the names stream in.
 * The names are kept as the reply will have them: quoted, each with a comma behind it, one after
 * the other, so that a run of nodes that pass is one copy. */
struct sl_candidates {
    uint32_t *place; /* in the snapshot, or SL_NODE_NONE: unknown */
    uint32_t *end;   /* in text, behind the comma */
    size_t n;
    size_t cap;
    size_t max;
    struct sl_buf text;
    bool *seen; /* by place: finds duplicates */
    size_t seen_cap;
    struct sl_map *unknown_seen; /* the same for unknown names; these are in the arena */
    uint32_t hint;               /* where the next name is expected */
};

/* What a connection keeps from one request to the next, so that a call allocates almost nothing. */
struct sl_workspace {
    struct sl_arena arena;
    struct sl_body *body;
    uint64_t body_serial; /* of the configuration that the decoder's limits are from */
    struct sl_candidates candidates;
    struct sl_buf refused; /* filter: FailedNodes */
    struct sl_buf never;   /* filter: FailedAndUnresolvableNodes */
    struct sl_buf held;    /* a body that is kept whole (small ones only) */
};

struct sl_request {
    struct sl_app *app;
    unsigned audiences; /* whose routes are served where it came in */
    const struct sl_live *live;
    struct MHD_Connection *connection;
    struct sl_workspace *workspace;
    const struct sl_route *route; /* NULL: none matched */
    enum sl_class class;
    struct sl_str path;
    struct sl_str param[SL_ROUTE_PARAMS_MAX]; /* what stood for {name} in the pattern */
    const struct sl_snapshot *snapshot;       /* sl_request_snapshot */
    void *verb_state;                         /* of the handler, in the workspace's arena */
    int64_t started_ns;
    uint64_t received; /* bytes of the body */
    bool begun;        /* the HTTP library has called for it */
    bool failed;       /* code and err say why; the rest of the body is dropped */
    bool answered;
    bool counted; /* in the metrics */
    bool close;   /* the connection ends with the reply */
    /* While the connection is suspended: what writes the reply once it goes on, or suspends it
     * again; else NULL. */
    void (*wake)(struct sl_request *request);
    struct {
        struct sl_bind_result result;
        struct sl_request *next; /* that waits for the same binding */
        uint64_t term;           /* sl_binds_term */
        bool answered;
        bool fetched; /* the pod was looked for */
    } bind;
    unsigned code;
    enum sl_outcome outcome;
    const char *content_type;
    const char *allow; /* of a 405 */
    struct sl_buf reply;
    struct sl_error err;
};

/* The request ends with that status and request->err as its reason; returns -1. */
int sl_request_fail(struct sl_request *request, unsigned code);
/* The same with the status that goes with the error's code. */
int sl_request_fail_err(struct sl_request *request);

/* The one snapshot that this request sees. */
const struct sl_snapshot *sl_request_snapshot(struct sl_request *request);

/* A parameter of the query, empty when absent. */
struct sl_str sl_request_query(const struct sl_request *request, const char *name);
/* Is text asked for (?output=table), or JSON (?output=json, or nothing)? Sets the content type. -1
 * after sl_request_fail. */
int sl_request_output(struct sl_request *request, bool *table);
/* Its query has no other parameters than these ("output, limit"). -1 after sl_request_fail. */
int sl_request_only(struct sl_request *request, const char *names);
/* The number ?name=, within 1..max, fallback when absent. -1 after sl_request_fail. */
int sl_request_number(struct sl_request *request, const char *name, int64_t fallback, int64_t max,
                      int64_t *out);

/* Everything that a request and its connection need; the callbacks of struct sl_server_calls. */
enum MHD_Result sl_request_handle(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **request);
void sl_request_completed(void *context, struct MHD_Connection *connection, void **request,
                          enum MHD_RequestTerminationCode how);
void sl_request_connection(void *context, struct MHD_Connection *http, void **socket_context,
                           enum MHD_ConnectionNotificationCode what);

#endif
