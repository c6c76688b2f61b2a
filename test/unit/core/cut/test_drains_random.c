/* Random nodes full of pods that end at known times: which node is drained, for whom and until
 * when, against a brute force that asks of each end in turn whether what stays leaves room. Free
 * units of GPUs that stay as they are do not count. */
#include "unit/core/cut/cut_brute.h"

enum { CASES = 1500, NODES_MAX = 3, PODS_MAX = 3, ASK_MAX = 5, SHARED_GB = 40, GRACE_S = 30 };

/* ---- nodes ---- */

struct drain_node {
    struct drawn_node drawn; /* its model is NULL where GPUs are shared */
    int64_t end_us[32];      /* of the pods that run there, INT64_MAX: nobody knows */
};

static int64_t after_s(int64_t seconds)
{
    return rig_now + seconds * rig_second;
}

/* A pod ends at its deadline, or about now when that has just passed. One that is long overdue, or
 * has no deadline, may stay for ever. */
static void run_one(struct cut_rig *rig, struct drain_node *node, size_t i, const char *asks)
{
    static const int64_t started_s[] = {0, 0, -100, -200, -1000};
    int64_t deadline_s = pick(4) == 0 ? 0 : 30 * (1 + (int64_t)pick(20));
    int64_t end_s = started_s[pick(5)] + deadline_s;
    size_t k = rig->node[i].n_running;
    assert_true(k < 32);
    rig_run(rig, i, asks, deadline_s);
    rig->node[i].running[k]->started_us = after_s(end_s - deadline_s);
    node->end_us[k] = deadline_s == 0 || end_s <= -GRACE_S ? INT64_MAX : after_s(end_s);
    node->end_us[k] = node->end_us[k] < rig_now ? rig_now : node->end_us[k];
}

static void run_units(struct cut_rig *rig, struct drain_node *node, size_t i)
{
    const struct drawn_node *drawn = &node->drawn;
    for (unsigned u = 0; u < UNITS; u++) {
        unsigned n = 0;
        for (unsigned d = 0; d < drawn->n; d++) {
            const struct gpu *gpu = &drawn->gpu[d];
            n += u == WHOLE ? gpu->whole : drawn->nos ? gpu->used[u] : gpu->counts[u];
        }
        for (unsigned k = 0; k < n; k++) {
            char asks[128] = "gpu=1";
            if (u < WHOLE) {
                ask_text(asks, sizeof(asks), &drawn->model->profiles[u], 1);
            }
            if (drawn->nos || pick(4) > 0) {
                run_one(rig, node, i, asks);
            }
        }
    }
}

static void add_cut_node(struct cut_rig *rig, struct drain_node *node)
{
    const char *text[GPUS_MAX];
    struct drawn_node *drawn = &node->drawn;
    const char *product = products[pick(sizeof(products) / sizeof(products[0]))];
    *drawn = (struct drawn_node){.model = sl_mig_model_find(sl_str_of(product), 0),
                                 .nos = pick(2) == 0,
                                 .n = 1 + pick(GPUS_MAX)};
    for (unsigned d = 0; d < drawn->n; d++) {
        random_gpu(&drawn->gpu[d], drawn->model, drawn->nos);
        text[d] = drawn->gpu[d].whole ? NULL : drawn->gpu[d].text;
    }
    run_units(rig, node,
              rig_node(rig, drawn->nos ? SL_ACTUATOR_NOS_MIG : SL_ACTUATOR_MIG_MANAGER, product,
                       NULL, drawn->n, text));
}

static void add_shared_node(struct cut_rig *rig, struct drain_node *node)
{
    static const char *const boards[] = {"10gb* 20gb*", "10gb* 10gb* 20gb", "40gb*", "5gb* 20gb*"};
    static const char *const held[] = {"gpu-10gb=1", "gpu-20gb=1", "gpu-40gb=1", "gpu-5gb=1"};
    static const unsigned n_held[4][4] = {{1, 1, 0, 0}, {2, 0, 0, 0}, {0, 0, 1, 0}, {0, 1, 0, 1}};
    const char *text[2];
    unsigned n = 1 + pick(2);
    unsigned drawn[2];
    node->drawn = (struct drawn_node){.n = n};
    for (unsigned d = 0; d < n; d++) {
        drawn[d] = pick(4);
        text[d] = boards[drawn[d]];
    }
    size_t i = rig_node(rig, SL_ACTUATOR_NOS_MPS, "Tesla-X",
                        "nos.nebuly.com/gpu-partitioning=mps nvidia.com/gpu.memory=40000", n, text);
    for (unsigned size = 0; size < 4; size++) {
        for (unsigned k = 0; k < n_held[drawn[0]][size] + (n > 1 ? n_held[drawn[1]][size] : 0);
             k++) {
            run_one(rig, node, i, held[size]);
        }
    }
}

