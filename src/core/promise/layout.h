/* Layouts of a lane that counts units: when each waiting pod starts, if no pod overtakes. */
#ifndef SLICED_CORE_PROMISE_LAYOUT_H
#define SLICED_CORE_PROMISE_LAYOUT_H

#include "core/forecast/supply.h"
#include "core/promise/member.h"
#include "sliced/promise.h"

struct sl_promise;

enum { SL_PROMISE_REJECTS = 8 };

/* A rejected pod. It rejects pods at least as long and wide too, if queued behind the same late
 * pod. */
struct sl_promise_reject {
    const struct sl_promise_member *late; /* the pod that it would have made late */
    bool higher; /* late has the higher priority: no delay was allowed, other than among equals */
    int64_t estimate_us;
    int64_t width;
};

struct sl_promise_layout {
    uint64_t units_state;   /* the lane's state for which units hold */
    struct sl_supply units; /* as the running pods will free them */
    sl_work running_work;
    int64_t running_end_us;
    uint64_t base_state;
    struct sl_supply base; /* after the layout in which no pod overtakes, sorted */
    int64_t base_last_us;  /* the last start there */
    struct sl_supply scratch;
    uint64_t reject_state;
    struct sl_promise_reject reject[SL_PROMISE_REJECTS];
    size_t n_rejects;
    int64_t steps_at_us; /* the time for which steps are counted */
    size_t steps;
};

bool sl_promise_layout_admits(struct sl_promise *promise, const struct sl_promise_member *member);
/* As sl_promise_spares. */
bool sl_promise_layout_spares(struct sl_promise *promise, const struct sl_promise_idle *idle,
                              size_t n);
/* Updates the supply of the running pods for a member that has just started, one step of the lane's
 * state ago, so that many starts at one time do not visit all running pods again. */
void sl_promise_layout_started(struct sl_promise *promise, const struct sl_promise_member *member);
/* -1 when out of memory. */
int sl_promise_layout_reserve(struct sl_promise *promise);
void sl_promise_layout_free(struct sl_promise_layout *layout);

#endif
