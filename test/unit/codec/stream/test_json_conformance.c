/* The tokenizer on the cases of json_cases.h, whole and byte by byte, reported and skipped. */
#include "unit/codec/stream/json_cases.h"

#include <stdlib.h>

#include "unit/test.h"

static int report_all(void *context, const struct sl_event *event, struct sl_error *err)
{
    (void)context;
    (void)event;
    (void)err;
    return SL_EVENT_GO;
}

static int skip_values(void *context, const struct sl_event *event, struct sl_error *err)
{
    (void)context;
    (void)err;
    return event->type == SL_EVENT_OBJECT || event->type == SL_EVENT_ARRAY ? SL_EVENT_SKIP
                                                                           : SL_EVENT_GO;
}

static bool is_accepted(struct sl_str text, size_t step, sl_event_fn receive)
{
    struct sl_error err = {0};
    int rc = read_text(text, step, receive, NULL, &err);
    if (rc != 0) {
        assert_int_equal(err.code, SL_ERR_SYNTAX);
        assert_int_not_equal(err.line, 0);
        assert_int_not_equal(err.column, 0);
        assert_true(err.message[0] != '\0');
    }
    return rc == 0;
}

static void assert_each(const struct sl_str *texts, size_t n, bool expected)
{
    for (size_t i = 0; i < n; i++) {
        bool whole = is_accepted(texts[i], texts[i].len + 1, report_all);
        if (whole != expected) {
            fail_msg("%.*s: %s", (int)texts[i].len, texts[i].s, whole ? "accepted" : "refused");
        }
        assert_int_equal(is_accepted(texts[i], 1, report_all), expected);
        assert_int_equal(is_accepted(texts[i], texts[i].len + 1, skip_values), expected);
        assert_int_equal(is_accepted(texts[i], 1, skip_values), expected);
    }
}

TEST_THAT(accepts_all_that_the_rfc_allows)
{
    assert_each(json_accepted, JSON_ACCEPTED, true);
}

TEST_THAT(refuses_all_that_the_rfc_does_not)
{
    assert_each(json_refused, JSON_REFUSED, false);
}
