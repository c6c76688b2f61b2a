/* Access to the API server. */
#include "kube/access/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HOME_PATH_MAX = 4096 };

void sl_access_environment(struct sl_access_places *places)
{
    /* before the first thread is made */
    places->env = getenv("KUBECONFIG");               // NOLINT(concurrency-mt-unsafe)
    places->home = getenv("HOME");                    // NOLINT(concurrency-mt-unsafe)
    places->host = getenv("KUBERNETES_SERVICE_HOST"); // NOLINT(concurrency-mt-unsafe)
    places->port = getenv("KUBERNETES_SERVICE_PORT"); // NOLINT(concurrency-mt-unsafe)
    places->account = "/var/run/secrets/kubernetes.io/serviceaccount";
}

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static int kubeconfig_load(const char *path, const struct sl_access_places *places,
                           struct sl_arena *arena, struct sl_kube_access *out,
                           char from[SL_ACCESS_FROM_MAX], struct sl_error *err)
{
    static const char before[] = "kubeconfig ";
    const int room = (int)(SL_ACCESS_FROM_MAX - sizeof(before)); /* a longer path is cut */
    (void)snprintf(from, SL_ACCESS_FROM_MAX, "%s%.*s", before, room, path);
    return sl_kubeconfig_load(path, is_given(places->context) ? places->context : NULL, arena, out,
                              err);
}

int sl_access_find(const struct sl_access_places *places, struct sl_arena *arena,
                   struct sl_kube_access *out, char from[SL_ACCESS_FROM_MAX], struct sl_error *err)
{
    char path[HOME_PATH_MAX];
    if (is_given(places->kubeconfig)) {
        return kubeconfig_load(places->kubeconfig, places, arena, out, from, err);
    }
    if (is_given(places->env)) {
        return kubeconfig_load(places->env, places, arena, out, from, err) < 0
                   ? sl_error_wrap(err, "KUBECONFIG")
                   : 0;
    }
    if (is_given(places->host) && !is_given(places->context)) {
        (void)snprintf(from, SL_ACCESS_FROM_MAX, "the pod's service account");
        return sl_kube_in_cluster(places->account, places->host, places->port, arena, out, err);
    }
    (void)snprintf(path, sizeof(path), "%s/.kube/config",
                   is_given(places->home) ? places->home : "");
    if (is_given(places->home) && access(path, F_OK) == 0) {
        return kubeconfig_load(path, places, arena, out, from, err);
    }
    return sl_error_set(
        err, SL_ERR_NOTFOUND,
        "no access to an API server: there is no --kubeconfig and no kubernetes.kubeconfig, "
        "KUBECONFIG is not set, this is no pod with a service account (KUBERNETES_SERVICE_HOST%s), "
        "and there is no %s",
        is_given(places->host) ? " is set, but a context was asked for" : " is not set",
        is_given(places->home) ? path : "~/.kube/config, as HOME is not set");
}
