/* Reading files. */
#include "kube/access/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int read_all(int file, struct sl_buf *buf, struct sl_error *err)
{
    for (;;) {
        if (!sl_buf_reserve(buf, 1)) {
            return buf->failed == SL_BUF_FULL
                       ? sl_error_set(err, SL_ERR_LIMIT, "longer than %zu bytes", buf->max - 1)
                       : sl_error_nomem(err);
        }
        ssize_t n = read(file, buf->data + buf->len, buf->cap - buf->len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return sl_error_set(err, SL_ERR_SYSTEM, "%s", strerror(errno));
        }
        if (n == 0) {
            return 0;
        }
        buf->len += (size_t)n;
    }
}

int sl_file_read(const char *path, size_t max, struct sl_arena *arena, struct sl_str *out,
                 struct sl_error *err)
{
    struct sl_buf buf;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return sl_error_set(err, errno == ENOENT ? SL_ERR_NOTFOUND : SL_ERR_SYSTEM, "%s: %s", path,
                            strerror(errno));
    }
    sl_buf_init(&buf, max + 1); /* one more, to see that there is more */
    int result = read_all(file, &buf, err);
    (void)close(file);
    if (result == 0) {
        const char *text = sl_arena_strdup(arena, buf.data, buf.len);
        result = text == NULL ? sl_error_nomem(err) : 0;
        *out = text == NULL ? *out : (struct sl_str){text, buf.len};
    }
    sl_buf_free(&buf);
    return result < 0 ? sl_error_wrap(err, "%s", path) : 0;
}
