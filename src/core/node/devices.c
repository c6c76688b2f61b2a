/* Reads devices and instances from annotations: sliced.dev/devices, which the facts hold decoded,
 * or the reports of nos' agents (nos.nebuly.com/status-gpu-<i>-<profile>-free|used). */
#include "core/node/draft.h"

struct sl_draft_device *sl_draft_add_device(struct sl_draft *draft, bool mig)
{
    /* Feature discovery counts the GPUs of the product that it names: of the others, and of those
     * that came since, nothing is known. */
    const struct sl_draft_labels *labels = &draft->labels;
    bool named = labels->mig_profile.len > 0 || labels->count == 0 ||
                 (int64_t)draft->n_devices < labels->count;
    const struct sl_mig_model *model = named ? draft->model : NULL;
    int64_t memory_mib = named ? labels->memory_mib : 0;
    if (memory_mib == 0 && model != NULL) {
        memory_mib = (int64_t)model->memory_gib * 1024;
    }
    struct sl_draft_device *added = &draft->device[draft->n_devices];
    *added = (struct sl_draft_device){
        .device = {.index = (int16_t)draft->n_devices,
                   .healthy = true,
                   .mig = mig,
                   .model = model,
                   .memory_mib = memory_mib},
        .unnamed = !named,
    };
    draft->n_devices++;
    return added;
}

struct sl_instance *sl_draft_add_instance(struct sl_draft *draft, unsigned device,
                                          struct sl_str profile, int start)
{
    bool slice = sl_slice_parse(profile) > 0;
    bool has_start = start >= 0 && start < SL_MIG_SLICES_MAX && !slice;
    unsigned on_device = 0;
    for (unsigned i = draft->n_instances; i > 0 && draft->instance[i - 1].instance.device == device;
         i--) {
        struct sl_instance *other = &draft->instance[i - 1].instance;
        if (slice && sl_str_eq(draft->instance[i - 1].profile, profile)) {
            other->slices++;
            return other->slices <= SL_DRAFT_SLICES_MAX ? other : NULL;
        }
        on_device++;
    }
    if (on_device == SL_MIG_INSTANCES_MAX) {
        return NULL;
    }
    const struct sl_mig_model *model = draft->device[device].device.model;
    struct sl_draft_instance *added = &draft->instance[draft->n_instances++];
    *added = (struct sl_draft_instance){
        .instance = {.profile = model == NULL ? NULL : sl_mig_profile_find(model, profile),
                     .device = (uint16_t)device,
                     .start = (int8_t)(has_start ? start : -1),
                     .pool = SL_DRAFT_NO_POOL,
                     .slices = slice},
        .profile = profile,
    };
    draft->device[device].device.mig = true;
    return &added->instance;
}

void sl_draft_add_counts(struct sl_draft *draft, unsigned device,
                         const uint8_t counts[SL_MIG_PROFILES_MAX])
{
    for (unsigned p = 0; p < draft->model->n_profiles; p++) {
        struct sl_str name = sl_str_of(draft->model->profiles[p].name);
        for (unsigned i = 0; i < counts[p]; i++) {
            (void)sl_draft_add_instance(draft, device, name, -1);
        }
    }
}

static uint8_t profile_index(const struct sl_mig_model *model, const struct sl_mig_profile *profile)
{
    return (uint8_t)(profile - model->profiles);
}

/* Places instances of known start, and forgets impossible starts. False when there was one. */
static bool place_known(struct sl_draft *draft, unsigned first, unsigned end,
                        struct sl_mig_layout *layout)
{
    const struct sl_mig_model *model =
        draft->device[draft->instance[first].instance.device].device.model;
    bool good = true;
    for (unsigned i = first; i < end; i++) {
        struct sl_instance *instance = &draft->instance[i].instance;
        if (instance->profile == NULL || instance->start < 0) {
            continue;
        }
        struct sl_mig_placement placement = {profile_index(model, instance->profile),
                                             (uint8_t)instance->start};
        if (sl_mig_can_place(model, layout, placement)) {
            sl_mig_place(model, layout, placement);
        } else {
            instance->start = -1;
            good = false;
        }
    }
    return good;
}

/* Finds starts for all other instances together. False when there are none. */
static bool place_unknown(struct sl_draft *draft, unsigned first, unsigned end,
                          const struct sl_mig_layout *layout)
{
    const struct sl_mig_model *model =
        draft->device[draft->instance[first].instance.device].device.model;
    uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
    struct sl_mig_placement found[SL_MIG_SLICES_MAX] = {{0}};
    unsigned n = 0;
    for (unsigned i = first; i < end; i++) {
        const struct sl_instance *instance = &draft->instance[i].instance;
        if (instance->profile != NULL && instance->start < 0) {
            counts[profile_index(model, instance->profile)]++;
            n++;
        }
    }
    if (!sl_mig_pack(model, layout, counts, found)) {
        return false;
    }
    for (unsigned k = 0; k < n; k++) {
        for (unsigned i = first; i < end; i++) {
            struct sl_instance *instance = &draft->instance[i].instance;
            if (instance->start < 0 && instance->profile == &model->profiles[found[k].profile]) {
                instance->start = (int8_t)found[k].start;
                instance->guessed = true;
                break;
            }
        }
    }
    return true;
}

