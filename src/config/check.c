/* Rules between several keys: one function each, and one table of them. */
#include <stdio.h>
#include <string.h>

#include "config/keys.h"
#include "util/time.h"

/* client-go's JitterFactor: a retry period may be that much longer (in tenths). */
enum { JITTER_TENTHS = 12 };

typedef int (*rule)(const struct sl_config *config, struct sl_key_clash *clash,
                    struct sl_error *err);

static void blame(struct sl_key_clash *clash, const char *key, const char *other)
{
    *clash = (struct sl_key_clash){.key = key, .other = other};
}

/* libmicrohttpd divides the connections among the threads: each must get one. */
static int check_threads(const struct sl_config *config, struct sl_key_clash *clash,
                         struct sl_error *err)
{
    blame(clash, "server.maxConnections", "server.threads");
    if (config->server.max_connections >= config->server.threads) {
        return 0;
    }
    return sl_error_set(
        err, SL_ERR_FIELD, "found %lld, expected at least as many as server.threads, %lld",
        (long long)config->server.max_connections, (long long)config->server.threads);
}

static int check_pair(const struct sl_config *config, struct sl_key_clash *clash,
                      struct sl_error *err)
{
    bool cert = config->server.cert_file[0] != '\0';
    bool key = config->server.key_file[0] != '\0';
    if (cert == key) {
        return 0;
    }
    blame(clash, cert ? "server.tls.keyFile" : "server.tls.certFile",
          cert ? "server.tls.certFile" : "server.tls.keyFile");
    return sl_error_set(err, SL_ERR_FIELD, "found nothing, expected a file beside that of %s",
                        clash->other);
}

static int check_client_ca(const struct sl_config *config, struct sl_key_clash *clash,
                           struct sl_error *err)
{
    blame(clash, "server.tls.clientCAFile", "server.tls.certFile");
    if (config->server.client_ca_file[0] == '\0' || config->server.cert_file[0] != '\0') {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "found \"%s\" without server.tls.certFile: only HTTPS has client "
                        "certificates",
                        config->server.client_ca_file);
}

bool sl_config_is_loopback(const char *listen)
{
    struct sl_str text = sl_str_of(listen);
    return (sl_str_starts(text, SL_STR("127.")) &&
            listen[strspn(listen, "0123456789.")] == ':') || /* no name that begins so */
           sl_str_starts(text, SL_STR("[::1]:")) ||
           sl_str_starts(text, SL_STR("localhost:"));
}

/* An authority, and the names of its clients that may call. */
struct callers {
    const char *ca_key;
    const char *names_key;
    const char *such_as;
    const char *ca_file;
    const struct sl_config_client *client;
    unsigned n;
};

/* A certificate says who calls, not who may: both keys belong together. */
static int check_callers(const struct callers *callers, struct sl_key_clash *clash,
                         struct sl_error *err)
{
    bool ca = callers->ca_file[0] != '\0';
    bool names = callers->n > 0;
    blame(clash, ca && !names ? callers->names_key : callers->ca_key,
          ca && !names ? callers->ca_key : callers->names_key);
    for (unsigned i = 0; i < callers->n; i++) {
        if (callers->client[i].name[0] == '\0') {
            return sl_error_set(err, SL_ERR_FIELD, "found a client without a name");
        }
    }
    if (ca == names) {
        return 0;
    }
    return ca ? sl_error_set(err, SL_ERR_FIELD,
                             "found nothing, expected the names of clients beside %s, such as "
                             "[{name: %s}]",
                             callers->ca_key, callers->such_as)
              : sl_error_set(err, SL_ERR_FIELD, "found nothing, expected the authority of %s",
                             callers->names_key);
}

static int check_clients(const struct sl_config *config, struct sl_key_clash *clash,
                         struct sl_error *err)
{
    const struct callers verbs = {"server.tls.clientCAFile", "server.tls.clients",
                                  "sliced-scheduler",        config->server.client_ca_file,
                                  config->server.client,     config->server.n_clients};
    const struct callers metrics = {"server.metricsClientCAFile",
                                    "server.metricsClients",
                                    "prometheus",
                                    config->server.metrics_ca_file,
                                    config->server.metrics_client,
                                    config->server.n_metrics_clients};
    return check_callers(&verbs, clash, err) < 0 ? -1 : check_callers(&metrics, clash, err);
}

/* Callers of bind schedule pods: at an open address only clients with certificates may. */
static int check_open(const struct sl_config *config, struct sl_key_clash *clash,
                      struct sl_error *err)
{
    blame(clash, "server.listen", "server.insecure");
    if (config->server.client_ca_file[0] != '\0' || config->server.insecure ||
        sl_config_is_loopback(config->server.listen)) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "found \"%s\", which other machines can reach, without client "
                        "certificates: set server.tls (certFile, keyFile, clientCAFile, clients), "
                        "listen on 127.0.0.1, or set server.insecure to true",
                        config->server.listen);
}

