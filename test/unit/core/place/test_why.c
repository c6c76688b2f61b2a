/* Why an ask does not fit, with its numbers, on small random nodes of which some can be cut anew:
 * against a second reading of the reasons in sliced/reason.h, by plain counts. */
#include "unit/core/rig.h"

#include "sliced/fit.h"

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define SLICE  "nvidia.com/gpu-6gb"

enum { ROUNDS = 30000, DEVICES = 3, PROFILES = 3, SLICE_MIB = 6 * 1024 };

enum cutter { NOBODY, DYNAMIC, SINGLE, MIG_MODE, SLICER, CUTTERS };

static const char *const profiles[PROFILES] = {"1g.6gb", "2g.12gb", "4g.24gb"};
static const char *const migs[PROFILES] = {"nvidia.com/mig-1g.6gb", "nvidia.com/mig-2g.12gb",
                                           "nvidia.com/mig-4g.24gb"};
static const char *const asked[] = {GPU,
                                    SHARED,
                                    MEM,
                                    SLICE,
                                    "nvidia.com/mig-1g.6gb",
                                    "nvidia.com/mig-2g.12gb",
                                    "nvidia.com/mig-4g.24gb",
                                    "nvidia.com/mig-3g.20gb"};

/* ---- a random world ---- */

static int pool_of(const struct rig *rig, const char *resource)
{
    for (unsigned p = 0; p < rig->node.n_pools; p++) {
        if (strcmp(rig->pool[p].resource, resource) == 0) {
            return (int)p;
        }
    }
    return -1;
}

static unsigned mig_pool(struct rig *rig, unsigned profile)
{
    int pool = pool_of(rig, migs[profile]);
    if (pool < 0) {
        pool = (int)rig_pool(rig, migs[profile], SL_KIND_MIG, 0);
        rig->pool[pool].profile = rig_profile(rig_model("A30-24GB"), profiles[profile]);
    }
    rig->pool[pool].capacity++;
    return (unsigned)pool;
}

/* Some of the instances that an A30 has room for. */
static void cut_device(struct rig *rig, unsigned device, uint64_t *seed)
{
    static const struct {
        unsigned profile;
        int start;
    } layouts[][4] = {{{0, 0}, {0, 1}, {0, 2}, {0, 3}},
                      {{1, 0}, {0, 2}, {0, 3}, {0, -1}},
                      {{1, 0}, {1, 2}, {0, -1}, {0, -1}},
                      {{2, 0}, {0, -1}, {0, -1}, {0, -1}}};
    unsigned which = rig_random(seed, 4);
    rig->device[device].mig = true;
    for (unsigned i = 0; i < 4; i++) {
        if (layouts[which][i].start >= 0 && rig_random(seed, 4) > 0) {
            rig_instance(rig, device, layouts[which][i].start,
                         mig_pool(rig, layouts[which][i].profile));
        }
    }
}

/* The slices that nos has made of a GPU's memory. */
static void slice_device(struct rig *rig, unsigned device, uint64_t *seed)
{
    int pool = pool_of(rig, SLICE);
    unsigned n = 1 + rig_random(seed, 3);
    if (pool < 0) {
        pool = (int)rig_pool(rig, SLICE, SL_KIND_REPLICA, 0);
        rig->pool[pool].slices = true;
        rig->pool[pool].one_each = true;
        rig->pool[pool].memory_mib = SLICE_MIB;
    }
    rig->pool[pool].capacity += n;
    rig->instance[rig_instance(rig, device, -1, (unsigned)pool)].slices = (uint16_t)n;
}

static void settle_cutter(struct rig *rig, enum cutter cutter)
{
    struct sl_partition *partition = &rig->node.partition;
    rig->node.dynamic_mig = cutter == DYNAMIC || cutter == SINGLE || cutter == MIG_MODE;
    partition->single = cutter == SINGLE;
    partition->mig_mode = cutter == MIG_MODE;
    partition->actuator = cutter == NOBODY   ? SL_ACTUATOR_NONE
                          : cutter == SLICER ? SL_ACTUATOR_NOS_MPS
                                             : SL_ACTUATOR_MIG_MANAGER;
}

