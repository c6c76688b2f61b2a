/* Scores: the term availability by example, and on repartitioned nodes against a count of all legal
 * placements. */
#include "score_rig.h"

TEST_FIXTURE(NULL, rig_free_all)

TEST_THAT(free_instance_is_lost_to_its_own_profile)
{
    struct rig *rig = a30(2, false);
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_ask two = rig_ask(MIG1, 2);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG1, 1);
    add_demand(&demand, MIG2, 1);
    /* a quarter of a device, at half the weight */
    assert_int_equal(availability(rig, &one, &demand), 88);
    assert_int_equal(availability(rig, &two, &demand), 75);
}

TEST_THAT(slice_costs_its_part_of_a_gpus_memory)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, "nvidia.com/gpu-10gb", SL_KIND_REPLICA, 4);
    struct sl_ask ask = rig_ask("nvidia.com/gpu-10gb", 1);
    rig->pool[pool].slices = true;
    rig->pool[pool].memory_mib = 10240;
    rig->device[rig_device(rig, 0)].memory_mib = 40960;
    rig->instance[rig_instance(rig, 0, -1, pool)].slices = 4;
    assert_int_equal(availability(rig, &ask, NULL), 75);
    rig->device[0].memory_mib = 0; /* unknown: all of it */
    assert_int_equal(availability(rig, &ask, NULL), 0);
}

TEST_THAT(demand_for_something_else_loses_nothing_on_a_static_node)
{
    struct rig *rig = a30(2, false);
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG2, 5);
    assert_int_equal(availability(rig, &one, &demand), 100);
}

TEST_THAT(without_demand_every_profile_of_the_model_weighs_the_same)
{
    struct rig *rig = a30(1, false);
    struct sl_ask four = rig_ask(MIG1, 4);
    struct sl_demand other = {0};
    add_demand(&other, GPU, 9); /* names no profile */
    int n = rig->node.model->n_profiles;
    int expected = (200 * (n - 1) + n) / (2 * n);
    assert_int_equal(availability(rig, &four, NULL), expected);
    assert_int_equal(availability(rig, &four, &other), expected);
}

TEST_THAT(instance_of_unknown_profile_counts_as_a_device)
{
    struct rig *rig = a30(1, false);
    rig->node.model = NULL;
    rig->pool[0].profile = NULL;
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG1, 1);
    add_demand(&demand, MIG2, 3);
    assert_int_equal(availability(rig, &one, &demand), 75);
}

TEST_THAT(without_demand_every_profile_of_an_unknown_model_weighs_the_same)
{
    struct rig *rig = a30(1, false);
    struct sl_ask one = rig_ask(MIG1, 1);
    rig->node.model = NULL;
    rig->pool[0].profile = NULL;
    assert_int_equal(availability(rig, &one, NULL), 0);
    rig_pool(rig, MIG2, SL_KIND_MIG, 1);
    rig_pool(rig, MEM, SL_KIND_MEMORY, 1);
    rig->pool[1].on_devices = rig->pool[2].on_devices = false;
    assert_int_equal(availability(rig, &one, NULL), 50);
}

TEST_THAT(replica_of_an_instance_is_its_share)
{
    struct rig *rig = a30(1, false);
    rig->pool[0].kind = SL_KIND_REPLICA;
    rig->pool[0].replicas = 5;
    rig->pool[0].capacity = 20;
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG1, 1);
    assert_int_equal(availability(rig, &one, &demand), 95);
}

