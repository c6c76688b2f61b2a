/* nos' rule:
 *
 * - a pod lacks what the cluster has not free for it alone, so many pods and one free slice lack
 *   nothing;
 * - nodes by name: each GPU gets, of a table of geometries, the one that provides the most
 * instances of those lacking and contains the counts in use, so small ones win; a node keeps its
 * new geometries when some pod fits there;
 * - no plan while a node has not reported the last one;
 * - the agent deletes the free instances of a GPU that changes, and creates the wanted ones in
 * every order until one works. Where instances in use lie so that none does, they are gone. */
#include "evidence/days/nos_rule.h"

#include <stdlib.h>

enum { GEOMETRIES = 12, PROFILES = 5 };

/* The geometries of an A100 in nos' table, by instances of 1g, 2g, 3g, 4g, 7g. */
static const uint8_t geometries[GEOMETRIES][PROFILES] = {
    {0, 0, 0, 0, 1}, {1, 1, 0, 1, 0}, {3, 0, 0, 1, 0}, {0, 0, 2, 0, 0},
    {1, 1, 1, 0, 0}, {3, 0, 1, 0, 0}, {0, 2, 1, 0, 0}, {2, 1, 1, 0, 0},
    {1, 3, 0, 0, 0}, {3, 2, 0, 0, 0}, {5, 1, 0, 0, 0}, {7, 0, 0, 0, 0},
};
static const uint8_t slices[PROFILES] = {1, 2, 3, 4, 7};

/* Instances by slices. */
struct counts {
    int of[PROFILES];
};

struct gpu {
    struct counts used;
    struct counts free;
    bool changed;
};

struct sl_nos_rule {
    struct gpu gpu[SL_NODE_DEVICES_MAX];   /* of the node under way */
    struct gpu trial[SL_NODE_DEVICES_MAX]; /* the same with other geometries */
    struct sl_cut_plan *plan;
    struct sl_cut *cut;
    size_t cap;
    bool *seated; /* by pod */
    size_t cap_pods;
};

struct sl_nos_rule *sl_nos_rule_new(struct sl_error *err)
{
    struct sl_nos_rule *rule = calloc(1, sizeof(*rule));
    if (rule == NULL) {
        (void)sl_error_nomem(err);
    }
    return rule;
}

void sl_nos_rule_free(struct sl_nos_rule *rule)
{
    if (rule != NULL) {
        free(rule->plan);
        free(rule->cut);
        free(rule->seated);
    }
    free(rule);
}

/* Index in slices; -1: nos knows no such profile. */
static int profile_of(unsigned compute, unsigned attributes)
{
    for (int p = 0; p < PROFILES && attributes == 0; p++) {
        if (slices[p] == compute) {
            return p;
        }
    }
    return -1;
}

/* The profile that the pod asks for, and how many of it. */
static int pod_profile(const struct sl_pod *pod, int *count)
{
    const struct sl_ask_item *item = &pod->items[0];
    *count = (int)item->count;
    return pod->n_items == 1 && sl_kinds[item->kind].instance
               ? profile_of(item->shape.compute, item->shape.attributes)
               : -1;
}

/* The model's profile that has those slices and memory in proportion. */
static const struct sl_mig_profile *model_profile(const struct sl_mig_model *model, int p)
{
    const struct sl_mig_profile *best = NULL;
    for (unsigned i = 0; i < model->n_profiles; i++) {
        const struct sl_mig_profile *profile = &model->profiles[i];
        if (profile->compute == slices[p] && profile->attributes == 0 &&
            (best == NULL || profile->memory < best->memory)) {
            best = profile;
        }
    }
    return best;
}

/* ---- what is there ---- */

static void gpus_read(const struct sl_view *view, struct gpu *gpu)
{
    const struct sl_node *node = view->node;
    memset(gpu, 0, node->n_devices * sizeof(*gpu));
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_mig_profile *profile = node->instance[i].profile;
        int p = profile == NULL ? -1 : profile_of(profile->compute, profile->attributes);
        struct gpu *at = &gpu[node->instance[i].device];
        if (p >= 0) {
            at->used.of[p] += view->instance_used[i] > 0 ? 1 : 0;
            at->free.of[p] += view->instance_used[i] > 0 ? 0 : 1;
        }
    }
}

