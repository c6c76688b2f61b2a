/* The terms fragmentation and whole: how a placement changes the idle GPUs. */
#include <string.h>

#include "core/place/choose.h"
#include "core/score/idle.h"
#include "util/data/sat.h"

/* A change of HALF_WAY 64000ths of a device for each device asked moves a term half way. */
enum { HALF_WAY = 25600, DEVICE_WASTE = 64000 };

/* Larger sums of GPUs without CPU come only from nodes with absurd figures. */
#define STARVED_MAX ((int64_t)DEVICE_WASTE << 24)

/* A node's idle GPUs, as sums over its devices. */
struct rest {
    const struct sl_idle *idle; /* of its devices; of the first when they differ */
    int64_t waste;
    int64_t need; /* milli CPU that the users of the idle GPUs will want */
    int64_t whole;
};

/* The idle part of one device. */
struct gap {
    const struct sl_idle *idle;
    int32_t steps;
    bool whole;
};

int64_t sl_idle_cpu(const struct sl_view *view)
{
    int64_t all = view->idle.cpu_milli;
    return all < 0 ? -1 : sl_at_least_zero(all - view->cpu_milli);
}

/* ---- what the node offers ---- */

/* Returns the typical asks which the node offers, as bits. */
static uint64_t offered(const struct sl_scorer *scorer, const struct sl_view *view)
{
    uint64_t rows = 0;
    for (unsigned i = 0; i < view->n_pools; i++) {
        for (unsigned k = 0; (view->idle.pools >> i & 1) != 0 && k < scorer->n_keys; k++) {
            rows |= scorer->asked[k].key == view->room[i].key ? scorer->asked[k].rows : 0;
        }
    }
    return rows;
}

/* The offer that all devices of a view share. */
struct offer {
    uint64_t rows;
    int32_t replicas; /* of a device; 0: none */
    bool whole;       /* the node offers whole GPUs */
    bool memory;
};

static struct offer offer_of(const struct sl_scorer *scorer, const struct sl_view *view)
{
    struct offer offer = {.rows = offered(scorer, view),
                          .replicas = view->idle.replicas,
                          .whole = view->idle.whole >= 0};
    for (unsigned i = 0; i < view->n_pools; i++) {
        offer.memory = offer.memory || sl_kinds[view->node->pool[i].kind].memory;
    }
    return offer;
}

/* ---- gaps ---- */

static struct gap gap_of(struct sl_scorer *scorer, const struct offer *offer,
                         const struct sl_device *device, const struct sl_device_use *use)
{
    int64_t units = offer->memory ? device->memory_units : 0;
    struct gap gap = {.idle = sl_idle_table(scorer, offer->rows, units, offer->replicas)};
    gap.steps = sl_idle_gap(device, use, units, offer->replicas);
    gap.whole = offer->whole && gap.steps == gap.idle->steps;
    return gap;
}

static void add_gap(struct rest *rest, const struct gap *gap, int64_t times)
{
    rest->idle = rest->idle == NULL ? gap->idle : rest->idle;
    rest->waste += times * gap->idle->waste[gap->steps];
    rest->need += times * gap->idle->need[gap->steps];
    rest->whole += gap->whole ? times : 0;
}

/* Adds n devices of which only the number is known. */
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

static void change_device(struct sl_scorer *scorer, const struct offer *offer,
                          const struct sl_view *view, unsigned i, struct sl_device_use use,
                          struct rest *rest)
{
    struct gap was = gap_of(scorer, offer, &view->node->device[i], &view->device[i]);
    struct gap is = gap_of(scorer, offer, &view->node->device[i], &use);
    add_gap(rest, &was, -1);
    add_gap(rest, &is, 1);
}

static void change_by_search(struct sl_scorer *scorer, const struct offer *offer,
                             const struct sl_view *view, struct rest *rest)
{
    struct sl_scratch after;
    struct sl_assignment assignment;
    unsigned failed = 0;
    uint64_t done = 0;
    sl_scratch_init(&after, view);
    if (!sl_scratch_choose(&after, scorer->ask->item, scorer->ask->n, false, &assignment,
                           &failed)) {
        return;
    }
    for (unsigned i = 0; i < assignment.n; i++) {
        int device = assignment.part[i].device;
        if (device >= 0 && (done >> device & 1) == 0) {
            done |= UINT64_C(1) << device;
            change_device(scorer, offer, view, (unsigned)device, after.device[device], rest);
        }
    }
}

/* ---- the terms ---- */

/* Returns the idle GPUs whose CPU will be gone: none while the CPU exceeds the mean need of their
 * users by two fifths, the whole lack when it falls short by two fifths, smoothly between. */
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
        lacking = sl_sat_mul(margin - spare, margin - spare) / (4 * margin);
    }
    return sl_least(sl_sat_mul(lacking, DEVICE_WASTE) / rest->idle->cpu, STARVED_MAX);
}

/* Returns the whole GPUs beyond a multiple of the number that asks of several take at once. */
static int64_t odd_ones(const struct rest *rest, int64_t cpu)
{
    int64_t sum = 0;
    for (unsigned g = 0; rest->idle != NULL && g < rest->idle->n_groups; g++) {
        int64_t count = rest->idle->group[g].count;
        int64_t times = rest->whole / count;
        if (cpu >= 0 && rest->idle->group[g].cpu > 0) {
            times = sl_least(times, cpu / rest->idle->group[g].cpu);
        }
        sum += (rest->whole - times * count) * rest->idle->group[g].share;
    }
    return sum * (DEVICE_WASTE >> 8) >> 8;
}

