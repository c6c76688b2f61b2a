/* Scores: the other terms and their sum by example, one scorer for many nodes, and the wire's
 * scale. */
#include "score_rig.h"

TEST_FIXTURE(NULL, rig_free_all)

/* ---- packing, spreading, total ---- */

TEST_THAT(packing_is_the_mean_of_the_pools_after_the_placement)
{
    struct rig *rig = rig_of_gpus(4, 16);
    struct sl_ask one = rig_ask(GPU, 1);
    struct sl_ask both = rig_ask2(MEM, 16, GPU, 1);
    rig_run(rig, one, NULL);
    struct sl_score s = score(rig, &one, NULL);
    assert_int_equal(s.term[SL_TERM_PACKING], 50);
    assert_int_equal(s.term[SL_TERM_SPREADING], 50);
    s = score(rig, &both, NULL);
    assert_int_equal(s.term[SL_TERM_PACKING], (25 + 50) / 2);
    assert_int_equal(s.term[SL_TERM_SPREADING], 100 - (25 + 50) / 2);
}

TEST_THAT(fuller_node_packs_better_and_spreads_worse)
{
    struct rig *rig = rig_of_gpus(8, 16);
    struct sl_ask one = rig_ask(GPU, 1);
    int32_t last = -1;
    for (unsigned i = 0; i < 8; i++) {
        struct sl_score s = score(rig, &one, NULL);
        assert_true(s.term[SL_TERM_PACKING] > last);
        last = s.term[SL_TERM_PACKING];
        rig_run(rig, one, NULL);
    }
    assert_int_equal(last, 100);
}

TEST_THAT(huge_capacities_do_not_overflow)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MEM, SL_KIND_MEMORY, INT64_MAX);
    rig->pool[0].on_devices = false;
    struct sl_ask ask = rig_ask(MEM, INT64_MAX);
    assert_int_equal(score(rig, &ask, NULL).term[SL_TERM_PACKING], 100);
    ask.item[0].count = INT64_MAX / 2 + 1;
    assert_in_range(score(rig, &ask, NULL).term[SL_TERM_PACKING], 49, 50);
}

TEST_THAT(total_is_the_weighted_mean_rounded_half_up)
{
    struct rig *rig = rig_of_gpus(4, 16);
    struct sl_ask one = rig_ask(GPU, 1); /* 0, 25, 75 */
    struct sl_score s;
    sl_score(rig_view(rig), &one, NULL, &(struct sl_score_config){.weight = {1, 1, 0}}, &s);
    assert_int_equal(s.total, 13);
    sl_score(rig->view, &one, NULL, &(struct sl_score_config){.weight = {0, 1000, 1000}}, &s);
    assert_int_equal(s.total, 50);
    sl_score(rig->view, &one, NULL, &(struct sl_score_config){.weight = {0, 0, 0}}, &s);
    assert_int_equal(s.total, 40);
    struct sl_ask share = rig_ask(MEM, 4); /* beside another share */
    rig_run(rig, share, NULL);
    sl_score(rig_view(rig), &share, NULL, &(struct sl_score_config){.weight = {0, 0, 0}}, &s);
    assert_int_equal(s.term[SL_TERM_AVAILABILITY], 100);
    int32_t sum = 100 + 100 + s.term[SL_TERM_FRAGMENTATION] + s.term[SL_TERM_WHOLE];
    int32_t terms = SL_TERM_COUNT - 1; /* contention says nothing */
    assert_int_equal(s.total, (2 * sum + terms) / (2 * terms));
}

TEST_THAT(node_without_room_and_ask_for_nothing_score_nothing)
{
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
}

/* ---- many nodes ---- */

enum { MANY = 120 };

/* Nodes of three models, two of which have a profile of one name; some equal, each with a few pods.
 */
/* Whatever was there before. */
TEST_THAT(a_score_is_nothing_where_the_ask_does_not_fit)
{
    static const struct sl_score none = {.total = 0};
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask asks[] = {rig_ask(GPU, 3), {.n = 0}};
    const struct sl_score_config config = {.weight = {1, 1, 1, 1, 1}};
    for (unsigned i = 0; i < 2; i++) {
        struct sl_scorer scorer;
        struct sl_score out;
        sl_scorer_init(&scorer, &asks[i], NULL, &config);
        memset(&out, 7, sizeof(out));
        assert_int_equal(sl_scorer_score(&scorer, rig_view(rig), &out), asks[i].n == 0);
        assert_memory_equal(&out, &none, sizeof(out));
    }
}

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
            rig_run(rigs[i], ask, NULL);
        }
        rig_view(rigs[i]);
    }
}

