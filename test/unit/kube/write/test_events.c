/* Events on pods and nodes: what is sent, what becomes a series, and what is let go. */
#include "unit/kube/calls.h"

#include <jansson.h>
#include <sched.h>
#include <stdio.h>

#include "kube/write/event_write.h"
#include "kube/write/events.h"
#include "util/clock.h"
#include "util/timestamp.h"

#define PATH "/apis/events.k8s.io/v1/namespaces/team/events"

struct told {
    struct rig rig;
    struct sl_events_options options;
    struct sl_events *events;
};

static void start_with(struct told *told, struct sl_events_options options)
{
    struct sl_error err;
    rig_start(&told->rig);
    told->options = options;
    told->options.client = told->rig.client;
    told->options.controller = "sliced.dev/scheduler";
    told->options.instance = "sliced-0";
    told->events = sl_events_new(&told->options, &err);
    assert_non_null(told->events);
}

/* No limits to speak of; repetitions are told at once. */
static void start(struct told *told)
{
    start_with(told,
               (struct sl_events_options){.burst = 1, .max_queued = 1000, .max_remembered = 1000});
}

static void end(struct told *told)
{
    sl_events_free(told->events);
    rig_end(&told->rig);
}

static void taken(struct told *told)
{
    fake_api_add(told->rig.api, (struct fake_answer){.status = 201});
}

static bool tell(struct told *told, const char *pod, const char *reason, const char *note)
{
    const struct sl_event_note event = {
        .namespace = SL_STR("team"),
        .name = sl_str_of(pod),
        .uid = SL_STR("u-1"),
        .warning = reason != NULL && strcmp(reason, "Refused") == 0,
        .ahead = reason != NULL && strcmp(reason, "First") == 0,
        .reason = reason,
        .action = "Scheduling",
        .note = note,
    };
    return sl_events_tell(told->events, &event);
}

static struct sl_events_stats stats_of(struct told *told)
{
    struct sl_events_stats stats;
    sl_events_stats(told->events, &stats);
    return stats;
}

/* Until that many were answered one way or the other; fails the test after a minute. */
static void wait_for(struct told *told, uint64_t answered)
{
    int64_t until_us = sl_clock_monotonic_us() + 60000 * MS;
    struct sl_events_stats stats = stats_of(told);
    while (stats.sent + stats.failed < answered && sl_clock_monotonic_us() < until_us) {
        (void)sched_yield();
        stats = stats_of(told);
    }
    assert_int_equal(stats.sent + stats.failed, answered);
}

static json_t *request(struct told *told, unsigned at)
{
    json_t *object = json_loads(fake_api_request(told->rig.api, at)->body, 0, NULL);
    assert_non_null(object);
    return object;
}

static void assert_text(const json_t *object, const char *name, const char *expected)
{
    const char *value = json_string_value(json_object_get(object, name));
    assert_non_null(value);
    assert_string_equal(value, expected);
}

static void assert_micro_time(const json_t *object, const char *name)
{
    int64_t us = 0;
    const char *value = json_string_value(json_object_get(object, name));
    assert_non_null(value);
    assert_int_equal(strlen(value), strlen("2026-11-21T12:38:09.000000Z"));
    assert_true(sl_time_parse(sl_str_of(value), &us));
}

static void assert_series(const json_t *object, int64_t count)
{
    const json_t *series = json_object_get(object, "series");
    assert_int_equal(json_integer_value(json_object_get(series, "count")), count);
    assert_micro_time(series, "lastObservedTime");
}

/* ---- what is sent ---- */

