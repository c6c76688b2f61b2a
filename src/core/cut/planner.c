/* Plans cuts: walks the pods, then decides the placements on the nodes that it opened for them. */
#include <stdlib.h>

#include "core/cut/node/finish.h"
#include "core/cut/planner.h"
#include "util/data/vec.h"

enum { TRIES = 4, OPENED_MAX = 64 };

struct sl_cutter *sl_cutter_new(struct sl_error *err)
{
    struct sl_cutter *cutter = calloc(1, sizeof(*cutter));
    if (cutter == NULL) {
        (void)sl_error_nomem(err);
    }
    return cutter;
}

void sl_cutter_free(struct sl_cutter *cutter)
{
    if (cutter == NULL) {
        return;
    }
    sl_cut_tally_free(&cutter->failed);
    sl_cut_tally_free(&cutter->spent);
    sl_cut_tally_free(&cutter->looked);
    free(cutter->candidate);
    free(cutter->device);
    free(cutter->opened);
    free(cutter->place);
    free(cutter->plan);
    free(cutter->cut);
    free(cutter->pod);
    free(cutter);
}

/* -1: out of memory. */
static int make_room(struct sl_cutter *cutter)
{
    const struct sl_cut_input *input = cutter->input;
    size_t plans = cutter->max_opened;
    if (sl_cut_tally_clear(&cutter->failed, input->n_pods) < 0 ||
        sl_cut_tally_clear(&cutter->spent, input->n_pods) < 0 ||
        sl_vec_reserve(&cutter->opened, &cutter->opened_cap, plans, sizeof(*cutter->opened)) < 0 ||
        sl_vec_reserve(&cutter->place, &cutter->place_cap, input->n_pods, sizeof(*cutter->place)) <
            0 ||
        sl_vec_reserve(&cutter->plan, &cutter->plan_cap, plans, sizeof(*cutter->plan)) < 0 ||
        sl_vec_reserve(&cutter->cut, &cutter->cut_cap, plans * SL_NODE_DEVICES_MAX,
                       sizeof(*cutter->cut)) < 0 ||
        sl_vec_reserve(&cutter->pod, &cutter->pod_cap, input->n_pods, sizeof(*cutter->pod)) < 0) {
        return -1;
    }
    return 0;
}

static bool has_failed(const struct sl_cut_site *site, uint64_t digest)
{
    for (size_t i = 0; i < sizeof(site->failed) / sizeof(site->failed[0]); i++) {
        if (site->failed[i] == digest) {
            return true;
        }
    }
    return false;
}

/* Returns the memory that the cuts make: in memory slices, or in GB where it is shared. */
static int32_t memory_of(const struct sl_cut_node *node, const struct sl_cut_plan *plan)
{
    int32_t sum = 0;
    unsigned d = 0;
    for (unsigned i = 0; i < plan->n_cuts; i++) {
        const struct sl_cut *cut = &plan->cut[i];
        while (node->device[d].index != cut->device) {
            d++;
        }
        const struct sl_mig_model *model = node->device[d].model;
        sum += cut->whole ? model->memory_slices : 0;
        for (unsigned k = 0; k < cut->n; k++) {
            sum += model->profiles[cut->instance[k].profile].memory;
        }
        for (unsigned k = 0; k < cut->n_sizes; k++) {
            sum += cut->slices[k].gb * cut->slices[k].n;
        }
    }
    return sum;
}

/* Decides the placements on an opened node, in a way that did not fail there lately and makes no
 * less than the best one; false when there is none, or nothing changes. */
static bool settle(struct sl_cutter *cutter, const struct sl_cut_candidate *candidate,
                   struct sl_cut_plan *plan)
{
    const struct sl_cut_site *site = &cutter->input->site[candidate->view];
    int32_t best = 0;
    for (unsigned variant = 0; variant < SL_CUT_VARIANTS; variant++) {
        plan->n_cuts = (uint16_t)sl_cut_node_finish(&candidate->node, variant, plan->cut);
        plan->digest = sl_cut_digest(candidate->node.view->node, plan->cut, plan->n_cuts);
        int32_t memory = memory_of(&candidate->node, plan);
        best = memory > best ? memory : best;
        if (plan->n_cuts > 0 && memory >= best && !has_failed(site, plan->digest)) {
            return true;
        }
    }
    return false;
}

/* Makes the plans of all opened nodes. Returns how many had to be left out, which are out then. */
static size_t settle_all(struct sl_cutter *cutter, size_t *n_plans)
{
    size_t refused = 0;
    size_t n_pods = 0;
    *n_plans = 0;
    for (size_t k = 0; k < cutter->n_opened; k++) {
        struct sl_cut_candidate *candidate = &cutter->candidate[cutter->opened[k]];
        struct sl_cut_plan *plan = &cutter->plan[*n_plans];
        plan->view = candidate->view;
        plan->start_us = candidate->ready_us;
        plan->n_cuts = 0;
        plan->digest = 0;
        plan->cut = &cutter->cut[*n_plans * SL_NODE_DEVICES_MAX];
        plan->pod = &cutter->pod[n_pods];
        plan->n_pods = 0;
        if (!candidate->making && !settle(cutter, candidate, plan)) {
            candidate->out = true;
            refused++;
            continue;
        }
        for (size_t i = 0; i < cutter->input->n_pods; i++) {
            if (cutter->place[i] == (int32_t)cutter->opened[k]) {
                plan->pod[plan->n_pods] = i;
                plan->n_pods++;
            }
        }
        n_pods += plan->n_pods;
        *n_plans += plan->n_pods > 0; /* of a cut under way maybe none */
    }
    return refused;
}

/* Counts the nodes whose cut is under way, as far as they are looked at. */
static size_t count_making(const struct sl_cut_input *input)
{
    size_t n = 0;
    for (size_t i = 0; i < input->n_views && n < OPENED_MAX; i++) {
        n += input->site[i].n_making > 0;
    }
    return n;
}

int sl_cutter_plan(struct sl_cutter *cutter, const struct sl_cut_input *input,
                   struct sl_cut_output *output, struct sl_error *err)
{
    *output = (struct sl_cut_output){0};
    cutter->input = input;
    cutter->n_making = count_making(input);
    cutter->max_opened = input->max_plans < OPENED_MAX ? input->max_plans : OPENED_MAX;
    cutter->max_opened += cutter->n_making;
    cutter->work = SL_CUT_WORK;
    if (input->n_pods == 0 || (cutter->max_opened == 0 && !input->drain)) {
        return 0;
    }
    if (make_room(cutter) < 0 || sl_cut_read_candidates(cutter) < 0) {
        return sl_error_nomem(err);
    }
    for (unsigned tries = 0; tries < TRIES; tries++) {
        sl_cut_open_making(cutter);
        sl_cut_walk(cutter);
        size_t refused = settle_all(cutter, &output->n_plans);
        if (refused == 0) {
            break;
        }
        sl_cut_reset_candidates(cutter);
        if (sl_cut_tally_clear(&cutter->failed, input->n_pods) < 0) {
            return sl_error_nomem(err);
        }
    }
    output->plan = cutter->plan;
    output->drain = cutter->drain;
    output->n_drains = input->drain ? sl_cut_find_drains(cutter) : 0;
    return 0;
}
