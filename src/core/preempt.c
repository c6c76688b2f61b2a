/* Which of the scheduler's victims really have to go for an ask to fit. */
#include "sliced/preempt.h"

#include <stdlib.h>

#include "core/choose.h"

/* A victim that holds something here. */
struct holder {
    uint32_t resident;
    uint32_t victim; /* index in victims */
    int32_t priority;
};

static int find_resident(const struct sl_view *view, struct sl_str uid)
{
    for (unsigned i = 0; i < view->n_residents; i++) {
        if (uid.len > 0 && sl_str_eq(sl_str_of(view->resident[i].pod->uid), uid)) {
            return (int)i;
        }
    }
    return -1;
}

/* Does the resident have anything in a pool of the node? */
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

static size_t list_holders(const struct sl_view *view, const struct sl_str *victims, size_t n,
                           struct holder *out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        int resident = find_resident(view, victims[i]);
        if (resident >= 0 && holds_units(view, (unsigned)resident)) {
            out[count] = (struct holder){.resident = (uint32_t)resident,
                                         .victim = (uint32_t)i,
                                         .priority = view->resident[resident].pod->priority};
            count++;
        }
    }
    return count;
}

/* In the order in which they are spared; the same pod named twice stands together. */
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

/* Does the ask fit on these counters? Leaves them as they are. */
static bool would_fit(struct sl_scratch *scratch, const struct sl_ask *ask,
                      struct sl_verdict *verdict)
{
    struct sl_assignment assignment;
    bool fits = sl_choose_on(scratch, ask, &assignment, verdict);
    sl_scratch_undo(scratch, ask->item, &assignment, 0);
    return fits;
}

static bool is_listed(const struct sl_str *victims, size_t n, struct sl_str uid)
{
    for (size_t i = 0; i < n; i++) {
        if (uid.len > 0 && sl_str_eq(victims[i], uid)) {
            return true;
        }
    }
    return false;
}

/* Books victims again, one after the other, as long as the ask still fits. What fits beside a
 * resident fits without it, so one pass leaves nobody who could be spared. */
static void spare(struct sl_scratch *scratch, const struct sl_ask *ask, const struct holder *holder,
                  size_t count, bool *keep)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && holder[i].resident == holder[i - 1].resident) {
            keep[holder[i].victim] = keep[holder[i - 1].victim];
            continue;
        }
        sl_scratch_restore(scratch, holder[i].resident);
        keep[holder[i].victim] = !would_fit(scratch, ask, NULL);
        if (keep[holder[i].victim]) {
            sl_scratch_remove(scratch, holder[i].resident);
        }
    }
}

bool sl_preempt(const struct sl_view *view, const struct sl_ask *ask, const struct sl_str *victims,
                size_t n, bool *keep, struct sl_verdict *verdict)
{
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    for (unsigned i = 0; i < view->n_residents; i++) {
        if (is_listed(victims, n, sl_str_of(view->resident[i].pod->uid))) {
            sl_scratch_remove(&scratch, i);
        }
    }
    bool fits = would_fit(&scratch, ask, verdict);
    for (size_t i = 0; i < n; i++) {
        keep[i] = fits;
    }
    /* Where nobody had to go for it, it was something else that the scheduler wants them gone for.
     * A node without victims would fail the pod's whole preemption: "expected at least one victim
     * pod" (kube-scheduler, framework/preemption, callExtenders). */
    bool needs = fits && n > 0 && !sl_choose(view, ask, NULL, NULL);
    struct holder *holder = needs ? malloc(n * sizeof *holder) : NULL;
    if (holder != NULL) {
        size_t count = list_holders(view, victims, n, holder);
        qsort(holder, count, sizeof *holder, spared_first);
        spare(&scratch, ask, holder, count, keep);
        free(holder);
    }
    return fits;
}
