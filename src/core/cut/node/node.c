/* Reads what may be cut on a node: two agents, two rules. NVIDIA's mig-manager destroys all
 * instances of a device that it cuts, so nothing on such a device may be in use; nos' agents delete
 * free instances only. slices.c has nos in MPS mode. */
#include "core/cut/node/node.h"

#include "core/cut/node/shape.h"
#include "core/cut/node/slices.h"

#include "core/place/choose.h"

int64_t sl_cut_memory_of(const struct sl_node *node, const struct sl_mig_profile *profile)
{
    for (unsigned i = 0; i < node->n_pools; i++) {
        if (node->pool[i].profile == profile && sl_kinds[node->pool[i].kind].instance &&
            node->pool[i].memory_mib > 0) {
            return node->pool[i].memory_mib;
        }
    }
    return sl_mig_profile_mib(profile);
}

/* ---- use ---- */

bool sl_cut_use_is_hidden(const struct sl_view *view)
{
    for (uint32_t r = 0; r < view->n_residents; r++) {
        const struct sl_pod *pod = view->resident[r].pod;
        for (uint32_t i = 0; i < pod->n_items; i++) {
            if (sl_view_pool(view, pod->items[i].key) < 0) {
                return true;
            }
        }
    }
    return false;
}

/* Which units the kubelet will give them nobody knows. */
static bool pods_are_starting(const struct sl_view *view)
{
    bool found = false;
    for (uint32_t r = 0; r < view->n_residents && !found; r++) {
        const struct sl_pod *pod = view->resident[r].pod;
        found = pod->phase == SL_POD_PENDING && pod->started_us == 0;
    }
    return found;
}

/* Is the instance on the device, as far as anybody knows? */
static bool is_on(const struct sl_node *node, const struct sl_instance *instance, unsigned device)
{
    return instance->device == device ||
           (node->device[device].unsure && node->device[instance->device].unsure);
}

/* Is a unit of any pool in use that has units on the device? Only the kubelet knows on which device
 * a pod's unit is. Replicas and shares of memory are not made by cuts: they count as use. */
static bool device_in_use(const struct sl_view *view, unsigned device)
{
    const struct sl_node *node = view->node;
    for (unsigned p = 0; !node->device[device].mig && p < node->n_pools; p++) {
        const struct sl_pool *pool = &node->pool[p];
        bool here = !sl_kinds[pool->kind].instance && pool->profile == NULL;
        if (here && (!sl_kinds[pool->kind].cut || view->pool_used[p] > 0)) {
            return true;
        }
    }
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (is_on(node, instance, device) &&
            (view->pool_used[instance->pool] > 0 ||
             !sl_kinds[node->pool[instance->pool].kind].instance || instance->profile == NULL)) {
            return true;
        }
    }
    return false;
}

static bool nothing_in_use(const struct sl_view *view)
{
    for (unsigned p = 0; p < view->node->n_pools; p++) {
        if (!sl_kinds[view->node->pool[p].kind].cut) {
            return false;
        }
    }
    return view->n_residents == 0;
}

/* ---- devices ---- */

static void device_start(struct sl_cut_device *device, const struct sl_device *from)
{
    *device = (struct sl_cut_device){
        .model = from->model, .index = (uint16_t)from->index, .is_whole = !from->mig};
}

static void add_free(struct sl_cut_node *node)
{
    const struct sl_node *from = node->view->node;
    for (unsigned i = 0; i < from->n_instances; i++) {
        struct sl_cut_device *device = &node->device[from->instance[i].device];
        int index =
            device->may_change ? sl_model_index(device->model, from->instance[i].profile) : -1;
        if (index >= 0) {
            device->free[index]++;
        }
    }
}

