/* Scores nodes for an ask that fits there: in integers only, so that every machine finds the same
 * score. */
#include "sliced/score.h"

#include "core/node/pool.h"
#include "core/place/choose.h"
#include "core/score/contention.h"
#include "core/score/idle.h"

/* One whole device, in the unit of losses: slices of 4, 8 and 12 divide it. */
enum { DEVICE = 24000 };

const char *sl_term_name(enum sl_term term)
{
    static const char *const names[SL_TERM_COUNT] = {
#define TERM(term, name, ...) #name,
        SL_TERMS(TERM, )
#undef TERM
    };
    return names[term];
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

/* Returns the weight of all rows that name a profile or an item's own resource. */
static int64_t demand_weight(const struct sl_demand *demand, const struct sl_ask *ask)
{
    int64_t sum = 0;
    for (unsigned i = 0; demand != NULL && i < demand->n; i++) {
        const struct sl_demand_row *row = &demand->row[i];
        sum += sl_kinds[row->kind].instance || row_of_item(row, ask) ? row->weight : 0;
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

/* Returns the weights of the model's profiles, kept because most nodes in a row have the same
 * model. */
static const int64_t *weights_of_model(struct sl_scorer *scorer, const struct sl_mig_model *model)
{
    if (scorer->model != model) {
        scorer->model = model;
        for (unsigned i = 0; i < model->n_profiles; i++) {
            scorer->profile_weight[i] =
                scorer->weight > 0 ? sl_demand_weight(scorer->demand, &model->profiles[i]) : 1;
        }
    }
    return scorer->profile_weight;
}

/* Returns the number of profiles, which weigh the same without demand. */
static int64_t profiles_of(const struct sl_node *node)
{
    int64_t n = node->model == NULL ? 0 : node->model->n_profiles;
    for (unsigned i = 0; node->model == NULL && i < node->n_pools; i++) {
        n += sl_kinds[node->pool[i].kind].instance;
    }
    return n > 0 ? n : 1;
}

/* ---- losses ---- */

/* Returns 100 less the weighted mean of losses, rounded half up. */
static int32_t left_of(int64_t sum, int64_t weight)
{
    int64_t all = (weight > 0 ? weight : 1) * DEVICE;
    return (int32_t)((200 * (all - sl_least(sum, all)) + all) / (2 * all));
}

/* Returns the share of a device that an instance of the pool, or a slice, has; all of it where that
 * is unknown. */
static int64_t size_of_unit(const struct sl_node *node, const struct sl_pool *pool)
{
    if (pool->slices && node->n_devices > 0) {
        return share(pool->memory_mib, node->device[0].memory_mib, DEVICE);
    }
    return pool->profile == NULL || node->model == NULL
               ? DEVICE
               : DEVICE / node->model->memory_slices * pool->profile->memory;
}

/* Counts free instances: the ask takes them from their own profile only. */
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
        int64_t size = size_of_unit(node, p);
        int64_t units = sl_least(ask->item[i].count, (int64_t)DEVICE * p->replicas);
        int64_t lost = sl_least(units * size / p->replicas, DEVICE);
        sum += lost * (scorer->weight > 0 ? scorer->item_weight[i] : 1);
    }
    return left_of(sum, scorer->weight > 0 ? scorer->weight : profiles_of(node));
}

/* Counts legal placements: every profile may lose some. */
static int32_t left_of_room(struct sl_scorer *scorer, const struct sl_node *node,
                            const uint8_t lost[SL_MIG_PROFILES_MAX])
{
    const struct sl_mig_model *model = node->model;
    const int64_t *weight = weights_of_model(scorer, model);
    int64_t slice = DEVICE / model->memory_slices;
    int64_t sum = 0;
    for (unsigned i = 0; i < model->n_profiles; i++) {
        sum += sl_least(lost[i] * slice * model->profiles[i].memory, DEVICE) * weight[i];
    }
    return left_of(sum, scorer->weight > 0 ? scorer->weight : model->n_profiles);
}

/* As left_of_room() for parts just placed, over their devices. */
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

/* Returns the share of a device that the units make up, when only counts are known. */
static int64_t loss_of_count(const struct sl_node *node, const struct sl_pool *pool, int64_t count)
{
    unsigned devices = node->n_devices > 0 ? node->n_devices : 1;
    bool memory = sl_kinds[pool->kind].memory;
    return share(count, memory ? pool->capacity / devices : pool->replicas, DEVICE);
}

/* Counts the unused devices which the assignment takes into use, whole or in pieces. */
static int32_t left_of_devices(const struct sl_view *view, const struct sl_assignment *assignment,
                               const int *pool)
{
    int64_t loss = 0;
    for (unsigned i = 0; i < assignment->n && loss < DEVICE; i++) {
        const struct sl_assignment_part *part = &assignment->part[i];
        unsigned p = (unsigned)pool[part->item];
        if (part->device >= 0) {
            bool begins = part->instance < 0 && sl_device_untouched(&view->device[part->device]);
            loss += begins ? DEVICE : 0;
        } else if (!sl_pool_on_instances(view->node, p)) {
            loss += loss_of_count(view->node, &view->node->pool[p], part->amount);
        }
    }
    return left_of(loss, 1);
}

/* Finds the availability for an ask of one item without a search; false when it needs one. */
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
    if (sl_kinds[node->pool[p].kind].whole) {
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
        *out = sl_device_untouched(&view->device[room->next_device]) ? 0 : 100;
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

/* Without any weight all terms weigh the same. */
static int32_t total_of(const struct sl_score *score, const int32_t *weight, bool alike)
{
    int64_t sum = 0;
    int64_t weights = 0;
    for (unsigned i = 0; i < SL_TERM_COUNT; i++) {
        int64_t own = score->term[i] == SL_SCORE_UNKNOWN ? 0 : alike ? 1 : weight[i];
        sum += own * score->term[i];
        weights += own;
    }
    return weights == 0 ? 50 : (int32_t)((2 * sum + weights) / (2 * weights));
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
    enum sl_kind kind = ask->n == 0 ? SL_KIND_WHOLE : ask->item[0].kind;
    for (unsigned i = 1; i < ask->n; i++) {
        kind = sl_kinds[ask->item[i].kind].rank < sl_kinds[kind].rank ? ask->item[i].kind : kind;
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
    memset(scorer->memo, 0, sizeof(scorer->memo));
    scorer->weight = demand_weight(demand, ask);
    for (unsigned i = 0; i < ask->n; i++) {
        scorer->item_weight[i] = weight_of_key(demand, ask->item[i].key);
    }
    scorer->all_terms = !any_weight(scorer->term_weight);
    sl_idle_init(scorer);
}

static bool wants(const struct sl_scorer *scorer, enum sl_term term)
{
    return scorer->all_terms || scorer->term_weight[term] != 0;
}

/* Returns the least GPU memory that the ask states, in percent of the memory that it would be given
 * on the node, rounded half up; -1 when it states none, does not fit, or memory is unknown. */
static int32_t memory_share_needed(const struct sl_view *view, const struct sl_ask *ask)
{
    struct sl_assignment given;
    int64_t needed = 0;
    int64_t all = 0;
    bool says = false;
    for (unsigned i = 0; i < ask->n; i++) {
        says = says || ask->item[i].least_mib > 0;
    }
    if (!says || !sl_choose(view, ask, &given, NULL)) {
        return -1;
    }
    for (unsigned i = 0; i < given.n; i++) {
        const struct sl_assignment_part *part = &given.part[i];
        const struct sl_ask_item *item = &ask->item[part->item];
        int pool = sl_view_pool(view, item->key);
        int64_t mib = sl_node_unit_mib(view->node, (unsigned)pool, part->device, part->instance);
        int64_t most = INT64_MAX / 200 / SL_ASSIGNMENT_MAX / part->amount;
        if (item->least_mib > 0 && mib < most) {
            needed += item->least_mib * part->amount;
            all += mib * part->amount;
        }
    }
    return all > 0 ? (int32_t)((200 * needed + all) / (2 * all)) : -1;
}

/* Keeps a pod that states the least GPU memory which it accepts off larger GPUs and instances: half
 * of each term then shows how much more it would be given. */
static void mind_memory(const struct sl_view *view, const struct sl_ask *ask, struct sl_score *out)
{
    static const enum sl_term costs[] = {SL_TERM_AVAILABILITY, SL_TERM_FRAGMENTATION};
    int32_t needed = memory_share_needed(view, ask);
    for (unsigned i = 0; needed >= 0 && i < sizeof(costs) / sizeof(costs[0]); i++) {
        out->term[costs[i]] = (out->term[costs[i]] + needed + 1) / 2;
    }
}

/* Scores an ask that fits, but for the contention. */
static void score_fitting(struct sl_scorer *scorer, const struct sl_view *view,
                          struct sl_score *out)
{
    const struct sl_ask *ask = scorer->ask;
    int pool[SL_ASK_ITEMS_MAX];
    bool idle = wants(scorer, SL_TERM_FRAGMENTATION) || wants(scorer, SL_TERM_WHOLE);
    for (unsigned i = 0; i < ask->n; i++) {
        pool[i] = sl_view_pool(view, ask->item[i].key);
    }
    *out = (struct sl_score){.term = {[SL_TERM_CONTENTION] = SL_SCORE_UNKNOWN}};
    if (ask->n > 0) {
        out->term[SL_TERM_PACKING] = packing_of(view, ask, pool);
        out->term[SL_TERM_SPREADING] = 100 - out->term[SL_TERM_PACKING];
    }
    /* on instances, fragmentation is availability */
    bool instances = idle && ask->n > 0 && (view->idle.pools >> pool[0] & 1) == 0;
    if (ask->n > 0 && (wants(scorer, SL_TERM_AVAILABILITY) || instances)) {
        out->term[SL_TERM_AVAILABILITY] = availability_of(scorer, view, pool);
    }
    if (idle) {
        sl_idle_terms(scorer, view, pool, out);
    }
    mind_memory(view, ask, out);
    out->total = total_of(out, scorer->term_weight, !any_weight(scorer->term_weight));
}

/* Mixes the view's digest with the free CPU, if that matters. */
static uint64_t memo_key(const struct sl_scorer *scorer, const struct sl_view *view)
{
    uint64_t key = view->digest;
    if (wants(scorer, SL_TERM_FRAGMENTATION) || wants(scorer, SL_TERM_WHOLE)) {
        uint64_t cpu = (uint64_t)sl_idle_cpu(view) * UINT64_C(0x9e3779b97f4a7c15);
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
    if (view->measured != NULL && wants(scorer, SL_TERM_CONTENTION)) {
        out->term[SL_TERM_CONTENTION] = sl_contention_of(view, scorer->ask);
        out->total = total_of(out, scorer->term_weight, !any_weight(scorer->term_weight));
    }
    return true;
}

void sl_score(const struct sl_view *view, const struct sl_ask *ask, const struct sl_demand *demand,
              const struct sl_score_config *config, struct sl_score *out)
{
    struct sl_scorer scorer;
    sl_scorer_init(&scorer, ask, demand, config);
    scorer.all_terms = true;
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
