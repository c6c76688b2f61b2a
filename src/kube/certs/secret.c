/* Reads, makes and changes a Secret. */
#include "kube/certs/secret.h"

#include <jansson.h>

#include "codec/write.h"
#include "kube/client/url.h"
#include "util/base64.h"

enum { TEXT_BYTES_MAX = 1 << 20, TRIES = 5, FIELDS = 5 };
enum { OK = 200, CREATED = 201, NOT_FOUND = 404, CONFLICT = 409 };

/* The keys of a Secret and where each goes; the order is that of a reader. */
static const struct {
    const char *key;
    size_t at;
} fields[FIELDS] = {
    {"ca.crt", offsetof(struct sl_cert_secret, ca)},
    {"tls.crt", offsetof(struct sl_cert_secret, crt)},
    {"tls.key", offsetof(struct sl_cert_secret, key)},
    {"next.crt", offsetof(struct sl_cert_secret, next_crt)},
    {"next.key", offsetof(struct sl_cert_secret, next_key)},
};

static char **field_of(struct sl_cert_secret *secret, size_t i)
{
    return (char **)((char *)secret + fields[i].at);
}

/* The Secret as the API server has it. */
struct held {
    struct sl_cert_secret data;
    const char *version; /* NULL: there is no such Secret */
};

static int write_path(struct sl_arena *arena, const char *namespace, const char *name,
                      const char **out, struct sl_error *err)
{
    struct sl_buf path;
    sl_buf_init(&path, TEXT_BYTES_MAX);
    sl_buf_puts(&path, "/api/v1/namespaces/");
    sl_url_put(&path, sl_str_of(namespace));
    sl_buf_puts(&path, "/secrets");
    if (name != NULL) {
        sl_buf_putc(&path, '/');
        sl_url_put(&path, sl_str_of(name));
    }
    *out = path.failed == SL_BUF_OK ? sl_arena_strdup(arena, path.data, path.len) : NULL;
    sl_buf_free(&path);
    return *out == NULL ? sl_error_nomem(err) : 0;
}

static int read_data(const json_t *data, struct sl_arena *arena, struct sl_cert_secret *out,
                     struct sl_error *err)
{
    for (size_t i = 0; i < FIELDS; i++) {
        const json_t *value = json_object_get(data, fields[i].key);
        struct sl_str text = {NULL, 0};
        const struct sl_str encoded = {json_string_value(value), json_string_length(value)};
        if (encoded.len == 0) {
            continue;
        }
        if (sl_base64_decode(encoded, arena, &text, err) < 0) {
            return sl_error_wrap(err, "%s", fields[i].key);
        }
        *field_of(out, i) = sl_arena_strdup(arena, text.s, text.len);
        if (*field_of(out, i) == NULL) {
            return sl_error_nomem(err);
        }
    }
    return 0;
}

static int read_secret(const struct sl_asker *asker, const char *path, struct held *out,
                       struct sl_error *err)
{
    const struct sl_question question = {.method = "GET", .path = path};
    struct sl_str body = {NULL, 0};
    *out = (struct held){.version = NULL};
    int status = sl_ask(asker, &question, &body, err);
    if (status == NOT_FOUND) {
        *err = (struct sl_error){.code = SL_ERR_NONE};
        return 0;
    }
    if (status != OK) {
        return -1;
    }
    json_t *json = json_loadb(body.s, body.len, 0, NULL);
    const char *version =
        json_string_value(json_object_get(json_object_get(json, "metadata"), "resourceVersion"));
    int result = -1;
    if (version == NULL) {
        (void)sl_error_set(err, SL_ERR_SYNTAX, "the API server's answer is no Secret");
    } else if (read_data(json_object_get(json, "data"), asker->arena, &out->data, err) == 0) {
        out->version = sl_arena_strdup(asker->arena, version, strlen(version));
        result = out->version == NULL ? sl_error_nomem(err) : 0;
    }
    json_decref(json);
    return result;
}

