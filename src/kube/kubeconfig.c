/* Reads kubeconfig files and a pod's service account. */
#include "kube/kubeconfig.h"

#include <stdio.h>

#include "codec/walker.h"
#include "codec/yaml.h"
#include "kube/file.h"

enum { FILE_MAX = 1 << 20, NAMED_MAX = 1000, ARGS_MAX = 100 };

struct named_cluster {
    struct sl_str name;
    struct sl_str server;
    struct sl_str tls_server_name;
    struct sl_str proxy_url;
    struct sl_str ca_file;
    struct sl_str ca_data;
    bool insecure;
    const char *folder; /* of the file it stands in */
    struct named_cluster *next;
};

struct env_entry {
    struct sl_str name;
    struct sl_str value;
    struct env_entry *next;
};

struct named_user {
    struct sl_str name;
    struct sl_str cert_file;
    struct sl_str cert_data;
    struct sl_str key_file;
    struct sl_str key_data;
    struct sl_str token;
    struct sl_str token_file;
    struct sl_str username;
    struct sl_str password;
    struct sl_str exec_version;
    struct sl_str exec_command;
    struct sl_pair *exec_args; /* keys, last first */
    struct env_entry *exec_env;
    struct sl_str exec_interactive;
    struct sl_str impersonated;
    bool provide_cluster_info;
    bool auth_provider;
    const char *folder;
    struct named_user *next;
};

struct named_context {
    struct sl_str name;
    struct sl_str cluster;
    struct sl_str user;
    struct sl_str namespace;
    struct named_context *next;
};

/* One file. */
struct kubeconfig {
    struct sl_str current;
    struct named_cluster *clusters;
    struct named_user *users;
    struct named_context *contexts;
};

#define STRING(struct_, member_, name_)                                                            \
    {                                                                                              \
        SL_FIELD_NAME(name_), .kind = SL_FIELD_STRING, .offset = offsetof(struct struct_, member_) \
    }
#define BOOL(struct_, member_, name_)                                                              \
    {                                                                                              \
        SL_FIELD_NAME(name_), .kind = SL_FIELD_BOOL, .offset = offsetof(struct struct_, member_)   \
    }
#define OBJECT(table_, name_)                                                                      \
    {                                                                                              \
        SL_FIELD_NAME(name_), .kind = SL_FIELD_OBJECT, .table = &(table_)                          \
    }
#define LIST(struct_, member_, element_, table_, name_)                                            \
    {                                                                                              \
        SL_FIELD_NAME(name_), .kind = SL_FIELD_OBJECTS, .table = &(table_),                        \
                              .offset = offsetof(struct struct_, member_),                         \
                              .size = sizeof(struct element_),                                     \
                              .next = offsetof(struct element_, next), .max = NAMED_MAX            \
    }

static int add_arg(struct sl_walker *walker, void *target, const struct sl_event *event,
                   struct sl_error *err)
{
    struct named_user *user = target;
    struct sl_pair *arg = sl_arena_alloc(walker->arena, sizeof(*arg));
    if (arg == NULL) {
        return sl_walk_nomem(walker, event, err);
    }
    arg->next = user->exec_args;
    user->exec_args = arg;
    return sl_walk_copy(walker, event, &arg->key, err);
}

static int note_auth_provider(struct sl_walker *walker, void *target, const struct sl_event *event,
                              struct sl_error *err)
{
    struct named_user *user = target;
    (void)walker;
    (void)event;
    (void)err;
    user->auth_provider = true;
    return SL_EVENT_SKIP;
}

static const struct sl_field cluster_fields[] = {
    STRING(named_cluster, server, "server"),
    STRING(named_cluster, tls_server_name, "tls-server-name"),
    STRING(named_cluster, proxy_url, "proxy-url"),
    STRING(named_cluster, ca_file, "certificate-authority"),
    STRING(named_cluster, ca_data, "certificate-authority-data"),
    BOOL(named_cluster, insecure, "insecure-skip-tls-verify"),
};
static const struct sl_table cluster_table = {SL_TABLE_FIELDS(cluster_fields)};
static const struct sl_field named_cluster_fields[] = {
    STRING(named_cluster, name, "name"),
    OBJECT(cluster_table, "cluster"),
};
static const struct sl_table named_cluster_table = {SL_TABLE_FIELDS(named_cluster_fields)};

