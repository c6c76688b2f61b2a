/* Statistics of a run. */
#include "sim/play/stats.h"

#include <stdlib.h>

static int compare_ascending(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

void sl_sort(double *values, size_t n)
{
    if (n > 1) {
        qsort(values, n, sizeof(*values), compare_ascending);
    }
}

double sl_percentile(const double *sorted, size_t n, double p)
{
    if (n == 0) {
        return 0;
    }
    double rank = (double)(n - 1) * p / 100;
    size_t low = (size_t)rank;
    if (low + 1 >= n) {
        return sorted[n - 1];
    }
    double part = rank - (double)low;
    return sorted[low] + (sorted[low + 1] - sorted[low]) * part;
}

void sl_summary_of(double *values, size_t n, struct sl_summary *out)
{
    double sum = 0;
    sl_sort(values, n); /* the sum of sorted values does not depend on the order they came in */
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    out->mean = n > 0 ? sum / (double)n : 0;
    out->p50 = sl_percentile(values, n, 50);
    out->p95 = sl_percentile(values, n, 95);
    out->p99 = sl_percentile(values, n, 99);
    out->max = n > 0 ? values[n - 1] : 0;
}

double sl_jain(const double *values, size_t n)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    return squares > 0 ? sum * sum / ((double)n * squares) : 1;
}
