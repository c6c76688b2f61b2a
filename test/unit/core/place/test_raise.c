/* The use of a node at two times, made one: what is free then is free at both. */
#include "unit/core/rig.h"

#include "core/place/choose.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define MIG    "nvidia.com/mig-1g.6gb"
#define MIGS   "nvidia.com/mig-1g.6gb.shared"
#define COUNTS "nvidia.com/mig-2g.12gb.shared"

enum { MIB = 4096 };

/* Two GPUs that are given whole, in two replicas or as memory; one of single instances and one of
 * shared instances; and replicas of which only the number is known. */
static struct rig *a_node_of_all_kinds(void)
{
    struct rig *rig = rig_of_gpus(2, 4);
    rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, 4)].replicas = 2;
    unsigned mig = rig_pool(rig, MIG, SL_KIND_MIG, 2);
    unsigned migs = rig_pool(rig, MIGS, SL_KIND_REPLICA, 4);
    struct sl_pool *counts = &rig->pool[rig_pool(rig, COUNTS, SL_KIND_REPLICA, 3)];
    rig->pool[migs].replicas = 2;
    rig->pool[migs].memory_mib = MIB;
    counts->on_devices = false;
    counts->memory_mib = MIB;
    counts->total_mib = INT64_C(3) * MIB;
    for (unsigned i = 0; i < 2; i++) {
        rig->device[i].memory_mib = MIB;
        unsigned device = rig_device(rig, 0);
        rig_instance(rig, device, 0, i == 0 ? mig : migs);
        rig_instance(rig, device, 1, i == 0 ? mig : migs);
    }
    return rig;
}

static const struct place {
    const char *resource;
    int64_t count;
    const char *text;
} places[] = {
    {GPU, 1, GPU "=0"},         {GPU, 1, GPU "=1"},       {SHARED, 1, SHARED "=0"},
    {SHARED, 2, SHARED "=0*2"}, {SHARED, 1, SHARED "=1"}, {SHARED, 2, SHARED "=1*2"},
    {MEM, 2, MEM "=0*2"},       {MEM, 4, MEM "=0*4"},     {MEM, 1, MEM "=1*1"},
    {MEM, 3, MEM "=1*3"},       {MIG, 1, MIG "=2/0"},     {MIG, 1, MIG "=2/1"},
    {MIGS, 1, MIGS "=3/0"},     {MIGS, 2, MIGS "=3/1*2"}, {COUNTS, 1, COUNTS "=?*1"},
    {COUNTS, 2, COUNTS "=?*2"},
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

/* Gives the place to a pod that declares so many MiB for each unit, of what replicas share. */
static bool give(const struct rig *rig, struct sl_scratch *scratch, const struct place *place,
                 int32_t mib)
{
    struct sl_assignment assignment;
    struct sl_ask ask = rig_ask(place->resource, place->count);
    ask.item[0].memory_mib = strstr(place->resource, ".shared") != NULL ? mib : 0;
    assert_true(sl_assignment_parse(&rig->node, &ask, sl_str_of(place->text), &assignment));
    return sl_scratch_take_exactly(scratch, &ask, &assignment);
}

static bool can_give(const struct rig *rig, const struct sl_scratch *scratch,
                     const struct place *place, int32_t mib)
{
    struct sl_scratch copy = *scratch;
    return give(rig, &copy, place, mib);
}

static void draw_use(const struct rig *rig, struct sl_scratch *scratch, uint64_t *seed)
{
    memset(scratch, 0, sizeof(*scratch)); /* all of it is copied */
    sl_scratch_init(scratch, rig->view);
    for (unsigned n = rig_random(seed, 8); n > 0; n--) {
        const struct place *place = &places[rig_random(seed, PLACES)];
        (void)give(rig, scratch, place, (int32_t)rig_random(seed, 3) * 1024);
    }
}

/* Each device counts its instances in use. */
static void assert_instances_counted(const struct rig *rig, const struct sl_scratch *scratch)
{
    int32_t in_use[SL_NODE_DEVICES_MAX] = {0};
    for (unsigned i = 0; i < rig->node.n_instances; i++) {
        in_use[rig->instance[i].device] += scratch->instance_used[i] > 0;
    }
    for (unsigned d = 0; d < rig->node.n_devices; d++) {
        assert_int_equal(scratch->device[d].instances, in_use[d]);
    }
}

TEST_THAT(a_place_is_free_where_it_is_free_at_both_times)
{
    struct rig *rig = a_node_of_all_kinds();
    uint64_t seed = 11;
    (void)rig_view(rig);
    for (unsigned round = 0; round < 2000; round++) {
        struct sl_scratch now;
        struct sl_scratch then;
        draw_use(rig, &now, &seed);
        draw_use(rig, &then, &seed);
        struct sl_scratch both = now;
        sl_scratch_raise(&both, &then);
        assert_instances_counted(rig, &both);
        for (unsigned i = 0; i < PLACES; i++) {
            int32_t mib = (int32_t)rig_random(&seed, 4) * 1024;
            bool free =
                can_give(rig, &now, &places[i], mib) && can_give(rig, &then, &places[i], mib);
            if (can_give(rig, &both, &places[i], mib) != free) {
                fail_msg("round %u: %s, %d MiB: free at both times: %d", round, places[i].text, mib,
                         free);
            }
        }
    }
}

/* An instance that is in use at both times is one instance: gone from one, it leaves none. */
TEST_THAT(what_is_raised_is_counted_once)
{
    struct rig *rig = a_node_of_all_kinds();
    struct sl_ask ask = rig_ask(MIG, 1);
    (void)rig_run(rig, ask, MIG "=2/0");
    struct sl_scratch now;
    struct sl_scratch then;
    sl_scratch_init(&now, rig_view(rig));
    sl_scratch_init(&then, rig->view);
    sl_scratch_raise(&now, &then);
    sl_scratch_remove(&now, 0);
    assert_int_equal(now.device[2].instances, 0);
    assert_int_equal(now.pool_used[sl_view_pool(rig->view, ask.item[0].key)], 0);
}
