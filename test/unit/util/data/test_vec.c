/* Arrays that grow: what they hold stays, and room that cannot be had changes nothing. */
#include <stdlib.h>

#include "unit/test.h"
#include "util/data/vec.h"

TEST_THAT(appended_items_stay_where_they_were_put)
{
    enum { ITEMS = 5000 };
    uint64_t *item = NULL;
    size_t cap = 0;
    size_t grown = 0;
    for (size_t n = 0; n < ITEMS; n++) {
        size_t before = cap;
        assert_int_equal(sl_vec_reserve(&item, &cap, n + 1, sizeof(*item)), 0);
        grown += cap != before;
        item[n] = n * n;
    }
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(item[i], i * i);
    }
    assert_in_range(grown, 1, 12); /* doubled each time */
    free(item);
}

TEST_THAT(room_is_at_least_what_was_asked_for)
{
    char *text = NULL;
    size_t cap = 0;
    assert_int_equal(sl_vec_reserve(&text, &cap, 1000, sizeof(*text)), 0);
    assert_in_range(cap, 1000, 2000);
    char *before = text;

    assert_int_equal(sl_vec_reserve(&text, &cap, cap, sizeof(*text)), 0);

    assert_ptr_equal(text, before);
    free(text);
}

TEST_THAT(no_room_is_needed_for_nothing)
{
    int *item = NULL;
    size_t cap = 0;

    assert_int_equal(sl_vec_reserve(&item, &cap, 0, sizeof(*item)), 0);

    assert_null(item);
    assert_int_equal(cap, 0);
}

TEST_THAT(room_beyond_all_memory_is_refused_and_changes_nothing)
{
    uint32_t *item = NULL;
    size_t cap = 0;
    assert_int_equal(sl_vec_reserve(&item, &cap, 1, sizeof(*item)), 0);
    uint32_t *before = item;
    size_t cap_before = cap;

    assert_int_equal(sl_vec_reserve(&item, &cap, SIZE_MAX / 2, sizeof(*item)), -1);

    assert_ptr_equal(item, before);
    assert_int_equal(cap, cap_before);
    free(item);
}
