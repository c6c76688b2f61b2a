/* Random small clusters: which pods start, against a brute force over all geometries. */
#include "unit/core/cut/cut_brute.h"

#include "sliced/constraint.h"

enum { CASES = 900 };

struct brute {
    struct brute_node node[GPUS_MAX];
    uint8_t need[GPUS_MAX][UNITS];
    unsigned n_nodes;
    uint8_t ask[8][GPUS_MAX][UNITS]; /* by pod and node; all 0: the node never can */
    unsigned n_pods;
    size_t max_plans;   /* nodes that may be cut */
    int cpus[GPUS_MAX]; /* of each node: every pod needs one; -1: nobody counts */
    int pods[GPUS_MAX]; /* that it is given */
    unsigned best;      /* the first pod is the highest bit */
};

/* May the node be cut, beside those that give something already? */
static bool may_open(const struct brute *brute, unsigned node)
{
    static const uint8_t none[UNITS] = {0};
    size_t open = 0;
    for (unsigned i = 0; i < brute->n_nodes; i++) {
        open += i == node || memcmp(brute->need[i], none, UNITS) != 0;
    }
    return open <= brute->max_plans;
}

static void search(struct brute *brute, unsigned pod, unsigned served)
{
    unsigned left = brute->n_pods - pod;
    if ((served << left | ((1u << left) - 1)) <= brute->best) {
        return;
    }
    if (left == 0) {
        brute->best = served;
        return;
    }
    static const uint8_t none[UNITS] = {0};
    for (unsigned i = 0; i < brute->n_nodes; i++) {
        const uint8_t *ask = brute->ask[pod][i];
        if (memcmp(ask, none, UNITS) == 0 || !may_open(brute, i) ||
            brute->pods[i] == brute->cpus[i]) {
            continue;
        }
        brute->pods[i]++;
        for (unsigned u = 0; u < UNITS; u++) {
            brute->need[i][u] = (uint8_t)(brute->need[i][u] + ask[u]);
        }
        if (can_give(&brute->node[i], brute->need[i])) {
            search(brute, pod + 1, served << 1 | 1);
        }
        for (unsigned u = 0; u < UNITS; u++) {
            brute->need[i][u] = (uint8_t)(brute->need[i][u] - ask[u]);
        }
        brute->pods[i]--;
    }
    search(brute, pod + 1, served << 1);
}

/* ---- a random case ---- */

static void add_node(struct cut_rig *rig, struct brute *brute, unsigned n_gpus)
{
    struct drawn_node drawn;
    struct brute_node *node = &brute->node[brute->n_nodes];
    size_t i = random_node(rig, &drawn, n_gpus);
    *node = (struct brute_node){.model = drawn.model,
                                .mig_mode = !drawn.nos && rig->input.limits.mig_mode};
    if (drawn.nos) {
        describe_nos(node, drawn.gpu, n_gpus);
    } else {
        describe_managed(node, drawn.gpu, n_gpus, drawn.used);
    }
    brute->cpus[brute->n_nodes] = pick(3) > 0 ? -1 : 1 + (int)pick(3);
    if (brute->cpus[brute->n_nodes] >= 0) {
        rig->node[i].node->host.cpu_milli = (int64_t)brute->cpus[brute->n_nodes] * 1000;
    }
    brute->n_nodes++;
}

static struct sl_constraints one_cpu = {.cpu_milli = 1000, .digest = 1};

/* A pod for one or two profiles of a model, or for whole GPUs. */
static void random_pod(struct cut_rig *rig, struct brute *brute)
{
    char asks[256] = "gpu=1";
    const struct sl_mig_model *model = brute->node[pick(brute->n_nodes)].model;
    unsigned items = pick(8) == 0 ? 0 : pick(4) == 0 ? 2 : 1;
    unsigned profile[2] = {0};
    unsigned count[2] = {0};
    size_t len = 0;
    for (unsigned k = 0; k < items; k++) {
        profile[k] = pick(model->n_profiles);
        if (k > 0 && profile[k] == profile[0]) {
            items = 1;
            break;
        }
        count[k] = 1 + pick(3) / 2 + pick(9) / 8;
        char one[128];
        ask_text(one, sizeof(one), &model->profiles[profile[k]], count[k]);
        len += (size_t)snprintf(asks + len, sizeof(asks) - len, "%s%s", len > 0 ? " " : "", one);
    }
    struct sl_cut_pod *pod = rig_wait(rig, asks, NULL);
    bool soon = pick(12) == 0;
    pod->start_us = soon ? rig_now + 60 * rig_second : 0; /* as soon as by a cut */
    rig->waiting[rig->n_pods - 1]->constraints = &one_cpu;
    struct sl_ask ask;
    sl_pod_ask(pod->pod, &ask);
    for (unsigned i = 0; i < brute->n_nodes; i++) {
        uint8_t *units = brute->ask[brute->n_pods][i];
        const struct sl_mig_model *theirs = brute->node[i].model;
        memset(units, 0, UNITS);
        if (items == 0) {
            units[WHOLE] = 1;
        }
        for (unsigned k = 0; k < items; k++) {
            for (unsigned p = 0; p < theirs->n_profiles; p++) {
                if (strcmp(theirs->profiles[p].resource, model->profiles[profile[k]].resource) ==
                    0) {
                    units[p] = (uint8_t)count[k];
                }
            }
        }
        unsigned kinds = 0;
        for (unsigned u = 0; u < UNITS; u++) {
            kinds += units[u] > 0;
        }
        if (soon || kinds != (items == 0 ? 1 : items)) {
            memset(units, 0, UNITS);
        }
    }
    brute->n_pods++;
}

