/* Counted references to the configuration in force. */
#include "server/http/live.h"

#include <stdlib.h>

static struct sl_live *live_new(const struct sl_config *config, uint64_t serial)
{
    struct sl_live *live = malloc(sizeof(*live));
    if (live != NULL) {
        live->config = *config;
        live->serial = serial;
        atomic_init(&live->refs, 1);
    }
    return live;
}

void sl_live_release(const struct sl_live *live)
{
    struct sl_live *own = (struct sl_live *)live; /* const for readers; the count is not */
    if (own != NULL && atomic_fetch_sub(&own->refs, 1) == 1) {
        free(own);
    }
}

int sl_live_init(struct sl_live_slot *slot, const struct sl_config *config, struct sl_error *err)
{
    slot->live = live_new(config, 1);
    if (slot->live == NULL) {
        return sl_error_nomem(err);
    }
    (void)pthread_mutex_init(&slot->lock, NULL);
    return 0;
}

void sl_live_free(struct sl_live_slot *slot)
{
    sl_live_release(slot->live);
    (void)pthread_mutex_destroy(&slot->lock);
}

const struct sl_live *sl_live_acquire(struct sl_live_slot *slot)
{
    (void)pthread_mutex_lock(&slot->lock);
    struct sl_live *live = slot->live;
    (void)atomic_fetch_add(&live->refs, 1);
    (void)pthread_mutex_unlock(&slot->lock);
    return live;
}

int sl_live_replace(struct sl_live_slot *slot, const struct sl_config *config, struct sl_error *err)
{
    (void)pthread_mutex_lock(&slot->lock);
    struct sl_live *old = slot->live;
    struct sl_live *fresh = live_new(config, old->serial + 1);
    slot->live = fresh != NULL ? fresh : old;
    (void)pthread_mutex_unlock(&slot->lock);
    if (fresh == NULL) {
        return sl_error_nomem(err);
    }
    sl_live_release(old);
    return 0;
}