static void read_known(struct sl_cut_node *node)
{
    const struct sl_node *from = node->view->node;
    node->n = from->n_devices;
    for (unsigned d = 0; d < node->n; d++) {
        struct sl_cut_device *device = &node->device[d];
        device_start(device, &from->device[d]);
        device->may_change = from->device[d].healthy && device->model != NULL &&
                             (!device->is_whole || node->mig_mode) && !device_in_use(node->view, d);
    }
    add_free(node);
}

/* What a device holds is read only where nothing of it is in use: one in use and an empty one have
 * the same counts, and are not alike. */
static bool devices_are_alike(const struct sl_cut_node *node)
{
    for (unsigned d = 1; d < node->n; d++) {
        const struct sl_cut_device *a = &node->device[0];
        const struct sl_cut_device *b = &node->device[d];
        if (a->model != b->model || a->is_whole != b->is_whole || a->may_change != b->may_change ||
            memcmp(a->free, b->free, sizeof(a->free)) != 0) {
            return false;
        }
    }
    return true;
}

static bool has_model(const struct sl_node *node)
{
    bool has = false;
    for (unsigned d = 0; d < node->n_devices; d++) {
        has = has || node->device[d].model != NULL;
    }
    return has;
}

/* Deals the node's instances out to its devices, as they fit: all are named, so that it does not
 * matter which device has them, as long as none is lost that no pod needs. */
static void deal_out(struct sl_cut_node *node)
{
    const struct sl_node *from = node->view->node;
    uint8_t left[SL_MIG_PROFILES_MAX] = {0};
    for (unsigned p = 0; p < from->n_pools; p++) {
        const struct sl_pool *pool = &from->pool[p];
        int index = sl_kinds[pool->kind].instance ? sl_model_index(from->model, pool->profile) : -1;
        if (index >= 0) {
            left[index] = (uint8_t)sl_least(pool->capacity, UINT8_MAX);
        }
    }
    for (unsigned d = 0; d < node->n; d++) {
        struct sl_cut_device *device = &node->device[d];
        uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
        memcpy(device->free, left, sizeof(left));
        (void)sl_cut_device_keep(device, counts);
        memcpy(device->free, counts, sizeof(counts));
        for (unsigned p = 0; p < SL_MIG_PROFILES_MAX; p++) {
            left[p] = (uint8_t)(left[p] - counts[p]);
        }
    }
}

/* Nobody tells what the devices hold. */
static enum sl_cut_bar read_unknown(struct sl_cut_node *node)
{
    const struct sl_node *from = node->view->node;
    bool some_whole = false;
    for (unsigned p = 0; p < from->n_pools; p++) {
        some_whole = some_whole || sl_kinds[from->pool[p].kind].whole;
    }
    if (from->model == NULL) {
        return has_model(from) ? SL_CUT_BAR_MIXED : SL_CUT_BAR_NO_MODEL;
    }
    if (from->partition.n_gpus == 0 || from->partition.n_gpus > SL_NODE_DEVICES_MAX) {
        return SL_CUT_BAR_UNKNOWN;
    }
    if (some_whole && !node->mig_mode) {
        return SL_CUT_BAR_MIG_OFF;
    }
    node->n = from->partition.n_gpus;
    node->all = true;
    for (unsigned d = 0; d < node->n; d++) {
        node->device[d] =
            (struct sl_cut_device){.model = from->model, .index = (uint16_t)d, .may_change = true};
    }
    return SL_CUT_BAR_NONE;
}

/* Tells what is true of all devices, else that they are in use. */
static enum sl_cut_bar bar_of_devices(const struct sl_cut_node *node)
{
    const struct sl_node *from = node->view->node;
    bool whole = !node->mig_mode && !node->shares;
    bool unhealthy = true;
    for (unsigned d = 0; d < from->n_devices; d++) {
        whole = whole && !from->device[d].mig;
        unhealthy = unhealthy && !from->device[d].healthy;
    }
    if (!node->shares && !has_model(from)) {
        return SL_CUT_BAR_NO_MODEL;
    }
    return whole ? SL_CUT_BAR_MIG_OFF : unhealthy ? SL_CUT_BAR_UNHEALTHY : SL_CUT_BAR_IN_USE;
}

