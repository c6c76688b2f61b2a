/* Decides whether an ask fits, and if not, why. choose.c chooses the devices. */
#include "core/place/choose.h"

#include "core/node/pool.h"

/* A scratch takes 9 KiB: it stays uninitialised beyond what the node has. */

static bool decide(struct sl_verdict *out, struct sl_verdict verdict)
{
    if (out != NULL) {
        *out = verdict;
    }
    return verdict.reason == SL_REASON_FITS || verdict.reason == SL_REASON_NO_ASK;
}

/* ---- instances that repartitioning could make ---- */

static int index_of(const struct sl_mig_model *model, struct sl_mig_shape shape)
{
    const struct sl_mig_profile *found = model == NULL ? NULL : sl_mig_profile_of(model, shape);
    return found == NULL ? -1 : sl_model_index(model, found);
}

static bool is_used(const struct sl_scratch *scratch)
{
    for (unsigned i = 0; i < scratch->view->node->n_pools; i++) {
        if (scratch->pool_used[i] > 0) {
            return true;
        }
    }
    return false;
}

/* As partitionable(), of a node of strategy single: its GPUs are cut alike, all at once, and a pod
 * that does not say how much memory it needs wants a board's. */
static int64_t single_partitionable(const struct sl_scratch *scratch,
                                    const struct sl_ask_item *item, bool empty)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_mig_model *model = node->model;
    const struct sl_mig_layout nothing = {0};
    int64_t most = -1;
    if (!sl_kinds[item->kind].whole || model == NULL) {
        return -1;
    }
    for (unsigned i = 0; i < model->n_profiles; i++) {
        const struct sl_mig_profile *profile = &model->profiles[i];
        bool board = profile->compute == model->compute_slices;
        bool suffices = sl_mig_profile_mib(profile) >= sl_item_mib(item);
        int64_t units = (int64_t)sl_mig_room(model, &nothing, i) * node->n_devices;
        if (profile->attributes == 0 && suffices && (board || item->least_mib > 0) &&
            units > most) {
            most = units;
        }
    }
    return most > 0 && !empty && is_used(scratch) ? 0 : most;
}

/* As partitionable(), of GPUs that leave MIG mode to be given whole. */
static int64_t whole_partitionable(const struct sl_scratch *scratch, const struct sl_ask_item *item,
                                   bool empty)
{
    const struct sl_node *node = scratch->view->node;
    int64_t sum = 0;
    for (unsigned i = 0; i < node->n_devices; i++) {
        const struct sl_device *device = &node->device[i];
        bool free = device->healthy && sl_device_untouched(&scratch->device[i]);
        bool suffices = device->model != NULL && device->memory_mib >= sl_item_mib(item);
        sum += suffices && (empty || free);
    }
    return sum > 0 || !empty ? sum : -1;
}

/* As partitionable(), of a node whose GPUs nos shares: its plugin gives a container one slice at
 * most. */
static int64_t sliceable(const struct sl_scratch *scratch, const struct sl_ask_item *item,
                         bool empty)
{
    const struct sl_node *node = scratch->view->node;
    int64_t gb = sl_item_slice_gb(item);
    int64_t most = item->each > 1 ? 1 : item->count;
    int64_t sum = 0;
    bool ever = false;
    for (unsigned d = 0; gb > 0 && sl_item_mib(item) <= gb * 1024 && d < node->n_devices; d++) {
        const struct sl_device *device = &node->device[d];
        bool taken = scratch->device[d].whole && !empty;
        int64_t left = taken ? 0 : sl_slice_room_gb(device->memory_mib);
        ever = ever || left >= gb;
        for (unsigned i = 0; !empty && i < node->n_instances; i++) {
            if (node->instance[i].device == d) {
                left -= scratch->instance_used[i] *
                        (node->pool[node->instance[i].pool].memory_mib / 1024);
            }
        }
        sum += left >= gb && (empty || device->healthy) ? left / gb : 0;
    }
    return ever ? sl_least(sum, most) : -1;
}

/* Counts the units of the asked profile that repartitioning could make, on the empty node or beside
 * the present use, and stops when they suffice. -1: the node is not repartitioned on demand, or
 * none of its models has the profile. Sets *alias (may be NULL) to the profile when the item spells
 * its name differently. */
