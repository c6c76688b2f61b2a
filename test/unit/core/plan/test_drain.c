/* What the plan does before and while GPUs are cut: drains, and rows that tell of a cut. */
#include "plan_rig.h"

#define SLICE "nvidia.com/mig-1g.6gb"
#define WHOLE "nvidia.com/mig-4g.24gb" /* of the same GPU; no node has it until it is cut */

enum { SLICES = 4, NODES = 3 };

static struct sl_instance instances[NODES][SLICES];

/* A node with one A30, cut into four slices, that sliced may have cut otherwise. */
static void sliced_node(struct plan_rig *rig, const char *name)
{
    struct sl_instance *instance = instances[rig->n_nodes];
    struct plan_rig_node *n = plan_rig_node(rig, name, 1);
    const struct sl_mig_model *a30 = sl_mig_model_find(SL_STR("NVIDIA-A30"), 0);
    const struct sl_mig_profile *profile = sl_mig_profile_find(a30, SL_STR("1g.6gb"));
    for (int i = 0; i < SLICES; i++) {
        instance[i] = (struct sl_instance){.profile = profile, .start = (int8_t)i};
    }
    n->node.dynamic_mig = true;
    n->node.partition.actuator = SL_ACTUATOR_MIG_MANAGER;
    n->node.model = a30;
    n->node.instance = instance;
    n->node.n_instances = SLICES;
    n->device[0].mig = true;
    n->device[0].model = a30;
    n->pool[0].resource = SLICE;
    n->pool[0].key = sl_hash(SLICE, strlen(SLICE));
    n->pool[0].kind = SL_KIND_MIG;
    n->pool[0].profile = profile;
    n->pool[0].capacity = SLICES;
}

static struct plan_rig_pod *wait_for(struct plan_rig *rig, const char *name, const char *resource,
                                     int64_t timeout_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, resource, 1, timeout_s);
    plan_rig_put(rig, p);
    return p;
}

static void drain_for(struct plan_rig *rig, const char *node, const char *pod, int64_t until_us)
{
    const uint64_t slice = sl_hash(SLICE, strlen(SLICE));
    sl_planner_drain(rig->planner, sl_str_of(node), sl_str_of(pod), until_us, &slice, 1);
}

static void drain(struct plan_rig *rig, const char *node, int64_t seconds)
{
    drain_for(rig, node, "big", rig->now_us + SECONDS(seconds));
}

static int drained(void **state)
{
    struct plan_rig *rig = plan_rig_new();
    sliced_node(rig, "n1");
    wait_for(rig, "big", WHOLE, 500);
    rig->now_us += SECONDS(1);
    assert_string_equal(plan_rig_plan(rig), "");
    drain(rig, "n1", 100);
    wait_for(rig, "long", SLICE, 101);
    wait_for(rig, "short", SLICE, 100);
    *state = rig;
    return 0;
}

static const char short_goes[] = "backfill short on n1: " SLICE "=0/0\n";
static const char long_follows[] = "nomination long on n1: " SLICE "=0/1\n";

/* ---- drains ---- */

TEST_FIXTURE(drained, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, a_drained_node_goes_to_pods_that_end_in_time)
{
    assert_string_equal(plan_rig_plan(rig), short_goes);
    assert_string_equal(plan_rig_state(rig, "big"), "Held NoRoom");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
}

/* Of a drain for others resources nothing is kept from them. */
TEST_ON(struct plan_rig *rig, a_drain_keeps_only_the_units_of_its_resources)
{
    const uint64_t other = sl_hash(WHOLE, strlen(WHOLE));
    sl_planner_drain(rig->planner, SL_STR("n1"), SL_STR("big"), rig->now_us + SECONDS(100), &other,
                     1);
    assert_string_equal(plan_rig_plan(rig), "nomination long on n1: " SLICE "=0/0\n"
                                            "nomination short on n1: " SLICE "=0/1\n");
}

