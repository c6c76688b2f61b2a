/* One pod for one unit that nothing free gives: which GPU is cut for it and into what, against a
 * brute force over all GPUs. Of those that can have the unit it is the GPU where least goes that is
 * free; then the one with the fewest memory slices left; then the first; of nodes so too. What is
 * free there stays as far as it fits, the largest first; demand fills the rest, with the pod's own
 * profile first where the mig-manager cuts. */
#include "unit/core/cut/cut_brute.h"

enum { CASES = 1500, NODES_MAX = 4, WANTED = 4 /* what is in demand weighs more */ };

struct best {
    size_t node;
    unsigned device;
    int lost;
    int device_left;
    int node_left;
    uint8_t counts[SL_MIG_PROFILES_MAX]; /* with those in use */
};

/* What the pod asks for, and demand: of a profile, by its name on any model. */
struct asked {
    const char *resource; /* NULL: a whole GPU */
    struct sl_demand demand;
};

static unsigned unit_on(const struct asked *asked, const struct sl_mig_model *model)
{
    unsigned p = 0;
    while (asked->resource != NULL && p < model->n_profiles &&
           strcmp(model->profiles[p].resource, asked->resource) != 0) {
        p++;
    }
    return asked->resource == NULL ? WHOLE : p < model->n_profiles ? p : UNITS;
}

static int weight_of(const struct asked *asked, const struct sl_mig_profile *profile)
{
    int sum = 0;
    for (unsigned i = 0; i < asked->demand.n; i++) {
        const struct sl_demand_row *row = &asked->demand.row[i];
        sum += row->shape.compute == profile->compute &&
                       row->shape.memory_gb == profile->memory_gb &&
                       row->shape.attributes == profile->attributes
                   ? row->weight
                   : 0;
    }
    return sum;
}

static int size_of(const struct sl_mig_model *model, const uint8_t *counts)
{
    int sum = 0;
    for (unsigned p = 0; p < model->n_profiles; p++) {
        sum += counts[p] * model->profiles[p].memory;
    }
    return sum;
}

/* Returns the largest profile of which the GPU has more free ones than that, and room for one more;
 * -1: none. */
static int next_kept(struct stays *stays, const uint8_t *counts)
{
    int best = -1;
    for (unsigned p = 0; p < stays->model->n_profiles; p++) {
        uint8_t more[UNITS];
        memcpy(more, counts, UNITS);
        more[p]++;
        if (counts[p] < stays->free[p] && fits_wherever(stays, more) &&
            (best < 0 || stays->model->profiles[p].memory >= stays->model->profiles[best].memory)) {
            best = (int)p;
        }
    }
    return best;
}

/* Free instances of the model's profile on all nodes. */
static int64_t free_of(const struct cut_rig *rig, const struct sl_mig_profile *profile)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rig->n_nodes; i++) {
        for (unsigned p = 0; p < rig->view[i]->n_pools; p++) {
            bool same = rig->view[i]->node->pool[p].profile == profile;
            sum += same ? rig->view[i]->room[p].free : 0;
        }
    }
    return sum;
}

/* Returns the profile with the most demand for each that the GPU would have or that is free
 * elsewhere, the larger of two with as much; -1: none has room. own: only the pod's. */
static int next_filled(const struct cut_rig *rig, struct stays *stays, const struct asked *asked,
                       bool plain, bool own, const uint8_t *counts)
{
    int best = -1;
    double most = 0;
    for (unsigned p = 0; p < stays->model->n_profiles; p++) {
        uint8_t more[UNITS];
        int weight = weight_of(asked, &stays->model->profiles[p]);
        weight = weight == 0 && p == unit_on(asked, stays->model) ? 1 : weight;
        weight = own && p != unit_on(asked, stays->model) ? 0 : weight;
        int64_t elsewhere = free_of(rig, &stays->model->profiles[p]) - stays->free[p];
        elsewhere = elsewhere > 0 ? elsewhere : 0;
        double each = (double)weight / (double)(counts[p] + 1 + elsewhere);
        memcpy(more, counts, UNITS);
        more[p]++;
        if (weight > 0 && each >= most && !(plain && stays->model->profiles[p].attributes != 0) &&
            fits_wherever(stays, more)) {
            best = (int)p;
            most = each;
        }
    }
    return best;
}

static struct stays stays_of(const struct drawn_node *node, unsigned d)
{
    struct stays stays = {.model = node->model};
    const struct gpu *gpu = &node->gpu[d];
    for (unsigned p = 0; p < SL_MIG_PROFILES_MAX; p++) {
        stays.stay[p] = gpu->used[p];
        stays.free[p] = (uint8_t)(gpu->counts[p] - gpu->used[p]);
    }
    return stays;
}

static bool may_change(const struct cut_rig *rig, const struct drawn_node *node, unsigned d)
{
    return node->nos || (is_idle(&node->gpu[d], node->used) &&
                         (!node->gpu[d].whole || rig->input.limits.mig_mode));
}

static bool can_have(const struct cut_rig *rig, const struct drawn_node *node, unsigned d,
                     const struct asked *asked)
{
    struct stays stays = stays_of(node, d);
    uint8_t one[UNITS] = {0};
    unsigned unit = unit_on(asked, node->model);
    if (unit >= WHOLE) {
        return unit == WHOLE && !node->nos && rig->input.limits.mig_mode;
    }
    one[unit] = 1;
    return !(node->nos && node->model->profiles[unit].attributes != 0) &&
           fits_wherever(&stays, one);
}