/* The memory of what was scored before must not show: neither in a second look nor by order. */
TEST_THAT(one_scorer_for_many_nodes_says_what_each_alone_would_be)
{
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
}

/* Idle GPUs are worth what the CPU left for them is: nodes that differ in CPU alone differ. One
 * memory is used again and again, as by a thread that serves requests. */
TEST_THAT(scorer_minds_cpu_whichever_term_needs_it)
{
    static const struct sl_score_config configs[] = {
        {.weight = {[SL_TERM_FRAGMENTATION] = 1}},
        {.weight = {[SL_TERM_WHOLE] = 1}},
        {.weight = {[SL_TERM_SPREADING] = 2, [SL_TERM_WHOLE] = 1}},
        {.weight = {0}},
        {.weight = {[SL_TERM_AVAILABILITY] = 1}},
    };
    static struct sl_scorer scorer;
    uint64_t seed = 12;
    struct rig *rigs[16];
    int32_t low = 100;
    int32_t high = 0;
    memset(&scorer, 0xff, sizeof(scorer));
    for (unsigned i = 0; i < 16; i++) {
        rigs[i] = rig_of_gpus(4, 16);
        rigs[i]->node.host.cpu_milli = 4000 * (int64_t)i;
        rig_view(rigs[i]);
    }
    for (unsigned round = 0; round < 100; round++) {
        const struct sl_score_config *config = &configs[round % 5];
        struct sl_demand demand = {0};
        struct sl_ask ask = rig_ask(round % 3 == 0 ? MEM : GPU, 1 + rig_random(&seed, 3));
        ask.cpu_milli = rig_random(&seed, 9000);
        for (unsigned i = 0; i < 4; i++) {
            struct sl_ask_item item = rig_item(i % 2 == 0 ? GPU : MEM, 1 + i);
            demand.typical[demand.n_typical++] = (struct sl_typical){
                item.key, item.count, rig_random(&seed, 20000), 1, item.kind, 0};
        }
        sl_scorer_init(&scorer, &ask, round % 7 == 0 ? NULL : &demand, config);
        for (unsigned i = 0; i < 32; i++) {
            struct sl_score alone;
            struct sl_score got;
            sl_score(rigs[i % 16]->view, &ask, round % 7 == 0 ? NULL : &demand, config, &alone);
            assert_true(sl_scorer_score(&scorer, rigs[i % 16]->view, &got));
            assert_int_equal(got.total, alone.total);
            low = round % 5 < 2 && got.total < low ? got.total : low;
            high = round % 5 < 2 && got.total > high ? got.total : high;
        }
    }
    assert_true(low < 40 && high > 60);
}

/* ---- the wire ---- */

TEST_THAT(best_node_alone_gets_ten)
{
    const int32_t totals[] = {100, 0, 50, 100, 99};
    const uint32_t rank[] = {9, 1, 2, 3, 4};
    uint8_t out[5];
    sl_score_wire(totals, rank, 5, out);
    const uint8_t expected[] = {9, 0, 4, 10, 8};
    assert_memory_equal(out, expected, 5);
}

TEST_THAT(best_is_best_even_when_all_are_poor)
{
    const int32_t totals[] = {0, 0, 0};
    const uint32_t rank[] = {2, 0, 1};
    uint8_t out[3];
    sl_score_wire(totals, rank, 3, out);
    const uint8_t expected[] = {0, 10, 0};
    assert_memory_equal(out, expected, 3);
    sl_score_wire(totals, rank, 0, out);
    assert_memory_equal(out, expected, 3);
}

TEST_THAT(terms_have_names)
{
    assert_string_equal(sl_term_name(SL_TERM_AVAILABILITY), "availability");
    assert_string_equal(sl_term_name(SL_TERM_PACKING), "packing");
    assert_string_equal(sl_term_name(SL_TERM_SPREADING), "spreading");
    assert_string_equal(sl_term_name(SL_TERM_FRAGMENTATION), "fragmentation");
    assert_string_equal(sl_term_name(SL_TERM_WHOLE), "whole");
}

TEST_THAT(fragmentation_of_instances_is_availability_though_that_has_no_weight)
{
    struct rig *rig = a30(1, true);
    struct sl_ask ask = rig_ask(MIG1, 1);
    struct sl_demand demand = {0};
    struct sl_score s;
    add_demand(&demand, MIG1, 1);
    add_demand(&demand, MIG4, 1);
    sl_score(rig_view(rig), &ask, &demand,
             &(struct sl_score_config){.weight = {[SL_TERM_FRAGMENTATION] = 1}}, &s);
    assert_int_equal(s.total, availability(rig, &ask, &demand));
    assert_in_range(s.total, 1, 49);
}
