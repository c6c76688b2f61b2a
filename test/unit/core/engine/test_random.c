/* Random days of a small cluster: whatever comes, the commands add up to what the engine says of
 * itself, each pod that can start does, and the order in which pods are told of changes nothing. */
#include "engine_rig.h"

#include "util/data/hash.h"

enum { STEPS = 300, LAST = 3000, CAME = 100, WORLDS = 16 };

struct agent {
    int64_t made_us;  /* when it has made what was ordered; 0: it does nothing */
    int64_t wrote_us; /* when the write ends */
    uint64_t write;   /* 0: none is under way */
    struct sl_cut_run run;
};

struct world {
    struct engine_rig rig; /* first */
    uint64_t seed;
    bool backwards; /* the pods that come between two rounds are told of in that order */
    bool quiet;     /* nothing goes wrong, and no pod comes any more */
    unsigned n_came;
    unsigned at[CAME]; /* where the rig has it */
    struct agent agent[ENGINE_NODES];
    int64_t end_us[ENGINE_PODS]; /* of each that runs */
    size_t cutting;
    uint64_t digest; /* of all commands, in whatever order they stand in a round */
    struct sl_plan_stats sum;
};

/* A number below n which depends on the world, the time, what it is for and whom, and on no order.
 */
static unsigned odds(const struct world *world, const char *what, const char *whom, unsigned n)
{
    uint64_t state = world->seed ^ (uint64_t)world->rig.now_us ^ sl_hash(what, strlen(what)) * 31 ^
                     sl_hash(whom, strlen(whom));
    state = (state ^ state >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ state >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (unsigned)((state >> 33) % n);
}

/* ---- commands ---- */

static size_t nominated(const struct engine_rig *rig)
{
    size_t n = 0;
    for (unsigned i = 0; i < rig->n_pods; i++) {
        n += rig->pod[i].waits && rig->pod[i].there != NULL;
    }
    return n;
}

static void note_cut(struct world *world, const struct sl_engine_command *command, bool done)
{
    struct agent *agent = &world->agent[command->node[1] - '0'];
    if (command->kind == SL_DO_CUT_BEGIN && done) {
        assert_true(world->cutting < world->rig.config.cutting.max_nodes);
        world->cutting++;
    } else if (command->kind == SL_DO_CUT_END) {
        world->cutting -= !command->run->resumed;
        agent->write = 0;
    } else if (command->kind == SL_DO_CUT_WRITE && done) {
        agent->write = command->write;
        agent->run = *command->run;
        agent->wrote_us = world->rig.now_us + SL_SECOND_US;
    }
}

static bool act(void *context, const struct sl_engine_command *command)
{
    struct world *world = context;
    struct engine_rig *rig = &world->rig;
    const char *whom = command->pod != NULL ? command->pod->uid : command->node;
    bool fails = !world->quiet && odds(world, "act", whom, 10) == 0;
    rig->refuses_cuts = fails;
    rig->refuses_nominations = fails;
    rig->refuses_releases = fails;
    rig->refuses_writes = fails;
    if (command->kind == SL_DO_NOMINATE) {
        const struct engine_node *node = &rig->node[command->node[1] - '0'];
        assert_false(node->withheld);
        assert_false(node->away);
        assert_true(nominated(rig) < rig->config.max_releases);
        world->sum.nominations++;
        world->sum.failed += fails;
        world->sum.backfills += command->backfilled;
    }
    world->sum.refusals += command->kind == SL_DO_REFUSE;
    bool done = engine_act(rig, command);
    if (command->pod == NULL) {
        note_cut(world, command, done);
    }
    return done;
}

/* ---- what happens between two rounds ---- */

static void come(struct world *world)
{
    static const char *const asks[] = {
        "gpu=1",         "mig-1g.5gb=1",  "mig-1g.5gb=3",       "mig-3g.20gb=1",
        "mig-7g.40gb=1", "mig-2g.10gb=2", "gpu=1 mig-1g.5gb=2", "mig-3g.20gb=1 mig-1g.5gb=1",
    };
    static const int64_t seconds[] = {60, 600, 3600};
    struct engine_rig *rig = &world->rig;
    unsigned n = odds(world, "come", "", 10) < 6 ? 0 : 1 + odds(world, "many", "", 4);
    n = world->quiet || world->n_came + n > CAME ? 0 : n;
    for (unsigned i = 0; i < n; i++) {
        char name[16];
        unsigned k = world->n_came + (world->backwards ? n - 1 - i : i);
        (void)snprintf(name, sizeof(name), "%c/p%u", "ab"[k % 2], k);
        engine_tell(rig, (struct engine_ask){.name = name,
                                             .asks = asks[odds(world, "ask", name, 8)],
                                             .deadline_s = seconds[odds(world, "time", name, 3)],
                                             .priority = (int32_t)odds(world, "rank", name, 2),
                                             .created_us = rig->now_us + k});
        world->at[k] = rig->n_pods - 1;
    }
    world->n_came += n;
}

static void end_release(struct world *world, struct engine_pod *p)
{
    static const enum sl_release_end ends[] = {
        SL_RELEASE_RELEASED, SL_RELEASE_RELEASED, SL_RELEASE_RELEASED, SL_RELEASE_REFUSED,
        SL_RELEASE_FAILED,   SL_RELEASE_UNKNOWN,  SL_RELEASE_GONE,
    };
    enum sl_release_end end =
        world->quiet ? SL_RELEASE_RELEASED : ends[odds(world, "end", p->name, 7)];
    if (engine_released(&world->rig, p->name, end) == SL_AFTER_GONE) {
        engine_gone(&world->rig, p->name);
    }
}

static void live(struct world *world, unsigned i)
{
    struct engine_rig *rig = &world->rig;
    struct engine_pod *p = &rig->pod[i];
    bool goes_on = world->quiet || odds(world, "live", p->name, 2) == 0;
    if (!p->waits && p->there != NULL) {
        if (rig->now_us >= world->end_us[i]) {
            engine_gone(rig, p->name);
        }
    } else if (p->waits && !world->quiet && odds(world, "leave", p->name, 80) == 0) {
        engine_gone(rig, p->name);
    } else if (p->waits && p->release != 0 && goes_on) {
        end_release(world, p);
    } else if (p->waits && p->there != NULL && p->release == 0 &&
               (world->quiet || odds(world, "bind", p->name, 4) == 0)) {
        int64_t most_us = p->pod->timeout_s * SL_SECOND_US;
        engine_bind(rig, p->name);
        world->end_us[i] = rig->now_us + most_us / (1 + odds(world, "run", p->name, 4));
    }
}

/* The agent of the node, and its API server. */
static void work(struct world *world, unsigned i)
{
    static const enum sl_cut_write_end ends[] = {SL_CUT_WRITE_REFUSED, SL_CUT_WRITE_FAILED,
                                                 SL_CUT_WRITE_UNKNOWN};
    struct engine_rig *rig = &world->rig;
    struct engine_node *node = &rig->node[i];
    struct agent *agent = &world->agent[i];
    rig->run = agent->run;
    if (agent->write != 0 && rig->now_us >= agent->wrote_us) {
        unsigned end = world->quiet ? 9 : odds(world, "wrote", node->name, 10);
        rig->write = agent->write;
        agent->write = 0;
        if (end < 3) {
            sl_engine_wrote(rig->engine, node->name, rig->write, ends[end], "trouble", rig->now_us);
            return;
        }
        bool begins = agent->run.outcome == SL_CUT_RUNNING && !agent->run.announces;
        engine_written(rig, i);
        agent->made_us =
            begins ? rig->now_us + SL_SECOND_US * (5 + odds(world, "made", node->name, 60)) : 0;
    } else if (agent->made_us != 0 && rig->now_us >= agent->made_us) {
        agent->made_us = 0;
        if (!world->quiet && odds(world, "fails", node->name, 5) == 0) {
            node->state = "failed";
            node->absent = false;
            engine_show(rig, i);
        } else {
            engine_made(rig, i);
        }
    }
}

static void change(struct world *world)
{
    struct engine_rig *rig = &world->rig;
    struct engine_node *node = &rig->node[odds(world, "which", "", rig->n_nodes)];
    if (odds(world, "away", "", 20) == 0) {
        node->away = !node->away;
    }
    if (odds(world, "configure", "", 30) == 0) {
        rig->config.max_releases = odds(world, "releases", "", 2) == 0 ? 3 : 40;
        rig->config.cutting.max_nodes = 1 + odds(world, "nodes", "", 2);
        rig->config.cutting.batch_us = 10 * SL_SECOND_US * odds(world, "batch", "", 2);
        rig->config.cutting.drain = odds(world, "drain", "", 2) == 0;
        rig->config.plan.backfill = odds(world, "backfill", "", 4) > 0;
        engine_configure(rig);
    }
    if (odds(world, "clock", "", 40) == 0) {
        int64_t by_us = (1 + odds(world, "by", "", 100)) * SL_MINUTE_US;
        rig->now_us += by_us;
        sl_engine_rebase(rig->engine, by_us, rig->now_us);
        for (unsigned i = 0; i < rig->n_pods; i++) {
            world->end_us[i] += by_us;
        }
        for (unsigned i = 0; i < rig->n_nodes; i++) {
            world->agent[i].wrote_us += by_us;
            world->agent[i].made_us += world->agent[i].made_us == 0 ? 0 : by_us;
        }
    }
}

/* ---- rounds ---- */

static void check(struct world *world)
{
    struct engine_rig *rig = &world->rig;
    struct sl_plan_stats stats;
    sl_planner_stats(sl_engine_planner(rig->engine), &stats);
    assert_int_equal(stats.nominations, world->sum.nominations);
    assert_int_equal(stats.failed, world->sum.failed);
    assert_int_equal(stats.backfills, world->sum.backfills);
    assert_int_equal(stats.refusals, world->sum.refusals);
    assert_int_equal(sl_engine_outstanding(rig->engine), nominated(rig));
    assert_int_equal(stats.waiting[SL_QUEUE_NOMINATED], nominated(rig));
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        const struct engine_node *node = &rig->node[i];
        assert_int_equal(node->withheld && !node->away,
                         !node->away && engine_status(rig, i).phase == SL_PHASE_CUTTING);
        for (unsigned p = 0; p < node->node->n_pools && !node->withheld; p++) {
            assert_true(node->view->pool_used[p] <= node->node->pool[p].capacity);
        }
    }
}

