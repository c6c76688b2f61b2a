/* Wires the parts, handles signals, stops. The main thread waits for signals and expires
 * reservations; the HTTP server's threads do the rest. */
#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "daemon/certs.h"
#include "daemon/live/cluster.h"
#include "daemon/load.h"
#include "daemon/options.h"
#include "daemon/queue/queue.h"
#include "daemon/release.h"
#include "kube/access/find.h"
#include "server/app/app.h"
#include "server/http/listeners.h"
#include "server/metrics/version.h"
#include "server/routes.h"
#include "telemetry/telemetry.h"
#include "util/clock.h"
#include "util/data/hash.h"
#include "util/process/files.h"
#include "util/time.h"

enum {
    EXIT_REFUSED = 1,
    EXIT_WRONG = 2,
    TEXT_MAX_BYTES = 1 << 20,
    TICK_S = 1,
    ACCESS_MAX = 16 << 20,
};

static const int64_t tls_every_ns = 5 * SL_SECOND_NS;
/* kube-apiserver carries out no request that is older (--request-timeout, 1m) */
static const int64_t post_max_us = SL_MINUTE_US;

struct daemon {
    struct sl_options options;
    struct sl_config config;            /* as at the start of the process */
    struct sl_config_warnings warnings; /* of its file */
    struct sl_store *store;
    struct sl_tls *tls;          /* NULL: plain HTTP */
    struct sl_front_proxy proxy; /* for server.visibilityListen */
    struct sl_app *app;
    struct sl_load_counts counts; /* of an embedded cluster */
    struct sl_arena arena;        /* of access */
    struct sl_kube_access access;
    char from[SL_ACCESS_FROM_MAX];
    struct sl_cluster *cluster;       /* NULL: embedded */
    struct sl_telemetry *telemetry;   /* NULL: nothing is measured */
    struct sl_queue_worker *worker;   /* of an embedded cluster; NULL: none */
    struct sl_stage_tracker *stages;  /* as worker */
    struct sl_namespaces *namespaces; /* likewise */
    pthread_t main;
    int64_t tls_ns; /* of the last look at the certificate */
    sigset_t signals;
};

static int print_complaint(int status, const struct sl_error *err)
{
    (void)fprintf(stderr, "sliced: %s\n", err->message);
    return status;
}

/* A newcomer without an API server may want to try the program on an embedded cluster. */
static void hint_embedded(void)
{
    (void)fprintf(stderr, "To schedule without an API server: sliced --cluster FILE, with what "
                          "\"kubectl get nodes,pods -A -o yaml\" prints.\nTry: sliced --help\n");
}

/* Lets --listen override the file. */
static int override_listen(const char *listen, struct sl_config *config, struct sl_error *err)
{
    int n = snprintf(config->server.listen, sizeof(config->server.listen), "%s", listen);
    if (n < 0 || (size_t)n >= sizeof(config->server.listen)) {
        return sl_error_set(err, SL_ERR_FIELD, "--listen: the address is too long");
    }
    if (strchr(listen, ':') == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "--listen: \"%s\" is not ADDRESS:PORT", listen);
    }
    return sl_config_check(config, err) < 0 ? sl_error_wrap(err, "--listen") : 0;
}

/* Reads the file's configuration, which the command line overrides. */
static int read_config(const struct sl_options *options, struct sl_config *config,
                       struct sl_config_warnings *warnings, struct sl_error *err)
{
    sl_config_defaults(config);
    warnings->n = 0;
    if (options->config != NULL && sl_config_load(options->config, config, warnings, err) < 0) {
        char text[sizeof(err->message)];
        sl_config_describe(options->config, err, text, sizeof(text));
        return sl_error_set(err, err->code, "%s", text);
    }
    return options->listen == NULL ? 0 : override_listen(options->listen, config, err);
}

/* In the log, or on standard error where the program only prints. */
static void tell_warnings(const struct sl_options *options,
                          const struct sl_config_warnings *warnings, bool in_log)
{
    char text[sizeof(warnings->item[0])];
    for (size_t i = 0; i < warnings->n; i++) {
        sl_config_describe(options->config, &warnings->item[i], text, sizeof(text));
        if (in_log) {
            sl_log(SL_LOG_WARN, "configuration", "reason", text, (char *)NULL);
        } else {
            (void)fprintf(stderr, "sliced: warning: %s\n", text);
        }
    }
}

/* ---- options that only print ---- */