TEST_THAT(touched_device_is_better_than_an_untouched_one_where_gpus_are_repartitioned)
{
    struct rig *fresh = a30(1, true);
    struct rig *begun = a30(1, true);
    struct sl_ask one = rig_ask(MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG4, 1);
    rig_run(begun, one, NULL);
    assert_int_equal(availability(fresh, &one, &demand), 0);
    assert_int_equal(availability(begun, &one, &demand), 100);
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

/* Instances of the profile that the parts take from those that are made, or make impossible where
 * GPUs are repartitioned. */
static int lost_of(const struct rig *rig, const struct sl_assignment *assignment, unsigned pool)
{
    const struct sl_mig_profile *profile = rig->pool[pool].profile;
    bool used[16];
    int taken = 0;
    for (unsigned i = 0; i < rig->node.n_instances; i++) {
        used[i] = rig->view->instance_used[i] > 0;
    }
    int before = provides(rig, used, profile);
    for (unsigned i = 0; i < assignment->n; i++) {
        int instance = assignment->part[i].instance;
        if (instance >= 0) {
            used[instance] = true;
            taken += rig->instance[instance].pool == pool;
        }
    }
    return rig->node.dynamic_mig ? before - provides(rig, used, profile) : taken;
}

static bool takes_a_fresh_gpu(const struct sl_view *view, const struct sl_assignment *assignment)
{
    bool fresh = false;
    for (unsigned i = 0; i < assignment->n; i++) {
        const struct sl_assignment_part *part = &assignment->part[i];
        if (part->instance < 0) {
            const struct sl_device_use *use = &view->device[part->device];
            fresh = fresh || (!use->whole && use->memory_units == 0 && use->replicas == 0);
        }
    }
    return fresh;
}

static int expected_availability(const struct rig *rig, const struct sl_ask *ask,
                                 const struct sl_demand *demand)
{
    struct sl_assignment assignment;
    int64_t sum = 0;
    int64_t weights = 0;
    assert_true(sl_choose(rig->view, ask, &assignment, NULL));
    if (takes_a_fresh_gpu(rig->view, &assignment)) {
        return 0;
    }
    int slices = rig->node.model->memory_slices;
    for (unsigned p = 0; p < 3; p++) {
        int size = lost_of(rig, &assignment, p) * rig->pool[p].profile->memory;
        sum += (int64_t)demand->row[p].weight * (size < slices ? size : slices);
    }
    for (unsigned i = 0; i < demand->n; i++) {
        bool asked = false;
        for (unsigned k = 0; k < ask->n; k++) {
            asked = asked || ask->item[k].key == demand->row[i].key;
        }
        bool counts = demand->row[i].kind == SL_KIND_MIG || asked;
        weights += counts ? demand->row[i].weight : 0;
    }
    return (int)((200 * (weights * slices - sum) + weights * slices) / (2 * weights * slices));
}

TEST_THAT(availability_counts_legal_placements)
{
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
                rig_run(rig, ask, NULL);
                scored++;
            }
        }
        rig_free(rig);
    }
    assert_true(scored > 300);
}

/* Of each resource of the node at most one item, in any order. */
static struct sl_ask random_ask(uint64_t *seed, const struct rig *rig)
{
    struct sl_ask ask = {.n = (uint8_t)(1 + rig_random(seed, 2))};
    unsigned pool = rig_random(seed, rig->node.n_pools);
    for (unsigned i = 0; i < ask.n; i++) {
        ask.item[i] = rig_item(rig->pool[pool].resource, 1 + rig_random(seed, 3));
        pool = (pool + 1 + rig_random(seed, rig->node.n_pools - 1)) % rig->node.n_pools;
    }
    return ask;
}

TEST_THAT(availability_is_the_least_over_all_that_is_taken)
{
    static const struct base base = {"A30-24GB", {"1g.6gb", "2g.12gb", "4g.24gb"}};
    uint64_t seed = 8;
    unsigned scored = 0;
    for (unsigned round = 0; round < 400; round++) {
        struct rig *rig = random_partition(&seed, &base);
        struct sl_demand demand = {0};
        rig->node.dynamic_mig = round % 2 == 0;
        for (unsigned p = 0; p < 3; p++) {
            add_demand(&demand, rig->pool[p].resource, 1 + (int32_t)rig_random(&seed, 9));
        }
        add_demand(&demand, MEM, 1 + (int32_t)rig_random(&seed, 9));
        rig_pool(rig, GPU, SL_KIND_WHOLE, 3);
        rig_pool(rig, MEM, SL_KIND_MEMORY, 12);
        rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, 6)].replicas = 2;
        for (unsigned d = 0; d < 3; d++) {
            rig->device[rig_device(rig, 4)].model = rig->node.model;
        }
        for (unsigned i = 0; i < 6; i++) {
            struct sl_ask ask = random_ask(&seed, rig);
            if (sl_fit(rig_view(rig), &ask, NULL)) {
                int expected = expected_availability(rig, &ask, &demand);
                assert_int_equal(availability(rig, &ask, &demand), expected);
                rig_run(rig, ask, NULL);
                scored += expected > 0;
            }
        }
        rig_free(rig);
    }
    assert_true(scored > 200);
}

TEST_THAT(sharing_a_shared_gpu_costs_nothing_and_a_fresh_one_all)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask six = rig_ask(MEM, 6);
    assert_int_equal(availability(rig, &six, NULL), 0);
    rig_run(rig, six, NULL);
    assert_int_equal(availability(rig, &six, NULL), 100);
    struct sl_ask twelve = rig_ask(MEM, 12);
    assert_int_equal(availability(rig, &twelve, NULL), 0);
    struct sl_ask whole = rig_ask(GPU, 1);
    assert_int_equal(availability(rig, &whole, NULL), 0);
}

