/* Remembers pods that were nominated and bound, or that others started, until they are gone. */
#include "core/plan/nodes/nodes.h"

#include <stdlib.h>

struct sl_plan_ran *sl_plan_ran_first(const struct sl_planner *planner)
{
    return sl_plan_ran_at(planner->rans.all.first);
}

struct sl_plan_ran *sl_plan_ran_find(const struct sl_planner *planner, const char *uid)
{
    return sl_map_get(&planner->rans.by_uid, uid, strlen(uid));
}

void sl_plan_ran_forget(struct sl_planner *planner, struct sl_plan_ran *ran)
{
    sl_map_remove(&planner->rans.by_uid, ran->uid, ran->uid_len);
    sl_list_remove(&planner->rans.all, &ran->all);
    free(ran);
}

struct sl_plan_ran *sl_plan_ran_new(struct sl_planner *planner, const char *uid)
{
    struct sl_str key = sl_str_of(uid);
    struct sl_plan_ran *ran = SL_MAP_ADD(&planner->rans.by_uid, struct sl_plan_ran, uid, key);
    if (ran != NULL) {
        ran->uid_len = (uint32_t)key.len;
        sl_list_add_first(&planner->rans.all, &ran->all);
    }
    return ran;
}

static void ran_end(struct sl_planner *planner, struct sl_plan_ran *ran)
{
    if (planner->order != NULL) {
        planner->order->ended(planner, ran);
    }
    sl_plan_ran_forget(planner, ran);
}

void sl_plan_ran_keep(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_ran *ran = sl_plan_ran_new(planner, pod->pod->uid);
    if (ran == NULL) {
        return; /* to the order the pod is gone at once */
    }
    const struct sl_plan_nomination *nomination = pod->nomination;
    const struct sl_view *base = nomination->node->base;
    ran->nominated_us = nomination->since_us;
    ran->lane = nomination->pod->items[0].key;
    ran->seen = base != NULL && sl_plan_shows(base, nomination->pod);
    if (planner->order != NULL) {
        planner->order->bound(pod, ran);
    }
}

static int compare_pods(const struct sl_pod *a, const struct sl_pod *b)
{
    if (a->created_us != b->created_us) {
        return a->created_us < b->created_us ? -1 : 1;
    }
    return strcmp(a->uid, b->uid);
}

static void pod_came(struct sl_planner *planner, const struct sl_pod *pod)
{
    struct sl_plan_ran *ran = sl_plan_ran_find(planner, pod->uid);
    struct sl_plan_pod *waiting = sl_plan_find(planner, sl_str_of(pod->uid));
    if (ran != NULL) {
        ran->seen = true;
    }
    if (ran == NULL && waiting != NULL) {
        waiting->resident = true;
    } else if (planner->order != NULL) {
        planner->order->adopt(planner, pod);
    }
}

static void pod_went(struct sl_planner *planner, const struct sl_pod *pod)
{
    struct sl_plan_ran *ran =
        planner->rans.all.first == NULL ? NULL : sl_plan_ran_find(planner, pod->uid);
    struct sl_plan_pod *waiting = ran != NULL ? NULL : sl_plan_find(planner, sl_str_of(pod->uid));
    if (ran != NULL) {
        ran_end(planner, ran);
    }
    if (waiting != NULL) { /* its binding failed */
        waiting->resident = false;
    }
}

/* Both views have their residents in order of creation and UID. */
void sl_plan_ran_diff(struct sl_planner *planner, const struct sl_view *before,
                      const struct sl_view *after)
{
    unsigned n_before = before == NULL ? 0 : before->n_residents;
    unsigned n_after = after == NULL ? 0 : after->n_residents;
    unsigned i = 0;
    unsigned j = 0;
    while (i < n_before || j < n_after) {
        int order = 0;
        if (i >= n_before || j >= n_after) {
            order = i < n_before ? -1 : 1;
        } else {
            order = compare_pods(before->resident[i].pod, after->resident[j].pod);
        }
        if (order < 0) {
            if (after != NULL) { /* else nobody knows: the node has gone */
                sl_plan_note_run(planner, before->resident[i].pod);
            }
            pod_went(planner, before->resident[i].pod);
        } else if (order > 0) {
            pod_came(planner, after->resident[j].pod);
        } else if (planner->tenancy != NULL && after->resident[j].pod->deleting &&
                   !before->resident[i].pod->deleting) {
            planner->order->adopt(planner, after->resident[j].pod); /* anew: it begins to go */
        }
        i += order <= 0;
        j += order >= 0;
    }
}

void sl_plan_ran_check(struct sl_planner *planner)
{
    struct sl_plan_ran *next = NULL;
    for (struct sl_plan_ran *ran = sl_plan_ran_first(planner); ran != NULL; ran = next) {
        next = sl_plan_ran_next(ran);
        if (!ran->seen) {
            ran_end(planner, ran);
        }
    }
}

void sl_plan_each_resident(struct sl_planner *planner,
                           void (*visit)(struct sl_planner *planner, const struct sl_pod *pod))
{
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        const struct sl_view *view = sl_plan_node_at(planner, i)->base;
        for (unsigned r = 0; view != NULL && r < view->n_residents; r++) {
            visit(planner, view->resident[r].pod);
        }
    }
}

void sl_plan_each_account(const struct sl_planner *planner,
                          void (*visit)(void *context, struct sl_plan_account_pod *account),
                          void *context)
{
    size_t at = 0;
    for (const struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        if (pod->account != NULL) {
            visit(context, pod->account);
        }
    }
    for (const struct sl_plan_ran *ran = sl_plan_ran_first(planner); ran != NULL;
         ran = sl_plan_ran_next(ran)) {
        if (ran->account != NULL) {
            visit(context, ran->account);
        }
    }
}

void sl_plan_records_free(struct sl_planner *planner)
{
    size_t at = 0;
    for (struct sl_plan_ran *ran = sl_plan_ran_first(planner); ran != NULL;
         ran = sl_plan_ran_next(ran)) {
        free(ran->account);
        ran->account = NULL;
    }
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        free(pod->account);
        pod->account = NULL;
    }
}
