/* A share: the virtual cluster of one tenant and one resource. The tenant's pods run there in its
 * order, with EASY backfill, as if no other tenant were there. A virtual run takes as long as the
 * real one, which is known in time where the real one started first; a pod that starts later in
 * reality keeps its virtual units until it really ends. So ends are estimated, by the timeouts, for
 * backfill alone. After Friedman and Henderson's fair sojourn protocol (SIGMETRICS 2003), which
 * plays processor sharing.
 *
 * A pod wider than the share starts once the share has drained, and holds it for width / share
 * times as long.
 *
 * With users each of them has an even part of the share, played likewise; on the tenant's share a
 * pod goes first from the time of its start there, and else by the order.
 *
 * Times are microseconds since the epoch; they never go back. Only arrivals and users can lack
 * memory. O(log n) for an event, but for the ends of running pods, looked through where a pod waits
 * for room that a narrower one could have. */
#ifndef SLICED_CORE_SHARE_H
#define SLICED_CORE_SHARE_H

#include "core/order/order.h"

enum {
    SL_SHARE_ONE = 1000000,    /* a unit: shares have fractions */
    SL_SHARE_ENDED_MAX = 4096, /* ended pods that still wait here; further ones prolong another */
};

/* Times and runs are cut to this, so that no sum overflows. */
#define SL_SHARE_RUN_MAX_US (INT64_C(1) << 52)

struct sl_share;
struct sl_share_pod;

struct sl_share_config {
    struct sl_order_config order; /* not hrrn */
    int32_t c_permille; /* of bounded: a pod that has waited c times as long as the longest
                           under FIFO here goes first */
    bool users;
};

/* A pod, and how it stands here. */
struct sl_share_facts {
    struct sl_order_item item; /* its uid is not read: number tells equal ones apart */
    uint64_t number;
    int64_t units;    /* > 0 */
    int64_t fifo_us;  /* its start under FIFO; INT64_MAX: it waits there */
    int64_t user_us;  /* its start on its user's part; INT64_MAX: it waits there */
    int64_t start_us; /* its start on the share; without users the same */
    int64_t run_us;   /* how long it ran in reality; -1: it has not ended */
    void *owner;      /* NULL: it has ended */
};

/* A pod has started on the share. */
typedef void (*sl_share_start_fn)(void *context, void *owner, int64_t start_us);

/* NULL: out of memory. */
struct sl_share *sl_share_new(const struct sl_share_config *config);
void sl_share_free(struct sl_share *share); /* NULL is allowed */

/* Sets the size, in millionths of a unit, after sl_share_play up to now. Pods that run keep what
 * they have. */
void sl_share_resize(struct sl_share *share, int64_t size);
int64_t sl_share_size(const struct sl_share *share);

/* Adds a pod, which stands here as its facts say, after sl_share_play up to now. user: its
 * namespace. NULL: out of memory. */
struct sl_share_pod *sl_share_arrive(struct sl_share *share, const struct sl_share_facts *facts,
                                     struct sl_str user, int64_t now_us);
/* The pod has ended after it had run for run_us, and is the share's own from now on. */
void sl_share_over(struct sl_share *share, struct sl_share_pod *pod, int64_t run_us,
                   int64_t now_us);
/* The pod is gone, and never ran. Frees it. */
void sl_share_withdraw(struct sl_share *share, struct sl_share_pod *pod);

/* Plays up to now_us, and tells of starts of pods that have an owner. */
void sl_share_play(struct sl_share *share, int64_t now_us, sl_share_start_fn started,
                   void *context);
/* Up to when it has been played, or told of pods. */
int64_t sl_share_now(const struct sl_share *share);
/* When a play may start a pod though nothing is told; INT64_MAX: never. */
int64_t sl_share_next(const struct sl_share *share);

const struct sl_share_facts *sl_share_facts_of(const struct sl_share_pod *pod);
/* Visits all pods, those that have ended too. */
void sl_share_visit(const struct sl_share *share,
                    void (*visit)(void *context, const struct sl_share_facts *facts,
                                  const char *user),
                    void *context);
size_t sl_share_pods(const struct sl_share *share);

/* The longest wait under FIFO here, of the user with the longest; and the least for users to come,
 * as it was before a restart. */
int64_t sl_share_longest(const struct sl_share *share);
void sl_share_set_longest(struct sl_share *share, int64_t longest_us);

/* Tells for each pod that waits here when it will start, if all run as long as their timeouts and
 * none comes. -1: out of memory. O(pods log pods). */
int sl_share_foretell(const struct sl_share *share, sl_share_start_fn told, void *context);

#endif
