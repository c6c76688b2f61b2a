/* Random small clusters against a brute force over all geometries that the hardware can have. The
 * brute force shares nothing with the planner but the table of models and sl_mig_can_place. */
#include "unit/core/cut/cut_rig.h"

enum { CASES = 1200, WHOLE = SL_MIG_PROFILES_MAX, UNITS, OPTIONS_MAX = 512, GPUS_MAX = 3 };

static uint32_t seed;

static unsigned pick(unsigned n)
{
    seed = seed * 1664525u + 1013904223u;
    return n == 0 ? 0 : (seed >> 8) % n;
}

/* ---- what a device could hold ---- */

struct option {
    uint8_t counts[UNITS];
};

struct options {
    struct option option[OPTIONS_MAX];
    unsigned n;
};

typedef bool (*visit_layout)(void *context, const struct sl_mig_layout *layout);

/* Visits every way to add the counts to the layout, those of one profile from a start on; true as
 * soon as a visit says so. */
static bool any_way(const struct sl_mig_model *model, struct sl_mig_layout layout,
                    const uint8_t *counts, unsigned from, visit_layout visit, void *context)
{
    unsigned p = 0;
    while (p < model->n_profiles && counts[p] == 0) {
        p++;
    }
    if (p == model->n_profiles) {
        return visit(context, &layout);
    }
    uint8_t rest[SL_MIG_PROFILES_MAX];
    memcpy(rest, counts, sizeof(rest));
    rest[p]--;
    for (unsigned start = from; start < model->memory_slices; start++) {
        struct sl_mig_placement at = {(uint8_t)p, (uint8_t)start};
        if (sl_mig_can_place(model, &layout, at)) {
            struct sl_mig_layout next = layout;
            sl_mig_place(model, &next, at);
            if (any_way(model, next, rest, rest[p] > 0 ? start + 1 : 0, visit, context)) {
                return true;
            }
        }
    }
    return false;
}

static bool yes(void *context, const struct sl_mig_layout *layout)
{
    (void)context;
    (void)layout;
    return true;
}

/* The instances in use, wherever they are, beside the free ones that are there now. */
struct stays {
    const struct sl_mig_model *model;
    uint8_t stay[SL_MIG_PROFILES_MAX];
    uint8_t free[SL_MIG_PROFILES_MAX];
    const uint8_t *wanted;
};

static bool wanted_lacks_room(void *context, const struct sl_mig_layout *layout)
{
    const struct stays *stays = context;
    return any_way(stays->model, *layout, stays->free, 0, yes, NULL) &&
           !any_way(stays->model, *layout, stays->wanted, 0, yes, NULL);
}

static bool fits_wherever(struct stays *stays, const uint8_t *wanted)
{
    static const struct sl_mig_layout empty = {0};
    stays->wanted = wanted;
    return !any_way(stays->model, empty, stays->stay, 0, wanted_lacks_room, stays);
}

static bool covers(const uint8_t *a, const uint8_t *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (a[i] < b[i]) {
            return false;
        }
    }
    return true;
}

static void option_add(struct options *options, const uint8_t *counts)
{
    for (unsigned i = 0; i < options->n; i++) {
        if (covers(options->option[i].counts, counts, UNITS)) {
            return;
        }
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < options->n; i++) {
        if (!covers(counts, options->option[i].counts, UNITS)) {
            options->option[kept] = options->option[i];
            kept++;
        }
    }
    assert_true(kept < OPTIONS_MAX);
    memcpy(options->option[kept].counts, counts, UNITS);
    options->n = kept + 1;
}

/* Adds every multiset that fits; plain: only profiles without attributes. */
static void grow(struct stays *stays, uint8_t *counts, unsigned from, bool plain,
                 struct options *out)
{
    option_add(out, counts);
    for (unsigned p = from; p < stays->model->n_profiles; p++) {
        if (plain && stays->model->profiles[p].attributes != 0) {
            continue;
        }
        counts[p]++;
        if (fits_wherever(stays, counts)) {
            grow(stays, counts, p, plain, out);
        }
        counts[p]--;
    }
}