static int64_t partitionable(const struct sl_scratch *scratch, const struct sl_ask_item *item,
                             bool empty, const struct sl_mig_profile **alias)
{
    const struct sl_node *node = scratch->view->node;
    if (node->partition.single && node->partition.actuator != SL_ACTUATOR_NONE) {
        return single_partitionable(scratch, item, empty);
    }
    if (node->partition.mig_mode && sl_kinds[item->kind].whole) {
        return whole_partitionable(scratch, item, empty);
    }
    if (node->partition.actuator == SL_ACTUATOR_NOS_MPS) {
        return sl_kinds[item->kind].replica ? sliceable(scratch, item, empty) : -1;
    }
    if (!node->dynamic_mig || !sl_kinds[item->kind].instance) {
        return -1;
    }
    const struct sl_mig_model *model = NULL;
    int index = -1;
    int64_t sum = -1;
    for (unsigned i = 0; i < node->n_devices && sum < item->count; i++) {
        if (node->device[i].model != model) {
            model = node->device[i].model;
            index = index_of(model, item->shape);
        }
        if (index < 0) {
            continue;
        }
        sum = sum < 0 ? 0 : sum;
        if (alias != NULL && strcmp(item->resource, model->profiles[index].resource) != 0) {
            *alias = &model->profiles[index];
        }
        const struct sl_device_use *use = &scratch->device[i];
        bool taken = use->whole || use->replicas > 0 || use->memory_units > 0;
        struct sl_mig_layout layout = {0};
        if (!empty && (taken || !node->device[i].healthy ||
                       !sl_layout_in_use(node, scratch->instance_used, i, &layout))) {
            continue;
        }
        sum += sl_mig_room(model, &layout, (unsigned)index);
    }
    return sum;
}

/* ---- verdicts ---- */

/* A withheld node answers so whatever it could give: its resources come and go while its GPUs are
 * being cut. */
static struct sl_verdict cutting(const struct sl_ask *ask)
{
    return (struct sl_verdict){.reason = SL_REASON_CUTTING, .asked = ask->item[0].count};
}

/* Returns the GPU memory of the pool's largest unit, in MiB; 0: unknown. */
static int64_t largest_unit(const struct sl_node *node, unsigned pool)
{
    const struct sl_pool *p = &node->pool[pool];
    int64_t most = p->on_devices ? 0 : sl_node_unit_mib(node, pool, -1, -1);
    bool on_instances = sl_pool_on_instances(node, pool);
    unsigned n = !p->on_devices ? 0 : on_instances ? node->n_instances : node->n_devices;
    for (unsigned i = 0; i < n; i++) {
        if (on_instances ? node->instance[i].pool != pool : node->device[i].mig) {
            continue;
        }
        int64_t mib = on_instances ? sl_node_unit_mib(node, pool, node->instance[i].device, (int)i)
                                   : sl_node_unit_mib(node, pool, (int)i, -1);
        most = mib > most ? mib : most;
    }
    return most;
}

/* True when too few units of the empty node have the GPU memory that the item needs. */
static bool lacks_memory(const struct sl_scratch *scratch, const struct sl_ask_item *item,
                         unsigned pool, struct sl_verdict *out)
{
    struct sl_scratch empty;
    if (!sl_item_has_memory(item)) {
        return false;
    }
    sl_scratch_clear(&empty, scratch->view);
    struct sl_room room = sl_scratch_room(&empty, pool, item, true);
    if (item->count <= room.largest) {
        return false;
    }
    out->reason = SL_REASON_LITTLE_MEMORY;
    out->free = room.free;
    out->largest = largest_unit(scratch->view->node, pool);
    return true;
}

/* A share of memory that may span GPUs: a pod's limit depends on its number of GPUs. */
static bool exceeds_devices(const struct sl_scratch *scratch, const struct sl_ask_item *item,
                            unsigned pool, struct sl_verdict *out)
{
    const struct sl_node *node = scratch->view->node;
    struct sl_scratch empty;
    sl_scratch_clear(&empty, scratch->view);
    if (item->count > node->pool[pool].capacity ||
        item->count <= sl_scratch_room(&empty, pool, item, true).largest) {
        return false;
    }
    out->reason = SL_REASON_EXCEEDS_DEVICE;
    for (unsigned i = 0; i < node->n_devices; i++) {
        int64_t units = node->device[i].memory_units;
        out->largest = units > out->largest ? units : out->largest;
    }
    return true;
}