/* Units that the node has and does not offer. */
static void take_out(struct rig *rig, uint64_t *seed)
{
    static struct sl_absent absent;
    const char *resource = asked[rig_random(seed, sizeof(asked) / sizeof(asked[0]))];
    int pool = pool_of(rig, resource);
    absent.key = sl_hash(resource, strlen(resource));
    absent.units = (pool < 0 ? 0 : rig->pool[pool].capacity) + 1 + rig_random(seed, 4);
    rig->node.absent = &absent;
    rig->node.n_absent = 1;
}

static struct rig *random_node(enum cutter cutter, uint64_t *seed)
{
    struct rig *rig = rig_new();
    unsigned n = 1 + rig_random(seed, DEVICES);
    static const int64_t mib[] = {0, 12288, 24576, 24576};
    unsigned plain = 0;
    int64_t units = 0;
    settle_cutter(rig, cutter);
    rig->node.model = rig_model("A30-24GB");
    for (unsigned d = 0; d < n; d++) {
        rig_device(rig, 0);
        rig->device[d].model = rig_random(seed, 6) > 0 ? rig->node.model : NULL;
        rig->device[d].memory_mib = mib[rig_random(seed, 4)];
        rig->device[d].healthy = rig_random(seed, 5) > 0;
        unsigned what = rig_random(seed, 3);
        if (what > 0 && cutter == SLICER) {
            slice_device(rig, d, seed);
        } else if (what > 0 && cutter != SINGLE && rig->device[d].model != NULL) {
            cut_device(rig, d, seed);
        } else {
            rig->device[d].memory_units =
                cutter == NOBODY || what == 0 ? 4 + rig_random(seed, 5) : 0;
            units += rig->device[d].memory_units;
            plain++;
        }
    }
    if (plain > 0 && rig_random(seed, 4) > 0) {
        rig_pool(rig, GPU, SL_KIND_WHOLE, plain);
    }
    if (plain > 0 && cutter == NOBODY && rig_random(seed, 2) == 0) {
        unsigned pool = rig_pool(rig, SHARED, SL_KIND_REPLICA, INT64_C(2) * plain);
        rig->pool[pool].replicas = 2;
        rig->pool[pool].one_each = rig_random(seed, 4) == 0;
    }
    if (units > 0) {
        rig_pool(rig, MEM, SL_KIND_MEMORY, units);
    }
    if (rig_random(seed, 3) == 0) {
        take_out(rig, seed);
    }
    return rig;
}

static struct sl_ask random_ask(const struct rig *rig, uint64_t *seed)
{
    bool offered = rig->node.n_pools > 0 && rig_random(seed, 3) > 0;
    const char *resource = offered ? rig->pool[rig_random(seed, rig->node.n_pools)].resource
                                   : asked[rig_random(seed, sizeof(asked) / sizeof(asked[0]))];
    struct sl_ask ask = rig_ask(resource, 1 + rig_random(seed, 5));
    bool states = ask.item[0].kind != SL_KIND_MEMORY && rig_random(seed, 2) == 0;
    ask.item[0].count += ask.item[0].kind == SL_KIND_MEMORY ? rig_random(seed, 5) : 0;
    ask.item[0].each = (uint8_t)(1 + rig_random(seed, (uint32_t)ask.item[0].count));
    ask.item[0].least_mib = states ? 1024 * (int32_t)(1 + rig_random(seed, 30)) : 0;
    return ask;
}

/* ---- what there is, by plain counts ---- */

struct world {
    const struct sl_view *view;
    bool empty; /* as if no pod were there */
    bool well;  /* as if all GPUs were healthy */
};

static int64_t in_use(const struct world *world, unsigned pool)
{
    return world->empty ? 0 : world->view->pool_used[pool];
}

static bool holds_nothing(const struct world *world, unsigned device)
{
    const struct sl_device_use *use = &world->view->device[device];
    return world->empty ||
           (!use->whole && use->replicas == 0 && use->memory_units == 0 && use->instances == 0);
}

static bool has_memory(const struct sl_ask_item *item, int64_t mib)
{
    return item == NULL || item->least_mib == 0 || mib >= item->least_mib;
}

