/* Finds the units that a node has and does not offer now. The kubelet leaves in capacity those that
 * are unhealthy, and for five minutes all those whose plugin is gone (Kubernetes' device manager,
 * GetCapacity). After that, and before the plugin first came, labels alone tell of GPUs. */
#include "core/node/draft.h"

static int64_t offered(const struct sl_draft *draft, uint64_t key)
{
    for (unsigned i = 0; i < draft->n_pools; i++) {
        if (draft->pool[i].pool.key == key) {
            return draft->pool[i].pool.capacity;
        }
    }
    return 0;
}

/* Notes that the node has n things of so many units each; beyond SL_NODE_POOLS_MAX resources not.
 */
static void add(struct sl_draft *draft, struct sl_str resource, int64_t n, int64_t units)
{
    uint64_t key = sl_hash(resource.s, resource.len);
    if (__builtin_mul_overflow(n, units, &units) || units > SL_UNITS_MAX) {
        units = SL_UNITS_MAX;
    }
    if (units > offered(draft, key) && draft->n_absent < SL_NODE_POOLS_MAX) {
        draft->absent[draft->n_absent++] = (struct sl_absent){key, units};
    }
}

static void from_capacity(struct sl_draft *draft)
{
    for (const struct sl_pair *pair = draft->facts->capacity; pair != NULL; pair = pair->next) {
        struct sl_resource resource;
        if (!sl_resource_parse(pair->key, &resource) || resource.inventory) {
            continue;
        }
        int64_t units = sl_draft_units(draft, "capacity", pair);
        unsigned before = draft->n_absent;
        add(draft, pair->key, 1, units);
        if (draft->n_absent > before) {
            sl_draft_problem_count(draft, pair->key, units, " in capacity, allocatable now ");
            sl_text_i64(&draft->problem, offered(draft, resource.key));
        }
    }
}

/* Notes instances, or replicas of them, when the label is nvidia.com/mig-<profile>.count. */
static void from_profile(struct sl_draft *draft, const struct sl_pair *label)
{
    const struct sl_str start = SL_STR("nvidia.com/mig-");
    const struct sl_str end = SL_STR(".count");
    const struct sl_str key = label->key;
    int64_t count = 0;
    char text[SL_DRAFT_KEY_MAX];
    if (draft->n_absent == SL_NODE_POOLS_MAX || key.len < start.len + end.len ||
        !sl_str_starts(key, start) || !sl_str_ends(key, end) ||
        !sl_str_to_i64(label->value, &count) || count <= 0) {
        return;
    }
    struct sl_str profile = {key.s + start.len, key.len - start.len - end.len};
    int64_t replicas =
        sl_draft_number(draft->facts->labels, sl_draft_key(text, profile, ".replicas"));
    add(draft, sl_draft_key(text, profile, ""), count, replicas > 1 ? replicas : 1);
    if (replicas > 1) {
        add(draft, sl_draft_key(text, profile, ".shared"), count, replicas);
    }
}

/* Do the GPUs go to virtual machines, by the GPU operator's label or since they, or vGPUs, are
 * offered under such names as nvidia.com/GH100_H100_SXM5_80GB and nvidia.com/GRID_T4-1Q
 * (NVIDIA/kubevirt-gpu-device-plugin; nvidia.com/pgpu is its common alias)? */
static bool serves_machines(const struct sl_draft *draft)
{
    const struct sl_str start = SL_STR("nvidia.com/");
    const struct sl_pair *config =
        sl_pair_find(draft->facts->labels, SL_STR("nvidia.com/gpu.workload.config"));
    bool serves = config != NULL && sl_str_starts(config->value, SL_STR("vm-"));
    const struct sl_pair *pair = draft->facts->allocatable;
    for (; pair != NULL && !serves; pair = pair->next) {
        bool ours = sl_str_starts(pair->key, start) && pair->key.len > start.len;
        char first = ours ? pair->key.s[start.len] : '\0';
        serves = (first >= 'A' && first <= 'Z') || sl_str_eq(pair->key, SL_STR("nvidia.com/pgpu"));
    }
    return serves;
}

/* A plugin that starts while a GPU has failed leaves that out of capacity too. On a node whose GPUs
 * are all whole, and its only units, sharing and cutting do not explain those that miss. */
static void from_count(struct sl_draft *draft)
{
    const struct sl_draft_labels *labels = &draft->labels;
    const struct sl_str gpu = SL_STR("nvidia.com/gpu");
    if (draft->n_pools == 1 && draft->n_absent == 0 && !labels->sharing && !draft->dynamic_mig &&
        sl_kinds[draft->pool[0].pool.kind].whole && sl_str_eq(draft->pool[0].resource, gpu)) {
        add(draft, gpu, labels->count, 1);
    }
}

static void from_labels(struct sl_draft *draft)
{
    const struct sl_draft_labels *labels = &draft->labels;
    const struct sl_pair *config =
        sl_pair_find(draft->facts->labels, SL_STR("nvidia.com/mig.config"));
    int64_t gpus = labels->count > 0 ? labels->count : SL_DRAFT_GPUS_MAX;
    int64_t replicas = labels->replicas > 1 ? labels->replicas : 1;
    add(draft, SL_STR("nvidia.com/gpu"), gpus, replicas);
    if (labels->sharing) {
        add(draft, SL_STR("nvidia.com/gpu.shared"), gpus, replicas);
    }
    for (const struct sl_pair *pair = draft->facts->labels; pair != NULL; pair = pair->next) {
        from_profile(draft, pair);
    }
    /* The instances that mig-manager was told to make are not there yet, or no more. */
    bool cut = config != NULL && !sl_str_eq(config->value, SL_STR("all-disabled"));
    for (unsigned i = 0; cut && draft->model != NULL && i < draft->model->n_profiles; i++) {
        const struct sl_mig_profile *profile = &draft->model->profiles[i];
        add(draft, sl_str_of(profile->resource), gpus, profile->max_count);
    }
}

void sl_draft_absent(struct sl_draft *draft)
{
    const struct sl_draft_labels *labels = &draft->labels;
    from_capacity(draft);
    if (serves_machines(draft)) {
        return;
    }
    from_count(draft);
    if (draft->n_pools == 0 && draft->n_absent == 0 &&
        (labels->present || labels->product.len > 0 || labels->count > 0)) {
        from_labels(draft);
    }
}

int64_t sl_node_absent(const struct sl_node *node, uint64_t key)
{
    int64_t units = 0;
    for (unsigned i = 0; i < node->n_absent; i++) {
        bool more = node->absent[i].key == key && node->absent[i].units > units;
        units = more ? node->absent[i].units : units;
    }
    return units;
}
