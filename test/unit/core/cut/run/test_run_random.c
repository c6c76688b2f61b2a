/* Cuts under way while anything happens to the node, the agent and the writes: whoever looks only
 * when something changed or at wake_us sees all that happens each second; a clock that is put
 * changes nothing; and each outcome tells the truth about what the node showed. */
#include "unit/core/request/facts_rig.h"

#include "sliced/cut_run.h"
#include "sliced/node.h"

enum { RUNS = 1500, SECONDS = 700, TIMEOUT_S = 300 };

static const int64_t second = 1000000;
static const int64_t begin_us = INT64_C(1000000) * 1000000;
static const struct sl_cut_rules rules = {.timeout_us = TIMEOUT_S * INT64_C(1000000),
                                          .backoff_us = 60 * INT64_C(1000000),
                                          .max_backoff_us = 600 * INT64_C(1000000),
                                          .file_us = 5 * INT64_C(1000000)};

/* What is allocatable: as before the cut, as ordered, something else, nothing. */
enum pools { BEFORE, ORDERED, OTHER, NONE, POOLS };

struct world {
    struct facts_rig facts;
    struct sl_node *node;
    uint64_t random;
    enum sl_actuator actuator;
    bool deselected;
    bool marked; /* sliced.dev/cut */
    bool applied;
    char wanted[SL_CUT_NAME_MAX + 2];
    char name[SL_CUT_NAME_MAX]; /* that was ordered last */
    unsigned state;
    enum pools pools;
    int64_t now_us;
    bool refused;
};

static unsigned draw(struct world *world, unsigned n)
{
    world->random = world->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(world->random >> 33) % n;
}

static void show(struct world *world)
{
    static const char *const states[] = {NULL, "pending", "rebooting", "success", "failed"};
    static const char *const mig[] = {"mig-3g.40gb=1 mig-4g.40gb=1", "mig-1g.10gb=7",
                                      "mig-3g.40gb=1 mig-4g.40gb=2", NULL};
    static const char *const mps[] = {"gpu-80gb=1", "gpu-10gb=8", "gpu-20gb=4", NULL};
    bool shares = world->actuator == SL_ACTUATOR_NOS_MPS;
    struct facts_rig *facts = &world->facts;
    facts_free(facts);
    facts_init(facts);
    struct sl_node_facts node = {
        .name = SL_STR("n"), .actuator = world->deselected ? SL_ACTUATOR_NONE : world->actuator};
    node.labels = facts_pairs(facts, "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB "
                                     "nvidia.com/gpu.count=1 nvidia.com/gpu.memory=81920");
    if (shares) {
        facts_pair(facts, &node.labels, "nos.nebuly.com/gpu-partitioning", "mps");
    }
    if (world->wanted[0] != '\0' && world->actuator == SL_ACTUATOR_NOS_MIG) {
        facts_pair(facts, &node.annotations, "nos.nebuly.com/spec-partitioning-plan",
                   world->wanted);
    } else if (world->wanted[0] != '\0') {
        facts_pair(facts, &node.labels,
                   shares ? "nvidia.com/device-plugin.config" : "nvidia.com/mig.config",
                   world->wanted);
    }
    if (world->applied && world->actuator == SL_ACTUATOR_NOS_MIG) {
        facts_pair(facts, &node.annotations, "nos.nebuly.com/status-partitioning-plan",
                   world->name);
    }
    if (states[world->state] != NULL && world->actuator == SL_ACTUATOR_MIG_MANAGER) {
        facts_pair(facts, &node.labels, "nvidia.com/mig.config.state", states[world->state]);
    }
    if (world->marked) {
        facts_pair(facts, &node.annotations, "sliced.dev/cut", world->name);
    }
    for (const struct sl_pair *p = facts_pairs(facts, (shares ? mps : mig)[world->pools]);
         p != NULL; p = p->next) {
        char key[96];
        (void)snprintf(key, sizeof(key), "nvidia.com/%s", p->key.s);
        facts_pair(facts, &node.allocatable, key, p->value.s);
        if (shares) {
            (void)snprintf(key, sizeof(key), "nos.nebuly.com/status-gpu-0-%s-free",
                           p->key.s + strlen("gpu-"));
            facts_pair(facts, &node.annotations, key, p->value.s);
        }
    }
    sl_node_unref(world->node);
    world->node = sl_node_new(&node, NULL);
    assert_non_null(world->node);
}

/* Is that attempt what the agent is told? */
static bool is_told(const struct world *world, const struct sl_cut_run *run)
{
    return strstr(world->wanted, run->name) != NULL;
}

