/* For the tests of one format: what a text is read as, and how a bad one fails. */
#ifndef SLICED_TEST_READS_H
#define SLICED_TEST_READS_H

#include "unit/codec/stream/record.h"

#include "unit/test.h"

static const struct sl_text_limits roomy = {
    .max_bytes = 1 << 20, .max_string = 1 << 16, .max_depth = 64};

/* The test's own: reads all of the text. */
static int read_whole(const struct sl_text_limits *limits, struct sl_str text,
                      struct record *record, struct sl_error *err);

static inline void assert_events(const char *text, bool places, const char *expected)
{
    struct record record;
    struct sl_error err = {0};
    record_init(&record, places);
    if (read_whole(&roomy, sl_str_of(text), &record, &err) != 0) {
        fail_msg("%s: %u:%u: %s", text, err.line, err.column, err.message);
    }
    assert_string_equal(record_text(&record), expected);
    record_free(&record);
}

static inline void assert_fails_with(const struct sl_text_limits *limits, struct sl_str text,
                                     enum sl_error_code code, unsigned line, unsigned column,
                                     const char *message)
{
    struct record record;
    struct sl_error err = {0};
    record_init(&record, false);
    int rc = read_whole(limits, text, &record, &err);
    record_free(&record);
    assert_int_equal(rc, -1);
    assert_string_equal(err.message, message);
    assert_int_equal(err.code, code);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
}

static inline void assert_syntax_error(const char *text, unsigned line, unsigned column,
                                       const char *message)
{
    assert_fails_with(&roomy, sl_str_of(text), SL_ERR_SYNTAX, line, column, message);
}

#endif
