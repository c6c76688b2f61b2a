/* The string map against a plain array, over long random sequences. */
#include <stdio.h>
#include <string.h>

#include "unit/lack.h"
#include "unit/test.h"
#include "util/data/map.h"

enum { KEYS = 300, STEPS = 200000 };

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

TEST_THAT(map_agrees_with_an_array_over_random_operations)
{
    static char key[KEYS][16];
    static int value[KEYS];
    void *model[KEYS] = {NULL};
    size_t live = 0;
    uint32_t seed = 1;
    struct sl_map map = {0};
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(key[i], sizeof(key[i]), "key-%d", i);
    }

    for (int step = 0; step < STEPS; step++) {
        uint32_t i = next_random(&seed) % KEYS;
        size_t len = strlen(key[i]);
        if (next_random(&seed) % 2 == 0) {
            void *old = NULL;
            assert_int_equal(sl_map_put(&map, key[i], len, &value[i], &old), 0);
            assert_ptr_equal(old, model[i]);
            live += model[i] == NULL;
            model[i] = &value[i];
        } else {
            assert_ptr_equal(sl_map_remove(&map, key[i], len), model[i]);
            live -= model[i] != NULL;
            model[i] = NULL;
        }
        assert_int_equal(map.len, live);
    }

    size_t seen = 0;
    size_t at = 0;
    for (const int *v = sl_map_next(&map, &at); v != NULL; v = sl_map_next(&map, &at)) {
        assert_ptr_equal(v, model[v - value]);
        seen++;
    }
    assert_int_equal(seen, live);
    for (int i = 0; i < KEYS; i++) {
        assert_ptr_equal(sl_map_get(&map, key[i], strlen(key[i])), model[i]);
    }
    /* tombstones do not make it grow without end */
    assert_true(map.cap <= 4096);
    sl_map_free(&map);
}

struct named {
    uint64_t number;
    char mark;
    char name[]; /* begins before the end of the struct */
};

TEST_THAT(a_value_that_ends_with_its_key_is_made_whole_or_not_at_all)
{
    struct sl_map map = {0};
    for (size_t n = 1; n <= 2; n++) {
        lack_arm(n, false);
        assert_null(SL_MAP_ADD(&map, struct named, name, SL_STR("abc")));
        assert_true(lack_disarm());
        assert_int_equal(map.len, 0);
    }
    struct named *value = SL_MAP_ADD(&map, struct named, name, ((struct sl_str){"abcd", 3}));
    assert_non_null(value);
    assert_string_equal(value->name, "abc");
    assert_int_equal(value->number, 0);
    assert_ptr_equal(sl_map_get(&map, "abc", 3), value);
    struct named *empty = SL_MAP_ADD(&map, struct named, name, ((struct sl_str){NULL, 0}));
    assert_non_null(empty);
    assert_string_equal(empty->name, "");
    sl_map_free(&map);
    free(value);
    free(empty);
}

TEST_THAT(removed_keys_may_be_freed_by_their_owner)
{
    struct sl_map map = {0};
    char key[] = "gone";
    int value = 1;
    assert_int_equal(sl_map_put(&map, key, 4, &value, NULL), 0);
    assert_ptr_equal(sl_map_remove(&map, key, 4), &value);
    memset(key, 'x', sizeof(key) - 1);
    assert_null(sl_map_get(&map, "gone", 4));
    assert_null(sl_map_get(&map, "xxxx", 4));
    assert_null(sl_map_get(&map, "", 0));
    sl_map_free(&map);
}

TEST_THAT(integers_parse_to_the_last_value_and_no_further)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {{"0", true, 0},
                 {"-0", true, 0},
                 {"42", true, 42},
                 {"-7", true, -7},
                 {"9223372036854775807", true, INT64_MAX},
                 {"-9223372036854775808", true, INT64_MIN},
                 {"9223372036854775808", false, 0},
                 {"-9223372036854775809", false, 0},
                 {"", false, 0},
                 {"-", false, 0},
                 {"+1", false, 0},
                 {"1 ", false, 0},
                 {"0x1", false, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = 99;
        assert_int_equal(sl_str_to_i64(sl_str_of(cases[i].text), &value), cases[i].good);
        assert_int_equal(value, cases[i].good ? cases[i].value : 99);
    }
}

TEST_THAT(different_texts_hash_differently)
{
    char a[32];
    char b[32];
    for (int i = 0; i < 500; i++) {
        for (int j = 0; j < i; j++) {
            int n = snprintf(a, sizeof(a), "gpu-node-%05d", i);
            int m = snprintf(b, sizeof(b), "gpu-node-%05d", j);
            assert_int_not_equal(sl_hash(a, (size_t)n), sl_hash(b, (size_t)m));
        }
    }
    assert_int_not_equal(sl_hash("a\0", 2), sl_hash("a", 1));
}