static const struct sl_field env_fields[] = {
    STRING(env_entry, name, "name"),
    STRING(env_entry, value, "value"),
};
static const struct sl_table env_table = {SL_TABLE_FIELDS(env_fields)};
static const struct sl_field exec_fields[] = {
    STRING(named_user, exec_version, "apiVersion"),
    STRING(named_user, exec_command, "command"),
    {SL_FIELD_NAME("args"), .kind = SL_FIELD_TEXTS, .max = ARGS_MAX, .value = add_arg},
    LIST(named_user, exec_env, env_entry, env_table, "env"),
    STRING(named_user, exec_interactive, "interactiveMode"),
    BOOL(named_user, provide_cluster_info, "provideClusterInfo"),
};
static const struct sl_table exec_table = {SL_TABLE_FIELDS(exec_fields)};
static const struct sl_table no_table = {.field = NULL};
static const struct sl_field user_fields[] = {
    STRING(named_user, cert_file, "client-certificate"),
    STRING(named_user, cert_data, "client-certificate-data"),
    STRING(named_user, key_file, "client-key"),
    STRING(named_user, key_data, "client-key-data"),
    STRING(named_user, token, "token"),
    STRING(named_user, token_file, "tokenFile"),
    STRING(named_user, username, "username"),
    STRING(named_user, password, "password"),
    STRING(named_user, impersonated, "as"),
    OBJECT(exec_table, "exec"),
    {SL_FIELD_NAME("auth-provider"), .kind = SL_FIELD_OBJECT, .table = &no_table,
     .open = note_auth_provider},
};
static const struct sl_table user_table = {SL_TABLE_FIELDS(user_fields)};
static const struct sl_field named_user_fields[] = {
    STRING(named_user, name, "name"),
    OBJECT(user_table, "user"),
};
static const struct sl_table named_user_table = {SL_TABLE_FIELDS(named_user_fields)};

static const struct sl_field context_fields[] = {
    STRING(named_context, cluster, "cluster"),
    STRING(named_context, user, "user"),
    STRING(named_context, namespace, "namespace"),
};
static const struct sl_table context_table = {SL_TABLE_FIELDS(context_fields)};
static const struct sl_field named_context_fields[] = {
    STRING(named_context, name, "name"),
    OBJECT(context_table, "context"),
};
static const struct sl_table named_context_table = {SL_TABLE_FIELDS(named_context_fields)};

static const struct sl_field file_fields[] = {
    STRING(kubeconfig, current, "current-context"),
    LIST(kubeconfig, clusters, named_cluster, named_cluster_table, "clusters"),
    LIST(kubeconfig, users, named_user, named_user_table, "users"),
    LIST(kubeconfig, contexts, named_context, named_context_table, "contexts"),
};
static const struct sl_table file_table = {SL_TABLE_FIELDS(file_fields)};
static const struct sl_field root = {SL_FIELD_NAME(""), .kind = SL_FIELD_OBJECT,
                                     .table = &file_table};

/* ---- files ---- */

static const char *folder_of(const char *path, struct sl_arena *arena)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? sl_arena_strdup(arena, ".", 1)
                         : sl_arena_strdup(arena, path, (size_t)(slash - path) + (slash == path));
}

static int read_file(const char *path, struct sl_arena *arena, struct kubeconfig *out,
                     struct sl_error *err)
{
    const struct sl_text_limits limits = {
        .max_bytes = FILE_MAX, .max_string = FILE_MAX, .max_depth = 32};
    struct sl_walker walker;
    struct sl_str text;
    const char *folder = folder_of(path, arena);
    if (folder == NULL) {
        return sl_error_nomem(err);
    }
    if (sl_file_read(path, FILE_MAX, arena, &text, err) < 0) {
        return -1;
    }
    sl_walk_init(&walker, &root, out, arena, NULL);
    walker.null_root = true;
    if (sl_yaml_parse(text.s, text.len, &limits, sl_walk_receive, &walker, err) < 0) {
        return sl_error_wrap(err, "%s:%u:%u", path, err->line, err->column);
    }
    for (struct named_cluster *c = out->clusters; c != NULL; c = c->next) {
        c->folder = folder;
    }
    for (struct named_user *u = out->users; u != NULL; u = u->next) {
        u->folder = folder;
    }
    return 0;
}

/* Appends what a further file names; the first of a name is found first. */
static void add_file(struct kubeconfig *all, const struct kubeconfig *more)
{
    struct named_cluster **cluster = &all->clusters;
    struct named_user **user = &all->users;
    struct named_context **context = &all->contexts;
    while (*cluster != NULL) {
        cluster = &(*cluster)->next;
    }
    while (*user != NULL) {
        user = &(*user)->next;
    }
    while (*context != NULL) {
        context = &(*context)->next;
    }
    *cluster = more->clusters;
    *user = more->users;
    *context = more->contexts;
    if (all->current.len == 0) {
        all->current = more->current;
    }
}

