/* Which resources DeviceClasses offer. */
#include "sliced/dra.h"

bool sl_dra_offers(const struct sl_dra *dra, uint64_t key)
{
    for (uint32_t i = 0; i < dra->n; i++) {
        if (dra->key[i] == key) {
            return true;
        }
    }
    return false;
}

void sl_dra_add(struct sl_dra *dra, struct sl_str resource)
{
    struct sl_resource parsed;
    if (dra->n < SL_DRA_MAX && sl_resource_parse(resource, &parsed) && !parsed.inventory &&
        !sl_dra_offers(dra, parsed.key)) {
        dra->key[dra->n] = parsed.key;
        dra->n++;
    }
}

bool sl_dra_same(const struct sl_dra *a, const struct sl_dra *b)
{
    return a->n == b->n && memcmp(a->key, b->key, a->n * sizeof(a->key[0])) == 0;
}