/* The units that one device can give; of a share of memory the most in one piece. */
static int64_t of_device(const struct world *world, unsigned pool, unsigned d,
                         const struct sl_ask_item *item)
{
    const struct sl_node *node = world->view->node;
    const struct sl_pool *p = &node->pool[pool];
    const struct sl_device *device = &node->device[d];
    const struct sl_device_use none = {.whole = false};
    const struct sl_device_use *use = world->empty ? &none : &world->view->device[d];
    int64_t n = 0;
    if (!device->healthy && !world->well) {
        return 0;
    }
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->device == d && instance->pool == pool && !use->whole) {
            int64_t mib = p->slices ? p->memory_mib : sl_mig_profile_mib(p->profile);
            int64_t units = p->slices ? instance->slices : 1;
            units -= world->empty ? 0 : world->view->instance_used[i];
            n += has_memory(item, mib) ? units : 0;
        }
    }
    if (p->kind == SL_KIND_MIG || p->slices || device->mig || use->whole) {
        return n;
    }
    if (p->kind == SL_KIND_MEMORY) {
        return device->memory_units - use->memory_units;
    }
    if (!has_memory(item, device->memory_mib)) {
        return 0;
    }
    return p->kind == SL_KIND_WHOLE ? holds_nothing(world, d) : p->replicas - use->replicas;
}

struct room {
    int64_t sum;
    int64_t largest; /* that one pod can have */
    int64_t device;  /* the most on one */
};

static struct room room_in(const struct world *world, unsigned pool, const struct sl_ask_item *item)
{
    const struct sl_pool *p = &world->view->node->pool[pool];
    int64_t left = p->capacity - in_use(world, pool);
    struct room room = {0, 0, 0};
    left = left < 0 ? 0 : left;
    for (unsigned d = 0; d < world->view->node->n_devices; d++) {
        int64_t n = of_device(world, pool, d, item);
        n = n < 0 ? 0 : n;
        room.sum += n;
        room.device = n > room.device ? n : room.device;
    }
    room.sum = room.sum < left ? room.sum : left;
    room.largest = p->kind == SL_KIND_MEMORY && room.device < room.sum ? room.device : room.sum;
    room.largest = p->one_each && item != NULL && item->each > 1 ? 0 : room.largest;
    return room;
}

/* ---- what could be made of the GPUs ---- */

static int64_t instances_more(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                              unsigned profile)
{
    int64_t most = 0;
    for (unsigned start = 0; start < model->memory_slices; start++) {
        struct sl_mig_placement at = {(uint8_t)profile, (uint8_t)start};
        if (sl_mig_can_place(model, layout, at)) {
            struct sl_mig_layout next = *layout;
            sl_mig_place(model, &next, at);
            int64_t n = 1 + instances_more(model, &next, profile);
            most = n > most ? n : most;
        }
    }
    return most;
}

static int index_of(const struct sl_mig_model *model, struct sl_mig_shape shape)
{
    const struct sl_mig_profile *found = model == NULL ? NULL : sl_mig_profile_of(model, shape);
    return found == NULL ? -1 : (int)(found - model->profiles);
}

static struct sl_mig_layout layout_in_use(const struct world *world, unsigned d)
{
    const struct sl_node *node = world->view->node;
    struct sl_mig_layout layout = {0};
    for (unsigned i = 0; i < node->n_instances && !world->empty; i++) {
        if (node->instance[i].device == d && world->view->instance_used[i] > 0) {
            const struct sl_mig_model *model = node->device[d].model;
            sl_mig_place(
                model, &layout,
                (struct sl_mig_placement){(uint8_t)(node->instance[i].profile - model->profiles),
                                          (uint8_t)node->instance[i].start});
        }
    }
    return layout;
}

