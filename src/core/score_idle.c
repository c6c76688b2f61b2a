/* The terms fragmentation and whole: what a placement does to the GPUs that stay idle. */
#include <stdlib.h>
#include <string.h>

#include "core/choose.h"
#include "core/idle.h"

/* A change of that many 64000ths of a device for each device asked moves a term half way. */
enum { HALF_WAY = 25600, DEVICE_WASTE = 64000 };

/* A node's idle GPUs, as sums over its devices. */
struct rest {
    const struct sl_idle *idle; /* of its devices; of the first, where they differ */
    int64_t waste;
    int64_t need; /* milli CPU that the users of the idle GPUs will want */
    int64_t whole;
};

/* One device: what of it is idle. */
struct gap {
    const struct sl_idle *idle;
    int32_t steps;
    bool whole;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t sl_idle_cpu(const struct sl_view *view)
{
    int64_t all = view->node->host.cpu_milli;
    if (all <= 0) {
        return -1;
    }
    return view->cpu_milli < all ? all - view->cpu_milli : 0;
}

/* ---- what the node offers ---- */

struct offer {
    uint64_t rows;
    int32_t replicas; /* of a device; 0: none */
    int whole;        /* pool of whole GPUs, -1: none */
    bool memory;
};

static struct offer offer_of(const struct sl_scorer *scorer, const struct sl_node *node)
{
    struct offer offer = {.whole = -1};
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        if (sl_pool_on_instances(node, i)) {
            continue;
        }
        offer.whole = pool->kind == SL_KIND_WHOLE ? (int)i : offer.whole;
        offer.replicas = pool->kind == SL_KIND_REPLICA ? pool->replicas : offer.replicas;
        offer.memory = offer.memory || pool->kind == SL_KIND_MEMORY;
        for (unsigned k = 0; k < scorer->n_keys; k++) {
            offer.rows |= scorer->asked[k].key == pool->key ? scorer->asked[k].rows : 0;
        }
    }
    return offer;
}

/* ---- gaps ---- */

static struct gap gap_of(struct sl_scorer *scorer, const struct offer *offer,
                         const struct sl_device *device, const struct sl_device_use *use)
{
    int64_t units = offer->memory ? device->memory_units : 0;
    struct gap gap = {.idle = sl_idle_table(scorer, offer->rows, units, offer->replicas)};
    if (!device->healthy || device->mig || use->whole || use->instances > 0) {
        return gap;
    }
    gap.steps = gap.idle->steps;
    gap.whole = offer->whole >= 0 && use->memory_units == 0 && use->replicas == 0;
    if (use->memory_units > 0) {
        int64_t left = units > use->memory_units ? units - use->memory_units : 0;
        gap.steps = units > 0 ? (int32_t)(left * gap.steps / units) : 0;
    }
    if (use->replicas > 0) {
        int32_t left = offer->replicas > use->replicas ? offer->replicas - use->replicas : 0;
        int32_t steps = offer->replicas > 0 ? left * gap.idle->steps / offer->replicas : 0;
        gap.steps = steps < gap.steps ? steps : gap.steps;
    }
    return gap;
}

static void add_gap(struct rest *rest, const struct gap *gap, int64_t times)
{
    rest->idle = rest->idle == NULL ? gap->idle : rest->idle;
    rest->waste += times * gap->idle->waste[gap->steps];
    rest->need += times * gap->idle->need[gap->steps];
    rest->whole += gap->whole ? times : 0;
}

/* Of devices that nobody described only the number is known. */
static void add_uncounted(struct sl_scorer *scorer, const struct offer *offer, int64_t n,
                          struct rest *rest)
{
    struct gap gap = {.idle = sl_idle_table(scorer, offer->rows, 0, 0), .whole = true};
    gap.steps = gap.idle->steps;
    add_gap(rest, &gap, n);
}

static struct rest rest_of(struct sl_scorer *scorer, const struct offer *offer,
                           const struct sl_node *node, const struct sl_device_use *use)
{
    struct rest rest = {0};
    for (unsigned i = 0; i < node->n_devices; i++) {
        struct gap gap = gap_of(scorer, offer, &node->device[i], &use[i]);
        add_gap(&rest, &gap, 1);
    }
    return rest;
}

/* ---- after the placement ---- */

