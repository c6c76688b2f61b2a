/* Builds the view of a node from its pods. */
#include <stdlib.h>

#include "core/node/pool.h"
#include "core/place/choose.h"
#include "sliced/admit.h"

int64_t sl_view_free_units(const struct sl_view *view, unsigned pool)
{
    return view->room[pool].free;
}

int64_t sl_view_set_aside_units(const struct sl_view *view, unsigned pool)
{
    int64_t units = 0;
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        for (unsigned p = 0; resident->pod->set_aside && p < resident->n_parts; p++) {
            const struct sl_assignment_part *part = &view->part[resident->first_part + p];
            bool of_pool = resident->pod->items[part->item].key == view->node->pool[pool].key;
            units += of_pool ? part->amount : 0;
        }
    }
    return units;
}

bool sl_view_takes_turns(const struct sl_view *view)
{
    for (unsigned i = 0; i < view->n_pools; i++) {
        if (view->node->pool[i].equal_memory) {
            return false;
        }
    }
    return true;
}

/* ---- placing the residents ---- */

/* Places a pod by its assignment; false when a part's place is gone. The whole text is then
 * unusable, because the kubelet gave the pod other places. */
static bool place_as_assigned(struct sl_scratch *scratch, const struct sl_pod *pod,
                              struct sl_assignment *assignment)
{
    if (pod->assignment == NULL ||
        !sl_assignment_read(scratch->view->node, pod->items, pod->n_items,
                            sl_str_of(pod->assignment), assignment)) {
        return false;
    }
    struct sl_assignment done = {0};
    for (; done.n < assignment->n; done.n++) {
        struct sl_assignment_part *part = &assignment->part[done.n];
        unsigned pool = (unsigned)sl_view_pool(scratch->view, pod->items[part->item].key);
        if (part->amount > SL_UNITS_MAX || !sl_scratch_can_hold(scratch, pool, part)) {
            sl_scratch_undo(scratch, pod->items, &done, 0);
            return false;
        }
        sl_scratch_take(scratch, pool, &pod->items[part->item], part, 1);
        done.part[done.n] = *part;
    }
    return true;
}

/* A resident runs and so has its units, whatever their memory; assume devices marked unhealthy
 * last. Spread a share of memory for which no device has room: the pod must be on some. */
static const struct sl_place_how somehow[] = {
    {.any_memory = true},
    {.any_memory = true, .any_health = true},
    {.any_memory = true, .any_part = true},
    {.any_memory = true, .any_part = true, .any_health = true},
};

static void place_somehow(struct sl_scratch *scratch, const struct sl_pod *pod, uint8_t number,
                          struct sl_assignment *assignment)
{
    const struct sl_ask_item *item = &pod->items[number];
    const int pool = sl_view_pool(scratch->view, item->key);
    int64_t left = pool < 0 ? 0 : sl_scratch_units(item);
    for (size_t i = 0; left > 0 && i < sizeof(somehow) / sizeof(somehow[0]); i++) {
        left -=
            sl_scratch_place(scratch, (unsigned)pool, item, number, left, somehow[i], assignment);
    }
}

static void place_by_assumption(struct sl_scratch *scratch, const struct sl_pod *pod,
                                struct sl_assignment *assignment)
{
    unsigned failed = 0;
    bool known = pod->n_items <= SL_ASK_ITEMS_MAX;
    assignment->n = 0;
    for (unsigned i = 0; known && i < pod->n_items; i++) {
        known = sl_view_pool(scratch->view, pod->items[i].key) >= 0;
    }
    if (known && sl_scratch_choose(scratch, pod->items, pod->n_items, false, assignment, &failed)) {
        return;
    }
    sl_scratch_undo(scratch, pod->items, assignment, 0);
    for (unsigned i = 0; i < pod->n_items; i++) {
        place_somehow(scratch, pod, (uint8_t)i, assignment);
    }
}