/* Instances, on GPUs of which at most instances are in use; -1: no GPU can have them. */
static int64_t instances_made(const struct world *world, const struct sl_ask_item *item)
{
    const struct sl_node *node = world->view->node;
    int64_t sum = -1;
    for (unsigned d = 0; d < node->n_devices; d++) {
        int profile = index_of(node->device[d].model, item->shape);
        const struct sl_device_use *use = &world->view->device[d];
        bool other = use->whole || use->replicas > 0 || use->memory_units > 0;
        if (profile < 0) {
            continue;
        }
        sum = sum < 0 ? 0 : sum;
        if (world->empty || (node->device[d].healthy && !other)) {
            struct sl_mig_layout layout = layout_in_use(world, d);
            sum += instances_more(node->device[d].model, &layout, (unsigned)profile);
        }
    }
    return sum;
}

/* Strategy single: all GPUs at once, so none in use. A profile that is no whole board counts with
 * what an A30's driver leaves it, and only for a pod that says how much it needs. */
static int64_t all_alike(const struct world *world, const struct sl_ask_item *item)
{
    const struct sl_node *node = world->view->node;
    int64_t most = 24064 >= item->least_mib ? 1 : 0;
    for (unsigned p = 0; p < node->n_pools; p++) {
        if (in_use(world, p) > 0) {
            return most > 0 ? 0 : -1;
        }
    }
    if (item->least_mib > 0) {
        most = item->least_mib <= 11968 ? 2 : most;
        most = item->least_mib <= 5952 ? 4 : most;
    }
    return most > 0 ? most * node->n_devices : -1;
}

static int64_t wholes_made(const struct world *world, const struct sl_ask_item *item)
{
    const struct sl_node *node = world->view->node;
    int64_t sum = 0;
    for (unsigned d = 0; d < node->n_devices; d++) {
        const struct sl_device *device = &node->device[d];
        bool free = world->empty || (device->healthy && holds_nothing(world, d));
        sum += free && device->model != NULL && device->memory_mib >= item->least_mib;
    }
    return sum == 0 && world->empty ? -1 : sum;
}

/* Slices: on GPUs whose memory has room for them beside the slices in use; one to a container. */
static int64_t slice_made(const struct world *world, const struct sl_ask_item *item)
{
    const struct sl_node *node = world->view->node;
    bool ever = false;
    int64_t now = 0;
    for (unsigned d = 0; d < node->n_devices && item->least_mib <= SLICE_MIB; d++) {
        int64_t left = node->device[d].memory_mib;
        bool given = !world->empty && world->view->device[d].whole;
        ever = ever || (!given && left >= SLICE_MIB);
        for (unsigned i = 0; i < node->n_instances && !world->empty; i++) {
            bool here = node->instance[i].device == d;
            left -= here ? (int64_t)world->view->instance_used[i] * SLICE_MIB : 0;
        }
        bool may = !given && left > 0 && (world->empty || node->device[d].healthy);
        now += may ? left / SLICE_MIB : 0;
    }
    int64_t most = item->each > 1 ? 1 : item->count;
    return !ever ? -1 : now < most ? now : most;
}

static int64_t could_be_made(const struct world *world, enum cutter cutter,
                             const struct sl_ask_item *item)
{
    switch (cutter) {
    case SINGLE:
        return item->kind == SL_KIND_WHOLE ? all_alike(world, item) : -1;
    case MIG_MODE:
    case DYNAMIC:
        if (item->kind == SL_KIND_WHOLE && cutter == MIG_MODE) {
            return wholes_made(world, item);
        }
        return item->kind == SL_KIND_MIG ? instances_made(world, item) : -1;
    case SLICER:
        return strcmp(item->resource, SLICE) == 0 ? slice_made(world, item) : -1;
    default:
        return -1;
    }
}

/* ---- the second reading ---- */

static struct sl_verdict verdict(enum sl_reason reason, int64_t free, int64_t capacity,
                                 int64_t largest)
{
    return (struct sl_verdict){
        .reason = reason, .free = free, .capacity = capacity, .largest = largest};
}

static int64_t largest_unit(const struct sl_node *node, unsigned pool)
{
    const struct sl_pool *p = &node->pool[pool];
    int64_t most = 0;
    if (p->slices || p->profile != NULL) {
        return p->slices ? p->memory_mib : sl_mig_profile_mib(p->profile);
    }
    for (unsigned d = 0; d < node->n_devices; d++) {
        int64_t mib = node->device[d].mig ? 0 : node->device[d].memory_mib;
        most = mib > most ? mib : most;
    }
    return most;
}