TEST_THAT(an_event_names_the_pod_and_who_says_what)
{
    struct told told;
    const struct sl_event_note note = {.namespace = SL_STR("team"),
                                       .name = SL_STR("train-0"),
                                       .uid = SL_STR("u-1"),
                                       .warning = true,
                                       .reason = "NeverFits",
                                       .action = "Scheduling",
                                       .note = "no node offers \"3g.20gb\""};
    start(&told);
    taken(&told);

    assert_true(sl_events_tell(told.events, &note));

    wait_for(&told, 1);
    json_t *event = request(&told, 0);
    const json_t *metadata = json_object_get(event, "metadata");
    const json_t *regarding = json_object_get(event, "regarding");
    const char *name = json_string_value(json_object_get(metadata, "name"));
    assert_string_equal(fake_api_request(told.rig.api, 0)->method, "POST");
    assert_string_equal(fake_api_request(told.rig.api, 0)->path, PATH);
    assert_text(event, "apiVersion", "events.k8s.io/v1");
    assert_text(event, "kind", "Event");
    assert_text(metadata, "namespace", "team");
    assert_memory_equal(name, "train-0.", 8);
    assert_int_equal(strspn(name + 8, "0123456789abcdef"), strlen(name + 8));
    assert_text(regarding, "apiVersion", "v1");
    assert_text(regarding, "kind", "Pod");
    assert_text(regarding, "namespace", "team");
    assert_text(regarding, "name", "train-0");
    assert_text(regarding, "uid", "u-1");
    assert_text(event, "reason", "NeverFits");
    assert_text(event, "action", "Scheduling");
    assert_text(event, "type", "Warning");
    assert_text(event, "note", "no node offers \"3g.20gb\"");
    assert_text(event, "reportingController", "sliced.dev/scheduler");
    assert_text(event, "reportingInstance", "sliced-0");
    assert_micro_time(event, "eventTime");
    assert_null(json_object_get(event, "series"));
    json_decref(event);
    end(&told);
}

/* Two replicas that tell the same use one name, so that the API server takes it once. */
TEST_THAT(what_is_told_once_has_the_same_name_in_every_process)
{
    char name[3][300];
    for (unsigned i = 0; i < 3; i++) {
        struct told told;
        const struct sl_event_note note = {.namespace = SL_STR("team"),
                                           .name = SL_STR("train-0"),
                                           .uid = i < 2 ? SL_STR("u-1") : SL_STR("u-2"),
                                           .once = true,
                                           .reason = "GPUIdle",
                                           .action = "Measuring",
                                           .note = i == 0 ? "for 30m" : "for 35m"};
        start(&told);
        fake_api_add(told.rig.api, (struct fake_answer){.status = i == 0 ? 201 : 409});
        assert_true(sl_events_tell(told.events, &note));
        wait_for(&told, 1);
        assert_int_equal(stats_of(&told).sent, 1);
        json_t *event = request(&told, 0);
        const json_t *metadata = json_object_get(event, "metadata");
        (void)snprintf(name[i], sizeof(name[i]), "%s",
                       json_string_value(json_object_get(metadata, "name")));
        json_decref(event);
        end(&told);
    }
    assert_string_equal(name[0], name[1]);
    assert_string_not_equal(name[0], name[2]);
}

/* The API server takes Events of objects without a namespace in "default" alone. */
TEST_THAT(an_event_of_a_node_is_in_the_default_namespace)
{
    struct told told;
    start(&told);
    taken(&told);
    for (unsigned i = 0; i < 2; i++) {
        const struct sl_event_note note = {.kind = SL_EVENT_NODE,
                                           .name = SL_STR("node-7"),
                                           .uid = i == 0 ? SL_STR("") : SL_STR("n-1"),
                                           .reason = "Cut",
                                           .action = "Partitioning",
                                           .note = "GPU 2 into 2x 3g.20gb"};
        assert_true(sl_events_tell(told.events, &note));
        wait_for(&told, i + 1);
        json_t *event = request(&told, i);
        const json_t *regarding = json_object_get(event, "regarding");
        assert_string_equal(fake_api_request(told.rig.api, i)->path,
                            "/apis/events.k8s.io/v1/namespaces/default/events");
        assert_text(json_object_get(event, "metadata"), "namespace", "default");
        assert_text(regarding, "kind", "Node");
        assert_null(json_object_get(regarding, "namespace"));
        assert_text(regarding, "name", "node-7");
        assert_text(regarding, "uid", i == 0 ? "node-7" : "n-1");
        json_decref(event);
    }
    end(&told);
}

