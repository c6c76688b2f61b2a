/* The addresses that the daemon listens on, and who is served at each. A route is served only where
 * its audience is: so who may not ask does not come as far as the route, and each port can be
 * opened to its callers alone. */
#ifndef SLICED_SERVER_LISTENERS_H
#define SLICED_SERVER_LISTENERS_H

#include "server/deadlines.h"
#include "server/server.h"

struct sl_app;

/* For whom a route is. */
enum sl_audience {
    SL_FOR_SCHEDULER = 1 << 0,  /* the verbs: by certificate, or on loopback */
    SL_FOR_API_SERVER = 1 << 1, /* the webhook: API servers show no certificate */
    SL_FOR_KUBELET = 1 << 2,    /* the probes */
    SL_FOR_MONITORING = 1 << 3, /* the metrics */
    SL_FOR_OPERATOR = 1 << 4,   /* all that tells of tenants: on loopback only */
    SL_FOR_ALL = (1 << 5) - 1,
};

struct sl_listener {
    const char *name; /* "verbs", "webhook", ... */
    struct sl_app *app;
    unsigned audiences; /* whose routes are served */
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
    SL_LISTENERS,
};

void sl_listeners_init(struct sl_listener listeners[SL_LISTENERS]);
void sl_listeners_free(struct sl_listener listeners[SL_LISTENERS]);

/* Checks without listening what can be checked of the addresses. */
int sl_listeners_check(const struct sl_config *config, struct sl_error *err);

/* Starts those that the configuration wants. -1 with *err set: some may run. */
int sl_listeners_start(struct sl_app *app, const struct sl_config *config, struct sl_error *err);
/* New connections are refused, but for probes where these have an address of their own. */
void sl_listeners_quiesce(struct sl_listener listeners[SL_LISTENERS]);
void sl_listeners_stop(struct sl_listener listeners[SL_LISTENERS]);

#endif
