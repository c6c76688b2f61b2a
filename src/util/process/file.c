/* open, read, close. */
#include "util/process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int refused(struct sl_error *err)
{
    return sl_error_set(err, errno == ENOENT ? SL_ERR_NOTFOUND : SL_ERR_SYSTEM, "%s",
                        strerror(errno)); // NOLINT(concurrency-mt-unsafe)
}

static int read_all(int fd, struct sl_buf *out, struct sl_error *err)
{
    ssize_t n = 1;
    while (n != 0) {
        if (!sl_buf_reserve(out, 1)) {
            return out->failed == SL_BUF_NOMEM
                       ? sl_error_nomem(err)
                       : sl_error_set(err, SL_ERR_LIMIT, "longer than %zu bytes", out->max - 1);
        }
        n = read(fd, out->data + out->len, out->cap - out->len);
        if (n < 0 && errno != EINTR) {
            return refused(err);
        }
        out->len += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int sl_file_load(const char *path, struct sl_buf *out, struct sl_error *err)
{
    int fd = path == NULL ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return refused(err);
    }
    int rc = read_all(fd, out, err);
    if (path != NULL) {
        (void)close(fd);
    }
    return rc;
}
