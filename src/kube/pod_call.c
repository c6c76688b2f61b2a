/* Calls about one pod. */
#include "kube/pod_call.h"

#include <string.h>

#include "kube/url.h"

enum { PATH_BYTES_MAX = 4096 };

void sl_pod_path(struct sl_buf *path, struct sl_str ns, struct sl_str name, const char *end)
{
    sl_buf_init(path, PATH_BYTES_MAX);
    sl_buf_puts(path, "/api/v1/namespaces/");
    sl_url_put(path, ns);
    sl_buf_puts(path, "/pods/");
    sl_url_put(path, name);
    sl_buf_puts(path, end);
    sl_buf_putc(path, '\0');
}

struct sl_str sl_pod_put_text(char **at, struct sl_str text)
{
    struct sl_str copy = {*at, text.len};
    if (text.len > 0) {
        memcpy(*at, text.s, text.len);
    }
    (*at)[text.len] = '\0';
    *at += text.len + 1;
    return copy;
}
