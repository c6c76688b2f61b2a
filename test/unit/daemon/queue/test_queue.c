/* The queue at work, round by round. */
#include "queue_rig.h"
#include "sliced/pace.h"

TEST_FIXTURE_OF(struct queue_rig, rig_begin, rig_end)

/* ---- nominations and releases ---- */

TEST_ON(struct queue_rig *rig, a_pod_that_fits_is_nominated_and_released_there)
{
    rig_start_on(rig, 2);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .timeout = "1h"});
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_HELD);
    (void)rig_round(rig);
    assert_int_equal(rig->n_released, 1);
    assert_string_equal(rig->released[0].uid, "u-a");
    assert_string_equal(rig->released[0].node, "n1");
    assert_int_equal(rig->released[0].deadline_s, 3600);
    assert_int_equal(rig->released[0].leadership, 1);
    assert_true(rig->released[0].gated);
    assert_false(rig->released[0].nominated);
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_NOMINATED);
    assert_string_equal(rig_nominate(rig, "a"), "n1");
}

/* Its node is in the ledger alone, and filter knows it from there. */
TEST_ON(struct queue_rig *rig, in_a_small_cluster_no_node_is_written_on_the_pod)
{
    rig->config.queue.nominate_from = 2;
    rig->config.queue.hold_s = 5;
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    assert_int_equal(rig->n_released, 1);
    assert_string_equal(rig->released[0].node, "");
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_NOMINATED);
    assert_string_equal(rig_nominate(rig, "a"), "n1");
    rig_answer(rig, 0, SL_RELEASE_RELEASED);
    rig_put(rig, (struct rig_pod){.name = "a", .tried = true});
    (void)rig_later(rig, 6 * SECOND);
    assert_string_equal(rig_nominate(rig, "a"), "");
    assert_int_equal(rig->n_withdrawn, 0); /* there is nothing to take back */
    rig_node(rig, "n2", 1);
    (void)rig_later(rig, HOUR);
    assert_int_equal(rig->n_released, 2);
    assert_string_equal(rig->released[1].node, rig_nominate(rig, "a")); /* the cluster has grown */
}

/* kube-scheduler tries the node that stands on the pod first. */
TEST_ON(struct queue_rig *rig, a_node_that_stands_on_the_pod_is_replaced_in_a_small_cluster_too)
{
    rig->config.queue.nominate_from = 3;
    rig_node(rig, "n1", 1);
    rig_node(rig, "n2", 1);
    rig_start(rig);
    rig_put(rig, (struct rig_pod){.name = "a", .node = "n1"});
    rig_put(rig, (struct rig_pod){.name = "b", .nominated = "n1"}); /* by an earlier leader */
    (void)rig_round(rig);
    assert_int_equal(rig->n_released, 1);
    assert_string_equal(rig->released[0].uid, "u-b");
    assert_string_equal(rig->released[0].node, "n2");
    assert_false(rig->released[0].nominated);
}

/* The leader before has opened its gate and has left no node on it. */
TEST_ON(struct queue_rig *rig, a_pod_that_was_released_without_a_node_waits_for_its_turn)
{
    rig->config.queue.nominate_from = 2;
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "a"});
    rig_gated(rig, "b");
    for (unsigned leader = 1; leader <= 2; leader++) {
        rig->leadership = leader;
        (void)rig_later(rig, SECOND);
        assert_int_equal(rig->n_released, leader); /* the GPU is given once */
        assert_string_equal(rig->released[leader - 1].uid, "u-a");
        assert_false(rig->released[leader - 1].gated);
        assert_string_equal(rig_nominate(rig, "a"), "n1");
        assert_int_equal(rig_state(rig, "b"), SL_QUEUE_HELD);
    }
}