static void forget_pod(struct cut_rig *rig)
{
    rig->n_pods--;
    rig->waiting[rig->n_pods]->constraints = NULL;
    sl_pod_unref(rig->waiting[rig->n_pods]);
}

static void random_case(struct cut_rig *rig, struct brute *brute)
{
    while (rig->n_pods > 0) {
        forget_pod(rig);
    }
    rig_clear(rig);
    *brute = (struct brute){0};
    rig->input.limits.mig_mode = pick(3) == 0;
    rig->input.max_plans = pick(3) == 0 ? 1 : RIG_PLANS;
    brute->max_plans = rig->input.max_plans;
    unsigned gpus = 1 + pick(GPUS_MAX);
    while (gpus > 0) {
        unsigned n = 1 + pick(gpus);
        add_node(rig, brute, n);
        gpus -= n;
    }
    unsigned pods = 1 + pick(6);
    for (unsigned tries = 0; tries < 30 && brute->n_pods < pods; tries++) {
        random_pod(rig, brute);
        if (fits_now(rig, rig->waiting[rig->n_pods - 1])) {
            brute->n_pods--;
            forget_pod(rig);
        }
    }
}

static unsigned ones(unsigned mask)
{
    return (unsigned)__builtin_popcount(mask);
}

static unsigned served_of(const struct cut_rig *rig)
{
    unsigned mask = 0;
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        for (size_t k = 0; k < plan->n_pods; k++) {
            mask |= 1u << (rig->n_pods - 1 - plan->pod[k]);
        }
    }
    return mask;
}

/* What the agents rely on, judged without the planner's own eyes. */
static void check_in_use(const struct cut_rig *rig)
{
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        const struct sl_view *view = rig->view[plan->view];
        const struct sl_node *node = view->node;
        for (unsigned c = 0; c < plan->n_cuts; c++) {
            const struct sl_cut *cut = &plan->cut[c];
            for (unsigned k = 0; k < node->n_instances; k++) {
                const struct sl_instance *instance = &node->instance[k];
                if (instance->device != cut->device) {
                    continue;
                }
                if (node->partition.actuator == SL_ACTUATOR_MIG_MANAGER) {
                    assert_int_equal(view->pool_used[instance->pool], 0);
                    continue;
                }
                bool there = !instance->in_use;
                for (unsigned x = 0; x < cut->n; x++) {
                    there = there ||
                            (cut->instance[x].start == (unsigned)instance->start &&
                             &node->model->profiles[cut->instance[x].profile] == instance->profile);
                }
                assert_true(there);
            }
        }
    }
}

/* Remembers the plans as ones that failed. */
static void fail_plans(struct cut_rig *rig)
{
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        struct sl_cut_site *site = &rig->site[rig->output.plan[i].view];
        site->failed[3] = site->failed[2];
        site->failed[2] = rig->output.plan[i].digest;
    }
}

static void check_not_failed(const struct cut_rig *rig)
{
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        for (unsigned k = 0; k < 4; k++) {
            assert_int_not_equal(rig->site[plan->view].failed[k], plan->digest);
        }
    }
}

/* Nodes that the plan does not cut may as well be out: they leave no trace in it. */
static void check_left_alone(struct cut_rig *rig)
{
    static char told[sizeof(rig->text)];
    (void)snprintf(told, sizeof(told), "%s", rig_told(rig));
    for (size_t i = 0; i < rig->n_nodes; i++) {
        rig->site[i].out = true;
    }
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        rig->site[rig->output.plan[i].view].out = false;
    }
    assert_string_equal(rig_told(rig), told);
    for (size_t i = 0; i < rig->n_nodes; i++) {
        rig->site[i].out = false;
    }
}

/* The planner goes from node to node: where their CPU matters, it may miss the best. */
TEST_THAT_WITH(serves_as_many_as_any_geometry_could, set_up, tear_down)
{
    struct cut_rig *rig = *state;
    struct brute brute;
    unsigned planned = 0;
    unsigned best = 0;
    unsigned same = 0;
    unsigned cuts = 0;
    for (unsigned i = 0; i < CASES; i++) {
        seed = i + 1;
        random_case(rig, &brute);
        search(&brute, 0, 0);
        check_left_alone(rig);
        check_in_use(rig);
        unsigned served = served_of(rig);
        fail_plans(rig);
        check_left_alone(rig);
        check_in_use(rig);
        check_not_failed(rig);
        assert_true(served_of(rig) <= served);
        if (served > brute.best) {
            fail_msg("seed %u: served %x, though the best is %x", i + 1, served, brute.best);
        }
        planned += ones(served);
        best += ones(brute.best);
        same += served == brute.best;
        cuts += (unsigned)rig->output.n_plans;
    }
    print_message("%u pods served of %u (%.4f); the best in %u of %u cases; %u plans\n", planned,
                  best, (double)planned / best, same, CASES, cuts);
    assert_true(cuts > CASES / 8); /* after others have failed there */
    assert_int_equal(planned, best);
    assert_true(same >= CASES - 2);
}