/* All devices are cut together, or none. */
static enum sl_cut_bar bar_of_all(const struct sl_cut_node *node)
{
    bool may_change = true;
    for (unsigned d = 0; d < node->n; d++) {
        if (node->device[d].model != node->device[0].model) {
            return SL_CUT_BAR_MIXED;
        }
        may_change = may_change && node->device[d].may_change;
    }
    if (node->view->unhealthy) {
        return SL_CUT_BAR_UNHEALTHY;
    }
    if (!nothing_in_use(node->view)) {
        return SL_CUT_BAR_TOGETHER;
    }
    return may_change ? SL_CUT_BAR_NONE : bar_of_devices(node);
}

static enum sl_cut_bar read_for_mig_manager(struct sl_cut_node *node)
{
    const struct sl_view *view = node->view;
    enum sl_cut_bar bar = SL_CUT_BAR_NONE;
    if (sl_cut_devices_are_known(view->node)) {
        read_known(node);
        node->all = view->node->layout == SL_LAYOUT_INFERRED && !devices_are_alike(node);
    } else {
        bar = view->unhealthy ? SL_CUT_BAR_UNHEALTHY : read_unknown(node);
    }
    return bar == SL_CUT_BAR_NONE && (node->all || node->single) ? bar_of_all(node) : bar;
}

/* ---- nos ---- */

static void stay(struct sl_cut_device *device, const struct sl_instance *instance, int index,
                 struct sl_cut_spots *spots)
{
    struct sl_mig_placement at = {(uint8_t)index, (uint8_t)instance->start};
    if (instance->start < 0 || device->n_stay == SL_MIG_INSTANCES_MAX ||
        !sl_mig_can_place(device->model, &device->layout, at)) {
        device->may_change = false;
        return;
    }
    sl_mig_place(device->model, &device->layout, at);
    device->stay[device->n_stay] = at;
    device->n_stay++;
    spots->stay[index]++;
    spots->n |= instance->guessed;
}

static void read_reported(struct sl_cut_node *node, struct sl_cut_table *table, unsigned d,
                          const bool *lags)
{
    const struct sl_node *from = node->view->node;
    struct sl_cut_device *device = &node->device[d];
    struct sl_cut_spots spots = {.model = device->model};
    for (unsigned i = 0; i < from->n_instances && device->may_change; i++) {
        const struct sl_instance *instance = &from->instance[i];
        if (instance->device != d) {
            continue;
        }
        int index = sl_model_index(device->model, instance->profile);
        if (index < 0) {
            device->may_change = false;
            break;
        }
        if (instance->in_use || lags[instance->pool]) {
            stay(device, instance, index, &spots);
        } else {
            device->free[index]++;
        }
        spots.all[index]++;
    }
    if (spots.n > 0 && device->may_change) {
        device->spots = sl_cut_spots_find(table, &spots);
        device->may_change = device->spots != NULL;
    }
    if (!device->may_change) {
        memset(device->free, 0, sizeof(device->free));
    }
}

/* Has the node no GPU resource at all, and no pod that holds one? Then its agent has nothing to
 * report: all devices are empty. */
static bool is_empty(const struct sl_view *view)
{
    return view->n_pools == 0 && view->n_residents == 0 && !view->unhealthy;
}

