/* Routes: each has a method, a path, callers and a handler. */
#ifndef SLICED_SERVER_ROUTE_H
#define SLICED_SERVER_ROUTE_H

#include "config/config.h"
#include "server/metrics/metrics.h"
#include "util/buf.h"

struct sl_request;

enum { SL_ROUTE_PARAMS_MAX = 3 };

/* For whom a route is. It is served at the addresses that are for these: others do not reach it,
 * and each port can be opened to its callers alone. */
enum sl_audience {
    SL_FOR_SCHEDULER = 1 << 0,  /* the verbs: by certificate, or on loopback */
    SL_FOR_API_SERVER = 1 << 1, /* the webhook: API servers show no certificate */
    SL_FOR_KUBELET = 1 << 2,    /* the probes */
    SL_FOR_MONITORING = 1 << 3, /* the metrics */
    SL_FOR_OPERATOR = 1 << 4,   /* all that names tenants' pods: on loopback only */
    SL_FOR_FORWARDED = 1 << 5,  /* what the API server forwards for its users: by the certificate of
                                   its front proxy, or on loopback */
    SL_FOR_ALL = (1 << 6) - 1,
};

struct sl_route {
    const char *method;  /* "GET" serves HEAD too */
    const char *pattern; /* "/api/v1/nodes/{name}"; NULL: the configured path of the verb */
    enum sl_class class;
    enum sl_audience audience;
    int64_t max_body; /* bytes; 0: server.maxBodyBytes alone */
    bool embedded;    /* only on an embedded cluster */
    /* The headers are there; a piece of the body is; the whole body is: finish writes the reply.
     * 0, or -1 with request->err set. begin and feed may be NULL. */
    int (*begin)(struct sl_request *request);
    int (*feed)(struct sl_request *request, const char *data, size_t len);
    void (*finish)(struct sl_request *request);
    const char *help; /* one line */
};

struct sl_route_table {
    const struct sl_route *row;
    size_t n;
};

/* Which routes of a table are served. */
struct sl_route_scope {
    const struct sl_config *config; /* has the verbs' paths */
    unsigned audiences;             /* of enum sl_audience */
    bool embedded;
};

/* The route that is served at the path, NULL when there is none; its method may be another one.
 * param has what stands for {name} in its pattern. */
const struct sl_route *sl_route_find(const struct sl_route_table *table,
                                     const struct sl_route_scope *scope, struct sl_str path,
                                     struct sl_str param[SL_ROUTE_PARAMS_MAX]);

/* True when path matches the pattern, in which "{name}" stands for one non-empty segment. */
bool sl_route_matches(const char *pattern, struct sl_str path,
                      struct sl_str param[SL_ROUTE_PARAMS_MAX]);

bool sl_route_takes(const struct sl_route *route, const char *method);
/* The methods that it takes, as the header Allow lists them. */
const char *sl_route_allow(const struct sl_route *route);

/* Writes an aligned list of all routes that are served. */
void sl_route_list(const struct sl_route_table *table, const struct sl_route_scope *scope,
                   struct sl_buf *out);

#endif