TEST_THAT(a_pod_of_the_default_namespace_is_told_beside_a_node_of_its_name)
{
    struct told told;
    start(&told);
    taken(&told);
    struct sl_event_note note = {.kind = SL_EVENT_NODE,
                                 .name = SL_STR("n"),
                                 .uid = SL_STR("u"),
                                 .reason = "Cut",
                                 .action = "Partitioning",
                                 .note = "the same"};
    assert_true(sl_events_tell(told.events, &note));
    wait_for(&told, 1);
    note.kind = SL_EVENT_POD;
    note.namespace = SL_STR("default");
    assert_true(sl_events_tell(told.events, &note));
    wait_for(&told, 2);
    json_t *event = request(&told, 1);
    assert_text(json_object_get(event, "regarding"), "kind", "Pod");
    assert_null(json_object_get(event, "series"));
    json_decref(event);
    end(&told);
}

TEST_THAT(a_repetition_is_a_patch_of_the_series)
{
    struct told told;
    char path[512];
    start(&told);
    taken(&told);
    for (unsigned i = 1; i <= 3; i++) {
        tell(&told, "p", "Waiting", "3 ahead");
        wait_for(&told, i);
    }
    json_t *created = request(&told, 0);
    json_t *patch = request(&told, 2);
    (void)snprintf(
        path, sizeof(path), PATH "/%s",
        json_string_value(json_object_get(json_object_get(created, "metadata"), "name")));
    assert_string_equal(fake_api_request(told.rig.api, 2)->method, "PATCH");
    assert_string_equal(fake_api_request(told.rig.api, 2)->path, path);
    assert_string_equal(fake_api_request(told.rig.api, 2)->content_type,
                        "application/merge-patch+json");
    assert_int_equal(json_object_size(patch), 1);
    assert_series(patch, 3);
    json_decref(created);
    json_decref(patch);
    end(&told);
}

TEST_THAT(another_note_pod_or_reason_is_another_event)
{
    struct told told;
    start_with(&told, (struct sl_events_options){.burst = 1,
                                                 .repeat_us = 3600000 * MS,
                                                 .max_queued = 1000,
                                                 .max_remembered = 1000});
    taken(&told);
    tell(&told, "p", "Waiting", "3 ahead");
    wait_for(&told, 1);
    tell(&told, "p", "Waiting", "2 ahead");
    wait_for(&told, 2);
    tell(&told, "p", "Bound", "2 ahead");
    tell(&told, "q", "Waiting", "2 ahead");
    wait_for(&told, 4);
    assert_int_equal(fake_api_count(told.rig.api, "POST", PATH), 4);
    assert_int_equal(fake_api_requests(told.rig.api), 4);
    end(&told);
}

TEST_THAT(the_same_is_not_told_again_too_soon_but_counted)
{
    struct told told;
    start_with(&told, (struct sl_events_options){.burst = 1,
                                                 .repeat_us = 3600000 * MS,
                                                 .max_queued = 1000,
                                                 .max_remembered = 1000});
    taken(&told);
    tell(&told, "p", "Waiting", "3 ahead");
    wait_for(&told, 1);
    for (int i = 0; i < 10; i++) {
        tell(&told, "p", "Waiting", "3 ahead");
    }
    tell(&told, "q", "Waiting", "3 ahead");
    wait_for(&told, 2);
    assert_int_equal(stats_of(&told).aggregated, 10);
    assert_int_equal(fake_api_requests(told.rig.api), 2);
    end(&told);
}

TEST_THAT(an_event_that_is_gone_begins_anew_with_its_count)
{
    struct told told;
    start(&told);
    fake_api_add(told.rig.api, (struct fake_answer){.method = "PATCH", .status = 404});
    taken(&told);
    tell(&told, "p", "Waiting", "3 ahead");
    wait_for(&told, 1);

    tell(&told, "p", "Waiting", "3 ahead");

    wait_for(&told, 2);
    json_t *event = request(&told, 2);
    assert_string_equal(fake_api_request(told.rig.api, 2)->method, "POST");
    assert_text(event, "note", "3 ahead");
    assert_series(event, 2);
    assert_int_equal(stats_of(&told).failed, 0);
    json_decref(event);
    end(&told);
}

