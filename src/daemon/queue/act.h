/* Carries out a plan. With plan held. */
#ifndef SLICED_DAEMON_QUEUE_ACT_H
#define SLICED_DAEMON_QUEUE_ACT_H

#include "daemon/queue/entry.h"
#include "sliced/plan.h"

/* act for sl_planner_run; context is the worker. */
void sl_queue_act(void *context, const struct sl_plan_action *action);
/* Does the work that follows the plan. True: nominations failed, so that another plan is worth
 * while. */
bool sl_queue_follow_up(struct sl_queue_worker *worker, int64_t now_us);
void sl_queue_release_again(struct sl_queue_worker *worker);
/* The API server refused to release the pod, and says why: its nomination is over. */
void sl_queue_deny(struct sl_queue_worker *worker, struct sl_queue_entry *entry, const char *why,
                   int64_t now_us);
/* Notes, after a change of the pod or the end of its release, whether a nomination is to be
 * withdrawn. */
void sl_queue_note_nomination(struct sl_queue_worker *worker, struct sl_queue_entry *entry);

#endif
