/* What the GPUs of a small random node can hold, by brute force over all geometries. Shares nothing
 * with the planner of cuts but the table of models and sl_mig_can_place. */
#ifndef SLICED_TEST_CUT_BRUTE_H
#define SLICED_TEST_CUT_BRUTE_H

#include "unit/core/cut/cut_rig.h"

enum { WHOLE = SL_MIG_PROFILES_MAX, UNITS, OPTIONS_MAX = 512, GPUS_MAX = 3 };

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
static inline bool any_way(const struct sl_mig_model *model, struct sl_mig_layout layout,
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

static inline bool yes(void *context, const struct sl_mig_layout *layout)
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

static inline bool wanted_lacks_room(void *context, const struct sl_mig_layout *layout)
{
    const struct stays *stays = context;
    return any_way(stays->model, *layout, stays->free, 0, yes, NULL) &&
           !any_way(stays->model, *layout, stays->wanted, 0, yes, NULL);
}

static inline bool fits_wherever(struct stays *stays, const uint8_t *wanted)
{
    static const struct sl_mig_layout empty = {0};
    stays->wanted = wanted;
    return !any_way(stays->model, empty, stays->stay, 0, wanted_lacks_room, stays);
}

static inline bool covers(const uint8_t *a, const uint8_t *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (a[i] < b[i]) {
            return false;
        }
    }
    return true;
}

static inline void option_add(struct options *options, const uint8_t *counts)
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
static inline void grow(struct stays *stays, uint8_t *counts, unsigned from, bool plain,
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

static inline bool gives(const struct brute_node *node, unsigned d, const int *need)
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

static inline bool can_give(struct brute_node *node, const uint8_t *need)
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

/* ---- random nodes ---- */

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
static inline void random_gpu(struct gpu *gpu, const struct sl_mig_model *model, bool nos)
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

static inline void ask_text(char *out, size_t size, const struct sl_mig_profile *profile,
                            unsigned count)
{
    char resource[96];
    rig_resource(profile->name, resource);
    (void)snprintf(out, size, "%s=%u", resource + strlen("nvidia.com/"), count);
}

/* Pods run on what nos' agent reports in use, and somewhere in a pool of the mig-manager. */
static inline void run_pods(struct cut_rig *rig, size_t i, const struct sl_mig_model *model,
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

static inline bool is_idle(const struct gpu *gpu, const unsigned used[UNITS])
{
    bool idle = !gpu->whole || used[WHOLE] == 0;
    for (unsigned p = 0; p < SL_MIG_PROFILES_MAX; p++) {
        idle = idle && (gpu->counts[p] == 0 || used[p] == 0);
    }
    return idle;
}

static inline void whole_option(struct options *options)
{
    uint8_t counts[UNITS] = {0};
    counts[WHOLE] = 1;
    option_add(options, counts);
}

/* Writes down what the brute force may do with a node of the mig-manager. */
static inline void describe_managed(struct brute_node *out, const struct gpu *gpu, unsigned n,
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

static inline void describe_nos(struct brute_node *out, const struct gpu *gpu, unsigned n)
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

struct drawn_node {
    const struct sl_mig_model *model;
    bool nos;
    unsigned n;
    struct gpu gpu[GPUS_MAX];
    unsigned used[UNITS]; /* that pods hold */
};

/* Adds a node of some model and agent with pods that run there. Returns its index. */
static inline size_t random_node(struct cut_rig *rig, struct drawn_node *out, unsigned n_gpus)
{
    const char *text[GPUS_MAX];
    bool nos = pick(2) == 0;
    const char *product = products[pick(sizeof(products) / sizeof(products[0]))];
    *out = (struct drawn_node){
        .model = sl_mig_model_find(sl_str_of(product), 0), .nos = nos, .n = n_gpus};
    assert_non_null(out->model);
    for (unsigned d = 0; d < n_gpus; d++) {
        random_gpu(&out->gpu[d], out->model, nos);
        text[d] = out->gpu[d].whole ? NULL : out->gpu[d].text;
    }
    enum sl_actuator actuator = nos ? SL_ACTUATOR_NOS_MIG : SL_ACTUATOR_MIG_MANAGER;
    size_t i = rig_node(rig, actuator, product, NULL, n_gpus, text);
    run_pods(rig, i, out->model, out->gpu, n_gpus, nos, out->used);
    return i;
}

#endif
