/* Calls about one object. */
#include "kube/client/object_call.h"

#include <stdlib.h>

#include "kube/client/url.h"

enum { PATH_BYTES_MAX = 4096 };

const struct sl_text_limits sl_kube_text_limits = {
    .max_bytes = SIZE_MAX, .max_string = 1 << 20, .max_depth = 64, .forgiving = true};

void *sl_alloc_with_texts(size_t size, struct sl_str *const text[], size_t n)
{
    size_t all = size;
    for (size_t i = 0; i < n; i++) {
        all += text[i]->len + 1;
    }
    char *memory = calloc(1, all);
    char *at = memory == NULL ? NULL : memory + size;
    for (size_t i = 0; i < n && at != NULL; i++) {
        if (text[i]->len > 0) {
            memcpy(at, text[i]->s, text[i]->len);
        }
        text[i]->s = at;
        at += text[i]->len + 1;
    }
    return memory;
}

static const char *const collections[] = {
    [SL_OBJECT_NODE] = "nodes",
    [SL_OBJECT_POD] = "pods",
    [SL_OBJECT_CONFIG_MAP] = "configmaps",
};

static void put_path(struct sl_buf *path, const struct sl_object_ref *object, const char *end)
{
    sl_buf_puts(path, "/api/v1/");
    if (object->namespace.len > 0) {
        sl_buf_puts(path, "namespaces/");
        sl_url_put(path, object->namespace);
        sl_buf_putc(path, '/');
    }
    sl_buf_puts(path, collections[object->kind]);
    if (object->name.len > 0) {
        sl_buf_putc(path, '/');
        sl_url_put(path, object->name);
    }
    sl_buf_puts(path, end);
    sl_buf_putc(path, '\0');
}

int sl_object_call(struct sl_client *client, const struct sl_object_ref *object, const char *end,
                   struct sl_buf *body, struct sl_call_options *call, struct sl_error *err)
{
    struct sl_buf none = {.data = NULL};
    struct sl_buf path;
    body = body == NULL ? &none : body;
    sl_buf_init(&path, PATH_BYTES_MAX);
    put_path(&path, object, end);
    call->path = path.data;
    call->body = (struct sl_str){body->data, body->len};
    int result = path.failed == SL_BUF_OK && body->failed == SL_BUF_OK
                     ? sl_client_call(client, call, NULL, err)
                     : sl_error_nomem(err);
    sl_buf_free(&path);
    sl_buf_free(body);
    return result;
}
