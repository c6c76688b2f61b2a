/* Durations as the annotation sliced.dev/timeout spells them. */
#ifndef SLICED_TIMEOUT_H
#define SLICED_TIMEOUT_H

#include "util/str.h"

/* The largest spec.activeDeadlineSeconds. */
enum { SL_TIMEOUT_MAX_S = INT32_MAX };

/* Parses a Go duration ("1h30m", "2.5h", "500ms"), with days of 24 hours too ("1d12h"), or a number
 * of seconds ("90"). Rounds up to whole seconds, 1 to SL_TIMEOUT_MAX_S. False, with *out_s
 * untouched, for any other text. */
bool sl_timeout_parse(struct sl_str text, int64_t *out_s);

#endif
