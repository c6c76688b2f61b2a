/* Infers devices from counts alone, when labels and allocatable allow only one arrangement, the
 * order of the devices aside. */
#include "core/mig/split.h"
#include "core/node/draft.h"

/* Returns the number of devices that a pool of whole GPUs or their replicas stands for; labels and
 * allocatable may contradict. */
static int64_t replicated_things(struct sl_draft *draft, struct sl_draft_pool *pool)
{
    int64_t units = pool->pool.capacity;
    int64_t count = pool->label_count;
    int64_t replicas = pool->label_replicas;
    if (pool->vague) {
        sl_draft_problem_count(draft, pool->resource, units,
                               " allocatable, more than GPUs by the labels, and nothing tells "
                               "how these are shared or cut");
        return 0;
    }
    int64_t things = replicas > 0 && units % replicas == 0 ? units / replicas : 0;
    if (things > 0 && (count == 0 || things <= count)) {
        /* The plugin's own number is surer: the count may include a GPU that failed since. */
        return things;
    }
    pool->label_replicas = 0; /* contradicted by allocatable */
    if (count > 0 && units % count == 0) {
        if (replicas > 0) {
            sl_draft_problem_count(draft, pool->resource, units,
                                   " allocatable, not what the replicas in the labels make");
        }
        return count;
    }
    if (count > 0 || replicas > 0) {
        sl_draft_problem_count(draft, pool->resource, units,
                               " allocatable, not what count and replicas in the labels make");
    }
    return 0;
}

/* Returns how many devices or instances make up the pool's units, from allocatable and labels; 0
 * when unknown. Adds a problem when labels contradict. */
static int64_t pool_things(struct sl_draft *draft, struct sl_draft_pool *pool)
{
    if (sl_kinds[pool->pool.kind].replica) {
        return replicated_things(draft, pool);
    }
    return pool->pool.capacity;
}

static bool model_has(const struct sl_mig_model *model, const struct sl_mig_profile *profile)
{
    return profile >= model->profiles && profile < model->profiles + model->n_profiles;
}

/* Counts the instances of each profile of the node's model over all pools. False when some are
 * unknown or cannot be told apart. */
static bool count_instances(struct sl_draft *draft, int64_t counts[SL_MIG_PROFILES_MAX])
{
    for (unsigned i = 0; i < draft->n_pools; i++) {
        struct sl_draft_pool *pool = &draft->pool[i];
        if (!pool->on_instances) {
            continue;
        }
        const struct sl_mig_profile *profile = pool->pool.profile;
        int64_t things = pool_things(draft, pool);
        if (profile == NULL || things == 0 || !model_has(draft->model, profile) ||
            counts[profile - draft->model->profiles] > 0) {
            return false;
        }
        counts[profile - draft->model->profiles] = things;
    }
    return true;
}

bool sl_draft_split_rest(struct sl_draft *draft,
                         uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX])
{
    const struct sl_mig_model *model = draft->model;
    int64_t counts[SL_MIG_PROFILES_MAX] = {0};
    unsigned n = 0;
    for (const struct sl_device_facts *d = draft->facts->devices; d != NULL; d = d->next) {
        n += d->unsure;
    }
    if (n == 0 || model == NULL || !count_instances(draft, counts)) {
        return false;
    }
    for (const struct sl_device_facts *d = draft->facts->devices; d != NULL; d = d->next) {
        for (const struct sl_instance_facts *i = d->instances; i != NULL; i = i->next) {
            const struct sl_mig_profile *profile = sl_mig_profile_find(model, i->profile);
            if (profile == NULL || counts[profile - model->profiles]-- == 0) {
                return false;
            }
        }
    }
    return sl_split_find(model, counts, n, split) == SL_SPLIT_ONE;
}

/* Adds n devices with the instances of split, named as in the model. */
static void add_split(struct sl_draft *draft, unsigned n,
                      uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX])
{
    for (unsigned d = 0; d < n; d++) {
        (void)sl_draft_add_device(draft, true);
        sl_draft_add_counts(draft, draft->n_devices - 1, split[d]);
    }
}

/* Strategy single: the labels count instances, not GPUs, so only fully partitioned GPUs can be
 * inferred. */
