/* How good a node is for an ask that fits there: integers only, so that every program and machine
 * says the same. */
#include "sliced/score.h"

#include "core/choose.h"
#include "core/idle.h"

/* One whole device, in the unit of losses: slices of 4, 8 and 12 divide it. */
enum { DEVICE = 24000 };

static const struct {
    const char *name;
    const char *help;
} terms[SL_TERM_COUNT] = {
    [SL_TERM_AVAILABILITY] =
        {"availability", "What the placement leaves of the MIG profiles in demand and of whole "
                         "GPUs: 100 when nothing is lost."},
    [SL_TERM_PACKING] = {"packing", "How full the node is after the placement: fills nodes up."},
    [SL_TERM_SPREADING] = {"spreading", "How empty the node stays: spreads work over nodes."},
    [SL_TERM_FRAGMENTATION] = {"fragmentation",
                               "What of the node's idle GPUs others will be able to use, by the "
                               "asks that are typical: above 50 when it becomes more."},
    [SL_TERM_WHOLE] = {"whole", "Whole GPUs that stay together in the numbers that others ask for "
                                "at once: above 50 when it becomes more."},
};

const char *sl_term_name(enum sl_term term)
{
    return terms[term].name;
}

const char *sl_term_help(enum sl_term term)
{
    return terms[term].help;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* scale * part / whole rounded down, at most scale; exact while whole < 2^40, and never overflows.
 */
static int64_t share(int64_t part, int64_t whole, int64_t scale)
{
    if (part >= whole) {
        return scale;
    }
    while (whole >= INT64_C(1) << 40) {
        whole >>= 1;
        part >>= 1;
    }
    return part * scale / whole;
}

/* ---- weights of demand ---- */

static bool row_of_item(const struct sl_demand_row *row, const struct sl_ask *ask)
{
    for (unsigned i = 0; i < ask->n; i++) {
        if (ask->item[i].key == row->key) {
            return true;
        }
    }
    return false;
}

/* Weight of all rows that name a profile, or that compete with the ask for its own resource. */
static int64_t demand_weight(const struct sl_demand *demand, const struct sl_ask *ask)
{
    int64_t sum = 0;
    for (unsigned i = 0; demand != NULL && i < demand->n; i++) {
        const struct sl_demand_row *row = &demand->row[i];
        sum += row->kind == SL_KIND_MIG || row_of_item(row, ask) ? row->weight : 0;
    }
    return sum;
}

static int64_t weight_of_key(const struct sl_demand *demand, uint64_t key)
{
    int64_t sum = 0;
    for (unsigned i = 0; demand != NULL && i < demand->n; i++) {
        sum += demand->row[i].key == key ? demand->row[i].weight : 0;
    }
    return sum;
}

static int64_t weight_of_profile(const struct sl_demand *demand,
                                 const struct sl_mig_profile *profile)
{
    int64_t sum = 0;
    for (unsigned i = 0; demand != NULL && i < demand->n; i++) {
        const struct sl_demand_row *row = &demand->row[i];
        bool same = row->kind == SL_KIND_MIG && row->shape.compute == profile->compute &&
                    row->shape.memory_gb == profile->memory_gb &&
                    row->shape.attributes == profile->attributes;
        sum += same ? row->weight : 0;
    }
    return sum;
}

/* Weights of the model's profiles; nodes that follow each other mostly have the same. */
static const int64_t *weights_of_model(struct sl_scorer *scorer, const struct sl_mig_model *model)
{
    if (scorer->model != model) {
        scorer->model = model;
        for (unsigned i = 0; i < model->n_profiles; i++) {
            scorer->profile_weight[i] =
                scorer->weight > 0 ? weight_of_profile(scorer->demand, &model->profiles[i]) : 1;
        }
    }
    return scorer->profile_weight;
}

/* How many profiles weigh the same where there is no demand. */
static int64_t profiles_of(const struct sl_node *node)
{
    int64_t n = node->model == NULL ? 0 : node->model->n_profiles;
    for (unsigned i = 0; node->model == NULL && i < node->n_pools; i++) {
        n += node->pool[i].kind == SL_KIND_MIG;
    }
    return n > 0 ? n : 1;
}

/* ---- losses ---- */

/* What 100 leaves of a weighted sum of losses, rounded half up. */
static int32_t left_of(int64_t sum, int64_t weight)
{
    int64_t all = (weight > 0 ? weight : 1) * DEVICE;
    return (int32_t)((200 * (all - least(sum, all)) + all) / (2 * all));
}

/* Free instances: those that the ask takes are lost to their own profile. */
static int32_t left_of_free(const struct sl_scorer *scorer, const struct sl_node *node,
                            const int *pool)
{
    const struct sl_ask *ask = scorer->ask;
    int64_t sum = 0;
    for (unsigned i = 0; i < ask->n; i++) {
        const struct sl_pool *p = &node->pool[pool[i]];
        if (!sl_pool_on_instances(node, (unsigned)pool[i])) {
            continue;
        }
        int64_t size = p->profile == NULL || node->model == NULL
                           ? DEVICE
                           : DEVICE / node->model->memory_slices * p->profile->memory;
        int64_t units = least(ask->item[i].count, (int64_t)DEVICE * p->replicas);
        int64_t lost = least(units * size / (p->replicas > 0 ? p->replicas : 1), DEVICE);
        sum += lost * (scorer->weight > 0 ? scorer->item_weight[i] : 1);
    }
    return left_of(sum, scorer->weight > 0 ? scorer->weight : profiles_of(node));
}

/* Legal placements: every profile may lose. */
static int32_t left_of_room(struct sl_scorer *scorer, const struct sl_node *node,
                            const uint8_t lost[SL_MIG_PROFILES_MAX])
{
    const struct sl_mig_model *model = node->model;
    const int64_t *weight = weights_of_model(scorer, model);
    int64_t slice = DEVICE / model->memory_slices;
    int64_t sum = 0;
    for (unsigned i = 0; i < model->n_profiles; i++) {
        sum += least(lost[i] * slice * model->profiles[i].memory, DEVICE) * weight[i];
    }
    return left_of(sum, scorer->weight > 0 ? scorer->weight : model->n_profiles);
}

/* The same for parts just placed, over the devices that they are on. */
static int32_t left_of_parts(struct sl_scorer *scorer, const struct sl_view *view,
                             const struct sl_scratch *after, const struct sl_assignment *assignment)
{
    const int64_t *weight = weights_of_model(scorer, view->node->model);
    uint8_t lost[SL_MIG_PROFILES_MAX] = {0};
    uint64_t done = 0;
    unsigned wanted = 0;
    for (unsigned i = 0; i < view->node->model->n_profiles; i++) {
        wanted |= (weight[i] > 0 ? 1U : 0U) << i;
    }
    for (unsigned i = 0; i < assignment->n; i++) {
        const struct sl_assignment_part *part = &assignment->part[i];
        uint64_t bit = part->instance < 0 ? 0 : UINT64_C(1) << part->device;
        if ((done & bit) == 0 && bit != 0) {
            done |= bit;
            sl_lost_room(view->node, view->instance_used, after->instance_used,
                         (unsigned)part->device, wanted, lost);
        }
    }
    return left_of_room(scorer, view->node, lost);
}

static bool untouched(const struct sl_device_use *use)
{
    return !use->whole && use->replicas == 0 && use->memory_units == 0 && use->instances == 0;
}

/* Where only counts are known: the share of a device that the units are. */
static int64_t loss_of_count(const struct sl_node *node, const struct sl_pool *pool, int64_t count)
{
    switch (pool->kind) {
    case SL_KIND_REPLICA:
        return share(count, pool->replicas, DEVICE);
    case SL_KIND_MEMORY:
        return share(count, pool->capacity / (node->n_devices > 0 ? node->n_devices : 1), DEVICE);
    case SL_KIND_WHOLE:
    case SL_KIND_MIG:
        break;
    }
    return DEVICE;
}

/* Devices that nobody used and that the parts on whole GPUs or pieces of them begin. */
static int32_t left_of_devices(const struct sl_view *view, const struct sl_assignment *assignment,
                               const int *pool)
{
    int64_t loss = 0;
    for (unsigned i = 0; i < assignment->n && loss < DEVICE; i++) {
        const struct sl_assignment_part *part = &assignment->part[i];
        unsigned p = (unsigned)pool[part->item];
        if (part->device >= 0) {
            bool begins = part->instance < 0 && untouched(&view->device[part->device]);
            loss += begins ? DEVICE : 0;
        } else if (!sl_pool_on_instances(view->node, p)) {
            loss += loss_of_count(view->node, &view->node->pool[p], part->amount);
        }
    }
    return left_of(loss, 1);
}

/* An ask of one item that needs no search; false when it does. */
static bool plain_availability(struct sl_scorer *scorer, const struct sl_view *view,
                               const int *pool, int32_t *out)
{
    const struct sl_ask *ask = scorer->ask;
    const struct sl_node *node = view->node;
    unsigned p = (unsigned)pool[0];
    const struct sl_pool_room *room = &view->room[p];
    bool single = ask->item[0].count == 1 && room->next_device >= 0;
    if (ask->n > 1) {
        return false;
    }
    if (node->pool[p].kind == SL_KIND_WHOLE) {
        *out = 0;
        return true;
    }
    if (sl_pool_on_instances(node, p)) {
        bool remade = sl_pool_is_remade(node, p);
        if (remade && !single) {
            return false;
        }
        *out = remade ? left_of_room(scorer, node, room->lost) : left_of_free(scorer, node, pool);
        return true;
    }
    if (single) {
        *out = untouched(&view->device[room->next_device]) ? 0 : 100;
    }
    return single;
}

static int32_t search_availability(struct sl_scorer *scorer, const struct sl_view *view,
                                   const int *pool)
{
    const struct sl_ask *ask = scorer->ask;
    struct sl_scratch after;
    struct sl_assignment assignment;
    unsigned failed = 0;
    bool remade = false;
    sl_scratch_init(&after, view);
    if (!sl_scratch_choose(&after, ask->item, ask->n, false, &assignment, &failed)) {
        return 0;
    }
    for (unsigned i = 0; i < ask->n; i++) {
        remade = remade || (sl_pool_on_instances(view->node, (unsigned)pool[i]) &&
                            sl_pool_is_remade(view->node, (unsigned)pool[i]));
    }
    int32_t whole = left_of_devices(view, &assignment, pool);
    int32_t split = remade ? left_of_parts(scorer, view, &after, &assignment)
                           : left_of_free(scorer, view->node, pool);
    return whole < split ? whole : split;
}

static int32_t availability_of(struct sl_scorer *scorer, const struct sl_view *view,
                               const int *pool)
{
    int32_t plain = 0;
    return plain_availability(scorer, view, pool, &plain) ? plain
                                                          : search_availability(scorer, view, pool);
}

/* ---- terms ---- */

static int32_t packing_of(const struct sl_view *view, const struct sl_ask *ask, const int *pool)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < ask->n; i++) {
        int64_t used = view->pool_used[pool[i]] + ask->item[i].count;
        sum += share(used, view->room[pool[i]].capacity, 100);
    }
    return (int32_t)(sum / ask->n);
}

