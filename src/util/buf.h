/* A growing byte buffer, which always has a maximum. After a failure appends do nothing: a writer
 * reads buf->failed once at the end and checks no single call. */
#ifndef SLICED_UTIL_BUF_H
#define SLICED_UTIL_BUF_H

#include "util/str.h"

enum sl_buf_failure {
    SL_BUF_OK = 0,
    SL_BUF_FULL,  /* an append would have passed the maximum */
    SL_BUF_NOMEM, /* an allocation failed */
};

struct sl_buf {
    char *data; /* not NUL-terminated; owned */
    size_t len;
    size_t cap;
    size_t max;
    enum sl_buf_failure failed;
};

/* An empty buffer of at most max bytes; allocates nothing yet. */
void sl_buf_init(struct sl_buf *buf, size_t max);
void sl_buf_free(struct sl_buf *buf);

/* Makes room for at least extra more bytes; false, and buf->failed set, when there is none. */
bool sl_buf_reserve(struct sl_buf *buf, size_t extra);

void sl_buf_append(struct sl_buf *buf, const char *data, size_t len);
void sl_buf_puts(struct sl_buf *buf, const char *text);
void sl_buf_putc(struct sl_buf *buf, char c);
void sl_buf_i64(struct sl_buf *buf, int64_t value);
void sl_buf_printf(struct sl_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Gives the memory to the caller, which frees it, and leaves an empty buffer. NULL when empty. */
char *sl_buf_steal(struct sl_buf *buf, size_t *len);

#endif
