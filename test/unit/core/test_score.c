/* Scores: each term by example, availability on repartitioned nodes against a count of all legal
 * placements, and the wire's scale. */
#include "rig.h"

#include "sliced/score.h"

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define MIG1   "nvidia.com/mig-1g.6gb"
#define MIG2   "nvidia.com/mig-2g.12gb"
#define MIG4   "nvidia.com/mig-4g.24gb"

static const struct sl_score_config only_availability = {.weight = {1, 0, 0}};

static void add_demand(struct sl_demand *demand, const char *resource, int32_t weight)
{
    struct sl_ask_item item = rig_item(resource, 1);
    demand->row[demand->n] = (struct sl_demand_row){
        .key = item.key, .kind = item.kind, .shape = item.shape, .weight = weight};
    demand->n++;
}

static struct sl_score score(struct rig *rig, const struct sl_ask *ask,
                             const struct sl_demand *demand)
{
    struct sl_score out;
    sl_score(rig_view(rig), ask, demand, &only_availability, &out);
    assert_int_equal(out.total, out.term[SL_TERM_AVAILABILITY]);
    return out;
}

static int32_t availability(struct rig *rig, const struct sl_ask *ask,
                            const struct sl_demand *demand)
{
    return score(rig, ask, demand).term[SL_TERM_AVAILABILITY];
}

/* A30s cut into four, one device offering "1g.6gb" only. */
static struct rig *a30(unsigned devices, bool dynamic)
{
    struct rig *rig = rig_new();
    const struct sl_mig_model *model = rig_model("A30-24GB");
    rig->node.model = model;
    rig->node.dynamic_mig = dynamic;
    rig_pool(rig, MIG1, SL_KIND_MIG, 4 * (int64_t)devices);
    rig->pool[0].profile = rig_profile(model, "1g.6gb");
    for (unsigned d = 0; d < devices; d++) {
        rig_device(rig, 0);
        rig->device[d].model = model;
        for (int start = 0; start < 4; start++) {
            rig_instance(rig, d, start, 0);
        }
    }
    return rig;
}

/* ---- availability ---- */

static void free_instance_is_lost_to_its_own_profile(void **state)
{
    (void)state;
    struct rig *rig = a30(2, false);
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_ask two = rig_ask(MIG1, 2);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG1, 1);
    add_demand(&demand, MIG2, 1);
    /* a quarter of a device, at half the weight */
    assert_int_equal(availability(rig, &one, &demand), 88);
    assert_int_equal(availability(rig, &two, &demand), 75);
    rig_free(rig);
}

static void demand_for_something_else_loses_nothing_on_a_static_node(void **state)
{
    (void)state;
    struct rig *rig = a30(2, false);
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG2, 5);
    assert_int_equal(availability(rig, &one, &demand), 100);
    rig_free(rig);
}

static void without_demand_every_profile_of_the_model_weighs_the_same(void **state)
{
    (void)state;
    struct rig *rig = a30(1, false);
    struct sl_ask four = rig_ask(MIG1, 4);
    struct sl_demand other = {0};
    add_demand(&other, GPU, 9); /* names no profile */
    int n = rig->node.model->n_profiles;
    int expected = (200 * (n - 1) + n) / (2 * n);
    assert_int_equal(availability(rig, &four, NULL), expected);
    assert_int_equal(availability(rig, &four, &other), expected);
    rig_free(rig);
}

static void instance_of_unknown_profile_counts_as_a_device(void **state)
{
    (void)state;
    struct rig *rig = a30(1, false);
    rig->node.model = NULL;
    rig->pool[0].profile = NULL;
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG1, 1);
    add_demand(&demand, MIG2, 3);
    assert_int_equal(availability(rig, &one, &demand), 75);
    rig_free(rig);
}

static void replica_of_an_instance_is_its_share(void **state)
{
    (void)state;
    struct rig *rig = a30(1, false);
    rig->pool[0].kind = SL_KIND_REPLICA;
    rig->pool[0].replicas = 5;
    rig->pool[0].capacity = 20;
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG1, 1);
    assert_int_equal(availability(rig, &one, &demand), 95);
    rig_free(rig);
}

