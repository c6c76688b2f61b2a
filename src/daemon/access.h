/* Where the access to the API server comes from: the order in which the usual places are tried. */
#ifndef SLICED_DAEMON_ACCESS_H
#define SLICED_DAEMON_ACCESS_H

#include "kube/kubeconfig.h"

/* What was said, and what the process finds around it; NULL or empty where there is nothing. */
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

/* Fills in from the environment what belongs to it. */
void sl_access_environment(struct sl_access_places *places);

/* The first of: the named file, $KUBECONFIG, the service account, ~/.kube/config. What was named
 * must be right: only the last one may be missing. from gets where it was found, for people. -1:
 * *err says what is wrong, or all that was tried. */
int sl_access_find(const struct sl_access_places *places, struct sl_arena *arena,
                   struct sl_kube_access *out, char from[SL_ACCESS_FROM_MAX], struct sl_error *err);

#endif
