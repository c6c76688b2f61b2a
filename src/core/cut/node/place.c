/* Takes units of devices for the pods of a plan. */
#include "core/cut/node/place.h"

#include "core/cut/node/shape.h"
#include "core/cut/node/slices.h"
#include "core/place/choose.h"

enum { REPACK_STEPS = 400 };

void sl_cut_node_save(const struct sl_cut_node *node, struct sl_cut_saved *saved)
{
    for (unsigned d = 0; d < node->n; d++) {
        memcpy(saved->need[d], node->device[d].need, sizeof(saved->need[d]));
        saved->whole[d] = node->device[d].need_whole;
    }
    memcpy(saved->spare, node->spare, node->view->n_pools * sizeof(saved->spare[0]));
    saved->n_sizes = node->sizes.n;
    saved->units = node->units;
    saved->mib = node->mib;
    saved->board = node->board;
}

void sl_cut_node_restore(struct sl_cut_node *node, const struct sl_cut_saved *saved)
{
    for (unsigned d = 0; d < node->n; d++) {
        memcpy(node->device[d].need, saved->need[d], sizeof(saved->need[d]));
        node->device[d].need_whole = saved->whole[d];
    }
    memcpy(node->spare, saved->spare, node->view->n_pools * sizeof(saved->spare[0]));
    node->sizes.n = saved->n_sizes;
    node->units = saved->units;
    node->mib = saved->mib;
    node->board = saved->board;
}

/* ---- the unit that an item asks for ---- */

/* Is the item's name the one under which the node has, or would have, instances of the profile? A
 * driver may spell the same profile 3g.39gb. */
static bool is_spelled(const struct sl_node *node, const struct sl_mig_profile *profile,
                       const struct sl_ask_item *item)
{
    for (unsigned p = 0; p < node->n_pools; p++) {
        if (node->pool[p].profile == profile && sl_kinds[node->pool[p].kind].instance) {
            return node->pool[p].key == item->key;
        }
    }
    return strcmp(profile->resource, item->resource) == 0;
}

/* Returns the unit of a device of that model which the item asks for, -1: none. */
static int unit_of(const struct sl_cut_node *node, const struct sl_mig_model *model,
                   const struct sl_ask_item *item)
{
    if (model == NULL) {
        return -1;
    }
    if (sl_kinds[item->kind].whole) {
        return sl_item_mib(item) <= (int64_t)model->memory_gib * 1024 ? SL_CUT_WHOLE : -1;
    }
    const struct sl_mig_profile *profile =
        sl_kinds[item->kind].instance ? sl_mig_profile_of(model, item->shape) : NULL;
    if (profile == NULL || !is_spelled(node->view->node, profile, item) ||
        (node->plain && profile->attributes != 0) ||
        sl_item_mib(item) > sl_cut_memory_of(node->view->node, profile)) {
        return -1;
    }
    return sl_model_index(model, profile);
}

/* Returns the free units for the item that no cut changes. */
static int32_t *spare_of(struct sl_cut_node *node, const struct sl_ask_item *item)
{
    int pool = sl_view_pool(node->view, item->key);
    bool slice = node->shares && sl_cut_slice_of(item) > 0;
    if (pool < 0 || (!sl_kinds[item->kind].cut && !slice)) {
        return NULL;
    }
    const struct sl_pool *p = &node->view->node->pool[pool];
    if (slice) {
        return &node->spare[pool];
    }
    if (sl_item_mib(item) > 0 &&
        (p->profile == NULL ||
         sl_item_mib(item) > sl_cut_memory_of(node->view->node, p->profile))) {
        return NULL;
    }
    return &node->spare[pool];
}

static int64_t slices_of(const struct sl_mig_model *model, int unit)
{
    if (model == NULL || unit < 0) {
        return 0;
    }
    return unit == SL_CUT_WHOLE ? model->memory_slices : model->profiles[unit].memory;
}

