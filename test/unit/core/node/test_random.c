/* Nodes of random labels, allocatable and annotations: whatever is made of them adds up. */
#include "node_rig.h"

static unsigned draw(uint32_t *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 16) % below;
}

static const char *pick(uint32_t *seed, const char *const *from, unsigned n)
{
    return from[draw(seed, n)];
}

#define PICK(seed, list) pick((seed), (list), sizeof(list) / sizeof((list)[0]))

static void random_allocatable(struct node_rig *rig, uint32_t *seed)
{
    static const char *const names[] = {
        "nvidia.com/gpu",         "nvidia.com/gpu.shared",     "nvidia.com/mig-1g.6gb",
        "nvidia.com/mig-2g.12gb", "nvidia.com/mig-1g.5gb",     "nvidia.com/mig-1g.6gb.shared",
        "aliyun.com/gpu-mem",     "nvidia.com/mig-1g.6gb.me",  "nvidia.com/mig-9g.9gb",
        "aliyun.com/gpu-count",   "nvidia.com/mig-1g.5gb+bad", "cpu"};
    static const char *const values[] = {"0", "1", "2", "4", "8", "6", "3", "16", "30", "x"};
    rig->node.allocatable = NULL;
    for (unsigned i = draw(seed, 5); i > 0; i--) {
        facts_pair(&rig->facts, &rig->node.allocatable, PICK(seed, names), PICK(seed, values));
    }
    if (draw(seed, 8) == 0) {
        facts_pair(&rig->facts, &rig->node.allocatable, "nvidia.com/gpu-5gb", PICK(seed, values));
    }
    rig->node.capacity = NULL;
    for (unsigned i = draw(seed, 4); i > 1; i--) {
        facts_pair(&rig->facts, &rig->node.capacity, PICK(seed, names), PICK(seed, values));
    }
}

static void random_labels(struct node_rig *rig, uint32_t *seed)
{
    static const char *const products[] = {"NVIDIA-A30",
                                           "NVIDIA-A30-MIG-1g.6gb",
                                           "NVIDIA-A30-MIG-2g.12gb-SHARED",
                                           "NVIDIA-A100-SXM4-40GB",
                                           "Tesla-T4-SHARED",
                                           "X-MIG-INVALID",
                                           "-MIG-",
                                           "-SHARED"};
    static const char *const names[] = {
        "nvidia.com/gpu.count",        "nvidia.com/gpu.replicas",
        "nvidia.com/gpu.count",        "nvidia.com/mig-1g.6gb.replicas",
        "nvidia.com/mig-1g.6gb.count", "nvidia.com/gpu.sharing-strategy",
        "nvidia.com/mig.strategy",     "nos.nebuly.com/gpu-partitioning",
        "nvidia.com/mig.config",       "nvidia.com/mig.config.state",
        "nvidia.com/gpu.memory",       "cloud.google.com/gke-max-shared-clients-per-gpu",
        "nvidia.com/gpu.present",      "cloud.google.com/gke-gpu-partition-size",
        "nvidia.com/mig-2g.12gb.count"};
    static const char *const values[] = {"1",   "2",     "4",       "0",   "single", "mixed",
                                         "mig", "24576", "pending", "mps", "true",   "1g.6gb"};
    rig->node.labels = NULL;
    if (draw(seed, 6) > 0) {
        facts_pair(&rig->facts, &rig->node.labels, "nvidia.com/gpu.product", PICK(seed, products));
    }
    for (unsigned i = draw(seed, 6); i > 0; i--) {
        facts_pair(&rig->facts, &rig->node.labels, PICK(seed, names), PICK(seed, values));
    }
}

