/* Who reads the queue while it changes: what was copied out stays what it was, whatever becomes of
 * the planner meanwhile. */
#include "queue_rig.h"

#include <errno.h>
#include <stdatomic.h>

#include "util/clock.h"

TEST_FIXTURE_OF(struct queue_rig, rig_begin, rig_end)

enum { TURNS = 60 };

/* Pods that wait for every reason whose text names something of the planner's. */
static void begin_with_reasons(struct queue_rig *rig)
{
    rig->config.plan.default_timeout_us = HOUR;
    rig->config.plan.n_limits = 1;
    rig->config.plan.limit[0] = (struct sl_plan_limit){GPU, 10 * HOUR};
    rig->config.plan.n_headrooms = 1;
    rig->config.plan.headroom[0] = (struct sl_plan_headroom){GPU, 2 * HOUR, 1};
    rig_start_on(rig, 2);
    rig_put(rig, (struct rig_pod){.name = "nominated", .gated = true});
    rig_put(rig, (struct rig_pod){.name = "limited", .gated = true, .timeout = "11h"});
    rig_put(rig, (struct rig_pod){.name = "over", .gated = true, .timeout = "9h", .gpus = 2});
    rig_put(rig, (struct rig_pod){.name = "staged", .gated = true, .after = "nobody"});
    rig_put(rig, (struct rig_pod){.name = "held", .gated = true, .gpus = 2});
    (void)rig_round(rig);
}

static size_t texts_of(const struct sl_queue_list *list, char *out, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < list->n; i++) {
        char text[SL_PLAN_TEXT_MAX];
        const struct sl_queue_row *row = &list->row[i];
        (void)sl_queue_text(row, list->now_us, text, sizeof(text));
        int n = snprintf(out + len, size - len, "%s: %s %s %s\n", row->pod->name, text,
                         row->node == NULL ? "-" : row->node,
                         row->assignment == NULL ? "-" : row->assignment);
        len += n > 0 ? (size_t)n : 0;
    }
    return len;
}

static void list_all(struct queue_rig *rig, struct sl_queue_list *list, int result)
{
    assert_int_equal(rig->queue.list(rig->queue.context, 100, list, NULL), result);
}

static void reload(struct queue_rig *rig, int64_t hours, int64_t units)
{
    rig->config.plan.limit[0].max_timeout_us = hours * HOUR;
    (void)snprintf(rig->config.plan.limit[0].resource, SL_PLAN_NAME_MAX, "%s",
                   hours == 10 ? GPU : "");
    rig->config.plan.headroom[0].units = units;
    sl_queue_worker_configure(rig->worker, &rig->config);
}

TEST_ON(struct queue_rig *rig, rows_say_after_a_reload_what_they_said_before)
{
    struct sl_queue_list list;
    char before[4096];
    char after[4096];
    begin_with_reasons(rig);
    list_all(rig, &list, 0);
    (void)texts_of(&list, before, sizeof(before));
    assert_non_null(strstr(before, "limited: refused: its timeout, 11h, is over the limit of 10h "
                                   "for nvidia.com/gpu"));
    assert_non_null(strstr(before, "over: refused: it asks for 2 of nvidia.com/gpu"));
    reload(rig, 7, 2);
    (void)rig_round(rig);
    (void)texts_of(&list, after, sizeof(after));
    assert_string_equal(after, before);
    sl_queue_list_free(&list);
}

/* AddressSanitizer sees where a row still leads into the planner. */
TEST_ON(struct queue_rig *rig, rows_outlive_the_lease)
{
    struct sl_queue_list list;
    char before[4096];
    char after[4096];
    begin_with_reasons(rig);
    list_all(rig, &list, 0);
    (void)texts_of(&list, before, sizeof(before));
    rig->leadership = 0;
    (void)rig_round(rig);
    for (const char *const *name =
             (const char *const[]){"nominated", "limited", "over", "staged", "held", NULL};
         *name != NULL; name++) {
        rig_delete(rig, *name);
    }
    (void)texts_of(&list, after, sizeof(after));
    assert_string_equal(after, before);
    sl_queue_list_free(&list);
    list_all(rig, &list, -1);
    sl_queue_list_free(&list);
}

