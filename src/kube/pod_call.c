/* Calls about one pod. */
#include "kube/pod_call.h"

#include <stdlib.h>

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

struct expiry {
    struct sl_client *client;
    uint64_t id;
};

static void on_expiry(void *context)
{
    struct expiry *expiry = context;
    sl_client_cancel(expiry->client, expiry->id);
    free(expiry);
}

int sl_call_within(struct sl_client *client, struct sl_call_options *call, int64_t timeout_us,
                   struct sl_error *err)
{
    struct expiry *expiry = malloc(sizeof(*expiry));
    if (expiry == NULL) {
        return sl_error_nomem(err);
    }
    *expiry = (struct expiry){.client = client};
    call->timeout_us = timeout_us;
    if (sl_client_call(client, call, &expiry->id, err) < 0) {
        free(expiry);
        return -1;
    }
    if (sl_client_after(client, timeout_us, on_expiry, expiry) < 0) {
        on_expiry(expiry);
    }
    return 0;
}