/* All maximal multisets beside those that stay; kept, since most devices are alike. */
static const struct options *maximal(const struct stays *stays, bool plain)
{
    static struct {
        struct stays stays;
        bool plain;
        struct options options;
    } memo[64];
    static unsigned n;
    for (unsigned i = 0; i < n; i++) {
        if (memo[i].stays.model == stays->model && memo[i].plain == plain &&
            memcmp(memo[i].stays.stay, stays->stay, sizeof(stays->stay)) == 0 &&
            memcmp(memo[i].stays.free, stays->free, sizeof(stays->free)) == 0) {
            return &memo[i].options;
        }
    }
    static unsigned next;
    unsigned at = n < 64 ? n : next++ % 64;
    n += n < 64;
    uint8_t counts[UNITS] = {0};
    memo[at].stays = *stays;
    memo[at].plain = plain;
    memo[at].options.n = 0;
    grow(&memo[at].stays, counts, 0, plain, &memo[at].options);
    return &memo[at].options;
}

/* ---- a node for the brute force ---- */

struct brute_node {
    const struct sl_mig_model *model;
    bool single;
    bool mig_mode;
    int spare[UNITS];
    unsigned n;
    struct options device[GPUS_MAX];
    struct {
        uint8_t need[UNITS];
        bool good;
    } memo[256];
    unsigned n_memo;
};

static bool gives(const struct brute_node *node, unsigned d, const int *need)
{
    bool done = true;
    for (unsigned u = 0; u < UNITS; u++) {
        done = done && need[u] <= 0;
    }
    if (done || d == node->n) {
        return done;
    }
    for (unsigned i = 0; i < node->device[d].n; i++) {
        int left[UNITS];
        for (unsigned u = 0; u < UNITS; u++) {
            left[u] = need[u] - node->device[d].option[i].counts[u];
        }
        if (gives(node, d + 1, left)) {
            return true;
        }
    }
    return false;
}

static bool can_give(struct brute_node *node, const uint8_t *need)
{
    int left[UNITS];
    for (unsigned i = 0; i < node->n_memo; i++) {
        if (memcmp(node->memo[i].need, need, UNITS) == 0) {
            return node->memo[i].good;
        }
    }
    for (unsigned u = 0; u < UNITS; u++) {
        left[u] = need[u] - node->spare[u];
    }
    assert_true(node->n_memo < 256);
    memcpy(node->memo[node->n_memo].need, need, UNITS);
    node->memo[node->n_memo].good = gives(node, 0, left);
    node->n_memo++;
    return node->memo[node->n_memo - 1].good;
}

struct brute {
    struct brute_node node[GPUS_MAX];
    uint8_t need[GPUS_MAX][UNITS];
    unsigned n_nodes;
    uint8_t ask[8][GPUS_MAX][UNITS]; /* by pod and node; all 0: the node never can */
    unsigned n_pods;
    unsigned best; /* the first pod is the highest bit */
};

static void search(struct brute *brute, unsigned pod, unsigned served)
{
    unsigned left = brute->n_pods - pod;
    if ((served << left | ((1u << left) - 1)) <= brute->best) {
        return;
    }
    if (left == 0) {
        brute->best = served;
        return;
    }
    static const uint8_t none[UNITS] = {0};
    for (unsigned i = 0; i < brute->n_nodes; i++) {
        const uint8_t *ask = brute->ask[pod][i];
        if (memcmp(ask, none, UNITS) == 0) {
            continue;
        }
        for (unsigned u = 0; u < UNITS; u++) {
            brute->need[i][u] = (uint8_t)(brute->need[i][u] + ask[u]);
        }
        if (can_give(&brute->node[i], brute->need[i])) {
            search(brute, pod + 1, served << 1 | 1);
        }
        for (unsigned u = 0; u < UNITS; u++) {
            brute->need[i][u] = (uint8_t)(brute->need[i][u] - ask[u]);
        }
    }
    search(brute, pod + 1, served << 1);
}

