/* The words of client.authentication.k8s.io: KUBERNETES_EXEC_INFO and ExecCredential. */
#include "kube/access/plugin.h"

#include <jansson.h>

#include "codec/write.h"
#include "kube/access/file.h"
#include "util/base64.h"
#include "util/timestamp.h"

extern char **environ;

enum { INFO_MAX = 256 << 10, CA_MAX = 128 << 10 };

static const char info_name[] = "KUBERNETES_EXEC_INFO=";

/* ---- what it is told ---- */

static int write_cluster(struct sl_writer *w, const struct sl_kube_access *access,
                         struct sl_arena *arena, struct sl_error *err)
{
    struct sl_str ca = access->ca_data;
    struct sl_buf text;
    if (ca.len == 0 && access->ca_file != NULL &&
        sl_file_read(access->ca_file, CA_MAX, arena, &ca, err) < 0) {
        return -1;
    }
    sl_write_member_object(w, "cluster");
    sl_write_member_text(w, "server", access->server);
    if (access->tls_server_name != NULL) {
        sl_write_member_text(w, "tls-server-name", access->tls_server_name);
    }
    if (access->insecure) {
        sl_write_member_bool(w, "insecure-skip-tls-verify", true);
    }
    if (ca.len > 0) {
        sl_buf_init(&text, INFO_MAX);
        sl_base64_encode(ca, &text);
        sl_write_member_str(w, "certificate-authority-data", (struct sl_str){text.data, text.len});
        sl_buf_free(&text);
    }
    if (access->proxy_url != NULL) {
        sl_write_member_text(w, "proxy-url", access->proxy_url);
    }
    sl_write_object_end(w);
    return 0;
}

/* "KUBERNETES_EXEC_INFO={...}" */
static int write_info(const struct sl_kube_access *access, struct sl_arena *arena, const char **out,
                      struct sl_error *err)
{
    struct sl_buf text;
    struct sl_writer w = {.buf = &text};
    int result = 0;
    sl_buf_init(&text, INFO_MAX);
    sl_buf_puts(&text, info_name);
    sl_write_object(&w);
    sl_write_member_text(&w, "kind", "ExecCredential");
    sl_write_member_text(&w, "apiVersion", access->exec.api_version);
    sl_write_member_object(&w, "spec");
    sl_write_member_bool(&w, "interactive", false);
    if (access->exec.provide_cluster_info) {
        result = write_cluster(&w, access, arena, err);
    }
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    if (result == 0) {
        *out = text.failed != SL_BUF_OK ? NULL : sl_arena_strdup(arena, text.data, text.len);
        result = *out == NULL ? sl_error_nomem(err) : 0;
    }
    sl_buf_free(&text);
    return result;
}

static bool same_name(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");
    return strncmp(a, b, len) == 0 && (b[len] == '=' || b[len] == '\0');
}

static bool is_overridden(const char *entry, const char *const *by)
{
    bool found = same_name(entry, info_name);
    for (; !found && *by != NULL; by++) {
        found = same_name(entry, *by);
    }
    return found;
}

static size_t count_texts(const char *const *list)
{
    size_t n = 0;
    while (list[n] != NULL) {
        n++;
    }
    return n;
}

int sl_plugin_init(struct sl_plugin *plugin, const struct sl_kube_access *access,
                   struct sl_arena *arena, struct sl_error *err)
{
    const struct sl_kube_exec *exec = &access->exec;
    const char *const *own = (const char *const *)exec->env;
    const char *const *ours = (const char *const *)environ;
    size_t n_args = count_texts((const char *const *)exec->args);
    size_t n = 0;
    const char **argv = sl_arena_alloc(arena, (n_args + 2) * sizeof(*argv));
    const char **envp =
        sl_arena_alloc(arena, (count_texts(ours) + count_texts(own) + 2) * sizeof(*envp));
    if (argv == NULL || envp == NULL) {
        return sl_error_nomem(err);
    }
    argv[0] = exec->command;
    for (size_t i = 0; i < n_args; i++) {
        argv[i + 1] = exec->args[i];
    }
    for (; *ours != NULL; ours++) {
        if (!is_overridden(*ours, own)) {
            envp[n++] = *ours;
        }
    }
    for (size_t i = 0; own[i] != NULL; i++) {
        envp[n++] = own[i];
    }
    if (write_info(access, arena, &envp[n], err) < 0) {
        return sl_error_wrap(err, "credential plugin %s", exec->command);
    }
    *plugin = (struct sl_plugin){.command = exec->command, .argv = argv, .envp = envp};
    return 0;
}