static void round_of(struct world *world)
{
    const char *line = engine_round(&world->rig);
    while (*line != '\0') {
        size_t len = strcspn(line, "\n");
        world->digest += sl_hash(line, len) ^ (uint64_t)world->rig.now_us;
        line += len + 1;
    }
    check(world);
}

static void happen(struct world *world)
{
    for (unsigned k = 0; k < world->n_came; k++) {
        live(world, world->at[k]);
    }
    for (unsigned i = 0; i < world->rig.n_nodes; i++) {
        work(world, i);
    }
}

/* When something happens though nobody does anything. */
static int64_t next_of(const struct world *world)
{
    const struct engine_rig *rig = &world->rig;
    int64_t at_us = sl_engine_wake(rig->engine);
    for (unsigned i = 0; i < rig->n_pods; i++) {
        const struct engine_pod *p = &rig->pod[i];
        bool ends = !p->waits && p->there != NULL;
        at_us = ends && world->end_us[i] < at_us ? world->end_us[i] : at_us;
        at_us = p->waits && p->there != NULL ? rig->now_us : at_us;
    }
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        const struct agent *agent = &world->agent[i];
        at_us = agent->write != 0 && agent->wrote_us < at_us ? agent->wrote_us : at_us;
        at_us = agent->made_us != 0 && agent->made_us < at_us ? agent->made_us : at_us;
    }
    return at_us > rig->now_us ? at_us : rig->now_us + SL_SECOND_US / 10;
}