/* Counts units without a place in their pool. */
static void count_unplaced(struct sl_scratch *scratch, const struct sl_pod *pod,
                           const struct sl_assignment *assignment)
{
    for (unsigned i = 0; i < pod->n_items; i++) {
        int pool = sl_view_pool(scratch->view, pod->items[i].key);
        if (pool >= 0) {
            scratch->pool_used[pool] += sl_scratch_units(&pod->items[i]);
        }
    }
    for (unsigned i = 0; i < assignment->n; i++) {
        int pool = sl_view_pool(scratch->view, pod->items[assignment->part[i].item].key);
        scratch->pool_used[pool] -= assignment->part[i].amount;
    }
}

/* False when out of memory. */
static bool has_room(struct sl_view *view, size_t n)
{
    if (n <= view->parts_cap) {
        return true;
    }
    size_t cap = 2 * n;
    struct sl_assignment_part *more = malloc(cap * sizeof(*more));
    if (more == NULL) {
        return false;
    }
    if (view->n_parts > 0) {
        memcpy(more, view->part, view->n_parts * sizeof(*more));
    }
    free(view->more);
    view->more = more;
    view->part = more;
    view->parts_cap = (uint32_t)cap;
    return true;
}

static bool keep_parts(struct sl_view *view, struct sl_resident *resident,
                       const struct sl_assignment *assignment)
{
    if (!has_room(view, (size_t)view->n_parts + assignment->n)) {
        return false;
    }
    resident->first_part = view->n_parts;
    resident->n_parts = assignment->n;
    memcpy(view->part + view->n_parts, assignment->part,
           assignment->n * sizeof(assignment->part[0]));
    view->n_parts += assignment->n;
    return true;
}

/* False when out of memory. */
static bool place_residents(struct sl_view *view, struct sl_scratch *scratch)
{
    struct sl_assignment assignment;
    bool kept = true;
    for (unsigned i = 0; kept && i < view->n_residents; i++) {
        struct sl_resident *resident = &view->resident[i];
        resident->assumed = !place_as_assigned(scratch, resident->pod, &assignment);
        kept = resident->assumed || keep_parts(view, resident, &assignment);
    }
    for (unsigned i = 0; kept && i < view->n_residents; i++) {
        struct sl_resident *resident = &view->resident[i];
        if (resident->assumed) {
            place_by_assumption(scratch, resident->pod, &assignment);
            count_unplaced(scratch, resident->pod, &assignment);
            kept = keep_parts(view, resident, &assignment);
        }
    }
    return kept;
}

/* ---- one allocation ---- */

static bool resides(const struct sl_node *node, const struct sl_pod *pod)
{
    return pod->n_items > 0 && pod->n_items <= SL_POD_ITEMS_MAX && sl_pod_holds(pod) &&
           strcmp(pod->node, node->name) == 0;
}

/* Estimates the most parts that the pod will have on the node, to allocate room beforehand. */
static size_t parts_expected(const struct sl_node *node, const struct sl_pod *pod)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < pod->n_items; i++) {
        int pool = sl_node_pool(node, pod->items[i].key);
        if (pool < 0) {
            continue;
        }
        const struct sl_pool *p = &node->pool[pool];
        bool single = !p->on_devices || sl_kinds[p->kind].memory;
        int64_t places =
            sl_pool_on_instances(node, (unsigned)pool) ? node->n_instances : node->n_devices;
        int64_t parts = pod->items[i].gpus > 1 ? pod->items[i].gpus : 1;
        sum += single ? parts : sl_least(pod->items[i].count, places);
    }
    return (size_t)sl_least(sum, SL_ASSIGNMENT_MAX);
}

