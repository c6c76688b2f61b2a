/* Taking devices for a pod: all or nothing. */
#include "cluster/bind/take.h"

#include <stdlib.h>

#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"
#include "util/data/sat.h"

static struct sl_reservation *reservation_new(struct sl_store *store, struct sl_entry *entry,
                                              const struct sl_host_entry *host,
                                              const char *assignment, bool nomination)
{
    struct sl_reservation *reservation = calloc(1, sizeof(*reservation));
    if (reservation == NULL) {
        return NULL;
    }
    const struct sl_pod *pod = entry->state.pod;
    reservation->entry = entry;
    reservation->bound = sl_pod_bound_to(pod, host->name, assignment, pod->phase);
    if (reservation->bound == NULL) {
        free(reservation);
        return NULL;
    }
    reservation->nomination = nomination;
    reservation->bound->set_aside = nomination;            /* nobody else has seen it yet */
    (void)sl_wants_pin(&store->wants, reservation->bound); /* the pod's own pin has made the rows */
    return reservation;
}

/* -1: out of memory, nothing is changed. */
static int reservation_take(struct sl_store *store, struct sl_entry *entry,
                            struct sl_host_entry *host, struct sl_reservation *reservation)
{
    const struct sl_state old = entry->state;
    const struct sl_state next = {old.pod, reservation, host};
    uint64_t generation = store->generation;
    sl_entry_apply(store, entry, &next);
    if (sl_store_settle(store) < 0) {
        sl_entry_apply(store, entry, &old);
        store->generation = generation;
        sl_state_drop(store, &next, &old);
        return -1;
    }
    sl_state_drop(store, &old, &next);
    return 0;
}

bool sl_bind_take(struct sl_store *store, struct sl_entry *entry, struct sl_host_entry *host,
                  bool nomination, int64_t now_us, struct sl_bind_result *result)
{
    struct sl_reservation *reservation =
        reservation_new(store, entry, host, result->assignment, nomination);
    bool had_nomination = sl_state_nominated(&entry->state);
    if (reservation != NULL) {
        reservation->taken_us = now_us;
        reservation->expires_us = sl_sat_add(now_us, store->limits.reservation_us);
    }
    if (reservation == NULL || reservation_take(store, entry, host, reservation) < 0) {
        result->assignment[0] = '\0';
        sl_refuse_memory(result);
        return false;
    }
    result->code = SL_BIND_RESERVED;
    result->nominated = had_nomination;
    return true;
}

struct sl_host_entry *sl_bind_host(struct sl_store *store, const struct sl_bind *bind,
                                   struct sl_bind_result *result)
{
    struct sl_host_entry *host = sl_host_find(store, bind->node);
    if (host == NULL || host->node == NULL) {
        sl_refuse_node(result, SL_BIND_UNKNOWN_NODE, bind, " is not known");
        return NULL;
    }
    if (sl_host_refresh(store, host) < 0) {
        sl_refuse_memory(result);
        return NULL;
    }
    return host;
}