static void infer_single(struct sl_draft *draft)
{
    uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX] = {{0}};
    int64_t counts[SL_MIG_PROFILES_MAX] = {0};
    if (draft->model == NULL || !count_instances(draft, counts)) {
        return;
    }
    unsigned kinds = 0;
    unsigned profile = 0;
    for (unsigned p = 0; p < draft->model->n_profiles; p++) {
        if (counts[p] > 0) {
            kinds++;
            profile = p;
        }
    }
    int64_t each = draft->model->profiles[profile].max_count;
    if (kinds != 1 || counts[profile] % each != 0 || counts[profile] / each > SL_NODE_DEVICES_MAX) {
        return;
    }
    unsigned n = (unsigned)(counts[profile] / each);
    for (unsigned d = 0; d < n; d++) {
        split[d][profile] = (uint8_t)each;
    }
    add_split(draft, n, split);
}

/* ---- the configuration that mig-manager applied ---- */

/* Returns the smallest profile without attributes that has that many compute slices. */
static unsigned plain_profile(const struct sl_mig_model *model, unsigned compute)
{
    for (unsigned p = 0; p < model->n_profiles; p++) {
        if (model->profiles[p].compute == compute && model->profiles[p].attributes == 0) {
            return p;
        }
    }
    return model->n_profiles;
}

/* Sets each to a GPU's instances under mig-parted's configurations "all-<profile>" and
 * "all-balanced". False for other names, while mig-manager applies it, and after that failed. */
static bool configured(const struct sl_draft *draft, uint8_t each[SL_MIG_PROFILES_MAX])
{
    const struct sl_mig_model *model = draft->model;
    const struct sl_pair *labels = draft->facts->labels;
    const struct sl_pair *config = sl_pair_find(labels, SL_STR("nvidia.com/mig.config"));
    const struct sl_pair *state = sl_pair_find(labels, SL_STR("nvidia.com/mig.config.state"));
    const struct sl_str all = SL_STR("all-");
    if (config == NULL || !sl_str_starts(config->value, all) ||
        (state != NULL && !sl_str_eq(state->value, SL_STR("success")))) {
        return false;
    }
    struct sl_str name = {config->value.s + all.len, config->value.len - all.len};
    if (!sl_str_eq(name, SL_STR("balanced"))) {
        const struct sl_mig_profile *profile = sl_mig_profile_find(model, name);
        if (profile != NULL) {
            each[profile - model->profiles] = profile->max_count;
        }
        return profile != NULL;
    }
    for (unsigned compute = 1; compute <= 3 && 2 * compute <= model->compute_slices; compute++) {
        unsigned p = plain_profile(model, compute);
        if (p == model->n_profiles) {
            return false;
        }
        each[p] = compute == 1 ? 2 : 1;
    }
    return true;
}

/* Returns how many GPUs with the instances of each make exactly the counts; 0: no number does. */
static int64_t devices_of(const struct sl_mig_model *model,
                          const int64_t counts[SL_MIG_PROFILES_MAX],
                          const uint8_t each[SL_MIG_PROFILES_MAX])
{
    int64_t n = 0;
    for (unsigned p = 0; p < model->n_profiles; p++) {
        if (each[p] == 0 && counts[p] == 0) {
            continue;
        }
        bool fits = each[p] > 0 && counts[p] > 0 && counts[p] % each[p] == 0;
        if (!fits || (n > 0 && counts[p] / each[p] != n)) {
            return 0;
        }
        n = counts[p] / each[p];
    }
    return n;
}

/* Infers GPUs partitioned as configured, if that agrees with allocatable. n: the number of GPUs; 0:
 * unknown. */
static bool infer_configured(struct sl_draft *draft, int64_t n)
{
    uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX];
    uint8_t each[SL_MIG_PROFILES_MAX] = {0};
    int64_t counts[SL_MIG_PROFILES_MAX] = {0};
    if (draft->model == NULL || !configured(draft, each) || !count_instances(draft, counts)) {
        return false;
    }
    int64_t devices = devices_of(draft->model, counts, each);
    if (devices == 0 || (n > 0 && devices != n) ||
        devices > SL_NODE_DEVICES_MAX - (int64_t)draft->n_devices) {
        return false;
    }
    for (int64_t d = 0; d < devices; d++) {
        memcpy(split[d], each, sizeof(split[d]));
    }
    add_split(draft, (unsigned)devices, split);
    return true;
}