void sl_draft_place(struct sl_draft *draft)
{
    unsigned end = 0;
    for (unsigned first = 0; first < draft->n_instances; first = end) {
        unsigned device = draft->instance[first].instance.device;
        bool all_known = true; /* every profile is known; an unknown one takes unknown room */
        for (end = first; end < draft->n_instances; end++) {
            const struct sl_instance *instance = &draft->instance[end].instance;
            if (instance->device != device) {
                break;
            }
            all_known = all_known && instance->profile != NULL;
        }
        if (draft->device[device].device.model == NULL) {
            continue;
        }
        struct sl_mig_layout layout = {0};
        bool good = place_known(draft, first, end, &layout);
        if (!good || (all_known && !place_unknown(draft, first, end, &layout))) {
            sl_draft_problem(draft, "GPU ");
            sl_text_i64(&draft->problem, draft->device[device].device.index);
            sl_text_puts(&draft->problem, " cannot hold the instances described on it");
        }
    }
}

/* Drops all devices, because they cannot be used. */
static void give_up(struct sl_draft *draft, const char *why)
{
    draft->n_devices = 0;
    draft->n_instances = 0;
    sl_draft_problem(draft, why);
}

/* Sorts the facts by device index; false when two are equal. out has room for all. */
static bool order_devices(const struct sl_node_facts *facts, const struct sl_device_facts **out,
                          unsigned *n)
{
    *n = 0;
    for (const struct sl_device_facts *d = facts->devices; d != NULL; d = d->next) {
        unsigned at = (*n)++;
        for (; at > 0 && out[at - 1]->index >= d->index; at--) {
            if (out[at - 1]->index == d->index) {
                return false;
            }
            out[at] = out[at - 1];
        }
        out[at] = d;
    }
    return true;
}

static bool add_annotated(struct sl_draft *draft, const struct sl_device_facts *facts)
{
    unsigned at = draft->n_devices;
    struct sl_draft_device *device = sl_draft_add_device(draft, facts->mig);
    device->device.index = (int16_t)facts->index;
    device->device.healthy = !facts->unhealthy;
    device->device.unsure = facts->unsure;
    device->uuid = facts->uuid;
    device->product = facts->product;
    if (facts->product.len > 0) {
        /* The node's label may not hold for this GPU. */
        device->device.model = sl_mig_model_find(facts->product, facts->memory_mib);
        const struct sl_mig_model *model = device->device.model;
        device->device.memory_mib = model == NULL ? 0 : (int64_t)model->memory_gib * 1024;
        if (sl_str_eq(facts->product, draft->labels.product) && draft->labels.memory_mib > 0) {
            device->device.memory_mib = draft->labels.memory_mib;
            device->device.model = draft->model;
        }
    }
    if (facts->memory_mib > 0 && facts->memory_mib <= SL_DRAFT_MEMORY_MIB_MAX) {
        device->device.memory_mib = facts->memory_mib;
    } else if (sl_draft_mib(facts->memory_mib) > 0) {
        device->device.memory_mib = sl_draft_mib(facts->memory_mib);
    } else if (facts->memory_mib > 0) {
        sl_draft_problem_count(draft, SL_STR("annotation sliced.dev/devices: memory"),
                               facts->memory_mib, " MiB are more than any GPU has, ignored");
    }
    const struct sl_instance_facts *instance = facts->instances;
    for (; instance != NULL; instance = instance->next) {
        if (sl_draft_add_instance(draft, at, instance->profile, instance->start) == NULL) {
            return false;
        }
    }
    return true;
}

static int from_facts(struct sl_draft *draft, uint8_t (*rest)[SL_MIG_PROFILES_MAX],
                      struct sl_error *err)
{
    const struct sl_device_facts *ordered[SL_NODE_DEVICES_MAX];
    unsigned n = 0;
    for (const struct sl_device_facts *d = draft->facts->devices; d != NULL; d = d->next) {
        if (d->index < 0 || d->index > INT16_MAX) {
            give_up(draft, "annotation sliced.dev/devices: an index is out of range");
            return 0;
        }
        if (++n > SL_NODE_DEVICES_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT,
                                "annotation sliced.dev/devices: more than %d devices",
                                (int)SL_NODE_DEVICES_MAX);
        }
    }
    if (!order_devices(draft->facts, ordered, &n)) {
        give_up(draft, "annotation sliced.dev/devices: two devices have one index");
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        if (!add_annotated(draft, ordered[i])) {
            give_up(draft, "annotation sliced.dev/devices: too many instances on one device");
            return 0;
        }
        if (rest != NULL && ordered[i]->unsure) {
            sl_draft_add_counts(draft, i, *rest++);
        }
    }
    draft->layout = SL_LAYOUT_ANNOTATED;
    return 0;
}

struct nos_status {
    int64_t device;
    struct sl_str profile;
    int64_t count;
    bool used;
};

