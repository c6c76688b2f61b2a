/* Residents of a node: each has places that add up to what it asks for, the counters are the sums
 * of them, and one who is taken out and put back leaves no trace. */
#include "unit/core/rig.h"

#include "core/place/choose.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define SLICE  "nvidia.com/mig-1g.6gb"

enum { POOLS = 4, PLAIN = 4, DEVICES = PLAIN + 2 };

static const char *const resources[POOLS] = {MEM, GPU, SHARED, SLICE};

/* GPUs that are shared in three ways, some of them failed, and two that are cut up. */
static struct rig *random_node(uint64_t *seed)
{
    struct rig *rig = rig_of_gpus(PLAIN, 8);
    rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, INT64_C(3) * PLAIN)].replicas = 3;
    unsigned slices = rig_pool(rig, SLICE, SL_KIND_MIG, 8);
    for (unsigned d = PLAIN; d < DEVICES; d++) {
        rig_device(rig, 0);
        for (int start = 0; start < 4; start++) {
            rig_instance(rig, d, start, slices);
        }
    }
    for (unsigned d = 0; d < DEVICES; d++) {
        rig->device[d].healthy = rig_random(seed, 6) > 0;
    }
    rig->pool[rig_random(seed, POOLS)].on_devices = rig_random(seed, 3) > 0;
    return rig;
}

/* One to three items, of different resources. */
static struct sl_ask random_items(uint64_t *seed)
{
    struct sl_ask ask = {.n = (uint8_t)(1 + rig_random(seed, 3))};
    unsigned at = rig_random(seed, POOLS);
    for (unsigned i = 0; i < ask.n; i++) {
        int64_t count = 1 + rig_random(seed, at % POOLS == 0 ? 12 : 3);
        ask.item[i] = rig_item(resources[at++ % POOLS], count);
    }
    return ask;
}

static void assert_same(const struct sl_node *node, const struct sl_scratch *a,
                        const struct sl_scratch *b)
{
    for (unsigned i = 0; i < node->n_pools; i++) {
        assert_int_equal(a->pool_used[i], b->pool_used[i]);
    }
    for (unsigned i = 0; i < node->n_devices; i++) {
        assert_int_equal(a->device[i].whole, b->device[i].whole);
        assert_int_equal(a->device[i].replicas, b->device[i].replicas);
        assert_int_equal(a->device[i].memory_units, b->device[i].memory_units);
        assert_int_equal(a->device[i].instances, b->device[i].instances);
    }
    for (unsigned i = 0; i < node->n_instances; i++) {
        assert_int_equal(a->instance_used[i], b->instance_used[i]);
    }
}

/* What the parts of all residents make, counted anew. */
static void assert_sums(const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    struct sl_scratch sum;
    sl_scratch_clear(&sum, view);
    for (unsigned r = 0; r < view->n_residents; r++) {
        const struct sl_resident *resident = &view->resident[r];
        int64_t placed[SL_ASK_ITEMS_MAX] = {0};
        for (unsigned k = 0; k < resident->n_parts; k++) {
            const struct sl_assignment_part *part = &view->part[resident->first_part + k];
            const struct sl_ask_item *item = &resident->pod->items[part->item];
            placed[part->item] += part->amount;
            if (part->instance >= 0) {
                assert_int_equal(part->device, node->instance[part->instance].device);
                sum.instance_used[part->instance]++;
                sum.device[part->device].instances++;
            } else if (part->device >= 0) {
                struct sl_device_use *use = &sum.device[part->device];
                use->whole = use->whole || item->kind == SL_KIND_WHOLE;
                use->replicas += item->kind == SL_KIND_REPLICA ? (int32_t)part->amount : 0;
                use->memory_units += item->kind == SL_KIND_MEMORY ? part->amount : 0;
            }
        }
        for (unsigned i = 0; i < resident->pod->n_items; i++) {
            int pool = sl_view_pool(view, resident->pod->items[i].key);
            assert_true(placed[i] <= resident->pod->items[i].count);
            sum.pool_used[pool] += resident->pod->items[i].count;
        }
    }
    struct sl_scratch is;
    sl_scratch_init(&is, view);
    assert_same(node, &is, &sum);
}

/* Of what is in use, that which is only set aside. */
static void assert_set_aside(const struct sl_view *view)
{
    for (unsigned p = 0; p < view->n_pools; p++) {
        int64_t units = 0;
        for (unsigned i = 0; i < view->n_parts; i++) {
            for (unsigned r = 0; r < view->n_residents; r++) {
                const struct sl_resident *resident = &view->resident[r];
                bool its = i >= resident->first_part &&
                           i - resident->first_part < resident->n_parts &&
                           resident->pod->set_aside &&
                           resident->pod->items[view->part[i].item].key == view->room[p].key;
                units += its ? view->part[i].amount : 0;
            }
        }
        assert_int_equal(sl_view_set_aside_units(view, p), units);
    }
}