/* ---- what a node can have later ---- */

struct later {
    bool may_change[GPUS_MAX];
    bool may_be_whole;
    struct sl_mig_layout layout[GPUS_MAX]; /* of what stays */
    int left[GPUS_MAX];                    /* GB, where GPUs are shared */
};

/* Counts the instance's units that pods hold which run on, or have ended by then. */
static unsigned units_of(const struct cut_rig *rig, const struct drain_node *node, size_t i,
                         int instance, bool ended, int64_t then_us)
{
    const struct sl_view *view = rig->view[i];
    unsigned n = 0;
    for (uint32_t r = 0; r < view->n_residents; r++) {
        for (unsigned k = 0; (node->end_us[r] <= then_us) == ended && k < view->resident[r].n_parts;
             k++) {
            const struct sl_assignment_part *part = &view->part[view->resident[r].first_part + k];
            n += part->instance == instance ? (unsigned)part->amount : 0;
        }
    }
    return n;
}

/* Only the kubelet knows on which GPU a pod's unit is: none is free while any unit of a kind that
 * it holds is in use. */
static void read_managed(const struct cut_rig *rig, const struct drain_node *node, size_t i,
                         int64_t then_us, struct later *out)
{
    unsigned used[UNITS] = {0};
    for (uint32_t r = 0; r < rig->view[i]->n_residents; r++) {
        const char *resource = rig->view[i]->resident[r].pod->items[0].resource;
        unsigned u = 0;
        while (u < node->drawn.model->n_profiles &&
               strcmp(node->drawn.model->profiles[u].resource, resource) != 0) {
            u++;
        }
        u = u == node->drawn.model->n_profiles ? WHOLE : u;
        used[u] += node->end_us[r] > then_us;
    }
    out->may_be_whole = rig->input.limits.mig_mode;
    for (unsigned d = 0; d < node->drawn.n; d++) {
        const struct gpu *gpu = &node->drawn.gpu[d];
        out->may_change[d] = is_idle(gpu, used) && (!gpu->whole || rig->input.limits.mig_mode);
    }
}

/* What nos reports in use stays, unless the pod that holds it has ended. */
static void read_reported(const struct cut_rig *rig, const struct drain_node *node, size_t i,
                          int64_t then_us, struct later *out)
{
    const struct sl_node *from = rig->view[i]->node;
    for (unsigned d = 0; d < node->drawn.n; d++) {
        out->may_change[d] = true;
        out->left[d] = SHARED_GB;
    }
    for (unsigned k = 0; k < from->n_instances; k++) {
        const struct sl_instance *instance = &from->instance[k];
        int ended = (int)units_of(rig, node, i, (int)k, true, then_us);
        int stays = (int)units_of(rig, node, i, (int)k, false, then_us);
        stays = instance->in_use - ended > stays ? instance->in_use - ended : stays;
        if (node->drawn.model == NULL) {
            int gb = (int)(from->pool[instance->pool].memory_mib / 1024);
            out->left[instance->device] -= stays * gb;
        } else if (stays > 0) {
            ptrdiff_t p = instance->profile - node->drawn.model->profiles;
            sl_mig_place(node->drawn.model, &out->layout[instance->device],
                         (struct sl_mig_placement){(uint8_t)p, (uint8_t)instance->start});
        }
    }
}

/* ---- asks ---- */

struct asked {
    const char *resource[ASK_MAX]; /* one for each unit */
    unsigned n;
};

static unsigned profile_of(const struct sl_mig_model *model, const char *resource)
{
    unsigned p = 0;
    while (model != NULL && p < model->n_profiles &&
           strcmp(model->profiles[p].resource, resource) != 0) {
        p++;
    }
    return model == NULL ? UNITS : p < model->n_profiles ? p : UNITS;
}