static enum sl_cut_bar read_for_nos(struct sl_cut_node *node, struct sl_cut_table *table)
{
    const struct sl_node *from = node->view->node;
    bool lags[SL_NODE_POOLS_MAX] = {false};
    node->plain = true;
    if (!node->single && from->layout != SL_LAYOUT_ANNOTATED && is_empty(node->view) &&
        read_unknown(node) == SL_CUT_BAR_NONE) {
        node->all = false;
        return SL_CUT_BAR_NONE;
    }
    if (from->layout != SL_LAYOUT_ANNOTATED || node->single) {
        return SL_CUT_BAR_NOT_REPORTED;
    }
    for (unsigned p = 0; p < from->n_pools; p++) {
        bool instances = sl_kinds[from->pool[p].kind].instance;
        if (instances && !from->pool[p].on_devices) {
            return SL_CUT_BAR_DIFFERS;
        }
        lags[p] = !instances || sl_cut_report_lags(node, p);
    }
    node->n = from->n_devices;
    for (unsigned d = 0; d < node->n; d++) {
        device_start(&node->device[d], &from->device[d]);
        node->device[d].may_change =
            from->device[d].healthy && from->device[d].mig && from->device[d].model != NULL;
        read_reported(node, table, d, lags);
    }
    return SL_CUT_BAR_NONE;
}

/* ---- sums ---- */

int sl_cut_unit_of_pool(const struct sl_cut_device *device, const struct sl_pool *pool)
{
    if (device->sizes != NULL) {
        int unit = (int)device->sizes->n_own - 1;
        while (unit >= 0 &&
               (!pool->slices || device->sizes->gb[unit] != (uint64_t)pool->memory_mib / 1024)) {
            unit--;
        }
        return unit;
    }
    return device->model == NULL ? -1 : sl_model_index(device->model, pool->profile);
}

/* Counts the free units that no cut of the node would change. */
static void count_spare(struct sl_cut_node *node)
{
    const struct sl_view *view = node->view;
    for (unsigned p = 0; p < view->n_pools; p++) {
        const struct sl_pool *pool = &view->node->pool[p];
        int64_t free = node->all || node->single ? 0 : view->room[p].free;
        for (unsigned d = 0; free > 0 && d < node->n; d++) {
            const struct sl_cut_device *device = &node->device[d];
            int unit = sl_cut_unit_of_pool(device, pool);
            if (device->may_change && unit >= 0) {
                free -= device->free[unit];
            }
            free -= device->may_change && device->is_whole && sl_kinds[pool->kind].whole;
        }
        node->spare[p] = (int32_t)(free > 0 ? sl_least(free, INT32_MAX) : 0);
    }
}

/* Counts the most units of each kind, where all devices are of one model. */
void sl_cut_node_sum(struct sl_cut_node *node)
{
    const struct sl_mig_model *model = NULL;
    node->has_room = !node->single && !node->shares;
    node->slices = 0;
    memset(node->room, 0, sizeof(node->room));
    for (unsigned d = 0; d < node->n; d++) {
        const struct sl_cut_device *device = &node->device[d];
        if (!device->may_change) {
            continue;
        }
        if (device->sizes != NULL) {
            int32_t left =
                sl_cut_slices_left(device); /* below 0 where more is told than there is */
            node->slices += left > 0 ? left : 0;
            continue;
        }
        node->slices += device->model->memory_slices - __builtin_popcount(device->layout.memory);
        node->has_room = node->has_room && (model == NULL || model == device->model);
        model = device->model;
        for (unsigned p = 0; p < model->n_profiles; p++) {
            node->room[p] = (uint16_t)(node->room[p] + sl_mig_room(model, &device->layout, p));
        }
        node->room[SL_CUT_WHOLE] = (uint16_t)(node->room[SL_CUT_WHOLE] + device->may_be_whole);
    }
}

bool sl_cut_agent_is_busy(const struct sl_partition *partition)
{
    bool at_work =
        partition->state == SL_PARTITION_PENDING || partition->state == SL_PARTITION_REBOOTING;
    bool ours = partition->wanted != NULL &&
                strncmp(partition->wanted, SL_CUT_PREFIX, strlen(SL_CUT_PREFIX)) == 0;
    return partition->actuator == SL_ACTUATOR_MIG_MANAGER && at_work && !ours;
}