TEST_ON(struct queue_rig *rig, the_next_is_released_in_the_round_after_an_end)
{
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    rig_come(rig, "b");
    assert_int_equal(rig->n_released, 1);
    assert_int_equal(rig_state(rig, "b"), SL_QUEUE_HELD);
    rig_answer(rig, 0, SL_RELEASE_RELEASED);
    rig_put(rig, (struct rig_pod){.name = "a", .node = "n1"});
    (void)rig_round(rig);
    assert_int_equal(rig->n_released, 1);
    rig_put(rig, (struct rig_pod){.name = "a", .node = "n1", .ended = true});
    (void)rig_round(rig);
    assert_int_equal(rig->n_released, 2);
    assert_string_equal(rig->released[1].uid, "u-b");
    struct sl_queue_stats stats;
    sl_queue_stats(rig->worker, &stats);
    assert_int_equal(stats.counts.bound, 1);
    assert_int_equal(stats.counts.elsewhere, 0);
    assert_int_equal(stats.outstanding, 1);
}

TEST_ON(struct queue_rig *rig, a_pod_bound_elsewhere_counts_as_such)
{
    struct sl_queue_stats stats;
    rig_node(rig, "n1", 1);
    rig_node(rig, "n2", 1);
    rig_start(rig);
    rig_come(rig, "a");
    const char *other = strcmp(rig->released[0].node, "n1") == 0 ? "n2" : "n1";
    rig_put(rig, (struct rig_pod){.name = "a", .node = other});
    (void)rig_round(rig);
    sl_queue_stats(rig->worker, &stats);
    assert_int_equal(stats.counts.bound, 0);
    assert_int_equal(stats.counts.elsewhere, 1);
    assert_string_equal(rig_nominate(rig, "a"), "");
}

TEST_ON(struct queue_rig *rig, a_nomination_that_is_not_taken_is_given_back_and_its_owner_told)
{
    rig->config.queue.hold_s = 5;
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    rig_answer(rig, 0, SL_RELEASE_RELEASED);
    rig_gated(rig, "b");
    int64_t wake_us = rig_round(rig);
    assert_true(wake_us <= rig->now_us + 5 * SECOND);
    (void)rig_later(rig, 6 * SECOND);
    assert_string_equal(rig_nominate(rig, "a"), "");
    assert_int_equal(rig->n_withdrawn, 1);
    assert_string_equal(rig->withdrawn, "u-a n1");
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_HELD);
    (void)rig_round(rig);
    assert_int_equal(rig_state(rig, "b"), SL_QUEUE_NOMINATED); /* what could not go blocks nobody */
    assert_int_equal(rig->n_released, 2);
}

TEST_ON(struct queue_rig *rig, a_turn_on_a_node_that_is_cordoned_is_given_again_elsewhere)
{
    struct sl_queue_stats stats;
    rig_node(rig, "n1", 1);
    rig_node(rig, "n2", 1);
    rig_start(rig);
    rig_come(rig, "a");
    assert_string_equal(rig_nominate(rig, "a"), "n1");
    rig_answer(rig, 0, SL_RELEASE_RELEASED);
    rig_put(rig, (struct rig_pod){.name = "a", .nominated = "n1"});
    rig_node_as(rig, "n1", 1, true);
    (void)rig_later(rig, SECOND);
    assert_string_equal(rig_nominate(rig, "a"), "n2");
    assert_int_equal(rig->n_withdrawn, 0); /* the next nomination replaces it */
    assert_int_equal(rig->n_released, 2);
    assert_string_equal(rig->released[1].node, "n2");
    assert_false(rig->released[1].nominated);
    rig_answer(rig, 1, SL_RELEASE_RELEASED);
    rig_node_as(rig, "n2", 1, true);
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_HELD);
    assert_string_equal(rig->withdrawn, "u-a n2");
    sl_queue_stats(rig->worker, &stats);
    assert_int_equal(stats.plan.expiries, 0);
    assert_int_equal(rig->n_told, 0);
}

TEST_ON(struct queue_rig *rig, a_turn_that_was_not_taken_is_told)
{
    rig->config.queue.hold_s = 5;
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    rig_answer(rig, 0, SL_RELEASE_RELEASED);
    for (int i = 0; i < 5 && strstr(rig->all_told, "Expired") == NULL; i++) {
        (void)rig_later(rig, 2 * SECOND);
    }
    assert_non_null(strstr(rig->all_told, "Expired: node n1 was set aside for it"));
}

