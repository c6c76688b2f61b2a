/* Reading files. */
#include "kube/access/file.h"

#include "util/process/file.h"

int sl_file_read(const char *path, size_t max, struct sl_arena *arena, struct sl_str *out,
                 struct sl_error *err)
{
    struct sl_buf buf;
    sl_buf_init(&buf, max + 1);
    int result = sl_file_load(path, &buf, err);
    if (result == 0) {
        const char *text = sl_arena_strdup(arena, buf.data, buf.len);
        result = text == NULL ? sl_error_nomem(err) : 0;
        *out = text == NULL ? *out : (struct sl_str){text, buf.len};
    }
    sl_buf_free(&buf);
    return result < 0 ? sl_error_wrap(err, "%s", path) : 0;
}