static void random_annotations(struct node_rig *rig, uint32_t *seed)
{
    static const char *const held[] = {NULL,
                                       NULL,
                                       "",
                                       "1g.6gb@0 1g.6gb@1 1g.6gb",
                                       "2g.12gb 1g.6gb@3 1g.6gb",
                                       "1g.6gb+me 1g.6gb@0",
                                       "2g.12gb@1 2g.12gb",
                                       "5gb 1g.6gb 5gb@3",
                                       "9g.9gb@99 1g.6gb"};
    static const char *const reports[] = {"nos.nebuly.com/status-gpu-0-1g.6gb-free",
                                          "nos.nebuly.com/status-gpu-1-1g.6gb-used",
                                          "nos.nebuly.com/status-gpu-1-2g.12gb-free",
                                          "nos.nebuly.com/status-gpu-63-1g.6gb-free",
                                          "nos.nebuly.com/status-gpu-0-5gb-free",
                                          "nos.nebuly.com/status-gpu-1-5gb-used",
                                          "nos.nebuly.com/status-partitioning-plan",
                                          "nos.nebuly.com/spec-partitioning-plan",
                                          "sliced.dev/cut"};
    static const char *const counts[] = {"0", "1", "2", "4", "9", "-1"};
    rig->node.devices = NULL;
    rig->node.annotations = NULL;
    for (unsigned i = draw(seed, 2) * draw(seed, 4); i > 0; i--) {
        struct sl_device_facts *d = device(rig, (int)draw(seed, 9), PICK(seed, held));
        d->unhealthy = draw(seed, 4) == 0;
        d->memory_mib = (int64_t)draw(seed, 2) * 24576;
        d->product = draw(seed, 3) == 0 ? SL_STR("NVIDIA-A30") : (struct sl_str){0};
    }
    for (unsigned i = draw(seed, 3) == 0 ? draw(seed, 4) : 0; i > 0; i--) {
        facts_pair(&rig->facts, &rig->node.annotations, PICK(seed, reports), PICK(seed, counts));
    }
}

/* What a pool's units sit on: all of it, and what of it is healthy. */
static void count_things(const struct sl_node *node, unsigned pool, int64_t *all, int64_t *healthy)
{
    bool on_instances = false;
    *all = 0;
    *healthy = 0;
    for (unsigned i = 0; i < node->n_instances; i++) {
        if (node->instance[i].pool == pool) {
            on_instances = true;
            int64_t units = node->instance[i].slices > 0 ? node->instance[i].slices : 1;
            *all += units;
            *healthy += node->device[node->instance[i].device].healthy ? units : 0;
        }
    }
    for (unsigned d = 0; d < node->n_devices && !on_instances; d++) {
        if (!node->device[d].mig) {
            *all += 1;
            *healthy += node->device[d].healthy;
        }
    }
}

static void check_pool(const struct sl_node *node, unsigned p)
{
    const struct sl_pool *pool = &node->pool[p];
    int64_t all = 0;
    int64_t healthy = 0;
    count_things(node, p, &all, &healthy);
    assert_true(pool->capacity > 0 && pool->replicas >= 1);
    if (!pool->on_devices) {
        assert_int_equal(pool->replicas, 1);
    } else if (pool->kind == SL_KIND_MEMORY) {
        int64_t units = 0;
        for (unsigned d = 0; d < node->n_devices; d++) {
            assert_true(node->device[d].memory_units >= 0);
            assert_true(!node->device[d].mig || node->device[d].memory_units == 0);
            units += node->device[d].memory_units;
        }
        assert_true(units > 0 && units <= pool->capacity);
    } else {
        assert_true(pool->kind == SL_KIND_REPLICA || pool->replicas == 1);
        assert_true(pool->capacity == all * pool->replicas ||
                    pool->capacity == healthy * pool->replicas);
    }
}

static void check_device(const struct sl_node *node, unsigned d)
{
    const struct sl_device *device = &node->device[d];
    struct sl_mig_layout layout = {0};
    assert_true(d == 0 || node->device[d - 1].index < device->index);
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->device != d) {
            continue;
        }
        assert_true(device->mig);
        if (instance->profile != NULL && instance->start >= 0) {
            struct sl_mig_placement placement = {
                (uint8_t)(instance->profile - device->model->profiles), (uint8_t)instance->start};
            assert_true(sl_mig_can_place(device->model, &layout, placement));
            sl_mig_place(device->model, &layout, placement);
        }
    }
}

