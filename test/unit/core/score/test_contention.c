/* The term contention: what neighbours leave of a shared GPU's time. */
#include "score_rig.h"

TEST_FIXTURE(NULL, rig_free_all)

static const struct sl_score_config only_contention = {.weight = {[SL_TERM_CONTENTION] = 1}};

/* One node of time-sliced GPUs, ten replicas each, and of shares of their memory. */
static struct rig *shared_gpus(unsigned n)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, SHARED, SL_KIND_REPLICA, 10 * (int64_t)n);
    rig->pool[pool].replicas = 10;
    rig_pool(rig, MEM, SL_KIND_MEMORY, 16 * (int64_t)n);
    for (unsigned i = 0; i < n; i++) {
        rig_device(rig, 16);
    }
    return rig;
}

static void put_pod(struct rig *rig, unsigned device)
{
    char where[64];
    struct sl_ask one = rig_ask(SHARED, 1);
    snprintf(where, sizeof where, SHARED "=%u", device);
    rig_run(rig, one, where);
}

/* Measured beside the pods that are there now. */
static void put_load(struct rig *rig, unsigned device, int16_t load)
{
    for (size_t i = rig->n_measured; i <= device; i++) {
        rig->measured[i] = sl_measured_none;
    }
    rig->n_measured = device + 1 > rig->n_measured ? device + 1 : rig->n_measured;
    struct sl_measured *measured = &rig->measured[device];
    measured->pods = sl_view_pods_of(rig_view(rig), device);
    measured->state = SL_SERIES_GOOD;
    measured->load = load;
    measured->settled = true;
}

static int32_t contention(struct rig *rig, const struct sl_ask *ask)
{
    struct sl_score s;
    sl_score(rig_view(rig), ask, NULL, &only_contention, &s);
    assert_int_equal(
        s.total, s.term[SL_TERM_CONTENTION] == SL_SCORE_UNKNOWN ? 50 : s.term[SL_TERM_CONTENTION]);
    return s.term[SL_TERM_CONTENTION];
}

TEST_THAT(one_pod_more_gets_what_others_leave_and_an_equal_part_at_least)
{
    static const struct {
        int16_t load;
        uint16_t n_pods;
        int32_t left;
    } rows[] = {{-1, 0, -1},    {-1, 3, -1},    {0, 0, 1000},  {1000, 0, 1000},
                {0, 1, 1000},   {300, 1, 700},  {500, 1, 500}, {800, 1, 500},
                {1000, 1, 500}, {1000, 4, 200}, {700, 4, 300}, {1000, UINT16_MAX, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sl_measured measured = {.load = rows[i].load, .n_pods = rows[i].n_pods};
        assert_int_equal(sl_measured_left(&measured), rows[i].left);
    }
}

TEST_THAT(idle_neighbour_scores_above_a_busy_one)
{
    struct rig *rig = shared_gpus(1);
    struct sl_ask one = rig_ask(SHARED, 1);
    struct sl_ask share = rig_ask(MEM, 4);
    put_pod(rig, 0);
    put_load(rig, 0, 920);
    assert_int_equal(contention(rig, &one), 50);
    assert_int_equal(contention(rig, &share), 50);
    put_load(rig, 0, 40);
    assert_int_equal(contention(rig, &one), 96);
    put_pod(rig, 0); /* it may have work all the time */
    assert_int_equal(contention(rig, &one), 33);
}

TEST_THAT(of_several_gpus_the_busiest_counts)
{
    struct rig *rig = shared_gpus(3);
    struct sl_ask three = rig_ask(SHARED, 3);
    for (unsigned i = 0; i < 3; i++) {
        put_pod(rig, i);
    }
    put_load(rig, 0, 0);
    put_load(rig, 1, 400);
    put_load(rig, 2, 100);
    assert_int_equal(contention(rig, &three), 60);
    rig->measured[2] = sl_measured_none;
    assert_int_equal(contention(rig, &three), SL_SCORE_UNKNOWN);
}

/* Decisions without telemetry, or with one that is too old, are those of other terms alone. */
TEST_THAT(where_nothing_is_measured_the_total_is_that_of_the_other_terms)
{
    static const struct sl_score_config without = {.weight = {7, 3, 2, 5, 1, 0}};
    static const struct sl_score_config with = {.weight = {7, 3, 2, 5, 1, 900}};
    struct rig *rig = shared_gpus(2);
    struct sl_ask asks[] = {rig_ask(SHARED, 1), rig_ask(MEM, 4), rig_ask2(SHARED, 1, MEM, 4)};
    put_pod(rig, 0);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 3; i++) {
            struct sl_score a;
            struct sl_score b;
            sl_score(rig_view(rig), &asks[i], NULL, &without, &a);
            sl_score(rig->view, &asks[i], NULL, &with, &b);
            assert_memory_equal(&a, &b, sizeof a);
            assert_int_equal(a.term[SL_TERM_CONTENTION], SL_SCORE_UNKNOWN);
        }
        put_load(rig, 0, -1);
        put_load(rig, 1, -1);
        rig->measured[0].state = SL_SERIES_STALE;
    }
}