bool sl_cut_node_could(const struct sl_cut_node *node, const struct sl_ask *ask)
{
    const struct sl_mig_model *model = NULL;
    if (node->shares) {
        return sl_cut_slices_could(node, ask);
    }
    for (unsigned d = 0; node->has_room && model == NULL && d < node->n; d++) {
        model = node->device[d].may_change ? node->device[d].model : NULL;
    }
    int64_t slices = node->slices;
    for (unsigned i = 0; node->has_room && i < ask->n; i++) {
        int pool = sl_view_pool(node->view, ask->item[i].key);
        int unit = unit_of(node, model, &ask->item[i]);
        int64_t more = ask->item[i].count - (pool < 0 ? 0 : node->spare[pool]);
        slices -= more > 0 ? slices_of(model, unit) * sl_least(more, SL_UNITS_MAX) : 0;
        if (more > (unit < 0 ? 0 : node->room[unit]) || slices < 0) {
            return false;
        }
    }
    return ask->n > 0;
}

/* ---- strategy single ---- */

static int64_t single_count(const struct sl_mig_model *model, unsigned unit)
{
    static const struct sl_mig_layout empty = {0};
    return unit == SL_CUT_WHOLE ? 1 : sl_mig_room(model, &empty, unit);
}

static bool single_suffices(const struct sl_cut_node *node, unsigned unit)
{
    const struct sl_cut_device *device = &node->device[0];
    const struct sl_mig_model *model = device->model;
    bool whole = unit == SL_CUT_WHOLE;
    bool made = whole || device->free[unit] > 0;
    if ((whole != device->is_whole && !node->mig_mode) || (device->made && !made)) {
        return false;
    }
    /* a whole GPU has no less than the largest instance */
    const struct sl_mig_profile *profile = &model->profiles[whole ? model->n_profiles - 1U : unit];
    bool board = profile->compute == model->compute_slices;
    return (whole || profile->attributes == 0) && (board || !node->board) &&
           sl_cut_memory_of(node->view->node, profile) >= node->mib &&
           single_count(model, unit) * node->n >= node->units;
}

int sl_cut_single_unit(const struct sl_cut_node *node)
{
    const struct sl_mig_model *model = node->device[0].model;
    for (unsigned unit = 0; unit < model->n_profiles; unit++) {
        if (single_suffices(node, unit)) {
            return (int)unit;
        }
    }
    return single_suffices(node, SL_CUT_WHOLE) ? SL_CUT_WHOLE : -1;
}

static bool single_take(struct sl_cut_node *node, const struct sl_ask *ask)
{
    const struct sl_ask_item *item = &ask->item[0];
    struct sl_cut_node was = *node;
    if (ask->n != 1 || !sl_kinds[item->kind].whole ||
        strcmp(item->resource, "nvidia.com/gpu") != 0) {
        return false;
    }
    node->units += item->count;
    node->mib = sl_item_mib(item) > node->mib ? sl_item_mib(item) : node->mib;
    node->board = node->board || item->least_mib == 0;
    if (sl_cut_single_unit(node) < 0) {
        *node = was;
        return false;
    }
    return true;
}

/* ---- unit by unit ---- */

static int64_t slices_left(const struct sl_cut_device *device)
{
    int64_t left = device->sizes != NULL
                       ? sl_cut_slices_left(device)
                       : device->model->memory_slices - __builtin_popcount(device->layout.memory);
    for (unsigned p = 0; p < sl_cut_units(device); p++) {
        left -= (int64_t)device->need[p] * sl_cut_unit_size(device, p);
    }
    return left;
}