static int32_t term_of(int64_t gain, int64_t devices)
{
    int64_t scale = (gain < 0 ? -gain : gain) + HALF_WAY * devices;
    return (int32_t)((200 * (scale + gain) / scale + 2) / 4);
}

/* Returns the devices' worth that the ask takes, rounded up. */
static int64_t devices_of(const struct sl_ask *ask, const struct sl_view *view, const int *pool)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < ask->n; i++) {
        sum += pool[i] == view->idle.whole ? sl_least(ask->item[i].count, SL_NODE_DEVICES_MAX) : 1;
    }
    return sum > 0 ? sum : 1;
}

static bool all_on_instances(const struct sl_ask *ask, const struct sl_view *view, const int *pool)
{
    bool all = ask->n > 0;
    for (unsigned i = 0; i < ask->n; i++) {
        all = all && (view->idle.pools >> pool[i] & 1) == 0;
    }
    return all;
}

/* ---- the usual case: devices of one size, an ask of one item ---- */

static void sum_gaps(const struct sl_idle *idle, const struct sl_view *view, struct rest *rest)
{
    int32_t full = view->idle.whole >= 0 ? idle->steps : INT32_MAX;
    for (unsigned i = 0; i < view->idle.n_devices; i++) {
        rest->waste += idle->waste[view->gap[i]];
        rest->need += idle->need[view->gap[i]];
        rest->whole += view->gap[i] == full;
    }
}

/* Takes a share of memory from the smallest gap that suffices. */
static bool take_share(const struct sl_idle *idle, const struct sl_view *view, int32_t size,
                       struct rest *rest)
{
    int32_t best = INT32_MAX;
    for (unsigned i = 0; i < view->idle.n_devices; i++) {
        best = view->gap[i] >= size && view->gap[i] < best ? view->gap[i] : best;
    }
    if (best == INT32_MAX) {
        return false;
    }
    rest->waste += idle->waste[best - size] - idle->waste[best];
    rest->need += idle->need[best - size] - idle->need[best];
    rest->whole -= view->idle.whole >= 0 && best == idle->steps ? 1 : 0;
    return true;
}

static void take_whole(const struct sl_idle *idle, int64_t count, struct rest *rest)
{
    rest->waste -= count * idle->waste[idle->steps];
    rest->need -= count * idle->need[idle->steps];
    rest->whole -= count;
}

/* Measures the usual case; false in any other. */
static bool look_at_gaps(struct sl_scorer *scorer, const struct sl_view *view, const int *pool,
                         struct rest *before, struct rest *after)
{
    const struct sl_ask *ask = scorer->ask;
    const struct sl_view_idle *idle = &view->idle;
    if (idle->steps == 0 || ask->n > 1) {
        return false;
    }
    const struct sl_idle *table =
        sl_idle_table(scorer, offered(scorer, view), idle->units, idle->replicas);
    before->idle = table;
    sum_gaps(table, view, before);
    *after = *before;
    if (ask->n == 0) {
        return true;
    }
    if (pool[0] == idle->whole && before->whole >= ask->item[0].count) {
        take_whole(table, ask->item[0].count, after);
        return true;
    }
    if (sl_kinds[ask->item[0].kind].memory) {
        struct sl_typical own = {.count = ask->item[0].count, .kind = ask->item[0].kind};
        int32_t size = sl_idle_size(table, &own);
        return size > 0 && take_share(table, view, size, after);
    }
    return false;
}

/* ---- any case ---- */

static void look_at_devices(struct sl_scorer *scorer, const struct sl_view *view, const int *pool,
                            struct rest *before, struct rest *after)
{
    struct offer offer = offer_of(scorer, view);
    int whole = view->idle.whole;
    bool uncounted = whole >= 0 && !view->node->pool[whole].on_devices;
    if (uncounted) {
        add_uncounted(scorer, &offer, view->room[whole].free, before);
    } else {
        *before = rest_of(scorer, &offer, view->node, view->device);
    }
    *after = *before;
    if (uncounted && scorer->ask->n == 1 && pool[0] == whole) {
        add_uncounted(scorer, &offer, -scorer->ask->item[0].count, after);
    } else {
        change_by_search(scorer, &offer, view, after);
    }
}

void sl_idle_terms(struct sl_scorer *scorer, const struct sl_view *view, const int *pool,
                   struct sl_score *out)
{
    const struct sl_ask *ask = scorer->ask;
    struct rest before = {0};
    struct rest after = {0};
    out->term[SL_TERM_WHOLE] = 50;
    if (all_on_instances(ask, view, pool)) {
        out->term[SL_TERM_FRAGMENTATION] = out->term[SL_TERM_AVAILABILITY];
        return;
    }
    if (!look_at_gaps(scorer, view, pool, &before, &after)) {
        look_at_devices(scorer, view, pool, &before, &after);
    }
    int64_t cpu = sl_idle_cpu(view);
    int64_t left = cpu < 0 ? cpu : cpu - sl_least(ask->cpu_milli, cpu);
    int64_t devices = devices_of(ask, view, pool);
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