static int32_t total_of(const struct sl_score *score, const int32_t *weight)
{
    int64_t sum = 0;
    int64_t weights = 0;
    for (unsigned i = 0; i < SL_TERM_COUNT; i++) {
        sum += (int64_t)weight[i] * score->term[i];
        weights += weight[i];
    }
    if (weights == 0) {
        weights = SL_TERM_COUNT;
        for (unsigned i = 0; i < SL_TERM_COUNT; i++) {
            sum += score->term[i];
        }
    }
    return (int32_t)((2 * sum + weights) / (2 * weights));
}

static bool any_weight(const int32_t *weight)
{
    for (unsigned i = 0; i < SL_TERM_COUNT; i++) {
        if (weight[i] != 0) {
            return true;
        }
    }
    return false;
}

const int32_t *sl_score_weights(const struct sl_score_config *config, const struct sl_ask *ask)
{
    static const uint8_t rank[] = {
        [SL_KIND_MEMORY] = 0, [SL_KIND_WHOLE] = 1, [SL_KIND_REPLICA] = 2, [SL_KIND_MIG] = 3};
    enum sl_kind kind = ask->n == 0 ? SL_KIND_WHOLE : ask->item[0].kind;
    for (unsigned i = 1; i < ask->n; i++) {
        kind = rank[ask->item[i].kind] < rank[kind] ? ask->item[i].kind : kind;
    }
    const int32_t *own = config->by_kind[kind];
    return any_weight(own) ? own : config->weight;
}

