/* Which of the scheduler's victims really have to go for an ask to fit. */
#include "sliced/preempt.h"

#include <stdlib.h>

#include "core/choose.h"
#include "core/uids.h"

/* A victim that runs here. */
struct holder {
    uint32_t resident;
    uint32_t victim; /* index in victims */
    int32_t priority;
    bool units; /* it has some of what the node offers */
};

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

/* Does the same pod stand before it in the list? */
static bool is_again(const struct holder *holder, size_t i)
{
    return i > 0 && holder[i].resident == holder[i - 1].resident;
}

/* Books victims again, one after the other, as long as the ask still fits. What fits beside a
 * resident fits without it, so one pass leaves nobody who could be spared. */
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
        keep[holder[i].victim] = !would_fit(scratch, ask, NULL);
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
    bool fits = would_fit(&scratch, ask, verdict);
    for (size_t i = 0; i < n; i++) {
        keep[i] = fits;
    }
    /* Where nobody had to go for it, it was something else that the scheduler wants them gone for.
     * A node without victims would fail the pod's whole preemption: "expected at least one victim
     * pod" (kube-scheduler, framework/preemption, callExtenders). */
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
