/* Leader election by a coordination.k8s.io/v1 Lease with client-go's semantics: the holder renews
 * every retry period; who cannot renew for the renew deadline stops leading; another may take the
 * lease only when it has seen it unchanged for the lease duration by its own clock. */
#ifndef SLICED_KUBE_LEASE_H
#define SLICED_KUBE_LEASE_H

#include "kube/client.h"

struct sl_lease_options {
    struct sl_client *client;
    const char *namespace;
    const char *name;
    const char *identity;                        /* unique: host name and a random part */
    int64_t lease_duration_us;                   /* 15 s */
    int64_t renew_deadline_us;                   /* 10 s, < lease duration */
    int64_t retry_period_us;                     /* 2 s, jittered by up to a fifth */
    void (*changed)(void *context, bool leader); /* on the client's thread */
    void *context;
};

struct sl_lease;
struct sl_lease *sl_lease_start(const struct sl_lease_options *options, struct sl_error *err);

/* True while the lease is surely ours: last renewal's start + renew deadline is not past (monotonic
 * clock). Asked before every binding; any thread. */
bool sl_lease_held(struct sl_lease *lease);

/* Seconds-free view for /api/v1/state: who holds it, as last seen. */
void sl_lease_holder(struct sl_lease *lease, char *out, size_t size);

/* Gives the lease up (holderIdentity "" and a duration of 1 s) when it is ours, and ends. Waits at
 * most timeout_us. Not on the client's thread. */
void sl_lease_stop(struct sl_lease *lease, int64_t timeout_us);

#endif
