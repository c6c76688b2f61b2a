/* Ties a node's pools to its devices and instances. Allocatable decides how many units there are: a
 * pool whose devices do not add up to it is only counted. */
#include "core/node/draft.h"

/* The devices, instances or slices of a pool; a plugin leaves out those it knows to fail. */
struct base {
    int64_t all;
    int64_t healthy;
};

static bool is_name_of(const struct sl_draft_instance *instance, struct sl_str profile)
{
    if (instance->profile.len != profile.len) {
        return false;
    }
    for (size_t i = 0; i < profile.len; i++) {
        /* A resource's name has '.' in place of '+'. */
        char c = instance->profile.s[i] == '+' ? '.' : instance->profile.s[i];
        if (c != profile.s[i]) {
            return false;
        }
    }
    return true;
}

static bool is_of_pool(const struct sl_draft *draft, const struct sl_draft_instance *instance,
                       const struct sl_draft_pool *pool)
{
    if (!pool->on_instances) {
        return false;
    }
    if (pool->profile.len == 0) {
        return instance->instance.slices == 0; /* strategy single */
    }
    if (is_name_of(instance, pool->profile)) {
        return true;
    }
    const struct sl_mig_model *model = draft->device[instance->instance.device].device.model;
    return instance->instance.profile != NULL &&
           sl_mig_profile_find(model, pool->profile) == instance->instance.profile;
}

static void tie_instances_to_pools(struct sl_draft *draft)
{
    for (unsigned i = 0; i < draft->n_instances; i++) {
        struct sl_draft_instance *instance = &draft->instance[i];
        for (unsigned p = 0; p < draft->n_pools; p++) {
            if (is_of_pool(draft, instance, &draft->pool[p])) {
                instance->instance.pool = (uint8_t)p;
                break;
            }
        }
    }
}

static struct base base_of(const struct sl_draft *draft, unsigned pool)
{
    struct base base = {0};
    if (draft->pool[pool].on_instances) {
        for (unsigned i = 0; i < draft->n_instances; i++) {
            const struct sl_instance *instance = &draft->instance[i].instance;
            if (instance->pool == pool) {
                int64_t units = instance->slices > 0 ? instance->slices : 1;
                base.all += units;
                base.healthy += draft->device[instance->device].device.healthy ? units : 0;
            }
        }
        return base;
    }
    for (unsigned i = 0; i < draft->n_devices; i++) {
        const struct sl_device *device = &draft->device[i].device;
        if (!device->mig) {
            base.all++;
            base.healthy += device->healthy;
        }
    }
    return base;
}

/* Returns the replicas of each device or instance; label: as labels tell, or 0. Returns 0 when the
 * units do not agree. */
static int64_t replicas_of(int64_t units, struct base base, int64_t label)
{
    const int64_t things[] = {base.all, base.healthy};
    for (unsigned i = 0; i < 2; i++) {
        int64_t each = things[i] > 0 && units % things[i] == 0 ? units / things[i] : 0;
        if (each > 0 && each <= INT32_MAX && (label == 0 || each == label)) {
            return each;
        }
    }
    return 0;
}

static bool tie_countable(struct sl_draft *draft, unsigned index)
{
    struct sl_draft_pool *pool = &draft->pool[index];
    struct base base = base_of(draft, index);
    int64_t units = pool->pool.capacity;
    if (pool->vague && (units == base.all || units == base.healthy)) {
        sl_draft_unshare(pool); /* the annotation names them all */
    }
    if (!sl_kinds[pool->pool.kind].replica || pool->pool.slices) {
        return base.all > 0 && (units == base.all || units == base.healthy);
    }
    int64_t replicas = replicas_of(units, base, pool->label_replicas);
    if (replicas == 0) {
        return false;
    }
    pool->pool.replicas = (int32_t)replicas;
    return true;
}

/* Sums over the memory of devices. */
struct sum {
    int64_t n;
    int64_t mib;
    int64_t gib; /* each device rounded down, as gpushare's plugin does */
};

/* How the pool's units divide over devices by memory: exactly when the unit is a MiB or a GiB, else
 * in proportion. */
struct scale {
    int64_t units;
    struct sum all;
    struct sum healthy; /* a plugin may have stopped counting failed GPUs */
    int64_t unit_mib;   /* 1 or 1024; 0: neither */
    int64_t share;      /* units of each device, unless by_size */
    bool by_size;       /* every device's memory is known */
};

static bool add_memory(struct sum *sum, int64_t mib)
{
    sum->n++;
    sum->gib += mib / 1024;
    return !__builtin_add_overflow(sum->mib, mib, &sum->mib);
}

static int64_t unit_of_sum(const struct scale *scale, const struct sum *sum)
{
    if (scale->units == sum->mib) {
        return 1;
    }
    return scale->units == sum->gib ? 1024 : 0;
}

/* gpushare's plugin assumes that all GPUs have the first one's memory. */
static int64_t unit_of_first(const struct sl_draft *draft, const struct scale *scale, int64_t n)
{
    for (unsigned i = 0; n > 0 && scale->units % n == 0 && i < draft->n_devices; i++) {
        const struct sl_device *device = &draft->device[i].device;
        if (!device->mig && scale->units / n == device->memory_mib) {
            return 1;
        }
        if (!device->mig && scale->units / n == device->memory_mib / 1024) {
            return 1024;
        }
    }
    return 0;
}

