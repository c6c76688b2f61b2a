/* What others want. */
#include "sim/demand.h"

#include <stdlib.h>

struct sl_sim_want {
    struct sl_demand_row row; /* its weight is waiting + recent */
};

static uint32_t want_for(struct sl_sim_demand *demand, const struct sl_job_ask *ask)
{
    struct sl_resource resource;
    size_t at = 0;
    (void)sl_resource_parse(sl_str_of(ask->resource), &resource);
    while (at < demand->n && demand->want[at].row.key != resource.key) {
        at++;
    }
    if (at == demand->n) {
        demand->want[demand->n++].row = (struct sl_demand_row){
            .key = resource.key, .kind = resource.kind, .shape = resource.shape};
    }
    return (uint32_t)at;
}

int sl_sim_demand_init(struct sl_sim_demand *demand, const struct sl_workload *workload,
                       struct sl_error *err)
{
    memset(demand, 0, sizeof(*demand));
    demand->want = calloc(workload->n_asks + 1, sizeof(*demand->want));
    demand->want_of = calloc(workload->n_asks + 1, sizeof(*demand->want_of));
    if (demand->want == NULL || demand->want_of == NULL) {
        return sl_error_nomem(err);
    }
    for (uint32_t i = 0; i < workload->n_asks; i++) {
        demand->want_of[i] = want_for(demand, &workload->ask[i]);
    }
    return 0;
}

void sl_sim_demand_free(struct sl_sim_demand *demand)
{
    free(demand->want);
    free(demand->want_of);
    demand->want = NULL;
    demand->want_of = NULL;
}

void sl_sim_demand_waits(struct sl_sim_demand *demand, uint32_t ask, int by)
{
    demand->want[demand->want_of[ask]].row.weight += by;
    demand->changed = true;
}

void sl_sim_demand_bound(struct sl_sim_demand *demand, uint32_t ask)
{
    uint32_t *slot = &demand->recent[demand->n_recent % SL_SIM_RECENT];
    if (demand->n_recent >= SL_SIM_RECENT) {
        demand->want[*slot].row.weight--;
    }
    *slot = demand->want_of[ask];
    demand->want[*slot].row.weight++;
    demand->n_recent++;
    demand->changed = true;
}

static bool before(const struct sl_demand_row *a, const struct sl_demand_row *b)
{
    return a->weight != b->weight ? a->weight > b->weight : a->key < b->key;
}

static void offer(struct sl_demand *top, const struct sl_demand_row *row)
{
    uint8_t at = top->n;
    if (top->n == SL_DEMAND_MAX && !before(row, &top->row[SL_DEMAND_MAX - 1])) {
        return;
    }
    at = top->n == SL_DEMAND_MAX ? SL_DEMAND_MAX - 1 : at;
    top->n = (uint8_t)(at + 1);
    for (; at > 0 && before(row, &top->row[at - 1]); at--) {
        top->row[at] = top->row[at - 1];
    }
    top->row[at] = *row;
}

const struct sl_demand *sl_sim_demand_top(struct sl_sim_demand *demand)
{
    if (!demand->changed) {
        return &demand->top;
    }
    demand->top.n = 0;
    for (size_t i = 0; i < demand->n; i++) {
        if (demand->want[i].row.weight > 0) {
            offer(&demand->top, &demand->want[i].row);
        }
    }
    demand->changed = false;
    return &demand->top;
}
