/* What owners of waiting pods are told after the first word, and what not. */
#include "queue_rig.h"

#include "core/plan/state/calls.h"
#include "server/model/explain.h"

TEST_FIXTURE_OF(struct queue_rig, rig_begin, rig_end)

/* A node of one GPU on which a pod runs for an hour, and one that waits and was told so. */
static void begin_told(struct queue_rig *rig, struct rig_pod waits)
{
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "x", .node = "n1", .timeout = "1h"});
    rig_put(rig, waits);
    (void)rig_round(rig);
    (void)rig_later(rig, 3 * SECOND);
    assert_int_equal(rig->n_told, 1);
    assert_non_null(strstr(rig->told, "Waiting: "));
}

TEST_ON(struct queue_rig *rig, when_its_stages_open_its_owner_is_told_what_it_waits_for_now)
{
    begin_told(rig, (struct rig_pod){.name = "a", .gated = true, .after = "pod/x"});
    assert_non_null(strstr(rig->told, "it waits for "));
    sl_planner_set_stage(rig->worker->planner, SL_STR("u-a"), SL_HOLD_NONE, NULL, rig->now_us);
    (void)rig_later(rig, 30 * SECOND);
    assert_int_equal(rig->n_told, 1); /* the last word is not a minute old */
    (void)rig_later(rig, 45 * SECOND);
    assert_int_equal(rig->n_told, 2);
    assert_non_null(strstr(rig->told, "Waiting: held: first for nvidia.com/gpu; starts in 58m"));
    (void)rig_later(rig, 120 * SECOND);
    assert_int_equal(rig->n_told, 2);
}

TEST_ON(struct queue_rig *rig, when_its_start_can_be_estimated_at_last_its_owner_is_told)
{
    begin_told(rig, (struct rig_pod){.name = "a", .gated = true});
    sl_queue_find(rig->worker, SL_STR("u-a"))->told_start_us = 0; /* as if it had not been there */
    (void)rig_later(rig, 30 * SECOND);
    assert_int_equal(rig->n_told, 1);
    (void)rig_later(rig, 45 * SECOND);
    assert_int_equal(rig->n_told, 2);
    assert_non_null(strstr(rig->told, "starts in 58m"));
    (void)rig_later(rig, 120 * SECOND);
    assert_int_equal(rig->n_told, 2);
}

TEST_ON(struct queue_rig *rig, of_what_was_refused_its_owner_is_told_when_it_waits_after_all)
{
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .gpus = 2});
    (void)rig_round(rig);
    assert_non_null(strstr(rig->told, "NeverFits: "));
    rig_node(rig, "n2", 2);
    rig_put(rig, (struct rig_pod){.name = "x", .node = "n2", .timeout = "1h"});
    (void)rig_round(rig);
    (void)rig_later(rig, 75 * SECOND);
    assert_int_equal(rig->n_told, 2);
    assert_non_null(strstr(rig->told, "Waiting: held: first for nvidia.com/gpu; starts in "));
}

TEST_ON(struct queue_rig *rig, nobody_is_told_that_nothing_has_changed)
{
    begin_told(rig, (struct rig_pod){.name = "a", .gated = true});
    for (int i = 0; i < 100; i++) {
        (void)rig_later(rig, 20 * SECOND);
    }
    assert_int_equal(rig->n_told, 1);
}

TEST_ON(struct queue_rig *rig, what_was_not_taken_is_told_again)
{
    rig->config.plan.n_limits = 1;
    rig->config.plan.limit[0].max_timeout_us = HOUR;
    rig_start_on(rig, 1);
    rig->deaf = true;
    rig_put(rig, (struct rig_pod){.name = "x", .node = "n1", .timeout = "1h"});
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .timeout = "1h"});
    rig_put(rig, (struct rig_pod){.name = "b", .gated = true, .timeout = "2h"});
    (void)rig_round(rig);
    (void)rig_later(rig, 5 * SECOND);
    rig->deaf = false;
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_told, 2);
    assert_int_equal(rig->n_ahead, 2);
    assert_non_null(strstr(rig->all_told, "Waiting: "));
    assert_non_null(strstr(rig->all_told, "Refused: "));
    (void)rig_later(rig, 30 * SECOND);
    assert_int_equal(rig->n_told, 2);
}

static void put_many(struct queue_rig *rig, const char *prefix, int n)
{
    char name[NAME_BYTES];
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof(name), "%s%03d", prefix, i);
        rig_put(rig, (struct rig_pod){.name = name, .gated = true, .timeout = "2s"});
    }
}

TEST_ON(struct queue_rig *rig, estimates_that_move_leave_half_of_the_words_to_those_who_had_none)
{
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "x", .node = "n1", .timeout = "20m"});
    put_many(rig, "a", 60);
    (void)rig_round(rig);
    (void)rig_later(rig, 10 * SECOND);
    (void)rig_later(rig, 70 * SECOND);
    assert_int_equal(rig->n_told, 60);
    rig_delete(rig, "x");
    rig_put(rig, (struct rig_pod){.name = "y", .node = "n1", .timeout = "10h"});
    put_many(rig, "b", 30);
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_told, 70);
    assert_int_equal(rig->n_ahead, 60);
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_told, 90);
    assert_int_equal(rig->n_ahead, 70);
}

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

