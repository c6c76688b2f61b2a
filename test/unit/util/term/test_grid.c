/* Text tables. */
#include "unit/test.h"
#include "util/term/grid.h"

/* A buffer's text, NUL-terminated, until the next call. */
static const char *text_of(const struct sl_buf *buf)
{
    static char text[4096];
    assert_int_equal(buf->failed, SL_BUF_OK);
    assert_true(buf->len < sizeof(text));
    memcpy(text, buf->data, buf->len);
    text[buf->len] = '\0';
    return text;
}

TEST_FIXTURE_OF(struct sl_buf, NULL, sl_buf_free)

TEST_ON(struct sl_buf *out, columns_are_as_wide_as_their_widest_cell)
{
    static const char *const head[] = {"A", "LONGER", "Z"};
    struct sl_grid grid;
    sl_buf_init(out, 4096);
    sl_grid_init(&grid, 3, head, 4096);
    sl_grid_text(&grid, "first");
    sl_grid_i64(&grid, 7);
    sl_grid_printf(&grid, "%s-%d", "x", 1);

    sl_grid_write(&grid, out);

    assert_string_equal(text_of(out), "A       LONGER   Z\n"
                                      "first   7        x-1\n");
    sl_grid_free(&grid);
}

TEST_ON(struct sl_buf *out, figures_are_flush_right_behind_their_names)
{
    struct sl_grid grid;
    sl_buf_init(out, 4096);
    sl_grid_init_figures(&grid, 3, 4096);
    static const char *const cells[] = {"", "fifo", "sjf", "wait, s", "7", "1.5 (0-2)"};
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        sl_grid_text(&grid, cells[i]);
    }

    sl_grid_write(&grid, out);

    assert_string_equal(text_of(out), "         fifo        sjf\n"
                                      "wait, s     7  1.5 (0-2)\n");
    sl_grid_free(&grid);
}

TEST_ON(struct sl_buf *out, empty_cells_are_dashes_and_what_must_not_be_shown_is_escaped)
{
    static const char *const head[] = {"A", "B"};
    struct sl_grid grid;
    sl_buf_init(out, 4096);
    sl_grid_init(&grid, 2, head, 4096);
    sl_grid_text(&grid, NULL);
    sl_grid_text(&grid, "a\nb\x1b[2J\xe2\x80\xae");

    sl_grid_write(&grid, out);

    assert_string_equal(text_of(out), "A   B\n-   a\\u000ab\\u001b[2J\\u202e\n");
    sl_grid_free(&grid);
}

TEST_ON(struct sl_buf *out, width_counts_characters_not_bytes)
{
    static const char *const head[] = {"A", "B"};
    struct sl_grid grid;
    sl_buf_init(out, 4096);
    sl_grid_init(&grid, 2, head, 4096);
    sl_grid_text(&grid, "\xc3\xbc\xc3\xbc");
    sl_grid_text(&grid, "x");

    sl_grid_write(&grid, out);

    assert_string_equal(text_of(out), "A    B\n\xc3\xbc\xc3\xbc   x\n");
    sl_grid_free(&grid);
}

TEST_ON(struct sl_buf *out, a_table_beyond_its_maximum_fails_the_reply)
{
    static const char *const head[] = {"A"};
    struct sl_grid grid;
    sl_buf_init(out, 4096);
    sl_grid_init(&grid, 1, head, 8);
    sl_grid_text(&grid, "longer than eight");

    sl_grid_write(&grid, out);

    assert_int_equal(out->failed, SL_BUF_FULL);
    sl_grid_free(&grid);
}

TEST_ON(struct sl_buf *out, rows_that_come_later_stand_below_the_first)
{
    static const char *const head[] = {"A", "B"};
    struct sl_grid grid;
    sl_buf_init(out, 4096);
    sl_grid_init(&grid, 2, head, 4096);
    sl_grid_text(&grid, "wide");
    sl_grid_text(&grid, "x");
    sl_grid_flush(&grid, out);
    sl_grid_text(&grid, "y");
    sl_grid_text(&grid, "z");

    sl_grid_flush(&grid, out);

    assert_string_equal(text_of(out), "A      B\nwide   x\ny      z\n");
    sl_grid_free(&grid);
}
