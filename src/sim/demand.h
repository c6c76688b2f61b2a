/* What others want, as the daemon's store counts it for scores: the pods that wait and the binds of
 * late, by resource, and by resource and size. */
#ifndef SLICED_SIM_DEMAND_H
#define SLICED_SIM_DEMAND_H

#include "sim/workload.h"
#include "sliced/score.h"

struct sl_sim_want {
    struct sl_demand_row row;  /* its weight is waiting + recent */
    struct sl_typical typical; /* of a want with a size; else its weight alone counts */
};

struct sl_sim_demand {
    struct sl_demand top;
    struct sl_sim_want *want; /* by resource, and behind those by size */
    struct sl_sim_want_of {
        uint32_t resource; /* indexes of want */
        uint32_t sized;
    } * of; /* by ask of the workload */
    size_t n_resources;
    size_t n;
    uint32_t recent[SL_DEMAND_RECENT]; /* asks */
    size_t n_recent;                   /* binds so far */
    bool changed;
};

/* -1: out of memory. Free with sl_sim_demand_free, after a failure too. */
int sl_sim_demand_init(struct sl_sim_demand *demand, const struct sl_workload *workload,
                       struct sl_error *err);
void sl_sim_demand_free(struct sl_sim_demand *demand);

/* A job with that ask waits (1), or waits no more (-1). */
void sl_sim_demand_waits(struct sl_sim_demand *demand, uint32_t ask, int by);
void sl_sim_demand_bound(struct sl_sim_demand *demand, uint32_t ask);

/* What is wanted most, heaviest first. Valid until the next call. */
const struct sl_demand *sl_sim_demand_top(struct sl_sim_demand *demand);

#endif
