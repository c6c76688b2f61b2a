/* Asks Prometheus, or the exporters, again and again what the cluster's GPUs do, and gives the
 * store what core/usage makes of it. One thread of its own (a client's); nothing waits for it. */
#ifndef SLICED_TELEMETRY_TELEMETRY_H
#define SLICED_TELEMETRY_TELEMETRY_H

#include "cluster/store.h"
#include "config/config.h"
#include "server/app/usage_reader.h"
#include "server/metrics/metric.h"

struct sl_telemetry;

/* config->telemetry.url or exporters is not empty. Both are borrowed until the end. NULL: *err says
 * why, as when a file with credentials cannot be read. */
struct sl_telemetry *sl_telemetry_new(const struct sl_config *config, struct sl_store *store,
                                      struct sl_error *err);
/* Asks for the first time soon. */
int sl_telemetry_start(struct sl_telemetry *telemetry, struct sl_error *err);
/* Takes over from a reloaded configuration what needs no restart: whether score.weights has shares
 * of memory kept apart. From the next answer on. */
void sl_telemetry_configure(struct sl_telemetry *telemetry, const struct sl_config *config);
void sl_telemetry_free(struct sl_telemetry *telemetry); /* NULL is allowed */

/* Is told, after each answer, of each pod that idles (telemetry.idleAfter) or uses more than it
 * declares. On the client's thread, with telemetry's lock held: it must be short. */
struct sl_pod_watch {
    void *context; /* outlives telemetry */
    void (*seen)(void *context, const struct sl_view *view, const struct sl_resident *resident,
                 const struct sl_pod_use *use, int64_t now_us);
    /* Does the store hold all pods by now? Asked until it does, without the lock. */
    bool (*knows_all)(void *context);
};
/* Before the start. */
void sl_telemetry_watch_pods(struct sl_telemetry *telemetry, const struct sl_pod_watch *watch);

struct sl_usage_reader sl_telemetry_reader(struct sl_telemetry *telemetry);

struct sl_telemetry_stats {
    uint64_t answers, failures; /* of Prometheus, or of exporters */
    uint64_t samples, refused;  /* taken; told twice, too old or no number in range */
    uint64_t future;            /* refused: later than now */
    uint64_t strangers;         /* series of no node that is known */
    uint64_t over;              /* units refused: no place */
    size_t units, bytes;
    int64_t answered_us;         /* Unix, of the last answer; 0: none yet */
    int64_t work_us;             /* spent on answers and judgements */
    size_t by_state[5];          /* units by enum sl_series_state, as last judged */
    size_t idle_pods, idle_gpus; /* as last judged: for telemetry.idleAfter and more; GPUs that such
                                    pods hold */
    size_t over_pods;            /* likewise: use more than they declare */
};
void sl_telemetry_stats(struct sl_telemetry *telemetry, struct sl_telemetry_stats *out);

extern const struct sl_metric_table sl_telemetry_metrics[]; /* ends with an empty one */

#endif
