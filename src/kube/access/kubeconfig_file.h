/* Kubeconfig files as they stand: clusters, users and contexts by name. Private to kubeconfig.c. */
#ifndef SLICED_KUBE_KUBECONFIG_FILE_H
#define SLICED_KUBE_KUBECONFIG_FILE_H

#include "sliced/facts.h"
#include "util/data/arena.h"
#include "util/error.h"

struct sl_named_cluster {
    struct sl_str name;
    struct sl_str server;
    struct sl_str tls_server_name;
    struct sl_str proxy_url;
    struct sl_str ca_file;
    struct sl_str ca_data;
    bool insecure;
    const char *folder; /* of the file it stands in */
    struct sl_named_cluster *next;
};

struct sl_named_env {
    struct sl_str name;
    struct sl_str value;
    struct sl_named_env *next;
};

struct sl_named_user {
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
    struct sl_named_env *exec_env;
    struct sl_str exec_interactive;
    struct sl_str impersonated;
    bool provide_cluster_info;
    bool auth_provider;
    const char *folder;
    struct sl_named_user *next;
};

struct sl_named_context {
    struct sl_str name;
    struct sl_str cluster;
    struct sl_str user;
    struct sl_str namespace;
    struct sl_named_context *next;
};

/* One file, or several: the first of a name is found first. */
struct sl_kubeconfig {
    struct sl_str current;
    struct sl_named_cluster *clusters;
    struct sl_named_user *users;
    struct sl_named_context *contexts;
};

/* Reads the files, joined by ':', into *all, which is zeroed. Text lives in the arena. */
int sl_kubeconfig_read(const char *paths, struct sl_arena *arena, struct sl_kubeconfig *all,
                       struct sl_error *err);

#endif
