/* The six published policies, after their descriptions and the simulator they were measured with:
 * scores are integers of 0..100, as that scheduler's plugins give them, so that many nodes tie and
 * the first by name is taken. */
#include <stdlib.h>

#include "evidence/openb/openb.h"
#include "sliced/admit.h"

enum { SCORE_MAX = 100, CPU_SPEC_MAX = 128000, GPU_SPEC_MAX = 8000, COVERED_PERCENT = 95 };

/* Milli of a node's GPU that are free. */
static int64_t device_left(const struct sl_view *view, unsigned device)
{
    const struct sl_device_use *use = &view->device[device];
    return use->whole ? 0 : SL_OPENB_GPU - use->memory_units;
}

/* ---- for several policies ---- */

struct state {
    int64_t cpu; /* milli that are free */
    int64_t left[SL_OPENB_GPUS_MAX];
    int64_t total;
    unsigned n;
    unsigned whole; /* GPUs that are idle */
};

static struct state state_of(const struct sl_view *view)
{
    struct state state = {.cpu = view->node->host.cpu_milli - view->cpu_milli,
                          .n = view->node->n_devices};
    for (unsigned i = 0; i < state.n; i++) {
        state.left[i] = device_left(view, i);
        state.total += state.left[i];
        state.whole += state.left[i] == SL_OPENB_GPU ? 1 : 0;
    }
    return state;
}

static int64_t milli_asked(const struct sl_openb_class *class)
{
    return (int64_t) class->gpus * class->milli;
}

static bool is_share(const struct sl_openb_class *class)
{
    return class->gpus == 1 && class->milli < SL_OPENB_GPU;
}

/* ---- Random: any node, any GPU ---- */

static int64_t score_random(struct sl_openb_run *run, const struct sl_openb_node *node,
                            const struct sl_openb_class *class, int *gpu)
{
    struct state state = state_of(node->view);
    uint64_t fitting = 0;
    for (unsigned i = 0; is_share(class) && i < state.n; i++) {
        if (state.left[i] >= class->milli) {
            fitting++;
            *gpu = sl_rng_below(&run->rng, fitting) == 0 ? (int)i : *gpu;
        }
    }
    return 0;
}

/* ---- DotProd (Tetris): small product of what is free and what is asked ---- */

static int64_t score_dot(struct sl_openb_run *run, const struct sl_openb_node *node,
                         const struct sl_openb_class *class, int *gpu)
{
    (void)run;
    *gpu = -1;
    struct state state = state_of(node->view);
    double cpu = (double)state.cpu / CPU_SPEC_MAX * ((double)class->cpu_milli / CPU_SPEC_MAX);
    double gpus = (double)state.total / GPU_SPEC_MAX * ((double)milli_asked(class) / GPU_SPEC_MAX);
    return (int64_t)(SCORE_MAX * (1 - (cpu + gpus) / 2));
}

/* ---- GpuClustering: beside pods that ask for as many GPUs ---- */

static int64_t score_clustering(struct sl_openb_run *run, const struct sl_openb_node *node,
                                const struct sl_openb_class *class, int *gpu)
{
    (void)run;
    *gpu = -1;
    if (class->gpus == 0) {
        return 0;
    }
    struct state state = state_of(node->view);
    unsigned kinds = 0;
    for (unsigned i = 0; i <= SL_OPENB_GPUS_MAX; i++) {
        kinds += node->affinity[i] > 0 ? 1 : 0;
    }
    bool like = node->affinity[is_share(class) ? 0 : class->gpus] > 0;
    int64_t base = SCORE_MAX / 4 * (GPU_SPEC_MAX - state.total) / GPU_SPEC_MAX;
    if (like) {
        return base + (kinds == 1 ? SCORE_MAX * 3 / 4 : SCORE_MAX * 2 / 4);
    }
    return base + (kinds == 0 ? SCORE_MAX / 4 : 0);
}

/* ---- GpuPacking: shared GPUs first, then idle ones of nodes in use, then nodes not in use ---- */

static int by_left(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return *x < *y ? -1 : *x > *y;
}

