/* Turns: one of each space after the other, in each the first that came. */
#include "unit/test.h"
#include "util/data/turns.h"

struct waiter {
    char name;
    struct sl_link link;
};

struct scene {
    struct sl_turns turns;
    struct sl_turn_space a, b, c;
    struct waiter waiter[8];
    size_t n;
};

static struct sl_link *queue_up(struct scene *scene, struct sl_turn_space *space, char name)
{
    struct waiter *waiter = &scene->waiter[scene->n++];
    waiter->name = name;
    sl_turns_add(&scene->turns, space, &waiter->link);
    return &waiter->link;
}

/* Takes turn after turn; out: the names in that order. */
static void take_all(struct scene *scene, char *out)
{
    while (scene->turns.ring.first != NULL) {
        struct sl_turn_space *space =
            SL_CONTAINER(scene->turns.ring.first, struct sl_turn_space, ring);
        struct sl_link *link = space->waiting.first;
        sl_turns_take(&scene->turns, space, link);
        *out++ = SL_CONTAINER(link, struct waiter, link)->name;
    }
    *out = '\0';
}

TEST_THAT(many_of_one_space_keep_no_other_waiting)
{
    struct scene scene = {.n = 0};
    char order[9];
    (void)queue_up(&scene, &scene.a, '1');
    (void)queue_up(&scene, &scene.a, '2');
    (void)queue_up(&scene, &scene.a, '3');
    (void)queue_up(&scene, &scene.b, 'x');
    (void)queue_up(&scene, &scene.c, '-');
    (void)queue_up(&scene, &scene.b, 'y');

    take_all(&scene, order);

    assert_string_equal(order, "1x-2y3");
}

TEST_THAT(a_space_that_comes_back_is_behind_all_others)
{
    struct scene scene = {.n = 0};
    char order[9];
    struct sl_link *first = queue_up(&scene, &scene.a, '1');
    (void)queue_up(&scene, &scene.b, 'x');
    (void)queue_up(&scene, &scene.b, 'y');
    sl_turns_take(&scene.turns, &scene.a, first);
    (void)queue_up(&scene, &scene.a, '2');

    take_all(&scene, order);

    assert_string_equal(order, "x2y");
}

TEST_THAT(who_leaves_costs_the_space_no_turn)
{
    struct scene scene = {.n = 0};
    char order[9];
    struct sl_link *first = queue_up(&scene, &scene.a, '1');
    (void)queue_up(&scene, &scene.a, '2');
    (void)queue_up(&scene, &scene.b, 'x');
    struct sl_link *only = queue_up(&scene, &scene.c, '-');
    sl_turns_remove(&scene.turns, &scene.a, first);
    sl_turns_remove(&scene.turns, &scene.c, only);

    take_all(&scene, order);

    assert_string_equal(order, "2x");
}
