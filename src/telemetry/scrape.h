/* Reads the page of an exporter as it comes: Prometheus' text format, version 0.0.4. */
#ifndef SLICED_TELEMETRY_SCRAPE_H
#define SLICED_TELEMETRY_SCRAPE_H

#include "telemetry/prometheus/answer.h"

enum {
    SL_SCRAPE_LINE_MAX = 64 << 10, /* of a sample; what is longer is passed over */
    SL_SCRAPE_BYTES_MAX = 16 << 20,
};

struct sl_scrape;

/* Each sample is told as a series and its only sample. wanted: is the metric of that name asked
 * for? Of others nothing is read. NULL when out of memory. */
struct sl_scrape *sl_scrape_new(const struct sl_answer_options *options,
                                bool (*wanted)(void *context, const char *name));
void sl_scrape_free(struct sl_scrape *scrape); /* NULL is allowed */

/* Back to the beginning, for the next page. now_us: the time of samples that have none, Unix. */
void sl_scrape_reset(struct sl_scrape *scrape, int64_t now_us);

/* Takes a piece of any size: 0, or -1 with *err. */
int sl_scrape_feed(struct sl_scrape *scrape, const char *data, size_t len, struct sl_error *err);
/* The page has ended. -1 with *err: its last line is cut, or it tells of nothing that was asked
 * for. */
int sl_scrape_finish(struct sl_scrape *scrape, struct sl_error *err);

#endif