static int64_t larger_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t score_packing(struct sl_openb_run *run, const struct sl_openb_node *node,
                             const struct sl_openb_class *class, int *gpu)
{
    (void)run;
    *gpu = -1;
    if (class->gpus == 0) {
        return 0;
    }
    struct state state = state_of(node->view);
    if (state.whole == state.n) {
        return larger_of(SCORE_MAX / 3 - (int64_t)state.whole, (int64_t)state.whole);
    }
    qsort(state.left, state.n, sizeof(state.left[0]), by_left);
    int64_t idle = 0;
    int64_t shared_percent = 0;
    int32_t wanted = class->gpus;
    for (unsigned i = 0; i < state.n && wanted > 0; i++) {
        if (state.left[i] >= class->milli) {
            wanted--;
            idle += state.left[i] == SL_OPENB_GPU ? 1 : 0;
            shared_percent += state.left[i] * 100 / SL_OPENB_GPU;
        }
    }
    return idle > 0 ? larger_of(SCORE_MAX / 2 - idle, SCORE_MAX / 3)
                    : larger_of(SCORE_MAX - shared_percent / 10, SCORE_MAX / 2);
}

/* ---- BestFit: the least left of CPU and GPU ---- */

static int64_t score_best(struct sl_openb_run *run, const struct sl_openb_node *node,
                          const struct sl_openb_class *class, int *gpu)
{
    (void)run;
    *gpu = -1;
    struct state state = state_of(node->view);
    double cpu = (double)(state.cpu - class->cpu_milli) / CPU_SPEC_MAX;
    double gpus = (double)(state.total - milli_asked(class)) / GPU_SPEC_MAX;
    return (int64_t)(SCORE_MAX * (1 - (cpu + gpus) / 2));
}

/* ---- FGD: the least growth of the idle share that typical pods cannot use ---- */

/* Idle milli that the class cannot use: all if it does not fit, else those of GPUs that are too
 * full. */
static int64_t milli_unusable(const struct state *state, const struct sl_view *view,
                              const struct sl_openb_class *class)
{
    int32_t fitting = 0;
    int64_t lost = 0;
    if (class->gpus == 0 || state->cpu < class->cpu_milli) {
        return state->total;
    }
    for (unsigned i = 0; i < state->n; i++) {
        bool fits = state->left[i] >= class->milli;
        fitting += fits ? 1 : 0;
        lost += fits ? 0 : state->left[i];
    }
    bool admitted =
        fitting >= class->gpus &&
        (class->models[0] == '\0' ||
         sl_constraints_admit(class->pod->constraints, view->node) == SL_CONSTRAINT_NONE);
    return admitted ? lost : state->total;
}

static double fragmentation(const struct sl_openb_run *run, const struct state *state,
                            const struct sl_view *view)
{
    double sum = 0;
    for (size_t i = 0; i < run->n_typical && state->total > 0; i++) {
        const struct sl_openb_typical *typical = &run->typical[i];
        sum += typical->share * (double)milli_unusable(state, view, typical->class);
    }
    return sum;
}

static int64_t gain_squash(double gain)
{
    return (int64_t)(SCORE_MAX / (1 + sl_rng_exp(-gain / SL_OPENB_GPU)));
}

/* The change when the pod takes these GPUs from first on. */
static double after(const struct sl_openb_run *run, const struct sl_view *view, struct state state,
                    const struct sl_openb_class *class, unsigned first)
{
    int32_t wanted = class->gpus;
    state.cpu -= class->cpu_milli;
    for (unsigned i = first; i < state.n && wanted > 0; i++) {
        if (state.left[i] >= class->milli) {
            state.left[i] -= class->milli;
            state.total -= class->milli;
            wanted--;
        }
    }
    return fragmentation(run, &state, view);
}

static bool seen_before(const struct state *state, unsigned device)
{
    for (unsigned i = 0; i < device; i++) {
        if (state->left[i] == state->left[device]) {
            return true;
        }
    }
    return false;
}

static int64_t score_fgd(struct sl_openb_run *run, const struct sl_openb_node *node,
                         const struct sl_openb_class *class, int *gpu)
{
    struct state state = state_of(node->view);
    double before = fragmentation(run, &state, node->view);
    if (!is_share(class)) {
        return gain_squash(before - after(run, node->view, state, class, 0));
    }
    int64_t best = 0;
    for (unsigned i = 0; i < state.n; i++) {
        if (state.left[i] < class->milli || seen_before(&state, i)) {
            continue;
        }
        int64_t score = gain_squash(before - after(run, node->view, state, class, i));
        if (*gpu < 0 || score > best) {
            best = score;
            *gpu = (int)i;
        }
    }
    return best;
}