/* ---- the window ---- */

TEST_ON(struct queue_rig *rig, never_more_are_out_than_configured)
{
    rig->config.queue.max_releases = 3;
    rig_start_on(rig, 8);
    for (char name[2] = "a"; name[0] < 'i'; name[0]++) {
        rig_gated(rig, name);
    }
    (void)rig_round(rig);
    (void)rig_later(rig, 10 * SECOND);
    assert_int_equal(rig->n_released, 3);
    rig->config.queue.max_releases = 5;
    sl_queue_worker_configure(rig->worker, &rig->config);
    (void)rig_round(rig);
    assert_int_equal(rig->n_released, 5);
}

/* ---- what the server sees ---- */

TEST_ON(struct queue_rig *rig, the_list_has_all_in_their_order)
{
    struct sl_queue_list list;
    rig_start_on(rig, 1);
    for (char name[2] = "a"; name[0] < 'e'; name[0]++) {
        rig_put(rig, (struct rig_pod){.name = name, .gated = true, .timeout = "1h"});
        rig->now_us += SECOND;
    }
    (void)rig_round(rig);
    assert_int_equal(rig->queue.list(rig->queue.context, 3, &list, NULL), 0);
    assert_int_equal(list.total, 4);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.row[0].pod->name, "a");
    assert_int_equal(list.row[0].state, SL_QUEUE_NOMINATED);
    assert_string_equal(list.row[0].node, "n1");
    assert_string_equal(list.row[1].pod->name, "b");
    assert_int_equal(list.row[2].ahead, 1);
    sl_queue_list_free(&list);
    assert_int_equal(rig->queue.row(rig->queue.context, SL_STR("u-d"), &list, NULL), 0);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.row[0].pod->name, "d");
    sl_queue_list_free(&list);
    assert_int_equal(rig->queue.row(rig->queue.context, SL_STR("u-x"), &list, NULL), 0);
    assert_int_equal(list.n, 0);
    sl_queue_list_free(&list);
}

TEST_ON(struct queue_rig *rig, a_pod_that_nobody_has_seen_is_held)
{
    struct sl_queue_status status;
    rig_start(rig);
    (void)rig_round(rig);
    rig->queue.status(rig->queue.context, SL_STR("u-x"), &status);
    assert_false(status.known);
    assert_false(sl_queue_may_go(&status));
    assert_string_equal(status.text, "held: the queue has not seen it yet");
}

TEST_ON(struct queue_rig *rig, metrics_count_waiting_pods_by_resource_and_reason)
{
    struct sl_buf out;
    rig_start_on(rig, 1);
    for (char name[2] = "a"; name[0] < 'd'; name[0]++) {
        rig_gated(rig, name);
    }
    (void)rig_round(rig);
    sl_buf_init(&out, 1 << 20);
    rig_metrics(rig, NULL, &out);
    sl_buf_putc(&out, '\0');
    assert_int_equal(out.failed, SL_BUF_OK);
    assert_non_null(strstr(
        out.data,
        "sliced_queue_pods{resource=\"nvidia.com/gpu\",state=\"Held\",reason=\"NoRoom\"} 2"));
    assert_non_null(strstr(out.data, "sliced_queue_nominations_total{kind=\"in_turn\"} 1"));
    assert_non_null(strstr(out.data, "sliced_queue_outstanding 1"));
    sl_buf_free(&out);
}

/* What the metrics say; valid until the next call. */
static const char *metrics_of(struct queue_rig *rig)
{
    static char text[1 << 16];
    struct sl_buf out;
    sl_buf_init(&out, sizeof(text) - 1);
    rig_metrics(rig, NULL, &out);
    assert_int_equal(out.failed, SL_BUF_OK);
    (void)snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data);
    sl_buf_free(&out);
    return text;
}

static void assert_waits(struct queue_rig *rig, const char *class, unsigned n)
{
    char line[128];
    (void)snprintf(line, sizeof(line), "sliced_queue_wait_seconds_count{class=\"%s\"} %u\n", class,
                   n);
    if (strstr(metrics_of(rig), line) == NULL) {
        fail_msg("no %s", line);
    }
}

