/* CSV: fields, quotes, line ends, and errors that name their place. */
#include <stdlib.h>

#include "unit/test.h"

#include <stdio.h>
#include <string.h>

#include "sim/input/csv/csv.h"

static struct sl_error error;

static int read_text(struct sl_csv *csv, const char *text, size_t len)
{
    sl_csv_init(csv);
    sl_buf_append(&csv->text, text, len);
    return sl_csv_begin(csv, NULL, &error);
}

static void open_text(struct sl_csv *csv, const char *text)
{
    if (read_text(csv, text, strlen(text)) < 0) {
        fail_msg("%s", error.message);
    }
}

static void assert_field(const struct sl_csv *csv, unsigned i, const char *text)
{
    assert_true(i < csv->n_fields);
    assert_int_equal(csv->field[i].len, strlen(text));
    assert_memory_equal(csv->field[i].s, text, strlen(text));
}

TEST_THAT(fields_are_split_trimmed_and_unquoted)
{
    struct sl_csv csv;
    open_text(&csv, "\xef\xbb\xbfname,b c,x\r\n\n# a comment\n,\t,\n \"quoted\" "
                    ",\t2,\r\n\"a,\"\"b\"\"\",,\"\"");
    assert_int_equal(sl_csv_column(&csv, "name"), 0);
    assert_int_equal(sl_csv_column(&csv, "b c"), 1);
    assert_int_equal(sl_csv_column(&csv, "y"), -1);
    assert_int_equal(sl_csv_next(&csv, &error), 1);
    assert_field(&csv, 0, "quoted");
    assert_field(&csv, 1, "2");
    assert_field(&csv, 2, "");
    assert_int_equal(csv.line, 5);
    assert_int_equal(sl_csv_next(&csv, &error), 1);
    assert_field(&csv, 0, "a,\"b\"");
    assert_false(sl_csv_has(&csv, 1));
    assert_int_equal(sl_csv_next(&csv, &error), 0);
    sl_csv_close(&csv);
}

static void assert_wrong_text(const char *text, unsigned line, unsigned column, const char *part)
{
    struct sl_csv csv;
    int rc = read_text(&csv, text, strlen(text));
    for (int more = rc == 0; more == 1; more = rc) {
        rc = sl_csv_next(&csv, &error);
    }
    sl_csv_close(&csv);
    assert_int_equal(rc, -1);
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    assert_non_null(strstr(error.message, part));
}

TEST_THAT(malformed_text_is_an_error_with_its_place)
{
    assert_wrong_text("a,b\n1\n", 2, 1, "1 field, the header has 2 columns");
    assert_wrong_text("a,b\n1,\"x\n", 2, 3, "not closed");
    assert_wrong_text("a,b\n\"x\"y,2\n", 2, 4, "comma behind the closing quote");
    assert_wrong_text("a,b,a\n", 1, 5, "there twice");
    assert_wrong_text("", 0, 0, "empty");
}

TEST_THAT(a_nul_byte_is_refused)
{
    struct sl_csv csv;
    assert_int_equal(read_text(&csv, "a\0b\n", 4), -1);
    sl_csv_close(&csv);
    assert_int_equal(error.column, 2);
}

TEST_THAT(a_wrong_value_names_column_and_what_was_expected)
{
    struct sl_csv csv;
    int64_t value = 7;
    open_text(&csv, "name,count\nx,many\n");
    assert_int_equal(sl_csv_next(&csv, &error), 1);
    assert_int_equal(sl_csv_i64(&csv, 1, 0, 9, &value, &error), -1);
    assert_int_equal(value, 7);
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 3);
    assert_string_equal(error.field, "count");
    assert_string_equal(error.message, "expected an integer in 0..9, found \"many\"");
    assert_int_equal(sl_error_locate(&error, "jobs.csv"), -1);
    assert_string_equal(error.message,
                        "jobs.csv:2:3: count: expected an integer in 0..9, found \"many\"");
    sl_csv_close(&csv);
}

TEST_THAT(integers_may_have_been_through_floating_point)
{
    static const struct {
        const char *text;
        int64_t value; /* -100: refused */
    } cases[] = {{"8", 8},        {"8.0", 8},     {"8.", 8},   {"1.6e1", 16}, {"-2.00", -2},
                 {"0.0", 0},      {"8.5", -100},  {"", -100},  {"-", -100},   {"1e30", -100},
                 {"1.0.0", -100}, {"0.05", -100}, {"2e1", 20}, {"99.0", 99},  {"100.0", -100}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        struct sl_csv csv;
        int64_t value = -100;
        (void)snprintf(text, sizeof(text), "a,b\nx,%s\n", cases[i].text);
        open_text(&csv, text);
        assert_int_equal(sl_csv_next(&csv, &error), 1);
        int rc = sl_csv_i64(&csv, 1, -99, 99, &value, &error);
        if ((rc == 0) != (cases[i].value != -100) || value != cases[i].value) {
            fail_msg("\"%s\" gives %lld", cases[i].text, (long long)value);
        }
        sl_csv_close(&csv);
    }
}

TEST_THAT(a_missing_column_lists_those_there_are)
{
    struct sl_csv csv;
    open_text(&csv, "name,count\n");
    assert_int_equal(sl_csv_need(&csv, "submit", &error), -1);
    assert_string_equal(error.message, "no column \"submit\" in the header, which has name, count");
    sl_csv_close(&csv);
    open_text(&csv, "# jobs\nsubmit;duration\n");
    assert_int_equal(sl_csv_need(&csv, "submit", &error), -1);
    assert_int_equal(error.line, 2);
    assert_string_equal(error.message, "no column \"submit\" in the header, which has "
                                       "submit;duration; fields are parted by commas");
    sl_csv_close(&csv);
}

TEST_THAT(numbers_become_microseconds_exactly)
{
    static const struct {
        const char *text;
        int64_t unit;
        int64_t us; /* -1: refused */
    } cases[] = {
        {"0", 1000000, 0},
        {"12", 1000000, 12000000},
        {"0.000001", 1000000, 1},
        {"0.0000019", 1000000, 1},
        {"1.5e3", 1000000, 1500000000},
        {"25E-1", 1000000, 2500000},
        {"1e+2", 1, 100},
        {".5", 1000, 500},
        {"5.", 1000, 5000},
        {"2868294000", 1000, INT64_C(2868294000000)},
        {"9007199254740992", 1, INT64_C(9007199254740992)},
        {"9007199254740993", 1, -1},
        {"0.00000000000000000000000001", 1000000, 0},
        {"123456.1234567890123456789", 1000000, INT64_C(123456123456)},
        {"1e999", 1, -1},
        {"1e300", 1, -1},
        {"-1", 1, -1},
        {"", 1, -1},
        {".", 1, -1},
        {"1.2.3", 1, -1},
        {"1e", 1, -1},
        {"nan", 1, -1},
        {"0x10", 1, -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t us = -1;
        bool good = sl_csv_parse_time(sl_str_of(cases[i].text), cases[i].unit, &us);
        if (good != (cases[i].us >= 0) || us != cases[i].us) {
            fail_msg("\"%s\" gives %lld", cases[i].text, (long long)us);
        }
    }
}

TEST_THAT(a_file_that_is_not_there_is_told_as_such)
{
    struct sl_csv csv;
    assert_int_equal(sl_csv_open(&csv, "/nonexistent/jobs.csv", NULL, &error), -1);
    sl_csv_close(&csv);
    assert_int_equal(error.code, SL_ERR_NOTFOUND);
}