/* No keys: those of the earlier drain. */
TEST_ON(struct plan_rig *rig, a_drain_goes_on_with_the_resources_that_it_had)
{
    sl_planner_drain(rig->planner, SL_STR("n1"), SL_STR("big"), rig->now_us + SECONDS(99), NULL, 0);
    assert_string_equal(plan_rig_plan(rig), "");
}

/* "big" may run for 500 s: after 62 s pods that came later do not go ahead of it any more. */
TEST_THAT(pods_that_came_later_give_way_to_one_that_was_patient)
{
    struct plan_rig *rig = plan_rig_new();
    rig->config.order.kind = SL_ORDER_SJF;
    plan_rig_configure(rig);
    sliced_node(rig, "n1");
    wait_for(rig, "big", WHOLE, 500);
    assert_string_equal(plan_rig_plan(rig), "");
    drain(rig, "n1", 300);
    rig->now_us += SECONDS(55);
    wait_for(rig, "early", SLICE, 400);
    assert_string_equal(plan_rig_plan(rig), "nomination early on n1: " SLICE "=0/0\n");
    rig->now_us += SECONDS(8);
    wait_for(rig, "late", SLICE, 400);
    assert_string_equal(plan_rig_plan(rig), "");
    struct plan_rig_pod *urgent = plan_rig_pod(rig, "urgent", SLICE, 1, 400);
    urgent->pod.priority = 1;
    plan_rig_put(rig, urgent);
    assert_string_equal(plan_rig_plan(rig), "nomination urgent on n1: " SLICE "=0/1\n");
    plan_rig_free(rig);
}

/* Pods of one ask are not alike here: some came before the drain's pod. */
TEST_THAT(a_pod_that_gives_way_holds_none_that_does_not)
{
    struct plan_rig *rig = plan_rig_new();
    rig->config.order.kind = SL_ORDER_SJF;
    plan_rig_configure(rig);
    sliced_node(rig, "n1");
    assert_string_equal(plan_rig_plan(rig), "");
    wait_for(rig, "early", SLICE, 450);
    rig->now_us += SECONDS(1);
    wait_for(rig, "big", WHOLE, 500);
    drain(rig, "n1", 300);
    rig->now_us += SECONDS(63);
    wait_for(rig, "late", SLICE, 400); /* has the reservation */
    wait_for(rig, "later", SLICE, 401);
    assert_string_equal(plan_rig_plan(rig), "backfill early on n1: " SLICE "=0/0\n");
    assert_string_equal(plan_rig_state(rig, "late"), "Held Behind");
    plan_rig_free(rig);
}

/* The cutter counts so, too: what came first but was kept by a gate of others was not waiting. */
TEST_THAT(a_pod_that_was_gated_by_others_gives_way_though_it_came_first)
{
    struct plan_rig *rig = plan_rig_new();
    rig->config.order.kind = SL_ORDER_SJF;
    plan_rig_configure(rig);
    sliced_node(rig, "n1");
    struct plan_rig_pod *late = plan_rig_pod(rig, "late", SLICE, 1, 400);
    late->pod.gate = SL_GATE_OTHERS;
    plan_rig_put(rig, late);
    rig->now_us += SECONDS(1);
    wait_for(rig, "big", WHOLE, 500);
    assert_string_equal(plan_rig_plan(rig), "");
    drain(rig, "n1", 300);
    rig->now_us += SECONDS(63);
    struct plan_rig_pod *open = plan_rig_pod(rig, "late", SLICE, 1, 400);
    open->pod.created_us = late->pod.created_us;
    plan_rig_put(rig, open);
    assert_string_equal(plan_rig_plan(rig), "");
    plan_rig_free(rig);
}

TEST_ON(struct plan_rig *rig, a_drain_ends_at_its_time)
{
    struct sl_queue_row row;
    assert_string_equal(plan_rig_plan(rig), short_goes);
    plan_rig_bind(rig, "short");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_true(plan_rig_row(rig, "long", &row));
    assert_int_equal(row.estimate, SL_ESTIMATE_RESERVED);
    assert_int_equal(row.start_us, rig->now_us + SECONDS(100));
    assert_int_equal(sl_planner_wake(rig->planner), rig->now_us + SECONDS(100));
    rig->now_us += SECONDS(100) - 1;
    assert_string_equal(plan_rig_run(rig, 9), "");
    rig->now_us += 1;
    assert_string_equal(plan_rig_run(rig, 9), long_follows);
}

