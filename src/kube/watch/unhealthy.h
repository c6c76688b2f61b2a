/* Marks GPUs unhealthy that gpushare's ConfigMaps call so: of unhealthy-gpu-<node> the key "gpus"
 * lists indexes with commas between. Watches the ConfigMaps of one namespace and marks the devices
 * of the store's nodes. */
#ifndef SLICED_KUBE_UNHEALTHY_H
#define SLICED_KUBE_UNHEALTHY_H

#include "cluster/store.h"
#include "kube/watch/reflector.h"

struct sl_unhealthy;

struct sl_unhealthy_options {
    struct sl_client *client;
    struct sl_store *store;
    const char *namespace; /* "kube-system" */
    struct sl_reflector_times times;
};

struct sl_unhealthy *sl_unhealthy_start(const struct sl_unhealthy_options *options,
                                        struct sl_error *err);
/* The store is left alone from here on, with the marks that it has. As sl_reflector_stop. NULL is
 * allowed. */
void sl_unhealthy_stop(struct sl_unhealthy *unhealthy);

/* Gives the marks of a node that is about to be put, at most SL_NODE_DEVICES_MAX indexes. On the
 * client's thread. */
size_t sl_unhealthy_of(const struct sl_unhealthy *unhealthy, struct sl_str node,
                       int16_t index[SL_NODE_DEVICES_MAX]);

/* Says what is waited for; NULL once the first list was complete or refused. Any thread. */
const char *sl_unhealthy_missing(struct sl_unhealthy *unhealthy);

#endif
