/* The nodes that may be cut: reads them, and takes what pods of the plan need there. */
#include "core/cut/node/place.h"
#include "core/cut/planner.h"
#include "core/place/choose.h"
#include "sliced/admit.h"
#include "util/data/vec.h"

enum {
    ADMIT_WORK = 10,
    MATCH_WORK = 3, /* of an expression or a value of the pod's constraints */
    TAKE_WORK = 60,
    PACK_WORK = 12,
};

static void count_supply(const struct sl_cut_input *input, const struct sl_mig_model *model,
                         int64_t supply[SL_MIG_PROFILES_MAX])
{
    memset(supply, 0, SL_MIG_PROFILES_MAX * sizeof(supply[0]));
    for (size_t i = 0; i < input->n_views; i++) {
        const struct sl_view *view = input->view[i];
        for (unsigned p = 0; p < view->n_pools; p++) {
            int index = sl_model_index(model, view->node->pool[p].profile);
            if (index >= 0) {
                supply[index] += view->room[p].free;
            }
        }
    }
}

static const struct sl_cut_weights *weights_of(struct sl_cutter *cutter,
                                               const struct sl_mig_model *model)
{
    for (unsigned i = 0; i < cutter->n_weights; i++) {
        if (cutter->weights[i].model == model) {
            return &cutter->weights[i];
        }
    }
    if (model == NULL || cutter->n_weights == SL_CUT_MODELS_MAX) {
        return NULL;
    }
    struct sl_cut_weights *fresh = &cutter->weights[cutter->n_weights];
    cutter->n_weights++;
    fresh->model = model;
    for (unsigned p = 0; p < model->n_profiles; p++) {
        fresh->weight[p] = sl_demand_weight(cutter->input->demand, &model->profiles[p]);
    }
    count_supply(cutter->input, model, fresh->supply);
    return fresh;
}

static size_t devices_of(const struct sl_cut_input *input, size_t i)
{
    const struct sl_view *view = input->view[i];
    size_t n = view->node->n_devices;
    size_t told = view->node->partition.n_gpus;
    if (input->site[i].n_making > 0) {
        return input->site[i].n_making;
    }
    return told > n && told <= SL_NODE_DEVICES_MAX ? told : n;
}

static bool is_site_open(const struct sl_cut_input *input, size_t i)
{
    bool open = !input->site[i].out || input->site[i].n_making > 0;
    return open && input->view[i]->node->partition.actuator != SL_ACTUATOR_NONE;
}

static void candidate_add(struct sl_cutter *cutter, size_t i, struct sl_cut_device *device)
{
    const struct sl_cut_input *input = cutter->input;
    struct sl_cut_candidate *candidate = &cutter->candidate[cutter->n_candidates];
    const struct sl_view *view = input->view[i];
    const struct sl_cut_site *site = &input->site[i];
    candidate->making = site->n_making > 0;
    bool read =
        candidate->making
            ? sl_cut_node_read_made(&candidate->node, device, view, site->making, site->n_making)
            : sl_cut_node_read(&candidate->node, device, &cutter->table, view, input->limits) ==
                  SL_CUT_BAR_NONE;
    if (!read) {
        return;
    }
    candidate->started = (struct sl_host_use){0};
    candidate->view = i;
    candidate->ready_us = candidate->making ? site->made_us : input->now_us + site->seconds_us;
    candidate->drains_for = site->drains_for;
    candidate->opened = false;
    candidate->held = false;
    candidate->out = false;
    for (unsigned d = 0; d < candidate->node.n; d++) {
        device[d].packed = &cutter->table.packed;
        const struct sl_cut_weights *weights = weights_of(cutter, device[d].model);
        device[d].weight = weights == NULL ? NULL : weights->weight;
        device[d].supply = weights == NULL ? NULL : weights->supply;
    }
    cutter->n_candidates++;
}