TEST_ON(struct plan_rig *rig, each_of_two_drains_ends_at_its_time)
{
    sliced_node(rig, "n2");
    plan_rig_cluster(rig);
    drain(rig, "n2", 50);
    assert_string_equal(plan_rig_run(rig, 9), short_goes);
    plan_rig_bind(rig, "short");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_int_equal(sl_planner_wake(rig->planner), rig->now_us + SECONDS(50));
    rig->now_us += SECONDS(50);
    assert_string_equal(plan_rig_run(rig, 9), "nomination long on n2: " SLICE "=0/0\n");
}

TEST_ON(struct plan_rig *rig, a_drain_ends_when_it_is_told_to)
{
    assert_string_equal(plan_rig_plan(rig), short_goes);
    drain_for(rig, "n1", "", 0);
    assert_string_equal(plan_rig_run(rig, 9), long_follows);
    drain_for(rig, "n1", "", 0);
    assert_string_equal(plan_rig_run(rig, 9), "");
}

TEST_ON(struct plan_rig *rig, a_drain_ends_with_the_wait_of_its_pod)
{
    assert_string_equal(plan_rig_plan(rig), short_goes);
    sl_planner_remove(rig->planner, SL_STR("big"), rig->now_us);
    assert_string_equal(plan_rig_run(rig, 9), long_follows);
}

TEST_ON(struct plan_rig *rig, a_later_drain_replaces_the_earlier)
{
    drain(rig, "n1", 50);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "short"), "Held Behind");
    drain(rig, "n1", 101);
    assert_string_equal(plan_rig_run(rig, 9), "nomination long on n1: " SLICE "=0/0\n"
                                              "nomination short on n1: " SLICE "=0/1\n");
}

TEST_ON(struct plan_rig *rig, a_drain_holds_no_pod_ahead_of_its_own)
{
    struct plan_rig_pod *ahead = plan_rig_pod(rig, "ahead", SLICE, 1, 9999);
    ahead->pod.priority = 1;
    plan_rig_put(rig, ahead);
    assert_string_equal(plan_rig_plan(rig), "nomination ahead on n1: " SLICE "=0/0\n"
                                            "backfill short on n1: " SLICE "=0/1\n");
}

TEST_ON(struct plan_rig *rig, other_nodes_are_given_as_ever)
{
    sliced_node(rig, "n2");
    assert_string_equal(plan_rig_plan(rig), "nomination long on n2: " SLICE "=0/0\n"
                                            "nomination short on n2: " SLICE "=0/1\n");
}

TEST_ON(struct plan_rig *rig, a_drain_stays_with_a_node_that_changes_and_goes_with_it)
{
    assert_string_equal(plan_rig_plan(rig), short_goes);
    rig->node[0].node.host.pods = 100;
    rig->node[0].node.site_digest = 7;
    assert_string_equal(plan_rig_plan(rig), "");
    rig->n_nodes = 0;
    assert_string_equal(plan_rig_plan(rig), "expire short on n1: NoRoom\n");
    assert_int_equal(sl_planner_wake(rig->planner), INT64_MAX);
    rig->n_nodes = 1;
    assert_string_equal(plan_rig_plan(rig), "nomination long on n1: " SLICE "=0/0\n"
                                            "nomination short on n1: " SLICE "=0/1\n");
}

TEST_ON(struct plan_rig *rig, a_drain_of_what_is_not_known_or_is_over_holds_nobody)
{
    drain(rig, "n9", 100);
    drain(rig, "n1", -1);
    assert_string_equal(plan_rig_plan(rig), "nomination long on n1: " SLICE "=0/0\n"
                                            "nomination short on n1: " SLICE "=0/1\n");
    drain_for(rig, "n1", "nobody", INT64_MAX);
    wait_for(rig, "third", SLICE, 99999);
    assert_string_equal(plan_rig_run(rig, 9), "nomination third on n1: " SLICE "=0/2\n");
}