static void set_class(struct queue_rig *rig, const char *namespace, const char *class)
{
    struct sl_config_class *one = &rig->config.queue.class[rig->config.queue.n_classes++];
    (void)snprintf(one->namespace, sizeof(one->namespace), "%s", namespace);
    (void)snprintf(one->class, sizeof(one->class), "%s", class);
}

TEST_ON(struct queue_rig *rig, waits_are_told_by_the_class_of_the_namespace_also_of_a_new_one)
{
    rig_start_on(rig, 2);
    assert_waits(rig, "other", 0);
    set_class(rig, "def*", "people");
    set_class(rig, "default", "never");
    set_class(rig, "elsewhere", "other");
    sl_queue_worker_configure(rig->worker, &rig->config);
    rig_come(rig, "a");
    rig_put(rig, (struct rig_pod){.name = "a", .node = "n1"});
    (void)rig_round(rig);
    assert_waits(rig, "people", 1);
    assert_waits(rig, "never", 0);
    assert_waits(rig, "other", 0);
    assert_non_null(strstr(metrics_of(rig), "sliced_queue_bind_seconds_count 1\n"));
    for (unsigned i = 0; i < 4; i++) { /* more names than there is room for, over time */
        rig->config.queue.n_classes = 0;
        for (unsigned c = 0; c < SL_CONFIG_CLASSES_MAX; c++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "c%u-%u", i, c);
            set_class(rig, "default", name);
        }
        sl_queue_worker_configure(rig->worker, &rig->config);
        (void)rig_round(rig);
    }
    rig_come(rig, "b");
    rig_put(rig, (struct rig_pod){.name = "b", .node = "n1"});
    (void)rig_round(rig);
    assert_waits(rig, "people", 1);
    assert_waits(rig, "other", 1);
}

TEST_ON(struct queue_rig *rig, every_end_of_a_nomination_counts_once)
{
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    rig_put(rig, (struct rig_pod){.name = "a", .ended = true});
    (void)rig_round(rig);
    const char *text = metrics_of(rig);
    for (unsigned i = 0; i < 6; i++) {
        static const char *const outcomes[] = {"bound",     "bound_elsewhere", "expired",
                                               "withdrawn", "refused",         "gone"};
        char line[128];
        (void)snprintf(line, sizeof(line),
                       "sliced_queue_nominations_ended_total{outcome=\"%s\"} %d\n", outcomes[i],
                       i == 5);
        assert_non_null(strstr(text, line));
    }
}

TEST_ON(struct queue_rig *rig, the_state_tells_how_long_the_last_plans_took)
{
    struct sl_buf text;
    struct sl_writer w = {.buf = &text};
    rig_start_on(rig, 1);
    sl_buf_init(&text, 4096);
    rig->queue.state(rig->queue.context, &w);
    assert_non_null(strstr(text.data, "\"planSeconds\":null"));
    for (int64_t i = 1; i <= SL_QUEUE_RECENT + 2; i++) { /* the first two are forgotten */
        sl_queue_recent_add(&rig->worker->recent, (SL_QUEUE_RECENT + 3 - i) * SECOND);
    }
    text.len = 0;
    w.comma = false;
    rig->queue.state(rig->queue.context, &w);
    assert_non_null(strstr(text.data, "\"planSeconds\":{\"last\":1,\"median\":65,\"worst\":128,"
                                      "\"of\":128}"));
    sl_buf_free(&text);
}

/* ---- whose pods ---- */

static bool has_row(struct queue_rig *rig, const char *uid)
{
    struct sl_queue_status status;
    rig->queue.status(rig->queue.context, sl_str_of(uid), &status);
    return status.known;
}