/* Reads what the agent of nos' MIG mode ("status-gpu-0-1g.10gb-free") or, with slices, that of its
 * MPS mode ("status-gpu-0-10gb-free") reports. False for other annotations. */
static bool nos_parse(const struct sl_pair *pair, bool slices, struct nos_status *out)
{
    const struct sl_str prefix = SL_STR("nos.nebuly.com/status-gpu-");
    const struct sl_str free_end = SL_STR("-free");
    const struct sl_str used_end = SL_STR("-used"); /* as long as free_end */
    struct sl_str rest = pair->key;
    if (!sl_str_starts(rest, prefix) ||
        !(sl_str_ends(rest, free_end) || sl_str_ends(rest, used_end)) ||
        rest.len < prefix.len + free_end.len) {
        return false;
    }
    rest = (struct sl_str){rest.s + prefix.len, rest.len - prefix.len - free_end.len};
    const char *dash = memchr(rest.s, '-', rest.len);
    if (dash == NULL) {
        return false;
    }
    size_t digits = (size_t)(dash - rest.s);
    struct sl_mig_shape shape;
    out->used = sl_str_ends(pair->key, used_end);
    out->profile = (struct sl_str){dash + 1, rest.len - digits - 1};
    return sl_str_to_i64((struct sl_str){rest.s, digits}, &out->device) && out->device >= 0 &&
           out->device < SL_NODE_DEVICES_MAX &&
           (slices ? sl_slice_parse(out->profile) > 0 : sl_mig_shape_parse(out->profile, &shape)) &&
           sl_str_to_i64(pair->value, &out->count) && out->count >= 0;
}

/* One past the highest device in nos' reports; 0: there are none. */
static unsigned nos_devices(const struct sl_draft *draft)
{
    unsigned n = 0;
    struct nos_status status;
    for (const struct sl_pair *p = draft->facts->annotations; p != NULL; p = p->next) {
        if (nos_parse(p, draft->labels.slices, &status) && (unsigned)status.device + 1 > n) {
            n = (unsigned)status.device + 1;
        }
    }
    return n;
}

static bool nos_fill(struct sl_draft *draft, unsigned device)
{
    struct nos_status status;
    for (const struct sl_pair *p = draft->facts->annotations; p != NULL; p = p->next) {
        if (!nos_parse(p, draft->labels.slices, &status) || (unsigned)status.device != device) {
            continue;
        }
        draft->device[device].device.mig = true;
        for (int64_t i = 0; i < status.count; i++) {
            struct sl_instance *instance = sl_draft_add_instance(draft, device, status.profile, -1);
            if (instance == NULL) {
                return false;
            }
            instance->in_use = (uint16_t)(instance->in_use + status.used);
        }
    }
    return true;
}

/* A GPU that nos does not report is whole or, when none is allocatable, not partitioned yet. */
static void nos_settle_rest(struct sl_draft *draft)
{
    for (unsigned i = 0; i < draft->n_pools; i++) {
        if (!draft->pool[i].on_instances && !sl_kinds[draft->pool[i].pool.kind].memory) {
            return;
        }
    }
    for (unsigned i = 0; i < draft->n_devices; i++) {
        draft->device[i].device.mig = true;
    }
}

static void from_nos(struct sl_draft *draft)
{
    unsigned n = nos_devices(draft);
    if (n == 0) {
        return;
    }
    if (draft->labels.mig_profile.len == 0 && draft->labels.count > n) {
        n = draft->labels.count < SL_NODE_DEVICES_MAX ? (unsigned)draft->labels.count
                                                      : SL_NODE_DEVICES_MAX;
    }
    for (unsigned i = 0; i < n; i++) {
        (void)sl_draft_add_device(draft, false);
        if (!nos_fill(draft, i)) {
            give_up(draft, "nos reports too many instances on one GPU");
            return;
        }
    }
    nos_settle_rest(draft);
    draft->layout = SL_LAYOUT_ANNOTATED;
}

/* Recognises strategy single without its product label: nvidia.com/gpu is then an instance. */
static void settle_single(struct sl_draft *draft)
{
    bool all = draft->labels.single && draft->n_instances > 0;
    for (unsigned i = 0; i < draft->n_devices; i++) {
        all = all && draft->device[i].device.mig;
    }
    for (unsigned i = 0; all && i < draft->n_pools; i++) {
        struct sl_draft_pool *pool = &draft->pool[i];
        const struct sl_kind_row *kind = &sl_kinds[pool->pool.kind];
        pool->on_instances = pool->on_instances || !kind->memory;
        if (kind->whole || pool->vague) {
            sl_draft_unshare(pool);
        }
    }
}

int sl_draft_annotated(struct sl_draft *draft, uint8_t (*rest)[SL_MIG_PROFILES_MAX],
                       struct sl_error *err)
{
    int result = 0;
    if (draft->facts->devices != NULL) {
        result = from_facts(draft, rest, err);
    } else {
        from_nos(draft);
    }
    if (result == 0) {
        settle_single(draft);
        sl_draft_place(draft);
    }
    return result;
}