static void
touched_device_is_better_than_an_untouched_one_where_gpus_are_repartitioned(void **state)
{
    (void)state;
    struct rig *fresh = a30(1, true);
    struct rig *begun = a30(1, true);
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG4, 1);
    rig_run(begun, &one, NULL);
    assert_int_equal(availability(fresh, &one, &demand), 0);
    assert_int_equal(availability(begun, &one, &demand), 100);
    rig_free(fresh);
    rig_free(begun);
}

/* The most instances of the profile beside those in use, by trying every set of starts. */
static int most_beside(const struct sl_mig_model *model, const struct sl_mig_profile *profile,
                       unsigned memory, int compute)
{
    int most = 0;
    for (unsigned set = 0; set < 1u << model->memory_slices; set++) {
        unsigned taken = memory;
        int n = 0;
        bool legal = true;
        for (unsigned s = 0; legal && s < model->memory_slices; s++) {
            if ((set >> s & 1) == 0) {
                continue;
            }
            unsigned span = ((1u << profile->memory) - 1) << s;
            legal = (profile->starts >> s & 1) != 0 && (taken & span) == 0;
            taken |= span;
            n++;
        }
        if (legal && n > most && n <= profile->max_count &&
            compute + n * profile->compute <= model->compute_slices) {
            most = n;
        }
    }
    return most;
}

static int provides(const struct rig *rig, const bool *used, const struct sl_mig_profile *profile)
{
    int sum = 0;
    for (unsigned d = 0; d < rig->node.n_devices; d++) {
        unsigned memory = 0;
        int compute = 0;
        for (unsigned i = 0; i < rig->node.n_instances; i++) {
            const struct sl_instance *instance = &rig->instance[i];
            if (used[i] && instance->device == d) {
                memory |= ((1u << instance->profile->memory) - 1) << instance->start;
                compute += instance->profile->compute;
            }
        }
        sum += most_beside(rig->node.model, profile, memory, compute);
    }
    return sum;
}

struct base {
    const char *model;
    const char *profile[3];
};

/* Two devices, each with a layout of the base profiles made by chance. */
static struct rig *random_partition(uint64_t *seed, const struct base *base)
{
    struct rig *rig = rig_new();
    const struct sl_mig_model *model = rig_model(base->model);
    rig->node.model = model;
    rig->node.dynamic_mig = true;
    for (unsigned p = 0; p < 3; p++) {
        const struct sl_mig_profile *profile = rig_profile(model, base->profile[p]);
        rig_pool(rig, profile->resource, SL_KIND_MIG, 0);
        rig->pool[p].profile = profile;
    }
    for (unsigned d = 0; d < 2; d++) {
        struct sl_mig_layout layout = {0};
        rig_device(rig, 0);
        rig->device[d].model = model;
        for (unsigned start = 0; start < model->memory_slices; start++) {
            unsigned p = rig_random(seed, 3);
            unsigned index = (unsigned)(rig->pool[p].profile - model->profiles);
            struct sl_mig_placement at = {(uint8_t)index, (uint8_t)start};
            if (rig_random(seed, 3) > 0 && sl_mig_can_place(model, &layout, at)) {
                sl_mig_place(model, &layout, at);
                rig_instance(rig, d, (int)start, p);
                rig->pool[p].capacity++;
            }
        }
    }
    return rig;
}

static int expected_availability(const struct rig *rig, const struct sl_ask *ask,
                                 const struct sl_demand *demand)
{
    struct sl_assignment assignment;
    bool used[16];
    int before[3];
    int64_t sum = 0;
    int64_t weights = 0;
    for (unsigned i = 0; i < rig->node.n_instances; i++) {
        used[i] = rig->view->instance_used[i] > 0;
    }
    for (unsigned p = 0; p < 3; p++) {
        before[p] = provides(rig, used, rig->pool[p].profile);
    }
    assert_true(sl_choose(rig->view, ask, &assignment, NULL));
    for (unsigned i = 0; i < assignment.n; i++) {
        used[assignment.part[i].instance] = true;
    }
    int slices = rig->node.model->memory_slices;
    for (unsigned p = 0; p < 3; p++) {
        int lost = before[p] - provides(rig, used, rig->pool[p].profile);
        int size = lost * rig->pool[p].profile->memory;
        sum += (int64_t)demand->row[p].weight * (size < slices ? size : slices);
        weights += demand->row[p].weight;
    }
    return (int)((200 * (weights * slices - sum) + weights * slices) / (2 * weights * slices));
}

