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
    {"queue.namespaceClasses.namespace", SL_KEY_PATTERN, .text = true, .required = true,
     .unique = true, AT(sl_config_class, namespace), .string = "",
     .help = "Name of a namespace, or how names begin and then *, as team-a-*."},
    {"queue.namespaceClasses.class", SL_KEY_OBJECT, .text = true, .required = true,
     AT(sl_config_class, class), .string = "", .help = "The class; several may share one."},
};

static const struct sl_key SHARE[] = {
    {"tenants.shares.tenant", SL_KEY_VALUE, .text = true, .required = true, .unique = true,
     AT(sl_tenant_share, tenant), .string = "",
     .help = "Name of the tenant; others: those whom nothing gives a tenant."},
    {"tenants.shares.weight", SL_KEY_DECIMAL, AT(sl_tenant_share, weight), .min = 0,
     .max = SL_TENANT_WEIGHT_MAX, .number = SL_TENANT_WEIGHT_ONE,
     .help = "Its part of what nobody is guaranteed; 0: it waits for what others leave."},
    {"tenants.shares.maxRunning", SL_KEY_INTEGER, AT(sl_tenant_share, max_running), .min = 0,
     .max = 10000000, .help = "Maximum number of its pods that hold units; 0: no maximum."},
    {"tenants.shares.maxWaiting", SL_KEY_INTEGER, AT(sl_tenant_share, max_waiting), .min = 0,
     .max = 10000000, .help = "Maximum number of its pods in the queue; 0: no maximum."},
    {"tenants.shares.maxTimeout", SL_KEY_DURATION, AT(sl_tenant_share, max_timeout_us), .min = 0,
     .max = 365 * SL_DAY_US, .help = "Longest timeout of its pods; 0s: any."},
    {"tenants.shares.users", SL_KEY_BOOLEAN, AT(sl_tenant_share, users), .max = 1,
     .help = "Each of its namespaces is a user, with an even part of the share."},
};

static const struct sl_key SPACE[] = {
    {"tenants.namespaces.namespace", SL_KEY_PATTERN, .text = true, .required = true, .unique = true,
     AT(sl_tenant_space, namespace), .string = "",
     .help = "Name of a namespace, or how names begin and then *, as team-a-*."},
    {"tenants.namespaces.tenant", SL_KEY_VALUE, .text = true, .required = true,
     AT(sl_tenant_space, tenant), .string = "", .help = "The tenant; several may have one."},
};

static const struct sl_key GUARANTEE[] = {
    {"tenants.guarantees.tenant", SL_KEY_VALUE, .text = true, .required = true, .unique = true,
     AT(sl_tenant_units, tenant), .string = "", .help = "A tenant of tenants.shares."},
    {"tenants.guarantees.resource", SL_KEY_LABEL, .text = true, .required = true, .unique = true,
     AT(sl_tenant_units, resource), .string = "", .help = "Full name of the resource."},
    {"tenants.guarantees.model", SL_KEY_VALUE, .text = true, .unique = true,
     AT(sl_tenant_units, model), .string = "",
     .help = "Model of the GPUs, as nodes' label nvidia.com/gpu.product names it: on these the "
             "tenant comes first with pods that select it."},
    {"tenants.guarantees.units", SL_KEY_INTEGER, .required = true, AT(sl_tenant_units, units),
     .min = 1, .max = 1000000,
     .help = "Units that are the tenant's before weights divide the rest."},
};

static const struct sl_key CAP[] = {
    {"tenants.caps.tenant", SL_KEY_VALUE, .text = true, .required = true, .unique = true,
     AT(sl_tenant_units, tenant), .string = "", .help = "A tenant of tenants.shares."},
    {"tenants.caps.resource", SL_KEY_LABEL, .text = true, .required = true, .unique = true,
     AT(sl_tenant_units, resource), .string = "", .help = "Full name of the resource."},
    {"tenants.caps.units", SL_KEY_INTEGER, .required = true, AT(sl_tenant_units, units), .min = 0,
     .max = 1000000, .help = "Most units that the tenant's pods may hold."},
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
    {"tenants.shares",
     "What each tenant has; one that is not named has the weight 1, and no maximum.",
     .field = SHARE, .n_fields = sizeof(SHARE) / sizeof(SHARE[0]),
     LIST(tenants.share, tenants.n_shares, SL_TENANT_RULES_MAX)},
    {"tenants.namespaces",
     "Whose a namespace is; the first entry that matches counts, before the label.", .field = SPACE,
     .n_fields = sizeof(SPACE) / sizeof(SPACE[0]),
     LIST(tenants.space, tenants.n_spaces, SL_TENANT_RULES_MAX)},
    {"tenants.guarantees", "Units that belong to a tenant, whatever the weights are.",
     .field = GUARANTEE, .n_fields = sizeof(GUARANTEE) / sizeof(GUARANTEE[0]),
     LIST(tenants.guarantee, tenants.n_guarantees, SL_TENANT_RULES_MAX)},
    {"tenants.caps", "Most units that a tenant may hold, even where others are idle.", .field = CAP,
     .n_fields = sizeof(CAP) / sizeof(CAP[0]),
     LIST(tenants.cap, tenants.n_caps, SL_TENANT_RULES_MAX)},
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
