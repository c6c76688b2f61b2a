/* Checks whether a preemption makes room on real devices. */
#ifndef SLICED_PREEMPT_H
#define SLICED_PREEMPT_H

#include "sliced/fit.h"

/* victims[i] are UIDs of pods which kube-scheduler would end on this node. Returns 1 when the ask
 * fits without them; keep[i] is then true for each that must stay a victim. Victims whose devices
 * the ask does not need are spared, highest priority first, then the last started; no further
 * victim with devices could be. Victims without our resources stay, because kube-scheduler chose
 * them for its own reasons. When the ask fits beside all victims none is spared: they are victims
 * for another reason, such as CPU. A UID named twice has one answer. Returns 0 when the ask does
 * not fit even then: keep is all false, and verdict (may be NULL) tells what is missing. Returns -1
 * when out of memory. O((n + residents) log residents + n log n) steps, and a choice of devices for
 * each victim on this node. */
int sl_preempt(const struct sl_view *view, const struct sl_ask *ask, const struct sl_str *victims,
               size_t n, bool *keep, struct sl_verdict *verdict);

/* As sl_choose(), and leaves room for the n pods that kube-scheduler has nominated to the node
 * (status.nominatedNodeName): they are placed first, in their order, as if their victims were gone.
 * kube-scheduler does so for what it counts itself (RunFilterPluginsWithNominatedPods), but knows
 * no devices. */
bool sl_choose_beside(const struct sl_view *view, struct sl_pod *const *nominated, size_t n,
                      const struct sl_ask *ask, struct sl_assignment *assignment,
                      struct sl_verdict *verdict);

#endif