static int print_text(const struct sl_buf *text)
{
    if (text->failed != SL_BUF_OK) {
        (void)fprintf(stderr, "sliced: out of memory\n");
        return EXIT_REFUSED;
    }
    size_t written = fwrite(text->data, 1, text->len, stdout);
    return written == text->len && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_REFUSED;
}

static bool only_prints(const struct sl_options *options)
{
    return options->check_config || options->print_config || options->print_config_reference ||
           options->print_config_schema;
}

/* config may be NULL unless it is to be printed. */
static int print_answer(const struct sl_options *options, const struct sl_config *config)
{
    struct sl_buf text;
    sl_buf_init(&text, TEXT_MAX_BYTES);
    if (options->help) {
        sl_options_help(&text);
    } else if (options->version) {
        sl_buf_printf(&text, "sliced %s\n", SL_VERSION);
    } else if (options->print_config_reference) {
        sl_config_reference(&text);
    } else if (options->print_config_schema) {
        sl_config_schema(&text);
    } else if (options->print_config) {
        sl_config_print(config, &text);
    } else {
        sl_buf_printf(&text, "%s: the configuration is valid\n", options->config);
    }
    int status = print_text(&text);
    sl_buf_free(&text);
    return status;
}

/* ---- start ---- */

static struct sl_store_limits store_limits(const struct sl_config *config)
{
    return (struct sl_store_limits){
        .max_nodes = (size_t)config->cluster.max_nodes,
        .max_pods = (size_t)config->cluster.max_pods,
        .max_reservations = (size_t)config->cluster.max_reservations,
        .reservation_us = config->cluster.reservation_us,
    };
}

/* Draws a random key for hashes, since users choose the hashed names. */
static int set_up_hashes(struct sl_error *err)
{
    uint8_t key[SL_HASH_KEY];
    if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
        return sl_error_set(err, SL_ERR_SYSTEM, "no random numbers: %s", strerror(errno));
    }
    sl_hash_set_key(key);
    return 0;
}

/* Blocks signals before threads are made: they inherit the mask, so that only the main thread takes
 * signals. */
static void set_up_signals(struct daemon *daemon)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL);
    (void)sigemptyset(&daemon->signals);
    (void)sigaddset(&daemon->signals, SIGTERM);
    (void)sigaddset(&daemon->signals, SIGINT);
    (void)sigaddset(&daemon->signals, SIGHUP);
    (void)sigaddset(&daemon->signals, SIGUSR1); /* our own: run a tick now */
    (void)pthread_sigmask(SIG_BLOCK, &daemon->signals, NULL);
}

static int open_tls(struct daemon *daemon, struct sl_error *err)
{
    const struct sl_config *config = &daemon->config;
    const struct sl_tls_options options = {
        .cert_file = config->server.cert_file,
        .key_file = config->server.key_file,
        .ca_file = {[SL_TLS_SCHEDULER] = sl_text_or_null(config->server.client_ca_file),
                    [SL_TLS_MONITORING] = sl_text_or_null(config->server.metrics_ca_file)},
    };
    if (config->server.cert_file[0] == '\0') {
        return 0;
    }
    daemon->tls = sl_tls_new(&options, err);
    return daemon->tls == NULL ? -1 : 0;
}

static void wake_queue(void *context)
{
    const struct daemon *daemon = context;
    sl_queue_worker_wake(daemon->worker);
}

/* Starts a queue that only nominates: an embedded cluster has no gates to open. */
static int start_queue(struct daemon *daemon, struct sl_app_options *options, struct sl_error *err)
{
    const struct sl_stage_tracker_options stages = {
        .store = daemon->store,
        .wake = wake_queue,
        .context = daemon,
    };
    struct sl_queue_worker_options worker = {
        .store = daemon->store, .config = &daemon->config, .namespaces = daemon->namespaces};
    daemon->stages = sl_stage_tracker_new(&stages, err);
    if (daemon->stages == NULL ||
        sl_namespaces_follow(daemon->namespaces, daemon->config.tenants.label, err) < 0) {
        return -1;
    }
    worker.stages = daemon->stages;
    daemon->worker = sl_queue_worker_new(&worker, err);
    if (daemon->worker == NULL) {
        return -1;
    }
    options->queue = sl_queue_worker_reader(daemon->worker);
    return sl_queue_worker_start(daemon->worker, err);
}