TEST_ON(struct plan_rig *rig, a_drain_lasts_as_long_when_the_clock_is_put)
{
    assert_string_equal(plan_rig_plan(rig), short_goes);
    rig->now_us += SECONDS(-3600);
    sl_planner_rebase(rig->planner, SECONDS(-3600), rig->now_us);
    rig->now_us += SECONDS(100) - 1;
    (void)plan_rig_run(rig, 9);
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
    rig->now_us += 1;
    (void)plan_rig_run(rig, 9);
    assert_string_equal(plan_rig_state(rig, "long"), "Nominated None");
}

/* ---- the promise comes first ---- */

TEST_ON(struct plan_rig *rig, a_pod_that_would_be_late_goes_in_spite_of_a_drain)
{
    struct sl_queue_row row;
    rig->config.order.kind = SL_ORDER_BOUNDED;
    plan_rig_configure(rig);
    wait_for(rig, "first", WHOLE, 1); /* the shortest: all others are behind it */
    drain_for(rig, "n1", "first", rig->now_us + SECONDS(100));
    assert_string_equal(plan_rig_plan(rig), "nomination short on n1: " SLICE "=0/0\n"
                                            "nomination long on n1: " SLICE "=0/1\n");
    assert_true(plan_rig_row(rig, "first", &row));
}

/* A few slices, pods of random times that run as long as they state, and drains at random. */
struct play {
    struct plan_rig *rig;
    uint32_t seed;
    unsigned n;
    unsigned n_ended;
    struct {
        int64_t submit_us;
        int64_t run_us;
        int64_t start_us; /* 0: it has not started */
        bool ended;
    } pod[200];
    int64_t drained_us[NODES];
    unsigned held;   /* times that a pod was held though a slice was free */
    unsigned lifted; /* starts in spite of a drain */
};

static int64_t draw(struct play *play, int64_t below)
{
    play->seed = play->seed * 1664525U + 1013904223U;
    return (play->seed >> 8) % below;
}

static void arrive(struct play *play, unsigned i)
{
    char name[PLAN_NAME];
    (void)snprintf(name, sizeof(name), "p%03u", i);
    play->rig->now_us = play->pod[i].submit_us;
    wait_for(play->rig, name, SLICE, play->pod[i].run_us / SECONDS(1));
}

static void bind_nominated(struct play *play)
{
    struct plan_rig *rig = play->rig;
    unsigned running = 0;
    unsigned waiting = 0;
    for (unsigned i = 0; i < play->n; i++) {
        struct sl_queue_row row;
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "p%03u", i);
        if (play->pod[i].start_us == 0 && plan_rig_row(rig, name, &row)) {
            waiting += row.state != SL_QUEUE_NOMINATED;
            if (row.state == SL_QUEUE_NOMINATED) {
                int64_t until_us = play->drained_us[row.node[1] - '1'];
                play->lifted +=
                    until_us > rig->now_us && rig->now_us + play->pod[i].run_us > until_us;
                play->pod[i].start_us = rig->now_us;
                plan_rig_bind(rig, name);
            }
        }
        running += play->pod[i].start_us > 0 && !play->pod[i].ended;
    }
    play->held += waiting > 0 && running < NODES * SLICES;
}

static void end_due(struct play *play)
{
    for (unsigned i = 0; i < play->n; i++) {
        if (play->pod[i].start_us > 0 && !play->pod[i].ended &&
            play->pod[i].start_us + play->pod[i].run_us <= play->rig->now_us) {
            char name[PLAN_NAME];
            (void)snprintf(name, sizeof(name), "p%03u", i);
            plan_rig_end(play->rig, name);
            play->pod[i].ended = true;
            play->n_ended++;
        }
    }
}

static void drain_some(struct play *play)
{
    for (unsigned i = 0; i < NODES; i++) {
        char name[] = {'n', (char)('1' + i), '\0'};
        if (draw(play, 4) == 0) {
            play->drained_us[i] = play->rig->now_us + SECONDS(draw(play, 200));
            drain_for(play->rig, name, "big", play->drained_us[i]);
        }
    }
}

