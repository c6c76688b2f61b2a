/* Answers of a server, and what is printed of them. */
#ifndef SLICED_TEST_CLI_RIG_H
#define SLICED_TEST_CLI_RIG_H

#include <stdio.h>

#include "codec/tree/value.h"
#include "unit/test.h"

static struct sl_arena rig_arena;

static inline int rig_begin(void **state)
{
    (void)state;
    sl_arena_init(&rig_arena, 1 << 20);
    return 0;
}

static inline int rig_end(void **state)
{
    (void)state;
    sl_arena_free(&rig_arena);
    return 0;
}

static inline struct sl_value *rig_value(const char *json)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_value *value = NULL;
    if (sl_value_read(sl_str_of(json), &rig_arena, &value, &err) < 0) {
        fail_msg("%s: %s", json, err.message);
    }
    return value;
}

/* A buffer's text, NUL-terminated, in the arena; the buffer is empty afterwards. */
static inline const char *rig_text(struct sl_buf *buf)
{
    assert_int_equal(buf->failed, SL_BUF_OK);
    const char *copy = sl_arena_strdup(&rig_arena, buf->data == NULL ? "" : buf->data, buf->len);
    sl_buf_free(buf);
    assert_non_null(copy);
    return copy;
}

/* No byte that a terminal would obey. */
static inline void rig_assert_tame(const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        assert_true(c == '\n' || (c >= 0x20 && c != 0x7f));
    }
    assert_null(strstr(text, "\xe2\x80\xae"));
    assert_null(strstr(text, "\xc2\x9b"));
}

#endif
