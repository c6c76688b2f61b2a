/* The state of the application, on which handlers work: the store, the configuration in force,
 * bindings under way, the metrics. One per process; any thread may use it. */
#ifndef SLICED_SERVER_APP_H
#define SLICED_SERVER_APP_H

#include "codec/write.h"
#include "server/app/binds.h"
#include "server/app/estimates.h"
#include "server/app/grants.h"
#include "server/app/partition_reader.h"
#include "server/app/queue_reader.h"
#include "server/app/usage_reader.h"
#include "server/http/request.h"

enum { SL_RELOAD_TEXT_MAX = 640 };

/* The daemon's additions for a real cluster. All may be NULL; any thread; none may wait. */
struct sl_hooks {
    void *context;
    /* Says what is missing before a decision may be made; NULL: nothing. */
    const char *(*missing)(void *context);
    /* Says what is missing of the cluster, whoever leads; NULL: nothing. */
    const char *(*unsynced)(void *context);
    /* Writes who leads, when another replica does and is known; else "". NULL: there is but one. */
    void (*leader)(void *context, char *out, size_t size);
    /* Goes up whenever this replica becomes the leader; NULL: there is but one. */
    uint64_t (*leadership)(void *context);
    /* Is told of each pod that was bound. */
    void (*bound)(void *context, const struct sl_binding *binding);
    /* Writes further members of /api/v1/state. */
    void (*state)(void *context, struct sl_writer *w);
    /* Writes further metrics. */
    void (*metrics)(void *context, struct sl_buf *out);
};

struct sl_app_options {
    const struct sl_config *config;   /* copied */
    const char *config_path;          /* NULL: none; must outlive the app */
    const struct sl_service *service; /* what is served; NULL: nothing ever is */
    struct sl_store *store;           /* borrowed */
    struct sl_binder binder;
    struct sl_hooks hooks;
    struct sl_queue_reader queue;          /* NULLs: none */
    struct sl_partition_reader partitions; /* NULLs: none */
    struct sl_usage_reader usage;          /* NULLs: none */
    struct sl_tls *tls;                    /* borrowed; NULL: plain HTTP */
    struct sl_front_proxy *proxy;          /* borrowed; NULL: none is believed */
    bool embedded;                         /* serves /api/v1/embedded */
};

/* The last reload, for /api/v1/state. */
struct sl_reload_note {
    int64_t at_us; /* 0: there was none */
    bool ok;
    char text[SL_RELOAD_TEXT_MAX];
};

struct sl_app {
    struct sl_store *store;
    struct sl_hooks hooks;
    struct sl_queue_reader queue;
    struct sl_partition_reader partitions;
    struct sl_usage_reader usage;
    struct sl_binds binds;
    struct sl_grants grants;
    struct sl_estimates estimates;
    struct sl_http http;
    struct sl_live_slot live;
    struct sl_visibility *visibility; /* NULL: the service has none */
    const char *config_path;
    struct sl_metrics metrics;
    _Atomic bool synced;      /* the store holds the whole cluster */
    struct sl_server *server; /* of server.listen; borrowed from its listener */
    struct sl_error tls_err;  /* of the last refresh; used by the refreshing thread alone */
    pthread_mutex_t admit;    /* makes "is the name free" and "put" one step */
    pthread_mutex_t lock;     /* guards note */
    struct sl_reload_note note;
};

/* NULL with *err set when out of memory. Call sl_app_serve to listen. */
struct sl_app *sl_app_new(const struct sl_app_options *options, struct sl_error *err);
/* Stops the server, if sl_app_stop did not. The binder has told the end of all that it was given.
 * NULL is allowed. */
void sl_app_free(struct sl_app *app);

int sl_app_serve(struct sl_app *app, struct sl_error *err);
/* Fails readiness, accepts no more, waits for what is in flight as long as the configuration says.
 * True when all requests were answered. */
bool sl_app_drain(struct sl_app *app);

/* Closes all connections and ends the server's threads: no hook and no binder is called from here
 * on. Bindings under way go on and still change the ledger. */
void sl_app_stop(struct sl_app *app);

/* Ends connections that have used up their time, and has watches told what changed; every second or
 * so, from one thread, while the server runs. */
void sl_app_end_slow(struct sl_app *app);

/* Says what is missing before a decision may be made; NULL: nothing. */
const char *sl_app_missing(const struct sl_app *app);

/* Says what is missing before this replica could take the lead over; NULL: nothing. */
const char *sl_app_unsynced(const struct sl_app *app);

/* The leadership in which a request is decided. To be taken before sl_app_missing: what changes
 * between the two is then noticed. */
uint64_t sl_app_leadership(const struct sl_app *app);

/* The one snapshot that a request sees, until sl_app_release. */
const struct sl_snapshot *sl_app_snapshot(struct sl_request *request);
void sl_app_release(struct sl_request *request);

/* Reads the certificate's files again if they changed; notes, counts and logs what came of it. The
 * same trouble is logged once, unless loud. For one thread. */
void sl_app_refresh_tls(struct sl_app *app, bool loud);

/* Notes how a reload of the configuration went, counts and logs it. */
void sl_app_note_reload(struct sl_app *app, bool ok, const char *text);
void sl_app_last_reload(struct sl_app *app, struct sl_reload_note *out);

/* The binder of an embedded cluster; context is the struct sl_store. */
void sl_binder_embedded(void *context, const struct sl_binding *binding, sl_bind_done done,
                        void *call);

#endif
