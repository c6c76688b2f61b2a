/* Random runs on nodes that show anything. A run says when to look at it again: looked at then, and
 * when its node changes, it goes as one that is looked at every second. And no run ends as
 * something that its node has not shown for as long as it must. */
#include "unit/core/cut/cut_rig.h"

#include "sliced/cut_run.h"

enum { CASES = 2000, AGENTS = 3, SHOWN = 4, TIMEOUT = 300 /* seconds, as all of these */ };
enum { AS_BEFORE, NONE, HALF, AS_ORDERED };

static const struct sl_cut_rules rules = {.timeout_us = TIMEOUT * INT64_C(1000000),
                                          .file_us = 5 * INT64_C(1000000)};

/* A node, and two runs that see what it shows. */
struct world {
    struct cut_rig *rig;
    unsigned agent;
    unsigned shown;
    struct sl_cut_run each; /* looked at every second */
    struct sl_cut_run due;  /* looked at when something changes, or when it wants to be */
    enum sl_cut_step step;  /* of the last look at either */
    int second;
    int ordered;    /* when the last order was written */
    int news;       /* when the agent said that it had ended with this order; 0: it has not */
    int write_ends; /* 0: none is under way */
    int read_at;    /* when the watch shows the order */
    int away_until; /* the API server takes no write */
    unsigned pace;  /* seconds between changes */
    char wanted[SL_CUT_NAME_MAX + 8];
    char applied[SL_CUT_NAME_MAX];
    struct sl_partition partition;
};

static int64_t now_of(const struct world *world)
{
    return rig_now + world->second * rig_second;
}

static struct sl_node *node_of(const struct world *world)
{
    return world->rig->node[world->agent * SHOWN + world->shown].node;
}

static const struct sl_node *look_at(struct world *world)
{
    struct sl_node *node = node_of(world);
    enum sl_actuator actuator = world->partition.actuator;
    world->partition.n_gpus = node->partition.n_gpus;
    world->partition.wanted = world->wanted[0] == '\0' ? NULL : world->wanted;
    world->partition.applied = world->applied;
    world->partition.follows = world->shown == AS_ORDERED;
    node->partition = world->partition;
    node->partition.actuator = actuator;
    return node;
}

/* ---- what happens ---- */

static const struct sl_cut orders[AGENTS] = {
    {.n = 2, .instance = {{0, 0}, {0, 1}}}, /* 1g.5gb */
    {.n = 2, .instance = {{0, 0}, {0, 1}}},
    {.n_sizes = 1, .slices = {{10, 2}}},
};

static void add_nodes(struct cut_rig *rig)
{
    for (unsigned i = 0; i < SHOWN; i++) {
        (void)MANAGED(
            rig, A100,
            ((const char *[]){"1g.5gb 3g.20gb 3g.20gb", "", "1g.5gb 3g.20gb", "1g.5gb 1g.5gb"})[i]);
    }
    for (unsigned i = 0; i < SHOWN; i++) {
        (void)NOS(
            rig, A100,
            ((const char *[]){"1g.5gb 3g.20gb 3g.20gb", "", "1g.5gb 3g.20gb", "1g.5gb 1g.5gb"})[i]);
    }
    for (unsigned i = 0; i < SHOWN; i++) {
        (void)SHARED(rig, 40,
                     ((const char *[]){"10gb 15gb 15gb", "", "10gb 15gb", "10gb 10gb"})[i]);
    }
}

/* The label, or the plan, names the run, as its agent would read it. */
static void set_wanted(struct world *world)
{
    static const char *const before[AGENTS] = {"", "", "node-0-"};
    (void)snprintf(world->wanted, sizeof(world->wanted), "%s%s", before[world->agent],
                   world->each.name);
}

