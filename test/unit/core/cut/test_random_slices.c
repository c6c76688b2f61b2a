/* Random nodes of nos in MPS mode against a brute force, which shares nothing with the planner:
 * which pods get slices, and, where one pod waits for one slice, what which GPU is cut into. */
#include "unit/core/cut/cut_rig.h"

enum { CASES = 3000, GPUS_MAX = 3, SIZES = 8, PODS_MAX = 6, CLIENTS = 48 };

static const int sizes[SIZES] = {1, 3, 5, 8, 10, 15, 20, 24};

struct gpu {
    bool whole;
    bool healthy;
    bool may_change;
    int gb;
    int used[SIZES]; /* as the agent reports */
    int all[SIZES];
    int kept[SIZES];
    char text[1024];
};

struct drawn {
    struct gpu gpu[GPUS_MAX];
    unsigned n;
    int spare[SIZES];
    int need[SIZES]; /* of the pods that it serves, in the brute force */
};

struct brute {
    struct drawn node[GPUS_MAX];
    unsigned n_nodes;
    int ask[PODS_MAX][SIZES];
    unsigned n_pods;
    unsigned max_plans;
    unsigned best; /* the first pod is the highest bit */
};

/* ---- random nodes ---- */

static void random_gpu(struct gpu *gpu, int gb)
{
    int left = gb;
    *gpu = (struct gpu){.whole = pick(4) == 0, .healthy = pick(12) > 0, .gb = gb};
    unsigned most = pick(3) > 0 ? 1 + pick(5) : 7 + pick(50);
    for (unsigned i = 0; i < most && !gpu->whole; i++) {
        unsigned k = most > 6 ? 0 : pick(SIZES);
        bool used = gpu->healthy && pick(3) == 0;
        size_t len = strlen(gpu->text);
        if (sizes[k] > left) {
            continue;
        }
        left -= sizes[k];
        gpu->all[k]++;
        gpu->used[k] += used;
        (void)snprintf(gpu->text + len, sizeof(gpu->text) - len, "%s%dgb%s", len > 0 ? " " : "",
                       sizes[k], used ? "*" : "");
    }
}

/* Runs a pod on each slice in use. Returns whether one more has a slice that the agent calls free.
 */
static bool run_pods(struct cut_rig *rig, size_t i, const struct drawn *node, unsigned k)
{
    char ask[32];
    int all = 0;
    int used = 0;
    for (unsigned d = 0; d < node->n; d++) {
        all += node->gpu[d].all[k];
        used += node->gpu[d].used[k];
    }
    bool lags = all > used && pick(4) == 0;
    if (used + lags > 0) {
        (void)snprintf(ask, sizeof(ask), "gpu-%dgb=%d", sizes[k], used + lags);
        rig_run(rig, i, ask, 0);
    }
    return lags;
}

static void random_node(struct cut_rig *rig, struct drawn *node, unsigned n)
{
    static const int gb[] = {24, 41, 80};
    const char *text[GPUS_MAX];
    char labels[128];
    int memory = gb[pick(3)];
    bool whole_used = false;
    *node = (struct drawn){.n = n};
    (void)snprintf(labels, sizeof(labels),
                   "nos.nebuly.com/gpu-partitioning=mps nvidia.com/gpu.memory=%d", memory * 1000);
    for (unsigned d = 0; d < n; d++) {
        random_gpu(&node->gpu[d], memory);
        text[d] = node->gpu[d].whole ? NULL : node->gpu[d].text;
        whole_used = whole_used || node->gpu[d].whole;
    }
    size_t i = rig_node(rig, SL_ACTUATOR_NOS_MPS, "Tesla-X", labels, n, text);
    whole_used = whole_used && pick(4) == 0;
    if (whole_used) {
        rig_run(rig, i, "gpu=1", 0);
    }
    for (unsigned d = 0; d < n; d++) {
        struct gpu *gpu = &node->gpu[d];
        rig->node[i].node->device[d].healthy = gpu->healthy;
        gpu->may_change = gpu->healthy && !(gpu->whole && whole_used);
    }
    for (unsigned k = 0; k < SIZES; k++) {
        bool lags = run_pods(rig, i, node, k);
        char resource[32];
        (void)snprintf(resource, sizeof(resource), "nvidia.com/gpu-%dgb", sizes[k]);
        rig_view(rig, i);
        int pool = sl_view_pool(rig->view[i], sl_hash(resource, strlen(resource)));
        node->spare[k] = pool < 0 ? 0 : (int)rig->view[i]->room[pool].free;
        for (unsigned d = 0; d < n; d++) {
            struct gpu *gpu = &node->gpu[d];
            gpu->kept[k] = lags ? gpu->all[k] : gpu->used[k];
            node->spare[k] -= gpu->may_change ? gpu->all[k] - gpu->kept[k] : 0;
        }
        node->spare[k] = node->spare[k] > 0 ? node->spare[k] : 0;
    }
}

/* ---- the brute force ---- */

