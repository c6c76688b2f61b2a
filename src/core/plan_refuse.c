/* Namespaces whose pods the API server does not let go: a policy or a quota of theirs refuses every
 * release. Their pods then go as those go that did not take their claims, one at a time with
 * pauses, so that others have the devices and the API server has its rest; the first that it lets
 * go ends that. */
#include "core/plan_internal.h"

#include <stdlib.h>

enum {
    REFUSALS_MAX = 8,  /* in a row, of a namespace */
    SPACES_MAX = 1024, /* namespaces of which refusals are remembered */
};

struct refusals {
    uint32_t n; /* in a row */
    uint32_t len;
    int64_t at_us; /* of the last */
    char namespace[];
};

static struct refusals *find(const struct sl_planner *planner, const char *namespace)
{
    size_t len = strlen(namespace);
    return len == 0 ? NULL : sl_map_get(&planner->refusals, namespace, len);
}

bool sl_plan_is_refused(const struct sl_planner *planner, const char *namespace)
{
    const struct refusals *refusals = planner->refusals.len == 0 ? NULL : find(planner, namespace);
    return refusals != NULL && refusals->n >= REFUSALS_MAX;
}

/* Nobody waits for pods that are not let go: they are no more, or once more, the bound's. */
static void doubt_all(struct sl_planner *planner, const char *namespace, bool doubted)
{
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        struct sl_plan_lane *lane = sl_plan_lane_of(pod);
        if (pod->doubted == doubted || strcmp(pod->pod->namespace, namespace) != 0) {
            continue;
        }
        pod->doubted = doubted;
        if (doubted && pod->claim == NULL) {
            sl_plan_bound_leave(planner, pod);
        }
        if (doubted && lane != NULL && lane->reserve.pod == pod) {
            sl_plan_reserve_end(planner, lane);
        }
        if (!doubted && pod->queued) {
            sl_plan_bound_arrive(planner, pod);
        }
    }
    planner->dirty = true;
}

static void forget(struct sl_planner *planner, struct refusals *refusals)
{
    bool doubted = refusals->n >= REFUSALS_MAX;
    (void)sl_map_remove(&planner->refusals, refusals->namespace, refusals->len);
    if (doubted) {
        doubt_all(planner, refusals->namespace, false);
    }
    free(refusals);
}

/* Room for another by forgetting those of long ago. */
static void make_room(struct sl_planner *planner)
{
    int64_t old_us = planner->now_us - 2 * planner->config.hold_max_us;
    size_t at = 0;
    struct refusals *refusals = sl_map_next(&planner->refusals, &at);
    while (refusals != NULL) {
        struct refusals *next = sl_map_next(&planner->refusals, &at);
        if (refusals->at_us < old_us) {
            forget(planner, refusals);
        }
        refusals = next;
    }
}

/* NULL: no memory, or there are too many. */
static struct refusals *get(struct sl_planner *planner, const char *namespace)
{
    size_t len = strlen(namespace);
    struct refusals *refusals = find(planner, namespace);
    if (refusals != NULL || len == 0) {
        return refusals;
    }
    if (planner->refusals.len >= SPACES_MAX) {
        make_room(planner);
    }
    refusals = planner->refusals.len >= SPACES_MAX ? NULL : calloc(1, sizeof *refusals + len + 1);
    if (refusals == NULL) {
        return NULL;
    }
    refusals->len = (uint32_t)len;
    memcpy(refusals->namespace, namespace, len + 1);
    if (sl_map_put(&planner->refusals, refusals->namespace, len, refusals, NULL) < 0) {
        free(refusals);
        return NULL;
    }
    return refusals;
}

void sl_plan_note_refusal(struct sl_planner *planner, const char *namespace)
{
    struct refusals *refusals = get(planner, namespace);
    if (refusals == NULL) {
        return;
    }
    bool enough = refusals->n + 1 == REFUSALS_MAX;
    refusals->n += refusals->n < REFUSALS_MAX;
    refusals->at_us = planner->now_us;
    if (enough) {
        doubt_all(planner, refusals->namespace, true);
    }
}

void sl_planner_released(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    const struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    struct refusals *refusals =
        pod == NULL || planner->refusals.len == 0 ? NULL : find(planner, pod->pod->namespace);
    if (refusals != NULL) {
        forget(planner, refusals);
    }
}

void sl_plan_refusals_move(struct sl_planner *planner, int64_t by_us)
{
    size_t at = 0;
    for (struct refusals *refusals = sl_map_next(&planner->refusals, &at); refusals != NULL;
         refusals = sl_map_next(&planner->refusals, &at)) {
        refusals->at_us = sl_plan_add(refusals->at_us, by_us);
    }
}

void sl_plan_refusals_free(struct sl_planner *planner)
{
    size_t at = 0;
    for (struct refusals *refusals = sl_map_next(&planner->refusals, &at); refusals != NULL;
         refusals = sl_map_next(&planner->refusals, &at)) {
        free(refusals);
    }
    sl_map_free(&planner->refusals);
}