/* It states two timeouts in turn that cannot be read: others' Events are not to wait for that. */
/* The queue of one namespace is long, and all of it is ahead of another's pod. */
TEST_ON(struct queue_rig *rig, who_has_few_pods_is_told_among_the_first)
{
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "x", .node = "n1", .timeout = "9h"});
    put_many(rig, "many", 300);
    rig_put(rig, (struct rig_pod){.name = "one", .namespace = "few", .gated = true});
    (void)rig_round(rig);
    (void)rig_later(rig, 3 * SECOND);
    assert_in_range(rig->n_told, 1, 100);
    assert_true(sl_queue_find(rig->worker, SL_STR("u-one"))->told_us > 0);
    unsigned told = rig->n_told;
    for (int i = 0; i < 20; i++) { /* and nothing is left unsaid of the others */
        (void)rig_later(rig, SECOND);
    }
    assert_int_equal(rig->n_told, 301);
    assert_int_equal(rig->worker->untold, 0);
    assert_true(told < 301);
}

TEST_ON(struct queue_rig *rig, what_cannot_be_read_of_a_pod_is_told_once_a_minute)
{
    static const char *const timeouts[] = {"90min", "2 days"};
    rig_start_on(rig, 1);
    for (int i = 0; i < 60; i++) {
        rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .timeout = timeouts[i % 2]});
        (void)rig_later(rig, SECOND);
    }
    assert_int_equal(count(rig->all_told, "Ignored: "), 1);
    for (int i = 0; i < 60; i++) { /* and the last in the end, though nothing changes any more */
        (void)rig_later(rig, SECOND);
    }
    assert_int_equal(count(rig->all_told, "Ignored: "), 2);
}

TEST_ON(struct queue_rig *rig, what_cannot_be_read_of_many_is_told_little_by_little)
{
    char name[16];
    rig_start(rig);
    for (int i = 0; i < 10 * SL_QUEUE_TOLD; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        rig_put(rig, (struct rig_pod){.name = name, .gated = true, .timeout = "90min"});
    }
    (void)rig_round(rig);
    assert_in_range(rig->n_told, 1, 3 * SL_QUEUE_TOLD);
    for (int i = 0; i < 600; i++) {
        (void)rig_later(rig, SECOND);
    }
    assert_true(rig->n_told >= 10 * SL_QUEUE_TOLD);
}

/* Thousands that state the longest timeout: the last would start at the end of time.
 * UndefinedBehaviorSanitizer sees sums that do not stop there. */
TEST_ON(struct queue_rig *rig, a_start_at_the_end_of_time_is_told_as_any_other)
{
    enum { MANY = 4500 };
    struct sl_queue_list list;
    char name[16];
    rig_start_on(rig, 1);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        rig_put(rig, (struct rig_pod){.name = name, .gated = true, .timeout = "2147483647"});
    }
    for (int i = 0; i < 40; i++) {
        (void)rig_later(rig, 10 * SECOND);
    }
    assert_in_range(rig->n_told, MANY / 2, 2 * MANY);
    assert_int_equal(rig->queue.list(rig->queue.context, MANY, &list, NULL), 0);
    assert_int_equal(list.n, MANY);
    for (size_t i = 0; i < list.n; i++) {
        char text[SL_PLAN_TEXT_MAX];
        assert_true(sl_queue_text(&list.row[i], list.now_us, text, sizeof(text)) > 0);
    }
    sl_queue_list_free(&list);
}

/* To say what each node lacks takes as long as a pod's constraints compare, with the plan's lock
 * held: a round says it of a few pods, and later ones of the rest. */
TEST_ON(struct queue_rig *rig, refusals_that_are_dear_to_explain_are_told_little_by_little)
{
    static const struct sl_constraints dear = {.weight = UINT16_MAX, .digest = 1};
    for (unsigned i = 0; i < 4; i++) {
        const char *const names[] = {"n1", "n2", "n3", "n4"};
        rig_node(rig, names[i], 1);
    }
    rig_start(rig);
    (void)rig_round(rig);
    for (unsigned i = 0; i < 12; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "p%u", i);
        struct sl_pod *pod =
            rig_pod_new(rig, &(struct rig_pod){.name = name, .gpus = 100, .gated = true});
        pod->constraints = &dear;
        assert_int_equal(sl_store_put_pod(rig->store, pod, NULL), 0);
    }
    (void)rig_round(rig);
    assert_in_range(rig->n_told, 1, 2 * (SL_EXPLAINS_MAX / (4 * (UINT16_MAX / 4)) + 1));
    for (unsigned i = 0; i < 12; i++) {
        (void)rig_later(rig, 20 * SECOND);
    }
    assert_int_equal(rig->n_told, 12);
}