/* Why more is asked for than the pool has even when the node is empty and well. */
static struct sl_verdict never_enough(const struct sl_view *view, enum cutter cutter, unsigned pool,
                                      const struct sl_ask_item *item)
{
    const struct world empty = {view, true, true};
    const struct room most = room_in(&empty, pool, NULL);
    const struct sl_pool *p = &view->node->pool[pool];
    int64_t made = could_be_made(&empty, cutter, item);
    if (p->kind == SL_KIND_MEMORY && item->count <= p->capacity) {
        return verdict(SL_REASON_EXCEEDS_DEVICE, 0, p->capacity, most.device);
    }
    int64_t has = item->count > p->capacity ? p->capacity : most.largest;
    return made >= item->count ? verdict(SL_REASON_FITS, 0, 0, 0) /* not so */
                               : verdict(SL_REASON_EXCEEDS_NODE, 0, made > has ? made : has, 0);
}

/* GPUs of which pieces are in use, so that they are not given whole. */
static int64_t in_pieces(const struct sl_view *view)
{
    int64_t n = 0;
    for (unsigned d = 0; d < view->node->n_devices; d++) {
        const struct sl_device_use *use = &view->device[d];
        bool pieces = !use->whole && (use->replicas > 0 || use->memory_units > 0);
        n += pieces && view->node->device[d].healthy && !view->node->device[d].mig;
    }
    return n;
}

static enum sl_reason not_now(const struct sl_view *view, unsigned pool,
                              const struct sl_ask_item *item)
{
    const struct sl_pool *p = &view->node->pool[pool];
    const struct world now = {view, false, false};
    const struct world well = {view, false, true};
    int64_t pieces = p->kind == SL_KIND_WHOLE ? in_pieces(view) : 0;
    int64_t free = room_in(&now, pool, NULL).sum;
    if (item->count > p->capacity - view->pool_used[pool]) {
        return SL_REASON_INSUFFICIENT;
    }
    if (p->kind == SL_KIND_MEMORY && free >= item->count) {
        return SL_REASON_FRAGMENTED;
    }
    if (pieces > 0 && free + pieces >= item->count) {
        return SL_REASON_DEVICES_SHARED;
    }
    if (view->unhealthy && room_in(&well, pool, NULL).largest + pieces >= item->count) {
        return SL_REASON_UNHEALTHY;
    }
    return pieces > 0 ? SL_REASON_DEVICES_SHARED : SL_REASON_INSUFFICIENT;
}

/* What is said where the node offers too few units, even empty. */
static struct sl_verdict with_absent(const struct sl_node *node, const struct sl_ask_item *item,
                                     struct sl_verdict too_few)
{
    bool told = node->n_absent > 0 && node->absent[0].key == item->key;
    int64_t units = told ? node->absent[0].units : 0;
    int pool = sl_node_pool(node, item->key);
    if (units >= item->count) {
        return verdict(SL_REASON_OUT_OF_SERVICE, pool < 0 ? 0 : node->pool[pool].capacity, units,
                       0);
    }
    return units > too_few.capacity ? verdict(SL_REASON_EXCEEDS_NODE, 0, units, 0) : too_few;
}