/* ---- the typical pods of FGD ---- */

static bool equal_but_for_memory(const struct sl_openb_class *a, const struct sl_openb_class *b)
{
    return a->cpu_milli == b->cpu_milli && a->gpus == b->gpus && a->milli == b->milli &&
           strcmp(a->models, b->models) == 0;
}

static int by_share(const void *a, const void *b)
{
    const struct sl_openb_typical *x = a;
    const struct sl_openb_typical *y = b;
    if (x->share != y->share) {
        return x->share > y->share ? -1 : 1;
    }
    return x->class->cpu_milli != y->class->cpu_milli
               ? (x->class->cpu_milli > y->class->cpu_milli ? -1 : 1)
               : (x->class->milli > y->class->milli ? -1 : x->class->milli < y->class->milli);
}

int sl_openb_find_typical(struct sl_openb_run *run, struct sl_error *err)
{
    const struct sl_openb *openb = run->openb;
    run->typical = calloc(openb->n_classes + 1, sizeof(*run->typical));
    if (run->typical == NULL) {
        return sl_error_nomem(err);
    }
    size_t n = 0;
    for (uint32_t c = 0; c < openb->n_classes; c++) {
        size_t at = 0;
        while (at < n && !equal_but_for_memory(run->typical[at].class, &openb->class[c])) {
            at++;
        }
        run->typical[at].class = at == n ? &openb->class[c] : run->typical[at].class;
        run->typical[at].share += openb->class[c].n;
        n += at == n ? 1 : 0;
    }
    qsort(run->typical, n, sizeof(*run->typical), by_share);
    double covered = 0;
    while (run->n_typical < n && covered * 100 < COVERED_PERCENT * (double)openb->n_pods) {
        covered += run->typical[run->n_typical++].share;
    }
    for (size_t i = 0; i < run->n_typical; i++) {
        run->typical[i].share /= covered;
    }
    return 0;
}

/* ---- the table ---- */

static const struct sl_openb_policy policies[] = {
    {"random", score_random, .random = true},
    {"dotprod", score_dot, .random = false},
    {"gpuclustering", score_clustering, .random = false},
    {"gpupacking", score_packing, .random = false},
    {"bestfit", score_best, .random = false},
    {"fgd", score_fgd, .random = false},
    {"sliced", NULL, .ours = true},
};

enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

size_t sl_openb_policy_count(void)
{
    return POLICIES;
}

const struct sl_openb_policy *sl_openb_policy_at(size_t i)
{
    return i < POLICIES ? &policies[i] : NULL;
}

const struct sl_openb_policy *sl_openb_policy_find(struct sl_str name)
{
    for (size_t i = 0; i < POLICIES; i++) {
        if (sl_str_eq(sl_str_of(policies[i].name), name)) {
            return &policies[i];
        }
    }
    return NULL;
}

/* Allocation at 130 % in percent, means of ten seeds, in the order of the policies. */
static const struct {
    const char *list;
    double percent[POLICIES];
} published[] = {
    {"openb_pod_list_default.csv", {87.47, 90.85, 91.88, 92.00, 93.08, 95.39, 0}},
    {"openb_pod_list_gpushare40.csv", {86.00, 89.56, 90.02, 90.03, 91.69, 94.15, 0}},
    {"openb_pod_list_multigpu20.csv", {88.69, 92.06, 93.56, 93.71, 93.93, 95.65, 0}},
    {"openb_pod_list_cpu100.csv", {89.11, 91.95, 92.64, 92.72, 93.44, 95.35, 0}},
    {"openb_pod_list_gpuspec10.csv", {87.43, 90.39, 92.18, 92.46, 93.30, 94.95, 0}},
};

double sl_openb_published(const struct sl_openb_policy *policy, const char *list)
{
    const char *slash = strrchr(list, '/');
    const char *name = slash == NULL ? list : slash + 1;
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        if (strcmp(published[i].list, name) == 0) {
            return published[i].percent[policy - policies];
        }
    }
    return 0;
}