static void happen(struct world *world)
{
    switch (draw(world, 8)) {
    case 0:
        (void)snprintf(world->wanted, sizeof(world->wanted), "%s",
                       draw(world, 4) == 0 ? "another" : world->name);
        break;
    case 1:
        world->deselected = draw(world, 6) == 0;
        break;
    case 2:
        world->marked = world->name[0] != '\0' && draw(world, 3) > 0;
        break;
    case 3:
        world->applied = draw(world, 3) > 0;
        break;
    case 4:
    case 5:
        world->state = draw(world, 5);
        break;
    default:
        world->pools = (enum pools)draw(world, POOLS);
        break;
    }
}

static void written(struct world *world, const struct sl_cut_run *run, enum sl_cut_step step,
                    enum sl_cut_write_end end)
{
    bool seen = end == SL_CUT_WRITTEN || (end == SL_CUT_WRITE_UNKNOWN && draw(world, 2) == 0);
    world->refused = step == SL_CUT_ORDER && end == SL_CUT_WRITE_REFUSED;
    if (!seen || draw(world, 10) == 0) {
        return;
    }
    world->marked = step == SL_CUT_ORDER;
    if (step == SL_CUT_ORDER) {
        (void)snprintf(world->name, sizeof(world->name), "%s", run->name);
        if (!run->announces) {
            (void)snprintf(world->wanted, sizeof(world->wanted), "%s", run->name);
            world->state = world->actuator == SL_ACTUATOR_MIG_MANAGER ? 1 : world->state;
        }
    }
}

/* An outcome tells the truth about what the node shows as it is found. */
static void check_outcome(const struct world *world, const struct sl_cut_run *run)
{
    bool timed_out = world->now_us - run->begun_us >= rules.timeout_us;
    bool managed = world->actuator == SL_ACTUATOR_MIG_MANAGER;
    switch (run->outcome) {
    case SL_CUT_DONE:
        assert_true(is_told(world, run) && (run->resumed || world->pools == ORDERED));
        assert_true(!managed || world->state == 3);
        break;
    case SL_CUT_FAILED:
        assert_true(managed && world->state == 4 && (run->resumed || world->pools == BEFORE));
        break;
    case SL_CUT_HALF_APPLIED:
        assert_true(managed ? world->state == 4 && world->pools != BEFORE
                            : world->applied && world->pools != ORDERED);
        break;
    case SL_CUT_NOT_FOLLOWED:
        assert_true((run->resumed || world->pools != ORDERED) &&
                    (managed ? world->state == 3 : timed_out));
        break;
    case SL_CUT_WEDGED:
        assert_true(timed_out && managed && world->state < 3);
        break;
    case SL_CUT_SILENT:
        assert_true(timed_out && !managed);
        break;
    case SL_CUT_REFUSED:
        assert_true(world->refused || (timed_out && run->unwritten));
        break;
    case SL_CUT_TAKEN:
        assert_true(run->taken);
        break;
    case SL_CUT_LEFT:
        assert_true(world->deselected || !is_told(world, run));
        break;
    default:
        fail_msg("%s", sl_cut_outcome_name(run->outcome));
    }
}

static void begin(struct world *world, uint64_t seed, struct sl_cut_run *run)
{
    static const enum sl_actuator actuators[] = {SL_ACTUATOR_MIG_MANAGER, SL_ACTUATOR_NOS_MIG,
                                                 SL_ACTUATOR_NOS_MPS};
    *world = (struct world){.random = seed * 7919, .now_us = begin_us};
    facts_init(&world->facts);
    world->actuator = actuators[draw(world, 3)];
    (void)snprintf(world->wanted, sizeof(world->wanted), "%s", "before");
    world->state = 3;
    bool resumes = draw(world, 4) == 0;
    if (resumes) {
        (void)snprintf(world->name, sizeof(world->name), "%s", "sliced-0123456789abcdef-2");
        (void)snprintf(world->wanted, sizeof(world->wanted), "%s", world->name);
        world->marked = true;
        world->state = 1;
    }
    show(world);
    if (resumes) {
        assert_true(sl_cut_run_resume(run, world->node, begin_us));
        return;
    }
    struct sl_cut cut = {.n_sizes = 1, .slices = {{10, 8}}};
    if (world->actuator != SL_ACTUATOR_NOS_MPS) {
        cut = (struct sl_cut){.n = 7};
        for (uint8_t i = 0; i < 7; i++) {
            cut.instance[i] = (struct sl_mig_placement){0, i};
        }
    }
    sl_cut_run_begin(run, world->node, &cut, 1, begin_us);
}