/* And a nomination of theirs is another's. */
TEST_ON(struct queue_rig *rig, when_the_gate_comes_by_policy_pods_without_it_leave_the_queue)
{
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "free"});
    (void)rig_round(rig);
    assert_string_equal(rig_nominate(rig, "free"), "n1");
    rig_gated(rig, "waits");
    (void)rig_later(rig, SECOND);
    rig->config.queue.gate = SL_QUEUE_GATE_POLICY;
    sl_queue_worker_configure(rig->worker, &rig->config);
    (void)rig_later(rig, SECOND);
    assert_false(has_row(rig, "u-free"));
    assert_string_equal(rig_nominate(rig, "free"), "");
    assert_string_equal(rig_nominate(rig, "waits"), "n1");
    rig->config.queue.gate = SL_QUEUE_GATE_WEBHOOK;
    sl_queue_worker_configure(rig->worker, &rig->config);
    (void)rig_later(rig, SECOND);
    assert_true(has_row(rig, "u-free"));
    assert_true(has_row(rig, "u-waits"));
}

TEST_ON(struct queue_rig *rig, pods_of_a_daemon_set_have_no_row_where_its_word_is_taken)
{
    rig_start(rig);
    rig_put(rig, (struct rig_pod){.name = "a"});
    rig_put(rig, (struct rig_pod){.name = "agent", .namespace = "kube-system", .daemon_set = true});
    rig_put(rig, (struct rig_pod){.name = "forged", .daemon_set = true});
    (void)rig_round(rig);
    assert_true(has_row(rig, "u-a"));
    assert_false(has_row(rig, "u-agent"));
    assert_true(has_row(rig, "u-forged"));
    assert_int_equal(rig->n_told, 1);
    assert_non_null(strstr(rig->told, "Ignored: "));
    assert_non_null(strstr(rig->told, "queue.daemonSets"));
}

/* Where the API server puts the gate on, a pod without it is nobody's to hold: but not this one. */
TEST_ON(struct queue_rig *rig, a_gate_that_its_owner_took_off_leaves_the_pod_in_the_queue)
{
    rig->config.queue.gate = SL_QUEUE_GATE_POLICY;
    rig_start(rig);
    rig_gated(rig, "sly");
    rig_put(rig, (struct rig_pod){.name = "free"});
    (void)rig_round(rig);
    rig_put(rig, (struct rig_pod){.name = "sly"});
    (void)rig_round(rig);
    assert_true(has_row(rig, "u-sly"));
    assert_false(has_row(rig, "u-free"));
    assert_int_equal(rig_state(rig, "sly"), SL_QUEUE_HELD);
}

/* ---- events ---- */

TEST_ON(struct queue_rig *rig, its_owner_is_told_once_that_a_pod_waits)
{
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .timeout = "1h"});
    rig_put(rig, (struct rig_pod){.name = "b", .gated = true, .timeout = "1h"});
    (void)rig_round(rig);
    rig_put(rig, (struct rig_pod){.name = "a", .node = "n1", .timeout = "1h"});
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_told, 0); /* most are bound by then */
    (void)rig_later(rig, 2 * SECOND);
    assert_int_equal(rig->n_told, 1);
    assert_non_null(strstr(rig->told, "Waiting: held: "));
    (void)rig_later(rig, 20 * SECOND);
    assert_int_equal(rig->n_told, 1);
}

/* It is told though the pod starts at once, and not again while nothing of it changes. */
TEST_ON(struct queue_rig *rig, what_of_a_pod_cannot_be_read_is_told_once)
{
    struct sl_queue_status status;
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .timeout = "90min"});
    (void)rig_round(rig);
    rig_put(rig, (struct rig_pod){.name = "a", .nominated = "n1", .timeout = "90min"});
    (void)rig_later(rig, 1);
    assert_int_equal(rig->n_told, 1);
    assert_non_null(strstr(rig->told, "Ignored: annotation sliced.dev/timeout: \"90min\" cannot be "
                                      "read, expected such as 90m, 2h30m, 1d"));
    rig_put(rig, (struct rig_pod){.name = "b", .gated = true, .timeout = "90m"});
    (void)rig_later(rig, 1);
    assert_int_equal(rig->n_told, 1);
    rig_put(rig, (struct rig_pod){.name = "b", .gated = true, .timeout = "2w"});
    (void)rig_later(rig, 1);
    assert_int_equal(rig->n_told, 2);
    assert_non_null(strstr(rig->told, "\"2w\" cannot be read"));
    rig->queue.status(rig->queue.context, SL_STR("u-b"), &status);
    assert_non_null(strstr(status.text, "held: "));
    assert_non_null(strstr(status.text, "; annotation sliced.dev/timeout: \"2w\" cannot be read"));
}