static int start_embedded(struct daemon *daemon, struct sl_app_options *options,
                          struct sl_error *err)
{
    const struct sl_namespaces_options namespaces = {.wake = wake_queue, .context = daemon};
    bool queue = daemon->config.queue.enabled;
    options->binder = (struct sl_binder){.context = daemon->store, .bind = sl_binder_embedded};
    options->embedded = true;
    daemon->namespaces = queue ? sl_namespaces_new(&namespaces, err) : NULL;
    if (queue && daemon->namespaces == NULL) {
        return -1;
    }
    if (sl_load_cluster(daemon->store, daemon->namespaces, &daemon->config, daemon->options.cluster,
                        daemon->options.n_cluster, &daemon->counts, err) < 0) {
        return -1;
    }
    return queue ? start_queue(daemon, options, err) : 0;
}

static void wake_main(void *context)
{
    const struct daemon *daemon = context;
    (void)pthread_kill(daemon->main, SIGUSR1);
}

static const char *first_of(const char *a, const char *b)
{
    return a != NULL ? a : b;
}

static int start_cluster(struct daemon *daemon, struct sl_app_options *options,
                         struct sl_error *err)
{
    struct sl_access_places places = {
        .kubeconfig = first_of(daemon->options.kubeconfig, daemon->config.kubernetes.kubeconfig),
        .context = first_of(daemon->options.context, daemon->config.kubernetes.context)};
    const struct sl_cluster_options cluster = {.config = &daemon->config,
                                               .access = &daemon->access,
                                               .from = daemon->from,
                                               .pod = daemon->options.pod,
                                               .store = daemon->store,
                                               .proxy = options->proxy,
                                               .wake = wake_main,
                                               .context = daemon};
    sl_access_environment(&places);
    sl_arena_init(&daemon->arena, ACCESS_MAX);
    if (sl_access_find(&places, &daemon->arena, &daemon->access, daemon->from, err) < 0) {
        return -1;
    }
    daemon->cluster = sl_cluster_new(&cluster, err);
    if (daemon->cluster == NULL) {
        return -1;
    }
    options->binder = sl_cluster_binder(daemon->cluster);
    options->hooks = sl_cluster_hooks(daemon->cluster);
    options->queue = sl_cluster_queue_reader(daemon->cluster);
    options->partitions = sl_cluster_partition_reader(daemon->cluster);
    return sl_cluster_start(daemon->cluster, err);
}

static int start_telemetry(struct daemon *daemon, struct sl_app_options *options,
                           struct sl_error *err)
{
    if (!sl_config_measures(&daemon->config)) {
        return 0;
    }
    daemon->telemetry = sl_telemetry_new(&daemon->config, daemon->store, err);
    if (daemon->telemetry == NULL) {
        return -1;
    }
    if (daemon->cluster != NULL) {
        const struct sl_pod_watch watch = sl_cluster_pod_watch(daemon->cluster);
        sl_telemetry_watch_pods(daemon->telemetry, &watch);
    }
    options->usage = sl_telemetry_reader(daemon->telemetry);
    return sl_telemetry_start(daemon->telemetry, err);
}

/* Returns -1 when the daemon runs, else the exit status. */
static int daemon_start(struct daemon *daemon, struct sl_error *err)
{
    const struct sl_store_limits limits = store_limits(&daemon->config);
    struct sl_app_options options = {
        .config = &daemon->config, .service = &sl_service, .config_path = daemon->options.config};
    /* before a large cluster is read */
    if (sl_listeners_check(&daemon->config, err) < 0) {
        return err->code == SL_ERR_FIELD ? EXIT_WRONG : EXIT_REFUSED;
    }
    if (open_tls(daemon, err) < 0) {
        return err->code == SL_ERR_NOMEM ? EXIT_REFUSED : EXIT_WRONG;
    }
    daemon->store = sl_store_new(&limits, err);
    if (daemon->store == NULL) {
        return EXIT_REFUSED;
    }
    sl_store_set_one_equal_share(daemon->store, daemon->config.gpushare.one_equal_share);
    sl_store_heed_nominees(daemon->store, !daemon->config.queue.enabled);
    options.store = daemon->store;
    options.tls = daemon->tls;
    options.proxy = daemon->config.server.visibility_listen[0] == '\0' ? NULL : &daemon->proxy;
    if ((daemon->options.n_cluster > 0 ? start_embedded(daemon, &options, err)
                                       : start_cluster(daemon, &options, err)) < 0 ||
        start_telemetry(daemon, &options, err) < 0) {
        return err->code == SL_ERR_NOMEM ? EXIT_REFUSED : EXIT_WRONG;
    }
    daemon->app = sl_app_new(&options, err);
    if (daemon->app == NULL) {
        return EXIT_REFUSED;
    }
    atomic_store(&daemon->app->synced, true); /* a real cluster's hook has its own answer */
    if (sl_app_serve(daemon->app, err) < 0) {
        return err->code == SL_ERR_FIELD ? EXIT_WRONG : EXIT_REFUSED;
    }
    return -1;
}

