/* Nodes whose GPUs can be cut, and pods that wait for it, written down as text. */
#ifndef SLICED_TEST_CUT_RIG_H
#define SLICED_TEST_CUT_RIG_H

#include "unit/core/request/facts_rig.h"

#include "sliced/cut.h"
#include "sliced/fit.h"

enum { RIG_NODES = 512, RIG_PLANS = 8, RIG_PODS = 512, RIG_GPUS = 8, RIG_TOKEN = 48 };

#define A100 "NVIDIA-A100-SXM4-40GB"
#define A30  "NVIDIA-A30"

static const int64_t rig_second = 1000000;
static const int64_t rig_now = INT64_C(1700000000) * 1000000;

struct rig_node {
    struct sl_node *node;
    struct sl_pod *running[32];
    size_t n_running;
    struct sl_view *view;
};

struct cut_rig {
    struct facts_rig facts;
    struct rig_node node[RIG_NODES];
    const struct sl_view *view[RIG_NODES];
    struct sl_cut_site site[RIG_NODES];
    size_t n_nodes;
    struct sl_pod *waiting[RIG_PODS];
    struct sl_cut_pod pod[RIG_PODS];
    size_t n_pods;
    struct sl_cutter *cutter;
    struct sl_cut_input input;
    struct sl_cut_output output;
    char text[16384];
};

static inline int set_up(void **state)
{
    struct cut_rig *rig = calloc(1, sizeof(*rig));
    struct sl_error err;
    assert_non_null(rig);
    facts_init(&rig->facts);
    rig->cutter = sl_cutter_new(&err);
    assert_non_null(rig->cutter);
    rig->input.max_plans = RIG_PLANS;
    rig->input.now_us = rig_now;
    *state = rig;
    return 0;
}

/* Forgets nodes and pods. */
static inline void rig_clear(struct cut_rig *rig)
{
    for (size_t i = 0; i < rig->n_nodes; i++) {
        sl_view_free(rig->node[i].view);
        sl_node_unref(rig->node[i].node);
        for (size_t k = 0; k < rig->node[i].n_running; k++) {
            sl_pod_unref(rig->node[i].running[k]);
        }
        rig->node[i] = (struct rig_node){0};
        rig->site[i] = (struct sl_cut_site){0};
    }
    for (size_t i = 0; i < rig->n_pods; i++) {
        sl_pod_unref(rig->waiting[i]);
    }
    rig->n_nodes = 0;
    rig->n_pods = 0;
    facts_free(&rig->facts);
    facts_init(&rig->facts);
}

static inline int tear_down(void **state)
{
    struct cut_rig *rig = *state;
    rig_clear(rig);
    facts_free(&rig->facts);
    sl_cutter_free(rig->cutter);
    free(rig);
    return 0;
}

/* ---- nodes ---- */

/* What a GPU holds: "1g.5gb@0* 2g.10gb": a start if told, '*' where nos' agent reports it in use.
 * "" is MIG mode without instances, NULL a whole GPU. "?1g.5gb": nobody knows that it has these. */
struct rig_token {
    char name[RIG_TOKEN];
    int start;
    bool in_use;
};

static inline const char *rig_token(const char *text, struct rig_token *out)
{
    size_t len = strcspn(text, " ");
    size_t name = strcspn(text, " @*");
    assert_true(name < sizeof(out->name));
    memcpy(out->name, text, name);
    out->name[name] = '\0';
    out->start = text[name] == '@' ? (int)strtol(text + name + 1, NULL, 10) : -1;
    out->in_use = len > 0 && text[len - 1] == '*';
    text += len;
    return text + strspn(text, " ");
}

static inline void rig_resource(const char *profile, char *out)
{
    bool slice = sl_slice_parse(sl_str_of(profile)) > 0;
    (void)snprintf(out, 96, "nvidia.com/%s-%s", slice ? "gpu" : "mig", profile);
    for (char *c = strchr(out, '+'); c != NULL; c = strchr(c, '+')) {
        *c = '.';
    }
}

static inline void rig_count(struct cut_rig *rig, struct sl_pair **list, const char *key)
{
    char text[24];
    for (struct sl_pair *pair = *list; pair != NULL; pair = pair->next) {
        if (strcmp(pair->key.s, key) == 0) {
            (void)snprintf(text, sizeof(text), "%ld", strtol(pair->value.s, NULL, 10) + 1);
            pair->value = facts_text(&rig->facts, text, strlen(text));
            return;
        }
    }
    facts_pair(&rig->facts, list, key, "1");
}

