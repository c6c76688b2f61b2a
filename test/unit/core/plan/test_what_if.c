/* A pod that is not there is told what it gets when it comes, and nothing else changes: in a copy
 * of the process, as the daemon has it. */
#include "plan_rig.h"

#include "util/process/copy.h"

enum { ROUNDS = 24, STEPS = 40, NODES = 4, GPUS = 4, SEED = 7 };

/* Leads nowhere into the copy's memory. */
struct told {
    int result;
    enum sl_queue_state state;
    enum sl_hold_reason reason;
    enum sl_estimate estimate;
    int64_t start_us;
    int64_t latest_start_us;
    uint32_t ahead;
    size_t position;
    size_t delayed;
    char node[PLAN_NAME];
    char assignment[256];
};

struct question {
    struct plan_rig *rig;
    struct sl_pod *pod;
    size_t max;
};

static void take_row(struct told *told, const struct sl_queue_row *row)
{
    told->state = row->state;
    told->reason = row->reason;
    told->estimate = row->estimate;
    told->start_us = row->start_us;
    told->latest_start_us = row->latest_start_us;
    told->ahead = row->ahead;
    (void)snprintf(told->node, sizeof(told->node), "%s", row->node == NULL ? "-" : row->node);
    (void)snprintf(told->assignment, sizeof(told->assignment), "%s",
                   row->assignment == NULL ? "-" : row->assignment);
}

static void work(void *context, void *out)
{
    const struct question *question = context;
    struct told *told = out;
    struct sl_plan_what_if what_if;
    struct sl_error err = {0};
    told->result = sl_planner_what_if(question->rig->planner, question->pod, NULL, question->max,
                                      question->rig->now_us, &what_if, &err);
    if (told->result == 0) {
        take_row(told, &what_if.row);
        told->position = what_if.position;
        told->delayed = what_if.delayed;
    }
}

static struct told ask(struct plan_rig *rig, struct plan_rig_pod *p, size_t max)
{
    struct question question = {rig, &p->pod, max};
    struct told told;
    struct sl_copy copy;
    struct sl_error err = {0};
    memset(&told, 0, sizeof(told));
    if (sl_copy_begin(&copy, work, &question, &told, sizeof(told), &err) < 0 ||
        sl_copy_end(&copy, &told, sizeof(told), SECONDS(60), &err) < 0) {
        fail_msg("%s", err.message);
    }
    return told;
}

struct place {
    const struct sl_pod *pod;
    size_t visited;
    size_t position;
};

static void note_place(void *context, const struct sl_queue_row *row)
{
    struct place *place = context;
    place->visited++;
    place->position = row->pod == place->pod ? place->visited : place->position;
}

/* What the pod gets that really comes. */
static struct told come(struct plan_rig *rig, struct plan_rig_pod *p, size_t max)
{
    struct told told;
    struct sl_queue_row row;
    struct sl_error err = {0};
    struct place place = {.pod = &p->pod};
    memset(&told, 0, sizeof(told));
    plan_rig_put(rig, p);
    (void)plan_rig_run(rig, max);
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    assert_true(plan_rig_row(rig, p->name, &row));
    take_row(&told, &row);
    (void)sl_planner_visit(rig->planner, rig->now_us, PLAN_PODS, note_place, &place);
    told.position = place.position;
    return told;
}

static void assert_same(const struct told *a, const struct told *b)
{
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->reason, b->reason);
    assert_int_equal(a->estimate, b->estimate);
    assert_int_equal(a->start_us, b->start_us);
    assert_int_equal(a->latest_start_us, b->latest_start_us);
    assert_int_equal(a->ahead, b->ahead);
    assert_int_equal(a->position, b->position);
    assert_string_equal(a->node, b->node);
    assert_string_equal(a->assignment, b->assignment);
}

static unsigned pick(uint64_t *random, unsigned n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*random >> 33) % n;
}