/* ---- a random case ---- */

static const char *const products[] = {A100,
                                       A100,
                                       A30,
                                       "NVIDIA-H100-80GB-HBM3",
                                       "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
                                       "NVIDIA-B200"};

struct gpu {
    bool whole;
    uint8_t counts[SL_MIG_PROFILES_MAX];
    uint8_t used[SL_MIG_PROFILES_MAX]; /* of these */
    char text[256];
};

/* Some instances, in use or not, that fit together. */
static void random_gpu(struct gpu *gpu, const struct sl_mig_model *model, bool nos)
{
    struct sl_mig_layout layout = {0};
    *gpu = (struct gpu){.whole = !nos && pick(5) == 0};
    unsigned most = 1 + pick(8);
    for (unsigned tries = 0; !gpu->whole && tries < most; tries++) {
        unsigned p = pick(model->n_profiles);
        uint8_t more[SL_MIG_PROFILES_MAX] = {0};
        struct sl_mig_placement at;
        more[p] = 1;
        if ((nos && model->profiles[p].attributes != 0) ||
            !sl_mig_pack(model, &layout, more, &at)) {
            continue;
        }
        sl_mig_place(model, &layout, at);
        bool used = nos && pick(4) == 0;
        gpu->counts[p]++;
        gpu->used[p] = (uint8_t)(gpu->used[p] + used);
        size_t len = strlen(gpu->text);
        (void)snprintf(gpu->text + len, sizeof(gpu->text) - len, "%s%s%s", len > 0 ? " " : "",
                       model->profiles[p].name, used ? "*" : "");
    }
}

static void ask_text(char *out, size_t size, const struct sl_mig_profile *profile, unsigned count)
{
    char resource[96];
    rig_resource(profile->name, resource);
    (void)snprintf(out, size, "%s=%u", resource + strlen("nvidia.com/"), count);
}

/* Pods run on what nos' agent reports in use, and somewhere in a pool of the mig-manager. */
static void run_pods(struct cut_rig *rig, size_t i, const struct sl_mig_model *model,
                     const struct gpu *gpu, unsigned n, bool nos, unsigned used[UNITS])
{
    unsigned have[UNITS] = {0};
    for (unsigned d = 0; d < n; d++) {
        have[WHOLE] += gpu[d].whole;
        for (unsigned p = 0; p < model->n_profiles; p++) {
            have[p] += nos ? gpu[d].used[p] : gpu[d].counts[p];
        }
    }
    for (unsigned u = 0; u < UNITS; u++) {
        char asks[128];
        used[u] = nos ? have[u] : have[u] > 0 && pick(8) == 0 ? 1 + pick(have[u]) : 0;
        if (used[u] > 0 && u == WHOLE) {
            (void)snprintf(asks, sizeof(asks), "gpu=%u", used[u]);
            rig_run(rig, i, asks, 0);
        } else if (used[u] > 0) {
            ask_text(asks, sizeof(asks), &model->profiles[u], used[u]);
            rig_run(rig, i, asks, 0);
        }
    }
}

static bool is_idle(const struct gpu *gpu, const unsigned used[UNITS])
{
    bool idle = !gpu->whole || used[WHOLE] == 0;
    for (unsigned p = 0; p < SL_MIG_PROFILES_MAX; p++) {
        idle = idle && (gpu->counts[p] == 0 || used[p] == 0);
    }
    return idle;
}

static void whole_option(struct options *options)
{
    uint8_t counts[UNITS] = {0};
    counts[WHOLE] = 1;
    option_add(options, counts);
}

