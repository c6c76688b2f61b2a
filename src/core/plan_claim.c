/* Claims: made, given back, and remembered as what runs once they are bound. */
#include "core/plan_internal.h"

#include <stdlib.h>

/* others of its namespace may be let go, and are not to wait for long */
static const int64_t doubted_rest_us = 1000000;

static char *assignment_text(const struct sl_plan_node *node, const struct sl_plan_pod *pod,
                             const struct sl_assignment *assignment,
                             char text[SL_ASSIGNMENT_TEXT_MAX])
{
    size_t len = sl_assignment_format(node->node, &pod->class->ask->ask, assignment, text,
                                      SL_ASSIGNMENT_TEXT_MAX);
    return len == 0 ? NULL : text;
}

bool sl_plan_claim(struct sl_planner *planner, struct sl_plan_pod *pod, struct sl_plan_node *node,
                   const struct sl_assignment *assignment)
{
    char text[SL_ASSIGNMENT_TEXT_MAX];
    struct sl_pod *claim = sl_pod_bound_to(
        pod->pod, node->node->name, assignment_text(node, pod, assignment, text), SL_POD_PENDING);
    if (claim == NULL) {
        return false;
    }
    struct sl_view *own = sl_plan_node_with(planner, node, claim);
    if (own == NULL) {
        sl_pod_unref(claim);
        return false;
    }
    pod->claim = claim;
    pod->claimed_us = planner->now_us;
    pod->held_us = planner->now_us;
    pod->heard_us = 0;
    pod->shown = false;
    pod->broken = false;
    pod->released = false;
    pod->node = node;
    pod->node_next = node->claims;
    node->claims = pod;
    if (sl_plan_may_not_come(pod)) {
        sl_plan_retry_of(pod)->pod = pod;
    }
    sl_plan_settle(planner, pod);
    sl_plan_bound_start(planner, pod);
    sl_plan_node_take(planner, node, own);
    planner->n_claims++;
    return true;
}

void sl_plan_unclaim(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_node *node = pod->node;
    struct sl_plan_pod **at = &node->claims;
    while (*at != pod) {
        at = &(*at)->node_next;
    }
    *at = pod->node_next;
    pod->node_next = NULL;
    pod->node = NULL;
    sl_pod_unref(pod->claim);
    pod->claim = NULL;
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    struct sl_plan_retry *retry = sl_plan_retrying(lane, pod);
    if (retry != NULL) {
        retry->pod = NULL;
    }
    sl_plan_bound_unstart(planner, pod);
    sl_plan_node_stale(planner, node, false);
}

void sl_plan_time_out(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    int64_t wait = planner->config.hold_us;
    for (uint32_t i = 0; i < pod->strikes && wait < planner->config.hold_max_us; i++) {
        wait = sl_plan_add(wait, wait);
    }
    wait = wait < planner->config.hold_max_us ? wait : planner->config.hold_max_us;
    pod->retry_us = sl_plan_add(planner->now_us, wait);
    pod->strikes++;
    pod->denied = false;
}

bool sl_plan_is_barred(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    const struct sl_plan_node *node =
        pod->bad_node == NULL ? NULL : sl_plan_node_find(planner, pod->bad_node->name);
    return node != NULL && node->seq <= pod->bad_seq;
}

/* With SL_HOLD_LAPSED that counts against the pod. */
static void end_claim(struct sl_planner *planner, struct sl_plan_pod *pod, enum sl_hold_reason why)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    struct sl_plan_retry *retry = sl_plan_retrying(lane, pod);
    bool excused = !pod->excused && sl_plan_is_doubtful(planner, pod);
    sl_plan_unclaim(planner, pod);
    pod->broken = false;
    if (retry != NULL && why == SL_HOLD_LAPSED) {
        bool doubted = retry == &lane->retry[SL_PLAN_RETRY_DOUBTED];
        int64_t rest_us = doubted ? doubted_rest_us : planner->config.hold_us;
        retry->at_us = sl_plan_add(planner->now_us, rest_us);
    }
    if (why == SL_HOLD_LAPSED) {
        sl_plan_time_out(planner, pod);
        pod->strikes -= excused;
        pod->excused = pod->excused || excused;
        pod->lapses++;
        planner->n_lapses++;
    }
    sl_plan_settle(planner, pod);
}