/* Cuts the GPU for the unit: sets what it holds then, and what is lost. */
static void cut_gpu(const struct cut_rig *rig, const struct drawn_node *node, unsigned d,
                    const struct asked *asked, struct best *out)
{
    struct stays stays = stays_of(node, d);
    uint8_t counts[UNITS] = {0};
    bool whole = asked->resource == NULL;
    counts[unit_on(asked, node->model)] = 1;
    out->lost = node->gpu[d].whole ? node->model->memory_slices : 0;
    for (int p = whole ? -1 : next_kept(&stays, counts); p >= 0; p = next_kept(&stays, counts)) {
        counts[p]++;
    }
    for (unsigned p = 0; p < node->model->n_profiles; p++) {
        int gone = stays.free[p] > counts[p] ? stays.free[p] - counts[p] : 0;
        const struct sl_mig_profile *profile = &node->model->profiles[p];
        out->lost += gone * profile->memory * (weight_of(asked, profile) > 0 ? WANTED : 1);
    }
    for (int own = node->nos ? 0 : 1; own >= 0 && !whole; own--) {
        for (int p = next_filled(rig, &stays, asked, node->nos, own == 1, counts); p >= 0;
             p = next_filled(rig, &stays, asked, node->nos, own == 1, counts)) {
            counts[p]++;
        }
    }
    for (unsigned p = 0; p < SL_MIG_PROFILES_MAX; p++) {
        out->counts[p] = (uint8_t)(counts[p] + stays.stay[p]);
    }
}

static bool goes_before(const struct best *a, const struct best *b)
{
    if (a->lost != b->lost) {
        return a->lost < b->lost;
    }
    if (a->node != b->node) {
        return a->node_left != b->node_left ? a->node_left < b->node_left : a->node < b->node;
    }
    return a->device_left != b->device_left ? a->device_left < b->device_left
                                            : a->device < b->device;
}

/* Finds the best GPU for the pod; false: none can have the unit. */
static bool find_best(const struct cut_rig *rig, const struct drawn_node *node,
                      const struct asked *asked, struct best *out)
{
    bool found = false;
    for (size_t i = 0; i < rig->n_nodes; i++) {
        int left = 0;
        for (unsigned d = 0; d < node[i].n; d++) {
            left += may_change(rig, &node[i], d)
                        ? node[i].model->memory_slices - size_of(node[i].model, node[i].gpu[d].used)
                        : 0;
        }
        for (unsigned d = 0; d < node[i].n; d++) {
            if (!may_change(rig, &node[i], d) || !can_have(rig, &node[i], d, asked)) {
                continue;
            }
            struct best one = {.node = i, .device = d, .node_left = left};
            one.device_left =
                node[i].model->memory_slices - size_of(node[i].model, node[i].gpu[d].used);
            cut_gpu(rig, &node[i], d, asked, &one);
            if (!found || goes_before(&one, out)) {
                *out = one;
                found = true;
            }
        }
    }
    return found;
}

/* The pod's model is one of the nodes', and so are the profiles in demand. */
static void random_case(struct cut_rig *rig, struct drawn_node *node, struct asked *asked)
{
    char asks[128] = "gpu=1";
    rig_clear(rig);
    *asked = (struct asked){.resource = NULL};
    rig->input.limits.mig_mode = pick(2) == 0;
    for (unsigned n = 1 + pick(NODES_MAX), i = 0; i < n; i++) {
        (void)random_node(rig, &node[i], 1 + pick(GPUS_MAX));
    }
    const struct sl_mig_model *model = node[pick((unsigned)rig->n_nodes)].model;
    if (pick(6) > 0) {
        const struct sl_mig_profile *profile = &model->profiles[pick(model->n_profiles)];
        asked->resource = profile->resource;
        ask_text(asks, sizeof(asks), profile, 1);
    }
    for (unsigned n = pick(4), i = 0; i < n; i++) {
        const struct sl_mig_profile *profile = &model->profiles[pick(model->n_profiles)];
        asked->demand.row[asked->demand.n++] = (struct sl_demand_row){
            .kind = SL_KIND_MIG,
            .weight = 1 + (int)pick(9),
            .shape = {profile->compute, profile->memory_gb, profile->attributes}};
    }
    rig->input.demand = &asked->demand;
    (void)rig_wait(rig, asks, NULL);
}

static void check_cut(const struct cut_rig *rig, const struct drawn_node *node,
                      const struct asked *asked, const struct best *best)
{
    const struct sl_cut_plan *plan = &rig->output.plan[0];
    uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
    assert_int_equal(rig->output.n_plans, 1);
    assert_int_equal(plan->view, best->node);
    assert_int_equal(plan->n_cuts, 1);
    assert_int_equal(plan->cut[0].device, best->device);
    assert_int_equal(plan->cut[0].whole, asked->resource == NULL);
    for (unsigned k = 0; k < plan->cut[0].n; k++) {
        counts[plan->cut[0].instance[k].profile]++;
    }
    if (asked->resource != NULL && memcmp(counts, best->counts, sizeof(counts)) != 0) {
        fail_msg("of %s", node[best->node].model->name);
    }
}

TEST_THAT_WITH(the_gpu_is_cut_that_loses_least_and_keeps_what_fits, set_up, tear_down)
{
    struct cut_rig *rig = *state;
    unsigned cuts = 0;
    for (unsigned i = 0; i < CASES; i++) {
        struct drawn_node node[NODES_MAX];
        static struct asked asked;
        struct best best;
        seed = i + 1;
        random_case(rig, node, &asked);
        if (fits_now(rig, rig->waiting[0])) {
            continue;
        }
        rig_plan(rig);
        if (find_best(rig, node, &asked, &best)) {
            check_cut(rig, node, &asked, &best);
            cuts++;
        } else {
            assert_int_equal(rig->output.n_plans, 0);
        }
    }
    assert_true(cuts > CASES / 4);
}
