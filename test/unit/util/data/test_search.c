/* The search finds where a key stands or belongs, whatever the length of the array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/data/search.h"

static bool number_is_before(const void *item, const void *key)
{
    return *(const int *)item < *(const int *)key;
}

static void place_is_the_first_that_is_not_before_the_key(void **state)
{
    (void)state;
    int number[32];
    for (size_t n = 0; n < 32; n++) {
        for (size_t i = 0; i < n; i++) {
            number[i] = (int)(i / 3) * 2; /* 0 0 0 2 2 2 4 ... */
        }
        for (int key = -1; key < 24; key++) {
            size_t expected = 0;
            while (expected < n && number[expected] < key) {
                expected++;
            }
            assert_int_equal(sl_lower_bound(number, n, sizeof(number[0]), &key, number_is_before),
                             expected);
        }
    }
}

static void nothing_is_searched_in_an_array_that_is_not_there(void **state)
{
    (void)state;
    int key = 1;
    assert_int_equal(sl_lower_bound(NULL, 0, sizeof(key), &key, number_is_before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(place_is_the_first_that_is_not_before_the_key),
        cmocka_unit_test(nothing_is_searched_in_an_array_that_is_not_there),
    };
    return cmocka_run_group_tests_name("util/data/search", tests, NULL, NULL);
}
