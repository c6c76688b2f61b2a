/* Any bytes as a quantity: what is accepted keeps its invariants and survives being printed. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sliced/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* "-0.000000005" and the like parse back to the same value. */
static void check_round_trip(struct sl_quantity q)
{
    char text[48];
    bool negative = q.whole < 0 || q.nano < 0;
    int n = snprintf(text, sizeof(text), "%s%" PRId64 ".%09" PRId32, negative ? "-" : "",
                     negative ? -q.whole : q.whole, negative ? -q.nano : q.nano);
    struct sl_quantity again;
    check(sl_quantity_parse(text, (size_t)n, &again) == SL_QUANTITY_OK);
    check(sl_quantity_cmp(q, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_quantity q = {1, -1};
    enum sl_quantity_result result = sl_quantity_parse((const char *)data, size, &q);
    if (result != SL_QUANTITY_OK) {
        check(q.whole == 1 && q.nano == -1);
        return 0;
    }
    check(q.whole >= -INT64_MAX && q.nano > -1000000000 && q.nano < 1000000000);
    check(!(q.whole > 0 && q.nano < 0) && !(q.whole < 0 && q.nano > 0));
    check_round_trip(q);

    int64_t value = 0;
    check(sl_quantity_ceil(q, &value) == SL_QUANTITY_OK);
    check((value == q.whole) == sl_quantity_is_integer(q));
    int64_t milli = 0;
    if (sl_quantity_milli(q, &milli) == SL_QUANTITY_OK) {
        check(milli / 1000 == q.whole || milli / 1000 == value);
    }
    return 0;
}
