/* Mixed lanes, played to the end: pods of several widths that run as long as they state. Numbers
 * are the same in every run. */
#include "core/promise/allowance.h"
#include "core/promise/lane.h"
#include "lane_rig.h"

enum { PODS = 300, NODES = 5, NODES_MAX = 80, UNITS = 8, GAMES = 60 };

struct pod {
    struct sl_promise_pod pod;
    int64_t first_us; /* the start that was reserved for it first; 0: none was */
    int64_t end_us;
    uint64_t node; /* 0: it waits, or has ended */
    bool started;
};

struct game {
    struct sl_promise *promise;
    struct pod pod[PODS];
    size_t order[PODS]; /* the shortest first */
    size_t come;
    int64_t now_us;
    size_t nodes;
    int64_t free[NODES_MAX + 1]; /* by node; they begin at 1 */
    int64_t wait_us;             /* the longest that the lane has allowed so far */
    uint64_t random;
};

static unsigned draw(struct game *game, unsigned n)
{
    game->random = game->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(game->random >> 33) % n;
}

static void deal(struct game *game, uint64_t seed, size_t n, unsigned gap_s)
{
    static const int64_t widths[] = {1, 1, 1, 1, 2, 2, 4, 8};
    struct sl_promise_node nodes[NODES_MAX];
    *game = (struct game){.random = seed, .promise = lane(0), .nodes = n};
    for (size_t i = 0; i < n; i++) {
        nodes[i] = (struct sl_promise_node){.key = i + 1, .units = UNITS};
        game->free[i + 1] = UNITS;
    }
    assert_int_equal(sl_promise_set_nodes(game->promise, nodes, n, 0, NULL), 0);
    int64_t at_s = 0;
    for (size_t i = 0; i < PODS; i++) {
        at_s += draw(game, 4) == 0 ? draw(game, 4 * gap_s) : 0; /* they come in bursts */
        const int64_t run_s = draw(game, 8) == 0 ? 500 + draw(game, 2000) : 10 + draw(game, 200);
        game->pod[i].pod = (struct sl_promise_pod){.id = i + 1,
                                                   .width = widths[draw(game, 8)],
                                                   .submit_us = at_s * s,
                                                   .timeout_us = run_s * s};
        size_t k = i;
        for (; k > 0 && game->pod[game->order[k - 1]].pod.timeout_us > run_s * s; k--) {
            game->order[k] = game->order[k - 1];
        }
        game->order[k] = i;
    }
}

static struct sl_promise_member *member_of(const struct game *game, size_t i)
{
    return sl_promise_find(game->promise, game->pod[i].pod.id);
}

/* Starts each pod that has room and may go, the shortest first. */
static void start_pods(struct game *game)
{
    for (size_t k = 0; k < PODS; k++) {
        struct pod *pod = &game->pod[game->order[k]];
        if (game->order[k] >= game->come || pod->started) {
            continue;
        }
        for (uint64_t node = 1; node <= game->nodes && !pod->started; node++) {
            pod->started = game->free[node] >= pod->pod.width &&
                           sl_promise_admits_on(game->promise, pod->pod.id, node, game->now_us);
            pod->node = pod->started ? node : 0;
        }
        if (pod->started) {
            assert_int_equal(sl_promise_start(game->promise, pod->pod.id, game->now_us, NULL), 0);
            sl_promise_place(game->promise, pod->pod.id, pod->node);
            game->free[pod->node] -= pod->pod.width;
            pod->end_us = game->now_us + pod->pod.timeout_us;
        }
    }
}

/* Each pod starts by its latest start, or by the start that was reserved for it first. */
static void check_starts(struct game *game)
{
    const int64_t wait_us = game->promise->mixed.wait_us[0];
    game->wait_us = wait_us > game->wait_us ? wait_us : game->wait_us;
    for (size_t i = 0; i < game->come; i++) {
        const struct pod *pod = &game->pod[i];
        const int64_t latest_us = pod->pod.submit_us + game->wait_us;
        if (pod->started && pod->node != 0 && pod->end_us - pod->pod.timeout_us == game->now_us &&
            pod->first_us != 0) {
            assert_true(game->now_us <= latest_us || game->now_us <= pod->first_us);
        }
    }
}

static void note_first(struct game *game)
{
    for (size_t i = 0; i < game->come; i++) {
        const struct sl_promise_member *member = game->pod[i].started ? NULL : member_of(game, i);
        if (member != NULL && game->pod[i].first_us == 0 &&
            member->layout == game->promise->mixed.layout) {
            game->pod[i].first_us = member->reserved_us;
        }
    }
}