/* Ranks a device for one more unit; the least goes first. -1: it cannot give one. */
static int64_t rank_of(const struct sl_cut_device *device, unsigned unit)
{
    enum { BITS = 17, CHANGED = 1 << BITS, FRESH = 2 << BITS }; /* slices_left() has fewer bits */
    bool changes = sl_cut_device_changes(device);
    bool has_one = unit == SL_CUT_WHOLE ? device->is_whole && !device->need_whole
                                        : device->need[unit] < device->free[unit];
    if (!sl_cut_device_can_give(device, unit)) {
        return -1;
    }
    if (has_one && !changes) {
        return 0;
    }
    if (changes) {
        return CHANGED + slices_left(device);
    }
    uint8_t counts[SL_MIG_PROFILES_MAX];
    struct sl_cut_device after = *device;
    sl_cut_device_need(&after, unit, 1);
    return FRESH + (sl_cut_device_keep(&after, counts) << BITS) + slices_left(device);
}

static bool take_unit(struct sl_cut_node *node, const struct sl_ask_item *item)
{
    const struct sl_mig_model *model = NULL;
    int unit = node->shares ? sl_cut_slice_unit(node, item) : -1;
    int best = -1;
    int best_unit = -1;
    int64_t least = 0;
    for (unsigned d = 0; d < node->n; d++) {
        const struct sl_cut_device *device = &node->device[d];
        if (!device->may_change) {
            continue;
        }
        if (device->model != model) {
            model = device->model;
            unit = unit_of(node, model, item);
        }
        int64_t rank = unit < 0 ? -1 : rank_of(device, (unsigned)unit);
        if (rank >= 0 && (best < 0 || rank < least)) {
            best = (int)d;
            best_unit = unit;
            least = rank;
        }
    }
    if (best >= 0) {
        sl_cut_device_need(&node->device[best], (unsigned)best_unit, 1);
    }
    return best >= 0;
}

static int64_t take_spare(struct sl_cut_node *node, const struct sl_ask_item *item)
{
    int32_t *spare = spare_of(node, item);
    int64_t n = spare == NULL ? 0 : sl_least(item->count, *spare);
    if (n > 0) {
        *spare -= (int32_t)n;
    }
    return n;
}

/* ---- all units anew ---- */

struct repack {
    struct sl_cut_node *node;
    uint16_t left[SL_CUT_UNITS]; /* many small slices on many GPUs */
    unsigned steps;
};

static bool same_device(const struct sl_cut_device *a, const struct sl_cut_device *b)
{
    return a->may_change == b->may_change && a->model == b->model && a->spots == b->spots &&
           a->layout.memory == b->layout.memory && a->is_whole == b->is_whole &&
           a->need_whole == b->need_whole && a->gb == b->gb &&
           memcmp(a->kept, b->kept, sizeof(a->kept)) == 0 &&
           memcmp(a->layout.count, b->layout.count, sizeof(a->layout.count)) == 0 &&
           memcmp(a->need, b->need, sizeof(a->need)) == 0 &&
           memcmp(a->free, b->free, sizeof(a->free)) == 0;
}

/* Was a device like this one tried before it? Only the rest after first are tried. */
static bool tried_before(const struct sl_cut_node *node, unsigned first, unsigned d)
{
    for (unsigned other = first; other < d; other++) {
        if (same_device(&node->device[other], &node->device[d])) {
            return true;
        }
    }
    return false;
}

/* Puts the units left, the largest first; those of one kind on devices from first on. */
static bool repack_unit(struct repack *repack, int unit, unsigned first)
{
    struct sl_cut_node *node = repack->node;
    while (unit >= 0 && repack->left[unit] == 0) {
        unit--;
        first = 0;
    }
    if (unit < 0) {
        return true;
    }
    for (unsigned d = first; d < node->n && repack->steps < REPACK_STEPS; d++) {
        struct sl_cut_device *device = &node->device[d];
        if (!sl_cut_device_can_give(device, (unsigned)unit) || tried_before(node, first, d)) {
            continue;
        }
        repack->steps++;
        repack->left[unit]--;
        sl_cut_device_need(device, (unsigned)unit, 1);
        if (repack_unit(repack, unit, d)) {
            return true;
        }
        sl_cut_device_need(device, (unsigned)unit, -1);
        repack->left[unit]++;
    }
    return false;
}

