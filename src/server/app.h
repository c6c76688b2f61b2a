/* The application behind the HTTP server: the store, the configuration in force, the binder, the
 * metrics. One per process; everything in it may be used from any thread. */
#ifndef SLICED_SERVER_APP_H
#define SLICED_SERVER_APP_H

#include <pthread.h>

#include "codec/write.h"
#include "config/config.h"
#include "server/binds.h"
#include "server/grants.h"
#include "server/listeners.h"
#include "server/metrics.h"
#include "server/queue.h"

enum { SL_VERB_PATH_MAX = 2 * SL_CONFIG_TEXT_MAX + 2, SL_RELOAD_TEXT_MAX = 640 };

/* The configuration in force: immutable, counted references. */
struct sl_live {
    struct sl_config config;
    char verb_path[SL_CLASS_VERBS][SL_VERB_PATH_MAX]; /* "/scheduler/filter", ... */
    uint64_t serial;                                  /* goes up with every reload */
    _Atomic unsigned refs;
};

/* What the daemon adds for a real cluster. All may be NULL; any thread; none may wait. */
struct sl_hooks {
    void *context;
    /* What is missing before a decision may be made, in words; NULL: nothing. */
    const char *(*missing)(void *context);
    /* Who leads, when that is another replica and known; else "". NULL: there is but one. */
    void (*leader)(void *context, char *out, size_t size);
    /* Goes up whenever this replica becomes the leader; NULL: there is but one. */
    uint64_t (*term)(void *context);
    /* A pod was bound. */
    void (*bound)(void *context, const struct sl_binding *binding);
    /* Further members of /api/v1/state. */
    void (*state)(void *context, struct sl_writer *w);
    /* Further metrics. */
    void (*metrics)(void *context, struct sl_buf *out);
};

struct sl_app_options {
    const struct sl_config *config; /* copied */
    const char *config_path;        /* NULL: none; must outlive the app */
    struct sl_store *store;         /* borrowed */
    struct sl_binder binder;
    struct sl_hooks hooks;
    struct sl_queue queue; /* NULLs: none */
    struct sl_tls *tls;    /* borrowed; NULL: plain HTTP */
    bool embedded;         /* serves /api/v1/embedded */
};

/* The last reload, for /api/v1/state. */
struct sl_reload_note {
    int64_t at_us; /* 0: there was none */
    bool ok;
    char text[SL_RELOAD_TEXT_MAX];
};

struct sl_app {
    struct sl_store *store;
    struct sl_binder binder;
    struct sl_hooks hooks;
    struct sl_queue queue;
    struct sl_binds binds;
    struct sl_grants grants;
    struct sl_listener listener[SL_LISTENERS];
    const char *config_path;
    bool embedded;
    struct sl_metrics metrics;
    _Atomic bool synced;      /* the store holds the whole cluster */
    _Atomic bool draining;    /* the end has begun */
    struct sl_server *server; /* of server.listen; borrowed from its listener */
    struct sl_tls *tls;
    struct sl_error tls_err; /* of the last refresh; used by the refreshing thread alone */
    pthread_mutex_t admit;   /* makes "is the name free" and "put" one step */
    pthread_mutex_t lock;    /* guards what follows; held for a few instructions */
    struct sl_live *live;
    struct sl_reload_note note;
};

/* NULL with *err set when out of memory. Call sl_app_serve to listen. */
struct sl_app *sl_app_new(const struct sl_app_options *options, struct sl_error *err);
/* Stops the server, if sl_app_stop did not. The binder has told of all that it was given. NULL is
 * allowed. */
void sl_app_free(struct sl_app *app);

int sl_app_serve(struct sl_app *app, struct sl_error *err);
/* Fails readiness, accepts no more, waits for what is in flight as long as the configuration says.
 * True when all requests were answered. */
bool sl_app_drain(struct sl_app *app);

/* Closes all connections and ends the server's threads: no hook and no binder is called from here
 * on. Bindings under way go on and still change the ledger. */
void sl_app_stop(struct sl_app *app);

/* Ends connections that have used up their time; every second or so, from one thread, while the
 * server runs. */
void sl_app_end_slow(struct sl_app *app);

/* What is missing before a decision may be made, in words; NULL: nothing. */
const char *sl_app_missing(const struct sl_app *app);

/* Reads the certificate's files again if they changed; notes, counts and logs what came of it. The
 * same trouble is logged once, unless loud. For one thread. */
void sl_app_refresh_tls(struct sl_app *app, bool loud);

/* The configuration in force, new reference. */
const struct sl_live *sl_app_live(struct sl_app *app);
void sl_live_release(const struct sl_live *live);

/* Puts a new configuration in force for the requests that begin from now on. */
int sl_app_configure(struct sl_app *app, const struct sl_config *config, struct sl_error *err);
/* Notes how a reload went, counts and logs it. */
void sl_app_note_reload(struct sl_app *app, bool ok, const char *text);
void sl_app_last_reload(struct sl_app *app, struct sl_reload_note *out);

/* The binder of an embedded cluster, immediate; context is the struct sl_store. */
void sl_binder_embedded(void *context, const struct sl_binding *binding, sl_bind_done done,
                        void *call);

#endif
