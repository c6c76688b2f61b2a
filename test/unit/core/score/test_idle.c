/* The terms fragmentation and whole: the table of gaps against the recursion it stands for, and by
 * example what is preferred to what. */
#include "unit/core/rig.h"

#include "core/score/idle.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define MEM    "aliyun.com/gpu-mem"
#define SHARED "nvidia.com/gpu.shared"

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
            rig_run(rig, ask, text);
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

TEST_THAT(table_is_what_six_times_eight_offers_leave)
{
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
    assert_int_equal(idle->need[UNITS - 1], 0);
    idle = sl_idle_table(&scorer, 0, UNITS, 0);
    assert_int_equal(idle->waste[UNITS], 64000);
    assert_int_equal(idle->need[UNITS], 0);
    assert_int_equal(idle->cpu, 0);
    assert_int_equal(idle->n_groups, 0);
}

TEST_THAT(large_numbers_stay_within_bounds)
{
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

TEST_THAT(share_that_fills_a_gap_is_better_than_one_that_leaves_a_piece)
{
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
}

static double term(double gain, double devices)
{
    return 50 + 50 * gain / ((gain < 0 ? -gain : gain) + 25600 * devices);
}

/* The same, of so many units' worth of waste, rounded. */
static int term_of(int units, int devices)
{
    return (int)(term(units * 64000.0 / UNITS, devices) + 0.5);
}

TEST_THAT(node_that_runs_out_of_cpu_is_spared_by_those_who_want_much)
{
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
}

static int32_t whole(unsigned n, const struct sl_ask *ask, const struct sl_demand *demand)
{
    struct rig *rig = gpus(n, (const char *const[8]){NULL});
    int32_t term = score(rig, ask, demand).term[SL_TERM_WHOLE];
    return term;
}

TEST_THAT(odd_gpu_goes_before_one_of_a_pair)
{
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

TEST_THAT(share_on_a_shared_gpu_breaks_no_pair)
{
    struct sl_demand demand = {0};
    struct sl_ask share = rig_ask(MEM, 6);
    add(&demand, GPU, 2, 0, 1);
    add(&demand, MEM, 6, 0, 1);
    struct rig *shared = gpus(3, (const char *const[]){"6", NULL, NULL});
    assert_int_equal(score(shared, &share, &demand).term[SL_TERM_WHOLE], 50);
    assert_true(whole(2, &share, &demand) < 50);
}

TEST_THAT(where_only_counts_are_known_whole_gpus_are_counted)
{
    struct sl_demand demand = {0};
    struct sl_ask one = rig_ask(GPU, 1);
    add(&demand, GPU, 2, 0, 1);
    struct rig *rig = rig_new();
    rig_pool(rig, GPU, SL_KIND_WHOLE, 4);
    rig->pool[0].on_devices = false;
    assert_true(score(rig, &one, &demand).term[SL_TERM_WHOLE] < 50);
    /* and are worth what they are worth where all is known */
    demand.typical[0].count = 1;
    demand.typical[0].cpu_milli = 8000;
    one.cpu_milli = 1000;
    struct sl_score by[2];
    for (unsigned i = 0; i < 2; i++) {
        rig = rig_new();
        rig_pool(rig, GPU, SL_KIND_WHOLE, 4);
        rig->node.host.cpu_milli = 30000;
        rig->pool[0].on_devices = i == 1;
        for (unsigned k = 0; k < 4; k++) {
            rig_device(rig, 0);
        }
        by[i] = score(rig, &one, &demand);
        rig_free(rig);
    }
    assert_memory_equal(by[0].term, by[1].term, sizeof(by[0].term));
    assert_true(by[0].term[SL_TERM_FRAGMENTATION] > 50); /* a pod that needs less than others */
}

TEST_THAT(ask_of_several_items_is_scored_by_where_it_really_goes)
{
    struct sl_demand demand = {0};
    struct sl_ask both = rig_ask2(GPU, 1, MEM, 6);
    add(&demand, GPU, 1, 0, 1);
    add(&demand, MEM, 6, 0, 1);
    struct rig *shared = gpus(3, (const char *const[]){"14", NULL, NULL});
    struct rig *fresh = gpus(3, (const char *const[]){NULL, NULL, NULL});
    assert_true(fragmentation(shared, &both, &demand) > fragmentation(fresh, &both, &demand));
}

TEST_THAT(without_demand_the_ask_itself_is_typical)
{
    struct sl_demand none = {0};
    struct sl_ask half = rig_ask(MEM, UNITS / 2);
    struct rig *fresh = gpus(1, (const char *const[]){NULL});
    struct rig *used = gpus(2, (const char *const[]){"1", "10"});
    assert_true(fragmentation(used, &half, NULL) >= fragmentation(fresh, &half, NULL));
    assert_int_equal(fragmentation(used, &half, &none), fragmentation(used, &half, NULL));
}

TEST_THAT(summary_of_a_view_says_what_its_devices_do)
{
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
        ask.n = round % 5 == 0 ? 0 : 1; /* some want CPU alone */
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

TEST_THAT(asks_for_what_the_node_does_not_offer_do_not_count)
{
    struct sl_demand shares = {0};
    struct sl_demand all = {0};
    struct sl_ask six = rig_ask(MEM, 6);
    struct rig *rig = rig_new();
    rig_pool(rig, MEM, SL_KIND_MEMORY, INT64_C(2) * UNITS);
    rig_device(rig, UNITS);
    rig_device(rig, UNITS);
    rig_run(rig, rig_ask(MEM, 7), NULL);
    add(&all, SHARED, 1, 100, 3);
    for (int64_t count = 3; count < 12; count += 4) {
        add(&shares, MEM, count, 0, 2);
        add(&all, MEM, count, 0, 2);
        add(&all, GPU, 1 + count % 2, 100, 3);
    }
    struct sl_score one = score(rig, &six, &shares);
    struct sl_score other_score = score(rig, &six, &all);
    assert_memory_equal(one.term, other_score.term, sizeof(one.term));
}

/* A gap is counted in steps rounded down, a share in steps rounded up. */
TEST_THAT(share_that_fits_by_less_than_a_step_is_scored)
{
    struct sl_demand demand = {0};
    struct sl_ask share = rig_ask(MEM, 495);
    struct rig *rig = rig_of_gpus(1, 1000);
    add(&demand, MEM, 400, 0, 1);
    rig_run(rig, rig_ask(MEM, 504), NULL);
    assert_in_range(fragmentation(rig, &share, &demand), 51, 99); /* the odd piece is filled */
}

TEST_THAT(share_leaves_its_gap_less_its_steps)
{
    static const struct sl_score_config config = {.weight = {1}};
    struct sl_demand demand = {0};
    struct sl_scorer scorer;
    struct sl_ask ask = rig_ask(MEM, 401);
    add(&demand, MEM, 590, 0, 1);
    sl_scorer_init(&scorer, &ask, &demand, &config);
    const struct sl_idle *idle = sl_idle_table(&scorer, 1, 1000, 0);
    struct rig *rig = rig_new();
    rig_pool(rig, MEM, SL_KIND_MEMORY, 1000);
    rig_device(rig, 1000);
    rig_run(rig, rig_ask(MEM, 5), NULL);
    int64_t gain = idle->waste[99] - idle->waste[99 - 41];
    assert_true(gain != idle->waste[99] - idle->waste[59]); /* of the 594 units that are left */
    assert_near(fragmentation(rig, &ask, &demand), term((double)gain, 1), 1);
}

/* The same state of GPUs that are shared as replicas, of more units than there are steps, or asked
 * for by a share over several of them. */
TEST_THAT(summary_says_what_devices_do_of_any_sort)
{
    static const char *const resources[] = {SHARED, MEM, GPU};
    uint64_t seed = 6;
    struct sl_demand demand = {0};
    unsigned fitting[2] = {0};
    add(&demand, MEM, 300, 2000, 5);
    add(&demand, SHARED, 1, 4000, 4);
    add(&demand, GPU, 1, 8000, 4);
    add(&demand, GPU, 2, 20000, 2);
    for (unsigned round = 0; round < 400; round++) {
        struct rig *rig = round % 2 == 0 ? rig_of_gpus(4, 1000) : rig_new();
        for (unsigned i = rig->node.n_devices; i < 4; i++) {
            rig_device(rig, 0);
        }
        if (round % 2 != 0) {
            rig_pool(rig, GPU, SL_KIND_WHOLE, 4);
            rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, 12)].replicas = 3;
        }
        rig->pool[0].spans = round % 2 == 0;
        if (round % 4 == 0) { /* whole GPUs first */
            struct sl_pool first = rig->pool[0];
            rig->pool[0] = rig->pool[1];
            rig->pool[1] = first;
        }
        rig->node.host.cpu_milli = 1000 + (int64_t)rig_random(&seed, 50000);
        for (unsigned i = 0; i < 6; i++) {
            unsigned sort = rig_random(&seed, 3);
            bool share = sort == 1;
            struct sl_ask ask =
                rig_ask(resources[sort], share ? 10 + 10 * rig_random(&seed, 100) : 1 + sort / 2);
            if (share && ask.item[0].count > 600) {
                ask.item[0].gpus = 2;
                ask.item[0].count *= 2;
            }
            ask.cpu_milli = rig_random(&seed, 9000);
            struct sl_score by_gaps;
            struct sl_score by_devices;
            if (!sl_fit(rig_view(rig), &ask, NULL)) {
                continue;
            }
            by_gaps = score(rig, &ask, &demand);
            rig->view->idle.steps = 0;
            sl_score(rig->view, &ask, &demand, &(struct sl_score_config){.weight = {1}},
                     &by_devices);
            assert_memory_equal(by_gaps.term, by_devices.term, sizeof(by_gaps.term));
            rig_run(rig, ask, NULL);
            fitting[round % 2]++;
        }
        rig_free(rig);
    }
    assert_true(fitting[0] > 300 && fitting[1] > 300);
}

/* A share of each device counts once, whatever else of the ask goes there. */
TEST_THAT(shares_of_two_sorts_on_one_gpu_are_one_change)
{
    struct sl_demand demand = {0};
    struct sl_ask both = rig_ask2(MEM, 10, SHARED, 1);
    struct sl_ask share = rig_ask(MEM, 10);
    struct rig *rig = rig_of_gpus(2, UNITS);
    add(&demand, GPU, 1, 0, 1);
    rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, 8)].replicas = 4;
    rig->device[1].healthy = false;
    /* half of the one GPU, per device's worth asked for: one for a share, two for both */
    assert_int_equal(fragmentation(rig, &share, &demand), term_of(-UNITS / 2, 1));
    assert_int_equal(fragmentation(rig, &both, &demand), term_of(-UNITS / 2, 2));
}