static struct counts lacking_of(const struct sl_cut_input *input, struct sl_nos_rule *rule)
{
    struct counts free = {{0}};
    struct counts lacking = {{0}};
    for (size_t v = 0; v < input->n_views; v++) {
        gpus_read(input->view[v], rule->gpu);
        for (unsigned d = 0; d < input->view[v]->node->n_devices; d++) {
            for (int p = 0; p < PROFILES; p++) {
                free.of[p] += rule->gpu[d].free.of[p];
            }
        }
    }
    for (size_t i = 0; i < input->n_pods; i++) {
        int count = 0;
        int p = pod_profile(input->pod[i].pod, &count);
        if (p >= 0 && count > free.of[p]) {
            lacking.of[p] += count - free.of[p];
        }
    }
    return lacking;
}

/* ---- geometries ---- */

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static bool geometry_holds(const uint8_t *geometry, const struct counts *used)
{
    for (int p = 0; p < PROFILES; p++) {
        if (geometry[p] < used->of[p]) {
            return false;
        }
    }
    return true;
}

/* How many of the lacking instances the GPU would have free. It does not count what it has free
 * already, unless that is too few. */
static int provided_by(const uint8_t *geometry, const struct gpu *gpu, const struct counts *lacking)
{
    int provided = 0;
    for (int p = 0; p < PROFILES; p++) {
        int fresh = geometry[p] - gpu->used.of[p];
        provided += gpu->free.of[p] < lacking->of[p] ? smaller(fresh, lacking->of[p]) : 0;
    }
    return provided;
}

/* Gives the GPU the geometry that provides most of what lacks, and takes that off what lacks. */
static bool gpu_update(struct gpu *gpu, struct counts *lacking)
{
    int most = 0;
    const uint8_t *best = NULL;
    for (int g = 0; g < GEOMETRIES; g++) {
        bool holds = geometry_holds(geometries[g], &gpu->used);
        int provided = holds ? provided_by(geometries[g], gpu, lacking) : 0;
        best = provided > most ? geometries[g] : best;
        most = provided > most ? provided : most;
    }
    for (int p = 0; best != NULL && p < PROFILES; p++) {
        gpu->free.of[p] = best[p] - gpu->used.of[p];
        lacking->of[p] -= smaller(lacking->of[p], gpu->free.of[p]);
    }
    gpu->changed = best != NULL;
    return best != NULL;
}

/* ---- a node ---- */

/* Takes the pod's slices of the node's free ones. */
static bool pod_seat(struct gpu *gpu, unsigned n, int profile, int count)
{
    int there = 0;
    for (unsigned d = 0; d < n; d++) {
        there += gpu[d].free.of[profile];
    }
    if (there < count) {
        return false;
    }
    for (unsigned d = 0; d < n; d++) {
        int take = smaller(count, gpu[d].free.of[profile]);
        gpu[d].free.of[profile] -= take;
        gpu[d].used.of[profile] += take; /* the plan's: the geometry holds it */
        count -= take;
    }
    return true;
}

/* The agent's way to a geometry: instances in use stay, and it creates all of the others, or none.
 */
static struct sl_cut agent_cut(const struct sl_view *view, unsigned d, const struct counts *wanted)
{
    const struct sl_node *node = view->node;
    const struct sl_mig_model *model = node->device[d].model;
    struct sl_cut cut = {.device = (uint16_t)node->device[d].index};
    struct sl_mig_layout layout = {0};
    uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
    struct sl_mig_placement fresh[SL_MIG_SLICES_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->device == d && view->instance_used[i] > 0) {
            struct sl_mig_placement at = {(uint8_t)(instance->profile - model->profiles),
                                          (uint8_t)instance->start};
            sl_mig_place(model, &layout, at);
            cut.instance[cut.n++] = at;
        }
    }
    for (int p = 0; p < PROFILES; p++) {
        const struct sl_mig_profile *profile = model_profile(model, p);
        if (profile != NULL && wanted->of[p] > 0) {
            counts[profile - model->profiles] = (uint8_t)wanted->of[p];
            n += (unsigned)wanted->of[p];
        }
    }
    if (cut.n + n <= SL_MIG_INSTANCES_MAX && sl_mig_pack(model, &layout, counts, fresh)) {
        memcpy(cut.instance + cut.n, fresh, n * sizeof(fresh[0]));
        cut.n = (uint8_t)(cut.n + n);
    }
    return cut;
}