TEST_THAT(what_comes_while_one_is_sent_goes_after_it)
{
    struct told told;
    start(&told);
    fake_api_add(told.rig.api, (struct fake_answer){.times = 1, .kind = FAKE_HANG});
    taken(&told);
    tell(&told, "p", "Waiting", "3 ahead");
    fake_api_wait(told.rig.api, 1);
    tell(&told, "p", "Waiting", "3 ahead");
    tell(&told, "p", "Waiting", "2 ahead");
    tell(&told, "p", "Waiting", "1 ahead");
    tell(&told, "p", "Waiting", "1 ahead");

    fake_api_release(told.rig.api); /* the first is tried again */

    wait_for(&told, 2);
    json_t *event = request(&told, 2);
    assert_text(event, "note", "1 ahead");
    assert_series(event, 2);
    assert_int_equal(stats_of(&told).aggregated, 3);
    json_decref(event);
    end(&told);
}

TEST_THAT(an_event_that_is_there_already_was_sent)
{
    struct told told;
    start(&told);
    fake_api_add(told.rig.api, (struct fake_answer){.times = 1, .kind = FAKE_CLOSE});
    fake_api_add(told.rig.api, (struct fake_answer){.status = 409});
    tell(&told, "p", "Waiting", "3 ahead");
    wait_for(&told, 1);
    assert_int_equal(stats_of(&told).sent, 1);
    end(&told);
}

TEST_THAT(a_refused_event_is_counted_and_created_the_next_time)
{
    struct told told;
    start(&told);
    fake_api_add(told.rig.api, (struct fake_answer){.times = 1, .status = 403});
    taken(&told);
    tell(&told, "p", "Waiting", "3 ahead");
    wait_for(&told, 1);
    assert_int_equal(stats_of(&told).failed, 1);
    tell(&told, "p", "Waiting", "3 ahead");
    wait_for(&told, 2);
    assert_int_equal(fake_api_count(told.rig.api, "POST", PATH), 2);
    assert_int_equal(stats_of(&told).sent, 1);
    end(&told);
}

/* ---- text ---- */

TEST_THAT(long_notes_are_cut_between_characters)
{
    char text[SL_EVENT_NOTE_MAX + 100];
    char out[SL_EVENT_NOTE_MAX + 1];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i < sizeof(text) - 4; i += 3) {
            memcpy(text + i, "\xe2\x82\xac", 4);
        }
        size_t len = sl_event_cut(text, SL_EVENT_NOTE_MAX, out);
        assert_true(len <= SL_EVENT_NOTE_MAX && len > SL_EVENT_NOTE_MAX - 3);
        assert_int_equal(strlen(out), len);
        assert_string_equal(out + len - 3, "...");
        assert_int_equal((len - 3 - shift) % 3, 0);
        assert_memory_equal(out, text, len - 3);
    }
    memset(text, 'x', SL_EVENT_NOTE_MAX);
    text[SL_EVENT_NOTE_MAX] = '\0';
    assert_int_equal(sl_event_cut(text, SL_EVENT_NOTE_MAX, out), SL_EVENT_NOTE_MAX);
    assert_string_equal(out, text);
}

TEST_THAT(what_a_user_wrote_is_escaped_in_a_note)
{
    char out[SL_EVENT_NOTE_MAX + 1];
    (void)sl_event_cut("label \"\x1b[2J\xe2\x80\xae\"", SL_EVENT_NOTE_MAX, out);
    assert_string_equal(out, "label \"\\u001b[2J\\u202e\"");
    (void)sl_event_cut("abc\x1b", 8, out);
    assert_string_equal(out, "abc...");
}

TEST_THAT(an_events_name_is_never_too_long)
{
    char pod[300];
    char name[SL_EVENT_NAME_MAX + 1];
    memset(pod, 'a', sizeof(pod));
    for (size_t len = 1; len <= 253; len++) {
        sl_event_name((struct sl_str){pod, len}, UINT64_MAX, name);
        assert_true(strlen(name) <= 253);
        assert_non_null(strstr(name, ".ffffffffffffffff"));
    }
    sl_event_name(SL_STR("p"), 255, name);
    assert_string_equal(name, "p.ff");
    pod[235] = '-';
    pod[234] = '.';
    sl_event_name((struct sl_str){pod, 253}, 1, name);
    assert_int_equal(strcspn(name, "."), 234);
    assert_string_equal(name + 234, ".1");
}