/* Judges an item of which the node offers too few units by those that it has beside. */
static struct sl_verdict out_of_service(const struct sl_node *node, const struct sl_ask_item *item,
                                        struct sl_verdict v)
{
    int64_t units = sl_node_absent(node, item->key);
    if (units >= item->count) {
        int pool = sl_node_pool(node, item->key);
        v.reason = SL_REASON_OUT_OF_SERVICE;
        v.free = pool < 0 ? 0 : node->pool[pool].capacity;
        v.capacity = units;
    } else if (units > v.capacity) {
        v.reason = SL_REASON_EXCEEDS_NODE;
        v.capacity = units;
    }
    return v;
}

static struct sl_verdict never(const struct sl_scratch *scratch, const struct sl_ask_item *item,
                               int pool)
{
    struct sl_verdict v = {.reason = SL_REASON_FITS, .asked = item->count};
    if (pool < 0) {
        const struct sl_mig_profile *alias = NULL;
        int64_t possible = partitionable(scratch, item, true, &alias);
        v.reason = SL_REASON_NOT_OFFERED;
        if (possible >= item->count) {
            v.reason = SL_REASON_NOT_PARTITIONED;
            v.alias = alias;
        } else if (possible >= 0) {
            v.reason = SL_REASON_EXCEEDS_NODE;
            v.capacity = possible;
        }
        return possible >= item->count ? v : out_of_service(scratch->view->node, item, v);
    }
    const struct sl_pool_room *room = &scratch->view->room[pool];
    const struct sl_node *node = scratch->view->node;
    v.capacity = room->capacity;
    if (sl_pool_refuses(&node->pool[pool], item)) {
        v.reason = SL_REASON_ONE_EACH;
        return v;
    }
    if (node->pool[pool].spans && exceeds_devices(scratch, item, (unsigned)pool, &v)) {
        return v;
    }
    if (item->count <= room->most) {
        if (lacks_memory(scratch, item, (unsigned)pool, &v) &&
            partitionable(scratch, item, true, NULL) >= item->count) {
            v.reason = SL_REASON_NOT_PARTITIONED;
        }
        return v;
    }
    if (sl_kinds[node->pool[pool].kind].memory && item->count <= room->capacity && room->most > 0) {
        v.reason = SL_REASON_EXCEEDS_DEVICE;
        v.largest = room->most;
        return v;
    }
    int64_t possible = partitionable(scratch, item, true, NULL);
    if (possible >= item->count) {
        return v;
    }
    v.reason = SL_REASON_EXCEEDS_NODE;
    v.capacity = item->count > room->capacity ? room->capacity : room->most;
    v.capacity = possible > v.capacity ? possible : v.capacity;
    return out_of_service(node, item, v);
}

/* Counts the devices which are not free as whole GPUs only because pieces of them are in use. */
static int64_t devices_in_pieces(const struct sl_scratch *scratch)
{
    const struct sl_node *node = scratch->view->node;
    int64_t n = 0;
    for (unsigned i = 0; i < node->n_devices; i++) {
        const struct sl_device_use *use = &scratch->device[i];
        bool pieces = use->replicas > 0 || use->memory_units > 0;
        n += node->device[i].healthy && !node->device[i].mig && !use->whole && pieces;
    }
    return n;
}

static enum sl_reason not_now_reason(const struct sl_scratch *scratch, unsigned pool, int64_t count,
                                     struct sl_room room)
{
    const struct sl_pool *p = &scratch->view->node->pool[pool];
    int64_t used = scratch->pool_used[pool];
    if (used >= p->capacity || count > p->capacity - used) {
        return SL_REASON_INSUFFICIENT;
    }
    int64_t more = 0;
    if (sl_kinds[p->kind].memory && room.free >= count) {
        return SL_REASON_FRAGMENTED;
    }
    if (sl_kinds[p->kind].whole && p->on_devices) {
        more = devices_in_pieces(scratch);
    }
    if (more > 0 && room.free + more >= count) {
        return SL_REASON_DEVICES_SHARED;
    }
    if (scratch->view->unhealthy &&
        sl_scratch_room(scratch, pool, NULL, true).largest + more >= count) {
        return SL_REASON_UNHEALTHY;
    }
    return more > 0 ? SL_REASON_DEVICES_SHARED : SL_REASON_INSUFFICIENT;
}