static int64_t next_event(const struct play *play, unsigned arrived)
{
    int64_t at_us = arrived < play->n ? play->pod[arrived].submit_us : INT64_MAX;
    for (unsigned i = 0; i < play->n; i++) {
        int64_t end_us = play->pod[i].start_us + play->pod[i].run_us;
        bool runs = play->pod[i].start_us > 0 && !play->pod[i].ended;
        at_us = runs && end_us < at_us ? end_us : at_us;
    }
    int64_t wake_us = sl_planner_wake(play->rig->planner);
    wake_us = wake_us > play->rig->now_us ? wake_us : play->rig->now_us + 1;
    return wake_us < at_us ? wake_us : at_us;
}

static void play_all(struct play *play)
{
    unsigned arrived = 0;
    for (unsigned step = 0; play->n_ended < play->n; step++) {
        assert_true(step < 100000);
        while (arrived < play->n && play->pod[arrived].submit_us <= play->rig->now_us) {
            arrive(play, arrived);
            arrived++;
        }
        end_due(play);
        drain_some(play);
        (void)plan_rig_plan(play->rig);
        bind_nominated(play);
        play->rig->now_us = next_event(play, arrived);
    }
}

/* The longest wait if no pod overtook. */
static int64_t longest_in_line(const struct play *play)
{
    int64_t free_us[NODES * SLICES] = {0};
    int64_t last_us = 0;
    int64_t longest_us = 0;
    for (unsigned i = 0; i < play->n; i++) {
        unsigned first = 0;
        for (unsigned k = 0; k < NODES * SLICES; k++) {
            first = free_us[k] < free_us[first] ? k : first;
        }
        int64_t at_us = play->pod[i].submit_us > last_us ? play->pod[i].submit_us : last_us;
        last_us = at_us > free_us[first] ? at_us : free_us[first];
        free_us[first] = last_us + play->pod[i].run_us;
        int64_t wait_us = last_us - play->pod[i].submit_us;
        longest_us = wait_us > longest_us ? wait_us : longest_us;
    }
    return longest_us;
}

static void play_set_up(struct play *play, uint32_t seed, enum sl_order_kind order)
{
    *play = (struct play){.rig = plan_rig_new(), .seed = seed, .n = 200};
    play->rig->config.order.kind = order;
    plan_rig_configure(play->rig);
    sliced_node(play->rig, "n1");
    sliced_node(play->rig, "n2");
    sliced_node(play->rig, "n3");
    struct plan_rig_pod *big = plan_rig_pod(play->rig, "big", WHOLE, 1, 1);
    /* The shortest; of bounded also the last, so that no pod gives way to it when it is due. */
    big->pod.created_us += order == SL_ORDER_BOUNDED ? SECONDS(100000) : SECONDS(-1);
    plan_rig_put(play->rig, big);
    int64_t at_us = play->rig->now_us;
    for (unsigned i = 0; i < play->n; i++) {
        at_us += SECONDS(draw(play, 20));
        play->pod[i].submit_us = at_us;
        play->pod[i].run_us = SECONDS(2 + draw(play, draw(play, 4) == 0 ? 400 : 60));
    }
}

TEST_THAT(no_pod_of_the_order_bounded_is_late_for_a_drain)
{
    unsigned held = 0;
    unsigned lifted = 0;
    for (uint32_t seed = 1; seed <= 12; seed++) {
        struct play play;
        play_set_up(&play, seed, SL_ORDER_BOUNDED);
        play_all(&play);
        int64_t longest_us = longest_in_line(&play);
        for (unsigned i = 0; i < play.n; i++) {
            int64_t wait_us = play.pod[i].start_us - play.pod[i].submit_us;
            if (wait_us * 1000 > longest_us * (SL_PROMISE_C_DEFAULT + 500)) {
                fail_msg("seed %u: p%03u waits %lld us, the longest in line %lld us", seed, i,
                         (long long)wait_us, (long long)longest_us);
            }
        }
        held += play.held;
        lifted += play.lifted;
        plan_rig_free(play.rig);
    }
    assert_true(held > 0);
    assert_true(lifted > 0);
}