/* ---- limits ---- */

/* Of six places a namespace has five. */
TEST_THAT(what_the_queue_does_not_hold_is_dropped)
{
    struct told told;
    struct block block = BLOCK_INIT;
    char pod[16];
    start_with(&told,
               (struct sl_events_options){.burst = 1, .max_queued = 6, .max_remembered = 1000});
    taken(&told);
    block_close(&block, told.rig.client);
    for (int i = 0; i < 12; i++) {
        (void)snprintf(pod, sizeof(pod), "p%d", i);
        tell(&told, pod, "Waiting", "3 ahead");
    }
    tell(&told, "p0", "Waiting", "3 ahead");
    assert_int_equal(stats_of(&told).dropped, 7);
    assert_int_equal(stats_of(&told).aggregated, 1);

    block_open(&block);

    wait_for(&told, 5);
    assert_int_equal(fake_api_requests(told.rig.api), 5);
    end(&told);
}

/* How many of the first n requests tell for that reason. */
static unsigned told_for(struct told *told, unsigned n, const char *reason)
{
    unsigned found = 0;
    for (unsigned i = 0; i < n; i++) {
        found += strstr(fake_api_request(told->rig.api, i)->body, reason) != NULL ? 1 : 0;
    }
    return found;
}

TEST_THAT(what_a_full_queue_did_not_take_is_said_and_warnings_still_have_a_place)
{
    struct told told;
    struct block block = BLOCK_INIT;
    char pod[16];
    start_with(&told,
               (struct sl_events_options){.burst = 1, .max_queued = 6, .max_remembered = 1000});
    taken(&told);
    block_close(&block, told.rig.client);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(pod, sizeof(pod), "p%d", i);
        assert_true(tell(&told, pod, "Bound", "to n1"));
    }
    assert_false(tell(&told, "p5", "Bound", "to n1"));
    assert_true(tell(&told, "p0", "Bound", "to n1")); /* counted with what waits */
    assert_true(tell(&told, "p5", "Refused", "over a limit"));
    assert_true(tell(&told, "p6", "First", "3 ahead"));
    block_open(&block);
    wait_for(&told, 7);
    end(&told);
}

/* As many are under way at a time as SENDING_MAX says: 8. */
TEST_THAT(warnings_and_first_words_go_ahead_of_what_waits_longer)
{
    struct told told;
    struct block block = BLOCK_INIT;
    char pod[16];
    start(&told);
    fake_api_add(told.rig.api, (struct fake_answer){.kind = FAKE_HANG});
    block_close(&block, told.rig.client);
    for (int i = 0; i < 30; i++) {
        (void)snprintf(pod, sizeof(pod), "p%d", i);
        (void)tell(&told, pod, "Bound", "to n1");
    }
    (void)tell(&told, "q", "Refused", "over a limit");
    (void)tell(&told, "r", "First", "3 ahead");
    block_open(&block);
    fake_api_wait(told.rig.api, 8);
    assert_int_equal(told_for(&told, 8, "Refused"), 1);
    assert_int_equal(told_for(&told, 8, "First"), 1);
    assert_int_equal(told_for(&told, 8, "Bound"), 6);
    end(&told);
}

TEST_THAT(however_many_go_ahead_the_others_go_on)
{
    struct told told;
    struct block block = BLOCK_INIT;
    char pod[16];
    start(&told);
    fake_api_add(told.rig.api, (struct fake_answer){.kind = FAKE_HANG});
    block_close(&block, told.rig.client);
    (void)tell(&told, "q", "Bound", "to n1");
    for (int i = 0; i < 30; i++) {
        (void)snprintf(pod, sizeof(pod), "p%d", i);
        (void)tell(&told, pod, "Refused", "over a limit");
    }
    block_open(&block);
    fake_api_wait(told.rig.api, 8);
    assert_int_equal(told_for(&told, 8, "Refused"), 7);
    assert_int_equal(told_for(&told, 8, "Bound"), 1);
    end(&told);
}