static struct sl_view *allocate(const struct sl_node *node, size_t n_residents, size_t n_parts,
                                bool measured)
{
    size_t at[10];
    at[0] = sizeof(struct sl_view) + node->n_pools * sizeof(struct sl_pool_room);
    at[1] = at[0] + node->n_pools * sizeof(int64_t);
    at[2] = at[1] + node->n_devices * sizeof(struct sl_device_use);
    at[3] = at[2] + n_residents * sizeof(struct sl_resident);
    at[4] = at[3] + n_parts * sizeof(struct sl_assignment_part);
    at[5] = at[4] + node->n_pools * sizeof(int64_t);
    at[6] = at[5] + node->n_instances * sizeof(int64_t);
    at[7] = at[6] + node->n_instances * sizeof(int32_t);
    at[8] = (at[7] + node->n_devices + _Alignof(struct sl_measured) - 1) &
            ~(_Alignof(struct sl_measured) - 1);
    at[9] = at[8] + (measured ? node->n_devices * sizeof(struct sl_measured) : 0);
    char *block = malloc(at[9]);
    if (block == NULL) {
        return NULL;
    }
    struct sl_view *view = (struct sl_view *)(void *)block;
    *view = (struct sl_view){.n_pools = node->n_pools, .most_mib = -1};
    view->pool_used = (int64_t *)(void *)(block + at[0]);
    view->device = (struct sl_device_use *)(void *)(block + at[1]);
    view->resident = (struct sl_resident *)(void *)(block + at[2]);
    view->part = (struct sl_assignment_part *)(void *)(block + at[3]);
    view->parts_cap = (uint32_t)n_parts;
    view->pool_mib = (int64_t *)(void *)(block + at[4]);
    view->instance_mib = (int64_t *)(void *)(block + at[5]);
    view->instance_used = (int32_t *)(void *)(block + at[6]);
    view->gap = (uint8_t *)block + at[7];
    view->measured = measured ? (struct sl_measured *)(void *)(block + at[8]) : NULL;
    return view;
}

static void show_host(struct sl_view *view, const struct sl_host_use *use)
{
    view->cpu_milli = use->cpu_milli;
    view->memory_bytes = use->memory_bytes;
    view->n_pods = use->n_pods;
}

/* Sums CPU, memory and number of all pods on the node, whatever they ask for. */
static void count_host(struct sl_view *view, struct sl_pod *const *pods, size_t n_pods,
                       const struct sl_host_use *others)
{
    struct sl_host_use use = *others;
    for (size_t i = 0; i < n_pods; i++) {
        if (sl_pod_holds(pods[i]) && strcmp(pods[i]->node, view->node->name) == 0) {
            sl_host_use_add(&use, pods[i]);
        }
    }
    show_host(view, &use);
}

static int older_first(const void *a, const void *b)
{
    const struct sl_pod *x = ((const struct sl_resident *)a)->pod;
    const struct sl_pod *y = ((const struct sl_resident *)b)->pod;
    if (x->created_us != y->created_us) {
        return x->created_us < y->created_us ? -1 : 1;
    }
    return strcmp(x->uid, y->uid);
}

/* Finds where the next unit of a pool would go, and which instances that would cost. */
static void look_ahead(struct sl_view *view, struct sl_scratch *scratch, unsigned pool)
{
    const struct sl_node *node = view->node;
    struct sl_pool_room *room = &view->room[pool];
    struct sl_assignment one;
    one.n = 0;
    room->next_device = -1;
    memset(room->lost, 0, sizeof(room->lost));
    if (room->free == 0 || !node->pool[pool].on_devices || sl_kinds[node->pool[pool].kind].memory ||
        sl_scratch_place(scratch, pool, NULL, 0, 1, (struct sl_place_how){.any_health = false},
                         &one) == 0) {
        return;
    }
    room->next_device = one.part[0].device;
    if (one.part[0].instance >= 0 && sl_pool_is_remade(node, pool)) {
        sl_lost_room(node, view->instance_used, scratch->instance_used, (unsigned)room->next_device,
                     ~0U, room->lost);
    }
    sl_scratch_take(scratch, pool, NULL, &one.part[0], -1);
}

static void settle(struct sl_view *view, struct sl_scratch *scratch)
{
    const struct sl_node *node = view->node;
    memcpy(view->pool_used, scratch->pool_used, node->n_pools * sizeof(view->pool_used[0]));
    memcpy(view->pool_mib, scratch->pool_mib, node->n_pools * sizeof(view->pool_mib[0]));
    memcpy(view->device, scratch->device, node->n_devices * sizeof(view->device[0]));
    memcpy(view->instance_used, scratch->instance_used,
           node->n_instances * sizeof(view->instance_used[0]));
    memcpy(view->instance_mib, scratch->instance_mib,
           node->n_instances * sizeof(view->instance_mib[0]));
    for (unsigned i = 0; i < node->n_pools; i++) {
        struct sl_room room = {0};
        if (!view->withheld) {
            room = sl_scratch_room(scratch, i, NULL, false);
        }
        view->room[i].free = room.free;
        view->room[i].largest = room.largest;
        look_ahead(view, scratch, i);
    }
}