static int64_t taken_mib(const struct sl_device *d, const struct sl_device_use *use)
{
    int64_t units_mib =
        d->memory_units > 0 ? use->memory_units * d->memory_mib / d->memory_units : 0;
    return use->declared_mib > units_mib ? use->declared_mib : units_mib;
}

/* Would the item fit if pods used no more GPU memory than they ask for? Tells of the GPU with most
 * memory left of those where they use more. */
static bool fits_by_asks(const struct sl_view *view, const struct sl_ask_item *item, unsigned pool,
                         struct sl_verdict *v)
{
    struct sl_scratch asked;
    bool any = false;
    for (unsigned i = 0; view->measured != NULL && i < view->node->n_devices; i++) {
        const struct sl_device *d = &view->node->device[i];
        int64_t left_mib = sl_at_least_zero(d->memory_mib - taken_mib(d, &view->device[i]));
        if (view->measured[i].over_mib == 0) {
            continue;
        }
        if (!any) {
            sl_scratch_init(&asked, view);
        }
        sl_scratch_count_over(&asked, i, view->measured[i].over_mib, -1);
        if (!any || left_mib > v->free) {
            v->capacity = d->memory_mib;
            v->free = left_mib;
            v->largest = taken_mib(d, &asked.device[i]);
        }
        any = true;
    }
    return any && sl_scratch_room(&asked, pool, item, false).largest >= item->count;
}

/* Tells why an item that would fit on the empty node does not fit now. */
static struct sl_verdict not_now(const struct sl_scratch *scratch, const struct sl_ask_item *item,
                                 unsigned pool)
{
    bool memory = sl_kinds[scratch->view->node->pool[pool].kind].memory;
    struct sl_room room = sl_scratch_room(scratch, pool, memory ? item : NULL, false);
    struct sl_verdict v = {
        .asked = item->count,
        .free = room.free,
        .capacity = scratch->view->room[pool].capacity,
    };
    struct sl_verdict in_use = {.reason = SL_REASON_MEMORY_IN_USE, .asked = item->count};
    if (partitionable(scratch, item, false, NULL) >= item->count) {
        v.reason = SL_REASON_NOT_PARTITIONED;
        return v;
    }
    if (fits_by_asks(scratch->view, item, pool, &in_use)) {
        return in_use;
    }
    if (sl_item_has_memory(item) && item->count <= room.largest) {
        v.free = sl_scratch_room(scratch, pool, item, false).free;
        v.reason = SL_REASON_MEMORY_TAKEN;
        return v;
    }
    v.reason = not_now_reason(scratch, pool, item->count, room);
    v.largest = v.reason == SL_REASON_FRAGMENTED ? room.largest : 0;
    return v;
}

/* Finds the first item, in the order of the ask, that can never fit; true when there is one. */
static bool find_never(const struct sl_scratch *scratch, const struct sl_ask *ask,
                       struct sl_verdict *out)
{
    bool absent = false;
    for (unsigned i = 0; i < ask->n; i++) {
        int pool = sl_view_pool(scratch->view, ask->item[i].key);
        struct sl_verdict v = never(scratch, &ask->item[i], pool);
        v.item = (uint8_t)i;
        if (v.reason != SL_REASON_FITS && (!absent || sl_reason_is_never(v.reason))) {
            *out = v;
            absent = true;
        }
        if (v.reason != SL_REASON_FITS && sl_reason_is_never(v.reason)) {
            return true;
        }
    }
    return absent;
}

/* True when all items together fit on the empty node; each alone may fit though together they do
 * not. */
static bool fits_when_empty(const struct sl_view *view, const struct sl_ask *ask)
{
    struct sl_scratch empty;
    struct sl_assignment assignment;
    unsigned failed = 0;
    sl_scratch_clear(&empty, view);
    return sl_scratch_choose(&empty, ask->item, ask->n, true, &assignment, &failed);
}

/* Tells why the item at index failed found no place beside those before it. */
static struct sl_verdict explain(const struct sl_scratch *scratch, const struct sl_ask *ask,
                                 unsigned failed)
{
    const struct sl_ask_item *item = &ask->item[failed];
    int pool = sl_view_pool(scratch->view, item->key);
    struct sl_verdict v = not_now(scratch, item, (unsigned)pool);
    v.item = (uint8_t)failed;
    if (ask->n > 1 && v.reason != SL_REASON_NOT_PARTITIONED &&
        !fits_when_empty(scratch->view, ask)) {
        v.reason = SL_REASON_EXCEEDS_TOGETHER;
    }
    return v;
}

