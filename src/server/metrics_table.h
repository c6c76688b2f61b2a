/* Tables that counting and the text form share; private to the metrics. */
#ifndef SLICED_SERVER_METRICS_TABLE_H
#define SLICED_SERVER_METRICS_TABLE_H

#include "server/metrics.h"

/* HTTP codes that are counted one by one; 599 stands for all others, 0 for no answer at all. */
extern const unsigned sl_metric_codes[SL_METRIC_CODES];
/* Upper bounds of the histograms' buckets in nanoseconds. */
extern const int64_t sl_metric_bounds[SL_METRIC_BUCKETS];

#endif
