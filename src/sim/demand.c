/* What others want. */
#include "sim/demand.h"

#include <stdlib.h>

static struct sl_resource resource_of(const struct sl_job_ask *ask)
{
    struct sl_resource resource;
    (void)sl_resource_parse(sl_str_of(ask->resource), &resource);
    return resource;
}

static uint32_t want_resource(struct sl_sim_demand *demand, const struct sl_job_ask *ask)
{
    struct sl_resource resource = resource_of(ask);
    size_t at = 0;
    while (at < demand->n_resources && demand->want[at].row.key != resource.key) {
        at++;
    }
    if (at == demand->n_resources) {
        demand->want[at].row =
            (struct sl_demand_row){.key = resource.key,
                                   .kind = resource.kind,
                                   .shape = resource.shape,
                                   .rank = sl_rank_hash(ask->resource, strlen(ask->resource))};
        demand->n_resources++;
    }
    return (uint32_t)at;
}

/* Requests of memory do not tell sizes apart, so many asks can share a want. */
static int same_size(const void *a, const void *b)
{
    return sl_typical_compare(a, b);
}

static struct sl_typical typical_of(const struct sl_job_ask *ask)
{
    struct sl_resource resource = resource_of(ask);
    return (struct sl_typical){.key = resource.key,
                               .count = ask->count,
                               .cpu_milli = ask->cpu_milli,
                               .kind = resource.kind,
                               .rank = sl_rank_hash(ask->resource, strlen(ask->resource))};
}

/* The wants with a size: sorted, each once, behind those by resource. */
static int want_sizes(struct sl_sim_demand *demand, const struct sl_workload *workload)
{
    size_t n = workload->n_asks;
    struct sl_typical *sorted = calloc(n + 1, sizeof(*sorted));
    size_t unique = 0;
    if (sorted == NULL) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = typical_of(&workload->ask[i]);
    }
    qsort(sorted, n, sizeof(*sorted), same_size);
    for (size_t i = 0; i < n; i++) {
        if (unique == 0 || same_size(&sorted[unique - 1], &sorted[i]) != 0) {
            sorted[unique++] = sorted[i];
        }
    }
    for (size_t i = 0; i < unique; i++) {
        demand->want[demand->n_resources + i].typical = sorted[i];
    }
    demand->n = demand->n_resources + unique;
    for (size_t i = 0; i < n; i++) {
        struct sl_typical key = typical_of(&workload->ask[i]);
        const struct sl_typical *at = bsearch(&key, sorted, unique, sizeof(*sorted), same_size);
        demand->of[i].sized = (uint32_t)(demand->n_resources + (size_t)(at - sorted));
    }
    free(sorted);
    return 0;
}

int sl_sim_demand_init(struct sl_sim_demand *demand, const struct sl_workload *workload,
                       struct sl_error *err)
{
    memset(demand, 0, sizeof(*demand));
    demand->want = calloc(2 * (size_t)workload->n_asks + 1, sizeof(*demand->want));
    demand->of = calloc((size_t)workload->n_asks + 1, sizeof(*demand->of));
    if (demand->want == NULL || demand->of == NULL) {
        return sl_error_nomem(err);
    }
    for (uint32_t i = 0; i < workload->n_asks; i++) {
        demand->of[i].resource = want_resource(demand, &workload->ask[i]);
    }
    return want_sizes(demand, workload) < 0 ? sl_error_nomem(err) : 0;
}

void sl_sim_demand_free(struct sl_sim_demand *demand)
{
    free(demand->want);
    free(demand->of);
    demand->want = NULL;
    demand->of = NULL;
}

void sl_sim_demand_waits(struct sl_sim_demand *demand, uint32_t ask, int by)
{
    demand->want[demand->of[ask].resource].row.weight += by;
    demand->want[demand->of[ask].sized].typical.weight += by;
    demand->changed = true;
}

void sl_sim_demand_bound(struct sl_sim_demand *demand, uint32_t ask)
{
    uint32_t *slot = &demand->recent[demand->n_recent % SL_DEMAND_RECENT];
    if (demand->n_recent >= SL_DEMAND_RECENT) {
        sl_sim_demand_waits(demand, *slot, -1);
    }
    *slot = ask;
    demand->n_recent++;
    sl_sim_demand_waits(demand, ask, 1);
}

const struct sl_demand *sl_sim_demand_top(struct sl_sim_demand *demand)
{
    if (!demand->changed) {
        return &demand->top;
    }
    demand->top.n = 0;
    demand->top.n_typical = 0;
    for (size_t i = 0; i < demand->n_resources; i++) {
        sl_demand_offer(&demand->top, &demand->want[i].row);
    }
    for (size_t i = demand->n_resources; i < demand->n; i++) {
        sl_demand_offer_typical(&demand->top, &demand->want[i].typical);
    }
    demand->changed = false;
    return &demand->top;
}