static void availability_counts_legal_placements(void **state)
{
    (void)state;
    static const struct base bases[] = {
        {"A30-24GB", {"1g.6gb", "2g.12gb", "4g.24gb"}},
        {"A100-40GB / A800-40GB", {"1g.5gb", "2g.10gb", "3g.20gb"}},
        {"A100-40GB / A800-40GB", {"1g.5gb", "3g.20gb", "7g.40gb"}},
    };
    uint64_t seed = 3;
    unsigned scored = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct rig *rig = random_partition(&seed, &bases[round % 3]);
        struct sl_demand demand = {0};
        for (unsigned p = 0; p < 3; p++) {
            add_demand(&demand, rig->pool[p].resource, 1 + (int32_t)rig_random(&seed, 9));
        }
        for (unsigned i = 0; i < 4; i++) {
            struct sl_ask ask =
                rig_ask(rig->pool[rig_random(&seed, 3)].resource, 1 + rig_random(&seed, 2));
            if (sl_fit(rig_view(rig), &ask, NULL)) {
                int expected = expected_availability(rig, &ask, &demand);
                assert_int_equal(availability(rig, &ask, &demand), expected);
                rig_run(rig, &ask, NULL);
                scored++;
            }
        }
        rig_free(rig);
    }
    assert_true(scored > 300);
}

static void sharing_a_shared_gpu_costs_nothing_and_a_fresh_one_all(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask six = rig_ask(MEM, 6);
    assert_int_equal(availability(rig, &six, NULL), 0);
    rig_run(rig, &six, NULL);
    assert_int_equal(availability(rig, &six, NULL), 100);
    struct sl_ask twelve = rig_ask(MEM, 12);
    assert_int_equal(availability(rig, &twelve, NULL), 0);
    struct sl_ask whole = rig_ask(GPU, 1);
    assert_int_equal(availability(rig, &whole, NULL), 0);
    rig_free(rig);
}

static void replica_on_a_gpu_that_is_shared_costs_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig_pool(rig, SHARED, SL_KIND_REPLICA, 8);
    rig->pool[0].replicas = 4;
    rig_device(rig, 0);
    rig_device(rig, 0);
    struct sl_ask one = rig_ask(SHARED, 1);
    struct sl_ask two = rig_ask(SHARED, 2);
    assert_int_equal(availability(rig, &one, NULL), 0);
    rig_run(rig, &one, NULL);
    assert_int_equal(availability(rig, &one, NULL), 0); /* the least used device comes first */
    rig_run(rig, &one, NULL);
    assert_int_equal(availability(rig, &one, NULL), 100);
    assert_int_equal(availability(rig, &two, NULL), 100);
    rig_free(rig);
}

static void replicas_where_only_counts_are_known_cost_their_share(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig_pool(rig, SHARED, SL_KIND_REPLICA, 8);
    rig->pool[0].replicas = 4;
    rig->pool[0].on_devices = false;
    struct sl_ask one = rig_ask(SHARED, 1);
    struct sl_ask five = rig_ask(SHARED, 5);
    assert_int_equal(availability(rig, &one, NULL), 75);
    assert_int_equal(availability(rig, &five, NULL), 0);
    rig_free(rig);
}

static void ask_of_both_sorts_has_the_larger_loss(void **state)
{
    (void)state;
    struct rig *rig = a30(1, false);
    rig_pool(rig, MEM, SL_KIND_MEMORY, 16);
    rig_device(rig, 16);
    struct sl_ask ask = rig_ask2(MEM, 4, MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG1, 1);
    assert_int_equal(availability(rig, &ask, &demand), 0);
    struct sl_ask memory = rig_ask(MEM, 4);
    rig_run(rig, &memory, NULL);
    assert_int_equal(availability(rig, &ask, &demand), 75);
    rig_free(rig);
}

