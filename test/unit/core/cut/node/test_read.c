/* What is read of a node before anything is tried: what it could give at most, and which nodes are
 * alike. */
#include "unit/core/cut/cut_rig.h"

#include "core/cut/node/place.h"

#define SINGLE "nvidia.com/mig.strategy=single"

static struct sl_cut_table table;
static struct sl_cut_device devices[2][SL_NODE_DEVICES_MAX];

static void read_node(struct cut_rig *rig, size_t node, unsigned slot, struct sl_cut_node *out)
{
    assert_int_equal(SL_CUT_BAR_NONE, sl_cut_node_read(out, devices[slot], &table, rig->view[node],
                                                       (struct sl_cut_limits){.mig_mode = true}));
}

/* ---- at most ---- */

struct hope {
    const char *asks;
    bool could;
};

/* Nothing is packed to say so: this keeps pods without hope cheap. */
static void check_hopes(struct cut_rig *rig, size_t node, const struct hope *hope, size_t n)
{
    struct sl_cut_node read;
    table = (struct sl_cut_table){.n = 0};
    read_node(rig, node, 0, &read);
    const int64_t packed = table.packed;
    for (size_t i = 0; i < n; i++) {
        struct sl_ask ask;
        sl_pod_ask(rig_wait(rig, hope[i].asks, NULL)->pod, &ask);
        if (sl_cut_node_could(&read, &ask) != hope[i].could) {
            fail_msg("%s: %d", hope[i].asks, !hope[i].could);
        }
    }
    assert_int_equal(table.packed, packed);
}

#define CHECK_HOPES(rig, node, ...)                                                                \
    check_hopes(rig, node, (const struct hope[]){__VA_ARGS__},                                     \
                sizeof((const struct hope[]){__VA_ARGS__}) / sizeof(struct hope))

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, a_node_could_give_what_its_gpus_hold_at_most)
{
    size_t node = MANAGED(rig, A100, "7g.40gb", "");
    CHECK_HOPES(rig, node, {"mig-1g.5gb=14", true}, {"mig-1g.5gb=15", false},
                {"mig-3g.20gb=4", true}, {"mig-3g.20gb=5", false}, {"mig-1g.6gb=1", false},
                {"mig-7g.40gb=1 mig-4g.20gb=2", true}, {"mig-7g.40gb=2 mig-4g.20gb=1", false},
                {"mig-7g.40gb=2 mig-1g.5gb=1", false}, {"gpu=2", true}, {"gpu=3", false},
                {"gpu=1 mig-7g.40gb=1", true}, {"gpu=2 mig-1g.5gb=1", false},
                {"mig-1g.5gb=1 mig-1g.6gb=1", false});
}

/* What is free on a GPU that may not be cut counts beside what the other could give. */
TEST_ON(struct cut_rig *rig, a_node_could_give_what_is_free_beside)
{
    size_t node = MANAGED(rig, A100, "1g.5gb 1g.5gb 2g.10gb", "7g.40gb");
    rig_run(rig, node, "mig-1g.5gb=1", 0);
    CHECK_HOPES(rig, node, {"mig-1g.5gb=8", true}, {"mig-1g.5gb=9", false},
                {"mig-7g.40gb=1 mig-1g.5gb=1", true}, {"mig-7g.40gb=1 mig-1g.5gb=2", false},
                {"mig-7g.40gb=1 mig-1g.5gb=1 mig-2g.10gb=1", true});
}

TEST_ON(struct cut_rig *rig, what_stays_is_not_given)
{
    size_t node = NOS(rig, A100, "4g.20gb* 1g.5gb");
    rig_run(rig, node, "mig-4g.20gb=1", 0);
    CHECK_HOPES(rig, node, {"mig-4g.20gb=1", false}, {"mig-3g.20gb=1", true},
                {"mig-1g.5gb=3", true}, {"mig-1g.5gb=4", false}, {"mig-1g.5gb.me=1", false},
                {"gpu=1", false});
}

TEST_ON(struct cut_rig *rig, a_node_that_shares_could_give_the_memory_that_it_has_left)
{
    size_t node = SHARED(rig, 41, "20gb* 20gb", "40gb");
    rig_run(rig, node, "gpu-20gb=1", 0);
    /* 21 GB beside what is in use, and 41 */
    CHECK_HOPES(rig, node, {"gpu-20gb=1", true}, {"gpu-41gb=1", true}, {"gpu-42gb=1", false},
                {"gpu-41gb=1 gpu-21gb=1", true}, {"gpu-41gb=1 gpu-22gb=1", false},
                {"gpu-40gb=1 gpu-20gb=1 gpu-2gb=1", true},
                {"gpu-40gb=1 gpu-20gb=1 gpu-3gb=1", false}, {"gpu-10gb=2", false});
}