static void check_absent(const struct sl_node *node)
{
    assert_true(node->n_absent <= SL_NODE_POOLS_MAX);
    for (unsigned i = 0; i < node->n_absent; i++) {
        int pool = sl_node_pool(node, node->absent[i].key);
        assert_in_range(node->absent[i].units, 1, SL_UNITS_MAX);
        assert_true(pool < 0 || node->absent[i].units > node->pool[pool].capacity);
    }
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, whatever_a_node_says_what_is_made_of_it_adds_up)
{
    uint32_t seed = 3;
    unsigned layouts[3] = {0};
    unsigned absent = 0;
    for (unsigned round = 0; round < 4000; round++) {
        sl_arena_reset(&rig->facts.arena);
        random_labels(rig, &seed);
        random_allocatable(rig, &seed);
        random_annotations(rig, &seed);
        rig->node.actuator = (enum sl_actuator)draw(&seed, SL_ACTUATOR_NOS_MPS + 1);
        describe(rig);
        layouts[rig->made->layout]++;
        for (unsigned p = 0; p < rig->made->n_pools; p++) {
            check_pool(rig->made, p);
        }
        for (unsigned d = 0; d < rig->made->n_devices; d++) {
            check_device(rig->made, d);
        }
        check_absent(rig->made);
        absent += rig->made->n_absent;
    }
    assert_true(layouts[0] > 100 && layouts[1] > 100 && layouts[2] > 100);
    assert_true(absent > 500);
}

/* ---- marks ---- */

/* Marks of some devices, and of some that are not there. */
TEST_ON(struct node_rig *rig, marked_devices_are_unhealthy_and_all_others_as_the_node_says)
{
    uint32_t seed = 4;
    for (unsigned round = 0; round < 500; round++) {
        sl_arena_reset(&rig->facts.arena);
        rig->node = (struct sl_node_facts){.name = SL_STR("n")};
        unsigned devices = 1 + draw(&seed, 5);
        for (unsigned d = 0; d < devices; d++) {
            device(rig, (int)(2 * d), "")->unhealthy = draw(&seed, 3) == 0;
        }
        struct sl_node *is = sl_node_ref((struct sl_node *)make(rig));
        for (unsigned again = 0; again < 4; again++) { /* each forgets what was marked before */
            int16_t index[3];
            unsigned n = draw(&seed, 4);
            bool same = true;
            for (unsigned i = 0; i < n; i++) {
                index[i] = (int16_t)draw(&seed, 12);
            }
            struct sl_node *marked = sl_node_marked(is, index, n);
            for (unsigned d = 0; d < devices; d++) {
                bool healthy = rig->made->device[d].healthy;
                for (unsigned i = 0; i < n; i++) {
                    healthy = healthy && index[i] != rig->made->device[d].index;
                }
                assert_int_equal(marked->device[d].healthy, healthy);
                same = same && is->device[d].healthy == healthy;
            }
            assert_int_equal(marked == is, same);
            sl_node_unref(is);
            is = marked;
        }
        sl_node_unref(is);
    }
}

/* ---- starts ---- */

/* Is there a way to have so many instances of each profile beside those of the layout? */
static bool fit_together(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                         const unsigned *counts)
{
    for (unsigned p = 0; p < model->n_profiles; p++) {
        for (unsigned start = 0; counts[p] > 0 && start < model->memory_slices; start++) {
            struct sl_mig_placement at = {(uint8_t)p, (uint8_t)start};
            unsigned rest[SL_MIG_PROFILES_MAX];
            struct sl_mig_layout next = *layout;
            if (!sl_mig_can_place(model, layout, at)) {
                continue;
            }
            sl_mig_place(model, &next, at);
            memcpy(rest, counts, sizeof(rest));
            rest[p]--;
            if (fit_together(model, &next, rest)) {
                return true;
            }
        }
        if (counts[p] > 0) {
            return false;
        }
    }
    return true;
}

