/* The terms fragmentation and whole: the table of gaps against the recursion it stands for, and by
 * example what is preferred to what. */
#include "rig.h"

#include "core/idle.h"

#define GPU "nvidia.com/gpu"
#define MEM "aliyun.com/gpu-mem"

enum { UNITS = 20 };

static void add(struct sl_demand *demand, const char *resource, int64_t count, int64_t cpu,
                int32_t weight)
{
    struct sl_ask_item item = rig_item(resource, count);
    demand->typical[demand->n_typical] = (struct sl_typical){
        .key = item.key, .count = count, .cpu_milli = cpu, .weight = weight, .kind = item.kind};
    demand->n_typical++;
}

static struct sl_score score(struct rig *rig, const struct sl_ask *ask,
                             const struct sl_demand *demand)
{
    static const struct sl_score_config config = {.weight = {[SL_TERM_FRAGMENTATION] = 1}};
    struct sl_score out;
    sl_score(rig_view(rig), ask, demand, &config, &out);
    assert_int_equal(out.total, out.term[SL_TERM_FRAGMENTATION]);
    return out;
}

static int32_t fragmentation(struct rig *rig, const struct sl_ask *ask,
                             const struct sl_demand *demand)
{
    return score(rig, ask, demand).term[SL_TERM_FRAGMENTATION];
}

/* GPUs of which so many units are in use. */
static struct rig *gpus(unsigned n, const char *const *used)
{
    struct rig *rig = rig_of_gpus(n, UNITS);
    for (unsigned i = 0; i < n; i++) {
        if (used[i] != NULL) {
            char text[64];
            snprintf(text, sizeof(text), MEM "=%u*%s", i, used[i]);
            struct sl_ask ask = rig_ask(MEM, strtol(used[i], NULL, 10));
            rig_run(rig, &ask, text);
        }
    }
    return rig;
}

/* ---- the table ---- */

static double expected(const double *share, int gap, int round, bool cpu)
{
    double fits = 0;
    if (round == 0) {
        return cpu ? 0 : gap * 64000.0 / UNITS;
    }
    for (int m = 1; m <= gap; m++) {
        fits += share[m];
    }
    if (fits <= 0) {
        return expected(share, gap, round - 1, cpu);
    }
    double miss = (1 - fits) * (1 - fits) * (1 - fits) * (1 - fits);
    double times = (1 - miss * miss) / fits;
    double sum = (1 - fits * times) * expected(share, gap, round - 1, cpu);
    for (int m = 1; m <= gap; m++) {
        if (share[m] > 0) {
            double taken = cpu ? 100.0 * m : 0;
            sum += times * share[m] * (taken + expected(share, gap - m, round - 1, cpu));
        }
    }
    return sum;
}

static void assert_near(double is, double wanted, double by)
{
    assert_true(is - wanted < by && wanted - is < by);
}

static void table_is_what_six_times_eight_offers_leave(void **state)
{
    (void)state;
    struct sl_demand demand = {0};
    struct sl_ask ask = rig_ask(MEM, 3);
    struct sl_scorer scorer;
    static const struct sl_score_config config = {.weight = {1}};
    double share[UNITS + 1] = {0};
    add(&demand, MEM, 3, 300, 4);
    add(&demand, MEM, 7, 700, 3);
    add(&demand, MEM, 16, 1600, 2);
    add(&demand, GPU, 1, 2000, 1);
    share[3] = 0.4;
    share[7] = 0.3;
    share[16] = 0.2;
    share[20] = 0.1;
    sl_scorer_init(&scorer, &ask, &demand, &config);
    const struct sl_idle *idle = sl_idle_table(&scorer, 15, UNITS, 0);
    assert_int_equal(idle->steps, UNITS);
    for (int gap = 0; gap <= UNITS; gap++) {
        assert_near(idle->waste[gap], expected(share, gap, 6, false), 20);
        assert_near(idle->need[gap], expected(share, gap, 6, true), 5);
    }
    assert_ptr_equal(sl_idle_table(&scorer, 15, UNITS, 0), idle);
    /* only what is offered there counts */
    idle = sl_idle_table(&scorer, 8, UNITS, 0);
    assert_int_equal(idle->waste[UNITS - 1], 64000 / UNITS * (UNITS - 1));
    assert_int_equal(idle->waste[UNITS], 0);
}