/* ---- packing, spreading, total ---- */

static void packing_is_the_mean_of_the_pools_after_the_placement(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(4, 16);
    struct sl_ask one = rig_ask(GPU, 1);
    struct sl_ask both = rig_ask2(MEM, 16, GPU, 1);
    rig_run(rig, &one, NULL);
    struct sl_score s = score(rig, &one, NULL);
    assert_int_equal(s.term[SL_TERM_PACKING], 50);
    assert_int_equal(s.term[SL_TERM_SPREADING], 50);
    s = score(rig, &both, NULL);
    assert_int_equal(s.term[SL_TERM_PACKING], (25 + 50) / 2);
    assert_int_equal(s.term[SL_TERM_SPREADING], 100 - (25 + 50) / 2);
    rig_free(rig);
}

static void fuller_node_packs_better_and_spreads_worse(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(8, 16);
    struct sl_ask one = rig_ask(GPU, 1);
    int32_t last = -1;
    for (unsigned i = 0; i < 8; i++) {
        struct sl_score s = score(rig, &one, NULL);
        assert_true(s.term[SL_TERM_PACKING] > last);
        last = s.term[SL_TERM_PACKING];
        rig_run(rig, &one, NULL);
    }
    assert_int_equal(last, 100);
    rig_free(rig);
}

static void huge_capacities_do_not_overflow(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig_pool(rig, MEM, SL_KIND_MEMORY, INT64_MAX);
    rig->pool[0].on_devices = false;
    struct sl_ask ask = rig_ask(MEM, INT64_MAX);
    assert_int_equal(score(rig, &ask, NULL).term[SL_TERM_PACKING], 100);
    ask.item[0].count = INT64_MAX / 2 + 1;
    assert_in_range(score(rig, &ask, NULL).term[SL_TERM_PACKING], 49, 50);
    rig_free(rig);
}

static void total_is_the_weighted_mean_rounded_half_up(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(4, 16);
    struct sl_ask one = rig_ask(GPU, 1); /* 0, 25, 75 */
    struct sl_score s;
    sl_score(rig_view(rig), &one, NULL, &(struct sl_score_config){.weight = {1, 1, 0}}, &s);
    assert_int_equal(s.total, 13);
    sl_score(rig->view, &one, NULL, &(struct sl_score_config){.weight = {0, 1000, 1000}}, &s);
    assert_int_equal(s.total, 50);
    sl_score(rig->view, &one, NULL, &(struct sl_score_config){.weight = {0, 0, 0}}, &s);
    assert_int_equal(s.total, 40);
    rig_free(rig);
}

static void node_without_room_and_ask_for_nothing_score_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(1, 16);
    struct sl_ask two = rig_ask(GPU, 2);
    struct sl_ask none = {0};
    struct sl_ask malformed = rig_ask(GPU, 1);
    malformed.malformed = true;
    const struct sl_ask *asks[] = {&two, &none, &malformed};
    for (unsigned i = 0; i < 3; i++) {
        struct sl_score s = score(rig, asks[i], NULL);
        assert_int_equal(s.total + s.term[0] + s.term[1] + s.term[2], 0);
    }
    rig_free(rig);
}

/* ---- many nodes ---- */

enum { MANY = 120 };

/* Nodes of three models, two of which have a profile of one name; some equal, each with a few pods.
 */
static void many_nodes(uint64_t *seed, struct rig *rigs[MANY])
{
    static const struct base bases[] = {
        {"A30-24GB", {"1g.6gb", "2g.12gb", "4g.24gb"}},
        {"A100-40GB / A800-40GB", {"1g.5gb", "1g.10gb", "3g.20gb"}},
        {"H100-80GB / H800-80GB", {"1g.10gb", "1g.20gb", "3g.40gb"}},
    };
    for (unsigned i = 0; i < MANY; i++) {
        rigs[i] = i % 3 == 0 ? a30(2, i % 2 == 0) : random_partition(seed, &bases[i / 3 % 3]);
        unsigned pods = rig_random(seed, 4);
        for (unsigned p = 0; p < pods; p++) {
            unsigned pool = rig_random(seed, rigs[i]->node.n_pools);
            struct sl_ask ask = rig_ask(rigs[i]->pool[pool].resource, 1);
            rig_run(rigs[i], &ask, NULL);
        }
        rig_view(rigs[i]);
    }
}