int sl_cut_read_candidates(struct sl_cutter *cutter)
{
    const struct sl_cut_input *input = cutter->input;
    size_t n = 0;
    size_t n_devices = 0;
    for (size_t i = 0; i < input->n_views; i++) {
        n += is_site_open(input, i);
        n_devices += is_site_open(input, i) ? devices_of(input, i) : 0;
    }
    if (sl_vec_reserve(&cutter->candidate, &cutter->candidate_cap, n, sizeof(*cutter->candidate)) <
            0 ||
        sl_vec_reserve(&cutter->device, &cutter->device_cap, n_devices, sizeof(*cutter->device)) <
            0) {
        return -1;
    }
    cutter->n_candidates = 0;
    cutter->n_weights = 0;
    cutter->table.n = 0;
    size_t at = 0;
    for (size_t i = 0; i < input->n_views; i++) {
        if (is_site_open(input, i)) {
            candidate_add(cutter, i, &cutter->device[at]);
            at += devices_of(input, i);
        }
    }
    return 0;
}

void sl_cut_open_making(struct sl_cutter *cutter)
{
    cutter->n_opened = 0;
    for (size_t i = 0; i < cutter->n_candidates && cutter->n_opened < cutter->n_making; i++) {
        if (cutter->candidate[i].making) {
            cutter->candidate[i].opened = true;
            cutter->opened[cutter->n_opened] = i;
            cutter->n_opened++;
        }
    }
    cutter->max_opened -= cutter->n_making - cutter->n_opened; /* some could not be read */
    cutter->n_making = cutter->n_opened;
}

void sl_cut_reset_candidates(struct sl_cutter *cutter)
{
    for (size_t i = 0; i < cutter->n_candidates; i++) {
        struct sl_cut_candidate *candidate = &cutter->candidate[i];
        if (candidate->opened || candidate->held) {
            candidate->started = (struct sl_host_use){0};
            sl_cut_node_reset(&candidate->node);
            candidate->opened = false;
            candidate->held = false;
        }
    }
}

bool sl_cut_ask(const struct sl_pod *pod, struct sl_ask *out)
{
    sl_pod_ask(pod, out);
    return !out->malformed && out->n > 0 && pod->n_items <= SL_ASK_ITEMS_MAX;
}

uint64_t sl_cut_space(const struct sl_pod *pod)
{
    return sl_hash(pod->namespace, strlen(pod->namespace));
}

int64_t *sl_cut_spent(struct sl_cutter *cutter, const struct sl_pod *pod)
{
    int64_t *spent = sl_cut_tally_at(&cutter->spent, sl_cut_space(pod));
    return *spent > cutter->work ? NULL : spent;
}

int64_t sl_cut_match_work(const struct sl_pod *pod)
{
    return pod->constraints == NULL ? 0 : (int64_t)pod->constraints->weight * MATCH_WORK;
}

int64_t sl_cut_latest(const struct sl_cut_pod *pod)
{
    return pod->start_us > 0 ? pod->start_us : INT64_MAX;
}

bool sl_cut_is_ahead(const struct sl_cut_candidate *candidate, const struct sl_cut_pod *pod)
{
    return candidate->ready_us < sl_cut_latest(pod);
}

bool sl_cut_take(struct sl_cutter *cutter, struct sl_cut_candidate *candidate,
                 const struct sl_pod *pod, const struct sl_ask *ask, bool thorough)
{
    cutter->work -= ADMIT_WORK;
    if (!sl_cut_node_could(&candidate->node, ask)) {
        return false;
    }
    cutter->work -= sl_cut_match_work(pod);
    if (sl_constraints_admit_beside(pod->constraints, candidate->node.view, &candidate->started) !=
        SL_CONSTRAINT_NONE) {
        return false;
    }
    int64_t before = cutter->table.packed;
    bool taken = sl_cut_node_take(&candidate->node, ask, thorough);
    cutter->work -= TAKE_WORK + (cutter->table.packed - before) * PACK_WORK;
    if (!taken) {
        return false;
    }
    sl_host_use_add(&candidate->started, pod);
    return true;
}