static void start_unmeasured(struct sl_view *view)
{
    for (unsigned i = 0; view->measured != NULL && i < view->node->n_devices; i++) {
        view->measured[i] = sl_measured_none;
    }
}

static bool is_on(const struct sl_view *view, const struct sl_resident *resident, unsigned device)
{
    const struct sl_assignment_part *part = view->part + resident->first_part;
    for (unsigned p = 0; p < resident->n_parts; p++) {
        if (part[p].device == (int16_t)device) {
            return true;
        }
    }
    return false;
}

static uint16_t pods_on(const struct sl_view *view, unsigned device)
{
    uint16_t n = 0;
    for (unsigned i = 0; i < view->n_residents && n < UINT16_MAX; i++) {
        n = (uint16_t)(n + is_on(view, &view->resident[i], device));
    }
    return n;
}

int64_t sl_view_ask_mib(const struct sl_view *view, const struct sl_resident *resident,
                        unsigned device, bool *there)
{
    const struct sl_device *d = &view->node->device[device];
    int64_t sum = 0;
    bool said = true;
    *there = false;
    for (unsigned p = 0; p < resident->n_parts; p++) {
        const struct sl_assignment_part *part = &view->part[resident->first_part + p];
        if (part->device != (int16_t)device) {
            continue;
        }
        const struct sl_ask_item *item = &resident->pod->items[part->item];
        int pool = sl_view_pool(view, item->key); /* nvidia.com/gpu may be a replica */
        const struct sl_kind_row *kind = &sl_kinds[view->node->pool[pool].kind];
        *there = true;
        if (kind->memory && d->memory_units > 0) {
            sum += part->amount * d->memory_mib / d->memory_units;
        } else if (kind->replica && item->memory_mib > 0) {
            sum += part->amount * item->memory_mib;
        } else if (kind->replica) {
            said = false;
        } else {
            sum += d->memory_mib; /* a whole GPU, or instances: all of it */
        }
    }
    return said ? sum : -1;
}

/* The part that is taken beyond the asks of the pods that are there now: those that have come since
 * come on top, and what those that have gone used is taken until it is measured again. More pods
 * than are told apart count as if they had come since. */
static int32_t over_now(const struct sl_view *view, unsigned device,
                        const struct sl_measured *measured)
{
    int64_t kept = 0;
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        bool there = false;
        int64_t ask = sl_view_ask_mib(view, resident, device, &there);
        kept += there && ask > 0 && sl_measured_saw(measured, resident->pod->uid) ? ask : 0;
    }
    return sl_measured_over(measured->held_mib, kept);
}

/* Residents were placed without it. Measurements beside other pods hold no more: there is no room,
 * and a pod that has come may keep the GPU busy all the time. */
static void take_measured(struct sl_view *view, struct sl_scratch *scratch,
                          const struct sl_host_use *others)
{
    for (unsigned i = 0; i < others->n_measured && i < view->node->n_devices; i++) {
        struct sl_measured *measured = &view->measured[i];
        *measured = others->measured[i];
        measured->n_pods = pods_on(view, i);
        bool known = measured->room_mib >= 0 || measured->load >= 0 || measured->held_mib > 0;
        if (known && measured->pods != sl_view_pods_of(view, i)) {
            measured->over_mib = over_now(view, i, measured);
            measured->room_mib = -1;
            measured->by = SL_SHARING_ASKS;
            measured->load = measured->load < 0 ? -1 : 1000;
            measured->settled = false;
        }
        int32_t most_mib = sl_measured_most(measured);
        view->most_mib = most_mib > view->most_mib ? most_mib : view->most_mib;
        sl_scratch_count_over(scratch, i, measured->over_mib, 1);
    }
}

