/* RFC 3339 times, as Kubernetes' objects have them. */
#ifndef SLICED_UTIL_TIMESTAMP_H
#define SLICED_UTIL_TIMESTAMP_H

#include "util/str.h"

/* Reads "2026-11-21T12:38:09Z", with a fraction or an offset too, as Unix microseconds. */
bool sl_time_parse(struct sl_str text, int64_t *out_us);

/* Writes Unix microseconds as "2026-11-21T12:38:09Z", with a fraction only where there is one. */
void sl_time_format(int64_t us, char out[32]);

#endif