static void write_data(struct sl_writer *w, struct sl_cert_secret *data, bool whole)
{
    sl_write_member_object(w, "data");
    for (size_t i = 0; i < FIELDS; i++) {
        const char *text = *field_of(data, i);
        struct sl_buf encoded;
        if (text == NULL && whole) {
            continue;
        }
        sl_write_key(w, fields[i].key);
        if (text == NULL) {
            sl_write_null(w); /* a merge patch removes it */
            continue;
        }
        sl_buf_init(&encoded, TEXT_BYTES_MAX);
        sl_base64_encode(sl_str_of(text), &encoded);
        sl_write_str(w, (struct sl_str){encoded.data, encoded.len});
        sl_buf_free(&encoded);
    }
    sl_write_object_end(w);
}

static void write_body(struct sl_writer *w, const char *name, struct held *secret)
{
    sl_write_object(w);
    if (secret->version == NULL) {
        sl_write_member_text(w, "apiVersion", "v1");
        sl_write_member_text(w, "kind", "Secret");
        sl_write_member_text(w, "type", "kubernetes.io/tls");
    }
    sl_write_member_object(w, "metadata");
    if (secret->version == NULL) {
        sl_write_member_text(w, "name", name);
    } else {
        sl_write_member_text(w, "resourceVersion", secret->version);
    }
    sl_write_object_end(w);
    write_data(w, &secret->data, secret->version == NULL);
    sl_write_object_end(w);
}

/* The status of the answer. */
static int write_secret(const struct sl_asker *asker, const char *namespace, const char *name,
                        struct held *secret, struct sl_error *err)
{
    bool made = secret->version == NULL;
    struct sl_question question = {.method = made ? "POST" : "PATCH"};
    if (write_path(asker->arena, namespace, made ? NULL : name, &question.path, err) < 0) {
        return 0;
    }
    question.content_type = made ? NULL : "application/merge-patch+json";
    struct sl_buf body;
    sl_buf_init(&body, TEXT_BYTES_MAX);
    struct sl_writer w = {.buf = &body};
    write_body(&w, name, secret);
    question.body = (struct sl_str){body.data, body.len};
    int status = 0;
    if (body.failed == SL_BUF_OK) {
        status = sl_ask(asker, &question, NULL, err);
    } else {
        (void)sl_error_nomem(err);
    }
    sl_buf_free(&body);
    return status;
}

int sl_cert_secret_ca(const struct sl_asker *asker, const char *namespace, const char *name,
                      const char **ca, struct sl_error *err)
{
    const char *path = NULL;
    struct held held;
    if (write_path(asker->arena, namespace, name, &path, err) < 0 ||
        read_secret(asker, path, &held, err) < 0) {
        return sl_error_wrap(err, "Secret %s/%s", namespace, name);
    }
    if (held.data.ca == NULL) {
        return sl_error_set(
            err, SL_ERR_NOTFOUND, "Secret %s/%s: %s", namespace, name,
            held.version == NULL
                ? "it is not there; make it, with the keys ca.crt, tls.crt and tls.key"
                : "it lacks the key ca.crt, the certificate's authority in PEM");
    }
    *ca = held.data.ca;
    return 0;
}

int sl_cert_secret_keep(const struct sl_asker *asker, const char *namespace, const char *name,
                        const struct sl_cert_wish *wish, int64_t now_s, struct sl_cert_outcome *out,
                        struct sl_error *err)
{
    const char *path = NULL;
    int status = write_path(asker->arena, namespace, name, &path, err) < 0 ? 0 : CONFLICT;
    for (unsigned i = 0; i < TRIES && status == CONFLICT; i++) {
        struct held held;
        if (read_secret(asker, path, &held, err) < 0 ||
            sl_cert_renew(&held.data, wish, now_s, asker->arena, &out->change, &out->until_s, err) <
                0) {
            status = 0;
        } else {
            status =
                out->change == SL_CERT_KEPT ? OK : write_secret(asker, namespace, name, &held, err);
        }
        out->ca = held.data.ca;
    }
    if (status != OK && status != CREATED) {
        return sl_error_wrap(err, "Secret %s/%s", namespace, name);
    }
    *err = (struct sl_error){.code = SL_ERR_NONE}; /* of a try before */
    return 0;
}
