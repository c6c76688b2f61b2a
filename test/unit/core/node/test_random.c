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
        "nvidia.com/gpu.memory"};
    static const char *const values[] = {"1",     "2",   "4",     "0",       "single",
                                         "mixed", "mig", "24576", "pending", "mps"};
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

static void whatever_a_node_says_what_is_made_of_it_adds_up(void **state)
{
    struct node_rig *rig = *state;
    uint32_t seed = 3;
    unsigned layouts[3] = {0};
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
    }
    assert_true(layouts[0] > 200 && layouts[1] > 200 && layouts[2] > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whatever_a_node_says_what_is_made_of_it_adds_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
