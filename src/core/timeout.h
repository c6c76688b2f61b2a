/* Durations as the annotation sliced.dev/timeout spells them. */
#ifndef SLICED_CORE_TIMEOUT_H
#define SLICED_CORE_TIMEOUT_H

#include "util/str.h"

/* What spec.activeDeadlineSeconds may hold at most. */
enum { SL_TIMEOUT_MAX_S = INT32_MAX };

/* A Go duration ("1h30m", "2.5h", "500ms"), with days as well ("1d12h"; always 24 hours), or a
 * plain number of seconds ("90"), rounded up to whole seconds, 1 to SL_TIMEOUT_MAX_S. False (and
 * *out_s untouched) for anything else. */
bool sl_timeout_parse(struct sl_str text, int64_t *out_s);

#endif