/* Writes down what the brute force may do with a node of the mig-manager. */
static void describe_managed(struct brute_node *out, const struct gpu *gpu, unsigned n,
                             const unsigned used[UNITS])
{
    for (unsigned u = 0; u < UNITS; u++) {
        out->spare[u] = -(int)used[u];
    }
    for (unsigned d = 0; d < n; d++) {
        bool may_change = is_idle(&gpu[d], used) && (!gpu[d].whole || out->mig_mode);
        if (!may_change) {
            out->spare[WHOLE] += gpu[d].whole;
            for (unsigned p = 0; p < SL_MIG_PROFILES_MAX; p++) {
                out->spare[p] += gpu[d].counts[p];
            }
            continue;
        }
        struct stays stays = {.model = out->model};
        out->device[out->n] = *maximal(&stays, false);
        if (out->mig_mode) {
            whole_option(&out->device[out->n]);
        }
        out->n++;
    }
    for (unsigned u = 0; u < UNITS; u++) {
        assert_true(out->spare[u] >= 0);
    }
}

static void describe_nos(struct brute_node *out, const struct gpu *gpu, unsigned n)
{
    for (unsigned d = 0; d < n; d++) {
        struct stays stays = {.model = out->model};
        uint8_t now[UNITS] = {0};
        for (unsigned p = 0; p < SL_MIG_PROFILES_MAX; p++) {
            stays.stay[p] = gpu[d].used[p];
            stays.free[p] = (uint8_t)(gpu[d].counts[p] - gpu[d].used[p]);
            now[p] = stays.free[p];
        }
        out->device[d] = *maximal(&stays, true);
        option_add(&out->device[d], now);
        out->n++;
    }
}

static void random_node(struct cut_rig *rig, struct brute *brute, unsigned n_gpus)
{
    struct gpu gpu[GPUS_MAX];
    const char *text[GPUS_MAX];
    unsigned used[UNITS] = {0};
    bool nos = pick(2) == 0;
    const char *product = products[pick(sizeof(products) / sizeof(products[0]))];
    struct brute_node *node = &brute->node[brute->n_nodes];
    *node = (struct brute_node){.model = sl_mig_model_find(sl_str_of(product), 0),
                                .mig_mode = !nos && rig->input.limits.mig_mode};
    assert_non_null(node->model);
    for (unsigned d = 0; d < n_gpus; d++) {
        random_gpu(&gpu[d], node->model, nos);
        text[d] = gpu[d].whole ? NULL : gpu[d].text;
    }
    enum sl_actuator actuator = nos ? SL_ACTUATOR_NOS_MIG : SL_ACTUATOR_MIG_MANAGER;
    size_t i = rig_node(rig, actuator, product, NULL, n_gpus, text);
    run_pods(rig, i, node->model, gpu, n_gpus, nos, used);
    if (nos) {
        describe_nos(node, gpu, n_gpus);
    } else {
        describe_managed(node, gpu, n_gpus, used);
    }
    brute->n_nodes++;
}

/* A pod for one or two profiles of a model, or for whole GPUs. */
static void random_pod(struct cut_rig *rig, struct brute *brute)
{
    char asks[256] = "gpu=1";
    const struct sl_mig_model *model = brute->node[pick(brute->n_nodes)].model;
    unsigned items = pick(8) == 0 ? 0 : pick(4) == 0 ? 2 : 1;
    unsigned profile[2] = {0};
    unsigned count[2] = {0};
    size_t len = 0;
    for (unsigned k = 0; k < items; k++) {
        profile[k] = pick(model->n_profiles);
        if (k > 0 && profile[k] == profile[0]) {
            items = 1;
            break;
        }
        count[k] = 1 + pick(3) / 2 + pick(9) / 8;
        char one[128];
        ask_text(one, sizeof(one), &model->profiles[profile[k]], count[k]);
        len += (size_t)snprintf(asks + len, sizeof(asks) - len, "%s%s", len > 0 ? " " : "", one);
    }
    const struct sl_cut_pod *pod = rig_wait(rig, asks, NULL);
    struct sl_ask ask;
    sl_pod_ask(pod->pod, &ask);
    for (unsigned i = 0; i < brute->n_nodes; i++) {
        uint8_t *units = brute->ask[brute->n_pods][i];
        const struct sl_mig_model *theirs = brute->node[i].model;
        memset(units, 0, UNITS);
        if (items == 0) {
            units[WHOLE] = 1;
        }
        for (unsigned k = 0; k < items; k++) {
            for (unsigned p = 0; p < theirs->n_profiles; p++) {
                if (strcmp(theirs->profiles[p].resource, model->profiles[profile[k]].resource) ==
                    0) {
                    units[p] = (uint8_t)count[k];
                }
            }
        }
        unsigned kinds = 0;
        for (unsigned u = 0; u < UNITS; u++) {
            kinds += units[u] > 0;
        }
        if (kinds != (items == 0 ? 1 : items)) {
            memset(units, 0, UNITS);
        }
    }
    brute->n_pods++;
}

