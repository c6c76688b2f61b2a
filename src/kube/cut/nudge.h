/* Has the kubelet bring the volumes of the mig-manager's pod on a node up to date now, not within
 * its next minute or so: a change of a pod's annotation makes it sync that pod. Nobody waits for
 * it, and nobody is told if it fails: it saves time, and no more. Private to this room. */
#ifndef SLICED_KUBE_CUT_NUDGE_H
#define SLICED_KUBE_CUT_NUDGE_H

#include "kube/client/client.h"

/* namespace: of the mig-manager, the only one looked in, as anybody may label a pod elsewhere.
 * try_us: of each of its two calls. Any thread. */
void sl_nudge(struct sl_client *client, struct sl_str namespace, struct sl_str node,
              int64_t try_us);

#endif
