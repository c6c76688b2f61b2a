/* The queue's time: Unix microseconds. */
#ifndef SLICED_DAEMON_QUEUE_CLOCK_H
#define SLICED_DAEMON_QUEUE_CLOCK_H

#include <stdint.h>

struct sl_queue_worker;

/* The time of the last round, plus the time since on the monotonic clock. With plan held. */
int64_t sl_queue_now(const struct sl_queue_worker *worker, int64_t monotonic_ns);
/* The time of a round that begins now. It follows the wall clock; when that is set, the queue's
 * deadlines move by as much. */
int64_t sl_queue_follow_clock(struct sl_queue_worker *worker, int64_t real_us,
                              int64_t monotonic_ns);

/* Returns the processor time of this thread in microseconds. It measures a rest better than elapsed
 * time does: other processes may use the machine. */
int64_t sl_queue_cpu_us(void);

#endif
