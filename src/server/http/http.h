/* The state that all listeners share. The HTTP side is given the routes, and the memory that
 * handlers keep with a connection; it knows nothing else of the application. */
#ifndef SLICED_SERVER_HTTP_H
#define SLICED_SERVER_HTTP_H

#include "server/http/live.h"
#include "server/http/route.h"
#include "server/net/deadlines.h"
#include "server/net/front_proxy.h"
#include "server/net/server.h"

struct sl_app;
struct sl_http;
struct sl_request;
struct sl_visibility;
struct sl_workspace; /* what handlers keep with a connection from one request to the next */

struct sl_service {
    struct sl_route_table routes;
    struct sl_workspace *(*workspace_new)(void); /* NULL when out of memory */
    void (*workspace_free)(struct sl_workspace *workspace);
    size_t (*workspace_bytes)(const struct sl_workspace *workspace); /* that it holds */
    /* Forgets the last request; gives the large pieces back, or all of them. */
    void (*workspace_reset)(struct sl_workspace *workspace, bool all);
    /* The request's reply is written, or there will be none: it lets go of what it holds of the
     * application. Called at least once. */
    void (*release)(struct sl_request *request);
    /* The memory of the API group visibility.sliced.dev from one request to the next. All may be
     * NULL. */
    struct sl_visibility *(*visibility_new)(struct sl_app *app); /* NULL when out of memory */
    void (*visibility_free)(struct sl_visibility *visibility);   /* after it was closed */
    void (*visibility_tick)(struct sl_visibility *visibility);   /* every second, one thread */
    void (*visibility_close)(struct sl_visibility *visibility);  /* ends its streams for ever */
};

/* An address that the daemon listens on. */
struct sl_listener {
    struct sl_http *http;
    const char *name;   /* "verbs", "webhook", ... */
    unsigned audiences; /* of enum sl_audience: whose routes are served */
    struct sl_tls *tls; /* NULL: plain HTTP */
    size_t max_connections;
    int64_t patience_ns; /* how long a peer may say nothing */
    struct sl_deadlines deadlines;
    struct sl_server *server; /* NULL: there is none */
};

enum {
    SL_LISTENER_MAIN, /* server.listen */
    SL_LISTENER_WEBHOOK,
    SL_LISTENER_PROBES,
    SL_LISTENER_METRICS,
    SL_LISTENER_API,
    SL_LISTENER_VISIBILITY,
    SL_LISTENERS,
};

/* Pointers are borrowed. */
struct sl_http {
    const struct sl_service *service;
    struct sl_app *app; /* handed on to handlers */
    struct sl_metrics *metrics;
    struct sl_live_slot *live;
    struct sl_tls *tls;           /* NULL: plain HTTP */
    struct sl_front_proxy *proxy; /* whose requests of users are believed; NULL: nobody's */
    bool embedded;                /* serves the routes of an embedded cluster */
    _Atomic bool draining;        /* the end has begun: replies close their connections */
    /* until when no refused caller is told of (monotonic): without a certificate, with one */
    _Atomic int64_t silent_us[2];
    struct sl_listener listener[SL_LISTENERS];
};

#endif
