/* The heaviest of what others want: for who counts it, the store and the simulator alike. */
#include "sliced/score.h"

static bool before(const struct sl_demand_row *a, const struct sl_demand_row *b)
{
    if (a->weight != b->weight) {
        return a->weight > b->weight;
    }
    return a->rank != b->rank ? a->rank < b->rank : a->key < b->key;
}

void sl_demand_offer(struct sl_demand *demand, const struct sl_demand_row *row)
{
    uint8_t at = demand->n;
    if (row->weight <= 0 ||
        (at == SL_DEMAND_MAX && !before(row, &demand->row[SL_DEMAND_MAX - 1]))) {
        return;
    }
    at = at == SL_DEMAND_MAX ? SL_DEMAND_MAX - 1 : at;
    demand->n = (uint8_t)(at + 1);
    for (; at > 0 && before(row, &demand->row[at - 1]); at--) {
        demand->row[at] = demand->row[at - 1];
    }
    demand->row[at] = *row;
}

int sl_typical_compare(const struct sl_typical *a, const struct sl_typical *b)
{
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    if (a->count != b->count) {
        return a->count < b->count ? -1 : 1;
    }
    return (a->cpu_milli > b->cpu_milli) - (a->cpu_milli < b->cpu_milli);
}

static bool typical_before(const struct sl_typical *a, const struct sl_typical *b)
{
    return a->weight != b->weight ? a->weight > b->weight : sl_typical_compare(a, b) < 0;
}

void sl_demand_offer_typical(struct sl_demand *demand, const struct sl_typical *typical)
{
    uint8_t at = demand->n_typical;
    if (typical->weight <= 0 || typical->kind == SL_KIND_MIG ||
        (at == SL_TYPICAL_MAX && !typical_before(typical, &demand->typical[SL_TYPICAL_MAX - 1]))) {
        return;
    }
    at = at == SL_TYPICAL_MAX ? SL_TYPICAL_MAX - 1 : at;
    demand->n_typical = (uint8_t)(at + 1);
    for (; at > 0 && typical_before(typical, &demand->typical[at - 1]); at--) {
        demand->typical[at] = demand->typical[at - 1];
    }
    demand->typical[at] = *typical;
}
