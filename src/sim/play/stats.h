/* Statistics of a run. */
#ifndef SLICED_SIM_STATS_H
#define SLICED_SIM_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Percentiles lie between the two nearest values where they fall between them: at rank
 * (n-1)*p/100, as NumPy does. */
struct sl_summary {
    double mean;
    double p50;
    double p95;
    double p99;
    double max;
};

/* Sorts values. All 0 when n is 0. */
void sl_summary_of(double *values, size_t n, struct sl_summary *out);

/* The percentile p (0..100) of sorted values; 0 when n is 0. */
double sl_percentile(const double *sorted, size_t n, double p);
void sl_sort(double *values, size_t n);

/* Jain's index of fairness, (sum x)^2 / (n * sum x^2): 1 when all are equal, 1/n when one has all.
 * 1 when n is 0. */
double sl_jain(const double *values, size_t n);

#endif
