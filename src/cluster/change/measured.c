/* Takes in what telemetry says of nodes. */
#include <stdlib.h>
#include <string.h>

#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"

static bool same(const struct sl_measured *a, const struct sl_measured *b)
{
    return a->pods == b->pods && a->room_mib == b->room_mib && a->reserve_mib == b->reserve_mib &&
           memcmp(a->known, b->known, sizeof(a->known)) == 0 && a->over_mib == b->over_mib &&
           a->held_mib == b->held_mib && memcmp(a->suffer, b->suffer, sizeof(a->suffer)) == 0 &&
           memcmp(a->seen, b->seen, sizeof(a->seen)) == 0 && a->used_mib == b->used_mib &&
           a->busy == b->busy && a->bandwidth == b->bandwidth && a->load == b->load &&
           a->settled == b->settled && a->apart == b->apart && a->by == b->by &&
           a->samples == b->samples && a->state == b->state;
}

static bool shows(const struct sl_host_entry *host, const struct sl_node_measured *node)
{
    bool equal = host->n_measured == node->n;
    for (size_t i = 0; equal && i < node->n; i++) {
        equal = same(&host->measured[i], &node->device[i]);
    }
    return equal;
}

/* False when out of memory. */
static bool take(struct sl_store *store, struct sl_host_entry *host,
                 const struct sl_node_measured *node)
{
    if (node->n > host->n_measured) {
        struct sl_measured *room = realloc(host->measured, node->n * sizeof(*room));
        if (room == NULL) {
            return false;
        }
        host->measured = room;
    }
    if (node->n > 0) {
        memcpy(host->measured, node->device, node->n * sizeof(*node->device));
    }
    host->n_measured = (uint32_t)node->n;
    sl_host_touch(store, host);
    store->generation++;
    store->dirty = true;
    return true;
}

int sl_store_put_measured(struct sl_store *store, const struct sl_node_measured *nodes, size_t n,
                          struct sl_error *err)
{
    bool taken = true;
    (void)pthread_mutex_lock(&store->lock);
    for (size_t i = 0; i < n && taken; i++) {
        struct sl_host_entry *host = sl_host_find(store, nodes[i].node);
        if (host != NULL && host->node != NULL && !shows(host, &nodes[i])) {
            taken = take(store, host, &nodes[i]);
        }
    }
    int rc = sl_store_settle(store) < 0 || !taken ? sl_error_nomem(err) : 0;
    (void)pthread_mutex_unlock(&store->lock);
    return rc;
}
