/* Reservations and nominations. */
#ifndef SLICED_CLUSTER_STATE_RESERVATION_H
#define SLICED_CLUSTER_STATE_RESERVATION_H

#include <stdint.h>

#include "util/data/list.h"

struct sl_entry;
struct sl_pod;

/* Holds the pod as it will be once bound, while the entry holds the pod as it was, so that neither
 * commit nor rollback needs memory. A nomination is a reservation that does not expire and whose
 * pod goes on waiting. */
struct sl_reservation {
    struct sl_link link; /* in store->reservations or store->nominations */
    struct sl_entry *entry;
    struct sl_pod *bound;
    int64_t taken_us;
    int64_t expires_us;
    bool outdated; /* the pod was put anew since bound was made */
    bool nomination;
};

/* NULL: the list is empty. */
struct sl_reservation *sl_reservation_first(const struct sl_list *list);
/* Puts the reservation before those that expire later. */
void sl_reservation_add(struct sl_list *list, struct sl_reservation *reservation);

#endif