TEST_THAT(instances_leave_whole_gpus_as_they_are)
{
    const struct sl_mig_model *model = rig_model("A30-24GB");
    struct rig *rig = rig_of_gpus(3, UNITS);
    struct sl_demand demand = {0};
    struct sl_ask alone = rig_ask("nvidia.com/mig-1g.6gb", 1);
    struct sl_ask mixed = rig_ask2("nvidia.com/mig-1g.6gb", 1, GPU, 1);
    add(&demand, GPU, 2, 0, 1);
    rig->node.model = model;
    unsigned pool = rig_pool(rig, "nvidia.com/mig-1g.6gb", SL_KIND_MIG, 1);
    rig->pool[pool].profile = rig_profile(model, "1g.6gb");
    rig_instance(rig, rig_device(rig, 0), 0, pool);
    struct sl_score of_instance = score(rig, &alone, &demand);
    assert_int_equal(of_instance.term[SL_TERM_WHOLE], 50);
    assert_int_equal(of_instance.term[SL_TERM_FRAGMENTATION],
                     of_instance.term[SL_TERM_AVAILABILITY]);
    assert_true(score(rig, &mixed, &demand).term[SL_TERM_WHOLE] > 50);
}

/* ---- weights ---- */

TEST_THAT(weights_go_by_the_kind_of_the_ask)
{
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
    both.item[2] = both.item[1]; /* behind two others */
    both.item[1] = mig.item[0];
    both.n = 3;
    assert_ptr_equal(sl_score_weights(&config, &both), config.by_kind[SL_KIND_MEMORY]);
}

