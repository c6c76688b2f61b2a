/* The configuration: one YAML file to one validated immutable struct. Every key is one row of the
 * table in src/config/keys.c, which also makes docs/configuration.md and --print-config. */
#ifndef SLICED_CONFIG_CONFIG_H
#define SLICED_CONFIG_CONFIG_H

#include "sliced/actuator.h"
#include "sliced/engine.h"
#include "sliced/node.h"
#include "util/buf.h"
#include "util/error.h"
#include "util/log.h"

enum { SL_CONFIG_TEXT_MAX = 256, SL_CONFIG_CLIENTS_MAX = 8, SL_CONFIG_SELECTOR_MAX = 8 };

/* Who may call, by its certificate: an entry of server.tls.clients or server.metricsClients. */
struct sl_config_client {
    char name[SL_CONFIG_TEXT_MAX]; /* common name, or a DNS name or URI of the alternative names */
};

enum { SL_CONFIG_CLASSES_MAX = 16, SL_CONFIG_CLASS_MAX = 64 };

/* The class of the namespaces that no entry of queue.namespaceClasses names. */
#define SL_CONFIG_CLASS_OTHER "other"

/* An entry of queue.namespaceClasses. */
struct sl_config_class {
    char namespace[SL_CONFIG_TEXT_MAX]; /* its name, or how its name begins and then "*" */
    char class[SL_CONFIG_CLASS_MAX];
};

/* How pods get the scheduling gate. With a policy every pod of the queue has it: see
 * sl_pod_is_queued. */
enum sl_queue_gate {
    SL_QUEUE_GATE_POLICY,  /* by a MutatingAdmissionPolicy */
    SL_QUEUE_GATE_WEBHOOK, /* by the daemon's mutating webhook */
    SL_QUEUE_GATE_NONE,    /* not, or by their owners: filter holds the others */
};

