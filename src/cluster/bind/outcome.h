/* How reservations end. */
#ifndef SLICED_CLUSTER_BIND_OUTCOME_H
#define SLICED_CLUSTER_BIND_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

struct sl_store;

/* Rolls back expired reservations, unless expiry is held; returns how many. Publishes nothing. */
size_t sl_ledger_expire(struct sl_store *store, int64_t now_us);

#endif