static void print_address(const struct daemon *daemon)
{
    (void)printf("sliced %s listening on %s://%s ", SL_VERSION,
                 daemon->tls == NULL ? "http" : "https", sl_server_address(daemon->app->server));
    if (daemon->cluster != NULL) {
        (void)printf("(cluster %s as %s)\n", daemon->access.server, daemon->from);
    } else {
        (void)printf("(embedded cluster: %zu node%s, %zu pod%s)\n", daemon->counts.nodes,
                     daemon->counts.nodes == 1 ? "" : "s", daemon->counts.pods,
                     daemon->counts.pods == 1 ? "" : "s");
    }
    (void)fflush(stdout);
}

/* ---- while it runs ---- */

/* Reads the file as a running daemon may take it: keys that need a restart keep their values. kept:
 * the names of those that changed, "" for none. */
static int read_again(const struct daemon *daemon, struct sl_config *out,
                      struct sl_config_warnings *warnings, char kept[SL_RELOAD_TEXT_MAX],
                      struct sl_error *err)
{
    kept[0] = '\0';
    if (read_config(&daemon->options, out, warnings, err) < 0) {
        return -1;
    }
    if (sl_config_keep(&daemon->config, out, kept, SL_RELOAD_TEXT_MAX) == 0 ||
        sl_config_check(out, err) == 0) {
        return 0;
    }
    char field[sizeof(err->field)];
    memcpy(field, err->field, sizeof(field));
    return sl_error_wrap(err, "%s beside what needs a restart (%s)", field, kept);
}

static void daemon_reload(struct daemon *daemon)
{
    struct sl_config fresh;
    struct sl_config_warnings warnings;
    struct sl_error err = {.code = SL_ERR_NONE};
    char kept[SL_RELOAD_TEXT_MAX];
    char text[SL_RELOAD_TEXT_MAX + 64];
    if (daemon->options.config == NULL) {
        sl_app_note_reload(daemon->app, false,
                           "there is no file to read: started without --config");
        return;
    }
    if (read_again(daemon, &fresh, &warnings, kept, &err) < 0 ||
        sl_live_replace(&daemon->app->live, &fresh, &err) < 0) {
        sl_app_note_reload(daemon->app, false, err.message);
        return;
    }
    sl_store_set_one_equal_share(daemon->store, fresh.gpushare.one_equal_share);
    if (daemon->telemetry != NULL) {
        sl_telemetry_configure(daemon->telemetry, &fresh);
    }
    if (daemon->cluster != NULL) {
        sl_cluster_configure(daemon->cluster, &fresh);
    } else if (daemon->worker != NULL) {
        sl_queue_worker_configure(daemon->worker, &fresh);
        (void)sl_namespaces_follow(daemon->namespaces, fresh.tenants.label, &err);
    }
    sl_log_configure(fresh.log.level, fresh.log.json);
    sl_log_trace(fresh.log.pod);
    tell_warnings(&daemon->options, &warnings, true);
    (void)snprintf(text, sizeof(text), "in force%s%s",
                   kept[0] == '\0' ? "" : ", except what needs a restart: ", kept);
    sl_app_note_reload(daemon->app, true, text);
}

/* Ends connections and reservations whose time is over. */
static void daemon_expire(struct daemon *daemon)
{
    sl_app_end_slow(daemon->app);
    size_t n = sl_store_expire(daemon->store, sl_clock_real_us());
    if (n > 0) {
        sl_log(SL_LOG_WARN, "reservations expired", "#count", SL_LOG_NUMBER(n), (char *)NULL);
    }
}