/* ---- sizes and groups ---- */

static int32_t size_of(int32_t steps, int64_t units, int32_t replicas, const char *resource,
                       int64_t count)
{
    const struct sl_idle idle = {.steps = steps, .units = units, .replicas = replicas};
    const struct sl_typical ask = {.kind = rig_item(resource, count).kind, .count = count};
    return sl_idle_size(&idle, &ask);
}

TEST_THAT(sizes_are_in_steps_of_a_device_rounded_up)
{
    assert_int_equal(size_of(20, 20, 0, GPU, 1), 20);
    assert_int_equal(size_of(4, 0, 4, "nvidia.com/gpu.shared", 1), 1);
    assert_int_equal(size_of(100, 0, 3, "nvidia.com/gpu.shared", 1), 34);
    assert_int_equal(size_of(100, 0, 0, "nvidia.com/gpu.shared", 1), 0); /* none there */
    assert_int_equal(size_of(20, 20, 0, MEM, 7), 7);
    assert_int_equal(size_of(100, 80000, 0, MEM, 8000), 10);
    assert_int_equal(size_of(100, 80000, 0, MEM, 8001), 11);
    assert_int_equal(size_of(20, 20, 0, MEM, 20), 20);
    assert_int_equal(size_of(20, 20, 0, MEM, 21), 0); /* more than a device has */
    assert_int_equal(size_of(20, 20, 0, "nvidia.com/mig-1g.5gb", 1), 0);
}

