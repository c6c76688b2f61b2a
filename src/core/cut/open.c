/* Chooses the node to be cut next: the one which serves most of the pods that follow, in their
 * order; then the one of least change. Looks closely at a few that change least, and at a few with
 * the most room. */
#include "core/cut/node/place.h"
#include "core/cut/node/shape.h"
#include "core/cut/planner.h"

enum {
    FEW = 6,
    AHEAD = 64,             /* pods looked at for each, and bits of a mask */
    LOOK_WORK = 5,          /* at a node that cannot serve */
    TRIED = 128,            /* nodes that could serve */
    SEEN = 4 * TRIED,       /* slots for their kinds, most of them empty */
    UNKNOWN_WAIT = 1 << 30, /* seconds saved for a pod that would else start at no known time */
};

struct outlook {
    size_t candidate;
    uint64_t served; /* the highest bit: the pod itself; then those that follow */
    int64_t lost;    /* worth of free instances that go */
    int32_t slices;  /* of the node, that may change */
    unsigned changed;
};

static void node_measure(const struct sl_cut_node *node, struct outlook *out)
{
    out->lost = 0;
    out->changed = node->single ? node->n : 0;
    for (unsigned d = 0; !node->single && d < node->n; d++) {
        uint8_t counts[SL_MIG_PROFILES_MAX];
        if (sl_cut_device_changes(&node->device[d])) {
            out->lost += sl_cut_device_keep(&node->device[d], counts);
            out->changed++;
        }
    }
}

static bool least_change(const struct outlook *a, const struct outlook *b)
{
    if (a->lost != b->lost || a->changed != b->changed) {
        return a->lost != b->lost ? a->lost < b->lost : a->changed < b->changed;
    }
    return a->slices != b->slices ? a->slices < b->slices : a->candidate < b->candidate;
}

static bool most_room(const struct outlook *a, const struct outlook *b)
{
    return a->slices != b->slices ? a->slices > b->slices : least_change(a, b);
}

struct few {
    struct outlook outlook[FEW];
    unsigned n;
    bool (*before)(const struct outlook *a, const struct outlook *b);
};

/* Keeps the first few in their order. */
static void few_add(struct few *few, const struct outlook *one)
{
    unsigned at = few->n;
    while (at > 0 && few->before(one, &few->outlook[at - 1])) {
        at--;
    }
    if (at == FEW) {
        return;
    }
    few->n += few->n < FEW;
    for (unsigned i = few->n - 1; i > at; i--) {
        few->outlook[i] = few->outlook[i - 1];
    }
    few->outlook[at] = *one;
}

/* Tries the pods from the first on, on a node that the plan leaves as it was. */
static void look_ahead(struct sl_cutter *cutter, struct outlook *out, size_t first)
{
    const struct sl_cut_input *input = cutter->input;
    struct sl_cut_candidate *candidate = &cutter->candidate[out->candidate];
    struct sl_cut_saved saved = {0};
    const struct sl_host_use started = candidate->started;
    int64_t seconds = 0;
    unsigned tried = 0;
    sl_cut_node_save(&candidate->node, &saved);
    for (size_t i = first; i < input->n_pods && tried < AHEAD; i++, tried++) {
        const struct sl_cut_pod *pod = &input->pod[i];
        struct sl_ask ask;
        if (!pod->has_room && sl_cut_is_ahead(candidate, pod) && sl_cut_ask(pod->pod, &ask) &&
            sl_cut_take(cutter, candidate, pod->pod, &ask, ask.n > 1)) {
            out->served |= UINT64_C(1) << (AHEAD - 1 - tried);
            seconds +=
                pod->start_us == 0 ? UNKNOWN_WAIT : (pod->start_us - candidate->ready_us) / 1000000;
        }
    }
    node_measure(&candidate->node, out);
    sl_cut_node_restore(&candidate->node, &saved);
    candidate->started = started;
    /* A cut that saves less waiting than it takes is not worth it. */
    if (seconds < (candidate->ready_us - input->now_us) / 1000000) {
        out->served = 0;
    }
}

/* Returns the slot of the kind, or an empty one. None is ever taken from another kind: the process'
 * key says where kinds lie, and may not say which nodes are tried. */
static uint64_t *slot_of(uint64_t seen[SEEN], uint64_t alike)
{
    size_t at = alike % SEEN;
    while (seen[at] != 0 && seen[at] != alike) {
        at = (at + 1) % SEEN;
    }
    return &seen[at];
}

static void survey(struct sl_cutter *cutter, size_t pod, const struct sl_ask *ask,
                   struct few few[2])
{
    const struct sl_cut_pod *p = &cutter->input->pod[pod];
    uint64_t seen[SEEN] = {0};
    unsigned tried = 0;
    for (size_t i = 0; i < cutter->n_candidates && cutter->work > 0 && tried < TRIED; i++) {
        struct sl_cut_candidate *candidate = &cutter->candidate[i];
        cutter->work -= LOOK_WORK;
        bool drains = candidate->drains_for != 0 && candidate->drains_for < pod + 1;
        if (candidate->opened || candidate->out || drains || !sl_cut_is_ahead(candidate, p) ||
            !sl_cut_node_could(&candidate->node, ask)) {
            continue;
        }
        uint64_t *slot = slot_of(seen, candidate->node.alike);
        if (*slot == candidate->node.alike) {
            continue; /* the first one that took it stands for all; candidates come by name */
        }
        struct sl_cut_saved saved = {0};
        const struct sl_host_use started = candidate->started;
        tried++;
        sl_cut_node_save(&candidate->node, &saved);
        if (sl_cut_take(cutter, candidate, p->pod, ask, ask->n > 1)) {
            struct outlook one = {.candidate = i, .slices = candidate->node.slices};
            node_measure(&candidate->node, &one);
            *slot = candidate->node.alike;
            few_add(&few[0], &one);
            few_add(&few[1], &one);
            sl_cut_node_restore(&candidate->node, &saved);
            candidate->started = started;
        }
    }
}

int64_t sl_cut_best_node(struct sl_cutter *cutter, size_t pod, const struct sl_ask *ask)
{
    struct few few[2] = {{.before = least_change}, {.before = most_room}};
    const struct outlook *best = NULL;
    survey(cutter, pod, ask, few);
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < few[k].n; i++) {
            struct outlook *one = &few[k].outlook[i];
            look_ahead(cutter, one, pod);
            bool better = best == NULL || one->served > best->served ||
                          (one->served == best->served && least_change(one, best));
            best = one->served != 0 && better ? one : best;
        }
    }
    return best == NULL ? -1 : (int64_t)best->candidate;
}
