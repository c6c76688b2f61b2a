/* The configuration in force. A request keeps to its end the one that it began with. */
#ifndef SLICED_SERVER_LIVE_H
#define SLICED_SERVER_LIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "config/config.h"

/* Immutable; counted references. */
struct sl_live {
    struct sl_config config;
    uint64_t serial; /* 1 at the start; goes up with every reload */
    _Atomic unsigned refs;
};

/* Where it is found; any thread. */
struct sl_live_slot {
    pthread_mutex_t lock; /* held for a few instructions */
    struct sl_live *live;
};

/* Copies the configuration. -1 with *err set when out of memory: there is nothing to free then. */
int sl_live_init(struct sl_live_slot *slot, const struct sl_config *config, struct sl_error *err);
/* Lets go of the slot's own reference. */
void sl_live_free(struct sl_live_slot *slot);

/* New reference. */
const struct sl_live *sl_live_acquire(struct sl_live_slot *slot);
void sl_live_release(const struct sl_live *live);

/* Puts another one in force for who acquires it from now on. -1 with *err set when out of memory:
 * the old one stays. */
int sl_live_replace(struct sl_live_slot *slot, const struct sl_config *config,
                    struct sl_error *err);

#endif