/* The device whose free memory is the smallest that suffices, as sl_choose() takes it. */
static int tightest(const struct sl_view *view, int64_t count)
{
    const struct sl_node *node = view->node;
    int best = -1;
    int64_t best_free = 0;
    for (unsigned i = 0; i < node->n_devices; i++) {
        const struct sl_device_use *use = &view->device[i];
        int64_t free = node->device[i].memory_units - use->memory_units;
        bool open = node->device[i].healthy && !node->device[i].mig && !use->whole &&
                    use->instances == 0 && free >= count;
        if (open && (best < 0 || free < best_free)) {
            best = (int)i;
            best_free = free;
        }
    }
    return best;
}

static void change_device(struct sl_scorer *scorer, const struct offer *offer,
                          const struct sl_view *view, unsigned i, struct sl_device_use use,
                          struct rest *rest)
{
    struct gap was = gap_of(scorer, offer, &view->node->device[i], &view->device[i]);
    struct gap is = gap_of(scorer, offer, &view->node->device[i], &use);
    add_gap(rest, &was, -1);
    add_gap(rest, &is, 1);
}

/* The first devices that are whole and free. */
static void take_whole(struct sl_scorer *scorer, const struct offer *offer,
                       const struct sl_view *view, int64_t count, struct rest *rest)
{
    for (unsigned i = 0; i < view->node->n_devices && count > 0; i++) {
        struct gap gap = gap_of(scorer, offer, &view->node->device[i], &view->device[i]);
        if (gap.whole && gap.steps > 0) {
            add_gap(rest, &gap, -1);
            count--;
        }
    }
}

/* An ask of one item, where it is plain which devices it gets. */
static bool change_plainly(struct sl_scorer *scorer, const struct offer *offer,
                           const struct sl_view *view, unsigned pool, struct rest *rest)
{
    const struct sl_pool *p = &view->node->pool[pool];
    int64_t count = scorer->ask->item[0].count;
    if (p->kind == SL_KIND_WHOLE && p->on_devices) {
        take_whole(scorer, offer, view, count, rest);
        return true;
    }
    if (p->kind == SL_KIND_WHOLE) {
        add_uncounted(scorer, offer, -count, rest);
        return true;
    }
    int device = p->kind == SL_KIND_MEMORY && p->on_devices ? tightest(view, count) : -1;
    if (device < 0) {
        return false;
    }
    struct sl_device_use use = view->device[device];
    use.memory_units += count;
    change_device(scorer, offer, view, (unsigned)device, use, rest);
    return true;
}

static bool change_by_search(struct sl_scorer *scorer, const struct offer *offer,
                             const struct sl_view *view, struct rest *rest)
{
    struct sl_scratch after;
    struct sl_assignment assignment;
    unsigned failed = 0;
    uint64_t done = 0;
    sl_scratch_init(&after, view);
    if (!sl_scratch_choose(&after, scorer->ask->item, scorer->ask->n, false, &assignment,
                           &failed)) {
        return false;
    }
    for (unsigned i = 0; i < assignment.n; i++) {
        int device = assignment.part[i].device;
        if (device >= 0 && (done >> device & 1) == 0) {
            done |= UINT64_C(1) << device;
            change_device(scorer, offer, view, (unsigned)device, after.device[device], rest);
        }
    }
    return true;
}

/* ---- the terms ---- */

/* GPUs of the idle ones whose CPU will be gone: none while there is two fifths more than their
 * users want on the average, all that is lacking when there is two fifths less, smoothly between.
 */
static int64_t starved(const struct rest *rest, int64_t cpu)
{
    if (cpu < 0 || rest->idle == NULL || rest->idle->cpu == 0) {
        return 0;
    }
    int64_t margin = rest->need * 2 / 5;
    int64_t spare = cpu - rest->need;
    int64_t lacking = 0;
    if (spare <= -margin) {
        lacking = -spare;
    } else if (spare < margin) {
        lacking = (margin - spare) * (margin - spare) / (4 * margin);
    }
    return lacking * DEVICE_WASTE / rest->idle->cpu;
}

/* Whole GPUs beyond a multiple of what asks of several take at once. */
static int64_t odd_ones(const struct rest *rest, int64_t cpu)
{
    int64_t sum = 0;
    for (unsigned g = 0; rest->idle != NULL && g < rest->idle->n_groups; g++) {
        int64_t count = rest->idle->group[g].count;
        int64_t times = rest->whole / count;
        if (cpu >= 0 && rest->idle->group[g].cpu > 0) {
            times = least(times, cpu / rest->idle->group[g].cpu);
        }
        sum += (rest->whole - times * count) * rest->idle->group[g].share;
    }
    return sum * (DEVICE_WASTE >> 8) >> 8;
}

