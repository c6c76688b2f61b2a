/* Buffer and arena: their maxima hold, their failures are kept, what they hand out is sound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/arena.h"
#include "util/buf.h"

static void buf_takes_exactly_its_maximum(void **state)
{
    (void)state;
    struct sl_buf buf;
    sl_buf_init(&buf, 1000);
    for (int i = 0; i < 100; i++) {
        sl_buf_puts(&buf, "0123456789");
    }
    assert_int_equal(buf.failed, SL_BUF_OK);
    assert_int_equal(buf.len, 1000);

    sl_buf_putc(&buf, 'x');

    assert_int_equal(buf.failed, SL_BUF_FULL);
    assert_int_equal(buf.len, 1000);
    assert_true(buf.cap <= 1000);
    sl_buf_free(&buf);
}

static void buf_failure_is_sticky_until_freed(void **state)
{
    (void)state;
    struct sl_buf buf;
    sl_buf_init(&buf, 4);
    sl_buf_puts(&buf, "12345");
    sl_buf_putc(&buf, '1');
    assert_int_equal(buf.failed, SL_BUF_FULL);
    assert_int_equal(buf.len, 0);

    sl_buf_free(&buf);

    sl_buf_puts(&buf, "1234");
    assert_int_equal(buf.failed, SL_BUF_OK);
    assert_int_equal(buf.len, 4);
    sl_buf_free(&buf);
}

static void buf_refuses_a_length_that_would_wrap(void **state)
{
    (void)state;
    struct sl_buf buf;
    sl_buf_init(&buf, 100);
    sl_buf_puts(&buf, "abc");
    assert_false(sl_buf_reserve(&buf, SIZE_MAX - 1));
    assert_int_equal(buf.failed, SL_BUF_FULL);
    sl_buf_free(&buf);
}

static void buf_writes_every_integer(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        const char *text;
    } cases[] = {{0, "0"},
                 {-1, "-1"},
                 {10, "10"},
                 {INT64_MAX, "9223372036854775807"},
                 {INT64_MIN, "-9223372036854775808"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_buf buf;
        sl_buf_init(&buf, 64);
        sl_buf_i64(&buf, cases[i].value);
        assert_int_equal(buf.len, strlen(cases[i].text));
        assert_memory_equal(buf.data, cases[i].text, buf.len);
        sl_buf_free(&buf);
    }
}

static void buf_steal_hands_the_memory_over(void **state)
{
    (void)state;
    struct sl_buf buf;
    size_t len = 0;
    sl_buf_init(&buf, 64);
    sl_buf_printf(&buf, "%s=%d", "a", 12);

    char *data = sl_buf_steal(&buf, &len);

    assert_int_equal(len, 4);
    assert_memory_equal(data, "a=12", 4);
    assert_null(buf.data);
    assert_int_equal(buf.len, 0);
    free(data);
}

static void arena_memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    enum { PIECES = 500 };
    struct sl_arena arena;
    unsigned char *piece[PIECES];
    sl_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = 1 + i % 97;
        piece[i] = sl_arena_alloc(&arena, size);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % 16, 0);
        for (size_t j = 0; j < size; j++) {
            assert_int_equal(piece[i][j], 0);
        }
        memset(piece[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < PIECES; i++) {
        assert_int_equal(piece[i][0], i & 0xff);
        assert_int_equal(piece[i][i % 97], i & 0xff);
    }
    sl_arena_free(&arena);
}

static void arena_stops_at_its_maximum_and_says_so(void **state)
{
    (void)state;
    struct sl_arena arena;
    sl_arena_init(&arena, 100);
    assert_non_null(sl_arena_alloc(&arena, 60));
    assert_null(sl_arena_alloc(&arena, 41));
    assert_true(arena.full);
    assert_non_null(sl_arena_alloc(&arena, 40));

    sl_arena_reset(&arena);

    assert_false(arena.full);
    assert_non_null(sl_arena_alloc(&arena, 100));
    sl_arena_free(&arena);
}

static void arena_reset_keeps_no_large_block(void **state)
{
    (void)state;
    struct sl_arena arena;
    sl_arena_init(&arena, 8 << 20);
    memset(sl_arena_alloc(&arena, 4 << 20), 1, 4 << 20);

    sl_arena_reset(&arena);

    assert_null(arena.block);
    assert_string_equal(sl_arena_strdup(&arena, "text+", 4), "text");
    sl_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buf_takes_exactly_its_maximum),
        cmocka_unit_test(buf_failure_is_sticky_until_freed),
        cmocka_unit_test(buf_refuses_a_length_that_would_wrap),
        cmocka_unit_test(buf_writes_every_integer),
        cmocka_unit_test(buf_steal_hands_the_memory_over),
        cmocka_unit_test(arena_memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(arena_stops_at_its_maximum_and_says_so),
        cmocka_unit_test(arena_reset_keeps_no_large_block),
    };
    return cmocka_run_group_tests_name("util/memory", tests, NULL, NULL);
}
