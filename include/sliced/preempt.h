/* Would the victims' going really make room, on real devices? */
#ifndef SLICED_PREEMPT_H
#define SLICED_PREEMPT_H

#include "sliced/fit.h"

/* victims[i] are UIDs that kube-scheduler would end on this node. 1 when the ask fits without them;
 * keep[i] then says which must go: a victim that holds devices nobody needs is spared, highest
 * priority first, then the one that started last; one that holds nothing of ours is kept, because
 * the scheduler chose it for reasons of its own. None of those kept that hold something could be
 * spared; a UID named twice has one answer. Where the ask fits beside all of them nobody is spared:
 * they were chosen for another reason, cpu say. On 0 keep is all false and verdict (may be NULL)
 * says what is missing even then. -1 when out of memory. O((n + residents) log residents + n log n)
 * steps, and a choice of devices for each victim that runs here. */
int sl_preempt(const struct sl_view *view, const struct sl_ask *ask, const struct sl_str *victims,
               size_t n, bool *keep, struct sl_verdict *verdict);

#endif
