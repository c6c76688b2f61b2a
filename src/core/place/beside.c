/* Chooses devices beside the room of pods that kube-scheduler has nominated to the node. */
#include "sliced/preempt.h"

#include "core/place/choose.h"

/* Takes out the victims: residents that are being deleted or, until those are seen going, all of a
 * lower priority than the preemptor's. */
static void remove_victims(struct sl_scratch *scratch, const struct sl_pod *preemptor, bool going)
{
    for (uint32_t i = 0; i < scratch->view->n_residents; i++) {
        const struct sl_pod *pod = scratch->view->resident[i].pod;
        if (going ? pod->deleting : !pod->deleting && pod->priority < preemptor->priority) {
            sl_scratch_remove(scratch, i);
        }
    }
}

/* The node's counters as they will be when the victims are gone and the nominated pods are there. A
 * pod that would not fit even then will not come. */
static void place_nominated(struct sl_scratch *later, struct sl_pod *const *nominated, size_t n)
{
    bool lower = false; /* were residents of lower priority taken out? */
    for (size_t i = 0; i < n; i++) {
        struct sl_ask ask;
        sl_pod_ask(nominated[i], &ask);
        if (!sl_choose_on(later, &ask, NULL, NULL) && !lower) {
            remove_victims(later, nominated[i], false);
            (void)sl_choose_on(later, &ask, NULL, NULL);
            lower = true;
        }
    }
}

bool sl_choose_beside(const struct sl_view *view, struct sl_pod *const *nominated, size_t n,
                      const struct sl_ask *ask, struct sl_assignment *assignment,
                      struct sl_verdict *verdict)
{
    struct sl_scratch now;
    struct sl_scratch later;
    if (n == 0 || !sl_fit(view, ask, verdict)) {
        return sl_choose(view, ask, assignment, verdict);
    }
    sl_scratch_init(&later, view);
    remove_victims(&later, NULL, true);
    place_nominated(&later, nominated, n);
    sl_scratch_init(&now, view);
    sl_scratch_raise(&now, &later);
    bool fits = sl_choose_on(&now, ask, assignment, verdict);
    if (!fits && verdict != NULL) {
        verdict->reason = SL_REASON_NOMINATED;
    }
    return fits;
}