void sl_scorer_init(struct sl_scorer *scorer, const struct sl_ask *ask,
                    const struct sl_demand *demand, const struct sl_score_config *config)
{
    scorer->ask = ask;
    scorer->demand = demand;
    scorer->term_weight = sl_score_weights(config, ask);
    scorer->model = NULL;
    memset(scorer->memo, 0, sizeof scorer->memo);
    scorer->weight = demand_weight(demand, ask);
    for (unsigned i = 0; i < ask->n; i++) {
        scorer->item_weight[i] = weight_of_key(demand, ask->item[i].key);
    }
    scorer->wanted = any_weight(scorer->term_weight) ? 0 : ~0U;
    for (unsigned i = 0; i < SL_TERM_COUNT; i++) {
        scorer->wanted |= scorer->term_weight[i] != 0 ? 1U << i : 0;
    }
    sl_idle_init(scorer);
}

static bool wants(const struct sl_scorer *scorer, enum sl_term term)
{
    return (scorer->wanted >> term & 1) != 0;
}

/* A pod that says the least GPU memory that it accepts leaves larger GPUs and instances to others:
 * half of what the placement costs them is then how much it is given beyond that. */
static void mind_memory(const struct sl_view *view, const struct sl_ask *ask, struct sl_score *out)
{
    static const enum sl_term costs[] = {SL_TERM_AVAILABILITY, SL_TERM_FRAGMENTATION};
    int32_t needed = sl_memory_share_needed(view, ask);
    for (unsigned i = 0; needed >= 0 && i < sizeof(costs) / sizeof(costs[0]); i++) {
        out->term[costs[i]] = (out->term[costs[i]] + needed + 1) / 2;
    }
}