/* The agent goes on, or somebody else does something. */
static void change(struct world *world)
{
    static const enum sl_partition_state states[] = {
        SL_PARTITION_PENDING, SL_PARTITION_PENDING, SL_PARTITION_REBOOTING, SL_PARTITION_SUCCESS,
        SL_PARTITION_SUCCESS, SL_PARTITION_FAILED,  SL_PARTITION_FAILED};
    struct sl_partition *partition = &world->partition;
    unsigned what = pick(100);
    if (what < 40) {
        world->shown = pick(SHOWN);
    } else if (what < 80) {
        partition->state = states[pick(sizeof(states) / sizeof(states[0]))];
        partition->at_work =
            partition->state == SL_PARTITION_PENDING || partition->state == SL_PARTITION_REBOOTING;
        bool read = strcmp(world->wanted, world->each.name) == 0;
        (void)snprintf(world->applied, sizeof(world->applied), "%s", read ? world->each.name : "");
    } else if (what < 96) {
        partition->cut = world->each.written && pick(3) > 0 ? "sliced-0-0" : NULL;
    } else if (what < 98) {
        world->each.taken = world->due.taken = true;
    } else if (what < 99) {
        (void)snprintf(world->wanted, sizeof(world->wanted), "somebody's");
        world->applied[0] = '\0';
        world->read_at = 0;
    } else {
        partition->actuator = SL_ACTUATOR_NONE;
    }
}

static void end_write(struct world *world)
{
    static const enum sl_cut_write_end odd[] = {SL_CUT_WRITE_FAILED, SL_CUT_WRITE_FAILED,
                                                SL_CUT_WRITE_UNKNOWN, SL_CUT_WRITE_MOOT,
                                                SL_CUT_WRITE_REFUSED};
    bool order = world->each.at == SL_CUT_AT_ORDER;
    bool good = world->second < world->away_until ? false : pick(30) > 0;
    enum sl_cut_write_end end = good ? SL_CUT_WRITTEN : odd[pick(good || !order ? 3 : 5)];
    end = world->second < world->away_until ? SL_CUT_WRITE_FAILED : end;
    sl_cut_run_wrote(&world->each, end, now_of(world));
    sl_cut_run_wrote(&world->due, end, now_of(world));
    world->write_ends = 0;
    if (world->each.at == SL_CUT_AT_WORK) {
        world->ordered = world->second;
        world->read_at = world->second + (int)(pick(8) > 0 ? pick(8) : pick(20)); /* the watch */
    }
}

/* ---- what must be ---- */

static void check_same(const struct world *world)
{
    const struct sl_cut_run *a = &world->each;
    const struct sl_cut_run *b = &world->due;
    if (a->at != b->at || a->outcome != b->outcome || a->attempt != b->attempt ||
        a->writing != b->writing || a->moved != b->moved || a->told != b->told ||
        strcmp(a->name, b->name) != 0) {
        fail_msg("agent %u, after %d s: %s, not %s", world->agent, world->second,
                 sl_cut_outcome_name(b->outcome), sl_cut_outcome_name(a->outcome));
    }
}

static void look_for_news(struct world *world)
{
    const char *name = world->each.name;
    bool ended = world->agent == 0 ? strcmp(world->wanted, name) == 0 &&
                                         (world->partition.state == SL_PARTITION_SUCCESS ||
                                          world->partition.state == SL_PARTITION_FAILED)
                                   : strcmp(world->applied, name) == 0;
    world->news = !ended ? 0 : world->news == 0 ? world->second : world->news;
}

/* The run has an outcome, which it had not a second ago. */
static void check_outcome(const struct world *world, bool ordered)
{
    const struct sl_cut_run *run = &world->each;
    int same = world->news == 0 ? 0 : world->second - world->news;
    int lasted = world->second - (int)((run->begun_us - rig_now) / rig_second);
    bool selected = world->partition.actuator == run->actuator;
    bool named = sl_str_ends(sl_str_of(world->wanted), sl_str_of(run->name));
    switch (run->outcome) {
    case SL_CUT_DONE: /* what a resumed run makes may be known to nobody */
        assert_true(named && (world->shown == AS_ORDERED ||
                              (run->resumed && !world->partition.planned && same >= 10)));
        break;
    case SL_CUT_FAILED:
        assert_true(named && world->partition.state == SL_PARTITION_FAILED &&
                    (run->resumed || world->shown == AS_BEFORE));
        assert_true(run->moved || run->attempt == SL_CUT_ATTEMPTS);
        break;
    case SL_CUT_HALF_APPLIED:
        assert_true(named && (world->agent == 0 ? world->shown != AS_BEFORE && same >= 20
                                                : world->shown != AS_ORDERED && same >= 60));
        break;
    case SL_CUT_NOT_FOLLOWED:
        assert_true(named && world->shown != AS_ORDERED &&
                    (world->agent == 0 ? same >= 60 : lasted >= TIMEOUT));
        break;
    case SL_CUT_WEDGED:
    case SL_CUT_SILENT:
        assert_true(lasted >= TIMEOUT);
        break;
    case SL_CUT_TAKEN:
        assert_true(run->taken && !(ordered && run->actuator == SL_ACTUATOR_NOS_MIG));
        break;
    case SL_CUT_LEFT: /* the watch has its time from when the order was written */
        assert_true(!selected || !ordered || (!named && world->second - world->ordered >= 10));
        break;
    case SL_CUT_REFUSED:
        assert_true(!ordered && lasted >= TIMEOUT);
        break;
    default:
        assert_true(run->outcome == SL_CUT_RUNNING);
        break;
    }
}

