/* The Lease object as it was last seen, and what is written in its place. Private to lease.c. */
#ifndef SLICED_KUBE_LEASE_RECORD_H
#define SLICED_KUBE_LEASE_RECORD_H

#include <jansson.h>

#include "util/buf.h"

/* Borrowed text of spec.holderIdentity; "" when nobody holds it, or object is NULL. */
const char *sl_lease_record_holder(const json_t *object);

/* spec.leaseDurationSeconds in microseconds; otherwise when it is not said. */
int64_t sl_lease_record_duration_us(const json_t *object, int64_t otherwise_us);

/* Names who holds it since when: "HOLDER ACQUIRETIME TRANSITIONS", cut to size. */
void sl_lease_record_term(const json_t *object, char *out, size_t size);

/* Same holder, times, duration and transitions? */
bool sl_lease_record_same(const json_t *a, const json_t *b);

struct sl_lease_claim {
    const char *namespace;
    const char *name;
    const char *identity; /* "": the lease is given up */
    int64_t duration_s;
    int64_t now_us; /* Unix */
};

/* The object to write: old (NULL: a new one) with the claim. Everything else of old stays, its
 * resourceVersion above all, which lets the server refuse it when the object has changed since.
 * transitions go up when the holder was another. Appended to out; -1 when out of memory. */
int sl_lease_record_write(const json_t *old, const struct sl_lease_claim *claim,
                          struct sl_buf *out);

#endif
