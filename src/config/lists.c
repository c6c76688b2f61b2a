/* The keys that are lists of maps. */
#include "config/keys.h"
#include "util/time.h"

/* Where a field's value lives in its entry. */
#define AT(type, member)                                                                           \
    .offset = offsetof(struct type, member), .size = sizeof(((struct type *)NULL)->member)

#define LIST(array, n, most)                                                                       \
    .offset = offsetof(struct sl_config, array), .count = offsetof(struct sl_config, n),           \
    .stride = sizeof(((struct sl_config *)NULL)->array[0]), .max = (most)

static const struct sl_key CLIENT[] = {
    {"server.tls.clients.name", SL_KEY_WORD, .text = true, .required = true, .unique = true,
     AT(sl_config_client, name), .string = "",
     .help = "The certificate's common name, or a DNS name or URI among its alternative names."},
};

static const struct sl_key METRICS_CLIENT[] = {
    {"server.metricsClients.name", SL_KEY_WORD, .text = true, .required = true, .unique = true,
     AT(sl_config_client, name), .string = "",
     .help = "The certificate's common name, or a DNS name or URI among its alternative names."},
};

static const struct sl_key LIMIT[] = {
    {"queue.limits.resource", SL_KEY_WORD, .text = true, .unique = true,
     AT(sl_plan_limit, resource), .string = "", .help = "Full name of the resource; empty: all."},
    {"queue.limits.maxTimeout", SL_KEY_DURATION, .required = true,
     AT(sl_plan_limit, max_timeout_us), .min = SL_SECOND_US, .max = 365 * SL_DAY_US,
     .help = "Longest timeout that is allowed."},
};

static const struct sl_key HEADROOM[] = {
    {"queue.headroom.resource", SL_KEY_WORD, .text = true, .required = true,
     AT(sl_plan_headroom, resource), .string = "", .help = "Full name of the resource."},
    {"queue.headroom.maxTimeout", SL_KEY_DURATION, .required = true,
     AT(sl_plan_headroom, max_timeout_us), .min = SL_SECOND_US, .max = 365 * SL_DAY_US,
     .help = "Longest timeout of the pods for which the units are kept."},
    {"queue.headroom.devices", SL_KEY_INTEGER, .required = true, AT(sl_plan_headroom, units),
     .min = 1, .max = 1000000, .help = "Units of the resource that are kept for them."},
};

/* Weights of -1: as for all pods. A priority of INT32_MIN: any. */
static const struct sl_key OVERRIDE[] = {
    {"queue.overrides.namespace", SL_KEY_OBJECT, .text = true, AT(sl_plan_override, namespace),
     .string = "", .help = "Namespace of the pods; empty: all."},
    {"queue.overrides.priority", SL_KEY_INTEGER, AT(sl_plan_override, priority), .min = -INT32_MAX,
     .max = INT32_MAX, .number = INT32_MIN,
     .help = "Only pods of that priority, as their PriorityClass gives it."},
    {"queue.overrides.alpha", SL_KEY_DECIMAL, AT(sl_plan_override, weights.alpha), .min = 0,
     .max = SL_ORDER_ALPHA_MAX, .number = -1, .help = "In place of queue.alpha."},
    {"queue.overrides.beta", SL_KEY_DECIMAL, AT(sl_plan_override, weights.beta), .min = 0,
     .max = SL_ORDER_WEIGHT_MAX, .number = -1, .help = "In place of queue.beta."},
    {"queue.overrides.gamma", SL_KEY_DECIMAL, AT(sl_plan_override, weights.gamma), .min = 0,
     .max = SL_ORDER_WEIGHT_MAX, .number = -1, .help = "In place of queue.gamma."},
};

static const struct sl_key DAEMON_SET[] = {
    {"queue.daemonSets.namespace", SL_KEY_OBJECT, .text = true, .required = true, .unique = true,
     AT(sl_queue_trusted, namespace), .string = "", .help = "Name of the namespace."},
};

static const struct sl_key CLASS[] = {
    {"queue.namespaceClasses.namespace", SL_KEY_WORD, .text = true, .required = true,
     .unique = true, AT(sl_config_class, namespace), .string = "",
     .help = "Name of a namespace, or how names begin and then *, as team-a-*."},
    {"queue.namespaceClasses.class", SL_KEY_OBJECT, .text = true, .required = true,
     AT(sl_config_class, class), .string = "", .help = "The class; several may share one."},
};

const struct sl_key_list sl_key_lists[SL_KEY_LISTS] = {
    {"server.metricsClients",
     "Clients that may read server.metricsListen: certificates of server.metricsClientCAFile with "
     "one of these names.",
     .field = METRICS_CLIENT, .n_fields = sizeof(METRICS_CLIENT) / sizeof(METRICS_CLIENT[0]),
     LIST(server.metrics_client, server.n_metrics_clients, SL_CONFIG_CLIENTS_MAX)},
    {"server.tls.clients",
     "Clients that may call the verbs: certificates of server.tls.clientCAFile with one of these "
     "names.",
     .field = CLIENT, .n_fields = sizeof(CLIENT) / sizeof(CLIENT[0]),
     LIST(server.client, server.n_clients, SL_CONFIG_CLIENTS_MAX)},
    {"queue.limits", "Pods whose timeout is longer than maxTimeout are refused for good.",
     .field = LIMIT, .n_fields = sizeof(LIMIT) / sizeof(LIMIT[0]),
     LIST(plan.limit, plan.n_limits, SL_PLAN_RULES_MAX)},
    {"queue.headroom", "Units kept for short pods: longer ones leave that many free.",
     .field = HEADROOM, .n_fields = sizeof(HEADROOM) / sizeof(HEADROOM[0]),
     LIST(plan.headroom, plan.n_headrooms, SL_PLAN_RULES_MAX)},
    {"queue.overrides", "Other weights of order p for some pods; the first that matches counts.",
     .field = OVERRIDE, .n_fields = sizeof(OVERRIDE) / sizeof(OVERRIDE[0]),
     LIST(plan.override, plan.n_overrides, SL_PLAN_RULES_MAX)},
    {"queue.daemonSets",
     "Namespaces, beside kube-system, whose DaemonSets' pods do not wait in the queue. Anybody may "
     "name a DaemonSet as a pod's owner: list those where only trusted people make pods.",
     .field = DAEMON_SET, .n_fields = sizeof(DAEMON_SET) / sizeof(DAEMON_SET[0]),
     LIST(queue.daemon_set, queue.n_daemon_sets, SL_PLAN_RULES_MAX)},
    {"queue.namespaceClasses",
     "Classes by which metrics tell how long pods wait; the first entry that matches counts, and a "
     "namespace that none matches is of the class other.",
     .field = CLASS, .n_fields = sizeof(CLASS) / sizeof(CLASS[0]),
     LIST(queue.class, queue.n_classes, SL_CONFIG_CLASSES_MAX)},
};

size_t sl_list_count(const struct sl_key_list *list, const struct sl_config *config)
{
    return *((const uint8_t *)config + list->count);
}

void sl_list_set_count(const struct sl_key_list *list, struct sl_config *config, size_t n)
{
    *((uint8_t *)config + list->count) = (uint8_t)n;
}

const void *sl_list_entry_of(const struct sl_key_list *list, const struct sl_config *config,
                             size_t i)
{
    return (const char *)config + list->offset + i * list->stride;
}

void *sl_list_entry(const struct sl_key_list *list, struct sl_config *config, size_t i)
{
    return (char *)config + list->offset + i * list->stride;
}