/* The memory of what was scored before must not show: neither in a second look nor by order. */
static void one_scorer_for_many_nodes_says_what_each_alone_would_be(void **state)
{
    (void)state;
    static const struct sl_score_config config = {.weight = {7, 2, 1}};
    uint64_t seed = 11;
    struct rig *rigs[MANY];
    unsigned fitting = 0;
    many_nodes(&seed, rigs);
    for (unsigned round = 0; round < 40; round++) {
        struct sl_demand demand = {0};
        struct sl_scorer scorer;
        struct sl_ask ask = round % 4 == 3
                                ? rig_ask2(MIG1, 1, MIG2, 1)
                                : rig_ask(round % 2 == 0 ? MIG1 : "nvidia.com/mig-1g.10gb",
                                          1 + rig_random(&seed, 3));
        for (unsigned i = rig_random(&seed, 9); i < 9; i++) { /* three of each model */
            const struct rig *of = rigs[i - i % 3 + 1];
            add_demand(&demand, of->pool[i % 3].resource, 1 + (int32_t)rig_random(&seed, 9));
        }
        sl_scorer_init(&scorer, &ask, round % 5 == 0 ? NULL : &demand, &config);
        for (unsigned i = 0; i < 2 * MANY; i++) {
            const struct sl_view *view = rigs[i % MANY]->view;
            struct sl_score expected;
            struct sl_score got;
            sl_score(view, &ask, round % 5 == 0 ? NULL : &demand, &config, &expected);
            bool fits = sl_scorer_score(&scorer, view, &got);
            assert_int_equal(fits, sl_fit(view, &ask, NULL));
            assert_int_equal(got.total, expected.total);
            assert_memory_equal(&got.term, &expected.term,
                                (SL_TERM_SPREADING + 1) * sizeof got.term[0]);
            fitting += fits;
        }
    }
    assert_true(fitting > 1000);
    for (unsigned i = 0; i < MANY; i++) {
        rig_free(rigs[i]);
    }
}

/* ---- the wire ---- */

/* ---- the least memory that is accepted ---- */

/* So many instances of a profile under the strategy single. */
static struct rig *single(const char *model, const char *profile, int64_t mib, int64_t count)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, GPU, SL_KIND_MIG, count);
    rig->node.model = rig_model(model);
    rig->pool[pool].on_devices = false;
    rig->pool[pool].profile = rig_profile(rig->node.model, profile);
    rig->pool[pool].memory_mib = mib;
    return rig;
}

static void of_what_suffices_the_smaller_is_the_better(void **state)
{
    static const struct sl_score_config config = {
        .weight = {100, 50}, .by_kind = {[SL_KIND_WHOLE] = {0, 10, 0, 100, 30}}};
    struct rig *rig[] = {single("A30-24GB", "1g.6gb", 5952, 4),
                         single("A30-24GB", "2g.12gb", 12032, 2),
                         single("A100-40GB / A800-40GB", "3g.20gb", 20096, 2)};
    static const struct {
        int32_t least;
        unsigned best;
    } rows[] = {{4096, 0}, {5952, 0}, {5953, 1}, {10240, 1}, {12032, 1}, {12033, 2}, {16384, 2}};
    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct sl_ask ask = rig_ask(GPU, 1);
        ask.item[0].least_mib = rows[r].least;
        int32_t total[3] = {0};
        for (unsigned i = 0; i < 3; i++) {
            struct sl_score out;
            sl_score(rig_view(rig[i]), &ask, NULL, &config, &out);
            total[i] = out.total;
        }
        for (unsigned i = 0; i < 3; i++) {
            assert_true(i == rows[r].best || total[i] < total[rows[r].best]);
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        rig_free(rig[i]);
    }
}