/* As kubectl: of several files those that are not there are passed over. */
static int read_files(const char *paths, struct sl_arena *arena, struct kubeconfig *all,
                      struct sl_error *err)
{
    const char *at = paths;
    bool several = strchr(paths, ':') != NULL;
    bool any = false;
    while (*at != '\0') {
        const char *end = strchr(at, ':');
        size_t len = end == NULL ? strlen(at) : (size_t)(end - at);
        struct kubeconfig one = {.clusters = NULL};
        if (len > 0) {
            const char *path = sl_arena_strdup(arena, at, len);
            if (path == NULL) {
                return sl_error_nomem(err);
            }
            struct sl_error why = {.code = SL_ERR_NONE};
            if (read_file(path, arena, &one, &why) == 0) {
                add_file(all, &one);
                any = true;
            } else if (!several || why.code != SL_ERR_NOTFOUND) {
                *err = why;
                return -1;
            }
        }
        at += len + (end != NULL);
    }
    return any ? 0 : sl_error_set(err, SL_ERR_NOTFOUND, "%s: no such file", paths);
}

/* ---- from names to access ---- */

static const char *text_or_null(struct sl_str text)
{
    return text.len == 0 ? NULL : text.s;
}

static const char *shown(struct sl_str text)
{
    return text.len == 0 ? "" : text.s;
}

static int resolve(const char *folder, struct sl_str path, struct sl_arena *arena, const char **out,
                   struct sl_error *err)
{
    if (path.len == 0) {
        *out = NULL;
        return 0;
    }
    if (path.s[0] == '/') {
        *out = path.s;
        return 0;
    }
    size_t size = strlen(folder) + path.len + 2;
    char *full = sl_arena_alloc(arena, size);
    if (full == NULL) {
        return sl_error_nomem(err);
    }
    (void)snprintf(full, size, "%s/%s", folder, path.s);
    *out = full;
    return 0;
}

static int decode(struct sl_str text, const char *field, struct sl_arena *arena, struct sl_str *out,
                  struct sl_error *err)
{
    *out = (struct sl_str){NULL, 0};
    if (text.len > 0 && sl_base64_decode(text, arena, out, err) < 0) {
        return sl_error_wrap(err, "%s", field);
    }
    return 0;
}

static int take_cluster(const struct named_cluster *cluster, struct sl_arena *arena,
                        struct sl_kube_access *out, struct sl_error *err)
{
    struct sl_str server = cluster->server;
    if (!sl_str_starts(server, SL_STR("https://")) && !sl_str_starts(server, SL_STR("http://"))) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "cluster \"%s\": server is \"%.100s\", expected an http(s) URL",
                            shown(cluster->name), shown(server));
    }
    while (server.s[server.len - 1] == '/') {
        server.len--;
    }
    out->server = sl_arena_strdup(arena, server.s, server.len);
    out->tls_server_name = text_or_null(cluster->tls_server_name);
    out->proxy_url = text_or_null(cluster->proxy_url);
    out->insecure = cluster->insecure;
    if (out->server == NULL) {
        return sl_error_nomem(err);
    }
    if (decode(cluster->ca_data, "certificate-authority-data", arena, &out->ca_data, err) < 0) {
        return -1;
    }
    return resolve(cluster->folder, cluster->ca_file, arena, &out->ca_file, err);
}

static const char *join_entry(const struct env_entry *env, struct sl_arena *arena)
{
    size_t size = env->name.len + env->value.len + 2;
    char *entry = sl_arena_alloc(arena, size);
    if (entry != NULL) {
        (void)snprintf(entry, size, "%s=%s", shown(env->name), shown(env->value));
    }
    return entry;
}

static int check_exec(const struct named_user *user, struct sl_error *err)
{
    const char *name = shown(user->name);
    if (user->exec_command.len == 0) {
        return sl_error_set(err, SL_ERR_FIELD, "user \"%s\": exec has no command", name);
    }
    if (!sl_str_eq(user->exec_version, SL_STR("client.authentication.k8s.io/v1")) &&
        !sl_str_eq(user->exec_version, SL_STR("client.authentication.k8s.io/v1beta1"))) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "user \"%s\": exec apiVersion is \"%.60s\", expected "
                            "client.authentication.k8s.io/v1 or v1beta1",
                            name, shown(user->exec_version));
    }
    if (sl_str_eq(user->exec_interactive, SL_STR("Always"))) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "user \"%s\": exec has interactiveMode Always, and nobody is there to "
                            "answer",
                            name);
    }
    return 0;
}

