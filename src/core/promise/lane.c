/* The lane's time and its pods. */
#include "core/promise/lane.h"

void sl_promise_set_now(struct sl_promise *promise, int64_t now_us)
{
    if (now_us > promise->now_us) {
        promise->now_us = now_us;
        promise->state++;
    }
}

struct sl_promise_member *sl_promise_find(const struct sl_promise *promise, uint64_t id)
{
    return sl_map_get(&promise->pods, (const char *)&id, sizeof(id));
}

struct sl_promise_member *sl_promise_find_as(const struct sl_promise *promise, uint64_t id,
                                             bool running, struct sl_error *err)
{
    struct sl_promise_member *member = sl_promise_find(promise, id);
    if (member == NULL || member->running != running) {
        (void)sl_error_set(err, SL_ERR_NOTFOUND, "no pod %llx %s", (unsigned long long)id,
                           running ? "runs" : "waits");
        return NULL;
    }
    return member;
}

struct sl_promise_member *sl_promise_first(const struct sl_promise *promise)
{
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        const struct sl_promise_rank *rank = &promise->rank[promise->order[r]];
        for (size_t i = rank->first; i < rank->used; i++) {
            struct sl_promise_member *member = rank->slot[i];
            if (member != NULL && sl_promise_fits_lane(promise, member->pod.width)) {
                return member;
            }
        }
    }
    return NULL;
}