/* Do so many more slices fit beside those that stay? */
static bool fits(const struct gpu *gpu, const int more[SIZES])
{
    int left = gpu->gb;
    int clients = 0;
    for (unsigned k = 0; k < SIZES; k++) {
        left -= (gpu->kept[k] + more[k]) * sizes[k];
        clients += gpu->kept[k] + more[k];
    }
    return gpu->may_change && left >= 0 && clients <= CLIENTS;
}

/* Tries all ways to put the slices on GPUs, from the largest on, and those of a size in order. */
static bool lay_out(const struct drawn *node, int need[SIZES], int more[GPUS_MAX][SIZES],
                    unsigned d)
{
    int k = SIZES - 1;
    while (k >= 0 && need[k] == 0) {
        k--;
    }
    for (; k >= 0 && d < node->n; d++) {
        more[d][k]++;
        need[k]--;
        bool good = fits(&node->gpu[d], more[d]) && lay_out(node, need, more, need[k] > 0 ? d : 0);
        more[d][k]--;
        need[k]++;
        if (good) {
            return true;
        }
    }
    return k < 0;
}

static bool can_give(const struct drawn *node)
{
    int need[SIZES];
    int more[GPUS_MAX][SIZES] = {{0}};
    for (unsigned k = 0; k < SIZES; k++) {
        need[k] = node->need[k] > node->spare[k] ? node->need[k] - node->spare[k] : 0;
    }
    return lay_out(node, need, more, 0);
}

static bool is_open(const struct drawn *node)
{
    static const int none[SIZES] = {0};
    return memcmp(node->need, none, sizeof(none)) != 0;
}

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
    for (unsigned i = 0; i < brute->n_nodes; i++) {
        struct drawn was = brute->node[i];
        unsigned open = 0;
        for (unsigned k = 0; k < SIZES; k++) {
            brute->node[i].need[k] += brute->ask[pod][k];
        }
        for (unsigned other = 0; other < brute->n_nodes; other++) {
            open += is_open(&brute->node[other]);
        }
        if (open <= brute->max_plans && can_give(&brute->node[i])) {
            search(brute, pod + 1, served << 1 | 1);
        }
        brute->node[i] = was;
    }
    search(brute, pod + 1, served << 1);
}

/* ---- random pods ---- */

/* For one slice or two of a size, or of two sizes. */
static void random_pod(struct cut_rig *rig, struct brute *brute, bool plain)
{
    int *ask = brute->ask[brute->n_pods];
    char text[64];
    unsigned k = pick(SIZES);
    memset(ask, 0, sizeof(brute->ask[0]));
    ask[k] = plain ? 1 : 1 + (int)pick(5) / 4;
    size_t len = (size_t)snprintf(text, sizeof(text), "gpu-%dgb=%d", sizes[k], ask[k]);
    unsigned other = pick(SIZES);
    if (!plain && pick(4) == 0 && other != k) {
        ask[other] = 1 + (int)pick(3) / 2;
        (void)snprintf(text + len, sizeof(text) - len, " gpu-%dgb=%d", sizes[other], ask[other]);
    }
    (void)rig_wait(rig, text, NULL);
    struct sl_pod *pod = rig->waiting[rig->n_pods - 1];
    for (unsigned i = 0; i < pod->n_items; i++) {
        pod->items[i].each = 1;
    }
    brute->n_pods++;
    if (fits_now(rig, pod)) {
        brute->n_pods--;
        rig->n_pods--;
        sl_pod_unref(pod);
    }
}

static void random_case(struct cut_rig *rig, struct brute *brute, unsigned pods)
{
    rig_clear(rig);
    *brute = (struct brute){.max_plans = pick(3) == 0 ? 1 : RIG_PLANS};
    rig->input.max_plans = brute->max_plans;
    for (unsigned gpus = 1 + pick(GPUS_MAX); gpus > 0;) {
        unsigned n = 1 + pick(gpus);
        random_node(rig, &brute->node[brute->n_nodes], n);
        brute->n_nodes++;
        gpus -= n;
    }
    for (unsigned tries = 0; tries < 12 && brute->n_pods < pods; tries++) {
        random_pod(rig, brute, pods == 1);
    }
}

static unsigned served_of(const struct cut_rig *rig)
{
    unsigned mask = 0;
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        for (size_t k = 0; k < rig->output.plan[i].n_pods; k++) {
            mask |= 1u << (rig->n_pods - 1 - rig->output.plan[i].pod[k]);
        }
    }
    return mask;
}