static void assert_comings_and_goings(const struct sl_view *view, uint64_t *seed)
{
    struct sl_scratch before;
    struct sl_scratch after;
    struct sl_scratch empty;
    sl_scratch_init(&before, view);
    sl_scratch_init(&after, view);
    sl_scratch_clear(&empty, view);
    unsigned first = view->n_residents == 0 ? 0 : rig_random(seed, view->n_residents);
    for (unsigned r = 0; r < view->n_residents; r++) {
        sl_scratch_remove(&after, (first + r) % view->n_residents);
    }
    assert_same(view->node, &after, &empty);
    for (unsigned r = 0; r < view->n_residents; r++) {
        sl_scratch_restore(&after, r);
    }
    assert_same(view->node, &after, &before);
}

/* The view without a pod is the view of all others. */
static void assert_without(struct rig *rig, uint64_t *seed)
{
    unsigned gone = rig_random(seed, rig->view->n_residents);
    struct sl_view *without = sl_view_without(rig->view, gone);
    assert_non_null(without);
    rig->view->resident[gone].pod->phase = SL_POD_SUCCEEDED;
    const struct sl_view *others = rig_view(rig);
    assert_int_equal(without->n_residents, others->n_residents);
    for (unsigned i = 0; i < others->n_residents; i++) {
        assert_ptr_equal(without->resident[i].pod, others->resident[i].pod);
    }
    assert_true(without->digest == others->digest);
    assert_int_equal(without->n_pods, others->n_pods);
    sl_view_free(without);
}

TEST_THAT(counters_are_the_sums_of_the_residents_parts)
{
    uint64_t seed = 9;
    unsigned without = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct rig *rig = random_node(&seed);
        for (unsigned i = 0; i < 10; i++) {
            struct sl_ask ask = random_items(&seed);
            const char *text = rig_random(&seed, 2) == 0 ? rig_choose(rig, ask) : "";
            rig_run(rig, ask, text[0] == '\0' ? NULL : text)->set_aside = rig_random(&seed, 3) == 0;
            without += text[0] == '\0';
        }
        assert_sums(rig_view(rig));
        assert_set_aside(rig->view);
        assert_comings_and_goings(rig->view, &seed);
        assert_without(rig, &seed);
        rig_free(rig);
    }
    assert_in_range(without, 500, 2800);
}

/* ---- residents whose places nobody told ---- */

static const struct sl_assignment_part *part_of(const struct rig *rig, unsigned resident,
                                                unsigned part)
{
    const struct sl_resident *r = &rig->view->resident[resident];
    assert_true(part < r->n_parts);
    return &rig->view->part[r->first_part + part];
}

TEST_THAT(who_has_too_little_memory_is_still_on_a_gpu_that_works)
{
    struct rig *rig = rig_of_gpus(3, 16);
    struct sl_ask ask = rig_ask(GPU, 1);
    ask.item[0].least_mib = 80000;
    rig->device[0].healthy = false;
    for (unsigned i = 0; i < 3; i++) {
        rig->device[i].memory_mib = 24576;
        rig_run(rig, ask, NULL);
    }
    rig_view(rig);
    assert_int_equal(part_of(rig, 0, 0)->device, 1);
    assert_int_equal(part_of(rig, 1, 0)->device, 2);
    assert_int_equal(part_of(rig, 2, 0)->device, 0);
}

TEST_THAT(share_larger_than_any_gpu_is_on_as_many_as_it_fills)
{
    struct rig *rig = rig_of_gpus(3, 16);
    rig_run(rig, rig_ask(MEM, 40), NULL);
    rig_run(rig, rig_ask(MEM, 10), NULL);
    rig_view(rig);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(part_of(rig, 0, i)->device, i);
        assert_int_equal(part_of(rig, 0, i)->amount, i < 2 ? 16 : 8);
    }
    assert_int_equal(rig->view->resident[1].n_parts, 1); /* what is left; the rest is nowhere */
    assert_int_equal(part_of(rig, 1, 0)->amount, 8);
    assert_int_equal(rig->view->pool_used[0], 50);
}

TEST_THAT(several_of_what_is_given_one_by_one_are_not_chosen)
{
    struct rig *rig = rig_new();
    struct sl_ask ask = rig_ask(SHARED, 2);
    struct sl_scratch scratch;
    struct sl_assignment assignment;
    unsigned failed = 9;
    unsigned pool = rig_pool(rig, SHARED, SL_KIND_REPLICA, 4);
    rig->pool[pool].replicas = 4;
    rig_device(rig, 0);
    sl_scratch_init(&scratch, rig_view(rig));
    assert_true(sl_scratch_choose(&scratch, ask.item, 1, false, &assignment, &failed));
    sl_scratch_undo(&scratch, ask.item, &assignment, 0);
    rig->pool[pool].one_each = true;
    assert_false(sl_scratch_choose(&scratch, ask.item, 1, false, &assignment, &failed));
    assert_int_equal(failed, 0);
    ask.item[0].each = 1; /* two containers */
    assert_true(sl_scratch_choose(&scratch, ask.item, 1, false, &assignment, &failed));
}
