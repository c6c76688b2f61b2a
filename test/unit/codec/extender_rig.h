/* A decoder of the extender's bodies, whose events are told as text. */
#ifndef SLICED_TEST_EXTENDER_RIG_H
#define SLICED_TEST_EXTENDER_RIG_H

#include "codec/extender.h"
#include "unit/codec/describe.h"

#include "unit/test.h"

static const struct sl_text_limits limits = {
    .max_bytes = 8 << 20, .max_string = 1 << 12, .max_depth = 32};

struct fixture {
    struct sl_arena arena;
    struct sl_body *body;
    struct sl_buf out;
};

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return -1;
    }
    sl_arena_init(&f->arena, 1 << 20);
    sl_buf_init(&f->out, 1 << 20);
    f->body = sl_body_new(&limits, &f->arena);
    *state = f;
    return f->body == NULL ? -1 : 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;
    sl_body_free(f->body);
    sl_arena_free(&f->arena);
    sl_buf_free(&f->out);
    free(f);
    return 0;
}

static const char *decode(struct fixture *f, enum sl_body_kind kind, struct sl_str text,
                          size_t chunk)
{
    sl_arena_reset(&f->arena);
    f->out.len = 0;
    (void)describe_body(&f->out, f->body, kind, text.s, text.len, chunk);
    sl_buf_putc(&f->out, '\0');
    return f->out.data;
}

static inline void assert_decodes(struct fixture *f, enum sl_body_kind kind, const char *text,
                                  const char *expected)
{
    assert_string_equal(decode(f, kind, sl_str_of(text), 0), expected);
}

#endif