static int repack_unit_of(struct sl_cut_node *node, const struct sl_mig_model *model,
                          const struct sl_ask_item *item)
{
    return node->shares ? sl_cut_slice_unit(node, item) : unit_of(node, model, item);
}

/* Have the devices memory for so many units in all? */
static bool repack_has_memory(const struct repack *repack, const struct sl_mig_model *model)
{
    const struct sl_cut_node *node = repack->node;
    int64_t left = node->slices;
    for (int unit = 0; unit < SL_CUT_UNITS; unit++) {
        if (repack->left[unit] > 0) {
            int64_t size = node->shares ? node->sizes.gb[unit] : slices_of(model, unit);
            left -= repack->left[unit] * size;
        }
    }
    return left >= 0;
}

/* Sums up the units that the node is to give, with the ask's; false where that is hopeless. */
static bool repack_sum(struct repack *repack, const struct sl_ask *ask)
{
    struct sl_cut_node *node = repack->node;
    const struct sl_mig_model *model = NULL;
    for (unsigned d = 0; d < node->n; d++) {
        struct sl_cut_device *device = &node->device[d];
        model = device->may_change ? device->model : model;
        repack->left[SL_CUT_WHOLE] =
            (uint16_t)(repack->left[SL_CUT_WHOLE] + (device->need_whole ? 1 : 0));
        unsigned units = device->may_change ? sl_cut_units(device) : 0; /* others give nothing */
        for (unsigned p = 0; p < units; p++) {
            repack->left[p] = (uint16_t)(repack->left[p] + device->need[p]);
        }
        memset(device->need, 0, sizeof(device->need));
        device->need_whole = false;
    }
    for (unsigned i = 0; i < ask->n; i++) {
        int64_t count = ask->item[i].count - take_spare(node, &ask->item[i]);
        int unit = count == 0 ? 0 : repack_unit_of(node, model, &ask->item[i]);
        /* beyond the room no search finds a way, and would use up the plan's work */
        if (unit < 0 || (node->has_room && count + repack->left[unit] > node->room[unit]) ||
            count + repack->left[unit] > UINT16_MAX) {
            return false;
        }
        repack->left[unit] = (uint16_t)(repack->left[unit] + count);
    }
    return repack_has_memory(repack, model);
}

static bool repack_all(struct sl_cut_node *node, const struct sl_ask *ask)
{
    struct repack repack = {.node = node};
    return (node->has_room || node->shares) && repack_sum(&repack, ask) &&
           repack_unit(&repack, SL_CUT_WHOLE, 0);
}

/* ---- a pod ---- */

static bool take_all(struct sl_cut_node *node, const struct sl_ask *ask)
{
    for (unsigned i = 0; i < ask->n; i++) {
        int64_t left = ask->item[i].count - take_spare(node, &ask->item[i]);
        if (left > (int64_t)node->n * SL_MIG_INSTANCES_MAX) {
            return false;
        }
        for (; left > 0; left--) {
            if (!take_unit(node, &ask->item[i])) {
                return false;
            }
        }
    }
    return true;
}

static bool counts_are_sound(const struct sl_ask *ask)
{
    for (unsigned i = 0; i < ask->n; i++) {
        if (ask->item[i].count <= 0 || ask->item[i].count > SL_UNITS_MAX) {
            return false;
        }
    }
    return true;
}

bool sl_cut_node_take(struct sl_cut_node *node, const struct sl_ask *ask, bool thorough)
{
    if (!counts_are_sound(ask)) {
        return false;
    }
    if (node->single) {
        return single_take(node, ask);
    }
    struct sl_cut_saved saved = {0};
    sl_cut_node_save(node, &saved);
    if (take_all(node, ask)) {
        return true;
    }
    sl_cut_node_restore(node, &saved);
    if (thorough && repack_all(node, ask)) {
        return true;
    }
    sl_cut_node_restore(node, &saved);
    return false;
}