/* Moves on to the next arrival or end. False: all is over. */
static bool move_on(struct game *game)
{
    int64_t next_us = game->come < PODS ? game->pod[game->come].pod.submit_us : INT64_MAX;
    for (size_t i = 0; i < game->come; i++) {
        const struct pod *pod = &game->pod[i];
        next_us = pod->node != 0 && pod->end_us < next_us ? pod->end_us : next_us;
    }
    game->now_us = next_us < INT64_MAX ? next_us : game->now_us;
    for (size_t i = 0; i < game->come; i++) {
        struct pod *pod = &game->pod[i];
        if (pod->node != 0 && pod->end_us == game->now_us) {
            assert_int_equal(sl_promise_end(game->promise, pod->pod.id, game->now_us, NULL), 0);
            game->free[pod->node] += pod->pod.width;
            pod->node = 0;
        }
    }
    for (; game->come < PODS && game->pod[game->come].pod.submit_us == game->now_us; game->come++) {
        assert_int_equal(
            sl_promise_arrive(game->promise, &game->pod[game->come].pod, game->now_us, NULL), 0);
    }
    return next_us < INT64_MAX;
}

TEST_THAT(each_pod_starts_by_its_latest_start_or_by_the_first_that_was_reserved)
{
    static struct game game;
    size_t overtaken = 0;
    for (uint64_t seed = 1; seed <= GAMES; seed++) {
        const bool many = seed % 15 == 0; /* nodes: layouts anew need credit */
        deal(&game, seed, many ? NODES_MAX : NODES, many ? 1 : 20 + (unsigned)(seed % 5) * 15);
        while (move_on(&game)) {
            for (size_t i = 0; i < game.come; i++) { /* brings the layout up to date */
                if (!game.pod[i].started) {
                    (void)sl_promise_is_due(game.promise, game.pod[i].pod.id, game.now_us);
                    break;
                }
            }
            note_first(&game);
            start_pods(&game);
            check_starts(&game);
        }
        for (size_t i = 0; i < PODS; i++) {
            assert_true(game.pod[i].started);
            overtaken += i > 0 && game.pod[i].end_us - game.pod[i].pod.timeout_us <
                                      game.pod[i - 1].end_us - game.pod[i - 1].pod.timeout_us;
        }
        sl_promise_free(game.promise);
    }
    assert_true(overtaken > 1000);
}

/* With a layout that is kept from start to start. */
TEST_THAT(any_number_of_pods_may_start_at_once)
{
    enum { MANY = 1500, NODE = 1 };
    struct sl_promise *promise = lane(0);
    const struct sl_promise_node node = {.key = NODE, .units = UINT64_C(4) * MANY};
    assert_int_equal(sl_promise_set_nodes(promise, &node, 1, 0, NULL), 0);
    for (uint64_t id = 1; id <= MANY; id++) {
        const struct sl_promise_pod pod = {
            .id = id, .width = 1 + (int64_t)(id % 3), .timeout_us = (int64_t)id * s};
        assert_int_equal(sl_promise_arrive(promise, &pod, 0, NULL), 0);
    }
    for (uint64_t id = MANY; id > 0; id--) {
        assert_true(sl_promise_admits_on(promise, id, NODE, 0));
        assert_int_equal(sl_promise_start(promise, id, 0, NULL), 0);
        sl_promise_place(promise, id, NODE);
    }
    sl_promise_free(promise);
}

static uint64_t second_alone(void *context, uint64_t id)
{
    (void)context;
    return id == 2 ? UINT64_C(1) << 1 : UINT64_MAX;
}

TEST_THAT(a_start_is_reserved_where_the_pod_is_admitted)
{
    struct sl_promise *promise = lane(0);
    const struct sl_promise_node nodes[] = {{.key = 1, .units = 8, .site = 0},
                                            {.key = 2, .units = 8, .site = 1}};
    static const struct sl_promise_pod pods[] = {{.id = 1, .width = 8, .timeout_us = 100000000},
                                                 {.id = 2, .width = 8, .timeout_us = 5000000},
                                                 {.id = 3, .width = 4, .timeout_us = 5000000}};
    sl_promise_ask_sites(promise, second_alone, NULL);
    assert_int_equal(sl_promise_set_nodes(promise, nodes, 2, 0, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sl_promise_arrive(promise, &pods[i], 0, NULL), 0);
        if (i == 0) {
            assert_int_equal(sl_promise_start(promise, 1, 0, NULL), 0);
            sl_promise_place(promise, 1, 2);
        }
    }
    assert_false(sl_promise_is_due(promise, 2, 0)); /* though the first node is free */
    assert_true(sl_promise_is_due(promise, 3, 0));
    assert_int_equal(sl_promise_due_us(promise), 100 * s - 1);
    assert_int_equal(sl_promise_end(promise, 1, 50 * s, NULL), 0);
    assert_true(sl_promise_is_due(promise, 2, 50 * s));
    sl_promise_free(promise);
}
