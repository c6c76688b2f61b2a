/* Connections that have used up their time. */
#include "unit/test.h"

#include <sys/socket.h>
#include <unistd.h>

#include "server/net/deadlines.h"

enum { CONNECTIONS = 3 };

struct fixture {
    struct sl_deadlines deadlines;
    struct sl_metrics metrics;
    struct sl_deadline deadline[CONNECTIONS];
    int here[CONNECTIONS];
    int there[CONNECTIONS];
};

static void set_up(struct fixture *f)
{
    *f = (struct fixture){.deadlines = {.n = 0}};
    sl_deadlines_init(&f->deadlines);
    sl_metrics_init(&f->metrics, 0);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        int fd[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
        f->here[i] = fd[0];
        f->there[i] = fd[1];
        size_t n = sl_deadlines_add(&f->deadlines, &f->deadline[i], f->here[i], 0);
        assert_int_equal(n, i + 1);
    }
}

static void tear_down(struct fixture *f)
{
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        sl_deadlines_remove(&f->deadlines, &f->deadline[i]);
        (void)close(f->here[i]);
        (void)close(f->there[i]);
    }
    assert_null(f->deadlines.list.first);
    sl_deadlines_free(&f->deadlines);
}

static bool is_shut(const struct fixture *f, unsigned i)
{
    char byte;
    return recv(f->there[i], &byte, 1, MSG_DONTWAIT) == 0;
}

static uint64_t hits(const struct fixture *f, enum sl_limit limit)
{
    return atomic_load(&f->metrics.limits[limit]);
}

TEST_FIXTURE_OF(struct fixture, set_up, tear_down)

TEST_ON(struct fixture *f, only_connections_whose_time_has_passed_are_shut_down)
{
    sl_deadline_set(&f->deadline[0], SL_LIMIT_HEADER_TIME, 0, 100);
    sl_deadline_set(&f->deadline[1], SL_LIMIT_REPLY_TIME, 0, 101);

    sl_deadlines_enforce(&f->deadlines, 100, &f->metrics);

    assert_true(is_shut(f, 0));
    assert_false(is_shut(f, 1));
    assert_false(is_shut(f, 2)); /* has no deadline */
    assert_int_equal(hits(f, SL_LIMIT_HEADER_TIME), 1);
    assert_int_equal(hits(f, SL_LIMIT_REPLY_TIME), 0);
}

TEST_ON(struct fixture *f, a_hit_is_counted_once_under_what_was_waited_for)
{
    sl_deadline_set(&f->deadline[2], SL_LIMIT_REPLY_TIME, 0, 5);

    sl_deadlines_enforce(&f->deadlines, 6, &f->metrics);
    sl_deadlines_enforce(&f->deadlines, 7, &f->metrics);

    assert_int_equal(hits(f, SL_LIMIT_REPLY_TIME), 1);
}

TEST_ON(struct fixture *f, a_deadline_that_was_cleared_or_moved_does_not_bite)
{
    sl_deadline_set(&f->deadline[0], SL_LIMIT_HEADER_TIME, 0, 5);
    sl_deadline_clear(&f->deadline[0]);
    sl_deadline_set(&f->deadline[1], SL_LIMIT_HEADER_TIME, 0, 5);
    sl_deadline_set(&f->deadline[1], SL_LIMIT_REPLY_TIME, 0, 50);

    sl_deadlines_enforce(&f->deadlines, 10, &f->metrics);

    assert_false(is_shut(f, 0));
    assert_false(is_shut(f, 1));
}

TEST_ON(struct fixture *f, a_connection_that_has_left_is_not_touched)
{
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        sl_deadline_set(&f->deadline[i], SL_LIMIT_HEADER_TIME, 0, 5);
    }
    sl_deadlines_remove(&f->deadlines, &f->deadline[1]); /* from the middle */

    sl_deadlines_enforce(&f->deadlines, 10, &f->metrics);

    assert_true(is_shut(f, 0));
    assert_false(is_shut(f, 1));
    assert_true(is_shut(f, 2));
    assert_int_equal(hits(f, SL_LIMIT_HEADER_TIME), 2);
    assert_int_equal(sl_deadlines_add(&f->deadlines, &f->deadline[1], f->here[1], 0), CONNECTIONS);
}

static void wait_since(struct fixture *f, unsigned i, uint16_t address, int64_t since_ns)
{
    f->deadline[i].address = address;
    sl_deadline_set(&f->deadline[i], SL_LIMIT_HEADER_TIME, since_ns, 1000);
}

TEST_ON(struct fixture *f, whoever_is_waited_for_longest_makes_room)
{
    wait_since(f, 0, 1, 30);
    wait_since(f, 1, 2, 20);
    wait_since(f, 2, 3, 10);

    assert_true(sl_deadlines_make_room(&f->deadlines, &f->deadline[2])); /* the new one itself */

    assert_true(is_shut(f, 1));
    assert_false(is_shut(f, 0));
    assert_false(is_shut(f, 2));
    assert_true(sl_deadlines_make_room(&f->deadlines, &f->deadline[2]));
    assert_true(is_shut(f, 0)); /* not the same twice */
    assert_false(sl_deadlines_make_room(&f->deadlines, &f->deadline[2]));
}

TEST_ON(struct fixture *f, the_address_that_has_most_makes_room_first)
{
    wait_since(f, 0, 257, 10); /* the oldest, but alone: addresses have more than eight bits */
    wait_since(f, 1, 1, 20);
    wait_since(f, 2, 1, 30);

    assert_true(sl_deadlines_make_room(&f->deadlines, NULL));

    assert_true(is_shut(f, 1));
    assert_false(is_shut(f, 0));
}

TEST_ON(struct fixture *f, who_has_proven_itself_goes_last_and_who_is_answered_never)
{
    wait_since(f, 0, 1, 10);
    atomic_store(&f->deadline[0].proven, true);
    wait_since(f, 1, 1, 20);
    /* nobody waits for the third: its request is being answered */

    assert_true(sl_deadlines_make_room(&f->deadlines, NULL));
    assert_true(is_shut(f, 1));
    assert_false(is_shut(f, 0));
    assert_true(sl_deadlines_make_room(&f->deadlines, NULL));
    assert_true(is_shut(f, 0));
    assert_false(sl_deadlines_make_room(&f->deadlines, NULL));
    assert_false(is_shut(f, 2));
}