static inline void rig_report(struct cut_rig *rig, struct sl_node_facts *facts, size_t gpu,
                              const struct rig_token *token)
{
    char key[128];
    (void)snprintf(key, sizeof(key), "nos.nebuly.com/status-gpu-%zu-%s-%s", gpu, token->name,
                   token->in_use ? "used" : "free");
    rig_count(rig, &facts->annotations, key);
}

static inline void rig_view(struct cut_rig *rig, size_t i)
{
    struct rig_node *node = &rig->node[i];
    sl_view_free(node->view);
    node->view = sl_view_new(node->node, node->running, node->n_running);
    assert_non_null(node->view);
    rig->view[i] = node->view;
}

/* Adds a node; labels and annotations beside the usual ones as "a=1 b=2", or NULL. */
static inline size_t rig_node(struct cut_rig *rig, enum sl_actuator actuator, const char *product,
                              const char *labels, size_t n, const char *const *gpu)
{
    struct sl_error err = {0};
    char name[32];
    char count[24];
    struct sl_node_facts facts = {.actuator = actuator};
    size_t i = rig->n_nodes;
    assert_true(i < RIG_NODES && n <= RIG_GPUS);
    (void)snprintf(name, sizeof(name), "node-%zu", i);
    (void)snprintf(count, sizeof(count), "%zu", n);
    facts.name = facts_text(&rig->facts, name, strlen(name));
    facts.labels = facts_pairs(&rig->facts, labels);
    facts_pair(&rig->facts, &facts.labels, "nvidia.com/gpu.product", product);
    facts_pair(&rig->facts, &facts.labels, "nvidia.com/gpu.count", count);
    for (size_t d = 0; d < n; d++) {
        if (actuator == SL_ACTUATOR_MIG_MANAGER) {
            bool unsure = gpu[d] != NULL && gpu[d][0] == '?';
            facts_device(&rig->facts, &facts, (int)d, unsure ? "" : gpu[d])->unsure = unsure;
        }
        if (gpu[d] == NULL) {
            rig_count(rig, &facts.allocatable, "nvidia.com/gpu");
        }
        for (const char *at = gpu[d]; at != NULL && *at != '\0';) {
            at += *at == '?';
            struct rig_token token;
            char resource[96];
            at = rig_token(at, &token);
            rig_resource(token.name, resource);
            rig_count(rig, &facts.allocatable, resource);
            if (actuator != SL_ACTUATOR_MIG_MANAGER) {
                rig_report(rig, &facts, d, &token);
            }
        }
    }
    rig->node[i].node = sl_node_new(&facts, &err);
    if (rig->node[i].node == NULL) {
        fail_msg("%s", err.message);
    }
    rig->site[i] = (struct sl_cut_site){.seconds_us = 60 * rig_second};
    rig->n_nodes++;
    rig_view(rig, i);
    return i;
}

/* ---- pods ---- */

/* asks: "mig-1g.5gb=2 gpu=1"; more annotations as "a=1", or NULL. */
static inline struct sl_pod *rig_pod(struct cut_rig *rig, const char *node, const char *asks,
                                     const char *annotations, int64_t deadline_s)
{
    static unsigned number;
    struct sl_error err = {0};
    char name[32];
    struct sl_pod_facts facts = {.deadline_s = deadline_s, .created_us = rig_now};
    number++;
    (void)snprintf(name, sizeof(name), "pod-%u", number);
    facts.name = facts_text(&rig->facts, name, strlen(name));
    facts.uid = facts.name;
    facts.annotations = facts_pairs(&rig->facts, annotations);
    struct sl_container_facts *main =
        facts_container(&rig->facts, &facts.containers, "main", NULL, asks);
    for (struct sl_pair *pair = main->limits; pair != NULL; pair = pair->next) {
        char key[96];
        (void)snprintf(key, sizeof(key), "nvidia.com/%s", pair->key.s);
        pair->key = facts_text(&rig->facts, key, strlen(key));
    }
    if (node != NULL) {
        facts.node_name = sl_str_of(node);
        facts.phase = SL_STR("Running");
        facts.started_us = rig_now;
    }
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    if (pod == NULL) {
        fail_msg("%s", err.message);
    }
    return pod;
}

