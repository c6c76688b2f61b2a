/* Reads, now and then, which extended resources DeviceClasses offer, and tells the store. */
#ifndef SLICED_KUBE_DRA_CLASSES_H
#define SLICED_KUBE_DRA_CLASSES_H

#include "cluster/store.h"
#include "kube/client/client.h"

struct sl_dra_classes_options {
    struct sl_client *client;
    struct sl_store *store;
    int64_t every_us; /* from one reading to the next; a fourth of it after one that failed */
};

struct sl_dra_classes;

/* Starts the first reading. An API server without DeviceClasses (404) or which refuses to list them
 * (403) changes nothing; the latter is said once. NULL with *err set. */
struct sl_dra_classes *sl_dra_classes_start(const struct sl_dra_classes_options *options,
                                            struct sl_error *err);
/* After the client was freed, which ends readings and timers. NULL is allowed. */
void sl_dra_classes_stop(struct sl_dra_classes *classes);

#endif