static void large_numbers_stay_within_bounds(void **state)
{
    (void)state;
    struct sl_demand demand = {0};
    struct sl_ask ask = rig_ask(MEM, INT64_MAX / 2);
    static const struct sl_score_config config = {.weight = {1}};
    struct sl_scorer scorer;
    for (int i = 0; i < SL_TYPICAL_MAX; i++) {
        add(&demand, i % 2 == 0 ? MEM : GPU, 1 + i / 2, INT64_MAX, INT32_MAX);
    }
    sl_scorer_init(&scorer, &ask, &demand, &config);
    const struct sl_idle *idle = sl_idle_table(&scorer, UINT64_MAX, INT64_C(1) << 40, 0);
    for (int gap = 0; gap <= idle->steps; gap++) {
        assert_in_range(idle->waste[gap], 0, 64000);
        assert_in_range(idle->need[gap], 0, 1 << 21);
    }
    assert_in_range(idle->n_groups, 1, SL_IDLE_GROUPS);
}

/* ---- what is preferred ---- */

static void share_that_fills_a_gap_is_better_than_one_that_leaves_a_piece(void **state)
{
    (void)state;
    struct sl_demand demand = {0};
    struct sl_ask six = rig_ask(MEM, 6);
    add(&demand, MEM, 6, 0, 1);
    add(&demand, MEM, 14, 0, 1);
    struct rig *exact = gpus(2, (const char *const[]){"14", "20"});
    struct rig *piece = gpus(2, (const char *const[]){"6", "20"});
    struct rig *fresh = gpus(2, (const char *const[]){NULL, NULL});
    int32_t best = fragmentation(exact, &six, &demand);
    assert_true(best > fragmentation(piece, &six, &demand));
    assert_true(best >= fragmentation(fresh, &six, &demand));
    rig_free(exact);
    rig_free(piece);
    rig_free(fresh);
}

static void node_that_runs_out_of_cpu_is_spared_by_those_who_want_much(void **state)
{
    (void)state;
    struct sl_demand demand = {0};
    add(&demand, GPU, 1, 12000, 1);
    struct rig *rich = gpus(2, (const char *const[]){NULL, NULL});
    struct rig *poor = gpus(2, (const char *const[]){NULL, NULL});
    rich->node.host.cpu_milli = 100000;
    poor->node.host.cpu_milli = 16000;
    struct sl_ask heavy = rig_ask(GPU, 1);
    struct sl_ask light = heavy;
    heavy.cpu_milli = 15000;
    light.cpu_milli = 2000;
    assert_true(fragmentation(rich, &heavy, &demand) > fragmentation(poor, &heavy, &demand));
    assert_true(fragmentation(rich, &light, &demand) < fragmentation(poor, &light, &demand));
    /* also when it asks for no GPU */
    struct sl_ask none = {.cpu_milli = 8000};
    assert_int_equal(fragmentation(rich, &none, &demand), 50);
    assert_true(fragmentation(poor, &none, &demand) < 40);
    /* and not where the node does not say what it has */
    poor->node.host.cpu_milli = -1;
    assert_int_equal(fragmentation(poor, &none, &demand), 50);
    rig_free(rich);
    rig_free(poor);
}

static int32_t whole(unsigned n, const struct sl_ask *ask, const struct sl_demand *demand)
{
    struct rig *rig = gpus(n, (const char *const[8]){NULL});
    int32_t term = score(rig, ask, demand).term[SL_TERM_WHOLE];
    rig_free(rig);
    return term;
}

static void odd_gpu_goes_before_one_of_a_pair(void **state)
{
    (void)state;
    struct sl_demand demand = {0};
    struct sl_ask one = rig_ask(GPU, 1);
    struct sl_ask two = rig_ask(GPU, 2);
    add(&demand, GPU, 2, 0, 1);
    assert_true(whole(3, &one, &demand) > 50);
    assert_true(whole(4, &one, &demand) < 50);
    assert_int_equal(whole(4, &two, &demand), 50);
    demand.typical[0].count = 1; /* nobody asks for several */
    assert_int_equal(whole(3, &one, &demand), 50);
}

static void share_on_a_shared_gpu_breaks_no_pair(void **state)
{
    (void)state;
    struct sl_demand demand = {0};
    struct sl_ask share = rig_ask(MEM, 6);
    add(&demand, GPU, 2, 0, 1);
    add(&demand, MEM, 6, 0, 1);
    struct rig *shared = gpus(3, (const char *const[]){"6", NULL, NULL});
    assert_int_equal(score(shared, &share, &demand).term[SL_TERM_WHOLE], 50);
    assert_true(whole(2, &share, &demand) < 50);
    rig_free(shared);
}

static void where_only_counts_are_known_whole_gpus_are_counted(void **state)
{
    (void)state;
    struct sl_demand demand = {0};
    struct sl_ask one = rig_ask(GPU, 1);
    add(&demand, GPU, 2, 0, 1);
    struct rig *rig = rig_new();
    rig_pool(rig, GPU, SL_KIND_WHOLE, 4);
    rig->pool[0].on_devices = false;
    assert_true(score(rig, &one, &demand).term[SL_TERM_WHOLE] < 50);
    rig_free(rig);
}