/* Some nominated pods are bound, some running ones end. */
static void pass_time(struct plan_rig *rig, uint64_t *random)
{
    rig->now_us += SECONDS(1 + pick(random, 600));
    for (unsigned i = 0; i < rig->n_pods; i++) {
        struct plan_rig_pod *p = rig->pod[i];
        struct sl_queue_row row;
        if (p->bound != NULL && pick(random, 4) == 0) {
            plan_rig_end(rig, p->name);
        } else if (p->bound == NULL && plan_rig_row(rig, p->name, &row) &&
                   row.state == SL_QUEUE_NOMINATED && pick(random, 3) > 0) {
            plan_rig_bind(rig, p->name);
        }
    }
    (void)plan_rig_plan(rig);
}

static void play(enum sl_order_kind kind, uint64_t seed)
{
    static const char *const names[NODES] = {"n1", "n2", "n3", "n4"};
    struct plan_rig *rig = plan_rig_new();
    uint64_t random = seed;
    char name[PLAN_NAME];
    rig->config.order.kind = kind;
    rig->config.preemption = pick(&random, 2) > 0;
    plan_rig_configure(rig);
    for (unsigned i = 0; i < NODES; i++) {
        plan_rig_node(rig, names[i], GPUS);
    }
    (void)plan_rig_plan(rig);
    for (unsigned i = 0; i < STEPS; i++) {
        (void)snprintf(name, sizeof(name), "p%u", i);
        struct plan_rig_pod *p =
            plan_rig_pod(rig, name, GPU, 1 + pick(&random, GPUS + 1), 60 + pick(&random, 7200));
        p->pod.priority = (int32_t)pick(&random, 8) / 6;
        size_t max = pick(&random, 5) == 0 ? 0 : 1000;
        struct told told = ask(rig, p, max);
        assert_int_equal(told.result, 0);
        struct told got = come(rig, p, max);
        assert_same(&told, &got);
        if (pick(&random, 3) == 0) {
            pass_time(rig, &random);
        }
    }
    plan_rig_free(rig);
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_THAT(a_pod_gets_what_it_was_told_before_it_came)
{
    static const enum sl_order_kind kinds[] = {SL_ORDER_FIFO, SL_ORDER_SJF, SL_ORDER_BOUNDED,
                                               SL_ORDER_P};
    for (unsigned i = 0; i < ROUNDS; i++) {
        play(kinds[i % (sizeof(kinds) / sizeof(kinds[0]))], SEED + i);
    }
}

TEST_ON(struct plan_rig *rig, pods_that_would_start_later_are_counted)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "runs", "n1", 1, 600);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_wait(rig, "b", 1, 60);
    (void)plan_rig_plan(rig);
    struct plan_rig_pod *last = plan_rig_pod(rig, "last", GPU, 1, 60);
    struct told told = ask(rig, last, 1000);
    assert_int_equal(told.delayed, 0);
    assert_int_equal(told.position, 3);
    assert_int_equal(told.ahead, 2);
    assert_int_equal(told.start_us - rig->now_us, SECONDS(720));
    struct plan_rig_pod *first = plan_rig_pod(rig, "first", GPU, 1, 60);
    first->pod.priority = 1;
    told = ask(rig, first, 1000);
    assert_int_equal(told.delayed, 2);
    assert_int_equal(told.position, 1);
    assert_int_equal(told.start_us - rig->now_us, SECONDS(600));
    assert_string_equal(plan_rig_state(rig, "first"), "unknown");
}

TEST_ON(struct plan_rig *rig, a_pod_that_is_known_or_asks_for_nothing_is_refused)
{
    plan_rig_node(rig, "n1", 1);
    struct plan_rig_pod *there = plan_rig_wait(rig, "there", 1, 60);
    (void)plan_rig_plan(rig);
    assert_int_equal(ask(rig, there, 1000).result, -1);
    struct plan_rig_pod *nothing = plan_rig_pod(rig, "nothing", GPU, 1, 60);
    nothing->pod.n_items = 0;
    assert_int_equal(ask(rig, nothing, 1000).result, -1);
}