static int32_t term_of(int64_t gain, int64_t devices)
{
    int64_t scale = llabs(gain) + HALF_WAY * devices;
    return (int32_t)((200 * (scale + gain) / scale + 2) / 4);
}

/* Devices' worth that the ask takes, rounded up. */
static int64_t devices_of(const struct sl_ask *ask, const struct sl_node *node, const int *pool)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < ask->n; i++) {
        sum += node->pool[pool[i]].kind == SL_KIND_WHOLE
                   ? least(ask->item[i].count, SL_NODE_DEVICES_MAX)
                   : 1;
    }
    return sum > 0 ? sum : 1;
}

static bool all_on_instances(const struct sl_ask *ask, const struct sl_node *node, const int *pool)
{
    bool all = ask->n > 0;
    for (unsigned i = 0; i < ask->n; i++) {
        all = all && sl_pool_on_instances(node, (unsigned)pool[i]);
    }
    return all;
}

void sl_idle_terms(struct sl_scorer *scorer, const struct sl_view *view, const int *pool,
                   struct sl_score *out)
{
    const struct sl_ask *ask = scorer->ask;
    const struct sl_node *node = view->node;
    out->term[SL_TERM_FRAGMENTATION] = 50;
    out->term[SL_TERM_WHOLE] = 50;
    if (all_on_instances(ask, node, pool)) {
        out->term[SL_TERM_FRAGMENTATION] = out->term[SL_TERM_AVAILABILITY];
        return;
    }
    struct offer offer = offer_of(scorer, node);
    struct rest before = rest_of(scorer, &offer, node, view->device);
    if (offer.whole >= 0 && !node->pool[offer.whole].on_devices) {
        add_uncounted(scorer, &offer, view->room[offer.whole].free, &before);
    }
    struct rest after = before;
    bool known = ask->n == 0 ||
                 (ask->n == 1 && change_plainly(scorer, &offer, view, (unsigned)pool[0], &after)) ||
                 change_by_search(scorer, &offer, view, &after);
    if (!known) {
        return;
    }
    int64_t cpu = sl_idle_cpu(view);
    int64_t left = cpu < 0 ? cpu : cpu - least(ask->cpu_milli, cpu);
    int64_t devices = devices_of(ask, node, pool);
    int64_t gain = before.waste + starved(&before, cpu) - after.waste - starved(&after, left);
    out->term[SL_TERM_FRAGMENTATION] = term_of(gain, devices);
    out->term[SL_TERM_WHOLE] = term_of(odd_ones(&before, cpu) - odd_ones(&after, left), devices);
}

/* ---- what is the same for all nodes ---- */

static void ask_itself(struct sl_scorer *scorer)
{
    const struct sl_ask *ask = scorer->ask;
    for (unsigned i = 0; i < ask->n; i++) {
        scorer->own[i] = (struct sl_typical){.key = ask->item[i].key,
                                             .count = ask->item[i].count,
                                             .cpu_milli = i == 0 ? ask->cpu_milli : 0,
                                             .weight = 1,
                                             .kind = ask->item[i].kind};
    }
    scorer->typical = scorer->own;
    scorer->n_typical = ask->n;
}

void sl_idle_init(struct sl_scorer *scorer)
{
    const struct sl_demand *demand = scorer->demand;
    scorer->n_idle = 0;
    scorer->n_keys = 0;
    if (demand != NULL && demand->n_typical > 0) {
        scorer->typical = demand->typical;
        scorer->n_typical = demand->n_typical;
    } else {
        ask_itself(scorer);
    }
    for (unsigned i = 0; i < scorer->n_typical; i++) {
        unsigned k = 0;
        while (k < scorer->n_keys && scorer->asked[k].key != scorer->typical[i].key) {
            k++;
        }
        if (k == SL_SCORER_KEYS) {
            continue;
        }
        if (k == scorer->n_keys) {
            scorer->asked[k].key = scorer->typical[i].key;
            scorer->asked[k].rows = 0;
            scorer->n_keys++;
        }
        scorer->asked[k].rows |= UINT64_C(1) << i;
    }
}