TEST_THAT(replica_on_a_gpu_that_is_shared_costs_nothing)
{
    struct rig *rig = rig_new();
    rig_pool(rig, SHARED, SL_KIND_REPLICA, 8);
    rig->pool[0].replicas = 4;
    rig_device(rig, 0);
    rig_device(rig, 0);
    struct sl_ask one = rig_ask(SHARED, 1);
    struct sl_ask two = rig_ask(SHARED, 2);
    assert_int_equal(availability(rig, &one, NULL), 0);
    rig_run(rig, one, NULL);
    assert_int_equal(availability(rig, &one, NULL), 0); /* the least used device comes first */
    rig_run(rig, one, NULL);
    assert_int_equal(availability(rig, &one, NULL), 100);
    assert_int_equal(availability(rig, &two, NULL), 100);
}

TEST_THAT(replicas_where_only_counts_are_known_cost_their_share)
{
    struct rig *rig = rig_new();
    rig_pool(rig, SHARED, SL_KIND_REPLICA, 8);
    rig->pool[0].replicas = 4;
    rig->pool[0].on_devices = false;
    struct sl_ask one = rig_ask(SHARED, 1);
    struct sl_ask five = rig_ask(SHARED, 5);
    assert_int_equal(availability(rig, &one, NULL), 75);
    assert_int_equal(availability(rig, &five, NULL), 0);
}

TEST_THAT(memory_where_only_counts_are_known_costs_its_share_of_a_gpu)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MEM, SL_KIND_MEMORY, 64);
    rig->pool[0].on_devices = false;
    struct sl_ask four = rig_ask(MEM, 4);
    assert_int_equal(availability(rig, &four, NULL), 94); /* not even the GPUs are known */
    for (unsigned i = 0; i < 4; i++) {
        rig_device(rig, 0);
    }
    assert_int_equal(availability(rig, &four, NULL), 75);
}

TEST_THAT(ask_of_both_sorts_has_the_larger_loss)
{
    struct rig *rig = a30(1, false);
    rig_pool(rig, MEM, SL_KIND_MEMORY, 16);
    rig_device(rig, 16);
    struct sl_ask ask = rig_ask2(MEM, 4, MIG1, 1);
    struct sl_demand demand = {0};
    add_demand(&demand, MIG1, 1);
    assert_int_equal(availability(rig, &ask, &demand), 0);
    rig_run(rig, rig_ask(MEM, 4), NULL);
    assert_int_equal(availability(rig, &ask, &demand), 75);
}

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

TEST_THAT(of_what_suffices_the_smaller_is_the_better)
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

TEST_THAT(memory_beyond_what_is_needed_costs_half_of_the_term)
{
    struct rig *rig = single("A30-24GB", "2g.12gb", 12000, 2);
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_demand demand = {0};
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
}

/* The share is on a GPU that others share already: it costs nothing, the instance does. */
TEST_THAT(instance_beside_a_share_costs_what_it_costs_alone)
{
    struct rig *rig = a30(1, true);
    struct sl_ask alone = rig_ask(MIG1, 1);
    struct sl_ask both = rig_ask2(MEM, 1, MIG1, 1);
    rig_pool(rig, MEM, SL_KIND_MEMORY, 16);
    rig->device[rig_device(rig, 16)].model = rig->node.model;
    rig_run(rig, rig_ask(MEM, 1), MEM "=1*1");
    int32_t cost = availability(rig, &alone, NULL);
    assert_in_range(cost, 1, 99);
    assert_int_equal(availability(rig, &both, NULL), cost);
}

TEST_THAT(only_what_says_how_much_it_needs_is_measured_by_it)
{
    struct rig *rig = single("A30-24GB", "2g.12gb", 12000, 2);
    unsigned other = rig_pool(rig, SHARED, SL_KIND_REPLICA, 4);
    rig->pool[other].on_devices = false;
    rig->pool[other].memory_mib = 5000;
    struct sl_ask ask = rig_ask2(GPU, 1, SHARED, 1);
    int32_t otherwise = availability(rig, &ask, NULL);
    ask.item[0].least_mib = 3000;
    assert_int_equal(availability(rig, &ask, NULL), (otherwise + 25 + 1) / 2);
    ask.item[0].least_mib = 1;
    assert_int_equal(availability(rig, &ask, NULL), (otherwise + 1) / 2);
    ask.item[0].least_mib = 0;
    ask.item[1].least_mib = 1000;
    assert_int_equal(availability(rig, &ask, NULL), (otherwise + 20 + 1) / 2);
}

TEST_THAT(demand_counts_whichever_row_it_is_in)
{
    struct sl_demand first = {0};
    struct sl_demand last = {0};
    struct sl_ask ask = rig_ask(MIG1, 1);
    struct rig *rig = a30(1, false);
    add_demand(&first, MIG1, 3);
    add_demand(&first, MIG4, 1);
    add_demand(&last, MIG4, 1);
    add_demand(&last, MIG1, 3);
    int32_t term = availability(rig, &ask, &first);
    assert_in_range(term, 1, 99);
    assert_int_equal(availability(rig, &ask, &last), term);
}
