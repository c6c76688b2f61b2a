/* A bound on the mean wait by Lagrange's relaxation. Memory slices get a price in each second; each
 * job alone chooses the start whose wait and price are least. What that costs, less the price of
 * all slices that there are, is at any prices at most what the best way waits. It counts slices
 * alone: nothing is cut, and they need not lie together. */
#include <stdlib.h>

#include "evidence/days/day.h"
#include "util/time.h"

enum { PRICED_S = 1000, ROUNDS = 400, LONGEST_S = 200, SLICES = 8 };

#define FIRST_STEP 0.002
#define SLOWER     20.0 /* the step is half as long after so many rounds */

struct prices {
    double at[PRICED_S + LONGEST_S]; /* 0 from PRICED_S on */
    double before[PRICED_S + LONGEST_S + 1];
    double used[PRICED_S + LONGEST_S]; /* slices, by the starts chosen */
};

/* Chooses the job's start, at PRICED_S at the latest. Returns what it costs. */
static double job_choose(struct prices *prices, double slices, int submit_s, int run_s)
{
    double least = PRICED_S - submit_s;
    int best = PRICED_S;
    for (int at = submit_s; at < PRICED_S && at - submit_s < least; at++) {
        double cost = at - submit_s + slices * (prices->before[at + run_s] - prices->before[at]);
        if (cost < least) {
            least = cost;
            best = at;
        }
    }
    for (int t = best; t < best + run_s; t++) {
        prices->used[t] += slices;
    }
    return least;
}

static double jobs_choose(struct prices *prices, const struct sl_workload *jobs)
{
    double sum = 0;
    for (unsigned t = 0; t < PRICED_S + LONGEST_S; t++) {
        prices->before[t + 1] = prices->before[t] + prices->at[t];
        prices->used[t] = 0;
    }
    for (size_t i = 0; i < jobs->n; i++) {
        const struct sl_job *job = &jobs->job[i];
        const struct sl_day_kind *kind = sl_day_kind_of(jobs->ask[job->ask].resource);
        sum += job_choose(prices, kind->memory, (int)(job->submit_us / SL_SECOND_US),
                          (int)(job->run_us / SL_SECOND_US));
    }
    return sum;
}

int sl_day_bound(int gpus, const struct sl_workload *jobs, double *wait, struct sl_error *err)
{
    const double has = SLICES * gpus;
    struct prices *prices = calloc(1, sizeof(*prices));
    *wait = 0;
    if (prices == NULL) {
        return sl_error_nomem(err);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        double bound = jobs_choose(prices, jobs);
        bound = (bound - has * prices->before[PRICED_S]) / (double)jobs->n;
        *wait = bound > *wait ? bound : *wait;
        for (unsigned t = 0; t < PRICED_S; t++) {
            double more = FIRST_STEP / (1 + round / SLOWER) * (prices->used[t] - has);
            prices->at[t] = prices->at[t] + more > 0 ? prices->at[t] + more : 0;
        }
    }
    free(prices);
    return 0;
}