TEST_ON(struct node_rig *rig, instances_get_starts_together_or_the_node_has_a_problem)
{
    static const char *const names[] = {"1g.6gb", "2g.12gb", "4g.24gb"};
    const struct sl_mig_model *a30 = sl_mig_model_find(SL_STR("NVIDIA-A30"), 24576);
    uint32_t seed = 5;
    unsigned fitting = 0;
    for (unsigned round = 0; round < 1000; round++) {
        struct sl_mig_layout layout = {0};
        unsigned counts[SL_MIG_PROFILES_MAX] = {0};
        char text[128] = "";
        bool good = true;
        sl_arena_reset(&rig->facts.arena);
        rig->node = (struct sl_node_facts){.name = SL_STR("n")};
        given(rig, A30, "nvidia.com/mig-1g.6gb=4");
        for (unsigned i = 1 + draw(&seed, 4); i > 0; i--) {
            const char *name = names[draw(&seed, 3)];
            int start = (int)draw(&seed, 6) - 2;
            unsigned p = (unsigned)(sl_mig_profile_find(a30, sl_str_of(name)) - a30->profiles);
            struct sl_mig_placement at = {(uint8_t)p, (uint8_t)start};
            size_t len = strlen(text);
            (void)snprintf(text + len, sizeof(text) - len, start < 0 ? "%s%s" : "%s%s@%d",
                           len > 0 ? " " : "", name, start);
            if (start < 0) {
                counts[p]++;
            } else if (sl_mig_can_place(a30, &layout, at)) {
                sl_mig_place(a30, &layout, at);
            } else {
                good = false; /* it cannot be there */
            }
        }
        device(rig, 0, text);
        (void)make(rig);
        good = good && fit_together(a30, &layout, counts);
        bool told = rig->made->problem != NULL &&
                    strstr(rig->made->problem, "GPU 0 cannot hold the instances") != NULL;
        assert_int_equal(told, !good);
        fitting += good;
    }
    assert_in_range(fitting, 200, 800);
}

/* ---- the site ---- */

/* Whatever a pod's constraints can ask about a node shows in its digest. */
TEST_ON(struct node_rig *rig, nodes_of_other_labels_or_taints_have_other_digests)
{
    static const char *const own[] = {"kubernetes.io/hostname=a", "kubernetes.io/hostname=b"};
    uint32_t seed = 6;
    for (unsigned round = 0; round < 500; round++) {
        uint64_t digest[2];
        char text[2][128];
        unsigned taints = draw(&seed, 3);
        unsigned other = draw(&seed, 4 + 2 * taints);
        for (unsigned k = 0; k < 2; k++) {
            struct sl_taint_facts taint[2] = {{.next = NULL}};
            sl_arena_reset(&rig->facts.arena);
            rig->node = (struct sl_node_facts){.name = SL_STR("n")};
            (void)snprintf(text[k], sizeof(text[k]), "a=1 b=%d c=%d zone=%d %s",
                           k == 1 && other == 0, k == 1 && other == 1, k == 1 && other == 2,
                           own[k]);
            given(rig, text[k], "nvidia.com/gpu=1");
            rig->node.unschedulable = k == 1 && other == 3;
            for (unsigned i = 0; i < taints; i++) {
                taint[i] = (struct sl_taint_facts){
                    .key = SL_STR("gpu"),
                    .value = k == 1 && other == 4 + 2 * i ? SL_STR("x") : SL_STR("y"),
                    .effect =
                        k == 1 && other == 5 + 2 * i ? SL_STR("NoExecute") : SL_STR("NoSchedule"),
                    .next = i + 1 < taints ? &taint[i + 1] : NULL};
            }
            rig->node.taints = taints > 0 ? taint : NULL;
            digest[k] = make(rig)->site_digest;
        }
        assert_true(digest[0] != digest[1]);
    }
}

TEST_ON(struct node_rig *rig, names_of_nodes_and_preferences_leave_the_digest_as_it_is)
{
    struct sl_taint_facts soft = {.key = SL_STR("gpu"), .effect = SL_STR("PreferNoSchedule")};
    given(rig, "a=1 kubernetes.io/hostname=n1 z=1", "nvidia.com/gpu=1");
    uint64_t digest = make(rig)->site_digest;
    given(rig, "a=1 kubernetes.io/hostname=n2 z=1", "nvidia.com/gpu=1");
    rig->node.taints = &soft;
    assert_true(make(rig)->site_digest == digest);
}