static int take_exec(const struct named_user *user, struct sl_arena *arena,
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
    for (const struct env_entry *env = user->exec_env; env != NULL; env = env->next) {
        n_env++;
    }
    out->args = sl_arena_alloc(arena, (n_args + 1) * sizeof(*out->args));
    out->env = sl_arena_alloc(arena, (n_env + 1) * sizeof(*out->env));
    if (out->args == NULL || out->env == NULL) {
        return sl_error_nomem(err);
    }
    for (const struct sl_pair *arg = user->exec_args; arg != NULL; arg = arg->next) {
        out->args[--n_args] = shown(arg->key);
    }
    n_env = 0;
    for (const struct env_entry *env = user->exec_env; env != NULL; env = env->next) {
        out->env[n_env] = join_entry(env, arena);
        if (out->env[n_env++] == NULL) {
            return sl_error_nomem(err);
        }
    }
    out->api_version = user->exec_version.s;
    out->provide_cluster_info = user->provide_cluster_info;
    /* as client-go: with a '/' it is relative to the file, a bare name is looked up in PATH */
    if (strchr(user->exec_command.s, '/') != NULL) {
        return resolve(user->folder, user->exec_command, arena, &out->command, err);
    }
    out->command = user->exec_command.s;
    return 0;
}

static int take_user(const struct named_user *user, struct sl_arena *arena,
                     struct sl_kube_access *out, struct sl_error *err)
{
    if (user->auth_provider) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "user \"%s\": auth-provider is gone from Kubernetes since 1.26: use "
                            "an exec credential plugin",
                            shown(user->name));
    }
    if (user->impersonated.len > 0) {
        return sl_error_set(err, SL_ERR_FIELD, "user \"%s\": impersonation (as) is not supported",
                            shown(user->name));
    }
    out->token = text_or_null(user->token);
    out->username = text_or_null(user->username);
    out->password = text_or_null(user->password);
    if (decode(user->cert_data, "client-certificate-data", arena, &out->cert_data, err) < 0 ||
        decode(user->key_data, "client-key-data", arena, &out->key_data, err) < 0 ||
        resolve(user->folder, user->cert_file, arena, &out->cert_file, err) < 0 ||
        resolve(user->folder, user->key_file, arena, &out->key_file, err) < 0 ||
        resolve(user->folder, user->token_file, arena, &out->token_file, err) < 0) {
        return -1;
    }
    return take_exec(user, arena, &out->exec, err);
}

/* The entry of that name in a list of structs that begin with their name. */
#define FIND(list_, wanted_, found_)                                                               \
    for ((found_) = (list_); (found_) != NULL && !sl_str_eq((found_)->name, (wanted_));            \
         (found_) = (found_)->next) {                                                              \
    }

int sl_kubeconfig_load(const char *path, const char *context, struct sl_arena *arena,
                       struct sl_kube_access *out, struct sl_error *err)
{
    struct kubeconfig all = {.clusters = NULL};
    struct sl_kube_access access = {.server = NULL};
    const struct named_context *chosen = NULL;
    const struct named_cluster *cluster = NULL;
    const struct named_user *user = NULL;
    if (read_files(path, arena, &all, err) < 0) {
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
                            wanted.s, shown(chosen->cluster));
    }
    FIND(all.users, chosen->user, user)
    if (user == NULL && chosen->user.len > 0) {
        return sl_error_set(err, SL_ERR_NOTFOUND, "%s: context \"%s\": no user \"%s\"", path,
                            wanted.s, chosen->user.s);
    }
    access.namespace = text_or_null(chosen->namespace);
    if (take_cluster(cluster, arena, &access, err) < 0 ||
        (user != NULL && take_user(user, arena, &access, err) < 0)) {
        return sl_error_wrap(err, "%s", path);
    }
    *out = access;
    return 0;
}

/* ---- in a pod ---- */

static const char *join(struct sl_arena *arena, const char *root_path, const char *name)
{
    size_t size = strlen(root_path) + strlen(name) + 2;
    char *path = sl_arena_alloc(arena, size);
    if (path != NULL) {
        (void)snprintf(path, size, "%s/%s", root_path, name);
    }
    return path;
}

int sl_kube_in_cluster(const char *root_path, const char *host, const char *port,
                       struct sl_arena *arena, struct sl_kube_access *out, struct sl_error *err)
{
    struct sl_kube_access access = {.in_cluster = true};
    struct sl_str namespace;
    if (host == NULL || port == NULL || host[0] == '\0' || port[0] == '\0') {
        return sl_error_set(err, SL_ERR_NOTFOUND,
                            "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT "
                            "are not set");
    }
    bool v6 = strchr(host, ':') != NULL;
    size_t size = strlen(host) + strlen(port) + sizeof("https://[]:");
    char *server = sl_arena_alloc(arena, size);
    access.token_file = join(arena, root_path, "token");
    access.ca_file = join(arena, root_path, "ca.crt");
    const char *namespace_file = join(arena, root_path, "namespace");
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
