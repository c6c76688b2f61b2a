/* Reads a node's labels and allocatable, before its devices. NVIDIA's device plugin and GPU feature
 * discovery, and gpushare's device plugin define the names. */
#include "core/node/draft.h"
#include "sliced/quantity.h"

static bool is(const struct sl_pair *list, struct sl_str key, struct sl_str value)
{
    const struct sl_pair *pair = sl_pair_find(list, key);
    return pair != NULL && sl_str_eq(pair->value, value);
}

/* True when the key's label or annotation is that text. */
static bool says(const struct sl_draft *draft, struct sl_str key, struct sl_str text)
{
    return is(draft->facts->labels, key, text) || is(draft->facts->annotations, key, text);
}

/* Cuts product at the last mark and returns the text behind that, empty when there is no mark. */
static struct sl_str cut_at(struct sl_str *product, struct sl_str mark)
{
    for (size_t i = product->len; i >= mark.len; i--) {
        size_t at = i - mark.len;
        if (memcmp(product->s + at, mark.s, mark.len) == 0) {
            struct sl_str rest = {product->s + i, product->len - i};
            product->len = at;
            return rest;
        }
    }
    return (struct sl_str){0};
}

static void read_product(struct sl_draft *draft)
{
    struct sl_draft_labels *labels = &draft->labels;
    const struct sl_str shared = SL_STR("-SHARED");
    const struct sl_pair *pair =
        sl_pair_find(draft->facts->labels, SL_STR("nvidia.com/gpu.product"));
    if (pair == NULL) {
        return;
    }
    labels->product = pair->value;
    if (sl_str_ends(labels->product, shared)) {
        labels->product.len -= shared.len;
        labels->sharing = true;
    }
    labels->mig_profile = cut_at(&labels->product, SL_STR("-MIG-"));
    if (sl_str_eq(labels->mig_profile, SL_STR("INVALID"))) {
        sl_draft_problem(draft, "nvidia.com/gpu.product says MIG-INVALID: strategy single needs "
                                "all GPUs partitioned alike");
    }
}

static void read_labels(struct sl_draft *draft)
{
    const struct sl_pair *list = draft->facts->labels;
    struct sl_draft_labels *labels = &draft->labels;
    read_product(draft);
    labels->count = sl_draft_number(list, SL_STR("nvidia.com/gpu.count"));
    labels->replicas = sl_draft_number(list, SL_STR("nvidia.com/gpu.replicas"));
    labels->present = is(list, SL_STR("nvidia.com/gpu.present"), SL_STR("true"));
    labels->single = is(list, SL_STR("nvidia.com/mig.strategy"), SL_STR("single"));
    const struct sl_pair *sharing = sl_pair_find(list, SL_STR("nvidia.com/gpu.sharing-strategy"));
    if (labels->replicas > 1 || (sharing != NULL && !sl_str_eq(sharing->value, SL_STR("none")))) {
        labels->sharing = true;
    }
    labels->mps = sharing != NULL && sl_str_eq(sharing->value, SL_STR("mps"));
    labels->spans = says(draft, SL_STR("sliced.dev/gpushare-several-gpus"), SL_STR("true"));
    const struct sl_str fail = SL_STR("sliced.dev/fail-requests-greater-than-one");
    labels->one_each = says(draft, fail, SL_STR("true"))    ? 1
                       : says(draft, fail, SL_STR("false")) ? -1
                                                            : 0;
    /* Beside MIG-INVALID, which is told already, feature discovery writes zeros. */
    bool invalid = sl_str_eq(labels->mig_profile, SL_STR("INVALID"));
    int64_t memory_mib =
        invalid ? 0 : sl_draft_memory_label(draft, SL_STR("nvidia.com/gpu.memory"));
    if (labels->mig_profile.len == 0) {
        labels->memory_mib = memory_mib;
    } else {
        labels->instance_mib = memory_mib;
    }
    sl_draft_cloud(draft);
    if (labels->product.len > 0) {
        draft->model =
            labels->mig_profile.len == 0
                ? sl_mig_model_find(labels->product, labels->memory_mib)
                : sl_mig_model_single(labels->product, labels->mig_profile, labels->instance_mib);
        sl_draft_memory_check(draft);
    }
    const struct sl_str nos = SL_STR("nos.nebuly.com/gpu-partitioning");
    const struct sl_str partitioning = SL_STR("sliced.dev/partitioning");
    enum sl_actuator actuator = draft->facts->actuator;
    labels->slices = is(list, nos, SL_STR("mps"));
    draft->dynamic_mig = actuator == SL_ACTUATOR_MIG_MANAGER || actuator == SL_ACTUATOR_NOS_MIG ||
                         is(list, nos, SL_STR("mig")) ||
                         is(list, partitioning, SL_STR("dynamic")) ||
                         is(draft->facts->annotations, partitioning, SL_STR("dynamic"));
}