static void memory_beyond_what_is_needed_costs_half_of_the_term(void **state)
{
    struct rig *rig = single("A30-24GB", "2g.12gb", 12000, 2);
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_demand demand = {0};
    (void)state;
    add_demand(&demand, GPU, 1);
    assert_int_equal(availability(rig, &ask, &demand), 50);
    ask.item[0].least_mib = 12000;
    assert_int_equal(availability(rig, &ask, &demand), 75);
    ask.item[0].least_mib = 3000;
    assert_int_equal(availability(rig, &ask, &demand), 38);
    rig->pool[0].memory_mib = 0; /* nobody knows: it does not fit */
    struct sl_score out;
    sl_score(rig_view(rig), &ask, &demand, &only_availability, &out);
    assert_int_equal(out.total, 0);
    rig_free(rig);
}

static void best_node_alone_gets_ten(void **state)
{
    (void)state;
    const int32_t totals[] = {100, 0, 50, 100, 99};
    const uint32_t rank[] = {9, 1, 2, 3, 4};
    uint8_t out[5];
    sl_score_wire(totals, rank, 5, out);
    const uint8_t expected[] = {9, 0, 4, 10, 8};
    assert_memory_equal(out, expected, 5);
}

static void best_is_best_even_when_all_are_poor(void **state)
{
    (void)state;
    const int32_t totals[] = {0, 0, 0};
    const uint32_t rank[] = {2, 0, 1};
    uint8_t out[3];
    sl_score_wire(totals, rank, 3, out);
    const uint8_t expected[] = {0, 10, 0};
    assert_memory_equal(out, expected, 3);
    sl_score_wire(totals, rank, 0, out);
    assert_memory_equal(out, expected, 3);
}

static void terms_have_names_and_help(void **state)
{
    (void)state;
    assert_string_equal(sl_term_name(SL_TERM_AVAILABILITY), "availability");
    assert_string_equal(sl_term_name(SL_TERM_PACKING), "packing");
    assert_string_equal(sl_term_name(SL_TERM_SPREADING), "spreading");
    for (int t = 0; t < SL_TERM_COUNT; t++) {
        assert_true(strlen(sl_term_help((enum sl_term)t)) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_instance_is_lost_to_its_own_profile),
        cmocka_unit_test(demand_for_something_else_loses_nothing_on_a_static_node),
        cmocka_unit_test(without_demand_every_profile_of_the_model_weighs_the_same),
        cmocka_unit_test(instance_of_unknown_profile_counts_as_a_device),
        cmocka_unit_test(replica_of_an_instance_is_its_share),
        cmocka_unit_test(
            touched_device_is_better_than_an_untouched_one_where_gpus_are_repartitioned),
        cmocka_unit_test(availability_counts_legal_placements),
        cmocka_unit_test(sharing_a_shared_gpu_costs_nothing_and_a_fresh_one_all),
        cmocka_unit_test(replica_on_a_gpu_that_is_shared_costs_nothing),
        cmocka_unit_test(replicas_where_only_counts_are_known_cost_their_share),
        cmocka_unit_test(ask_of_both_sorts_has_the_larger_loss),
        cmocka_unit_test(packing_is_the_mean_of_the_pools_after_the_placement),
        cmocka_unit_test(fuller_node_packs_better_and_spreads_worse),
        cmocka_unit_test(huge_capacities_do_not_overflow),
        cmocka_unit_test(total_is_the_weighted_mean_rounded_half_up),
        cmocka_unit_test(node_without_room_and_ask_for_nothing_score_nothing),
        cmocka_unit_test(one_scorer_for_many_nodes_says_what_each_alone_would_be),
        cmocka_unit_test(of_what_suffices_the_smaller_is_the_better),
        cmocka_unit_test(memory_beyond_what_is_needed_costs_half_of_the_term),
        cmocka_unit_test(best_node_alone_gets_ten),
        cmocka_unit_test(best_is_best_even_when_all_are_poor),
        cmocka_unit_test(terms_have_names_and_help),
    };
    return cmocka_run_group_tests_name("score", tests, NULL, NULL);
}