/* The ask fits. */
static void score_fitting(struct sl_scorer *scorer, const struct sl_view *view,
                          struct sl_score *out)
{
    const struct sl_ask *ask = scorer->ask;
    int pool[SL_ASK_ITEMS_MAX];
    bool idle = wants(scorer, SL_TERM_FRAGMENTATION) || wants(scorer, SL_TERM_WHOLE);
    for (unsigned i = 0; i < ask->n; i++) {
        pool[i] = sl_view_pool(view, ask->item[i].key);
    }
    *out = (struct sl_score){0};
    if (ask->n > 0) {
        out->term[SL_TERM_PACKING] = packing_of(view, ask, pool);
        out->term[SL_TERM_SPREADING] = 100 - out->term[SL_TERM_PACKING];
    }
    /* fragmentation on instances is availability */
    bool instances = idle && ask->n > 0 && (view->idle.pools >> pool[0] & 1) == 0;
    if (ask->n > 0 && (wants(scorer, SL_TERM_AVAILABILITY) || instances)) {
        out->term[SL_TERM_AVAILABILITY] = availability_of(scorer, view, pool);
    }
    if (idle) {
        sl_idle_terms(scorer, view, pool, out);
    }
    mind_memory(view, ask, out);
    out->total = total_of(out, scorer->term_weight);
}

/* The digest and, where it matters, the CPU that is free. */
static uint64_t memo_key(const struct sl_scorer *scorer, const struct sl_view *view)
{
    uint64_t key = view->digest;
    if (wants(scorer, SL_TERM_FRAGMENTATION) || wants(scorer, SL_TERM_WHOLE)) {
        uint64_t cpu = (uint64_t)(sl_idle_cpu(view) + 1) * UINT64_C(0x9e3779b97f4a7c15);
        key ^= cpu ^ cpu >> 29;
    }
    return key == 0 ? 1 : key;
}

bool sl_scorer_score(struct sl_scorer *scorer, const struct sl_view *view, struct sl_score *out)
{
    bool fits = sl_fit(view, scorer->ask, NULL);
    if (!fits || (scorer->ask->n == 0 && scorer->ask->cpu_milli == 0)) {
        *out = (struct sl_score){0};
        return fits;
    }
    uint64_t key = memo_key(scorer, view);
    size_t slot = key % SL_SCORER_MEMO;
    if (scorer->memo[slot].digest != key) {
        score_fitting(scorer, view, &scorer->memo[slot].score);
        scorer->memo[slot].digest = key;
    }
    *out = scorer->memo[slot].score;
    return true;
}

void sl_score(const struct sl_view *view, const struct sl_ask *ask, const struct sl_demand *demand,
              const struct sl_score_config *config, struct sl_score *out)
{
    struct sl_scorer scorer;
    sl_scorer_init(&scorer, ask, demand, config);
    scorer.wanted = ~0U;
    (void)sl_scorer_score(&scorer, view, out);
}

void sl_score_wire(const int32_t *totals, const uint32_t *rank, size_t n, uint8_t *out)
{
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = (uint8_t)(totals[i] * 9 / 100);
        bool better =
            totals[i] > totals[best] || (totals[i] == totals[best] && rank[i] < rank[best]);
        best = better ? i : best;
    }
    if (n > 0) {
        out[best] = 10;
    }
}
