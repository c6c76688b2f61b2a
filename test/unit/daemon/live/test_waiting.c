/* What owners of waiting pods are told, and how often. */
#include "../../server/rig.h"

#include "daemon/live/waiting.h"
#include "server/model/explain.h"
#include "sliced/constraint.h"

#define GPU "nvidia.com/gpu"

enum { HOUR = 3600 };

#define SECOND INT64_C(1000000)

static const struct sl_score_config score = {.weight = {100, 50, 0}};

static struct {
    char text[16][640];
    unsigned n;
    bool deaf; /* takes no note */
} g;

static bool tell(void *context, const struct sl_event_note *note)
{
    (void)context;
    if (g.deaf) {
        return false;
    }
    assert_true(g.n < 16);
    (void)snprintf(g.text[g.n++], sizeof(g.text[0]), "%s %.*s/%.*s %.*s %s: %s",
                   note->warning ? "Warning" : "Normal", (int)note->namespace.len,
                   note->namespace.s, (int)note->name.len, note->name.s, (int)note->uid.len,
                   note->uid.s, note->reason, note->note);
    return true;
}

static struct sl_waiting *open_waiting(struct sl_store *store, unsigned max_told)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_waiting_options options = {.store = store,
                                               .tell = tell,
                                               .grace_us = 2 * SECOND,
                                               .repeat_us = 300 * SECOND,
                                               .max_told = max_told};
    struct sl_waiting *waiting = sl_waiting_new(&options, &err);
    assert_non_null(waiting);
    g.n = 0;
    return waiting;
}

TEST_THAT(pods_that_fit_nowhere_are_told_of_once_in_a_while)
{
    struct sl_store *store = rig_store(RIG_NODE("n1", GPU, "2") RIG_POD("big", "u-big", GPU, "3")
                                           RIG_POD("strange", "u-s", "nvidia.com/mig-9g.99gb", "1")
                                               RIG_POD("fits", "u-f", GPU, "1"));
    struct sl_waiting *waiting = open_waiting(store, 10);
    int64_t now = (int64_t)HOUR * SECOND;

    assert_int_equal(sl_waiting_round(waiting, &score, now), 2);
    assert_string_equal(g.text[0], "Warning default/big u-big NeverFits: 3 nvidia.com/gpu asked, "
                                   "the largest node has 2 in all: it cannot start in this cluster "
                                   "as it is");
    assert_string_equal(g.text[1], "Warning default/strange u-s NeverFits: no node offers "
                                   "nvidia.com/mig-9g.99gb: it cannot start in this cluster as it "
                                   "is");
    assert_int_equal(sl_waiting_round(waiting, &score, now + 299 * (int64_t)SECOND), 0);
    assert_int_equal(sl_waiting_round(waiting, &score, now + 300 * (int64_t)SECOND), 2);
    assert_string_equal(g.text[2], g.text[0]);
    sl_waiting_free(waiting);
    sl_store_free(store);
}

TEST_THAT(a_pod_that_fitted_when_it_was_looked_at_is_looked_at_again)
{
    struct sl_store *store = rig_store(RIG_NODE("n1", GPU, "2") RIG_POD("p", "u-p", GPU, "2"));
    struct sl_waiting *waiting = open_waiting(store, 10);
    int64_t now = (int64_t)HOUR * SECOND;
    assert_int_equal(sl_waiting_round(waiting, &score, now), 0);
    rig_load(store, "apiVersion: v1\nkind: Pod\nmetadata: {name: other, uid: u-o}\n"
                    "spec: {nodeName: n1, containers: [{name: c, resources: {limits: {" GPU
                    ": \"1\"}}}]}\nstatus: {phase: Running}\n");
    assert_int_equal(sl_waiting_round(waiting, &score, now + SECOND), 1);
    assert_string_equal(g.text[0], "Normal default/p u-p Waiting: 1 of 2 nvidia.com/gpu are in use "
                                   "and no node has 2 free; waits for some to end");
    sl_waiting_free(waiting);
    sl_store_free(store);
}

TEST_THAT(young_pods_are_left_alone)
{
    struct sl_store *store =
        rig_store("apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u, creationTimestamp: "
                  "\"1970-01-01T01:00:00Z\"}\nspec: {containers: [{name: c, resources: {limits: "
                  "{" GPU ": \"1\"}}}]}\n");
    struct sl_waiting *waiting = open_waiting(store, 10);
    int64_t created = (int64_t)HOUR * SECOND;
    assert_int_equal(sl_waiting_round(waiting, &score, created + SECOND), 0);
    assert_int_equal(sl_waiting_round(waiting, &score, created + 2 * SECOND), 1);
    assert_non_null(strstr(g.text[0], "Normal default/p u Waiting: no node is known"));
    sl_waiting_free(waiting);
    sl_store_free(store);
}

