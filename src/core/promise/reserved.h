/* Reserved starts in a mixed lane: the first pods in line each have a node and a time. Another pod
 * may start where those that give way get others in time (conservative backfill: Mu'alem and
 * Feitelson, 2001). */
#ifndef SLICED_CORE_PROMISE_RESERVED_H
#define SLICED_CORE_PROMISE_RESERVED_H

#include "core/promise/mixed.h"

/* Tells that a waiting pod starts, before it counts as running, and then on which node. */
void sl_reserved_starts(struct sl_promise *promise, struct sl_promise_member *member);
void sl_reserved_placed(struct sl_promise *promise, struct sl_promise_member *member);
/* May it start now on the node (0: on any) ? */
bool sl_reserved_admits(struct sl_promise *promise, struct sl_promise_member *member,
                        uint64_t node);
/* Has its reserved start come? */
bool sl_reserved_is_due(struct sl_promise *promise, const struct sl_promise_member *member);
/* As sl_promise_spares. */
bool sl_reserved_spares(struct sl_promise *promise, const struct sl_promise_idle *idle, size_t n);

#endif