static inline void rig_run(struct cut_rig *rig, size_t i, const char *asks, int64_t deadline_s)
{
    struct rig_node *node = &rig->node[i];
    node->running[node->n_running] = rig_pod(rig, node->node->name, asks, NULL, deadline_s);
    node->n_running++;
    rig_view(rig, i);
}

static inline struct sl_cut_pod *rig_wait(struct cut_rig *rig, const char *asks,
                                          const char *annotations)
{
    size_t i = rig->n_pods;
    assert_true(i < RIG_PODS);
    rig->waiting[i] = rig_pod(rig, NULL, asks, annotations, 0);
    rig->pod[i] = (struct sl_cut_pod){
        .pod = rig->waiting[i], .timeout_us = 3600 * rig_second, .ready_us = rig_now};
    rig->n_pods++;
    return &rig->pod[i];
}

/* ---- plans ---- */

/* Units of the resource that the node has on the GPUs of the cuts now, and that it will have. */
static inline void rig_count_made(const struct sl_node *node, const struct sl_cut *cuts, size_t n,
                                  const char *resource, int64_t *now, int64_t *then)
{
    *now = 0;
    *then = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sl_cut *cut = &cuts[i];
        const struct sl_device *device = NULL;
        for (unsigned d = 0; d < node->n_devices; d++) {
            device = node->device[d].index == (int)cut->device ? &node->device[d] : device;
        }
        for (unsigned k = 0; device != NULL && k < node->n_instances; k++) {
            const struct sl_instance *instance = &node->instance[k];
            bool here = &node->device[instance->device] == device &&
                        strcmp(node->pool[instance->pool].resource, resource) == 0;
            *now += !here ? 0 : cut->n_sizes > 0 ? instance->slices : 1;
        }
        bool whole = strcmp(resource, "nvidia.com/gpu") == 0;
        *now += whole && device != NULL && !device->mig;
        *then += whole && cut->whole;
        for (unsigned k = 0; k < cut->n; k++) {
            const struct sl_mig_model *model = device != NULL ? device->model : node->model;
            const struct sl_mig_profile *profile = &model->profiles[cut->instance[k].profile];
            const char *name = profile->resource;
            for (unsigned p = 0; p < node->n_pools; p++) {
                name = node->pool[p].profile == profile ? node->pool[p].resource : name;
            }
            *then += strcmp(name, resource) == 0;
        }
        for (unsigned k = 0; k < cut->n_sizes; k++) {
            char name[48];
            (void)snprintf(name, sizeof(name), "nvidia.com/gpu-%ugb", cut->slices[k].gb);
            *then += strcmp(name, resource) == 0 ? cut->slices[k].n : 0;
        }
    }
}

/* Returns how many units of an item the node, or cut: its GPUs that are cut alone, will have beside
 * the first n pods, as far as they wait for a cut under way or are of the plan. */
static inline int64_t rig_left(const struct cut_rig *rig, size_t node,
                               const struct sl_cut_plan *plan, const struct sl_ask_item *item,
                               size_t n, bool cut)
{
    const struct sl_view *view = rig->view[node];
    const struct sl_cut_site *site = &rig->site[node];
    bool making = site->n_making > 0;
    int pool = sl_view_pool(view, item->key);
    int64_t now = 0;
    int64_t then = 0;
    rig_count_made(view->node, making ? site->making : plan->cut,
                   making ? site->n_making : plan->n_cuts, item->resource, &now, &then);
    int64_t left = cut ? then : then - now;
    left += pool < 0 || cut ? 0 : view->node->pool[pool].capacity - view->pool_used[pool];
    for (size_t i = 0, k = 0; i < n; i++) {
        bool planned = plan != NULL && k < plan->n_pods && plan->pod[k] == i;
        k += planned;
        const struct sl_pod *pod = rig->pod[i].pod;
        bool counts = planned || (rig->pod[i].has_room && rig->pod[i].made == node + 1);
        for (uint32_t j = 0; counts && j < pod->n_items; j++) {
            left -= pod->items[j].key == item->key ? pod->items[j].count : 0;
        }
    }
    return left;
}

/* The pods of a plan get what they ask for. */
static inline void rig_check_pods(const struct cut_rig *rig, const struct sl_cut_plan *plan)
{
    const struct sl_node *node = rig->view[plan->view]->node;
    for (size_t k = 0; k < plan->n_pods && !node->partition.single; k++) {
        const struct sl_pod *pod = rig->pod[plan->pod[k]].pod;
        for (uint32_t i = 0; i < pod->n_items; i++) {
            if (rig_left(rig, plan->view, plan, &pod->items[i], plan->pod[k] + 1, false) < 0) {
                fail_msg("%s lacks %s", node->name, pod->items[i].resource);
            }
        }
    }
}

