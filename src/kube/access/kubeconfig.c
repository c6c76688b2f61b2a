/* Makes of a kubeconfig's names, or of a pod's service account, the access that the client needs.
 */
#include "kube/access/kubeconfig.h"

#include <stdio.h>

#include "kube/access/file.h"
#include "kube/access/kubeconfig_file.h"
#include "util/base64.h"

static const char *text_or_empty(struct sl_str text)
{
    return text.len == 0 ? "" : text.s;
}

static const char *join_path(struct sl_arena *arena, const char *root_path, const char *name)
{
    size_t size = strlen(root_path) + strlen(name) + 2;
    char *path = sl_arena_alloc(arena, size);
    if (path != NULL) {
        (void)snprintf(path, size, "%s/%s", root_path, name);
    }
    return path;
}

static int resolve_path(const char *folder, struct sl_str path, struct sl_arena *arena,
                        const char **out, struct sl_error *err)
{
    if (path.len == 0) {
        *out = NULL;
        return 0;
    }
    if (path.s[0] == '/') {
        *out = path.s;
        return 0;
    }
    *out = join_path(arena, folder, path.s);
    return *out == NULL ? sl_error_nomem(err) : 0;
}

static int decode_field(struct sl_str text, const char *field, struct sl_arena *arena,
                        struct sl_str *out, struct sl_error *err)
{
    *out = (struct sl_str){NULL, 0};
    if (text.len > 0 && sl_base64_decode(text, arena, out, err) < 0) {
        return sl_error_wrap(err, "%s", field);
    }
    return 0;
}

static int take_cluster(const struct sl_named_cluster *cluster, struct sl_arena *arena,
                        struct sl_kube_access *out, struct sl_error *err)
{
    struct sl_str server = cluster->server;
    if (!sl_str_starts(server, SL_STR("https://")) && !sl_str_starts(server, SL_STR("http://"))) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "cluster \"%s\": server is \"%.100s\", expected an http(s) URL",
                            text_or_empty(cluster->name), text_or_empty(server));
    }
    while (server.s[server.len - 1] == '/') {
        server.len--;
    }
    out->server = sl_arena_strdup(arena, server.s, server.len);
    out->tls_server_name = sl_text_or_null(cluster->tls_server_name.s);
    out->proxy_url = sl_text_or_null(cluster->proxy_url.s);
    out->insecure = cluster->insecure;
    if (out->server == NULL) {
        return sl_error_nomem(err);
    }
    if (decode_field(cluster->ca_data, "certificate-authority-data", arena, &out->ca_data, err) <
        0) {
        return -1;
    }
    return resolve_path(cluster->folder, cluster->ca_file, arena, &out->ca_file, err);
}

static const char *join_entry(const struct sl_named_env *env, struct sl_arena *arena)
{
    size_t size = env->name.len + env->value.len + 2;
    char *entry = sl_arena_alloc(arena, size);
    if (entry != NULL) {
        (void)snprintf(entry, size, "%s=%s", text_or_empty(env->name), text_or_empty(env->value));
    }
    return entry;
}

static int check_exec(const struct sl_named_user *user, struct sl_error *err)
{
    const char *name = text_or_empty(user->name);
    if (user->exec_command.len == 0) {
        return sl_error_set(err, SL_ERR_FIELD, "user \"%s\": exec has no command", name);
    }
    if (!sl_str_eq(user->exec_version, SL_STR("client.authentication.k8s.io/v1")) &&
        !sl_str_eq(user->exec_version, SL_STR("client.authentication.k8s.io/v1beta1"))) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "user \"%s\": exec apiVersion is \"%.60s\", expected "
                            "client.authentication.k8s.io/v1 or v1beta1",
                            name, text_or_empty(user->exec_version));
    }
    if (sl_str_eq(user->exec_interactive, SL_STR("Always"))) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "user \"%s\": exec has interactiveMode Always, and nobody is there to "
                            "answer",
                            name);
    }
    return 0;
}

static int take_exec(const struct sl_named_user *user, struct sl_arena *arena,
                     struct sl_kube_exec *out, struct sl_error *err)
{
    size_t n_args = 0;
    size_t n_env = 0;
    if (user->exec_version.len == 0 && user->exec_command.len == 0) {
        return 0;
    }
    if (check_exec(user, err) < 0) {
        return -1;
    }
    for (const struct sl_pair *arg = user->exec_args; arg != NULL; arg = arg->next) {
        n_args++;
    }
    for (const struct sl_named_env *env = user->exec_env; env != NULL; env = env->next) {
        n_env++;
    }
    out->args = sl_arena_alloc(arena, (n_args + 1) * sizeof(*out->args));
    out->env = sl_arena_alloc(arena, (n_env + 1) * sizeof(*out->env));
    if (out->args == NULL || out->env == NULL) {
        return sl_error_nomem(err);
    }
    for (const struct sl_pair *arg = user->exec_args; arg != NULL; arg = arg->next) {
        out->args[--n_args] = text_or_empty(arg->key);
    }
    n_env = 0;
    for (const struct sl_named_env *env = user->exec_env; env != NULL; env = env->next) {
        out->env[n_env] = join_entry(env, arena);
        if (out->env[n_env++] == NULL) {
            return sl_error_nomem(err);
        }
    }
    out->api_version = user->exec_version.s;
    out->provide_cluster_info = user->provide_cluster_info;
    /* as in client-go, a command with a '/' is relative to the file, and PATH is searched for a
     * bare name */
    if (strchr(user->exec_command.s, '/') != NULL) {
        return resolve_path(user->folder, user->exec_command, arena, &out->command, err);
    }
    out->command = user->exec_command.s;
    return 0;
}

