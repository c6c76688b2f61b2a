/* The planner's configuration, for the daemon and the simulator alike. */
#include <string.h>

#include "config/config.h"
#include "util/time.h"

enum { HOLD_MAX = 16 /* times hold: the longest pause after expiries */ };

struct sl_queue_scope sl_config_scope(const struct sl_config *config)
{
    return (struct sl_queue_scope){.scheduler = sl_str_of(config->queue.scheduler),
                                   .gated = config->queue.gate == SL_QUEUE_GATE_POLICY,
                                   .daemon_sets = config->queue.daemon_set,
                                   .n_daemon_sets = config->queue.n_daemon_sets};
}

bool sl_config_same_scope(const struct sl_config *a, const struct sl_config *b)
{
    bool same = a->queue.gate == b->queue.gate && a->queue.n_daemon_sets == b->queue.n_daemon_sets;
    for (size_t i = 0; same && i < a->queue.n_daemon_sets; i++) {
        same = strcmp(a->queue.daemon_set[i].namespace, b->queue.daemon_set[i].namespace) == 0;
    }
    return same;
}

const char *sl_config_class_of(const struct sl_config *config, const char *namespace)
{
    for (unsigned i = 0; i < config->queue.n_classes; i++) {
        if (sl_str_like(sl_str_of(namespace), config->queue.class[i].namespace)) {
            return config->queue.class[i].class;
        }
    }
    return SL_CONFIG_CLASS_OTHER;
}

void sl_config_plan(const struct sl_config *config, struct sl_plan_config *out)
{
    const struct sl_order_weights weights = config->plan.order.weights;
    *out = config->plan;
    out->tenants = sl_tenants_on(&config->tenants) ? &config->tenants : NULL;
    sl_promise_defaults(&out->promise);
    out->promise.c_permille = (int32_t)(config->queue.bound / 1000);
    out->hold_us = config->queue.hold_s * SL_SECOND_US;
    out->hold_max_us = out->hold_us * HOLD_MAX;
    for (size_t i = 0; i < out->n_overrides; i++) {
        struct sl_plan_override *one = &out->override[i];
        one->of_priority = one->priority != INT32_MIN;
        one->weights.alpha = one->weights.alpha < 0 ? weights.alpha : one->weights.alpha;
        one->weights.beta = one->weights.beta < 0 ? weights.beta : one->weights.beta;
        one->weights.gamma = one->weights.gamma < 0 ? weights.gamma : one->weights.gamma;
    }
}

void sl_config_engine(const struct sl_config *config, struct sl_engine_config *out)
{
    sl_config_plan(config, &out->plan);
    out->max_predecessors = (size_t)config->queue.max_predecessors;
    out->max_releases = (unsigned)config->queue.max_releases;
    out->releases = true;
    out->cutting = (struct sl_engine_cutting){
        .enabled = config->partitioning.enabled,
        .drain = config->partitioning.drain,
        .mig_mode = config->partitioning.mig_mode,
        .max_nodes = (size_t)config->partitioning.max_nodes,
        .batch_us = config->partitioning.batch_us,
        .timeout_us = config->partitioning.timeout_us,
        .backoff_us = config->partitioning.backoff_us,
        .max_backoff_us = config->partitioning.max_backoff_us,
        .mig_file_us = config->partitioning.config_delay_us,
        .mps_file_us = config->partitioning.mps_delay_us,
        .report_us = config->partitioning.nos_report_us,
    };
}
