/* Preemptive reclaim: which borrowed runs end for a pod that is due. */
#include "core/plan/tenant/account.h"

#include <stdlib.h>

#include "core/place/kind/kind.h"
#include "sliced/admit.h"

struct run {
    uint32_t resident;
    struct sl_plan_account_pod *record;
};

/* A node without its borrowed runs, as long as the pod does not fit. */
struct room {
    const struct sl_view *view;
    const struct sl_plan_class *class;
    struct sl_scratch scratch;
    struct sl_host_use use;
};

bool sl_plan_reclaims(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return planner->tenancy != NULL && sl_tenancy_config(planner->tenancy)->reclaim &&
           pod->account != NULL && pod->item.due_us <= planner->now_us;
}

static void leave(struct room *room, uint32_t resident)
{
    sl_scratch_remove(&room->scratch, resident);
    sl_host_use_remove(&room->use, room->view->resident[resident].pod);
}

static bool fits(struct room *room)
{
    return sl_would_fit(&room->scratch, &room->class->ask->ask, NULL) &&
           sl_host_admits(&room->view->node->host, &room->use, room->class->constraints) ==
               SL_CONSTRAINT_NONE;
}

/* Counts the run's units as given back, or no longer so. */
static void give(const struct sl_plan_account_pod *record, int64_t sign)
{
    for (unsigned i = 0; i < record->n; i++) {
        const struct sl_plan_need *need = &record->need[i];
        if (need->virtual != NULL) {
            sl_plan_part_of(need->account, record->tenant)->given += sign * need->units;
        }
    }
}

/* Do both pods select a guaranteed model, the same? */
static bool want_same_model(const struct sl_plan_account_pod *record,
                            const struct sl_plan_account_pod *due)
{
    bool same = false;
    for (unsigned i = 0; i < record->n * due->n; i++) {
        const struct sl_plan_need *one = &record->need[i / due->n];
        const struct sl_plan_need *other = &due->need[i % due->n];
        same = same || (one->model[0] != '\0' && one->virtual != NULL && other->virtual != NULL &&
                        strcmp(one->model, other->model) == 0);
    }
    return same;
}

/* Does the tenant keep its share of each resource of the run, beside what it gives back already? Or
 * is the run wider than the share, not due on it, and not all that the tenant keeps? For a pod that
 * selects the model which the run's pod selects, of that model: it is lent by whom the model is
 * guaranteed, whatever else the tenant has. */
static bool is_borrowed(const struct sl_plan_account_pod *record,
                        const struct sl_plan_account_pod *due)
{
    const bool of_model = want_same_model(record, due);
    bool borrowed = false;
    for (unsigned i = 0; i < record->n; i++) {
        const struct sl_plan_need *need = &record->need[i];
        if (need->virtual == NULL || (of_model && need->model[0] == '\0')) {
            continue;
        }
        const struct sl_plan_part *part = sl_plan_part_of(need->account, record->tenant);
        int64_t size = sl_share_size(part->share);
        int64_t kept = part->held - part->leaving - part->given - need->units;
        bool is_wide = sl_sat_mul(need->units, SL_SHARE_ONE) > size;
        borrowed = sl_sat_mul(kept, SL_SHARE_ONE) >= size ||
                   (is_wide && kept > 0 && sl_plan_need_start(need) == INT64_MAX);
        if (!borrowed) {
            return false;
        }
    }
    return borrowed;
}

/* The account of a resident that may end for the pod if its tenant borrows it; else NULL. *ripe_us
 * becomes the earliest time at which another may. */
static struct sl_plan_account_pod *may_end(const struct sl_planner *planner,
                                           const struct sl_pod *resident,
                                           const struct sl_plan_pod *pod, int64_t *ripe_us)
{
    struct sl_plan_ran *ran = resident->priority < pod->item.priority && !resident->deleting
                                  ? sl_plan_ran_find(planner, resident->uid)
                                  : NULL;
    struct sl_plan_account_pod *record = ran == NULL ? NULL : ran->account;
    if (record == NULL || !record->holds) {
        return NULL;
    }
    int64_t at_us =
        sl_sat_add(record->since_us, sl_tenancy_config(planner->tenancy)->min_runtime_us);
    if (at_us > planner->now_us) {
        *ripe_us = sl_plan_earlier(*ripe_us, at_us);
        return NULL;
    }
    return record;
}

