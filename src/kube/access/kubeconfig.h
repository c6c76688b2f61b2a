/* Says where the API server is and as whom to speak to it: from a kubeconfig file or the service
 * account of a pod. Credentials that change (token files, exec plugins) are only named here; auth.h
 * reads them when they are needed. */
#ifndef SLICED_KUBE_KUBECONFIG_H
#define SLICED_KUBE_KUBECONFIG_H

#include "util/data/arena.h"
#include "util/error.h"

/* An exec credential plugin (client.authentication.k8s.io/v1 and v1beta1). */
struct sl_kube_exec {
    const char *api_version; /* NULL: no plugin */
    const char *command;     /* relative ones with a '/' are relative to the kubeconfig's folder */
    const char **args;       /* NULL-terminated */
    const char **env;        /* "NAME=value", NULL-terminated, added to ours */
    bool provide_cluster_info;
};

/* All text lives in the arena it was read with; NULL where nothing was said. */
struct sl_kube_access {
    const char *server; /* "https://10.0.0.1:6443", no '/' at the end */
    const char *namespace;
    const char *tls_server_name;
    const char *proxy_url; /* proxy-url; NULL: as the environment says (HTTPS_PROXY, NO_PROXY) */
    const char *ca_file;
    struct sl_str ca_data; /* PEM, decoded */
    const char *cert_file;
    struct sl_str cert_data; /* PEM, decoded */
    const char *key_file;
    struct sl_str key_data; /* PEM, decoded */
    const char *token;
    const char *token_file; /* wins over token, as in client-go; re-read as it rotates */
    const char *username;
    const char *password;
    struct sl_kube_exec exec;
    bool insecure; /* insecure-skip-tls-verify */
};

/* Reads a kubeconfig; path may be several joined by ':' as in KUBECONFIG (first to name a thing
 * wins). context NULL: current-context. Relative file names are relative to the file that names
 * them. -1: *err with line, column and field ("users[0].user.token: found ..., expected a string").
 */
int sl_kubeconfig_load(const char *path, const char *context, struct sl_arena *arena,
                       struct sl_kube_access *out, struct sl_error *err);

/* The service account's files under root ("/var/run/secrets/kubernetes.io/serviceaccount") and the
 * environment's KUBERNETES_SERVICE_HOST and _PORT, given as arguments (NULL: not in a cluster,
 * SL_ERR_NOTFOUND). */
int sl_kube_in_cluster(const char *root, const char *host, const char *port, struct sl_arena *arena,
                       struct sl_kube_access *out, struct sl_error *err);

#endif