/* Infers the partitioned GPUs of a node with n GPUs. */
static void infer_partitioned(struct sl_draft *draft, int64_t n)
{
    uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX];
    int64_t counts[SL_MIG_PROFILES_MAX] = {0};
    if (infer_configured(draft, n)) {
        return;
    }
    if (draft->model == NULL || n > SL_NODE_DEVICES_MAX - (int64_t)draft->n_devices ||
        !count_instances(draft, counts)) {
        return;
    }
    enum sl_split found = sl_split_find(draft->model, counts, (unsigned)n, split);
    if (found == SL_SPLIT_ONE) {
        add_split(draft, (unsigned)n, split);
    } else if (found == SL_SPLIT_NONE) {
        sl_draft_problem_count(draft, SL_STR("nvidia.com/gpu.count"), draft->labels.count,
                               ", but the MIG instances allocatable do not fit on so many GPUs");
    }
}

static void add_whole(struct sl_draft *draft, int64_t n)
{
    if (n > SL_NODE_DEVICES_MAX) {
        sl_draft_problem_count(draft, SL_STR("GPUs"), n, " are too many to be told apart");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        (void)sl_draft_add_device(draft, false);
    }
}

/* The labels are of GPUs that are partitioned: of the whole ones nothing is known. */
static void forget_boards(struct sl_draft *draft)
{
    for (unsigned i = 0; i < draft->n_devices; i++) {
        draft->device[i].unnamed = true;
        draft->device[i].device.model = NULL;
        draft->device[i].device.memory_mib = 0;
    }
}

struct survey {
    int64_t whole; /* GPUs that are not partitioned, by allocatable; -1: unknown */
    bool plain;    /* nvidia.com/gpu or nvidia.com/gpu.shared is there */
    bool instances;
    bool memory;
    bool slices; /* nothing tells which GPU has them */
};

static struct survey survey_of(struct sl_draft *draft)
{
    struct survey survey = {0};
    for (unsigned i = 0; i < draft->n_pools; i++) {
        struct sl_draft_pool *pool = &draft->pool[i];
        if (pool->on_instances) {
            survey.instances = true;
            survey.slices = survey.slices || pool->pool.slices;
        } else if (sl_kinds[pool->pool.kind].memory) {
            survey.memory = true;
        } else {
            int64_t things = pool_things(draft, pool);
            survey.plain = true;
            if (things == 0 || survey.whole < 0 ||
                __builtin_add_overflow(survey.whole, things, &survey.whole)) {
                survey.whole = -1;
            }
        }
    }
    return survey;
}

/* Returns the number of GPUs of a node that only gpushare's plugin serves. */
static int64_t memory_devices(struct sl_draft *draft)
{
    if (draft->gpu_count > 0) {
        return draft->gpu_count;
    }
    if (draft->labels.count > 0) {
        return draft->labels.count;
    }
    sl_draft_problem(draft, "nothing says how many GPUs share aliyun.com/gpu-mem: taken for one");
    return 1;
}

static void infer_full(struct sl_draft *draft)
{
    struct survey survey = survey_of(draft);
    int64_t count = draft->labels.count;
    if (survey.whole < 0 || survey.slices) {
        return;
    }
    /* On a node partitioned on demand a GPU without units is not partitioned yet. */
    bool empty = draft->dynamic_mig && draft->model != NULL && count > survey.whole;
    bool partitioned = survey.instances || empty;
    if (!survey.plain && survey.memory && !partitioned) {
        add_whole(draft, memory_devices(draft));
        return;
    }
    add_whole(draft, survey.whole);
    if (!partitioned) {
        if (survey.plain && count > 0 && count != survey.whole) {
            sl_draft_problem_count(draft, SL_STR("nvidia.com/gpu.count"), count,
                                   ", but allocatable makes ");
            sl_text_i64(&draft->problem, survey.whole);
        }
    } else if (count > survey.whole) {
        infer_partitioned(draft, count - survey.whole);
    } else if (count == 0) {
        (void)infer_configured(draft, 0);
    } else {
        forget_boards(draft);
        sl_draft_problem_count(draft, SL_STR("nvidia.com/gpu.count"), count,
                               ", which leaves no GPU for the MIG instances allocatable");
    }
}

void sl_draft_infer(struct sl_draft *draft)
{
    if (draft->labels.mig_profile.len > 0) {
        infer_single(draft);
    } else {
        infer_full(draft);
    }
    if (draft->n_devices > 0) {
        draft->layout = SL_LAYOUT_INFERRED;
        sl_draft_place(draft);
    }
}