/* Measures the empty node; leaves scratch empty. */
static void measure_empty(struct sl_view *view, struct sl_scratch *scratch)
{
    const struct sl_node *node = view->node;
    sl_scratch_clear(scratch, view);
    for (unsigned i = 0; i < node->n_devices; i++) {
        view->unhealthy = view->unhealthy || !node->device[i].healthy;
    }
    for (unsigned i = 0; i < node->n_pools; i++) {
        view->room[i].key = node->pool[i].key;
        view->room[i].spans = node->pool[i].spans;
        view->room[i].capacity = node->pool[i].capacity;
        view->room[i].most = sl_scratch_room(scratch, i, NULL, true).largest;
    }
}

uint64_t sl_view_pods_of(const struct sl_view *view, unsigned device)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        sum += is_on(view, resident, device)
                   ? sl_hash(resident->pod->uid, strlen(resident->pod->uid))
                   : 0;
    }
    return sum == 0 ? 1 : sum;
}

struct sl_view *sl_view_new(struct sl_node *node, struct sl_pod *const *pods, size_t n_pods)
{
    const struct sl_host_use none = {0};
    return sl_view_new_beside(node, pods, n_pods, &none);
}

struct sl_view *sl_view_new_beside(struct sl_node *node, struct sl_pod *const *pods, size_t n_pods,
                                   const struct sl_host_use *others)
{
    size_t n_residents = 0;
    size_t n_parts = 0;
    for (size_t i = 0; i < n_pods; i++) {
        if (resides(node, pods[i])) {
            n_residents++;
            n_parts += parts_expected(node, pods[i]);
        }
    }
    struct sl_view *view = n_residents > SL_VIEW_PODS_MAX
                               ? NULL
                               : allocate(node, n_residents, n_parts, others->n_measured > 0);
    if (view == NULL) {
        return NULL;
    }
    view->node = sl_node_ref(node);
    view->withheld = others->withheld || sl_node_is_cut(node);
    for (size_t i = 0; i < n_pods; i++) {
        if (resides(node, pods[i])) {
            view->resident[view->n_residents] = (struct sl_resident){.pod = sl_pod_ref(pods[i])};
            view->n_residents++;
        }
    }
    if (n_residents > 1) {
        qsort(view->resident, n_residents, sizeof(view->resident[0]), older_first);
    }
    struct sl_scratch scratch;
    start_unmeasured(view);
    measure_empty(view, &scratch);
    if (!place_residents(view, &scratch)) {
        sl_view_free(view);
        return NULL;
    }
    take_measured(view, &scratch, others);
    settle(view, &scratch);
    count_host(view, pods, n_pods, others);
    sl_view_measure_idle(view);
    view->digest = sl_view_digest(view);
    return view;
}

struct sl_view *sl_view_without(const struct sl_view *view, unsigned resident)
{
    struct sl_host_use use = sl_host_use_of(view);
    const struct sl_host_use others = {.withheld = view->withheld,
                                       .measured = view->measured,
                                       .n_measured =
                                           view->measured == NULL ? 0 : view->node->n_devices};
    struct sl_pod **pods = calloc(view->n_residents, sizeof(struct sl_pod *));
    size_t n = 0;
    if (pods == NULL) {
        return NULL;
    }
    for (unsigned i = 0; i < view->n_residents; i++) {
        pods[n] = view->resident[i].pod;
        n += i != resident ? 1 : 0;
    }
    struct sl_view *without = sl_view_new_beside(view->node, pods, n, &others);
    free(pods);
    if (without != NULL) {
        sl_host_use_remove(&use, view->resident[resident].pod);
        show_host(without, &use);
    }
    return without;
}

void sl_view_free(struct sl_view *view)
{
    if (view == NULL) {
        return;
    }
    for (unsigned i = 0; i < view->n_residents; i++) {
        sl_pod_unref(view->resident[i].pod);
    }
    sl_node_unref(view->node);
    free(view->more);
    free(view);
}