static int youngest_first(const void *a, const void *b)
{
    const struct run *x = a;
    const struct run *y = b;
    if (x->record->since_us != y->record->since_us) {
        return x->record->since_us > y->record->since_us ? -1 : 1;
    }
    return (x->resident < y->resident) - (x->resident > y->resident);
}

bool sl_plan_soon_gone(const struct sl_planner *planner, const struct sl_pod *pod)
{
    return pod->deleting &&
           sl_plan_gone(pod) <= sl_sat_add(planner->now_us, planner->config.hold_max_us);
}

static size_t list_runs(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                        struct room *room, struct run *out, int64_t *ripe_us)
{
    size_t n = 0;
    for (uint32_t i = 0; i < room->view->n_residents; i++) {
        const struct sl_pod *resident = room->view->resident[i].pod;
        struct sl_plan_account_pod *record = may_end(planner, resident, pod, ripe_us);
        if (record != NULL) {
            out[n++] = (struct run){i, record};
        }
        if (sl_plan_soon_gone(planner, resident)) {
            leave(room, i); /* nobody need end for what it leaves */
        }
    }
    if (n > 1) {
        qsort(out, n, sizeof(*out), youngest_first);
    }
    return n;
}

/* Keeps of the n runs those that have to end, as many as it returns. */
static size_t choose_runs(struct room *room, const struct sl_plan_account_pod *due, struct run *run,
                          size_t n)
{
    size_t ends = 0;
    bool done = fits(room);
    for (size_t i = 0; i < n && !done; i++) {
        if (is_borrowed(run[i].record, due)) {
            give(run[i].record, 1);
            leave(room, run[i].resident);
            run[ends++] = run[i];
            done = fits(room);
        }
    }
    for (size_t i = 0; i < ends; i++) {
        give(run[i].record, -1);
    }
    if (!done) {
        return 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < ends; i++) { /* the room may be elsewhere than the youngest ran */
        const struct sl_pod *pod = room->view->resident[run[i].resident].pod;
        sl_scratch_restore(&room->scratch, run[i].resident);
        sl_host_use_add(&room->use, pod);
        if (!fits(room)) {
            leave(room, run[i].resident);
            run[kept++] = run[i];
        }
    }
    return kept;
}

size_t sl_plan_reclaim(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                       const struct sl_view *view, int64_t *ripe_us,
                       void (*visit)(void *context, const struct sl_pod *pod), void *context)
{
    struct run *run =
        sl_plan_reclaims(planner, pod) ? malloc(view->n_residents * sizeof(*run)) : NULL;
    struct room room = {.view = view, .class = pod->class, .use = sl_host_use_of(view)};
    if (run == NULL) {
        return 0;
    }
    sl_scratch_init(&room.scratch, view);
    size_t n = choose_runs(&room, pod->account, run, list_runs(planner, pod, &room, run, ripe_us));
    for (size_t i = 0; i < n && visit != NULL; i++) {
        visit(context, view->resident[run[i].resident].pod);
    }
    free(run);
    return n;
}

int64_t sl_planner_reclaim(const struct sl_planner *planner, struct sl_str uid, const char *node,
                           void (*visit)(void *context, const struct sl_pod *pod), void *context)
{
    const struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL || pod->nomination != NULL || planner->config.preemption) {
        return -1;
    }
    const struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (lane != NULL && lane->preemptor != NULL && lane->preemptor != pod) {
        return 0; /* whoever ends for that one still counts as running */
    }
    int64_t ripe_us = INT64_MAX;
    const struct sl_plan_node *on = pod->class == NULL ? NULL : sl_plan_node_find(planner, node);
    const struct sl_view *view = on == NULL ? NULL : on->view;
    if (on != NULL && on->stale) {
        view = on->base; /* the one before may be gone */
    }
    return view == NULL ? 0
                        : (int64_t)sl_plan_reclaim(planner, pod, view, &ripe_us, visit, context);
}
