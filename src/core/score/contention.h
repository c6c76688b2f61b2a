/* Private to score: the term contention. */
#ifndef SLICED_CORE_CONTENTION_H
#define SLICED_CORE_CONTENTION_H

#include "sliced/score.h"

/* The term for an ask that fits, 0..100 or SL_SCORE_UNKNOWN. */
int32_t sl_contention_of(const struct sl_view *view, const struct sl_ask *ask);

#endif
