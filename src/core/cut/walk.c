/* Walks the pods in order. What a node cannot give once it cannot give later: its room only
 * shrinks. So an ask that failed is not tried again. */
#include "core/cut/node/finish.h"
#include "core/cut/node/place.h"
#include "core/cut/planner.h"
#include "sliced/constraint.h"

/* Identifies pods that every node answers alike. */
static uint64_t ask_key(const struct sl_cut_pod *wanting, const struct sl_ask *ask)
{
    const struct sl_pod *pod = wanting->pod;
    struct {
        uint64_t has_room;
        uint64_t constraints;
        uint64_t item[SL_ASK_ITEMS_MAX][SL_ITEM_WORDS];
    } text = {.has_room = wanting->has_room + 2 * wanting->made,
              .constraints = pod->constraints == NULL ? 0 : pod->constraints->digest};
    for (unsigned i = 0; i < ask->n; i++) {
        sl_item_words(&ask->item[i], text.item[i]);
    }
    return sl_hash((const char *)&text, sizeof(text.has_room) + sizeof(text.constraints) +
                                            ask->n * sizeof(text.item[0]));
}

static bool node_changes(const struct sl_cut_node *node)
{
    struct sl_cut cut[SL_NODE_DEVICES_MAX];
    return sl_cut_node_finish(node, 0, cut) > 0;
}

/* Sets aside what a pod that has room would take; false: no node that may be cut has it. Else two
 * pods that kube-scheduler does not take yet could have a GPU remade for one another, to and fro.
 */
static bool hold_room(struct sl_cutter *cutter, const struct sl_cut_pod *wanting,
                      const struct sl_ask *ask)
{
    const struct sl_pod *pod = wanting->pod;
    for (size_t i = 0; i < cutter->n_candidates && cutter->work > 0; i++) {
        struct sl_cut_candidate *candidate = &cutter->candidate[i];
        const struct sl_host_use started = candidate->started;
        struct sl_cut_saved saved = {0};
        bool there = wanting->made > 0 ? candidate->making && candidate->view + 1 == wanting->made
                                       : !candidate->opened && !candidate->out;
        if (!there) {
            continue;
        }
        sl_cut_node_save(&candidate->node, &saved);
        if (!sl_cut_take(cutter, candidate, pod, ask, false)) {
            continue;
        }
        if (!node_changes(&candidate->node)) {
            candidate->held = true;
            return true;
        }
        sl_cut_node_restore(&candidate->node, &saved);
        candidate->started = started;
    }
    return false;
}

static int64_t place_pod(struct sl_cutter *cutter, size_t i, const struct sl_ask *ask)
{
    const struct sl_cut_pod *pod = &cutter->input->pod[i];
    for (size_t k = 0; k < cutter->n_opened; k++) {
        struct sl_cut_candidate *candidate = &cutter->candidate[cutter->opened[k]];
        if (sl_cut_is_ahead(candidate, pod) &&
            sl_cut_take(cutter, candidate, pod->pod, ask, true)) {
            return (int64_t)cutter->opened[k];
        }
    }
    int64_t best = cutter->n_opened < cutter->max_opened ? sl_cut_best_node(cutter, i, ask) : -1;
    if (best < 0 || !sl_cut_take(cutter, &cutter->candidate[best], pod->pod, ask, true)) {
        return -1;
    }
    cutter->candidate[best].opened = true;
    cutter->opened[cutter->n_opened] = (size_t)best;
    cutter->n_opened++;
    return best;
}

void sl_cut_walk(struct sl_cutter *cutter)
{
    const struct sl_cut_input *input = cutter->input;
    for (size_t i = 0; i < input->n_pods; i++) {
        const struct sl_pod *pod = input->pod[i].pod;
        struct sl_ask ask;
        cutter->place[i] = -1;
        if (cutter->work <= 0 || !sl_cut_ask(pod, &ask)) {
            continue;
        }
        int64_t *failed = sl_cut_tally_at(&cutter->failed, ask_key(&input->pod[i], &ask));
        int64_t *spent = sl_cut_spent(cutter, pod);
        if (*failed >= sl_cut_latest(&input->pod[i]) || spent == NULL) {
            continue;
        }
        int64_t before = cutter->work;
        bool held = input->pod[i].has_room && hold_room(cutter, &input->pod[i], &ask);
        if (!input->pod[i].has_room) {
            cutter->place[i] = (int32_t)place_pod(cutter, i, &ask);
        }
        if (cutter->place[i] < 0 && !held) {
            *failed = sl_cut_latest(&input->pod[i]);
        }
        *spent += before - cutter->work;
    }
}
