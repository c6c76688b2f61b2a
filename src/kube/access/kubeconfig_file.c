/* The fields of a kubeconfig file, and reading several files as one. */
#include "kube/access/kubeconfig_file.h"

#include "codec/stream/walker.h"
#include "codec/stream/yaml.h"
#include "kube/access/file.h"

enum { FILE_MAX = 1 << 20, NAMED_MAX = 1000, ARGS_MAX = 100 };

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
    struct sl_named_user *user = target;
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
    struct sl_named_user *user = target;
    (void)walker;
    (void)event;
    (void)err;
    user->auth_provider = true;
    return SL_EVENT_SKIP;
}

static const struct sl_field cluster_fields[] = {
    STRING(sl_named_cluster, server, "server"),
    STRING(sl_named_cluster, tls_server_name, "tls-server-name"),
    STRING(sl_named_cluster, proxy_url, "proxy-url"),
    STRING(sl_named_cluster, ca_file, "certificate-authority"),
    STRING(sl_named_cluster, ca_data, "certificate-authority-data"),
    BOOL(sl_named_cluster, insecure, "insecure-skip-tls-verify"),
};
static const struct sl_table cluster_table = {SL_TABLE_FIELDS(cluster_fields)};
static const struct sl_field named_cluster_fields[] = {
    STRING(sl_named_cluster, name, "name"),
    OBJECT(cluster_table, "cluster"),
};
static const struct sl_table named_cluster_table = {SL_TABLE_FIELDS(named_cluster_fields)};

static const struct sl_field env_fields[] = {
    STRING(sl_named_env, name, "name"),
    STRING(sl_named_env, value, "value"),
};
static const struct sl_table env_table = {SL_TABLE_FIELDS(env_fields)};
static const struct sl_field exec_fields[] = {
    STRING(sl_named_user, exec_version, "apiVersion"),
    STRING(sl_named_user, exec_command, "command"),
    {SL_FIELD_NAME("args"), .kind = SL_FIELD_TEXTS, .max = ARGS_MAX, .value = add_arg},
    LIST(sl_named_user, exec_env, sl_named_env, env_table, "env"),
    STRING(sl_named_user, exec_interactive, "interactiveMode"),
    BOOL(sl_named_user, provide_cluster_info, "provideClusterInfo"),
};
static const struct sl_table exec_table = {SL_TABLE_FIELDS(exec_fields)};
static const struct sl_table no_table = {.field = NULL};
static const struct sl_field user_fields[] = {
    STRING(sl_named_user, cert_file, "client-certificate"),
    STRING(sl_named_user, cert_data, "client-certificate-data"),
    STRING(sl_named_user, key_file, "client-key"),
    STRING(sl_named_user, key_data, "client-key-data"),
    STRING(sl_named_user, token, "token"),
    STRING(sl_named_user, token_file, "tokenFile"),
    STRING(sl_named_user, username, "username"),
    STRING(sl_named_user, password, "password"),
    STRING(sl_named_user, impersonated, "as"),
    OBJECT(exec_table, "exec"),
    {SL_FIELD_NAME("auth-provider"), .kind = SL_FIELD_OBJECT, .table = &no_table,
     .open = note_auth_provider},
};
static const struct sl_table user_table = {SL_TABLE_FIELDS(user_fields)};
static const struct sl_field named_user_fields[] = {
    STRING(sl_named_user, name, "name"),
    OBJECT(user_table, "user"),
};
static const struct sl_table named_user_table = {SL_TABLE_FIELDS(named_user_fields)};

static const struct sl_field context_fields[] = {
    STRING(sl_named_context, cluster, "cluster"),
    STRING(sl_named_context, user, "user"),
    STRING(sl_named_context, namespace, "namespace"),
};
static const struct sl_table context_table = {SL_TABLE_FIELDS(context_fields)};
static const struct sl_field named_context_fields[] = {
    STRING(sl_named_context, name, "name"),
    OBJECT(context_table, "context"),
};
static const struct sl_table named_context_table = {SL_TABLE_FIELDS(named_context_fields)};

static const struct sl_field file_fields[] = {
    STRING(sl_kubeconfig, current, "current-context"),
    LIST(sl_kubeconfig, clusters, sl_named_cluster, named_cluster_table, "clusters"),
    LIST(sl_kubeconfig, users, sl_named_user, named_user_table, "users"),
    LIST(sl_kubeconfig, contexts, sl_named_context, named_context_table, "contexts"),
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

static int read_file(const char *path, struct sl_arena *arena, struct sl_kubeconfig *out,
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
    for (struct sl_named_cluster *c = out->clusters; c != NULL; c = c->next) {
        c->folder = folder;
    }
    for (struct sl_named_user *u = out->users; u != NULL; u = u->next) {
        u->folder = folder;
    }
    return 0;
}

/* Appends what a further file names; the first of a name is found first. */
static void add_file(struct sl_kubeconfig *all, const struct sl_kubeconfig *more)
{
    struct sl_named_cluster **cluster = &all->clusters;
    struct sl_named_user **user = &all->users;
    struct sl_named_context **context = &all->contexts;
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

/* As kubectl does, passes over those of several files that are not there. */
int sl_kubeconfig_read(const char *paths, struct sl_arena *arena, struct sl_kubeconfig *all,
                       struct sl_error *err)
{
    const char *at = paths;
    bool several = strchr(paths, ':') != NULL;
    bool any = false;
    while (*at != '\0') {
        const char *end = strchr(at, ':');
        size_t len = end == NULL ? strlen(at) : (size_t)(end - at);
        struct sl_kubeconfig one = {.clusters = NULL};
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
