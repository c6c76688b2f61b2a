/* Drains: for the first pods that no cut serves now, the node that pods' enforced timeouts free
 * earliest. Its free units are kept from pods that would run longer, so that it can be cut then.
 */
#include <stdlib.h>

#include "core/cut/node/place.h"
#include "core/cut/node/shape.h"
#include "core/cut/planner.h"
#include "sliced/admit.h"
#include "util/data/sat.h"
#include "util/data/share.h"
#include "util/time.h"

enum {
    PODS = 10, /* that are looked at, of different asks; at most 8 of one namespace */
    ENDS_MAX = 64,
    DRAINS = sizeof(((struct sl_cutter *)NULL)->drain) / sizeof(struct sl_cut_drain),
    DRAIN_WORK = 600000,
    READ_WORK = 250,
};

struct search {
    struct sl_cutter *cutter;
    const struct sl_cut_pod *pod;
    struct sl_ask ask;
    struct sl_cut_device device[SL_NODE_DEVICES_MAX];
    size_t first;      /* of the pods with the same wants: the one that has waited the longest, */
    int64_t latest_us; /* and when the last of them starts without a cut */
    struct sl_cut_drain best; /* so far */
};

static bool wants_the_same(const struct sl_pod *a, const struct sl_pod *b)
{
    bool same =
        a->constraints == b->constraints || (a->constraints != NULL && b->constraints != NULL &&
                                             a->constraints->digest == b->constraints->digest);
    return same && sl_pod_same_ask(a, b);
}

/* Finds out about the pods that want the same as the pod and that no cut serves now. */
static void look_at_alike(struct search *search, size_t pod)
{
    const struct sl_cut_input *input = search->cutter->input;
    search->pod = &input->pod[pod];
    search->first = pod;
    search->latest_us = sl_cut_latest(search->pod);
    for (size_t i = pod + 1; i < input->n_pods && search->cutter->work > 0; i++) {
        const struct sl_cut_pod *other = &input->pod[i];
        search->cutter->work--;
        if (other->has_room || search->cutter->place[i] >= 0 ||
            !wants_the_same(other->pod, search->pod->pod)) {
            continue;
        }
        search->first = other->ready_us < input->pod[search->first].ready_us ? i : search->first;
        int64_t latest = sl_cut_latest(other);
        search->latest_us = latest > search->latest_us ? latest : search->latest_us;
    }
}

/* Notes the GPUs of which the pod needs something, and their resources. */
static void note_keys(const struct sl_cut_node *node, struct sl_cut_drain *drain)
{
    const struct sl_node *from = node->view->node;
    uint64_t pools = 0;
    drain->n_devices = 0;
    for (unsigned d = node->n; d-- > 0;) {
        bool changes = node->single || sl_cut_device_changes(&node->device[d]);
        drain->device = changes ? node->device[d].index : drain->device;
        drain->n_devices = (uint16_t)(drain->n_devices + changes);
    }
    for (unsigned i = 0; i < from->n_instances; i++) {
        const struct sl_instance *instance = &from->instance[i];
        if (sl_cut_device_changes(&node->device[instance->device])) {
            pools |= UINT64_C(1) << instance->pool;
        }
    }
    drain->n_keys = 0;
    for (unsigned p = 0; p < from->n_pools; p++) {
        bool all = node->single || node->shares || !sl_kinds[from->pool[p].kind].instance;
        if (all || (pools >> p & 1) != 0) {
            drain->key[drain->n_keys] = from->pool[p].key;
            drain->n_keys++;
        }
    }
}

static bool serves_later(struct search *search, size_t i, int64_t until_us,
                         struct sl_cut_drain *drain)
{
    struct sl_cutter *cutter = search->cutter;
    const struct sl_cut_input *input = cutter->input;
    struct sl_cut_node node;
    int64_t before = cutter->table.packed;
    bool serves = sl_cut_node_read_later(&node, search->device, &cutter->table, input->view[i],
                                         input->limits.mig_mode, until_us, input->now_us) &&
                  sl_cut_node_could(&node, &search->ask) &&
                  sl_cut_node_take(&node, &search->ask, true);
    cutter->work -= READ_WORK + (cutter->table.packed - before) * 12;
    if (serves) {
        note_keys(&node, drain);
        drain->until_us = until_us;
    }
    return serves;
}