TEST_THAT(groups_share_the_devices_that_are_asked_for)
{
    static const struct sl_score_config config = {.weight = {1}};
    struct sl_demand demand = {0};
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_scorer scorer;
    add(&demand, GPU, 2, 3000, 1);
    add(&demand, GPU, 1, 1000, 1);
    add(&demand, GPU, 4, 8000, 1);
    add(&demand, GPU, 2, 5000, 1);
    sl_scorer_init(&scorer, &ask, &demand, &config);
    const struct sl_idle *idle = sl_idle_table(&scorer, 15, UNITS, 0);
    assert_int_equal(idle->n_groups, 2); /* one GPU breaks no group */
    assert_int_equal(idle->group[0].count, 2);
    assert_int_equal(idle->group[0].share, 65536 * 4 / 9);
    assert_int_equal(idle->group[0].cpu, 4000);
    assert_int_equal(idle->group[1].count, 4);
    assert_int_equal(idle->group[1].share, 65536 * 4 / 9);
    assert_int_equal(idle->group[1].cpu, 8000);
    assert_int_equal(idle->cpu, 1888); /* 17,000 for nine devices */
}

/* ---- the terms, as score.h has them, in floating point ---- */

struct end {
    double waste;
    double need;
    double whole;
    double cpu; /* free */
};

static struct end end_of(struct rig *rig, const struct sl_idle *idle, double cpu)
{
    const struct sl_view *view = rig_view(rig);
    struct end end = {.cpu = cpu};
    for (unsigned i = 0; i < view->node->n_devices; i++) {
        int64_t left = UNITS - view->device[i].memory_units;
        left = view->device[i].whole ? 0 : left;
        end.waste += idle->waste[left];
        end.need += idle->need[left];
        end.whole += left == UNITS;
    }
    return end;
}

static double starved_of(const struct sl_idle *idle, struct end end)
{
    if (end.cpu < 0) {
        return 0; /* the node does not say */
    }
    double margin = end.need * 0.4;
    double spare = end.cpu - end.need;
    double lacking = spare >= margin ? 0 : (margin - spare) * (margin - spare) / (4 * margin);
    return (spare <= -margin ? -spare : lacking) * 64000 / (double)idle->cpu;
}