/* Is there a pod yet that waits or runs? For one that did not take its turn nothing is cut. */
static bool goes_on(struct engine_rig *rig)
{
    bool on = false;
    for (unsigned i = 0; i < rig->n_pods; i++) {
        const struct engine_pod *p = &rig->pod[i];
        struct sl_queue_row row = {.expiries = 0};
        (void)sl_planner_row(sl_engine_planner(rig->engine), sl_str_of(p->name), rig->now_us, &row);
        on = on || p->there != NULL || (p->waits && row.expiries == 0);
    }
    return on;
}

static uint64_t play(uint64_t number, bool backwards)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    struct engine_rig *rig = &world->rig;
    engine_begin(rig);
    rig->act = act;
    rig->config.cutting.enabled = true;
    rig->config.plan.order.kind = number % 2 == 0 ? SL_ORDER_FIFO : SL_ORDER_BOUNDED;
    engine_configure(rig);
    world->seed = number * UINT64_C(0x9e3779b97f4a7c15);
    world->backwards = backwards;
    (void)engine_node(rig, SL_ACTUATOR_NONE, NULL, SMALL);
    (void)engine_node(rig, SL_ACTUATOR_MIG_MANAGER, LARGE, LARGE);
    (void)engine_node(rig, SL_ACTUATOR_MIG_MANAGER, HALF, SMALL);
    for (unsigned step = 0; step < STEPS; step++) {
        rig->now_us += (1 + odds(world, "step", "", 20)) * SL_SECOND_US;
        change(world);
        come(world);
        happen(world);
        round_of(world);
    }
    world->quiet = true;
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        rig->node[i].away = false;
    }
    for (unsigned i = 0; goes_on(rig); i++) {
        round_of(world);
        rig->now_us = next_of(world);
        happen(world);
        if (i == LAST) {
            fail_msg("number %d: pods still wait", (int)number);
        }
    }
    uint64_t digest = world->digest;
    engine_end(rig);
    free(world);
    return digest;
}

TEST_THAT(each_day_adds_up_and_ends_and_the_order_in_which_pods_are_told_of_changes_nothing)
{
    for (uint64_t number = 1; number <= WORLDS; number++) {
        assert_int_equal(play(number, false), play(number, true));
    }
}