/* The API shows every tenant's queue. */
static int check_api(const struct sl_config *config, struct sl_key_clash *clash,
                     struct sl_error *err)
{
    blame(clash, "server.apiListen", "server.apiListen");
    if (config->server.api_listen[0] == '\0' || sl_config_is_loopback(config->server.api_listen)) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "found \"%s\", expected an address of loopback: 127.0.0.1:PORT, [::1]:PORT "
                        "or localhost:PORT",
                        config->server.api_listen);
}

/* API servers call webhooks by HTTPS only. */
static int check_webhook(const struct sl_config *config, struct sl_key_clash *clash,
                         struct sl_error *err)
{
    blame(clash, "server.webhookListen", "server.tls.certFile");
    if (config->server.webhook_listen[0] == '\0' || config->server.cert_file[0] != '\0') {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "found \"%s\" without server.tls.certFile: API servers "
                        "call webhooks by HTTPS only",
                        config->server.webhook_listen);
}

/* A token by plain HTTP is everybody's who listens. */
static int check_metrics(const struct sl_config *config, struct sl_key_clash *clash,
                         struct sl_error *err)
{
    const char *ca_file = config->server.metrics_ca_file;
    bool token = config->server.metrics_token_file[0] != '\0';
    blame(clash, "server.metricsTls", "server.tls.certFile");
    if (config->server.metrics_tls && config->server.cert_file[0] == '\0') {
        return sl_error_set(err, SL_ERR_FIELD,
                            "found true, expected server.tls.certFile beside it");
    }
    blame(clash, "server.metricsTokenFile", "server.metricsTls");
    if (token && !config->server.metrics_tls) {
        return sl_error_set(err, SL_ERR_FIELD, "found \"%s\", expected server.metricsTls beside it",
                            config->server.metrics_token_file);
    }
    blame(clash, "server.metricsClientCAFile", "server.metricsTls");
    if (ca_file[0] != '\0' && !config->server.metrics_tls) {
        return sl_error_set(err, SL_ERR_FIELD, "found \"%s\", expected server.metricsTls beside it",
                            ca_file);
    }
    return 0;
}

static int check_visibility(const struct sl_config *config, struct sl_key_clash *clash,
                            struct sl_error *err)
{
    blame(clash, "server.visibilityListen", "server.tls.certFile");
    if (config->server.visibility_listen[0] == '\0' || config->server.cert_file[0] != '\0') {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "found \"%s\" without server.tls.certFile: API servers "
                        "forward requests by HTTPS only",
                        config->server.visibility_listen);
}

static double seconds_of(int64_t us)
{
    return (double)us / 1e6;
}

/* As client-go checks them (tools/leaderelection.NewLeaderElector). */
static int check_deadline(const struct sl_config *config, struct sl_key_clash *clash,
                          struct sl_error *err)
{
    blame(clash, "leaderElection.renewDeadline", "leaderElection.leaseDuration");
    if (config->election.renew_deadline_us < config->election.lease_duration_us) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "found %gs, expected less than leaderElection.leaseDuration, %gs",
                        seconds_of(config->election.renew_deadline_us),
                        seconds_of(config->election.lease_duration_us));
}

static int check_retry(const struct sl_config *config, struct sl_key_clash *clash,
                       struct sl_error *err)
{
    blame(clash, "leaderElection.retryPeriod", "leaderElection.renewDeadline");
    if (config->election.retry_period_us * JITTER_TENTHS / 10 <
        config->election.renew_deadline_us) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "found %gs, expected less than leaderElection.renewDeadline, %gs, also "
                        "with a fifth on top",
                        seconds_of(config->election.retry_period_us),
                        seconds_of(config->election.renew_deadline_us));
}

/* The Lease object has the duration in seconds. */
static int check_whole(const struct sl_config *config, struct sl_key_clash *clash,
                       struct sl_error *err)
{
    blame(clash, "leaderElection.leaseDuration", "leaderElection.leaseDuration");
    if (config->election.lease_duration_us % SL_SECOND_US == 0) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD, "found %gs, expected whole seconds",
                        seconds_of(config->election.lease_duration_us));
}