static double odd_of(const struct sl_idle *idle, struct end end)
{
    double sum = 0;
    for (unsigned g = 0; g < idle->n_groups; g++) {
        int64_t count = idle->group[g].count;
        int64_t times = (int64_t)end.whole / count;
        int64_t by_cpu = (int64_t)end.cpu / idle->group[g].cpu;
        times = by_cpu < times && end.cpu >= 0 ? by_cpu : times;
        sum += (end.whole - (double)(count * times)) * 64000 * idle->group[g].share / 65536;
    }
    return sum;
}

static void assert_terms(struct rig *rig, const struct sl_ask *ask, const struct sl_demand *demand,
                         double cpu)
{
    static const struct sl_score_config config = {.weight = {1}};
    struct sl_scorer scorer;
    sl_scorer_init(&scorer, ask, demand, &config);
    const struct sl_idle *idle = sl_idle_table(&scorer, 31, UNITS, 0);
    rig->node.host.cpu_milli = (int64_t)cpu;
    struct sl_score is = score(rig, ask, demand);
    struct end before = end_of(rig, idle, cpu);
    struct sl_pod *pod = rig_run(rig, *ask, NULL);
    pod->created_us = 1000000; /* after all others */
    struct end after = end_of(rig, idle, cpu - (double)ask->cpu_milli);
    after.cpu = cpu < 0 || after.cpu > 0 ? after.cpu : 0;
    double devices = 0;
    for (unsigned i = 0; i < ask->n; i++) {
        devices += ask->item[i].kind == SL_KIND_WHOLE ? (double)ask->item[i].count : 1;
    }
    double gain = before.waste + starved_of(idle, before) - after.waste - starved_of(idle, after);
    assert_near(is.term[SL_TERM_FRAGMENTATION], term(gain, devices), 1);
    assert_near(is.term[SL_TERM_WHOLE], term(odd_of(idle, before) - odd_of(idle, after), devices),
                1);
}

TEST_THAT(terms_are_what_becomes_of_idle_gpus)
{
    uint64_t seed = 5;
    struct sl_demand demand = {0};
    unsigned judged = 0;
    add(&demand, MEM, 3, 2000, 5);
    add(&demand, MEM, 8, 4000, 4);
    add(&demand, GPU, 1, 8000, 4);
    add(&demand, GPU, 2, 20000, 2);
    add(&demand, GPU, 4, 30000, 2);
    for (unsigned round = 0; round < 300; round++) {
        char text[8][8];
        const char *used[8];
        for (unsigned i = 0; i < 8; i++) {
            snprintf(text[i], sizeof(text[i]), "%u", 1 + rig_random(&seed, UNITS));
            used[i] = rig_random(&seed, 2) == 0 ? NULL : text[i];
        }
        struct rig *rig = gpus(8, used);
        struct sl_ask ask = round % 2 == 0 ? rig_ask(MEM, 1 + rig_random(&seed, UNITS))
                                           : rig_ask(GPU, 1 + rig_random(&seed, 3));
        if (round % 5 == 0) { /* both */
            ask.item[1] = round % 2 == 0 ? rig_item(GPU, 2) : rig_item(MEM, 5);
            ask.n = 2;
        }
        ask.cpu_milli = rig_random(&seed, 9000);
        if (sl_fit(rig_view(rig), &ask, NULL)) {
            bool says = rig_random(&seed, 5) > 0;
            assert_terms(rig, &ask, &demand, says ? 1000.0 + rig_random(&seed, 100000) : -1.0);
            judged++;
        }
        rig_free(rig);
    }
    assert_in_range(judged, 150, 300);
}

TEST_THAT(counts_of_gpus_are_read_whichever_pool_they_are)
{
    struct sl_demand demand = {0};
    struct sl_ask one = rig_ask(GPU, 1);
    struct sl_ask two = rig_ask(GPU, 2);
    add(&demand, GPU, 2, 0, 1);
    struct rig *rig = rig_new();
    rig_pool(rig, "nvidia.com/a", SL_KIND_REPLICA, 4);
    rig->pool[rig_pool(rig, GPU, SL_KIND_WHOLE, 4)].on_devices = false;
    assert_int_equal(score(rig, &one, &demand).term[SL_TERM_WHOLE], 14);
    assert_int_equal(score(rig, &two, &demand).term[SL_TERM_WHOLE], 50);
    rig->pool[1].capacity = 3;
    assert_int_equal(score(rig, &one, &demand).term[SL_TERM_WHOLE], 86);
}