TEST_THAT(what_was_not_taken_is_told_in_the_next_round)
{
    struct sl_store *store =
        rig_store("apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u, creationTimestamp: "
                  "\"1970-01-01T01:00:00Z\"}\nspec: {containers: [{name: c, resources: {limits: "
                  "{" GPU ": \"1\"}}}]}\n");
    struct sl_waiting *waiting = open_waiting(store, 10);
    int64_t now = (int64_t)HOUR * SECOND + 2 * SECOND;
    g.deaf = true;
    (void)sl_waiting_round(waiting, &score, now);
    g.deaf = false;
    assert_int_equal(sl_waiting_round(waiting, &score, now + SECOND), 1);
    assert_int_equal(g.n, 1);
    sl_waiting_free(waiting);
    sl_store_free(store);
}

TEST_THAT(a_round_has_an_end_and_the_next_goes_on)
{
    struct sl_store *store =
        rig_store(RIG_NODE("n1", GPU, "1") RIG_POD("a", "u-a", GPU, "2")
                      RIG_POD("b", "u-b", GPU, "2") RIG_POD("c", "u-c", GPU, "2")
                          RIG_POD("d", "u-d", GPU, "2") RIG_POD("e", "u-e", GPU, "2"));
    struct sl_waiting *waiting = open_waiting(store, 2);
    int64_t now = (int64_t)HOUR * SECOND;
    assert_int_equal(sl_waiting_round(waiting, &score, now), 2);
    assert_int_equal(sl_waiting_round(waiting, &score, now + SECOND), 2);
    assert_int_equal(sl_waiting_round(waiting, &score, now + 2 * SECOND), 1);
    assert_int_equal(sl_waiting_round(waiting, &score, now + 3 * SECOND), 0);
    for (unsigned i = 0; i < g.n; i++) {
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(g.text[i], g.text[k]);
        }
    }
    sl_waiting_free(waiting);
    sl_store_free(store);
}

/* What pods' constraints compare ends a round, too. */
TEST_THAT(a_round_of_dear_pods_ends_sooner)
{
    static const struct sl_constraints dear = {.weight = UINT16_MAX, .digest = 1};
    const int64_t now = (int64_t)HOUR * SECOND;
    struct sl_store *store = rig_store(RIG_NODE("n1", GPU, "1") RIG_NODE("n2", GPU, "1")
                                           RIG_NODE("n3", GPU, "1") RIG_NODE("n4", GPU, "1"));
    struct sl_waiting *waiting = open_waiting(store, 10);
    for (unsigned i = 0; i < 8; i++) {
        char name[16];
        struct sl_pair limit = {SL_STR(GPU), SL_STR("2"), NULL};
        struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
        (void)snprintf(name, sizeof(name), "p%u", i);
        const struct sl_pod_facts facts = {.namespace = SL_STR("default"),
                                           .name = sl_str_of(name),
                                           .uid = sl_str_of(name),
                                           .containers = &container};
        struct sl_pod *pod = sl_pod_new(&facts, NULL);
        assert_non_null(pod);
        pod->constraints = &dear;
        assert_int_equal(sl_store_put_pod(store, pod, NULL), 0);
    }
    unsigned first = sl_waiting_round(waiting, &score, now);
    assert_in_range(first, 1, SL_EXPLAINS_MAX / (4 * (UINT16_MAX / 4)) + 1);
    for (unsigned i = 0; i < 8; i++) {
        (void)sl_waiting_round(waiting, &score, now);
    }
    assert_int_equal(g.n, 8);
    sl_waiting_free(waiting);
    sl_store_free(store);
}

static void put_pod(struct sl_store *store, const char *name, const char *count)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_pair limit = {SL_STR(GPU), sl_str_of(count), NULL};
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    const struct sl_pod_facts facts = {.name = sl_str_of(name),
                                       .uid = sl_str_of(name),
                                       .created_us = SECOND,
                                       .containers = &container};
    assert_int_equal(sl_store_put_pod(store, sl_pod_new(&facts, &err), &err), 0);
}

/* Three thousand pods that came first fit, and are only held up by something else. */
TEST_THAT(pods_behind_many_have_their_turn)
{
    const struct sl_store_limits limits = {10, 100000, 10, SECOND};
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_store *store = sl_store_new(&limits, &err);
    assert_non_null(store);
    rig_load(store, RIG_NODE("n1", GPU, "2"));
    struct sl_waiting *waiting = open_waiting(store, 10);
    char name[32];
    for (unsigned i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof(name), "a%04u", i);
        put_pod(store, name, "1");
    }
    put_pod(store, "z", "3");
    for (unsigned i = 0; i < 100 && g.n == 0; i++) {
        (void)sl_waiting_round(waiting, &score, (int64_t)(HOUR + i) * SECOND);
    }
    assert_int_equal(g.n, 1);
    assert_non_null(strstr(g.text[0], "default/z"));
    sl_waiting_free(waiting);
    sl_store_free(store);
}
