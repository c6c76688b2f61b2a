/* CBP and PP, over one window. */
#include "sliced/harvest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double steady_below = 0.5;
static const double correlated_above = 0.35;

static int by_size(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static double mean_free(const int32_t *used, size_t n, int64_t total)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)(total - used[i]);
    }
    return sum / (double)n;
}

/* Sums the products of the free memory's distances from its mean, those of i and of i + lag. */
static double covariance(const int32_t *used, size_t n, int64_t total, size_t lag)
{
    double mean = mean_free(used, n, total);
    double sum = 0;
    for (size_t i = 0; i + lag < n; i++) {
        sum += ((double)(total - used[i]) - mean) * ((double)(total - used[i + lag]) - mean);
    }
    return sum;
}

/* The k-th smallest of n; the copy lives on the stack up to a usual window. */
static bool nth(const int32_t *used, size_t n, size_t k, int32_t *out)
{
    int32_t few[256];
    int32_t *sorted = n <= sizeof(few) / sizeof(few[0]) ? few : malloc(n * sizeof(*sorted));
    if (sorted == NULL) {
        return false;
    }
    memcpy(sorted, used, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_size);
    *out = sorted[k];
    if (sorted != few) {
        free(sorted);
    }
    return true;
}

bool sl_cbp_of(const int32_t *used_mib, size_t n, int64_t total_mib, struct sl_cbp *out)
{
    struct sl_cbp cbp = {.room_mib = -1};
    if (n < SL_HARVEST_SAMPLES_MIN || !nth(used_mib, n, n * 4 / 5, &cbp.used80_mib)) {
        return false;
    }
    double mean = mean_free(used_mib, n, total_mib);
    double deviation = sqrt(covariance(used_mib, n, total_mib, 0) / (double)n);
    cbp.variation = mean > 0 ? deviation / mean : INFINITY;
    if (cbp.variation < steady_below) {
        /* Not below 0: were a fifth of the samples at total_mib, they would vary by half the mean.
         */
        cbp.room_mib = total_mib - cbp.used80_mib;
    }
    *out = cbp;
    return true;
}

/* Fits free[i + lag] to free[i]. False when free[i] is the same throughout. */
static bool fit_line(const int32_t *used, size_t n, int64_t total, struct sl_pp *pp)
{
    size_t pairs = n - SL_HARVEST_LAG;
    double mean_x = mean_free(used, pairs, total);
    double mean_y = mean_free(used + SL_HARVEST_LAG, pairs, total);
    double above = 0;
    double below = 0;
    for (size_t i = 0; i < pairs; i++) {
        double x = (double)(total - used[i]) - mean_x;
        above += x * ((double)(total - used[i + SL_HARVEST_LAG]) - mean_y);
        below += x * x;
    }
    if (below <= 0) {
        return false;
    }
    pp->slope = above / below;
    pp->offset = mean_y - pp->slope * mean_x;
    return true;
}

bool sl_pp_of(const int32_t *used_mib, size_t n, int64_t total_mib, struct sl_pp *out)
{
    struct sl_pp pp = {.room_mib = -1};
    if (n < SL_HARVEST_SAMPLES_MIN) {
        return false;
    }
    double variance = covariance(used_mib, n, total_mib, 0);
    if (variance > 0) {
        pp.correlation = covariance(used_mib, n, total_mib, SL_HARVEST_LAG) / variance;
    }
    if (fit_line(used_mib, n, total_mib, &pp)) {
        pp.free_mib = pp.offset + pp.slope * (double)(total_mib - used_mib[n - 1]);
        if (pp.correlation > correlated_above) {
            pp.room_mib = pp.free_mib < 0                   ? 0
                          : pp.free_mib > (double)total_mib ? total_mib
                                                            : (int64_t)pp.free_mib;
        }
    }
    *out = pp;
    return true;
}
