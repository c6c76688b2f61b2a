/* Reads the Lease object, and makes the one to write in its place. Private to lease.c. */
#ifndef SLICED_KUBE_LEASE_RECORD_H
#define SLICED_KUBE_LEASE_RECORD_H

#include <jansson.h>

#include "util/buf.h"
#include "util/str.h"

/* Borrowed text of spec.holderIdentity; "" when nobody holds it, or object is NULL. */
const char *sl_lease_record_holder(const json_t *object);

/* spec.leaseDurationSeconds in microseconds; otherwise_us when there is none, or none that is sane.
 */
int64_t sl_lease_record_duration_us(const json_t *object, int64_t otherwise_us);

/* Names the holder's leadership: "HOLDER ACQUIRETIME TRANSITIONS", cut to size. */
void sl_lease_record_leadership(const json_t *object, char *out, size_t size);

/* Borrowed value of the annotation; NULL: there is none. */
struct sl_str sl_lease_record_note(const json_t *object, const char *key);

/* True when holder, times, duration and transitions are the same. */
bool sl_lease_record_same(const json_t *a, const json_t *b);

struct sl_lease_bid {
    const char *namespace;
    const char *name;
    const char *identity; /* "": the lease is given up */
    int64_t duration_s;
    int64_t now_us;       /* Unix */
    const char *note_key; /* NULL: annotations stay as they are */
    struct sl_str note;   /* empty: the annotation goes */
};

/* Appends the object to write: old (NULL: a new one) with the bid. All else of old stays, above all
 * its resourceVersion, by which the server refuses it when the object has changed since. The
 * transitions go up when another was the holder. -1 when out of memory. */
int sl_lease_record_write(const json_t *old, const struct sl_lease_bid *bid, struct sl_buf *out);

#endif