/* A binding that outlasts the lease would end in another's leadership. */
static int check_bind(const struct sl_config *config, struct sl_key_clash *clash,
                      struct sl_error *err)
{
    blame(clash, "kubernetes.bindTimeout", "leaderElection.leaseDuration");
    if (!config->election.enabled ||
        config->kubernetes.bind_timeout_us < config->election.lease_duration_us) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "found %gs, expected less than leaderElection.leaseDuration, %gs",
                        seconds_of(config->kubernetes.bind_timeout_us),
                        seconds_of(config->election.lease_duration_us));
}

/* Cuts follow the queue's plan. */
static int check_partitioning(const struct sl_config *config, struct sl_key_clash *clash,
                              struct sl_error *err)
{
    blame(clash, "partitioning.enabled", "queue.enabled");
    if (!config->partitioning.enabled || config->queue.enabled) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD, "found true, expected queue.enabled beside it");
}

/* The planner keeps the tenants' shares, by the rules of these orders. */
static int check_tenants(const struct sl_config *config, struct sl_key_clash *clash,
                         struct sl_error *err)
{
    const struct sl_tenants *tenants = &config->tenants;
    const char *key = tenants->n_shares > 0   ? "tenants.shares"
                      : tenants->n_spaces > 0 ? "tenants.namespaces"
                                              : "tenants.namespaceLabel";
    blame(clash, key, "queue.enabled");
    if (sl_tenants_on(tenants) && !config->queue.enabled) {
        return sl_error_set(err, SL_ERR_FIELD, "expected queue.enabled beside it");
    }
    blame(clash, "queue.order", key);
    if (sl_tenants_on(tenants) && config->plan.order.kind == SL_ORDER_HRRN) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "found hrrn beside %s, expected one of fifo, sjf, p, bounded", key);
    }
    blame(clash, "tenants.reclaim", "queue.preemption");
    if (tenants->reclaim && config->plan.preemption) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "found true, expected queue.preemption: false beside it, or pods "
                            "preempt those of lower priority without being due");
    }
    return 0;
}

static bool has_share(const struct sl_tenants *tenants, const char *tenant)
{
    size_t i = 0;
    while (i < tenants->n_shares && strcmp(tenants->share[i].tenant, tenant) != 0) {
        i++;
    }
    return i < tenants->n_shares;
}

/* Units that are guaranteed within the cap. */
static int64_t guaranteed(const struct sl_tenants *tenants, const struct sl_tenant_units *cap)
{
    int64_t sum = 0;
    for (size_t i = 0; i < tenants->n_guarantees; i++) {
        const struct sl_tenant_units *one = &tenants->guarantee[i];
        bool within =
            strcmp(one->tenant, cap->tenant) == 0 && strcmp(one->resource, cap->resource) == 0;
        sum += within ? one->units : 0;
    }
    return sum;
}

static int check_units(const struct sl_config *config, struct sl_key_clash *clash,
                       struct sl_error *err)
{
    const struct sl_tenants *tenants = &config->tenants;
    for (size_t i = 0; i < tenants->n_guarantees + (size_t)tenants->n_caps; i++) {
        bool caps = i >= tenants->n_guarantees;
        size_t at = caps ? i - tenants->n_guarantees : i;
        const struct sl_tenant_units *one = caps ? &tenants->cap[at] : &tenants->guarantee[at];
        int64_t sum = caps ? guaranteed(tenants, one) : 0;
        blame(clash, caps ? "tenants.caps" : "tenants.guarantees", "tenants.shares");
        clash->entry = at + 1;
        if (!has_share(tenants, one->tenant)) {
            return sl_error_set(err, SL_ERR_FIELD,
                                "found the tenant \"%s\", expected one of tenants.shares",
                                one->tenant);
        }
        if (sum > one->units) {
            return sl_error_set(err, SL_ERR_FIELD,
                                "found %lld of %s for \"%s\", expected at least the %lld that "
                                "tenants.guarantees gives it",
                                (long long)one->units, one->resource, one->tenant, (long long)sum);
        }
    }
    return 0;
}

static int check_backoff(const struct sl_config *config, struct sl_key_clash *clash,
                         struct sl_error *err)
{
    blame(clash, "partitioning.maxBackoff", "partitioning.backoff");
    if (config->partitioning.backoff_us <= config->partitioning.max_backoff_us) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD, "found %gs, expected at least partitioning.backoff, %gs",
                        seconds_of(config->partitioning.max_backoff_us),
                        seconds_of(config->partitioning.backoff_us));
}

/* Else each cut would be given up before its agent is told. */
static int check_delay(const struct sl_config *config, struct sl_key_clash *clash,
                       struct sl_error *err)
{
    bool mig = config->partitioning.config_delay_us >= config->partitioning.mps_delay_us;
    int64_t delay_us =
        mig ? config->partitioning.config_delay_us : config->partitioning.mps_delay_us;
    blame(clash, "partitioning.timeout",
          mig ? "partitioning.migManager.delay" : "partitioning.nosMps.delay");
    if (config->partitioning.timeout_us > delay_us) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD, "found %gs, expected more than %s, %gs",
                        seconds_of(config->partitioning.timeout_us), clash->other,
                        seconds_of(delay_us));
}