TEST_ON(struct queue_rig *rig, of_a_pod_that_is_about_to_start_nobody_is_told_until_it_is_overdue)
{
    rig_node(rig, "n1", 1);
    rig_put(rig, (struct rig_pod){.name = "a", .node = "n1", .timeout = "8s"});
    rig_start(rig);
    rig_put(rig, (struct rig_pod){.name = "b", .gated = true, .timeout = "1h"});
    (void)rig_round(rig);
    (void)rig_later(rig, 4 * SECOND);
    assert_int_equal(rig->n_told, 0); /* a ends in 4 s */
    (void)rig_later(rig, 28 * SECOND);
    assert_int_equal(rig->n_told, 1);
}

TEST_ON(struct queue_rig *rig, after_a_longer_rest_more_are_told_but_never_all_at_once)
{
    char name[NAME_BYTES];
    rig_start_on(rig, 1);
    for (int i = 0; i < 400; i++) {
        (void)snprintf(name, sizeof(name), "p%03d", i);
        rig_gated(rig, name);
    }
    rig_later(rig, 3 * SECOND);
    assert_int_equal(rig->n_told, 20);
    rig_later(rig, 5 * SECOND);
    assert_int_equal(rig->n_told, 120);
    rig_later(rig, HOUR / 60 / 3);
    assert_int_equal(rig->n_told, 320);
}

TEST_ON(struct queue_rig *rig, a_pod_over_the_limit_is_told_what_to_change)
{
    rig->config.plan.n_limits = 1;
    rig->config.plan.limit[0].max_timeout_us = HOUR;
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .timeout = "2h"});
    (void)rig_round(rig);
    assert_int_equal(rig->n_told, 1);
    assert_non_null(strstr(rig->told, "Refused: "));
    assert_non_null(strstr(rig->told, "activeDeadlineSeconds"));
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_REFUSED);
    assert_int_equal(rig->n_released, 0);
}

TEST_ON(struct queue_rig *rig, of_many_refused_at_once_some_are_told_each_second_until_all_are)
{
    char name[NAME_BYTES];
    rig->config.plan.n_limits = 1;
    rig->config.plan.limit[0] = (struct sl_plan_limit){.max_timeout_us = 3600 * SECOND};
    rig_start_on(rig, 1);
    for (int i = 0; i < 70; i++) {
        (void)snprintf(name, sizeof(name), "p%03d", i);
        rig_put(rig, (struct rig_pod){.name = name, .gated = true, .timeout = "2h"});
    }
    rig_round(rig);
    unsigned first = rig->n_told;
    assert_in_range(first, 20, 40);
    for (int i = 0; i < 5; i++) {
        rig_later(rig, SECOND);
        assert_in_range(rig->n_told, first, first + 20);
        first = rig->n_told;
    }
    assert_int_equal(rig->n_told, 70);
}

TEST_ON(struct queue_rig *rig, what_no_node_could_take_is_told_in_the_words_of_the_explanation)
{
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .gpus = 2});
    (void)rig_round(rig);
    (void)rig_later(rig, 3 * SECOND);
    assert_non_null(strstr(rig->told, "NeverFits: "));
}

/* ---- with its thread ---- */

TEST_ON(struct queue_rig *rig, settled_means_planned)
{
    rig_start_on(rig, 4);
    assert_int_equal(sl_queue_worker_start(rig->worker, NULL), 0);
    for (char name[2] = "a"; name[0] < 'e'; name[0]++) {
        rig_gated(rig, name);
        assert_true(rig->queue.settle(rig->queue.context, 60 * SECOND));
        assert_int_equal(rig_state(rig, name), SL_QUEUE_NOMINATED);
    }
    sl_queue_worker_stop(rig->worker);
}