/* Does periodic work. */
static void daemon_tick(struct daemon *daemon, bool hup)
{
    int64_t now_ns = sl_clock_monotonic_ns();
    if (hup || now_ns - daemon->tls_ns >= tls_every_ns) {
        daemon->tls_ns = now_ns;
        sl_app_refresh_tls(daemon->app, hup);
    }
    const struct sl_live *live = sl_live_acquire(&daemon->app->live);
    daemon_expire(daemon);
    if (daemon->cluster != NULL) {
        int64_t age_us = live->config.cluster.reservation_us;
        sl_cluster_tick(daemon->cluster, &live->config.plan.score);
        sl_binds_resolve(&daemon->app->binds, now_ns / 1000,
                         age_us < post_max_us ? post_max_us : age_us);
    }
    sl_live_release(live);
}

/* Runs until a signal ends the process. */
static void daemon_run(struct daemon *daemon)
{
    for (;;) {
        const struct timespec wait = {TICK_S, 0};
        int which = sigtimedwait(&daemon->signals, NULL, &wait);
        if (which == SIGTERM || which == SIGINT) {
            sl_log(SL_LOG_INFO, "shutting down", "signal", which == SIGTERM ? "TERM" : "INT",
                   (char *)NULL);
            return;
        }
        if (which == SIGHUP) {
            daemon_reload(daemon);
        }
        daemon_tick(daemon, which == SIGHUP);
    }
}

/* Stops the server first, so that no request reaches the cluster's side; its last bindings then
 * still find the store. */
static void daemon_stop(struct daemon *daemon)
{
    if (daemon->app != NULL) {
        sl_app_stop(daemon->app);
    }
    sl_telemetry_free(daemon->telemetry);
    sl_cluster_free(daemon->cluster);
    sl_queue_worker_free(daemon->worker);
    sl_stage_tracker_free(daemon->stages);
    sl_namespaces_free(daemon->namespaces);
    sl_app_free(daemon->app);
    sl_tls_free(daemon->tls);
    sl_front_proxy_free(&daemon->proxy);
    sl_store_free(daemon->store);
    sl_arena_free(&daemon->arena);
}

static int daemon_serve(struct daemon *daemon)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    daemon->main = pthread_self();
    set_up_signals(daemon);
    sl_files_raise();
    sl_front_proxy_init(&daemon->proxy);
    sl_log_configure(daemon->config.log.level, daemon->config.log.json);
    sl_log_trace(daemon->config.log.pod);
    tell_warnings(&daemon->options, &daemon->warnings, true);
    int status = daemon_start(daemon, &err);
    if (status >= 0) {
        (void)print_complaint(status, &err);
        if (daemon->options.n_cluster == 0 && err.code == SL_ERR_NOTFOUND) {
            hint_embedded();
        }
    } else {
        print_address(daemon);
        daemon_run(daemon);
        if (!sl_app_drain(daemon->app)) {
            sl_log(SL_LOG_WARN, "requests in flight were cut off", (char *)NULL);
        }
        status = EXIT_SUCCESS;
    }
    daemon_stop(daemon);
    return status;
}

int sl_daemon_main(int argc, char **argv)
{
    static struct daemon daemon; /* large, and one per process */
    struct sl_error err = {.code = SL_ERR_NONE};
    if (argc > 1 && strcmp(argv[1], "release") == 0) {
        return sl_release_main(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "certs") == 0) {
        return sl_certs_main(argc - 1, argv + 1);
    }
    if (sl_options_parse(argc, argv, &daemon.options, &err) < 0) {
        return print_complaint(EXIT_WRONG, &err);
    }
    if (daemon.options.check_config && daemon.options.config == NULL) {
        (void)fprintf(stderr, "sliced: --check-config needs a file: --config FILE\n");
        return EXIT_WRONG;
    }
    if (daemon.options.help || daemon.options.version) {
        return print_answer(&daemon.options, NULL);
    }
    if (set_up_hashes(&err) < 0 ||
        read_config(&daemon.options, &daemon.config, &daemon.warnings, &err) < 0) {
        return print_complaint(EXIT_WRONG, &err);
    }
    if (only_prints(&daemon.options)) {
        tell_warnings(&daemon.options, &daemon.warnings, false);
        return print_answer(&daemon.options, &daemon.config);
    }
    if (daemon.options.n_cluster > 0 &&
        (daemon.options.kubeconfig != NULL || daemon.options.context != NULL)) {
        (void)fprintf(stderr, "sliced: --cluster is an embedded cluster, which has no API server: "
                              "leave out --kubeconfig and --context, or --cluster\n");
        return EXIT_WRONG;
    }
    return daemon_serve(&daemon);
}