/* ---- what it says ---- */

/* The member as text in the arena; empty when it is absent or null. */
static int take_text(const json_t *object, const char *name, struct sl_arena *arena,
                     struct sl_str *out, struct sl_error *err)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL || json_is_null(value)) {
        *out = (struct sl_str){NULL, 0};
        return 0;
    }
    if (!json_is_string(value)) {
        return sl_error_set(err, SL_ERR_TYPE, "%s is no string", name);
    }
    out->len = json_string_length(value);
    out->s = sl_arena_strdup(arena, json_string_value(value), out->len);
    return out->s == NULL ? sl_error_nomem(err) : 0;
}

static int take_status(const json_t *status, struct sl_arena *arena, struct sl_plugin_answer *out,
                       struct sl_error *err)
{
    struct sl_str expires = {NULL, 0};
    *out = (struct sl_plugin_answer){.expires_us = INT64_MAX};
    if (!json_is_object(status)) {
        return sl_error_set(err, SL_ERR_FIELD, "there is no status");
    }
    if (take_text(status, "token", arena, &out->token, err) < 0 ||
        take_text(status, "clientCertificateData", arena, &out->cert, err) < 0 ||
        take_text(status, "clientKeyData", arena, &out->key, err) < 0 ||
        take_text(status, "expirationTimestamp", arena, &expires, err) < 0) {
        return sl_error_wrap(err, "status");
    }
    if ((out->cert.len == 0) != (out->key.len == 0)) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "status has one of clientCertificateData and clientKeyData, not both");
    }
    if (out->token.len == 0 && out->cert.len == 0) {
        return sl_error_set(err, SL_ERR_FIELD, "status has no token and no certificate");
    }
    if (expires.len > 0 && !sl_time_parse(expires, &out->expires_us)) {
        return sl_error_set(err, SL_ERR_FIELD, "status.expirationTimestamp is \"%.40s\", no time",
                            expires.s);
    }
    return 0;
}

static int take_credential(const json_t *root, const char *api_version, struct sl_arena *arena,
                           struct sl_plugin_answer *out, struct sl_error *err)
{
    const char *kind = json_string_value(json_object_get(root, "kind"));
    const char *version = json_string_value(json_object_get(root, "apiVersion"));
    if (kind == NULL || strcmp(kind, "ExecCredential") != 0) {
        return sl_error_set(err, SL_ERR_FIELD, "kind is \"%.60s\", expected ExecCredential",
                            kind == NULL ? "" : kind);
    }
    if (version == NULL || strcmp(version, api_version) != 0) {
        return sl_error_set(err, SL_ERR_FIELD, "apiVersion is \"%.60s\", expected %s",
                            version == NULL ? "" : version, api_version);
    }
    return take_status(json_object_get(root, "status"), arena, out, err);
}

int sl_plugin_read(struct sl_str json, const char *api_version, struct sl_arena *arena,
                   struct sl_plugin_answer *out, struct sl_error *err)
{
    json_error_t at;
    json_t *root = json_loadb(json.len == 0 ? "" : json.s, json.len, 0, &at);
    if (root == NULL) {
        /* jansson's message is not shown: it may quote half a token */
        return sl_error_set(err, SL_ERR_SYNTAX, "its answer is no JSON (line %d, column %d)",
                            at.line, at.column);
    }
    int result = take_credential(root, api_version, arena, out, err);
    json_decref(root);
    return result < 0 ? sl_error_wrap(err, "its answer") : 0;
}