TEST_ON(struct queue_rig *rig, invented_names_leave_real_ones_their_rows)
{
    struct sl_buf page;
    char name[32];
    char resource[64];
    rig_start_on(rig, 1);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "a%u", i);
        (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-x%u", i);
        rig_put(rig, (struct rig_pod){.name = name, .gated = true, .resource = resource});
    }
    rig_gated(rig, "b");
    rig_come(rig, "c");
    sl_buf_init(&page, 1 << 20);
    rig_metrics(rig, NULL, &page);
    assert_int_equal(page.failed, SL_BUF_OK);
    sl_buf_putc(&page, '\0');
    assert_non_null(strstr(page.data, "sliced_queue_pods{resource=\"nvidia.com/gpu\","));
    assert_non_null(strstr(page.data, "sliced_queue_pods{resource=\"others\",state=\"Refused\","
                                      "reason=\"Never\"} 10\n"));
    sl_buf_free(&page);
}

/* Eighty readers of a long queue cost it little more than one. */
TEST_ON(struct queue_rig *rig, readers_share_rows_that_are_made_once)
{
    struct sl_queue_list list;
    begin_with_reasons(rig);
    for (unsigned i = 0; i < 80; i++) {
        rig->worker->listed_us = sl_clock_monotonic_us(); /* however slow this machine is */
        list_all(rig, &list, 0);
        assert_int_equal(list.n, 5);
        sl_queue_list_free(&list);
    }
    assert_int_equal(rig->worker->listings, 1);
    rig_delete(rig, "held"); /* short, so that there are other ones after each plan */
    (void)rig_round(rig);
    list_all(rig, &list, 0);
    assert_int_equal(list.n, 4);
    assert_int_equal(rig->worker->listings, 2);
    rig->worker->listing_us = HOUR; /* as if it were long */
    rig_delete(rig, "over");
    (void)rig_round(rig);
    struct sl_queue_list later;
    list_all(rig, &later, 0);
    assert_ptr_equal(later.row, list.row);
    assert_int_equal(rig->worker->listings, 2);
    sl_queue_list_free(&later);
    assert_int_equal(rig->queue.list(rig->queue.context, 2, &later, NULL), 0);
    assert_int_equal(later.n, 2);
    assert_int_equal(later.total, 4);
    sl_queue_list_free(&later);
    rig->leadership = 2; /* what another leader's leadership has planned is not told in this one */
    (void)rig_round(rig);
    list_all(rig, &later, 0);
    assert_int_equal(later.n, 3);
    sl_queue_list_free(&later);
    sl_queue_list_free(&list);
}

/* ---- a pod that is not there ---- */

static int what_if(struct queue_rig *rig, const char *name, int64_t gpus,
                   struct sl_queue_what_if *out, struct sl_error *err)
{
    struct sl_pod_facts facts = {
        .name = sl_str_of(name), .uid = SL_STR("supposed"), .created_us = rig->now_us};
    char count[8];
    (void)snprintf(count, sizeof(count), "%d", (int)gpus);
    struct sl_pair limit = {.key = SL_STR(GPU), .value = sl_str_of(count)};
    struct sl_pair gate = {.key = SL_STR("sliced.dev/queue")};
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    facts.containers = &container;
    facts.gates = &gate;
    struct sl_pod *pod = sl_pod_new(&facts, err);
    assert_non_null(pod);
    int result = rig->queue.what_if(rig->queue.context, pod, out, err);
    sl_pod_unref(pod);
    return result;
}

TEST_ON(struct queue_rig *rig, a_pod_that_is_not_there_changes_nothing)
{
    struct sl_queue_what_if told;
    struct sl_queue_list list;
    struct sl_error err = {.code = SL_ERR_NONE};
    char before[4096];
    char after[4096];
    begin_with_reasons(rig);
    list_all(rig, &list, 0);
    (void)texts_of(&list, before, sizeof(before));
    sl_queue_list_free(&list);
    unsigned released = rig->n_released;
    assert_int_equal(what_if(rig, "x", 1, &told, &err), 0);
    assert_int_equal(told.list.n, 1);
    assert_int_equal(told.position, 2);
    assert_int_equal(told.list.row[0].state, SL_QUEUE_HELD);
    assert_null(told.list.row[0].first);
    sl_queue_list_free(&told.list);
    (void)rig_round(rig);
    rig->worker->listed_us = 0; /* made anew */
    list_all(rig, &list, 0);
    (void)texts_of(&list, after, sizeof(after));
    assert_string_equal(after, before);
    assert_int_equal(list.total, 5);
    assert_int_equal(rig->n_released, released);
    sl_queue_list_free(&list);
}