TEST_THAT(no_pod_of_another_order_takes_drained_units_past_the_end)
{
    unsigned held = 0;
    for (uint32_t seed = 1; seed <= 4; seed++) {
        struct play play;
        play_set_up(&play, seed, SL_ORDER_FIFO);
        play_all(&play);
        assert_int_equal(play.lifted, 0);
        held += play.held;
        plan_rig_free(play.rig);
    }
    assert_true(held > 0);
}

/* ---- rows ---- */

TEST_ON(struct plan_rig *rig, the_row_of_a_pod_without_room_tells_of_its_cut)
{
    struct sl_queue_row row;
    char text[SL_PLAN_TEXT_MAX];
    const char *said = "GPU 0 of n1 is being cut into 1x 4g.24gb for it; about 40 s";
    (void)plan_rig_plan(rig);
    sl_planner_set_cut(rig->planner, SL_STR("big"), "n1", said, rig->now_us + SECONDS(40));
    assert_string_equal(plan_rig_state(rig, "big"), "Held Cut");
    assert_true(plan_rig_row(rig, "big", &row));
    assert_string_equal(row.why, said);
    assert_string_equal(row.node, "n1");
    assert_int_equal(row.estimate, SL_ESTIMATE_LAID_OUT);
    assert_int_equal(row.start_us, rig->now_us + SECONDS(40));
    (void)sl_queue_text(&row, rig->now_us, text, sizeof(text));
    assert_string_equal(text, "held: first for " WHOLE "; GPU 0 of n1 is being cut into 1x 4g.24gb "
                              "for it; about 40 s; estimated start in 40s");
    sl_planner_set_cut(rig->planner, SL_STR("big"), "n2", "GPU 1", 5);
    assert_true(plan_rig_row(rig, "big", &row));
    assert_string_equal(row.node, "n2");
    assert_int_equal(row.estimate, SL_ESTIMATE_NONE); /* it is overdue */
    assert_int_equal(row.start_us, 0);
    (void)sl_queue_text(&row, rig->now_us, text, sizeof(text));
    assert_string_equal(text, "held: first for " WHOLE "; GPU 1; that takes longer than expected");
    sl_planner_set_cut(rig->planner, SL_STR("big"), NULL, NULL, 0);
    assert_string_equal(plan_rig_state(rig, "big"), "Held NoRoom");
    sl_planner_set_cut(rig->planner, SL_STR("nobody"), "n1", said, 5);
}

TEST_ON(struct plan_rig *rig, a_pod_that_has_room_hears_nothing_of_cuts)
{
    sl_planner_set_cut(rig->planner, SL_STR("short"), "n1", "a cut", 5);
    sl_planner_set_cut(rig->planner, SL_STR("long"), "n1", "a cut", 5);
    assert_string_equal(plan_rig_plan(rig), short_goes);
    assert_string_equal(plan_rig_state(rig, "short"), "Nominated None");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
}

/* ---- nodes that are withheld ---- */

TEST_ON(struct plan_rig *rig, a_withheld_node_holds_pods_and_refuses_none)
{
    rig->node[0].node.partition.cut = "sliced-1-1";
    wait_for(rig, "gpu", GPU, 10);
    assert_string_equal(plan_rig_plan(rig), "refuse gpu: Never\n");
    assert_string_equal(plan_rig_state(rig, "short"), "Held NoRoom");
    rig->node[0].node.partition.cut = NULL;
    assert_string_equal(plan_rig_plan(rig), short_goes);
}

TEST_ON(struct plan_rig *rig, a_pod_waits_for_a_whole_gpu_where_gpus_may_become_whole)
{
    rig->n_nodes = 0;
    (void)plan_rig_plan(rig);
    rig->n_nodes = 1;
    rig->node[0].node.partition.mig_mode = true;
    wait_for(rig, "gpu", GPU, 10);
    (void)plan_rig_plan(rig);
    assert_string_equal(plan_rig_state(rig, "gpu"), "Held NoRoom");
}