struct sl_config {
    struct {
        char listen[SL_CONFIG_TEXT_MAX]; /* server.listen: ADDRESS:PORT, port 0 picks a free one */
        char webhook_listen[SL_CONFIG_TEXT_MAX]; /* empty: where listen is, if that is loopback */
        char visibility_listen[SL_CONFIG_TEXT_MAX]; /* as webhook_listen */
        char probe_listen[SL_CONFIG_TEXT_MAX];
        char metrics_listen[SL_CONFIG_TEXT_MAX];
        bool metrics_tls;
        char metrics_token_file[SL_CONFIG_TEXT_MAX]; /* empty: no token is asked for */
        char metrics_ca_file[SL_CONFIG_TEXT_MAX];    /* empty: nor a certificate */
        char api_listen[SL_CONFIG_TEXT_MAX];
        int64_t threads; /* server.threads: 0 = one per processor, 1..64 */
        int64_t max_connections;
        int64_t max_body_bytes; /* a longer body is refused with 413 */
        int64_t max_reply_bytes;
        int64_t max_buffered_bytes;         /* of all requests in flight */
        int64_t connection_memory;          /* bytes per connection for headers and body pieces */
        int64_t request_timeout_us;         /* a connection idle that long is closed */
        int64_t shutdown_timeout_us;        /* how long requests in flight may take at the end */
        bool insecure;                      /* plain HTTP also where others can reach it */
        char cert_file[SL_CONFIG_TEXT_MAX]; /* server.tls.certFile; empty: plain HTTP */
        char key_file[SL_CONFIG_TEXT_MAX];
        char client_ca_file[SL_CONFIG_TEXT_MAX]; /* empty: clients need no certificate */
        uint8_t n_clients;
        uint8_t n_metrics_clients;
        struct sl_config_client client[SL_CONFIG_CLIENTS_MAX];
        struct sl_config_client metrics_client[SL_CONFIG_CLIENTS_MAX];
    } server;
    struct {
        char prefix[SL_CONFIG_TEXT_MAX]; /* extender.pathPrefix: "/scheduler" */
        char filter[SL_CONFIG_TEXT_MAX]; /* extender.filterVerb: "filter" */
        char prioritize[SL_CONFIG_TEXT_MAX];
        char bind[SL_CONFIG_TEXT_MAX];
        char preempt[SL_CONFIG_TEXT_MAX];
        int64_t max_node_names; /* candidates in one request */
    } extender;
    struct {
        int64_t max_nodes;
        int64_t max_pods;
        int64_t max_reservations;
        int64_t reservation_us; /* cluster.reservationTimeout */
        int64_t max_manifest_bytes;
    } cluster;
    struct {
        int64_t max_depth;  /* json.maxDepth: nesting of JSON and YAML */
        int64_t max_string; /* bytes of one string that matters */
    } decode;
    struct {
        char kubeconfig[SL_CONFIG_TEXT_MAX]; /* empty: found as kubectl does */
        char context[SL_CONFIG_TEXT_MAX];    /* empty: the file's current-context */
        int64_t qps;                         /* calls a second; 0: no limit */
        int64_t burst;
        int64_t max_in_flight;
        int64_t request_timeout_us;
        int64_t bind_timeout_us; /* less than the scheduler waits for the verb bind */
        int64_t watch_timeout_us;
        int64_t watch_silence_us;
        int64_t list_page;
    } kubernetes;
    struct {
        bool unhealthy_gpus;
        bool one_equal_share;
        char namespace[SL_CONFIG_TEXT_MAX];
    } gpushare;
    struct {
        bool enabled;
        char namespace[SL_CONFIG_TEXT_MAX]; /* empty: where the service account lives */
        char name[SL_CONFIG_TEXT_MAX];
        int64_t lease_duration_us;
        int64_t renew_deadline_us;
        int64_t retry_period_us;
    } election; /* leaderElection */
    struct {
        bool enabled;
        int64_t per_second;
        int64_t burst;
        int64_t repeat_us;
    } events;
    struct {
        bool enabled;
        enum sl_queue_gate gate;
        char scheduler[SL_CONFIG_TEXT_MAX];       /* queue.schedulerName; empty: any */
        char daemon_set_user[SL_CONFIG_TEXT_MAX]; /* queue.daemonSetUser */
        int64_t bound; /* millionths: how much longer than fifo's longest wait */
        int64_t hold_s;
        int64_t max_releases;
        int64_t nominate_from;    /* nodes */
        int64_t max_predecessors; /* of pods with sliced.dev/after */
        struct {
            bool enabled;
            int64_t per_second;
            int64_t max_pods;
        } condition; /* sliced.dev/Queued on pods */
        uint8_t n_daemon_sets;
        uint8_t n_classes;
        struct sl_queue_trusted daemon_set[SL_PLAN_RULES_MAX];
        struct sl_config_class class[SL_CONFIG_CLASSES_MAX];
    } queue;
    struct {
        bool enabled;
        bool mig_mode;
        bool drain;
        enum sl_actuator_choice actuator;
        char node_selector[SL_CONFIG_TEXT_MAX]; /* "label=value,..." */
        int64_t max_nodes;                      /* cut at once */
        int64_t batch_us;                       /* partitioning.batchWindow */
        int64_t timeout_us;
        int64_t backoff_us;
        int64_t max_backoff_us;
        char config_namespace[SL_CONFIG_TEXT_MAX]; /* partitioning.migManager */
        char config_map[SL_CONFIG_TEXT_MAX];
        int64_t config_delay_us;
        char mps_namespace[SL_CONFIG_TEXT_MAX]; /* partitioning.nosMps */
        char mps_config_map[SL_CONFIG_TEXT_MAX];
        int64_t mps_delay_us;
        int64_t nos_report_us;
    } partitioning;
    struct {
        char url[SL_CONFIG_TEXT_MAX];       /* of Prometheus */
        char exporters[SL_CONFIG_TEXT_MAX]; /* with {node} or {address}; both empty: nothing is
                                               measured */
        char ca_file[SL_CONFIG_TEXT_MAX];
        char cert_file[SL_CONFIG_TEXT_MAX];
        char key_file[SL_CONFIG_TEXT_MAX];
        char token_file[SL_CONFIG_TEXT_MAX];
        char username[SL_CONFIG_TEXT_MAX];
        char password_file[SL_CONFIG_TEXT_MAX];
        char selector[SL_CONFIG_TEXT_MAX];    /* "label=value,..." */
        char own[SL_CONFIG_TEXT_MAX];         /* likewise, of the daemon's own series */
        char node_labels[SL_CONFIG_TEXT_MAX]; /* "label,...", as the next two */
        char pod_labels[SL_CONFIG_TEXT_MAX];
        char namespace_labels[SL_CONFIG_TEXT_MAX];
        char memory_used[SL_CONFIG_TEXT_MAX]; /* telemetry.metrics */
        char pod_memory_used[SL_CONFIG_TEXT_MAX];
        char busy_percent[SL_CONFIG_TEXT_MAX];
        char busy_ratio[SL_CONFIG_TEXT_MAX];
        char bandwidth_ratio[SL_CONFIG_TEXT_MAX];
        char power_watts[SL_CONFIG_TEXT_MAX];
        int64_t interval_us;
        int64_t timeout_us;
        int64_t stale_us; /* telemetry.staleAfter */
        int64_t gap_us;   /* telemetry.maxGap */
        int64_t horizon_us;
        int64_t idle_us; /* telemetry.idleAfter */
        int64_t idle_deadline_us;
        int64_t window; /* samples */
        int64_t max_units;
        int64_t margin;     /* millionths */
        int64_t idle_below; /* millionths */
        enum sl_sharing sharing;
    } telemetry;
    struct sl_tenants tenants;
    struct sl_plan_config plan; /* of queue and score, as read: sl_config_plan completes it */
    struct {
        enum sl_log_level level;
        bool json;
        char pod[SL_CONFIG_TEXT_MAX]; /* "namespace/name"; empty: none */
    } log;
};