static void ask_of_several_items_is_scored_by_where_it_really_goes(void **state)
{
    (void)state;
    struct sl_demand demand = {0};
    struct sl_ask both = rig_ask2(GPU, 1, MEM, 6);
    add(&demand, GPU, 1, 0, 1);
    add(&demand, MEM, 6, 0, 1);
    struct rig *shared = gpus(3, (const char *const[]){"14", NULL, NULL});
    struct rig *fresh = gpus(3, (const char *const[]){NULL, NULL, NULL});
    assert_true(fragmentation(shared, &both, &demand) > fragmentation(fresh, &both, &demand));
    rig_free(shared);
    rig_free(fresh);
}

static void without_demand_the_ask_itself_is_typical(void **state)
{
    (void)state;
    struct sl_ask half = rig_ask(MEM, UNITS / 2);
    struct rig *fresh = gpus(1, (const char *const[]){NULL});
    struct rig *used = gpus(2, (const char *const[]){"1", "10"});
    assert_true(fragmentation(used, &half, NULL) >= fragmentation(fresh, &half, NULL));
    rig_free(fresh);
    rig_free(used);
}

static void summary_of_a_view_says_what_its_devices_do(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct sl_demand demand = {0};
    unsigned fitting = 0;
    add(&demand, MEM, 3, 2000, 5);
    add(&demand, MEM, 8, 4000, 4);
    add(&demand, GPU, 1, 8000, 4);
    add(&demand, GPU, 2, 20000, 2);
    for (unsigned round = 0; round < 300; round++) {
        char text[8][8];
        const char *used[8];
        for (unsigned i = 0; i < 8; i++) {
            snprintf(text[i], sizeof(text[i]), "%u", 1 + rig_random(&seed, UNITS));
            used[i] = rig_random(&seed, 3) == 0 ? NULL : text[i];
        }
        struct rig *rig = gpus(8, used);
        rig->node.host.cpu_milli = (int64_t)rig_random(&seed, 100000);
        struct sl_ask ask = round % 2 == 0 ? rig_ask(MEM, 1 + rig_random(&seed, UNITS))
                                           : rig_ask(GPU, 1 + rig_random(&seed, 2));
        ask.cpu_milli = rig_random(&seed, 9000);
        struct sl_score by_gaps = score(rig, &ask, &demand);
        struct sl_score by_devices;
        rig->view->idle.steps = 0;
        sl_score(rig->view, &ask, &demand, &(struct sl_score_config){.weight = {1}}, &by_devices);
        assert_memory_equal(by_gaps.term, by_devices.term, sizeof by_gaps.term);
        fitting += sl_fit(rig->view, &ask, NULL);
        rig_free(rig);
    }
    assert_in_range(fitting, 100, 299);
}

/* ---- weights ---- */

static void weights_go_by_the_kind_of_the_ask(void **state)
{
    (void)state;
    struct sl_score_config config = {.weight = {7}};
    config.by_kind[SL_KIND_MEMORY][SL_TERM_PACKING] = 5;
    config.by_kind[SL_KIND_WHOLE][SL_TERM_WHOLE] = 4;
    struct sl_ask mem = rig_ask(MEM, 1);
    struct sl_ask gpu = rig_ask(GPU, 1);
    struct sl_ask both = rig_ask2(GPU, 1, MEM, 1);
    struct sl_ask mig = rig_ask("nvidia.com/mig-1g.5gb", 1);
    assert_ptr_equal(sl_score_weights(&config, &mem), config.by_kind[SL_KIND_MEMORY]);
    assert_ptr_equal(sl_score_weights(&config, &gpu), config.by_kind[SL_KIND_WHOLE]);
    assert_ptr_equal(sl_score_weights(&config, &both), config.by_kind[SL_KIND_MEMORY]);
    assert_ptr_equal(sl_score_weights(&config, &mig), config.weight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_what_six_times_eight_offers_leave),
        cmocka_unit_test(large_numbers_stay_within_bounds),
        cmocka_unit_test(share_that_fills_a_gap_is_better_than_one_that_leaves_a_piece),
        cmocka_unit_test(node_that_runs_out_of_cpu_is_spared_by_those_who_want_much),
        cmocka_unit_test(odd_gpu_goes_before_one_of_a_pair),
        cmocka_unit_test(share_on_a_shared_gpu_breaks_no_pair),
        cmocka_unit_test(where_only_counts_are_known_whole_gpus_are_counted),
        cmocka_unit_test(ask_of_several_items_is_scored_by_where_it_really_goes),
        cmocka_unit_test(without_demand_the_ask_itself_is_typical),
        cmocka_unit_test(summary_of_a_view_says_what_its_devices_do),
        cmocka_unit_test(weights_go_by_the_kind_of_the_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