void sl_plan_lapse(struct sl_planner *planner, struct sl_plan_pod *pod, enum sl_hold_reason why)
{
    struct sl_pod *claim = sl_pod_ref(pod->claim);
    end_claim(planner, pod, why);
    const struct sl_plan_action action = {.kind = SL_PLAN_LAPSE,
                                          .pod = pod->pod,
                                          .node = claim->node,
                                          .assignment = claim->assignment,
                                          .reason = why};
    sl_plan_tell(planner, &action);
    sl_pod_unref(claim);
}

void sl_planner_denied(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    struct sl_plan_lane *lane = pod == NULL ? NULL : sl_plan_lane_of(pod);
    if (pod == NULL || (pod->claim == NULL && !pod->released)) {
        return;
    }
    if (pod->claim != NULL) {
        end_claim(planner, pod, SL_HOLD_LAPSED);
    } else {
        if (lane != NULL && lane->preemptor == pod) {
            sl_plan_preempt_end(planner, lane);
        }
        pod->released = false;
        sl_plan_time_out(planner, pod);
        sl_plan_settle(planner, pod);
    }
    pod->denied = true;
    planner->dirty = true;
    sl_plan_note_refusal(planner, pod->space);
}

void sl_plan_expire(struct sl_planner *planner)
{
    while (planner->gone != NULL) {
        struct sl_plan_node *node = planner->gone;
        while (node->claims != NULL) {
            sl_plan_lapse(planner, node->claims, SL_HOLD_NO_ROOM);
        }
        planner->gone = node->stale_next;
        sl_plan_node_free(node);
    }
    struct sl_plan_pod *next = NULL;
    planner->away = sl_planner_silent(planner, planner->now_us) > 0;
    for (struct sl_plan_pod *pod = planner->claims.first; pod != NULL; pod = next) {
        next = pod->next;
        if (sl_plan_due(planner, pod) <= planner->now_us) {
            sl_plan_lapse(planner, pod, SL_HOLD_LAPSED);
        }
    }
    for (struct sl_plan_pod *pod = planner->lapsed.first; pod != NULL; pod = next) {
        next = pod->next;
        if (pod->retry_us <= planner->now_us) {
            sl_plan_settle(planner, pod);
        }
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        sl_plan_preempt_expire(planner, lane);
        for (int i = 0; i < SL_PLAN_RETRIES; i++) {
            const struct sl_plan_retry *retry = &lane->retry[i];
            planner->dirty = planner->dirty || (retry->waits && retry->at_us <= planner->now_us);
        }
        if (lane->reserve.active && lane->reserve.at_us < planner->now_us) {
            planner->dirty = true; /* somebody is late */
        }
        if (sl_plan_bound_wake(lane) <= planner->now_us) {
            planner->dirty = true;
        }
    }
}

/* ---- what runs ---- */

struct sl_plan_ran *sl_plan_ran_find(const struct sl_planner *planner, const char *uid)
{
    return sl_map_get(&planner->rans, uid, strlen(uid));
}

void sl_plan_ran_forget(struct sl_planner *planner, struct sl_plan_ran *ran)
{
    sl_map_remove(&planner->rans, ran->uid, ran->uid_len);
    if (ran->prev != NULL) {
        ran->prev->next = ran->next;
    } else {
        planner->ran = ran->next;
    }
    if (ran->next != NULL) {
        ran->next->prev = ran->prev;
    }
    free(ran);
}

struct sl_plan_ran *sl_plan_ran_new(struct sl_planner *planner, const char *uid)
{
    size_t len = strlen(uid);
    struct sl_plan_ran *ran = calloc(1, sizeof *ran + len + 1);
    if (ran == NULL) {
        return NULL;
    }
    ran->uid_len = (uint32_t)len;
    memcpy(ran->uid, uid, len + 1);
    if (sl_map_put(&planner->rans, ran->uid, len, ran, NULL) < 0) {
        free(ran);
        return NULL;
    }
    ran->next = planner->ran;
    if (ran->next != NULL) {
        ran->next->prev = ran;
    }
    planner->ran = ran;
    return ran;
}
