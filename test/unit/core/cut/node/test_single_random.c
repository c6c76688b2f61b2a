/* Random nodes with strategy single against a brute force over what all GPUs of a node could be cut
 * into: one profile, as many of it as fit, in which every pod that is served has memory enough; a
 * pod that states no memory wants whole boards. */
#include "unit/core/cut/cut_brute.h"

#include "core/place/choose.h"

enum { CASES = 600, NODES_MAX = 2, PODS_MAX = 5 };

struct single_node {
    const struct sl_mig_model *model;
    unsigned n;
    bool out;
};

struct wish {
    unsigned gpus;
    unsigned gib; /* 0: a board */
};

static unsigned most_of(const struct sl_mig_model *model, unsigned p)
{
    static const struct sl_mig_layout empty = {0};
    uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
    do {
        counts[p]++;
    } while (any_way(model, empty, counts, 0, yes, NULL));
    return counts[p] - 1u;
}

/* Returns the smallest profile that suffices for the pods in the mask; n_profiles: none. */
static unsigned profile_for(const struct single_node *node, const struct wish *wish, unsigned n,
                            unsigned pods)
{
    unsigned p = 0;
    for (bool good = false; !good && p < node->model->n_profiles; p += !good) {
        const struct sl_mig_profile *profile = &node->model->profiles[p];
        bool board = profile->compute == node->model->compute_slices;
        int64_t mib = sl_mig_profile_mib(profile);
        unsigned gpus = 0;
        good = profile->attributes == 0;
        for (unsigned k = 0; k < n; k++) {
            bool here = (pods >> (n - 1 - k) & 1) != 0;
            gpus += here ? wish[k].gpus : 0;
            good =
                good && (!here || (wish[k].gib == 0 ? board : (int64_t)wish[k].gib * 1024 <= mib));
        }
        good = good && gpus <= most_of(node->model, p) * node->n;
    }
    return p;
}

/* The most pods, in order, that nodes from that one on can serve beside those served. */
static unsigned best_from(const struct single_node *node, unsigned n_nodes, unsigned i,
                          const struct wish *wish, unsigned n, unsigned served)
{
    unsigned best = served;
    for (unsigned pods = 0; i < n_nodes && pods < 1u << n; pods++) {
        bool can = pods == 0 || (!node[i].out &&
                                 profile_for(&node[i], wish, n, pods) < node[i].model->n_profiles);
        if (can && (pods & served) == 0) {
            unsigned all = best_from(node, n_nodes, i + 1, wish, n, served | pods);
            best = all > best ? all : best;
        }
    }
    return best;
}

/* Checks the plans, and returns which pods they serve, the first pod as the highest bit. */
static unsigned served_of(const struct cut_rig *rig, const struct single_node *node,
                          const struct wish *wish)
{
    unsigned n = (unsigned)rig->n_pods;
    unsigned served = 0;
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        unsigned pods = 0;
        for (size_t k = 0; k < plan->n_pods; k++) {
            pods |= 1u << (n - 1 - plan->pod[k]);
        }
        unsigned p = profile_for(&node[plan->view], wish, n, pods);
        assert_int_equal(plan->n_cuts, node[plan->view].n);
        for (unsigned d = 0; d < plan->n_cuts; d++) {
            assert_int_equal(plan->cut[d].n, most_of(node[plan->view].model, p));
            for (unsigned k = 0; k < plan->cut[d].n; k++) {
                assert_int_equal(plan->cut[d].instance[k].profile, p);
            }
        }
        served |= pods;
    }
    return served;
}

static void draw_case(struct cut_rig *rig, struct single_node *node, struct wish *wish)
{
    rig_clear(rig);
    rig->input.limits.mig_mode = pick(2) == 0;
    for (unsigned n = 1 + pick(NODES_MAX), i = 0; i < n; i++) {
        const char *product = products[pick(sizeof(products) / sizeof(products[0]))];
        const char *now = rig->input.limits.mig_mode && pick(2) == 0 ? NULL : "";
        const char *const gpu[] = {now, now, now};
        node[i] = (struct single_node){.model = sl_mig_model_find(sl_str_of(product), 0),
                                       .n = 1 + pick(3)};
        (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, product, "nvidia.com/mig.strategy=single",
                       node[i].n, gpu);
    }
    for (unsigned n = 1 + pick(PODS_MAX), k = 0; k < n; k++) {
        char asks[32];
        char memory[64];
        wish[k] = (struct wish){1 + pick(4) + (pick(4) == 0 ? pick(8) : 0),
                                pick(4) == 0 ? 0 : 1 + pick(pick(2) == 0 ? 24 : 96)};
        (void)snprintf(asks, sizeof(asks), "gpu=%u", wish[k].gpus);
        (void)snprintf(memory, sizeof(memory), "sliced.dev/min-gpu-memory=%uGi", wish[k].gib);
        (void)rig_wait(rig, asks, wish[k].gib > 0 ? memory : NULL);
    }
}

/* One node serves as many as it can, in order; and so does the other, when the first must be left
 * out because its cut has failed. Of two the planner looks at one after the other. */
TEST_THAT_WITH(one_profile_for_all_gpus_serves_as_many_as_any_could, set_up, tear_down)
{
    struct cut_rig *rig = *state;
    unsigned same = 0;
    unsigned some = 0;
    for (unsigned c = 0; c < CASES; c++) {
        struct single_node node[NODES_MAX];
        struct wish wish[PODS_MAX];
        seed = c + 1;
        draw_case(rig, node, wish);
        unsigned n = (unsigned)rig->n_pods;
        rig_plan(rig);
        unsigned served = served_of(rig, node, wish);
        unsigned best = best_from(node, (unsigned)rig->n_nodes, 0, wish, n, 0);
        assert_true(served == best || rig->n_nodes > 1);
        same += served == best;
        if (rig->output.n_plans > 0) {
            const struct sl_cut_plan *plan = &rig->output.plan[0];
            rig->site[plan->view].failed[pick(4)] = plan->digest;
            node[plan->view].out = true;
            rig_plan(rig);
            assert_true(rig->output.n_plans == 0 || !node[rig->output.plan[0].view].out);
            assert_int_equal(served_of(rig, node, wish),
                             best_from(node, (unsigned)rig->n_nodes, 0, wish, n, 0));
            some++;
        }
    }
    assert_true(some > CASES / 2);
    assert_true(same * 100 >= CASES * 97);
}