int64_t sl_draft_units(struct sl_draft *draft, const char *list, const struct sl_pair *pair)
{
    struct sl_quantity q = {0};
    enum sl_quantity_result result = sl_quantity_parse(pair->value.s, pair->value.len, &q);
    bool whole = result == SL_QUANTITY_OK && sl_quantity_is_integer(q) && q.whole >= 0;
    bool large = result == SL_QUANTITY_RANGE ? pair->value.s[0] != '-' : q.whole > SL_UNITS_MAX;
    if (whole && !large) {
        return q.whole;
    }
    sl_draft_problem(draft, list);
    sl_text_puts(&draft->problem, "[");
    sl_text_shown(&draft->problem, pair->key);
    sl_text_puts(&draft->problem, "]: ");
    sl_text_quoted(&draft->problem, pair->value);
    if (large) {
        sl_text_puts(&draft->problem, " is too large, taken for ");
        sl_text_i64(&draft->problem, SL_UNITS_MAX);
        return SL_UNITS_MAX;
    }
    sl_text_puts(&draft->problem, " is not a whole number");
    return 0;
}

/* Returns the replicas by a label, 0 when it tells none: the plugin refuses to make one replica,
 * and feature discovery says 1 until it has read that the plugin shares. */
static int64_t replicas_told(int64_t label)
{
    return label > 1 ? label : 0;
}

/* Are the units too many to be GPUs that a lagging label has not counted yet, or those of another
 * product? Then they are replicas. Feature discovery says replicas=1 until it has read the plugin's
 * configuration (NVIDIA/gpu-feature-discovery, issue 76). */
static bool is_shared(const struct sl_draft_labels *labels, int64_t units)
{
    return labels->count > 0 && units > labels->count &&
           (labels->exact || units > SL_DRAFT_GPUS_MAX || units / 4 >= labels->count);
}

void sl_draft_unshare(struct sl_draft_pool *pool)
{
    pool->pool.kind = pool->on_instances ? SL_KIND_MIG : SL_KIND_WHOLE;
    pool->vague = false;
}

/* A resource of replicas by its name keeps its kind; any other becomes one of replicas. */
static void share(struct sl_draft_pool *pool)
{
    pool->pool.kind = sl_kinds[pool->pool.kind].replica ? pool->pool.kind : SL_KIND_REPLICA;
}

/* Judges nvidia.com/gpu and nvidia.com/gpu.shared, whose meaning depends on the strategy. */
static void judge_gpu(const struct sl_draft *draft, struct sl_draft_pool *pool, bool shared)
{
    const struct sl_draft_labels *labels = &draft->labels;
    pool->label_count = labels->count;
    pool->label_replicas = replicas_told(labels->replicas);
    if (labels->mig_profile.len > 0) {
        pool->on_instances = true;
        pool->profile = labels->mig_profile;
        pool->label_mib = labels->instance_mib;
        sl_draft_unshare(pool);
    }
    if (shared || labels->sharing) {
        share(pool);
    } else if (!pool->on_instances && is_shared(labels, pool->pool.capacity)) {
        share(pool);
        pool->vague = true;
    }
}