static int take_user(const struct sl_named_user *user, struct sl_arena *arena,
                     struct sl_kube_access *out, struct sl_error *err)
{
    if (user->auth_provider) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "user \"%s\": auth-provider is gone from Kubernetes since 1.26: use "
                            "an exec credential plugin",
                            text_or_empty(user->name));
    }
    if (user->impersonated.len > 0) {
        return sl_error_set(err, SL_ERR_FIELD, "user \"%s\": impersonation (as) is not supported",
                            text_or_empty(user->name));
    }
    out->token = sl_text_or_null(user->token.s);
    out->username = sl_text_or_null(user->username.s);
    out->password = sl_text_or_null(user->password.s);
    if (decode_field(user->cert_data, "client-certificate-data", arena, &out->cert_data, err) < 0 ||
        decode_field(user->key_data, "client-key-data", arena, &out->key_data, err) < 0 ||
        resolve_path(user->folder, user->cert_file, arena, &out->cert_file, err) < 0 ||
        resolve_path(user->folder, user->key_file, arena, &out->key_file, err) < 0 ||
        resolve_path(user->folder, user->token_file, arena, &out->token_file, err) < 0) {
        return -1;
    }
    return take_exec(user, arena, &out->exec, err);
}

/* Finds the entry of that name in a list. */
#define FIND(list_, wanted_, found_)                                                               \
    for ((found_) = (list_); (found_) != NULL && !sl_str_eq((found_)->name, (wanted_));            \
         (found_) = (found_)->next) {                                                              \
    }

int sl_kubeconfig_load(const char *path, const char *context, struct sl_arena *arena,
                       struct sl_kube_access *out, struct sl_error *err)
{
    struct sl_kubeconfig all = {.clusters = NULL};
    struct sl_kube_access access = {.server = NULL};
    const struct sl_named_context *chosen = NULL;
    const struct sl_named_cluster *cluster = NULL;
    const struct sl_named_user *user = NULL;
    if (sl_kubeconfig_read(path, arena, &all, err) < 0) {
        return -1;
    }
    struct sl_str wanted = context == NULL ? all.current : sl_str_of(context);
    if (wanted.len == 0) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: no current-context, and none was asked for",
                            path);
    }
    FIND(all.contexts, wanted, chosen)
    if (chosen == NULL) {
        return sl_error_set(err, SL_ERR_NOTFOUND, "%s: no context \"%s\"", path, wanted.s);
    }
    FIND(all.clusters, chosen->cluster, cluster)
    if (cluster == NULL) {
        return sl_error_set(err, SL_ERR_NOTFOUND, "%s: context \"%s\": no cluster \"%s\"", path,
                            wanted.s, text_or_empty(chosen->cluster));
    }
    FIND(all.users, chosen->user, user)
    if (user == NULL && chosen->user.len > 0) {
        return sl_error_set(err, SL_ERR_NOTFOUND, "%s: context \"%s\": no user \"%s\"", path,
                            wanted.s, chosen->user.s);
    }
    access.namespace = sl_text_or_null(chosen->namespace.s);
    if (take_cluster(cluster, arena, &access, err) < 0 ||
        (user != NULL && take_user(user, arena, &access, err) < 0)) {
        return sl_error_wrap(err, "%s", path);
    }
    *out = access;
    return 0;
}

/* ---- in a pod ---- */

int sl_kube_in_cluster(const char *root_path, const char *host, const char *port,
                       struct sl_arena *arena, struct sl_kube_access *out, struct sl_error *err)
{
    struct sl_kube_access access = {.server = NULL};
    struct sl_str namespace;
    if (host == NULL || port == NULL || host[0] == '\0' || port[0] == '\0') {
        return sl_error_set(err, SL_ERR_NOTFOUND,
                            "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT "
                            "are not set");
    }
    bool v6 = strchr(host, ':') != NULL;
    size_t size = strlen(host) + strlen(port) + sizeof("https://[]:");
    char *server = sl_arena_alloc(arena, size);
    access.token_file = join_path(arena, root_path, "token");
    access.ca_file = join_path(arena, root_path, "ca.crt");
    const char *namespace_file = join_path(arena, root_path, "namespace");
    if (server == NULL || access.token_file == NULL || access.ca_file == NULL ||
        namespace_file == NULL) {
        return sl_error_nomem(err);
    }
    (void)snprintf(server, size, v6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
    access.server = server;
    if (sl_file_read(namespace_file, 256, arena, &namespace, err) < 0) {
        return sl_error_wrap(err, "service account");
    }
    access.namespace = namespace.s;
    *out = access;
    return 0;
}
