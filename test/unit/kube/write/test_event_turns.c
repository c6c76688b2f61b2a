/* Whose Event is sent next. */
#include "kube/write/event_turns.h"
#include "unit/test.h"

enum { MANY = 200 };

static struct sl_link waiting[MANY];

static void push(struct sl_event_turns *turns, unsigned i, const char *space)
{
    assert_true(sl_event_turns_push(turns, sl_str_of(space), &waiting[i]));
}

static void assert_next(struct sl_event_turns *turns, unsigned i)
{
    assert_ptr_equal(sl_event_turns_pop(turns), &waiting[i]);
}

TEST_THAT(each_namespace_has_its_turn)
{
    struct sl_event_turns turns = {.n = 0};
    for (unsigned i = 0; i < 100; i++) {
        push(&turns, i, "greedy");
    }
    push(&turns, 100, "b");
    push(&turns, 101, "b");
    push(&turns, 102, "c");
    static const unsigned expected[] = {0, 100, 102, 1, 101, 2, 3};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_next(&turns, expected[i]);
    }
    push(&turns, 103, "b"); /* behind the one that has its turn, and before its next */
    assert_next(&turns, 4);
    assert_next(&turns, 103);
    for (unsigned i = 5; i < 100; i++) {
        assert_next(&turns, i);
    }
    assert_null(sl_event_turns_pop(&turns));
    assert_int_equal(turns.n, 0);
    sl_event_turns_free(&turns);
}

TEST_THAT(one_namespace_leaves_room_for_others)
{
    struct sl_event_turns turns = {.n = 0};
    unsigned n = 0;
    while (sl_event_turns_have_room(&turns, SL_STR("greedy"), 100)) {
        push(&turns, n++, "greedy");
    }
    assert_in_range(n, 70, 78);
    assert_true(sl_event_turns_have_room(&turns, SL_STR("b"), 100));
    while (turns.n < 100) {
        assert_true(turns.n < 99 || sl_event_turns_have_room(&turns, SL_STR("fresh"), 100));
        push(&turns, n++, "b");
    }
    assert_false(sl_event_turns_have_room(&turns, SL_STR("fresh"), 100));
    sl_event_turns_free(&turns);
}