static struct sl_verdict expected(const struct sl_view *view, enum cutter cutter,
                                  const struct sl_ask_item *item)
{
    const struct world now = {view, false, false};
    const struct world empty = {view, true, true};
    int pool = sl_view_pool(view, item->key);
    int64_t made = could_be_made(&empty, cutter, item);
    if (pool < 0) {
        return made >= item->count
                   ? verdict(SL_REASON_NOT_PARTITIONED, 0, 0, 0)
                   : with_absent(view->node, item,
                                 made >= 0 ? verdict(SL_REASON_EXCEEDS_NODE, 0, made, 0)
                                           : verdict(SL_REASON_NOT_OFFERED, 0, 0, 0));
    }
    const struct sl_pool *p = &view->node->pool[pool];
    const struct room free = room_in(&now, (unsigned)pool, NULL);
    const struct room fit = room_in(&now, (unsigned)pool, item);
    const struct room ever = room_in(&empty, (unsigned)pool, item);
    if (item->count <= fit.largest) {
        return verdict(SL_REASON_FITS, free.sum, p->capacity, 0);
    }
    if (p->one_each && item->each > 1) {
        return verdict(SL_REASON_ONE_EACH, 0, p->capacity, 0);
    }
    if (item->count > room_in(&empty, (unsigned)pool, NULL).largest) {
        struct sl_verdict v = never_enough(view, cutter, (unsigned)pool, item);
        if (v.reason != SL_REASON_FITS) {
            return v.reason == SL_REASON_EXCEEDS_NODE ? with_absent(view->node, item, v) : v;
        }
    } else if (item->count > ever.largest) {
        return verdict(made >= item->count ? SL_REASON_NOT_PARTITIONED : SL_REASON_LITTLE_MEMORY,
                       ever.sum, p->capacity, largest_unit(view->node, (unsigned)pool));
    }
    if (could_be_made(&now, cutter, item) >= item->count) {
        return verdict(SL_REASON_NOT_PARTITIONED, free.sum, p->capacity, 0);
    }
    if (item->count <= free.largest) {
        return verdict(SL_REASON_MEMORY_TAKEN, fit.sum, p->capacity, 0);
    }
    enum sl_reason reason = not_now(view, (unsigned)pool, item);
    return verdict(reason, free.sum, p->capacity, reason == SL_REASON_FRAGMENTED ? free.device : 0);
}

static void check_ask(struct rig *rig, enum cutter cutter, const struct sl_ask *ask,
                      unsigned seen[SL_REASON_COUNT])
{
    struct sl_verdict is = rig_verdict(rig, *ask);
    struct sl_verdict wanted = expected(rig->view, cutter, &ask->item[0]);
    seen[is.reason]++;
    if (is.reason != wanted.reason || is.free != wanted.free || is.capacity != wanted.capacity ||
        is.largest != wanted.largest || is.asked != ask->item[0].count) {
        fail_msg("cutter %d, %lld %s of %d MiB: %s %lld %lld %lld, not %s %lld %lld %lld",
                 (int)cutter, (long long)ask->item[0].count, ask->item[0].resource,
                 ask->item[0].least_mib, sl_reason_name(is.reason), (long long)is.free,
                 (long long)is.capacity, (long long)is.largest, sl_reason_name(wanted.reason),
                 (long long)wanted.free, (long long)wanted.capacity, (long long)wanted.largest);
    }
}

TEST_THAT(what_does_not_fit_is_told_why)
{
    uint64_t seed = 23;
    unsigned seen[SL_REASON_COUNT] = {0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        enum cutter cutter = (enum cutter)rig_random(&seed, CUTTERS);
        struct rig *rig = random_node(cutter, &seed);
        for (unsigned i = rig_random(&seed, 5); i > 0; i--) {
            struct sl_ask ask = random_ask(rig, &seed);
            const char *text = rig_choose(rig, ask);
            if (text[0] != '\0') {
                rig_run(rig, ask, text);
            }
        }
        struct sl_ask ask = random_ask(rig, &seed);
        check_ask(rig, cutter, &ask, seen);
        rig_free(rig);
    }
    for (int i = 0; i < SL_REASON_COUNT; i++) {
        bool other = i == SL_REASON_NO_ASK || i == SL_REASON_CUTTING ||
                     i == SL_REASON_UNKNOWN_NODE || i == SL_REASON_EXCEEDS_TOGETHER ||
                     i == SL_REASON_MALFORMED_ASK || i == SL_REASON_MEMORY_IN_USE ||
                     i == SL_REASON_HOST_FULL || i == SL_REASON_EXCLUDED ||
                     i == SL_REASON_NOMINATED || i == SL_REASON_DEVICE_CLASS ||
                     i == SL_REASON_RESERVED_ELSEWHERE;
        if (!other && seen[i] < 10) { /* each has its share */
            fail_msg("%s: %u times", sl_reason_name((enum sl_reason)i), seen[i]);
        }
    }
}