TEST_THAT(the_least_recently_used_is_forgotten_first)
{
    struct told told;
    static const char *const pods[] = {"a", "b", "a", "c", "a", "b"};
    static const char *const methods[] = {"POST", "POST", "PATCH", "POST", "PATCH", "POST"};
    start_with(&told,
               (struct sl_events_options){.burst = 1, .max_queued = 100, .max_remembered = 2});
    taken(&told);
    for (unsigned i = 0; i < 6; i++) {
        tell(&told, pods[i], "Waiting", "3 ahead");
        wait_for(&told, i + 1);
        assert_string_equal(fake_api_request(told.rig.api, i)->method, methods[i]);
    }
    end(&told);
}

TEST_THAT(events_keep_to_their_rate)
{
    struct told told;
    char pod[16];
    start_with(&told, (struct sl_events_options){
                          .per_second = 50, .burst = 2, .max_queued = 100, .max_remembered = 100});
    taken(&told);
    int64_t begin_us = sl_clock_monotonic_us();
    for (int i = 0; i < 8; i++) {
        (void)snprintf(pod, sizeof(pod), "p%d", i);
        tell(&told, pod, "Waiting", "3 ahead");
    }
    wait_for(&told, 8);
    /* two at once and one each 20 ms, less what the bucket gained before; no sooner */
    assert_true(fake_api_request(told.rig.api, 7)->at_us - begin_us >= 119 * MS);
    end(&told);
}

TEST_THAT(what_is_queued_or_under_way_at_the_end_is_let_go)
{
    struct told told;
    char pod[16];
    start(&told);
    fake_api_add(told.rig.api, (struct fake_answer){.kind = FAKE_HANG});
    for (int i = 0; i < 20; i++) {
        (void)snprintf(pod, sizeof(pod), "p%d", i);
        tell(&told, pod, "Waiting", "3 ahead");
    }
    fake_api_wait(told.rig.api, 8);
    end(&told);
}

TEST_THAT(a_note_without_a_pod_is_dropped)
{
    struct told told;
    start(&told);
    tell(&told, "", "Waiting", "3 ahead");
    tell(&told, "p", "", "3 ahead");
    tell(&told, "p", NULL, "3 ahead");
    assert_int_equal(stats_of(&told).dropped, 3);
    end(&told);
}

enum { THREADS = 8, NOTES_EACH = 200 };

struct teller {
    struct told *told;
    unsigned number;
};

static void *tell_much(void *context)
{
    const struct teller *teller = context;
    char pod[16];
    char note[16];
    for (unsigned i = 0; i < NOTES_EACH; i++) {
        (void)snprintf(pod, sizeof(pod), "p%u", (teller->number + i) % 20);
        (void)snprintf(note, sizeof(note), "%u ahead", i / 7 % 3);
        tell(teller->told, pod, i % 2 == 0 ? "Waiting" : "Bound", note);
    }
    return NULL;
}

TEST_THAT(every_note_is_accounted_for)
{
    struct told told;
    struct teller teller[THREADS];
    pthread_t thread[THREADS];
    start_with(&told,
               (struct sl_events_options){.burst = 1, .max_queued = 15, .max_remembered = 25});
    fake_api_add(told.rig.api, (struct fake_answer){.times = 5, .status = 403});
    taken(&told);
    for (unsigned i = 0; i < THREADS; i++) {
        teller[i] = (struct teller){&told, i};
        assert_int_equal(pthread_create(&thread[i], NULL, tell_much, &teller[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    int64_t until_us = sl_clock_monotonic_us() + 60000 * MS;
    uint64_t sum = 0;
    while (sum != (uint64_t)THREADS * NOTES_EACH && sl_clock_monotonic_us() < until_us) {
        struct sl_events_stats stats = stats_of(&told);
        sum = stats.sent + stats.aggregated + stats.dropped + stats.failed;
        (void)sched_yield();
    }
    assert_int_equal(sum, THREADS * NOTES_EACH);
    assert_int_equal(stats_of(&told).failed, 5);
    end(&told);
}