TEST_THAT(whole_gpus_and_instances_have_no_neighbours)
{
    struct rig *gpus = rig_of_gpus(2, 16);
    struct rig *instances = a30(1, false);
    struct sl_ask whole = rig_ask(GPU, 1);
    struct sl_ask instance = rig_ask(MIG1, 1);
    struct sl_ask nothing = {.cpu_milli = 1000};
    put_load(gpus, 0, 1000);
    put_load(gpus, 1, 1000);
    put_load(instances, 0, 1000);
    assert_int_equal(contention(gpus, &whole), SL_SCORE_UNKNOWN);
    assert_int_equal(contention(gpus, &nothing), SL_SCORE_UNKNOWN);
    assert_int_equal(contention(instances, &instance), SL_SCORE_UNKNOWN);
}

TEST_THAT(one_scorer_tells_nodes_of_different_load_apart)
{
    struct sl_scorer scorer;
    struct sl_score s;
    struct rig *rig = shared_gpus(1);
    struct sl_ask one = rig_ask(SHARED, 1);
    sl_scorer_init(&scorer, &one, NULL, &only_contention);
    put_pod(rig, 0);
    for (int16_t load = 0; load < 500; load = (int16_t)(load + 20)) {
        put_load(rig, 0, load);
        assert_true(sl_scorer_score(&scorer, rig_view(rig), &s));
        assert_int_equal(s.total, 100 - load / 10);
    }
}

/* The total for a GPU that one such pod keeps busy for that long; -1: nobody uses the GPU. */
static int32_t total_beside(const struct sl_ask *ask, const struct sl_score_config *config,
                            int16_t load)
{
    struct rig *rig = shared_gpus(1);
    struct sl_score s;
    if (load >= 0) {
        rig_run(rig, *ask, NULL);
    }
    put_load(rig, 0, load < 0 ? 0 : load);
    sl_score(rig_view(rig), ask, NULL, config, &s);
    return s.total;
}

/* By the defaults of the configuration. */
TEST_THAT(usual_weights_put_idle_neighbours_first)
{
    static const struct sl_score_config replica = {.weight = {100, 50, 0, 0, 0, 50}};
    static const struct sl_score_config memory = {.weight = {0, 10, 0, 100, 30, 20}};
    struct sl_ask one = rig_ask(SHARED, 1);
    struct sl_ask share = rig_ask(MEM, 4);
    assert_true(total_beside(&one, &replica, 50) > total_beside(&one, &replica, 1000));
    assert_true(total_beside(&one, &replica, 1000) > total_beside(&one, &replica, -1));
    assert_true(total_beside(&share, &memory, 50) > total_beside(&share, &memory, -1));
    assert_true(total_beside(&share, &memory, -1) > total_beside(&share, &memory, 1000));
}