/* ---- alike ---- */

static void check_alike(struct cut_rig *rig, size_t a, size_t b, bool alike)
{
    struct sl_cut_node x;
    struct sl_cut_node y;
    table = (struct sl_cut_table){.n = 0};
    memset(devices[0], 0x55, sizeof(devices[0])); /* what is not written decides nothing */
    read_node(rig, a, 0, &x);
    memset(devices[1], 0xaa, sizeof(devices[1]));
    read_node(rig, b, 1, &y);
    assert_true(x.alike != 0 && y.alike != 0);
    if ((x.alike == y.alike) != alike) {
        fail_msg("nodes %zu and %zu are alike: %d", a, b, !alike);
    }
    rig_clear(rig);
}

TEST_ON(struct cut_rig *rig, nodes_are_alike_whose_gpus_are_in_any_order)
{
    size_t first = MANAGED(rig, A100, "1g.5gb", "7g.40gb", NULL);
    check_alike(rig, first, MANAGED(rig, A100, NULL, "1g.5gb", "7g.40gb"), true);
    first = NOS(rig, A100, "1g.5gb", "7g.40gb");
    check_alike(rig, first, NOS(rig, A100, "7g.40gb", "1g.5gb"), true);
    first = SHARED(rig, 41, "20gb 10gb", "20gb 10gb");
    check_alike(rig, first, SHARED(rig, 41, "20gb 10gb", "20gb 10gb"), true);
}

TEST_ON(struct cut_rig *rig, nodes_are_not_alike_whose_gpus_differ)
{
    static const char *const instances[][2] = {
        {"1g.5gb", "2g.10gb"}, {"1g.5gb", "1g.5gb 1g.5gb"}, {"", "1g.5gb"}, {"", NULL}};
    for (size_t i = 0; i < sizeof(instances) / sizeof(instances[0]); i++) {
        size_t first = MANAGED(rig, A100, instances[i][0], "");
        check_alike(rig, first, MANAGED(rig, A100, instances[i][1], ""), false);
    }
    size_t first = MANAGED(rig, A100, NULL, NULL);
    check_alike(rig, first, MANAGED(rig, A100, NULL, ""), false);
    first = MANAGED(rig, A100, "");
    check_alike(rig, first, MANAGED(rig, A30, ""), false);
    first = MANAGED(rig, A100, "");
    check_alike(rig, first, MANAGED(rig, A100, "", ""), false);
    first = SHARED(rig, 41, "20gb");
    check_alike(rig, first, SHARED(rig, 41, "20gb 20gb"), false);
    first = SHARED(rig, 41, "20gb");
    check_alike(rig, first, SHARED(rig, 41, "10gb"), false);
    first = SHARED(rig, 41, "20gb");
    check_alike(rig, first, SHARED(rig, 80, "20gb"), false);
    first = MANAGED(rig, A100, "7g.40gb");
    check_alike(rig, first, rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, SINGLE, GPUS("7g.40gb")),
                false);
}

TEST_ON(struct cut_rig *rig, nodes_are_not_alike_where_other_units_are_in_use)
{
    size_t first = MANAGED(rig, A100, "1g.5gb 1g.5gb 1g.5gb", "");
    size_t second = MANAGED(rig, A100, "1g.5gb 1g.5gb 1g.5gb", "");
    rig_run(rig, first, "mig-1g.5gb=1", 0);
    rig_run(rig, second, "mig-1g.5gb=2", 0);
    check_alike(rig, first, second, false);
    first = NOS(rig, A100, "1g.5gb 2g.10gb*");
    second = NOS(rig, A100, "1g.5gb* 2g.10gb");
    rig_run(rig, first, "mig-2g.10gb=1", 0);
    rig_run(rig, second, "mig-1g.5gb=1", 0);
    check_alike(rig, first, second, false);
    first = SHARED(rig, 41, "20gb* 10gb");
    second = SHARED(rig, 41, "20gb 10gb");
    rig_run(rig, first, "gpu-20gb=1", 0);
    check_alike(rig, first, second, false);
    first = MANAGED(rig, A100, "", "");
    second = MANAGED(rig, A100, "", "");
    rig->node[second].node->device[0].healthy = false;
    rig_view(rig, second);
    check_alike(rig, first, second, false);
}