/* Does each pod of the plans wait for one unit? One that waits for two, of which one is free beside
 * the GPUs that are cut, is not counted on these. */
static bool are_for_one_unit(const struct cut_rig *rig)
{
    bool one = true;
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        for (size_t k = 0; k < rig->output.plan[i].n_pods; k++) {
            const struct sl_pod *pod = rig->pod[rig->output.plan[i].pod[k]].pod;
            one = one && pod->n_items == 1 && pod->items[0].count == 1;
        }
    }
    return one;
}

/* A pod comes for a unit, or two, of those that cuts under way make, or for anything. */
static void wait_for_made(struct cut_rig *rig, struct brute *brute)
{
    char ask[128];
    size_t i = pick((unsigned)rig->n_nodes);
    const struct sl_cut_site *site = &rig->site[i];
    const struct sl_cut *cut =
        site->n_making > 0 ? &site->making[pick((unsigned)site->n_making)] : NULL;
    if (cut == NULL || cut->n == 0) {
        brute->n_pods = 0; /* the brute force is not asked any more */
        random_pod(rig, brute);
        return;
    }
    const struct sl_mig_model *model = brute->node[i].model;
    ask_text(ask, sizeof(ask), &model->profiles[cut->instance[pick(cut->n)].profile],
             1 + pick(4) / 3);
    (void)rig_wait(rig, ask, NULL);
    rig->waiting[rig->n_pods - 1]->constraints = &one_cpu;
}

/* Lets the plans be under way: their pods are to start there, and other pods come. */
static void begin_plans(struct cut_rig *rig, struct brute *brute, struct sl_cut *cuts)
{
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        struct sl_cut_site *site = &rig->site[plan->view];
        memcpy(cuts, plan->cut, plan->n_cuts * sizeof(*cuts));
        site->out = true;
        site->making = cuts;
        site->n_making = plan->n_cuts;
        site->made_us = rig_now + 20 * rig_second;
        rig->node[plan->view].node->partition.cut = "sliced-0-1";
        rig_view(rig, plan->view);
        cuts += plan->n_cuts;
        for (size_t k = 0; k < plan->n_pods; k++) {
            rig->pod[plan->pod[k]].has_room = true;
            rig->pod[plan->pod[k]].made = plan->view + 1;
        }
    }
    for (unsigned n = 1 + pick(5); n > 0; n--) {
        wait_for_made(rig, brute);
    }
}

/* Is there a node whose cut under way makes that for one more pod? */
static bool is_made(const struct cut_rig *rig, const struct brute *brute, const struct sl_pod *pod)
{
    for (size_t i = 0; i < rig->n_nodes; i++) {
        const struct sl_cut_plan *plan = NULL;
        for (size_t k = 0; k < rig->output.n_plans; k++) {
            plan = rig->output.plan[k].view == i ? &rig->output.plan[k] : plan;
        }
        if (rig->site[i].n_making > 0 && brute->cpus[i] < 0 &&
            rig->view[i]->node->partition.actuator == SL_ACTUATOR_MIG_MANAGER &&
            rig_left(rig, i, plan, &pod->items[0], rig->n_pods, true) >= pod->items[0].count) {
            return true;
        }
    }
    return false;
}

TEST_THAT_WITH(what_cuts_under_way_make_is_given_once_and_to_all_whom_it_serves, set_up, tear_down)
{
    struct cut_rig *rig = *state;
    static struct sl_cut cuts[GPUS_MAX];
    struct brute brute;
    unsigned waits = 0;
    for (unsigned i = 0; i < CASES; i++) {
        seed = i + 1;
        random_case(rig, &brute);
        rig_plan(rig);
        if (!are_for_one_unit(rig)) {
            continue;
        }
        begin_plans(rig, &brute, cuts);
        rig_plan(rig);
        unsigned served = served_of(rig);
        for (size_t k = 0; k < rig->n_pods; k++) {
            const struct sl_cut_pod *pod = &rig->pod[k];
            bool later = pod->start_us > 0 || pod->pod->n_items > 1;
            if (!pod->has_room && !later && (served >> (rig->n_pods - 1 - k) & 1) == 0) {
                assert_false(is_made(rig, &brute, pod->pod));
            }
        }
        for (size_t k = 0; k < rig->output.n_plans; k++) {
            waits += rig->output.plan[k].n_cuts == 0;
        }
    }
    assert_true(waits > CASES / 10);
}