static uint64_t alike_of(const struct sl_cut_node *node)
{
    uint64_t sum = node->view->node->site_digest + node->single;
    for (unsigned d = 0; d < node->n; d++) {
        const struct sl_cut_device *device = &node->device[d];
        const ptrdiff_t model = device->model == NULL ? -1 : device->model - sl_mig_model_at(0);
        char text[sizeof(model) + sizeof(device->layout) + sizeof(device->free) + 2 +
                  sizeof(device->gb) + sizeof(device->kept)];
        char *at = text;
        memcpy(at, &model, sizeof(model));
        memcpy(at + sizeof(model), &device->layout, sizeof(device->layout));
        at += sizeof(model) + sizeof(device->layout);
        memcpy(at, device->free, sizeof(device->free));
        at[sizeof(device->free)] = device->may_change ? 1 : 0;
        at[sizeof(device->free) + 1] = device->is_whole ? 1 : 0;
        at += sizeof(device->free) + 2;
        memcpy(at, &device->gb, sizeof(device->gb));
        memcpy(at + sizeof(device->gb), device->kept, sizeof(device->kept));
        sum += sl_hash(text, sizeof(text)); /* in whatever order */
    }
    sum += sl_hash((const char *)node->sizes.gb, node->sizes.n * sizeof(node->sizes.gb[0]));
    for (unsigned p = 0; p < node->view->n_pools; p++) {
        sum += node->view->room[p].key * (uint64_t)(node->spare[p] + 1);
    }
    return sum == 0 ? 1 : sum;
}

enum sl_cut_bar sl_cut_node_read(struct sl_cut_node *node, struct sl_cut_device *device,
                                 struct sl_cut_table *table, const struct sl_view *view,
                                 struct sl_cut_limits limits)
{
    enum sl_actuator actuator = view->node->partition.actuator;
    *node = (struct sl_cut_node){.view = view, .device = device};
    node->single = view->node->partition.single;
    node->limits = limits;
    node->mig_mode = limits.mig_mode && actuator == SL_ACTUATOR_MIG_MANAGER;
    if (actuator == SL_ACTUATOR_NONE) {
        return SL_CUT_BAR_NOT_SELECTED;
    }
    if (view->withheld) {
        return SL_CUT_BAR_CUTTING;
    }
    if (sl_cut_agent_is_busy(&view->node->partition)) {
        return SL_CUT_BAR_AT_WORK;
    }
    if (sl_cut_use_is_hidden(view)) {
        return SL_CUT_BAR_HIDDEN_USE;
    }
    if (pods_are_starting(view)) {
        return SL_CUT_BAR_STARTING;
    }
    enum sl_cut_bar bar = actuator == SL_ACTUATOR_NOS_MPS   ? sl_cut_slices_read(node, NULL)
                          : actuator == SL_ACTUATOR_NOS_MIG ? read_for_nos(node, table)
                                                            : read_for_mig_manager(node);
    bool some = false;
    for (unsigned d = 0; bar == SL_CUT_BAR_NONE && d < node->n; d++) {
        device[d].packed = &table->packed;
        device[d].may_be_whole = !node->shares && (device[d].is_whole || node->mig_mode);
        some = some || device[d].may_change;
    }
    if (bar == SL_CUT_BAR_NONE && !some) {
        return bar_of_devices(node);
    }
    if (bar == SL_CUT_BAR_NONE && node->all && !sl_cut_devices_are_known(view->node)) {
        deal_out(node);
    }
    count_spare(node);
    sl_cut_node_sum(node);
    node->alike = alike_of(node);
    return bar;
}

void sl_cut_node_reset(struct sl_cut_node *node)
{
    for (unsigned d = 0; d < node->n; d++) {
        memset(node->device[d].need, 0, sizeof(node->device[d].need));
        node->device[d].need_whole = false;
    }
    node->sizes.n = node->sizes.n_own;
    node->units = 0;
    node->mib = 0;
    node->board = false;
    count_spare(node);
}
