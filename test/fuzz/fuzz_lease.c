/* Any JSON as the Lease that somebody wrote: what is made of it is a Lease that Kubernetes takes.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kube/lease/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_nomination(const json_t *old, const char *identity)
{
    const struct sl_lease_bid bid = {"ns",
                                     "sliced",
                                     identity,
                                     15,
                                     INT64_C(1763728689000000),
                                     "sliced.dev/tenants",
                                     {"tenants1 5\n", 11}};
    struct sl_buf out;
    char term[64];
    sl_buf_init(&out, 1 << 24);
    if (sl_lease_record_write(old, &bid, &out) == 0) {
        json_t *written = json_loadb(out.data, out.len, JSON_ALLOW_NUL, NULL);
        const json_t *spec = json_object_get(written, "spec");
        json_int_t transitions = json_integer_value(json_object_get(spec, "leaseTransitions"));
        check(written != NULL);
        check(strcmp(sl_lease_record_holder(written), identity) == 0);
        check(sl_lease_record_duration_us(written, 1) == 15000000);
        check(transitions >= 0 && transitions <= INT32_MAX);
        check(sl_lease_record_same(written, written));
        sl_lease_record_leadership(written, term, sizeof(term));
        json_decref(written);
    }
    sl_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *old = json_loadb((const char *)data, size, 0, NULL);
    if (json_is_object(old)) {
        int64_t us = sl_lease_record_duration_us(old, 7);
        check(us > 0 && us <= INT64_C(3600000000));
        check_nomination(old, "me");
        check_nomination(old, "");
    }
    json_decref(old);
    return 0;
}