bool sl_choose_on(struct sl_scratch *scratch, const struct sl_ask *ask,
                  struct sl_assignment *assignment, struct sl_verdict *verdict)
{
    struct sl_assignment own;
    struct sl_assignment *out = assignment == NULL ? &own : assignment;
    struct sl_verdict v = {.reason = SL_REASON_NO_ASK};
    unsigned failed = 0;
    out->n = 0;
    if (ask->malformed) {
        v.reason = SL_REASON_MALFORMED_ASK;
        return decide(verdict, v);
    }
    if (ask->n > 0 && scratch->view->withheld) {
        return decide(verdict, cutting(ask));
    }
    if (ask->n == 0 || find_never(scratch, ask, &v)) {
        return decide(verdict, v);
    }
    if (!sl_scratch_choose(scratch, ask->item, ask->n, false, out, &failed)) {
        v = verdict == NULL ? v : explain(scratch, ask, failed);
        sl_scratch_undo(scratch, ask->item, out, 0);
        return verdict != NULL && decide(verdict, v);
    }
    const struct sl_pool_room *room =
        &scratch->view->room[sl_view_pool(scratch->view, ask->item[0].key)];
    v = (struct sl_verdict){.reason = SL_REASON_FITS,
                            .asked = ask->item[0].count,
                            .free = room->free,
                            .capacity = room->capacity};
    return decide(verdict, v);
}

bool sl_choose(const struct sl_view *view, const struct sl_ask *ask,
               struct sl_assignment *assignment, struct sl_verdict *verdict)
{
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    return sl_choose_on(&scratch, ask, assignment, verdict);
}

/* Can the node come to offer what it does not offer now? */
static bool is_remade(const struct sl_node *node)
{
    return node->dynamic_mig || node->partition.actuator == SL_ACTUATOR_NOS_MPS;
}

/* Decides an ask of one item by the view's sums over the pool. Tells here the reasons that need no
 * look at devices, which suffices for most nodes of a full cluster. */
static bool fit_one(const struct sl_view *view, const struct sl_ask *ask,
                    struct sl_verdict *verdict)
{
    int pool = sl_view_pool(view, ask->item[0].key);
    int64_t asked = ask->item[0].count;
    if (view->withheld) {
        return verdict != NULL && decide(verdict, cutting(ask));
    }
    bool refuses = pool >= 0 && sl_pool_refuses(&view->node->pool[pool], &ask->item[0]);
    if (pool >= 0 && (refuses || sl_item_has_memory(&ask->item[0]) || view->room[pool].spans)) {
        return (asked <= view->room[pool].largest && !refuses) || verdict != NULL
                   ? sl_choose(view, ask, NULL, verdict)
                   : false;
    }
    if (pool >= 0) {
        const struct sl_pool_room *room = &view->room[pool];
        bool fits = asked <= room->largest;
        if (verdict == NULL) {
            return fits;
        }
        /* Of others, what is in use in pieces may be the reason. */
        const struct sl_kind_row *kind = &sl_kinds[view->node->pool[pool].kind];
        bool plain = !kind->whole && !kind->memory;
        if (fits || (plain && asked <= room->most && !view->unhealthy && !is_remade(view->node))) {
            *verdict = (struct sl_verdict){.reason = fits ? SL_REASON_FITS : SL_REASON_INSUFFICIENT,
                                           .asked = asked,
                                           .free = room->free,
                                           .capacity = room->capacity};
            return fits;
        }
    } else if (verdict == NULL) {
        return false;
    } else if (!is_remade(view->node) && view->node->n_absent == 0) {
        *verdict = (struct sl_verdict){.reason = SL_REASON_NOT_OFFERED, .asked = asked};
        return false;
    }
    return sl_choose(view, ask, NULL, verdict);
}

bool sl_fit(const struct sl_view *view, const struct sl_ask *ask, struct sl_verdict *verdict)
{
    if (ask->n == 1 && !ask->malformed) {
        return fit_one(view, ask, verdict);
    }
    return sl_choose(view, ask, NULL, verdict);
}