TEST_THAT(neighbours_are_told_in_words)
{
    char text[128];
    struct rig *rig = shared_gpus(2);
    struct sl_ask one = rig_ask(SHARED, 1);
    struct sl_ask two = rig_ask(SHARED, 2);
    struct sl_ask many = rig_ask(SHARED, 30);
    sl_contention_text(rig_view(rig), &one, text, sizeof text);
    assert_string_equal(text, "");
    put_load(rig, 0, 0);
    sl_contention_text(rig_view(rig), &one, text, sizeof text);
    assert_string_equal(text, "neighbours on GPU 0: none");
    put_pod(rig, 0);
    put_pod(rig, 1);
    put_load(rig, 0, 920);
    put_load(rig, 1, -1);
    rig->measured[1].state = SL_SERIES_STALE;
    sl_contention_text(rig_view(rig), &two, text, sizeof text);
    assert_string_equal(text, "neighbours on GPU 0: 1, busy 92 %, leave 50 %; neighbours on GPU 1: "
                              "Stale");
    sl_contention_text(rig->view, &two, text, 24);
    assert_string_equal(text, "neighbours on GPU 0: 1,");
    sl_contention_text(rig->view, &many, text, sizeof text);
    assert_string_equal(text, "");
    rig->measured[1].state = SL_SERIES_GOOD; /* memory alone is measured */
    put_pod(rig, 0);
    sl_contention_text(rig_view(rig), &two, text, sizeof text);
    assert_string_equal(text, "neighbours on GPU 0: 2, new and taken as busy, leave 33 %; "
                              "neighbours on GPU 1: not told how busy");
}

/* An SSD engine, as measured on an H100: busy for 11 % alone, halved by a second one. */
static struct sl_ask ssd_ask(struct rig *rig)
{
    struct sl_ask ask = rig_ask(SHARED, 1);
    ask.item[0].memory_mib = 1000;
    ask.item[0].workload = 7;
    rig->measured[0].suffer[0] = (struct sl_measured_suffer){7, 110, 1000};
    return ask;
}

TEST_THAT(who_suffers_gets_an_emptier_gpu_or_one_under_mps)
{
    struct rig *rig = shared_gpus(1);
    struct sl_ask other = rig_ask(SHARED, 1);
    put_load(rig, 0, 0);
    struct sl_ask ssd = ssd_ask(rig);
    assert_int_equal(contention(rig, &ssd), 100); /* nobody is there */
    put_pod(rig, 0);
    put_load(rig, 0, 120);
    ssd = ssd_ask(rig);
    assert_int_equal(contention(rig, &ssd), 50);
    assert_int_equal(contention(rig, &other), 88); /* who is not known to suffer */
    rig->measured[0].load = 0;                     /* who does nothing costs nothing */
    assert_int_equal(contention(rig, &ssd), 100);
    put_pod(rig, 0);
    put_load(rig, 0, 120);
    ssd = ssd_ask(rig);
    assert_int_equal(contention(rig, &ssd), 33);
    rig->pool[0].equal_memory = true;
    assert_int_equal(contention(rig, &ssd), 100);
    rig->measured[0].suffer[0].alone = 1000; /* with little left it is slower there, too */
    rig->measured[0].load = 900;
    assert_int_equal(contention(rig, &ssd), 33);
    rig->measured[0].load = -1;
    assert_int_equal(contention(rig, &ssd), SL_SCORE_UNKNOWN);
}

TEST_THAT(what_suffers_is_told_in_words)
{
    char text[192];
    struct rig *rig = shared_gpus(1);
    struct sl_ask other = rig_ask(SHARED, 1);
    put_pod(rig, 0);
    put_load(rig, 0, 120);
    struct sl_ask ssd = ssd_ask(rig);
    sl_contention_text(rig_view(rig), &ssd, text, sizeof text);
    assert_string_equal(text, "neighbours on GPU 0: 1, busy 12 %, leave 88 %, but its workload, "
                              "busy 11 % alone, runs at 50 % beside them");
    rig->pool[0].equal_memory = true;
    sl_contention_text(rig_view(rig), &ssd, text, sizeof text);
    assert_string_equal(text, "neighbours on GPU 0: 1, busy 12 %, leave 88 %, but its workload, "
                              "busy 11 % alone, runs at 100 % beside them (MPS)");
    sl_contention_text(rig_view(rig), &other, text, sizeof text);
    assert_string_equal(text, "neighbours on GPU 0: 1, busy 12 %, leave 88 %");
}