static bool same_as_now(const struct sl_view *view, unsigned d, const struct sl_cut *cut)
{
    const struct sl_node *node = view->node;
    unsigned same = 0;
    unsigned there = 0;
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        there += instance->device == d ? 1 : 0;
        for (unsigned k = 0; instance->device == d && k < cut->n; k++) {
            same += (int)cut->instance[k].start == (int)instance->start &&
                            &node->device[d].model->profiles[cut->instance[k].profile] ==
                                instance->profile
                        ? 1
                        : 0;
        }
    }
    return same == there && there == cut->n;
}

/* Plans one node: true when a pod that waits gets a seat there by other geometries. */
static bool node_plan(struct sl_nos_rule *rule, const struct sl_cut_input *input, size_t view,
                      struct counts *lacking)
{
    unsigned n = input->view[view]->node->n_devices;
    struct counts left = *lacking;
    bool changed = false;
    bool seated = false;
    gpus_read(input->view[view], rule->gpu);
    for (unsigned d = 0; d < n; d++) {
        changed = gpu_update(&rule->gpu[d], &left) || changed;
    }
    memcpy(rule->trial, rule->gpu, n * sizeof(rule->gpu[0]));
    for (size_t i = 0; changed && i < input->n_pods; i++) {
        int count = 0;
        int p = pod_profile(input->pod[i].pod, &count);
        if (!rule->seated[i] && p >= 0 && pod_seat(rule->trial, n, p, count)) {
            rule->seated[i] = true;
            seated = true;
        }
    }
    if (seated) {
        *lacking = left;
    }
    return seated;
}

static void plan_add(struct sl_nos_rule *rule, const struct sl_cut_input *input, size_t view,
                     struct sl_cut_output *output)
{
    const struct sl_view *of = input->view[view];
    struct sl_cut_plan *plan = &rule->plan[output->n_plans];
    struct sl_cut *cut = &rule->cut[output->n_plans * SL_NODE_DEVICES_MAX];
    *plan = (struct sl_cut_plan){
        .view = view,
        .cut = cut,
        .start_us = input->now_us + input->site[view].seconds_us,
    };
    for (unsigned d = 0; d < of->node->n_devices; d++) {
        struct sl_cut made = agent_cut(of, d, &rule->gpu[d].free);
        if (rule->gpu[d].changed && !same_as_now(of, d, &made)) {
            cut[plan->n_cuts++] = made;
        }
    }
    if (plan->n_cuts > 0) {
        plan->digest = sl_cut_digest(of->node, cut, plan->n_cuts);
        output->n_plans++;
    }
}

static int room_make(struct sl_nos_rule *rule, const struct sl_cut_input *input,
                     struct sl_error *err)
{
    if (input->n_views > rule->cap) {
        free(rule->plan);
        free(rule->cut);
        rule->plan = calloc(input->n_views, sizeof(*rule->plan));
        rule->cut = calloc(input->n_views * SL_NODE_DEVICES_MAX, sizeof(*rule->cut));
        rule->cap = rule->plan == NULL || rule->cut == NULL ? 0 : input->n_views;
    }
    if (input->n_pods > rule->cap_pods) {
        free(rule->seated);
        rule->seated = calloc(input->n_pods, sizeof(*rule->seated));
        rule->cap_pods = rule->seated == NULL ? 0 : input->n_pods;
    }
    return rule->cap < input->n_views || rule->cap_pods < input->n_pods ? sl_error_nomem(err) : 0;
}

int sl_nos_rule_plan(void *state, const struct sl_cut_input *input, struct sl_cut_output *output,
                     struct sl_error *err)
{
    struct sl_nos_rule *rule = state;
    *output = (struct sl_cut_output){.n_plans = 0};
    for (size_t v = 0; v < input->n_views; v++) {
        if (input->site[v].out) {
            return 0; /* has not reported the last plan */
        }
    }
    if (input->n_pods == 0) {
        return 0;
    }
    if (room_make(rule, input, err) < 0) {
        return -1;
    }
    memset(rule->seated, 0, input->n_pods * sizeof(*rule->seated));
    struct counts lacking = lacking_of(input, rule);
    for (size_t v = 0; v < input->n_views && output->n_plans < input->max_plans; v++) {
        if (node_plan(rule, input, v, &lacking)) {
            plan_add(rule, input, v, output);
        }
    }
    output->plan = rule->plan;
    return 0;
}