/* No plan is ever against the rules. */
static inline void rig_check(const struct cut_rig *rig)
{
    const struct sl_cut_output *out = &rig->output;
    assert_true(out->n_plans <= rig->input.max_plans + rig->n_nodes);
    for (size_t i = 0; i < out->n_plans; i++) {
        const struct sl_cut_plan *plan = &out->plan[i];
        char reason[256];
        if (plan->n_cuts == 0) {
            assert_true(rig->site[plan->view].n_making > 0 && plan->n_pods > 0);
            rig_check_pods(rig, plan);
            continue;
        }
        if (!sl_cut_allowed(rig->view[plan->view], plan->cut, plan->n_cuts, rig->input.limits,
                            reason, sizeof(reason))) {
            fail_msg("%s: %s", rig->node[plan->view].node->name, reason);
        }
        assert_false(rig->site[plan->view].out);
        rig_check_pods(rig, plan);
        for (size_t k = 1; k < plan->n_pods; k++) {
            assert_true(plan->pod[k - 1] < plan->pod[k]);
        }
    }
}

static inline void rig_plan(struct cut_rig *rig)
{
    struct sl_error err;
    rig->input.view = rig->view;
    rig->input.site = rig->site;
    rig->input.n_views = rig->n_nodes;
    rig->input.pod = rig->pod;
    rig->input.n_pods = rig->n_pods;
    assert_int_equal(sl_cutter_plan(rig->cutter, &rig->input, &rig->output, &err), 0);
    rig_check(rig);
}

/* "node-0: GPU 0 into 7x 1g.5gb: 0 1 2", a line for each plan, with the pods' indexes. */
static inline const char *rig_told(struct cut_rig *rig)
{
    char *at = rig->text;
    char *end = rig->text + sizeof(rig->text);
    *at = '\0';
    rig_plan(rig);
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        const struct sl_node *node = rig->node[plan->view].node;
        at += snprintf(at, (size_t)(end - at), "%s: ", node->name);
        at += sl_cut_text(node, plan->cut, plan->n_cuts, at, (size_t)(end - at));
        at += snprintf(at, (size_t)(end - at), ":");
        for (size_t k = 0; k < plan->n_pods; k++) {
            at += snprintf(at, (size_t)(end - at), " %zu", plan->pod[k]);
        }
        at += snprintf(at, (size_t)(end - at), "\n");
    }
    for (size_t i = 0; i < rig->output.n_drains; i++) {
        const struct sl_cut_drain *drain = &rig->output.drain[i];
        at += snprintf(at, (size_t)(end - at), "drain %s for %zu until %lld s\n",
                       rig->node[drain->view].node->name, drain->pod,
                       (long long)((drain->until_us - rig_now) / rig_second));
    }
    return rig->text;
}

/* Pods that something free takes already are not the planner's. */
static inline bool fits_now(const struct cut_rig *rig, const struct sl_pod *pod)
{
    struct sl_ask ask;
    sl_pod_ask(pod, &ask);
    for (size_t i = 0; i < rig->n_nodes; i++) {
        if (sl_fit(rig->view[i], &ask, NULL)) {
            return true;
        }
    }
    return false;
}

/* ---- chance ---- */

static uint32_t seed;

static inline unsigned pick(unsigned n)
{
    seed = seed * 1664525u + 1013904223u;
    return n == 0 ? 0 : (seed >> 8) % n;
}

#define GPUS(...)                                                                                  \
    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), (const char *const[])       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define MANAGED(rig, product, ...)                                                                 \
    rig_node(rig, SL_ACTUATOR_MIG_MANAGER, product, NULL, GPUS(__VA_ARGS__))
#define SHARED(rig, gb, ...)                                                                       \
    rig_node(rig, SL_ACTUATOR_NOS_MPS, "Tesla-X",                                                  \
             "nos.nebuly.com/gpu-partitioning=mps nvidia.com/gpu.memory=" #gb "000",               \
             GPUS(__VA_ARGS__))
#define NOS(rig, product, ...) rig_node(rig, SL_ACTUATOR_NOS_MIG, product, NULL, GPUS(__VA_ARGS__))

#endif