/* Slices in use stay, judged without the planner's own eyes. */
static void check_in_use(const struct cut_rig *rig, const struct brute *brute)
{
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        for (unsigned c = 0; c < plan->n_cuts; c++) {
            const struct sl_cut *cut = &plan->cut[c];
            struct gpu gpu = brute->node[plan->view].gpu[cut->device];
            int more[SIZES] = {0};
            for (unsigned k = 0; k < SIZES; k++) {
                for (unsigned s = 0; s < cut->n_sizes; s++) {
                    more[k] += cut->slices[s].gb == sizes[k] ? cut->slices[s].n : 0;
                }
                more[k] -= gpu.kept[k];
                assert_true(more[k] >= 0);
            }
            assert_true(fits(&gpu, more));
        }
    }
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, serves_as_many_as_any_slices_could)
{
    static struct brute brute;
    unsigned best = 0;
    unsigned same = 0;
    for (unsigned i = 0; i < CASES; i++) {
        seed = i + 1;
        random_case(rig, &brute, 1 + pick(PODS_MAX));
        search(&brute, 0, 0);
        rig_plan(rig);
        check_in_use(rig, &brute);
        unsigned served = served_of(rig);
        if (served > brute.best) {
            fail_msg("seed %u: served %x, though the best is %x", i + 1, served, brute.best);
        }
        if (brute.n_nodes == 1) { /* of several nodes it takes one after the other */
            assert_int_equal(served, brute.best);
        }
        best += brute.best > 0;
        same += served == brute.best;
    }
    assert_true(best > CASES * 9 / 10);
    assert_true(same >= CASES - 50);
}

/* ---- one pod for one slice ---- */

/* Takes away what is kept of the free slices beside one more, the largest first: out gets what the
 * GPU will have, with as many more of that size as fit. Returns the GB that go. */
static int cut_for(const struct gpu *gpu, unsigned size, int out[SIZES])
{
    int more[SIZES] = {[0] = 0};
    int lost = gpu->whole ? gpu->gb : 0;
    more[size] = 1;
    for (unsigned k = SIZES; k-- > 0;) {
        int free = gpu->all[k] - gpu->kept[k];
        for (more[k]++; more[k] <= free && fits(gpu, more); more[k]++) {
        }
        more[k]--;
        lost += more[k] < free ? (free - more[k]) * sizes[k] : 0;
    }
    for (more[size]++; fits(gpu, more); more[size]++) {
    }
    more[size]--;
    for (unsigned k = 0; k < SIZES; k++) {
        out[k] = gpu->kept[k] + more[k];
    }
    return lost;
}

static int left_of(const struct gpu *gpu)
{
    int left = gpu->may_change ? gpu->gb : 0;
    for (unsigned k = 0; k < SIZES && gpu->may_change; k++) {
        left -= gpu->kept[k] * sizes[k];
    }
    return left;
}

struct best {
    unsigned node;
    unsigned gpu;
    int rank[3]; /* the GB that go, those left of the node's GPUs, those left of the GPU */
    int counts[SIZES];
};

static bool is_less(const int a[3], const int b[3])
{
    for (unsigned i = 0; i < 3; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i];
        }
    }
    return false;
}

/* Of the GPUs that can have the slice: where least goes; of nodes the one with least room, and of
 * its GPUs the one with least. */
static bool find_best(const struct brute *brute, unsigned size, struct best *best)
{
    bool found = false;
    for (unsigned i = 0; i < brute->n_nodes; i++) {
        const struct drawn *node = &brute->node[i];
        struct best here = {.node = i};
        int room = 0;
        for (unsigned d = 0; d < node->n; d++) {
            room += left_of(&node->gpu[d]);
        }
        for (here.gpu = 0; here.gpu < node->n; here.gpu++) {
            const struct gpu *gpu = &node->gpu[here.gpu];
            const int one[SIZES] = {[0] = 0};
            int more[SIZES];
            memcpy(more, one, sizeof(more));
            more[size] = 1;
            if (!fits(gpu, more)) {
                continue;
            }
            here.rank[0] = cut_for(gpu, size, here.counts);
            here.rank[1] = room;
            here.rank[2] = left_of(gpu);
            if (!found || is_less(here.rank, best->rank)) {
                *best = here;
                found = true;
            }
        }
    }
    return found;
}

TEST_ON(struct cut_rig *rig, the_gpu_is_cut_that_loses_least_and_keeps_what_fits)
{
    static struct brute brute;
    unsigned cuts = 0;
    for (unsigned i = 0; i < CASES; i++) {
        struct best best;
        unsigned size = 0;
        seed = i + 1;
        random_case(rig, &brute, 1);
        rig_plan(rig);
        while (brute.n_pods > 0 && brute.ask[0][size] == 0) {
            size++;
        }
        bool found = brute.n_pods > 0 && find_best(&brute, size, &best);
        assert_int_equal(rig->output.n_plans, found);
        if (!found) {
            continue;
        }
        const struct sl_cut_plan *plan = &rig->output.plan[0];
        assert_int_equal(plan->view, best.node);
        assert_int_equal(plan->n_cuts, 1);
        assert_int_equal(plan->cut[0].device, best.gpu);
        unsigned n = 0;
        for (unsigned k = 0; k < SIZES; k++) {
            if (best.counts[k] > 0) {
                assert_in_range(n, 0, plan->cut[0].n_sizes - 1);
                assert_int_equal(plan->cut[0].slices[n].gb, sizes[k]);
                assert_int_equal(plan->cut[0].slices[n].n, best.counts[k]);
                n++;
            }
        }
        assert_int_equal(plan->cut[0].n_sizes, n);
        cuts++;
    }
    assert_true(cuts > CASES / 2);
}