static int earlier_first(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* Lists the ends of the node's pods before limit_us, in order. */
static unsigned ends_of(const struct sl_view *view, int64_t now_us, int64_t limit_us,
                        int64_t ends[ENDS_MAX])
{
    unsigned n = 0;
    for (uint32_t r = 0; r < view->n_residents && n < ENDS_MAX; r++) {
        int64_t end = sl_cut_end_of(view->resident[r].pod, now_us);
        if (end < limit_us) {
            ends[n] = end;
            n++;
        }
    }
    qsort(ends, n, sizeof(ends[0]), earlier_first);
    return n;
}

/* Would a drain until then break what another pod was promised? Under a stream of small pods some
 * promise is always due soon, and a large pod has none, as no node offers what it asks for: once it
 * has been patient, it does not wait for the promises of pods that came after it. */
static bool breaks_promise(const struct search *search, size_t i, int64_t until_us)
{
    const struct sl_cut_input *input = search->cutter->input;
    const struct sl_cut_pod *first = &input->pod[search->first];
    bool waited = sl_cut_is_patient(first->ready_us, first->timeout_us, until_us, input->now_us);
    for (size_t k = 0; k < input->n_pods; k++) {
        const struct sl_cut_pod *other = &input->pod[k];
        if (other == search->pod || other->latest_us == 0 || other->latest_us >= until_us ||
            (waited && other->ready_us > first->ready_us)) {
            continue;
        }
        for (uint32_t item = 0; item < other->pod->n_items; item++) {
            if (sl_view_pool(input->view[i], other->pod->items[item].key) >= 0) {
                return true;
            }
        }
    }
    return false;
}

static bool may_drain(const struct search *search, size_t i)
{
    const struct sl_cut_input *input = search->cutter->input;
    const struct sl_view *view = input->view[i];
    const struct sl_pod *pod = search->pod->pod;
    if (input->site[i].out || view->withheld || view->n_residents == 0 ||
        sl_cut_agent_is_busy(&view->node->partition) ||
        view->node->partition.actuator == SL_ACTUATOR_NONE) {
        return false;
    }
    search->cutter->work -= sl_cut_match_work(pod);
    return sl_constraints_admit(pod->constraints, view->node) == SL_CONSTRAINT_NONE;
}

static bool is_drained(const struct sl_cutter *cutter, size_t view, size_t n_drains)
{
    bool found = false;
    for (size_t k = 0; k < n_drains; k++) {
        found = found || cutter->drain[k].view == view;
    }
    return found;
}

static bool is_taken(const struct sl_cutter *cutter, size_t view, size_t n_drains)
{
    for (size_t k = 0; k < cutter->n_opened; k++) {
        if (cutter->candidate[cutter->opened[k]].view == view) {
            return true;
        }
    }
    return is_drained(cutter, view, n_drains);
}

/* Looks whether the node can serve the pod earlier than the best so far, and than without a cut. */
static void try_node(struct search *search, size_t i)
{
    const struct sl_cut_input *input = search->cutter->input;
    int64_t seconds = input->site[i].seconds_us;
    int64_t start = search->latest_us;
    /* The drain must save more waiting than the cut takes. */
    int64_t limit = start == INT64_MAX ? INT64_MAX : start - 2 * seconds;
    limit = search->best.until_us < limit ? search->best.until_us : limit;
    int64_t ends[ENDS_MAX];
    unsigned n = ends_of(input->view[i], input->now_us, limit, ends);
    struct sl_cut_drain drain = {.view = i};
    if (n == 0 || !serves_later(search, i, ends[n - 1], &drain)) {
        return;
    }
    unsigned low = 0; /* it serves at ends[high] */
    unsigned high = n - 1;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (serves_later(search, i, ends[middle], &drain)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (!breaks_promise(search, i, sl_sat_add(drain.until_us, seconds))) {
        search->best = drain;
    }
}

static bool find_drain(struct search *search, size_t pod, size_t n_drains)
{
    struct sl_cutter *cutter = search->cutter;
    look_at_alike(search, pod);
    search->best.until_us = INT64_MAX;
    for (size_t i = 0; i < cutter->input->n_views && cutter->work > 0; i++) {
        if (may_drain(search, i) && !is_taken(cutter, i, n_drains)) {
            try_node(search, i);
        }
    }
    return search->best.until_us != INT64_MAX;
}

/* Goes on with the drain of a node, for a pod with that ask; false: it has ended. When a pod has
 * just ended, a nos agent still tells of what it held; and a cut waits for the batch window: a
 * drain that ended for that would give away what has come free. */
static bool drain_goes_on(struct search *search, size_t i, size_t pod)
{
    struct sl_cutter *cutter = search->cutter;
    const struct sl_cut_input *input = cutter->input;
    const struct sl_cut_site *site = &input->site[i];
    if (site->out || input->view[i]->withheld ||
        sl_sat_add(site->drains_until_us, SL_CUT_DRAIN_GRACE_US) <= input->now_us) {
        return false;
    }
    look_at_alike(search, pod);
    search->best = (struct sl_cut_drain){.view = i, .until_us = site->drains_until_us};
    int32_t place = cutter->place[pod];
    bool elsewhere = place >= 0 && cutter->candidate[place].view != i;
    if (elsewhere || search->pod->has_room || !sl_cut_ask(search->pod->pod, &search->ask) ||
        breaks_promise(search, i, sl_sat_add(search->best.until_us, site->seconds_us))) {
        return false;
    }
    if (place < 0 && may_drain(search, i)) {
        try_node(search, i); /* those that must go may have ended early */
    }
    if (search->best.until_us <= input->now_us) {
        search->best.until_us = site->drains_until_us;
    }
    return true;
}

/* Goes on with a drain that is for the pod, or for one with the same ask; false: there is none. */
static bool keep_drain(struct search *search, size_t pod, const size_t *drained, size_t n_drained,
                       size_t n_drains)
{
    const struct sl_cut_input *input = search->cutter->input;
    for (size_t k = 0; k < n_drained; k++) {
        const struct sl_cut_pod *old = &input->pod[input->site[drained[k]].drains_for - 1];
        if (sl_pod_same_ask(old->pod, input->pod[pod].pod) &&
            !is_drained(search->cutter, drained[k], n_drains) &&
            drain_goes_on(search, drained[k], pod)) {
            return true;
        }
    }
    return false;
}

/* Does a node drain for a pod with that ask? */
static bool is_served(const struct sl_cutter *cutter, const struct sl_pod *pod, size_t n_drains)
{
    bool served = false;
    for (size_t k = 0; k < n_drains; k++) {
        const struct sl_pod *other = cutter->input->pod[cutter->drain[k].pod].pod;
        served = served || sl_pod_same_ask(other, pod);
    }
    return served;
}

/* Lists the nodes that drain. */
static size_t drained_list(const struct sl_cut_input *input, size_t out[DRAINS])
{
    size_t n = 0;
    for (size_t i = 0; i < input->n_views && n < DRAINS; i++) {
        if (input->site[i].drains_for != 0) {
            out[n] = i;
            n++;
        }
    }
    return n;
}

size_t sl_cut_find_drains(struct sl_cutter *cutter)
{
    const struct sl_cut_input *input = cutter->input;
    struct search search = {.cutter = cutter};
    const struct sl_pod *before = NULL;
    size_t drained[DRAINS];
    size_t n_drained = drained_list(input, drained);
    size_t n = 0;
    size_t looked = 0;
    cutter->work = DRAIN_WORK;
    if (sl_cut_tally_clear(&cutter->spent, input->n_pods) < 0 ||
        sl_cut_tally_clear(&cutter->looked, input->n_pods) < 0) {
        return 0;
    }
    for (size_t i = 0; i < input->n_pods && n < DRAINS && looked < PODS; i++) {
        const struct sl_pod *pod = input->pod[i].pod;
        if (input->pod[i].has_room || (before != NULL && sl_pod_same_ask(before, pod)) ||
            is_served(cutter, pod, n)) {
            continue;
        }
        bool found = keep_drain(&search, i, drained, n_drained, n);
        int64_t *own = sl_cut_tally_at(&cutter->looked, sl_cut_space(pod));
        int64_t *spent = sl_cut_spent(cutter, pod);
        if (!found && cutter->place[i] < 0 && sl_share_allows((size_t)*own, looked, PODS) &&
            spent != NULL && sl_cut_ask(pod, &search.ask)) {
            *own += 1;
            looked++;
            before = pod;
            int64_t work = cutter->work;
            found = find_drain(&search, i, n);
            *spent += work - cutter->work;
        }
        if (found) {
            cutter->drain[n] = search.best;
            cutter->drain[n].pod = search.first;
            n++;
        }
    }
    return n;
}
