/* One HTTP request on its way: from headers over pieces of the body to the reply. Handlers see this
 * and nothing of the HTTP library. */
#ifndef SLICED_SERVER_REQUEST_H
#define SLICED_SERVER_REQUEST_H

#include "server/http/http.h"

struct sl_request {
    struct sl_app *app;
    struct sl_http *http;
    struct sl_metrics *metrics;
    const struct sl_live *live; /* the configuration that it is served by */
    unsigned audiences;         /* whose routes are served where it came in */
    struct MHD_Connection *connection;
    struct sl_workspace *workspace;
    const struct sl_route *route; /* NULL: none matched */
    enum sl_class class;
    struct sl_str path;
    struct sl_str param[SL_ROUTE_PARAMS_MAX]; /* what stood for {name} in the pattern */
    const struct sl_snapshot *snapshot;       /* the one that it sees; sl_app_snapshot */
    void *verb_state;                         /* of the handler; what ended reads is on the heap */
    int64_t started_ns;                       /* monotonic */
    uint64_t received;                        /* bytes of the body */
    bool begun;                               /* the HTTP library has called for it */
    bool failed; /* code and err say why; the rest of the body is dropped */
    bool answered;
    bool counted; /* in the metrics */
    bool close;   /* the connection ends with the reply */
    bool chunked; /* so is the body; it ends with the reply, too: see framing.c */
    /* While the connection is suspended: writes the reply once it goes on, or suspends it again.
     * Else NULL. */
    void (*wake)(struct sl_request *request);
    /* A reply without an end, in pieces: called from the server's threads when the last piece has
     * been sent, with an empty reply. 0: the reply is the next piece, or the connection is
     * suspended and this is called again when it goes on. -1: that was all. NULL: the reply is
     * whole. */
    int (*more)(struct sl_request *request);
    void (*ended)(struct sl_request *request); /* beside more: it is not called any more */
    size_t sent;                               /* beside more: bytes of this piece */
    unsigned code;
    enum sl_outcome outcome;
    const char *content_type;
    const char *allow; /* of a 405 */
    bool page;         /* a file of our own page, which may load nothing from elsewhere */
    struct sl_buf reply;
    struct sl_error err;
};

/* Ends the request with that status and request->err as its reason; returns -1. */
int sl_request_fail(struct sl_request *request, unsigned code);
/* The same with the status that goes with the error's code. */
int sl_request_fail_err(struct sl_request *request);
/* The same with 400, because of that parameter of its query. */
int sl_request_fail_query(struct sl_request *request, const char *name);

/* A parameter of the query, empty when absent. */
struct sl_str sl_request_query(const struct sl_request *request, const char *name);
/* Reads ?output=: table, or json, which is the default. Sets the content type. -1 after
 * sl_request_fail. */
int sl_request_output(struct sl_request *request, bool *table);
/* Refuses other parameters of the query than these ("output, limit"). -1 after sl_request_fail. */
int sl_request_only(struct sl_request *request, const char *names);
/* Reads the number ?name=, within 1..max, fallback when absent. -1 after sl_request_fail. */
int sl_request_number(struct sl_request *request, const char *name, int64_t fallback, int64_t max,
                      int64_t *out);

/* The user whom the API server has authenticated for it; empty where requests come without one. */
struct sl_str sl_request_user(const struct sl_request *request);

/* Which routes are served to it. */
struct sl_route_scope sl_request_scope(const struct sl_request *request);

#endif