/* Pods that something free takes already are not the planner's. */
static bool fits_now(const struct cut_rig *rig, const struct sl_pod *pod)
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

static void random_case(struct cut_rig *rig, struct brute *brute)
{
    rig_clear(rig);
    *brute = (struct brute){0};
    rig->input.limits.mig_mode = pick(3) == 0;
    unsigned gpus = 1 + pick(GPUS_MAX);
    while (gpus > 0) {
        unsigned n = 1 + pick(gpus);
        random_node(rig, brute, n);
        gpus -= n;
    }
    unsigned pods = 1 + pick(6);
    for (unsigned tries = 0; tries < 30 && brute->n_pods < pods; tries++) {
        random_pod(rig, brute);
        if (fits_now(rig, rig->waiting[rig->n_pods - 1])) {
            rig->n_pods--;
            brute->n_pods--;
            sl_pod_unref(rig->waiting[rig->n_pods]);
        }
    }
}

static unsigned ones(unsigned mask)
{
    return (unsigned)__builtin_popcount(mask);
}

static unsigned served_of(const struct cut_rig *rig)
{
    unsigned mask = 0;
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        for (size_t k = 0; k < plan->n_pods; k++) {
            mask |= 1u << (rig->n_pods - 1 - plan->pod[k]);
        }
    }
    return mask;
}

/* What the agents rely on, judged without the planner's own eyes. */
static void check_in_use(const struct cut_rig *rig)
{
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        const struct sl_view *view = rig->view[plan->view];
        const struct sl_node *node = view->node;
        for (unsigned c = 0; c < plan->n_cuts; c++) {
            const struct sl_cut *cut = &plan->cut[c];
            for (unsigned k = 0; k < node->n_instances; k++) {
                const struct sl_instance *instance = &node->instance[k];
                if (instance->device != cut->device) {
                    continue;
                }
                if (node->partition.actuator == SL_ACTUATOR_MIG_MANAGER) {
                    assert_int_equal(view->pool_used[instance->pool], 0);
                    continue;
                }
                bool there = !instance->in_use;
                for (unsigned x = 0; x < cut->n; x++) {
                    there = there ||
                            (cut->instance[x].start == (unsigned)instance->start &&
                             &node->model->profiles[cut->instance[x].profile] == instance->profile);
                }
                assert_true(there);
            }
        }
    }
}

static void serves_nearly_as_many_as_any_geometry_could(void **state)
{
    struct cut_rig *rig = *state;
    struct brute brute;
    unsigned planned = 0;
    unsigned best = 0;
    unsigned same = 0;
    unsigned cuts = 0;
    for (unsigned i = 0; i < CASES; i++) {
        seed = i + 1;
        random_case(rig, &brute);
        search(&brute, 0, 0);
        rig_plan(rig);
        check_in_use(rig);
        unsigned served = served_of(rig);
        if (served > brute.best) {
            fail_msg("seed %u: served %x, though the best is %x", i + 1, served, brute.best);
        }
        planned += ones(served);
        best += ones(brute.best);
        same += served == brute.best;
        cuts += (unsigned)rig->output.n_plans;
    }
    print_message("%u pods served of %u (%.4f); the best in %u of %u cases; %u plans\n", planned,
                  best, (double)planned / best, same, CASES, cuts);
    assert_true(cuts > CASES / 4);
    assert_true(planned * 100 >= best * 98);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(serves_nearly_as_many_as_any_geometry_could, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
