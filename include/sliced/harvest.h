/* Tells whether a GPU has memory for one more pod, by what its pods have used of late rather than
 * by what they asked for: the rules CBP and PP of Kube-Knots (Thinakaran et al., CLUSTER 2019), as
 * Ferikoglou et al. implemented them ("Resource Aware GPU Scheduling in Kubernetes Infrastructure",
 * PARMA-DITAM 2021). Pure functions of one window: a GPU's used memory in MiB, the oldest sample
 * first. */
#ifndef SLICED_HARVEST_H
#define SLICED_HARVEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SL_HARVEST_SAMPLES_MIN = 20, /* of a window; fewer decide nothing */
    SL_HARVEST_LAG = 10,         /* samples, of PP */
};

/* Correlation-based prediction: memory that moves little is given up to a high percentile of its
 * use. */
struct sl_cbp {
    double variation;   /* population standard deviation of the free memory, by its mean; INFINITY
                           when none was free on average */
    int32_t used80_mib; /* sorted(used)[floor(0.8 n)] */
    int64_t room_mib;   /* total less used80_mib, not below 0: the largest ask that is accepted; -1
                           when the variation is 0.5 and above */
};

/* Peak prediction: memory whose past tells its future is given up to what will be free one sample
 * ahead. */
struct sl_pp {
    double correlation; /* of the free memory with itself SL_HARVEST_LAG samples before; 0 when it
                           is the same throughout */
    double offset;      /* free[i + lag] = offset + slope * free[i], by least squares */
    double slope;
    double free_mib;  /* offset + slope * the last sample */
    int64_t room_mib; /* free_mib rounded down, 0 to total; -1 when the correlation is 0.35 and
                         below, or the window is flat */
};

/* Both return false, with *out untouched, for fewer than SL_HARVEST_SAMPLES_MIN samples. */
bool sl_cbp_of(const int32_t *used_mib, size_t n, int64_t total_mib, struct sl_cbp *out);
bool sl_pp_of(const int32_t *used_mib, size_t n, int64_t total_mib, struct sl_pp *out);

#endif