static void begin(struct world *world, struct cut_rig *rig)
{
    static const enum sl_actuator actuators[AGENTS] = {SL_ACTUATOR_MIG_MANAGER, SL_ACTUATOR_NOS_MIG,
                                                       SL_ACTUATOR_NOS_MPS};
    *world = (struct world){.rig = rig, .agent = pick(AGENTS), .second = 1};
    world->partition =
        (struct sl_partition){.actuator = actuators[world->agent], .state = SL_PARTITION_SUCCESS};
    if (pick(4) > 0) {
        sl_cut_run_begin(&world->each, look_at(world), &orders[world->agent], 1, now_of(world));
    } else { /* as after a restart */
        world->partition.cut = "sliced-0-3";
        world->partition.planned = pick(3) > 0;
        (void)snprintf(world->each.name, sizeof(world->each.name), "%s", world->partition.cut);
        set_wanted(world);
        assert_true(sl_cut_run_resume(&world->each, look_at(world), now_of(world)));
    }
    world->due = world->each;
    world->pace = 4 + pick(60);
    world->away_until = pick(40) == 0 ? TIMEOUT + 20 : 0;
}

/* Goes on until the run has ended, for a second each. */
static void play(struct world *world, unsigned *ends)
{
    bool changed = true;
    world->step = SL_CUT_WAIT;
    while (world->step != SL_CUT_END) {
        enum sl_cut_outcome before = world->each.outcome;
        bool ordered = world->each.at == SL_CUT_AT_WORK;
        const struct sl_node *node = look_at(world);
        look_for_news(world);
        world->step = sl_cut_run_step(&world->each, node, &rules, now_of(world));
        /* An order that cannot be written is given up when it would be tried again. */
        bool refused = world->each.outcome == SL_CUT_REFUSED && before == SL_CUT_RUNNING;
        if (changed || world->due.wake_us <= now_of(world) || refused) {
            enum sl_cut_step step = sl_cut_run_step(&world->due, node, &rules, now_of(world));
            assert_int_equal(step, world->step);
            assert_true(step != SL_CUT_WAIT || world->due.wake_us > now_of(world));
        }
        check_same(world);
        if (before == SL_CUT_RUNNING) {
            check_outcome(world, ordered);
        }
        if (world->step == SL_CUT_ORDER || world->step == SL_CUT_FINISH) {
            world->write_ends = world->second + 1 + (int)pick(12);
        }
        world->second++;
        changed = pick(world->pace) == 0;
        if (changed) {
            change(world);
        }
        if (world->second == world->read_at) {
            set_wanted(world);
            changed = true;
        }
        if (world->second == world->write_ends) {
            end_write(world);
            changed = true;
        }
        assert_true(world->second < 10 * TIMEOUT);
    }
    ends[world->each.outcome]++;
}

TEST_THAT_WITH(a_run_is_looked_at_when_it_says_and_ends_as_its_node_shows, set_up, tear_down)
{
    struct cut_rig *rig = *state;
    unsigned ends[SL_CUT_OUTCOMES] = {0};
    static struct world world;
    add_nodes(rig);
    for (unsigned i = 0; i < CASES; i++) {
        seed = i + 1;
        begin(&world, rig);
        play(&world, ends);
    }
    for (unsigned i = SL_CUT_DONE; i < SL_CUT_OUTCOMES; i++) {
        assert_true(ends[i] > 0 || i == SL_CUT_BAD_FILE || i == SL_CUT_GONE);
    }
}
