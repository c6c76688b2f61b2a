/* The search finds where a key stands or belongs, whatever the length of the array. */
#include "unit/test.h"
#include "util/data/search.h"

static bool number_is_before(const void *item, const void *key)
{
    return *(const int *)item < *(const int *)key;
}

TEST_THAT(place_is_the_first_that_is_not_before_the_key)
{
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

TEST_THAT(nothing_is_searched_in_an_array_that_is_not_there)
{
    int key = 1;
    assert_int_equal(sl_lower_bound(NULL, 0, sizeof(key), &key, number_is_before), 0);
}