static int check_telemetry(const struct sl_config *config, struct sl_key_clash *clash,
                           struct sl_error *err)
{
    const char *exporters = config->telemetry.exporters;
    bool measures = sl_config_measures(config);
    blame(clash, "telemetry.sharing", "telemetry.url");
    if (config->telemetry.sharing != SL_SHARING_ASKS && !measures) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "found %s, expected telemetry.url or telemetry.exporters beside it",
                            sl_sharing_name(config->telemetry.sharing));
    }
    blame(clash, "telemetry.idleDeadline", "events.enabled");
    if (config->telemetry.idle_deadline_us > 0 && !config->events.enabled) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "expected events.enabled beside it: owners are warned first");
    }
    blame(clash, "telemetry.idleDeadline", "telemetry.url");
    if (config->telemetry.idle_deadline_us > 0 && !measures) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "expected telemetry.url or telemetry.exporters beside it");
    }
    blame(clash, "telemetry.exporters", "telemetry.url");
    if (config->telemetry.url[0] != '\0' && exporters[0] != '\0') {
        return sl_error_set(err, SL_ERR_FIELD, "expected either this or telemetry.url, not both");
    }
    if (exporters[0] != '\0' && strstr(exporters, "{node}") == NULL &&
        strstr(exporters, "{address}") == NULL) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "found \"%s\", expected {address} or {node} in it, as in "
                            "http://{address}:9400/metrics",
                            exporters);
    }
    blame(clash, "telemetry.username", "telemetry.passwordFile");
    if (config->telemetry.username[0] != '\0' && config->telemetry.password_file[0] == '\0') {
        return sl_error_set(err, SL_ERR_FIELD, "expected telemetry.passwordFile beside it");
    }
    blame(clash, "telemetry.certFile", "telemetry.keyFile");
    if ((config->telemetry.cert_file[0] == '\0') != (config->telemetry.key_file[0] == '\0')) {
        return sl_error_set(err, SL_ERR_FIELD, "expected both telemetry.certFile and keyFile");
    }
    return 0;
}

static int check_log(const struct sl_config *config, struct sl_key_clash *clash,
                     struct sl_error *err)
{
    const char *pod = config->log.pod;
    const char *slash = strchr(pod, '/');
    blame(clash, "log.pod", "log.pod");
    if (pod[0] == '\0' ||
        (slash != NULL && slash > pod && slash[1] != '\0' && strchr(slash + 1, '/') == NULL)) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD, "found \"%s\", expected NAMESPACE/NAME", pod);
}

int sl_keys_check(const struct sl_config *config, struct sl_key_clash *clash, struct sl_error *err)
{
    static const rule rules[] = {
        check_threads,  check_pair,    check_client_ca, check_clients,      check_open,
        check_api,      check_webhook, check_metrics,   check_visibility,   check_whole,
        check_deadline, check_retry,   check_bind,      check_partitioning, check_backoff,
        check_delay,    check_tenants, check_units,     check_telemetry,    check_log};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i](config, clash, err) < 0) {
            return -1;
        }
    }
    return 0;
}

void sl_keys_clash_path(const struct sl_key_clash *clash, char *out, size_t size)
{
    if (clash->entry > 0) {
        (void)snprintf(out, size, "%s[%zu]", clash->key, clash->entry - 1);
    } else {
        (void)snprintf(out, size, "%s", clash->key);
    }
}

const char *sl_keys_of_order(size_t i, enum sl_order_kind *order)
{
    static const struct {
        const char *key;
        enum sl_order_kind order;
    } keys[] = {
        {"queue.alpha", SL_ORDER_P},     {"queue.beta", SL_ORDER_P},
        {"queue.gamma", SL_ORDER_P},     {"queue.bound", SL_ORDER_BOUNDED},
        {"queue.overrides", SL_ORDER_P},
    };
    if (i >= sizeof(keys) / sizeof(keys[0])) {
        return NULL;
    }
    *order = keys[i].order;
    return keys[i].key;
}

int sl_config_check(const struct sl_config *config, struct sl_error *err)
{
    struct sl_key_clash clash = {NULL, NULL, 0};
    if (sl_keys_check(config, &clash, err) == 0) {
        return 0;
    }
    if (err != NULL) {
        sl_keys_clash_path(&clash, err->field, sizeof(err->field));
    }
    return -1;
}
