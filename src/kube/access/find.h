/* Finds the access to the API server in the usual places, in the usual order. */
#ifndef SLICED_KUBE_FIND_H
#define SLICED_KUBE_FIND_H

#include "kube/access/kubeconfig.h"

/* Options and environment; NULL or empty: not set. */
struct sl_access_places {
    const char *kubeconfig; /* --kubeconfig, else kubernetes.kubeconfig */
    const char *context;    /* --context, else kubernetes.context */
    const char *env;        /* $KUBECONFIG */
    const char *home;       /* $HOME */
    const char *host;       /* $KUBERNETES_SERVICE_HOST */
    const char *port;       /* $KUBERNETES_SERVICE_PORT */
    const char *account;    /* folder of the pod's service account */
};

enum { SL_ACCESS_FROM_MAX = 300 };

/* Fills in the members that come from the environment. */
void sl_access_environment(struct sl_access_places *places);

/* Finds the first of: the named file, $KUBECONFIG, the service account, ~/.kube/config. Only the
 * last may be missing; a named file must be valid. Writes the place to from, for people. -1: *err
 * says what is wrong, or which places were tried. */
int sl_access_find(const struct sl_access_places *places, struct sl_arena *arena,
                   struct sl_kube_access *out, char from[SL_ACCESS_FROM_MAX], struct sl_error *err);

#endif