/* Is it an address that no other machine reaches? */
bool sl_config_is_loopback(const char *listen);

/* The built-in values. */
void sl_config_defaults(struct sl_config *config);

/* Keys of a file that are set but do nothing: each with line, column, field and message. Those
 * beyond the room are left out. */
enum { SL_CONFIG_WARNINGS_MAX = 8 };

struct sl_config_warnings {
    size_t n;
    struct sl_error item[SL_CONFIG_WARNINGS_MAX];
};

/* Reads a file over the defaults. -1: *err has line, column, the key's path as field, what was
 * found and what was expected; *config is then untouched. *warnings is set when 0 is returned; it
 * may be NULL. */
int sl_config_load(const char *path, struct sl_config *config, struct sl_config_warnings *warnings,
                   struct sl_error *err);

/* The same from memory; name stands for the file where a message has to name it. */
int sl_config_parse(const char *name, const char *text, size_t len, struct sl_config *config,
                    struct sl_config_warnings *warnings, struct sl_error *err);

/* Checks the rules between several keys. The readers above have checked them; call it again
 * after changing a configuration. -1: *err has the key's path as field. */
int sl_config_check(const struct sl_config *config, struct sl_error *err);

/* "file:line:column: field: message" for people, without the parts that *err lacks. Cut to size. */
void sl_config_describe(const char *name, const struct sl_error *err, char *out, size_t size);

/* Is anything asked what GPUs do? */
static inline bool sl_config_measures(const struct sl_config *config)
{
    return config->telemetry.url[0] != '\0' || config->telemetry.exporters[0] != '\0';
}

/* The planner's configuration. Weights that an override leaves open are those of the order. Borrows
 * the tenants from config. */
void sl_config_plan(const struct sl_config *config, struct sl_plan_config *out);
void sl_config_engine(const struct sl_config *config, struct sl_engine_config *out);

/* partitioning.nodeSelector, read. */
struct sl_config_selector {
    char text[SL_CONFIG_TEXT_MAX]; /* its labels point here */
    struct sl_label label[SL_CONFIG_SELECTOR_MAX];
    size_t n;
};

/* False when the text is not "LABEL=VALUE,...", or has more than SL_CONFIG_SELECTOR_MAX labels. The
 * empty text is the empty selector. */
bool sl_config_selector_read(struct sl_str text, struct sl_config_selector *out);

/* Which nodes sliced may have cut, and by whom; borrows selector, which it fills. */
struct sl_actuator_rule sl_config_actuators(const struct sl_config *config,
                                            struct sl_config_selector *selector);

/* Whose pods the queue plans for; borrows from config. */
struct sl_queue_scope sl_config_scope(const struct sl_config *config);
bool sl_config_same_scope(const struct sl_config *a, const struct sl_config *b);

/* The class of that namespace, of queue.namespaceClasses; borrowed from config. */
const char *sl_config_class_of(const struct sl_config *config, const char *namespace);

/* The whole configuration as YAML that sl_config_parse reads back to the same, each key with its
 * help as a comment. */
void sl_config_print(const struct sl_config *config, struct sl_buf *out);

/* docs/configuration.md: a table of keys with type, default, range, reload and meaning. */
void sl_config_reference(struct sl_buf *out);

/* A JSON Schema (draft 7) that takes every file that sl_config_parse takes, as YAML or JSON, and no
 * key that is unknown. It does not ask for apiVersion and kind, nor see every value out of range.
 */
void sl_config_schema(struct sl_buf *out);

/* Makes fresh, which was read anew, fit for the running daemon: sets every key that needs a
 * restart (server.listen, ...) back to its value in running. Returns how many of them differed;
 * paths gets their names, with ", " between them, cut to size. */
size_t sl_config_keep(const struct sl_config *running, struct sl_config *fresh, char *paths,
                      size_t size);

#endif