static void judge_profile(struct sl_draft *draft, struct sl_draft_pool *pool)
{
    char key[SL_DRAFT_KEY_MAX];
    const struct sl_pair *labels = draft->facts->labels;
    pool->on_instances = true;
    pool->label_count = sl_draft_number(labels, sl_draft_key(key, pool->profile, ".count"));
    pool->label_replicas =
        replicas_told(sl_draft_number(labels, sl_draft_key(key, pool->profile, ".replicas")));
    pool->label_mib = sl_draft_memory_label(draft, sl_draft_key(key, pool->profile, ".memory"));
    if (pool->label_replicas > 0) {
        share(pool);
    }
}

/* A pool of nos' slices of one size; only devices that are told can show which GPU has how many. */
static void judge_slices(struct sl_draft_pool *pool, int32_t gb)
{
    pool->on_instances = true;
    pool->pool.slices = true;
    pool->label_mib = (int64_t)gb * 1024;
}

/* Returns the position of the resource in the order of names. */
static unsigned pool_place(const struct sl_draft *draft, struct sl_str name)
{
    unsigned at = 0;
    while (at < draft->n_pools && strcmp(draft->pool[at].resource.s, name.s) < 0) {
        at++;
    }
    return at;
}

static void add_pool(struct sl_draft *draft, const struct sl_pair *pair,
                     const struct sl_resource *resource, int64_t units)
{
    unsigned at = pool_place(draft, pair->key);
    memmove(&draft->pool[at + 1], &draft->pool[at], (draft->n_pools - at) * sizeof(draft->pool[0]));
    draft->n_pools++;
    struct sl_draft_pool *pool = &draft->pool[at];
    *pool = (struct sl_draft_pool){
        .pool = {.key = resource->key, .kind = resource->kind, .capacity = units, .replicas = 1},
        .resource = pair->key,
        .profile = resource->profile,
    };
    if (resource->slice_gb > 0) {
        judge_slices(pool, resource->slice_gb);
    } else if (resource->profile.len > 0) {
        judge_profile(draft, pool);
    } else if (!sl_kinds[resource->kind].memory) {
        judge_gpu(draft, pool, resource->shared);
    }
}

static bool has_pool(const struct sl_draft *draft, uint64_t key)
{
    for (unsigned i = 0; i < draft->n_pools; i++) {
        if (draft->pool[i].pool.key == key) {
            return true;
        }
    }
    return false;
}

static int read_allocatable(struct sl_draft *draft, struct sl_error *err)
{
    const struct sl_pair *pair = draft->facts->allocatable;
    for (; pair != NULL; pair = pair->next) {
        struct sl_resource resource;
        if (!sl_resource_parse(pair->key, &resource)) {
            continue;
        }
        int64_t units = sl_draft_units(draft, "allocatable", pair);
        if (resource.inventory) {
            draft->gpu_count = units;
        } else if (units > 0 && !has_pool(draft, resource.key)) {
            if (draft->n_pools == SL_NODE_POOLS_MAX) {
                return sl_error_set(err, SL_ERR_LIMIT,
                                    "status.allocatable: more than %d GPU resources on one node",
                                    (int)SL_NODE_POOLS_MAX);
            }
            add_pool(draft, pair, &resource, units);
        }
    }
    if (draft->gpu_count == 0) {
        /* gpushare's own extender reads capacity. */
        draft->gpu_count = sl_draft_number(draft->facts->capacity, SL_STR("aliyun.com/gpu-count"));
    }
    return 0;
}

/* When a resource has a ".shared" twin, its replicas have that name, and the plain one is not
 * shared, whatever the labels say. */
static void judge_twins(struct sl_draft *draft)
{
    const struct sl_str shared = SL_STR(".shared");
    for (unsigned i = 0; i < draft->n_pools; i++) {
        struct sl_str name = draft->pool[i].resource;
        if (!sl_str_ends(name, shared)) {
            continue;
        }
        name.len -= shared.len;
        for (unsigned k = 0; k < draft->n_pools; k++) {
            if (sl_str_eq(draft->pool[k].resource, name)) {
                sl_draft_unshare(&draft->pool[k]);
            }
        }
    }
}

int sl_draft_read(struct sl_draft *draft, struct sl_error *err)
{
    read_labels(draft);
    int result = read_allocatable(draft, err);
    if (result == 0) {
        judge_twins(draft);
    }
    return result;
}