TEST_THAT(what_the_ask_itself_needs_of_cpu_is_typical_without_demand)
{
    static const struct sl_score_config config = {.weight = {1}};
    struct sl_ask both = rig_ask2(MEM, UNITS / 2, GPU, 1);
    struct sl_scorer scorer;
    both.cpu_milli = 3000;
    sl_scorer_init(&scorer, &both, NULL, &config);
    assert_int_equal(scorer.n_typical, 2);
    assert_int_equal(scorer.typical[0].cpu_milli, 3000); /* once for all that it asks */
    assert_int_equal(scorer.typical[1].cpu_milli, 0);
    assert_int_equal(scorer.typical[1].count, 1);
    assert_int_equal(scorer.typical[1].weight, 1);
    assert_int_equal(scorer.typical[1].kind, SL_KIND_WHOLE);
}

TEST_THAT(each_size_of_gpus_has_its_table)
{
    static const struct sl_score_config config = {.weight = {1}};
    static const int32_t replicas[SL_IDLE_TABLES] = {4, 2, 10, 7};
    struct sl_demand demand = {0};
    struct sl_ask ask = rig_ask("nvidia.com/gpu.shared", 1);
    const struct sl_idle *table[SL_IDLE_TABLES];
    struct sl_scorer scorer;
    add(&demand, "nvidia.com/gpu.shared", 1, 1000, 1);
    sl_scorer_init(&scorer, &ask, &demand, &config);
    for (unsigned i = 0; i < SL_IDLE_TABLES; i++) {
        table[i] = sl_idle_table(&scorer, 1, 0, replicas[i]);
        assert_int_equal(table[i]->steps, replicas[i]);
    }
    for (unsigned i = 0; i < SL_IDLE_TABLES; i++) {
        assert_ptr_equal(sl_idle_table(&scorer, 1, 0, replicas[i]), table[i]);
        assert_true(table[i]->waste[1] < 64000 / replicas[i]); /* a replica fits there */
    }
    /* with more sizes the last table is made anew */
    assert_int_equal(sl_idle_table(&scorer, 1, 0, 5)->steps, 5);
    assert_ptr_equal(sl_idle_table(&scorer, 1, 0, 5), table[SL_IDLE_TABLES - 1]);
    assert_ptr_equal(sl_idle_table(&scorer, 1, 0, 4), table[0]);
}

TEST_THAT(asks_that_no_gpu_there_can_hold_do_not_count)
{
    static const struct sl_score_config config = {.weight = {1}};
    struct sl_ask ask = rig_ask(MEM, 3);
    struct sl_demand few = {0};
    add(&few, MEM, 1, 300, 4); /* one step */
    add(&few, GPU, 1, 2000, 1);
    struct sl_demand more = few;
    add(&more, MEM, UNITS + 1, 5000, 7);
    add(&more, "nvidia.com/gpu.shared", 1, 5000, 7); /* there are no replicas */
    struct sl_scorer a;
    struct sl_scorer b;
    sl_scorer_init(&a, &ask, &few, &config);
    sl_scorer_init(&b, &ask, &more, &config);
    const struct sl_idle *x = sl_idle_table(&a, 3, UNITS, 0);
    const struct sl_idle *y = sl_idle_table(&b, 15, UNITS, 0);
    assert_memory_equal(x->waste, y->waste, (UNITS + 1) * sizeof(x->waste[0]));
    assert_memory_equal(x->need, y->need, (UNITS + 1) * sizeof(x->need[0]));
    assert_int_equal(x->cpu, y->cpu);
    assert_near(x->waste[1], 64000.0 / UNITS * 0, 1);
}