/* Puts the ask's units from that one on in every way. */
static bool has_way(const struct drain_node *node, struct later *later, const struct asked *asked,
                    unsigned unit)
{
    const struct sl_mig_model *model = node->drawn.model;
    if (unit == asked->n) {
        return true;
    }
    bool whole = strcmp(asked->resource[unit], "nvidia.com/gpu") == 0;
    const char slices[] = "nvidia.com/gpu-";
    bool slice = strncmp(asked->resource[unit], slices, strlen(slices)) == 0;
    int gb = slice ? (int)strtol(asked->resource[unit] + strlen(slices), NULL, 10) : 0;
    unsigned p = profile_of(model, asked->resource[unit]);
    for (unsigned d = 0; d < node->drawn.n; d++) {
        struct later was = *later;
        bool found = false;
        if (!later->may_change[d]) {
            continue;
        }
        if (gb > 0 && model == NULL && later->left[d] >= gb) {
            later->left[d] -= gb;
            found = has_way(node, later, asked, unit + 1);
        } else if (whole && later->may_be_whole && later->layout[d].memory == 0) {
            later->may_change[d] = false;
            found = has_way(node, later, asked, unit + 1);
        }
        for (unsigned start = 0; p < UNITS && start < model->memory_slices && !found; start++) {
            struct sl_mig_placement at = {(uint8_t)p, (uint8_t)start};
            if (!(node->drawn.nos && model->profiles[p].attributes != 0) &&
                sl_mig_can_place(model, &was.layout[d], at)) {
                *later = was;
                sl_mig_place(model, &later->layout[d], at);
                found = has_way(node, later, asked, unit + 1);
            }
        }
        *later = was;
        if (found) {
            return true;
        }
    }
    return false;
}

static bool serves(const struct cut_rig *rig, const struct drain_node *node, size_t i,
                   const struct asked *asked, int64_t then_us)
{
    struct later later = {.may_be_whole = false};
    if (node->drawn.model == NULL || node->drawn.nos) {
        read_reported(rig, node, i, then_us, &later);
    } else {
        read_managed(rig, node, i, then_us, &later);
    }
    return has_way(node, &later, asked, 0);
}

/* ---- which node ---- */

static bool breaks_promise(const struct cut_rig *rig, size_t pod, size_t i, int64_t until_us)
{
    const struct sl_cut_pod *drains = &rig->pod[pod];
    int64_t waited_us = rig_now - drains->ready_us;
    bool patient =
        waited_us > drains->timeout_us / 8 && waited_us > (until_us - drains->ready_us) / 8;
    for (size_t k = 0; k < rig->n_pods; k++) {
        const struct sl_cut_pod *other = &rig->pod[k];
        bool here = false;
        for (uint32_t item = 0; item < other->pod->n_items; item++) {
            here = here || sl_view_pool(rig->view[i], other->pod->items[item].key) >= 0;
        }
        if (k != pod && here && other->latest_us > 0 && other->latest_us < until_us &&
            (!patient || other->ready_us <= drains->ready_us)) {
            return true;
        }
    }
    return false;
}

/* Returns the first end by which the node can have what the pod asks for; INT64_MAX: never, or the
 * pod gains less than twice what the cut takes. */
static int64_t end_for(const struct cut_rig *rig, const struct drain_node *node, size_t i,
                       const struct asked *asked, size_t pod)
{
    const struct sl_cut_pod *waits = &rig->pod[pod];
    int64_t least_us = INT64_MAX;
    for (uint32_t r = 0; r < rig->view[i]->n_residents; r++) {
        int64_t end_us = node->end_us[r];
        assert_ptr_equal(rig->view[i]->resident[r].pod, rig->node[i].running[r]);
        bool gains = waits->start_us == 0 || end_us < waits->start_us - 2 * rig->site[i].seconds_us;
        if (end_us < least_us && gains && serves(rig, node, i, asked, end_us)) {
            least_us = end_us;
        }
    }
    bool breaks =
        least_us < INT64_MAX && breaks_promise(rig, pod, i, least_us + rig->site[i].seconds_us);
    return breaks ? INT64_MAX : least_us;
}

