/* Reads a ConfigMap again and again: it changes once in years, a watch would cost more. */
#include "kube/watch/front_proxy.h"

#include <jansson.h>
#include <stdlib.h>

#include "util/time.h"

struct sl_front_proxy_reader {
    struct sl_front_proxy_options options;
    bool known;
};

static const char path[] = "/api/v1/namespaces/kube-system/configmaps/"
                           "extension-apiserver-authentication";
static const int64_t timeout_us = 10 * SL_SECOND_US;

static void read_now(void *context);

static int refuse(struct sl_error *err, const char *key, const char *expected)
{
    return sl_error_set(err, SL_ERR_FIELD, "kube-system/extension-apiserver-authentication: %s: %s",
                        key, expected);
}

/* A JSON array of strings, in a string. */
static int read_names(const json_t *names, struct sl_front_proxy_said *out, struct sl_error *err)
{
    static const char key[] = "requestheader-allowed-names";
    size_t i = 0;
    const json_t *name = NULL;
    if (!json_is_array(names) || json_array_size(names) > SL_FRONT_NAMES_MAX) {
        return refuse(err, key, "expected a list of at most 16 names");
    }
    json_array_foreach(names, i, name)
    {
        if (!json_is_string(name) || json_string_length(name) == 0) {
            return refuse(err, key, "expected names");
        }
        out->name[out->n] = (struct sl_str){json_string_value(name), json_string_length(name)};
        out->n++;
    }
    return 0;
}

static int read_said(struct sl_front_proxy_reader *reader, const json_t *map, struct sl_error *err)
{
    struct sl_front_proxy_said said = {.n = 0};
    const json_t *data = json_object_get(map, "data");
    const json_t *pem = json_object_get(data, "requestheader-client-ca-file");
    const json_t *allowed = json_object_get(data, "requestheader-allowed-names");
    if (!json_is_string(pem) || json_string_length(pem) == 0) {
        return refuse(err, "requestheader-client-ca-file",
                      "the API server has no front proxy (--requestheader-client-ca-file)");
    }
    said.authorities = (struct sl_str){json_string_value(pem), json_string_length(pem)};
    json_t *names =
        json_is_string(allowed) ? json_loads(json_string_value(allowed), 0, NULL) : NULL;
    int result = allowed == NULL ? 0 : read_names(names, &said, err);
    if (result == 0) {
        reader->known = true;
        reader->options.told(reader->options.context, &said, NULL);
    }
    json_decref(names);
    return result;
}

static void schedule(struct sl_front_proxy_reader *reader)
{
    int64_t pause_us = reader->known ? reader->options.every_us : reader->options.every_us / 10;
    /* refused only when the client ends */
    (void)sl_client_after(reader->options.client, pause_us, read_now, reader);
}

static void take_reply(void *context, const struct sl_reply *reply)
{
    struct sl_front_proxy_reader *reader = context;
    struct sl_error err = reply->err;
    json_t *map = reply->status == 200 ? json_loadb(reply->body.s, reply->body.len, 0, NULL) : NULL;
    int result = -1;
    if (map != NULL) {
        result = read_said(reader, map, &err);
    } else if (reply->status == 200) {
        result = refuse(&err, "data", "the API server's answer was no ConfigMap");
    }
    if (result < 0) {
        reader->options.told(reader->options.context, NULL, &err);
    }
    json_decref(map);
    schedule(reader);
}

static void read_now(void *context)
{
    struct sl_front_proxy_reader *reader = context;
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_call_options call = {.method = "GET",
                                         .path = path,
                                         .priority = SL_CALL_NORMAL,
                                         .repeatable = true,
                                         .timeout_us = timeout_us,
                                         .done = take_reply,
                                         .context = reader};
    if (sl_client_call(reader->options.client, &call, NULL, &err) < 0) {
        schedule(reader);
    }
}

struct sl_front_proxy_reader *sl_front_proxy_start(const struct sl_front_proxy_options *options,
                                                   struct sl_error *err)
{
    struct sl_front_proxy_reader *reader = calloc(1, sizeof(*reader));
    if (reader == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    reader->options = *options;
    read_now(reader);
    return reader;
}

void sl_front_proxy_stop(struct sl_front_proxy_reader *reader)
{
    free(reader);
}
