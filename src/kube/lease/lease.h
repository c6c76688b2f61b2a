/* Leader election by a coordination.k8s.io/v1 Lease with client-go's semantics. The holder renews
 * every retry period, and stops leading when it could not renew for the renew deadline. Another
 * replica may take the lease once it has seen it unchanged for the lease duration by its own clock.
 */
#ifndef SLICED_KUBE_LEASE_H
#define SLICED_KUBE_LEASE_H

#include "kube/client/client.h"

enum { SL_LEASE_NOTE_MAX = 16 << 10 /* bytes */ };

struct sl_lease_options {
    struct sl_client *client;
    const char *namespace;
    const char *name;
    const char *identity;      /* unique: host name and a random part; at most 200 bytes */
    int64_t lease_duration_us; /* 15 s; the Lease says it in whole seconds, rounded up */
    int64_t renew_deadline_us; /* 10 s, < lease duration */
    int64_t retry_period_us;   /* 2 s, jittered by up to a fifth; < renew deadline / 1.2 */
    void (*changed)(void *context, bool leader); /* on the client's thread; may be NULL */
    /* A text that a leader leaves to the next one: an annotation of the Lease, of at most
     * SL_LEASE_NOTE_MAX bytes, which each renewal writes. NULL: there is none. */
    const char *note_key;
    /* Appends it; nothing: the annotation goes. False: it stays as it is. Called on the client's
     * thread while this replica leads, and must not wait. */
    bool (*note)(void *context, struct sl_buf *out);
    /* Tells what stood there when this replica took the lease, before changed(true); nothing of a
     * longer one. On the client's thread, even after sl_lease_stop. */
    void (*note_found)(void *context, struct sl_str note);
    void *context;
};

/* Text in options is copied, but for note_key. The lease must be stopped before its client is
 * freed. */
struct sl_lease;
struct sl_lease *sl_lease_start(const struct sl_lease_options *options, struct sl_error *err);

/* True while the lease is surely ours: last renewal's start + renew deadline is not past (monotonic
 * clock). Asked before every binding; any thread. Turns false by time alone. */
bool sl_lease_held(struct sl_lease *lease);

/* Names the holder as last seen; empty when nobody holds it, nothing was seen yet, or nothing new
 * for as long as the lease lasts. Any thread. */
void sl_lease_holder(struct sl_lease *lease, char *out, size_t size);

/* Names the holder's leadership as last seen: the text changes when another takes the lease, or the
 * same anew after it was given up. A leader that finds the name of its own last leadership knows
 * that nobody has led since. Any thread. */
void sl_lease_leadership(struct sl_lease *lease, char *out, size_t size);

/* Has sl_lease_stop leave the lease to run out by itself: something that was begun while it was
 * held may not be over. Any thread. */
void sl_lease_keep(struct sl_lease *lease);

/* Gives the lease up (holderIdentity "" and a duration of 1 s) when it is ours, after
 * changed(false) was told, and ends. Waits at most timeout_us. Nothing is told after it returns.
 * Not on the client's thread. NULL is allowed. */
void sl_lease_stop(struct sl_lease *lease, int64_t timeout_us);

#endif
