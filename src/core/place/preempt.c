/* Finds which of kube-scheduler's victims must go for an ask to fit, and keeps the room that they
 * make. */
#include "sliced/preempt.h"

#include <stdlib.h>

#include "core/place/choose.h"
#include "core/place/uids.h"

/* A victim that runs on this node. */
struct holder {
    uint32_t resident;
    uint32_t victim; /* index in victims */
    int32_t priority;
    bool units; /* it holds units of the node's pools */
};

/* True when the resident holds units of a pool of the node. */
static bool holds_units(const struct sl_view *view, unsigned resident)
{
    const struct sl_pod *pod = view->resident[resident].pod;
    for (unsigned i = 0; i < pod->n_items; i++) {
        if (sl_view_pool(view, pod->items[i].key) >= 0) {
            return true;
        }
    }
    return false;
}

static size_t list_holders(const struct sl_view *view, struct sl_uids *uids,
                           const struct sl_str *victims, size_t n, struct holder *out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t resident = sl_uids_find(uids, victims[i]);
        if (resident >= 0) {
            out[count] = (struct holder){.resident = (uint32_t)resident,
                                         .victim = (uint32_t)i,
                                         .priority = view->resident[resident].pod->priority,
                                         .units = holds_units(view, (unsigned)resident)};
            count++;
        }
    }
    return count;
}

/* Sorts in the order of sparing; a pod named twice stays together. */
static int spared_first(const void *a, const void *b)
{
    const struct holder *x = a;
    const struct holder *y = b;
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    if (x->resident != y->resident) {
        return x->resident > y->resident ? -1 : 1;
    }
    return (x->victim > y->victim) - (x->victim < y->victim);
}

bool sl_would_fit(struct sl_scratch *scratch, const struct sl_ask *ask, struct sl_verdict *verdict)
{
    struct sl_assignment assignment;
    bool fits = sl_choose_on(scratch, ask, &assignment, verdict);
    sl_scratch_undo(scratch, ask->item, &assignment, 0);
    return fits;
}

/* True when the entry before names the same pod. */
static bool is_again(const struct holder *holder, size_t i)
{
    return i > 0 && holder[i].resident == holder[i - 1].resident;
}

/* Books each victim again if the ask still fits beside it. An ask that fits beside a resident also
 * fits without it, so one pass spares all that can be spared. */
static void spare(struct sl_scratch *scratch, const struct sl_ask *ask, const struct holder *holder,
                  size_t count, bool *keep)
{
    for (size_t i = 0; i < count; i++) {
        if (is_again(holder, i)) {
            keep[holder[i].victim] = keep[holder[i - 1].victim];
            continue;
        }
        if (!holder[i].units) {
            continue;
        }
        sl_scratch_restore(scratch, holder[i].resident);
        keep[holder[i].victim] = !sl_would_fit(scratch, ask, NULL);
        if (keep[holder[i].victim]) {
            sl_scratch_remove(scratch, holder[i].resident);
        }
    }
}

static bool decide(const struct sl_view *view, const struct sl_ask *ask,
                   const struct holder *holder, size_t count, size_t n, bool *keep,
                   struct sl_verdict *verdict)
{
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    for (size_t i = 0; i < count; i++) {
        if (!is_again(holder, i)) {
            sl_scratch_remove(&scratch, holder[i].resident);
        }
    }
    bool fits = sl_would_fit(&scratch, ask, verdict);
    for (size_t i = 0; i < n; i++) {
        keep[i] = fits;
    }
    /* When the ask fits beside all victims, kube-scheduler chose them for another reason, so all
     * stay. A node without victims would fail the pod's whole preemption: "expected at least one
     * victim pod" (kube-scheduler, framework/preemption, callExtenders). */
    if (fits && count > 0 && !sl_choose(view, ask, NULL, NULL)) {
        spare(&scratch, ask, holder, count, keep);
    }
    return fits;
}

int sl_preempt(const struct sl_view *view, const struct sl_ask *ask, const struct sl_str *victims,
               size_t n, bool *keep, struct sl_verdict *verdict)
{
    struct sl_uids uids = {.row = NULL};
    struct holder *holder = n == 0 ? NULL : malloc(n * sizeof(*holder));
    size_t count = 0;
    int result = -1;
    if ((n > 0 && holder == NULL) || !sl_uids_init(&uids, view)) {
        goto done;
    }
    count = list_holders(view, &uids, victims, n, holder);
    if (count > 0) {
        qsort(holder, count, sizeof(*holder), spared_first);
    }
    result = decide(view, ask, holder, count, n, keep, verdict) ? 1 : 0;
done:
    sl_uids_free(&uids);
    free(holder);
    return result;
}

static void remove_going(struct sl_scratch *scratch)
{
    for (uint32_t i = 0; i < scratch->view->n_residents; i++) {
        if (scratch->view->resident[i].pod->deleting) {
            sl_scratch_remove(scratch, i);
        }
    }
}

/* Takes out those of a lower priority, of which some are the victims and are not seen going yet. */
static void remove_lower(struct sl_scratch *scratch, int32_t priority)
{
    for (uint32_t i = 0; i < scratch->view->n_residents; i++) {
        const struct sl_pod *pod = scratch->view->resident[i].pod;
        if (!pod->deleting && pod->priority < priority) {
            sl_scratch_remove(scratch, i);
        }
    }
}

/* Raises now to the node's counters as they will be when the victims are gone and the nominated
 * pods are there, and where one of them finds room only when residents of lower priority are gone,
 * also to the counters without it: those before it need nobody to go. A pod that would not fit even
 * then will not come. */
static void raise_to_nominated(struct sl_scratch *now, struct sl_pod *const *nominated, size_t n)
{
    struct sl_scratch later;
    bool lower = false; /* were residents of lower priority taken out? */
    sl_scratch_init(&later, now->view);
    remove_going(&later);
    for (size_t i = 0; i < n; i++) {
        struct sl_ask ask;
        sl_pod_ask(nominated[i], &ask);
        if (sl_choose_on(&later, &ask, NULL, NULL) || lower) {
            continue;
        }
        struct sl_scratch without = later;
        remove_lower(&without, nominated[i]->priority);
        lower = sl_choose_on(&without, &ask, NULL, NULL);
        if (lower) {
            sl_scratch_raise(now, &later);
            later = without;
        }
    }
    sl_scratch_raise(now, &later);
}

bool sl_choose_beside(const struct sl_view *view, struct sl_pod *const *nominated, size_t n,
                      const struct sl_ask *ask, struct sl_assignment *assignment,
                      struct sl_verdict *verdict)
{
    struct sl_scratch now;
    if (n == 0 || !sl_fit(view, ask, verdict)) {
        return sl_choose(view, ask, assignment, verdict);
    }
    sl_scratch_init(&now, view);
    raise_to_nominated(&now, nominated, n);
    bool fits = sl_choose_on(&now, ask, assignment, verdict);
    if (!fits && verdict != NULL) {
        verdict->reason = SL_REASON_NOMINATED;
    }
    return fits;
}
