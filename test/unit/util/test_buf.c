/* The buffer: its maximum holds, a failure is kept, its memory can be handed over. */
#include <stdlib.h>
#include <string.h>

#include "unit/test.h"
#include "util/buf.h"

TEST_THAT(buf_takes_exactly_its_maximum)
{
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

TEST_THAT(buf_failure_is_sticky_until_freed)
{
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

TEST_THAT(buf_refuses_a_length_that_would_wrap)
{
    struct sl_buf buf;
    sl_buf_init(&buf, 100);
    sl_buf_puts(&buf, "abc");
    assert_false(sl_buf_reserve(&buf, SIZE_MAX - 1));
    assert_int_equal(buf.failed, SL_BUF_FULL);
    sl_buf_free(&buf);
}

TEST_THAT(buf_writes_every_integer)
{
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

TEST_THAT(buf_steal_hands_the_memory_over)
{
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
