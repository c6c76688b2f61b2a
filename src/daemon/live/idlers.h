/* Tells the owners of pods that hold GPUs and do nothing with them, or use more memory of them than
 * they declare: once for each such time. Where that is wanted, it ends pods which state a timeout
 * and still idle after that. */
#ifndef SLICED_DAEMON_LIVE_IDLERS_H
#define SLICED_DAEMON_LIVE_IDLERS_H

#include "kube/write/events.h"
#include "sliced/usage.h"

struct sl_idlers;

struct sl_idlers_options {
    /* False: the note was not accepted; it is told again. */
    bool (*tell)(void *context, const struct sl_event_note *note);
    /* Has the pod ended now, by its deadline. */
    void (*end)(void *context, const struct sl_pod *pod, int64_t now_us);
    void *context;
    int64_t idle_us;     /* telemetry.idleAfter */
    int64_t deadline_us; /* telemetry.idleDeadline; 0: no pod is ended */
};

/* NULL: out of memory. */
struct sl_idlers *sl_idlers_new(const struct sl_idlers_options *options);
void sl_idlers_free(struct sl_idlers *idlers); /* NULL is allowed */

/* Looks at one pod. For one thread. now_us: Unix microseconds. */
void sl_idlers_see(struct sl_idlers *idlers, const struct sl_view *view,
                   const struct sl_resident *resident, const struct sl_pod_use *use,
                   int64_t now_us);

#endif
