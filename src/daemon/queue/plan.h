/* One round of the queue. */
#ifndef SLICED_DAEMON_QUEUE_PLAN_H
#define SLICED_DAEMON_QUEUE_PLAN_H

#include <stdint.h>

struct sl_queue_worker;

/* Reads the mail, plans, and carries out the plan. Returns when the next round is due even without
 * mail, in the queue's time. */
int64_t sl_queue_round(struct sl_queue_worker *worker, int64_t now_us);

#endif
