/* Tells the owners of pods that fit nowhere why, in the words of the explanation. It looks at all
 * waiting pods itself: kube-scheduler asks the extender only for those that fit some node as far as
 * it can see, and those for which nobody has a node are the ones that want a word. */
#ifndef SLICED_DAEMON_WAITING_H
#define SLICED_DAEMON_WAITING_H

#include "cluster/store.h"
#include "kube/events.h"

struct sl_waiting;

struct sl_waiting_options {
    struct sl_store *store;
    /* False: it was not taken, and is to be told again. */
    bool (*tell)(void *context, const struct sl_event_note *note);
    void *context;
    int64_t grace_us;  /* younger pods are left alone: most are bound by then */
    int64_t repeat_us; /* the same reason is told of a pod again after that long */
    unsigned max_told; /* in one round: each costs a look at all nodes */
};

struct sl_waiting *sl_waiting_new(const struct sl_waiting_options *options, struct sl_error *err);
void sl_waiting_free(struct sl_waiting *waiting); /* NULL is allowed */

/* One round; returns how many pods were told of. For one thread. now_us: Unix microseconds. */
unsigned sl_waiting_round(struct sl_waiting *waiting, const struct sl_score_config *score,
                          int64_t now_us);

#endif
