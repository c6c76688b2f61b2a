/* Tells the owners of pods that fit nowhere why, in the words of the explanation. It looks at all
 * waiting pods itself: kube-scheduler asks the extender only about pods that fit some node by its
 * own view, but pods that fit none need an explanation most. */
#ifndef SLICED_DAEMON_LIVE_WAITING_H
#define SLICED_DAEMON_LIVE_WAITING_H

#include "cluster/store.h"
#include "kube/write/events.h"

struct sl_waiting;

struct sl_waiting_options {
    struct sl_store *store;
    /* False: the note was not accepted; it is told again. */
    bool (*tell)(void *context, const struct sl_event_note *note);
    void *context;
    int64_t grace_us;  /* younger pods are left alone: most are bound by then */
    int64_t repeat_us; /* after that the same reason is told again */
    unsigned max_told; /* in one round: each costs a look at all nodes */
};

struct sl_waiting *sl_waiting_new(const struct sl_waiting_options *options, struct sl_error *err);
void sl_waiting_free(struct sl_waiting *waiting); /* NULL is allowed */

/* One round; returns how many pods were told of. For one thread. now_us: Unix microseconds. */
unsigned sl_waiting_round(struct sl_waiting *waiting, const struct sl_score_config *score,
                          int64_t now_us);

#endif