static void check_drains(const struct cut_rig *rig, const struct drain_node *node,
                         const struct asked *asked)
{
    bool drained[NODES_MAX] = {false};
    size_t n = 0;
    for (size_t pod = 0; pod < rig->n_pods && n < 2; pod++) {
        int64_t best_us = INT64_MAX;
        size_t best = 0;
        for (size_t i = 0; i < rig->n_nodes && !rig->pod[pod].has_room; i++) {
            int64_t end_us = drained[i] || rig->site[i].out
                                 ? INT64_MAX
                                 : end_for(rig, &node[i], i, &asked[pod], pod);
            best = end_us < best_us ? i : best;
            best_us = end_us < best_us ? end_us : best_us;
        }
        if (best_us < INT64_MAX) {
            assert_true(n < rig->output.n_drains);
            assert_int_equal(rig->output.drain[n].pod, pod);
            assert_int_equal(rig->output.drain[n].view, best);
            assert_int_equal(rig->output.drain[n].until_us, best_us);
            drained[best] = true;
            n++;
        }
    }
    assert_int_equal(rig->output.n_drains, n);
}

/* ---- cases ---- */

/* An ask that none before it has. */
static void draw_pod(struct cut_rig *rig, const struct drain_node *node, struct asked *asked)
{
    char asks[256];
    const struct sl_mig_model *model = node[pick((unsigned)rig->n_nodes)].drawn.model;
    struct asked *out = &asked[rig->n_pods];
    *out = (struct asked){.n = 0};
    if (model == NULL) {
        (void)snprintf(asks, sizeof(asks), "gpu-%ugb=1", 5 * (1 + pick(8)));
    } else if (pick(5) == 0) {
        (void)snprintf(asks, sizeof(asks), "gpu=%u", 1 + pick(2));
    } else {
        unsigned p = pick(model->n_profiles);
        unsigned q = pick(model->n_profiles);
        ask_text(asks, sizeof(asks), &model->profiles[p], 1 + pick(2));
        if (pick(3) == 0 && p != q) {
            size_t len = strlen(asks);
            asks[len] = ' ';
            ask_text(asks + len + 1, sizeof(asks) - len - 1, &model->profiles[q], 1);
        }
    }
    struct sl_cut_pod *pod = rig_wait(rig, asks, NULL);
    for (uint32_t item = 0; item < pod->pod->n_items; item++) {
        for (int64_t k = 0; k < pod->pod->items[item].count; k++) {
            out->resource[out->n++] = pod->pod->items[item].resource;
        }
    }
    pod->has_room = pick(10) == 0;
    pod->start_us = pick(3) == 0 ? after_s(1 + pick(700)) : 0;
    pod->latest_us = pick(4) == 0 ? after_s(1 + pick(700)) : 0;
    pod->ready_us = after_s(-(int64_t)pick(1200));
    pod->timeout_us = pick(1200) * rig_second;
    for (size_t k = 0; k + 1 < rig->n_pods; k++) {
        if (sl_pod_same_ask(rig->waiting[k], rig->waiting[rig->n_pods - 1])) {
            rig->n_pods--;
            sl_pod_unref(rig->waiting[rig->n_pods]);
            return;
        }
    }
}

TEST_THAT_WITH(the_node_is_drained_that_ends_free_first, set_up, tear_down)
{
    struct cut_rig *rig = *state;
    unsigned drains = 0;
    rig->input.drain = true;
    rig->input.max_plans = 0; /* cuts are another matter */
    for (unsigned c = 0; c < CASES; c++) {
        struct drain_node node[NODES_MAX];
        struct asked asked[PODS_MAX];
        seed = c + 1;
        rig_clear(rig);
        rig->input.limits.mig_mode = pick(3) == 0;
        for (unsigned n = 1 + pick(NODES_MAX), i = 0; i < n; i++) {
            if (pick(4) == 0) {
                add_shared_node(rig, &node[i]);
            } else {
                add_cut_node(rig, &node[i]);
            }
            rig->site[i].seconds_us = pick(60) * rig_second;
            rig->site[i].out = pick(12) == 0;
        }
        for (unsigned n = 1 + pick(PODS_MAX); n > 0; n--) {
            draw_pod(rig, node, asked);
        }
        rig_plan(rig);
        check_drains(rig, node, asked);
        drains += (unsigned)rig->output.n_drains;
    }
    assert_true(drains > CASES / 4);
}