static bool same_run(const struct sl_cut_run *a, const struct sl_cut_run *b, int64_t ahead_us)
{
    return a->at == b->at && a->outcome == b->outcome && a->attempt == b->attempt &&
           strcmp(a->name, b->name) == 0 && a->writing == b->writing && a->written == b->written &&
           a->moved == b->moved && a->announces == b->announces &&
           (ahead_us == 0 || a->wake_us == INT64_MAX || a->wake_us + ahead_us == b->wake_us);
}

/* Plays one run twice: looked at each second; and, if lazy, when something changed or it is time,
 * else by a clock that is put now and then. */
static void play(uint64_t seed, bool lazy)
{
    static const enum sl_cut_write_end ends[] = {
        SL_CUT_WRITTEN, SL_CUT_WRITTEN,      SL_CUT_WRITTEN,       SL_CUT_WRITTEN,
        SL_CUT_WRITTEN, SL_CUT_WRITE_FAILED, SL_CUT_WRITE_UNKNOWN, SL_CUT_WRITE_REFUSED};
    struct world world;
    struct sl_cut_run run = {.attempt = 0};
    begin(&world, seed, &run);
    struct sl_cut_run other = run;
    int64_t ahead_us = 0;
    int64_t write_us = 0;
    enum sl_cut_step writes = SL_CUT_WAIT;
    unsigned pace = 5 + draw(&world, 60);
    for (unsigned s = 0; s < SECONDS; s++) {
        bool news = draw(&world, pace) == 0;
        enum sl_cut_outcome before = run.outcome;
        world.now_us += second;
        if (news) {
            happen(&world);
            run.taken = draw(&world, 10) == 0;
            other.taken = run.taken;
        }
        if (writes != SL_CUT_WAIT && world.now_us >= write_us) {
            enum sl_cut_write_end end = ends[draw(&world, sizeof(ends) / sizeof(ends[0]))];
            written(&world, &run, writes, end);
            sl_cut_run_wrote(&run, end, world.now_us);
            sl_cut_run_wrote(&other, end, world.now_us + ahead_us);
            writes = SL_CUT_WAIT;
            news = true;
        }
        if (news) {
            show(&world);
        }
        if (!lazy && draw(&world, 40) == 0) {
            int64_t by_us = ((int64_t)draw(&world, 7200) - 3600) * second;
            sl_times_move(&other, by_us);
            ahead_us += by_us;
            assert_true(run.wake_us == INT64_MAX || other.wake_us == run.wake_us + ahead_us);
        }
        bool looks = !lazy || news || world.now_us >= other.wake_us;
        enum sl_cut_step step = sl_cut_run_step(&run, world.node, &rules, world.now_us);
        if (looks) {
            assert_int_equal(sl_cut_run_step(&other, world.node, &rules, world.now_us + ahead_us),
                             step);
        } else {
            assert_int_equal(step, SL_CUT_WAIT);
        }
        if (!same_run(&run, &other, ahead_us)) {
            fail_msg("seed %u, second %u", (unsigned)seed, s);
        }
        if (run.outcome != before) {
            check_outcome(&world, &run);
        }
        if (step == SL_CUT_END) {
            break;
        }
        if (step != SL_CUT_WAIT) {
            writes = step;
            write_us = world.now_us + second * (1 + draw(&world, 5));
        }
    }
    sl_node_unref(world.node);
    facts_free(&world.facts);
}

TEST_THAT(nothing_is_missed_between_wakes)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        play(seed, true);
    }
}

TEST_THAT(a_clock_that_is_put_changes_nothing)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        play(seed, false);
    }
}

/* The last four plans that failed twice, and no other's memory. */
TEST_THAT(failed_plans_are_remembered_the_last_first)
{
    struct {
        struct sl_cut_record record;
        uint64_t behind;
    } kept = {.behind = 99};
    for (uint64_t digest = 1; digest <= 6; digest++) {
        struct sl_cut_run run = {.outcome = SL_CUT_FAILED, .digest = digest, .moved = true};
        sl_cut_record_note(&kept.record, &run, &rules, begin_us);
        sl_cut_record_note(&kept.record, &run, &rules, begin_us);
        for (uint64_t k = 0; k < SL_CUT_FAILED_KEPT; k++) {
            assert_int_equal(kept.record.failed[k], digest > k ? digest - k : 0);
        }
    }
    assert_int_equal(kept.behind, 99);
}