TEST_ON(struct queue_rig *rig, who_does_not_lead_supposes_nothing)
{
    struct sl_queue_what_if told;
    struct sl_error err = {.code = SL_ERR_NONE};
    begin_with_reasons(rig);
    rig->leadership = 0;
    (void)rig_round(rig);
    assert_int_equal(what_if(rig, "x", 1, &told, &err), -1);
    assert_int_equal(err.code, SL_ERR_CONFLICT);
    sl_queue_list_free(&told.list);
}

/* An embedded cluster changes several things at once meanwhile: a round locks the plan for as long
 * as it reads the cluster and decides. */
TEST_ON(struct queue_rig *rig, no_round_is_made_while_plans_are_held)
{
    rig_start_on(rig, 1);
    rig->queue.hold(rig->queue.context, true);
    assert_int_equal(pthread_mutex_trylock(&rig->worker->plan), EBUSY);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true}); /* the store goes on */
    rig->queue.hold(rig->queue.context, false);
    (void)rig_round(rig);
    assert_int_equal(rig->n_released, 1);
    assert_int_equal(pthread_mutex_trylock(&rig->worker->plan), 0);
    (void)pthread_mutex_unlock(&rig->worker->plan);
}

/* ---- at the same time ---- */

struct reader {
    struct queue_rig *rig;
    pthread_t thread;
    _Atomic bool *stop;
    _Atomic unsigned *reads;
};

static void *read_on(void *context)
{
    const struct reader *reader = context;
    const struct sl_queue_reader *queue = &reader->rig->queue;
    while (!atomic_load(reader->stop)) {
        struct sl_queue_list list;
        struct sl_queue_status status;
        struct sl_queue_stats stats;
        struct sl_buf page;
        char text[4096];
        (void)queue->list(queue->context, 100, &list, NULL);
        (void)texts_of(&list, text, sizeof(text));
        sl_queue_list_free(&list);
        (void)queue->row(queue->context, SL_STR("u-limited"), &list, NULL);
        (void)texts_of(&list, text, sizeof(text));
        sl_queue_list_free(&list);
        queue->status(queue->context, SL_STR("u-over"), &status);
        queue->heard(queue->context, SL_STR("u-nominated"));
        sl_queue_stats(reader->rig->worker, &stats);
        sl_buf_init(&page, 1 << 20);
        rig_metrics(reader->rig, NULL, &page);
        sl_buf_free(&page);
        (void)atomic_fetch_add(reader->reads, 1);
    }
    return NULL;
}

/* ThreadSanitizer and AddressSanitizer see what they read that is not theirs. */
TEST_ON(struct queue_rig *rig, readers_and_changes_of_every_kind_do_not_meet)
{
    struct reader reader[2];
    _Atomic bool stop = false;
    _Atomic unsigned reads = 0;
    begin_with_reasons(rig);
    for (unsigned i = 0; i < 2; i++) {
        reader[i] = (struct reader){.rig = rig, .stop = &stop, .reads = &reads};
        assert_int_equal(pthread_create(&reader[i].thread, NULL, read_on, &reader[i]), 0);
    }
    for (unsigned i = 0; i < TURNS || atomic_load(&reads) < TURNS; i++) {
        rig->leadership = i % 5 == 4 ? 0 : 1 + i / 5;
        reload(rig, i % 2 == 0 ? 10 : 7, 1 + i % 2);
        rig_put(rig, (struct rig_pod){.name = i % 2 == 0 ? "held" : "nominated", .gated = true});
        (void)rig_later(rig, i % 7 == 6 ? -HOUR : SECOND);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(reader[i].thread, NULL), 0);
    }
}