static int64_t unit_of(const struct sl_draft *draft, const struct scale *scale)
{
    int64_t unit = unit_of_sum(scale, &scale->all);
    unit = unit == 0 ? unit_of_sum(scale, &scale->healthy) : unit;
    unit = unit == 0 ? unit_of_first(draft, scale, scale->all.n) : unit;
    return unit == 0 ? unit_of_first(draft, scale, scale->healthy.n) : unit;
}

static int64_t scaled(const struct scale *scale, int64_t mib)
{
    int64_t product = 0;
    if (!scale->by_size) {
        return scale->share;
    }
    if (scale->unit_mib > 0) {
        return mib / scale->unit_mib;
    }
    return __builtin_mul_overflow(scale->units, mib, &product) ? scale->share
                                                               : product / scale->all.mib;
}

static bool tie_memory(struct sl_draft *draft, unsigned index)
{
    struct base base = base_of(draft, index);
    int64_t count = draft->gpu_count;
    int64_t units = draft->pool[index].pool.capacity;
    if (base.all == 0 || (count > 0 && count != base.all && count != base.healthy)) {
        return false;
    }
    /* No GPU has the remainder, so no pod may get it. */
    struct scale scale = {.units = units, .by_size = true, .share = units / base.all};
    for (unsigned i = 0; i < draft->n_devices; i++) {
        const struct sl_device *device = &draft->device[i].device;
        int64_t mib = device->memory_mib;
        if (!device->mig) {
            scale.by_size = scale.by_size && mib > 0 && add_memory(&scale.all, mib) &&
                            (!device->healthy || add_memory(&scale.healthy, mib));
        }
    }
    scale.unit_mib = scale.by_size ? unit_of(draft, &scale) : 0;
    bool some = false;
    for (unsigned i = 0; i < draft->n_devices; i++) {
        struct sl_device *device = &draft->device[i].device;
        device->memory_units = device->mig ? 0 : scaled(&scale, device->memory_mib);
        some = some || device->memory_units > 0;
    }
    return some;
}

/* nvidia.com/gpu beside nvidia.com/gpu.shared: it is unknown which GPUs are shared. */
static bool is_ambiguous(const struct sl_draft *draft)
{
    unsigned plain = 0;
    for (unsigned i = 0; i < draft->n_pools; i++) {
        const struct sl_draft_pool *pool = &draft->pool[i];
        plain += !pool->on_instances && !sl_kinds[pool->pool.kind].memory;
    }
    return plain > 1;
}

static void say_untied(struct sl_draft *draft, unsigned index)
{
    struct base base = base_of(draft, index);
    if (base.all == 0 && draft->layout != SL_LAYOUT_ANNOTATED) {
        return; /* nothing was inferred, so nothing contradicts */
    }
    const struct sl_draft_pool *pool = &draft->pool[index];
    sl_draft_problem_count(draft, pool->resource, pool->pool.capacity, " allocatable");
    if (sl_kinds[pool->pool.kind].memory && draft->gpu_count > 0) {
        sl_text_puts(&draft->problem, " on ");
        sl_text_i64(&draft->problem, draft->gpu_count);
    }
    sl_text_puts(&draft->problem,
                 pool->on_instances ? ", instances known for it: " : ", GPUs known for it: ");
    sl_text_i64(&draft->problem, base.all);
}

/* Drops the instances whose pool is not tied, and tells once of those without a pool. */
static void drop_instances(struct sl_draft *draft)
{
    unsigned kept = 0;
    unsigned not_allocatable = 0;
    for (unsigned i = 0; i < draft->n_instances; i++) {
        const struct sl_draft_instance *instance = &draft->instance[i];
        bool has_pool = instance->instance.pool != SL_DRAFT_NO_POOL;
        not_allocatable += !has_pool;
        if (has_pool && draft->pool[instance->instance.pool].pool.on_devices) {
            draft->instance[kept++] = *instance;
        }
    }
    draft->n_instances = kept;
    if (not_allocatable > 0) {
        sl_draft_problem_count(draft, SL_STR("instances"), not_allocatable,
                               " described that are not allocatable");
    }
}

/* Drops inferred devices when no pool is tied to them, as they are of no use then. */
static void drop_guess(struct sl_draft *draft)
{
    bool used = draft->n_pools == 0;
    for (unsigned i = 0; i < draft->n_pools; i++) {
        used = used || draft->pool[i].pool.on_devices;
    }
    if (!used) {
        draft->n_devices = 0;
    }
    if (draft->n_devices == 0) {
        draft->layout = SL_LAYOUT_UNKNOWN;
    }
}

void sl_draft_tie(struct sl_draft *draft)
{
    bool ambiguous = is_ambiguous(draft);
    tie_instances_to_pools(draft);
    for (unsigned i = 0; i < draft->n_pools; i++) {
        struct sl_draft_pool *pool = &draft->pool[i];
        bool memory = sl_kinds[pool->pool.kind].memory;
        if (ambiguous && !memory && !pool->on_instances) {
            continue;
        }
        pool->pool.on_devices =
            draft->n_devices > 0 && (memory ? tie_memory(draft, i) : tie_countable(draft, i));
        if (!pool->pool.on_devices && draft->n_devices > 0) {
            say_untied(draft, i);
        }
    }
    drop_instances(draft);
    if (draft->layout == SL_LAYOUT_INFERRED) {
        drop_guess(draft);
    }
}
