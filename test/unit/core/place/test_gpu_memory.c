/* Asks that say how much GPU memory they need of each unit: what fits, what is left, what is
 * chosen, against a search that tries every way to deal out the units. */
#include "unit/core/rig.h"

#include "sliced/overcommit.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MIG    "nvidia.com/mig-1g.6gb"
#define MIGS   "nvidia.com/mig-1g.6gb.shared"

static struct sl_ask ask_of(const char *resource, int64_t count, int32_t declared, int32_t least)
{
    struct sl_ask ask = rig_ask(resource, count);
    ask.item[0].memory_mib = declared;
    ask.item[0].least_mib = least;
    return ask;
}

/* n GPUs of these sizes, given whole, or in so many replicas. */
static struct rig *gpus(const int64_t *mib, unsigned n, int32_t replicas)
{
    struct rig *rig = rig_new();
    enum sl_kind kind = replicas > 0 ? SL_KIND_REPLICA : SL_KIND_WHOLE;
    unsigned pool = rig_pool(rig, replicas > 0 ? SHARED : GPU, kind,
                             (int64_t)n * (replicas > 0 ? replicas : 1));
    rig->pool[pool].replicas = replicas > 0 ? replicas : 1;
    for (unsigned i = 0; i < n; i++) {
        rig->device[rig_device(rig, 0)].memory_mib = mib[i];
    }
    return rig;
}

static void text_is(struct rig *rig, const struct sl_ask *ask, const char *expected)
{
    char text[256];
    struct sl_verdict v = rig_verdict(rig, *ask);
    (void)sl_verdict_text(&v, ask, NULL, text, sizeof(text));
    assert_string_equal(text, expected);
}

/* ---- the least that will do ---- */

TEST_THAT(the_smallest_whole_gpu_that_suffices_is_chosen)
{
    static const int64_t mib[] = {81920, 16384, 40960, 24576};
    struct rig *rig = gpus(mib, 4, 0);
    struct sl_ask ask = ask_of(GPU, 1, 0, 20000);
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu=3");
    ask.item[0].count = 2;
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu=3,2");
    ask.item[0].least_mib = 0;
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu=0,1");
}

TEST_THAT(a_gpu_with_less_is_never_given)
{
    static const int64_t mib[] = {16384, 24576, 0};
    struct rig *rig = gpus(mib, 3, 0);
    struct sl_ask ask = ask_of(GPU, 2, 0, 20000);
    text_is(rig, &ask,
            "nvidia.com/gpu: 2 asked with 20000 MiB of GPU memory each, 1 of this node's have "
            "that, the largest has 24576 MiB");
    assert_true(sl_reason_is_never(rig_verdict(rig, ask).reason));
    ask.item[0].count = 1;
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu=1");
    rig_run(rig, ask, "nvidia.com/gpu=1");
    text_is(rig, &ask,
            "nvidia.com/gpu: 1 asked with 20000 MiB of GPU memory each, 0 can be had with that "
            "now");
    assert_false(sl_reason_is_never(rig_verdict(rig, ask).reason));
}

TEST_THAT(memory_that_nobody_knows_does_not_meet_a_minimum)
{
    static const int64_t mib[] = {0};
    struct rig *rig = gpus(mib, 1, 0);
    struct sl_ask least = ask_of(GPU, 1, 0, 1);
    struct sl_ask declared = ask_of(GPU, 1, 5000, 0);
    assert_int_equal(rig_verdict(rig, least).reason, SL_REASON_LITTLE_MEMORY);
    assert_int_equal(rig_verdict(rig, declared).reason, SL_REASON_FITS);
}

/* Strategy single: nvidia.com/gpu is an instance, of two profiles here. */
TEST_THAT(the_smallest_instance_that_suffices_is_chosen)
{
    const struct sl_mig_model *a30 = rig_model("A30-24GB");
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, GPU, SL_KIND_MIG, 4);
    rig->pool[pool].profile = rig_profile(a30, "2g.12gb");
    rig->pool[pool].memory_mib = 11968;
    for (unsigned d = 0; d < 2; d++) {
        rig_device(rig, 0);
        rig->device[d].model = a30;
    }
    rig_instance(rig, 0, 0, pool);
    rig_instance(rig, 0, 2, pool);
    rig_instance(rig, 1, 0, pool);
    rig_instance(rig, 1, 1, pool);
    rig->instance[2].profile = rig->instance[3].profile = rig_profile(a30, "1g.6gb");
    struct sl_ask ask = ask_of(GPU, 1, 0, 5900);
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu=1/0");
    ask.item[0].least_mib = 7000;
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu=0/0");
    ask.item[0].least_mib = 12000; /* the label says 11968, not 12 GiB */
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_LITTLE_MEMORY);
    ask.item[0].least_mib = 5900;
    ask.item[0].count = 3;
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu=1/0,1/1,0/0");
}

TEST_THAT(instances_known_by_counts_have_the_memory_of_their_label)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, MIG, SL_KIND_MIG, 4);
    rig->pool[pool].on_devices = false;
    rig->pool[pool].memory_mib = 5952;
    struct sl_ask ask = ask_of(MIG, 1, 0, 5952);
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/mig-1g.6gb=?*1");
    ask.item[0].least_mib++;
    text_is(rig, &ask,
            "nvidia.com/mig-1g.6gb: 1 asked with 5953 MiB of GPU memory each, 0 of this node's "
            "have that, the largest has 5952 MiB");
}

/* ---- declared shares ---- */

TEST_THAT(what_others_declared_is_not_there_any_more)
{
    static const int64_t mib[] = {16000, 16000};
    struct rig *rig = gpus(mib, 2, 10);
    struct sl_ask ask = ask_of(SHARED, 1, 9000, 0);
    rig_run(rig, ask, "nvidia.com/gpu.shared=0");
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu.shared=1");
    ask.item[0].memory_mib = 7000;
    ask.item[0].count = 3;
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu.shared=0,1*2");
    ask.item[0].count = 4;
    text_is(rig, &ask,
            "nvidia.com/gpu.shared: 4 asked with 7000 MiB of GPU memory each, 3 can be had with "
            "that now");
    ask.item[0].count = 5;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_LITTLE_MEMORY);
}

TEST_THAT(residents_that_declare_nothing_take_replicas_only)
{
    static const int64_t mib[] = {16000};
    struct rig *rig = gpus(mib, 1, 3);
    struct sl_ask silent = ask_of(SHARED, 2, 0, 0);
    struct sl_ask ask = ask_of(SHARED, 1, 16000, 0);
    rig_run(rig, silent, NULL);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_FITS);
    rig_run(rig, ask, NULL);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_INSUFFICIENT);
}

TEST_THAT(replicas_of_instances_share_the_instance)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, MIGS, SL_KIND_REPLICA, 8);
    rig->pool[pool].replicas = 4;
    rig->pool[pool].profile = rig_profile(rig_model("A30-24GB"), "1g.6gb");
    rig->pool[pool].memory_mib = 6000;
    rig_device(rig, 0);
    rig_instance(rig, 0, 0, pool);
    rig_instance(rig, 0, 1, pool);
    struct sl_ask ask = ask_of(MIGS, 1, 3500, 0);
    rig_run(rig, ask, "nvidia.com/mig-1g.6gb.shared=0/0");
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/mig-1g.6gb.shared=0/1");
    rig_run(rig, ask, "nvidia.com/mig-1g.6gb.shared=0/1");
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_MEMORY_TAKEN);
}

static void use_beyond_asks(struct rig *rig, unsigned device, int32_t over_mib)
{
    for (; rig->n_measured <= device; rig->n_measured++) {
        rig->measured[rig->n_measured] = sl_measured_none;
    }
    rig->measured[device].over_mib = over_mib;
}

TEST_THAT(use_beyond_the_asks_is_told_where_it_is_why_nothing_fits)
{
    static const int64_t mib[] = {16384, 16384, 16384};
    struct rig *rig = gpus(mib, 3, 4);
    struct sl_ask ask = ask_of(SHARED, 1, 1100, 0);
    struct sl_ask full = ask_of(SHARED, 1, 16000, 0);
    rig_run(rig, ask, SHARED "=0");
    rig_run(rig, ask, SHARED "=1");
    rig_run(rig, full, SHARED "=2");
    use_beyond_asks(rig, 0, 16000); /* nothing is left of it */
    use_beyond_asks(rig, 1, 13900);
    struct sl_ask more = ask_of(SHARED, 1, 8000, 0);
    assert_int_equal(rig_verdict(rig, more).reason, SL_REASON_MEMORY_IN_USE);
    text_is(rig, &more,
            SHARED ": 1 asked, but pods use more GPU memory than they ask for: 15000 of 16384 MiB "
                   "in use on the GPU with most left, 1100 asked there, 1384 left");
    more.item[0].memory_mib = 16000; /* more than the asks leave: use is not why */
    assert_int_equal(rig_verdict(rig, more).reason, SL_REASON_MEMORY_TAKEN);
    more.item[0].memory_mib = 1384;
    assert_int_equal(rig_verdict(rig, more).reason, SL_REASON_FITS);
    use_beyond_asks(rig, 1, 0); /* it has room for one now */
    more.item[0] = ask_of(SHARED, 2, 8000, 0).item[0];
    assert_int_equal(rig_verdict(rig, more).reason, SL_REASON_MEMORY_IN_USE);
    text_is(rig, &more,
            SHARED ": 2 asked, but pods use more GPU memory than they ask for: 16384 of 16384 MiB "
                   "in use on the GPU with most left, 1100 asked there, 0 left");
}

TEST_THAT(use_beyond_the_shares_of_gpushare_is_told_too)
{
    struct rig *rig = rig_new();
    rig_pool(rig, "aliyun.com/gpu-mem", SL_KIND_MEMORY, 32);
    rig->device[rig_device(rig, 16)].memory_mib = 16000;
    rig->device[rig_device(rig, 16)].memory_mib = 16000;
    struct sl_ask ten = rig_ask("aliyun.com/gpu-mem", 10);
    rig_run(rig, rig_ask("aliyun.com/gpu-mem", 4), "aliyun.com/gpu-mem=0*4");
    rig_run(rig, ten, "aliyun.com/gpu-mem=1*10");
    assert_int_equal(rig_verdict(rig, ten).reason, SL_REASON_FITS);
    use_beyond_asks(rig, 0, 4500);
    text_is(rig, &ten,
            "aliyun.com/gpu-mem: 10 asked, but pods use more GPU memory than they ask for: 9000 of "
            "16000 MiB in use on the GPU with most left, 4000 asked there, 7000 left");
}

TEST_THAT(where_only_counts_are_known_the_node_has_one_sum)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, SHARED, SL_KIND_REPLICA, 8);
    rig->pool[pool].on_devices = false;
    rig->pool[pool].memory_mib = 16000;
    rig->pool[pool].total_mib = 32000;
    struct sl_ask ask = ask_of(SHARED, 2, 10000, 0);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_FITS);
    rig_run(rig, ask, NULL);
    struct sl_ask more = ask_of(SHARED, 1, 12001, 0);
    assert_int_equal(rig_verdict(rig, more).reason, SL_REASON_MEMORY_TAKEN);
    more.item[0].memory_mib = 12000;
    assert_int_equal(rig_verdict(rig, more).reason, SL_REASON_FITS);
    more.item[0].memory_mib = 16001;
    assert_int_equal(rig_verdict(rig, more).reason, SL_REASON_LITTLE_MEMORY);
}

TEST_THAT(an_mps_replica_has_its_equal_part_and_no_more)
{
    static const int64_t mib[] = {16000, 24000};
    struct rig *rig = gpus(mib, 2, 4);
    rig->pool[0].equal_memory = true;
    struct sl_ask ask = ask_of(SHARED, 1, 4000, 0);
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu.shared=0");
    ask.item[0].memory_mib = 4001;
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu.shared=1");
    ask.item[0].memory_mib = 6001;
    text_is(rig, &ask,
            "nvidia.com/gpu.shared: 1 asked with 6001 MiB of GPU memory each, 0 of this node's "
            "have that, the largest has 6000 MiB");
    assert_true(sl_reason_is_never(rig_verdict(rig, ask).reason));
}

TEST_THAT(where_a_request_may_be_for_one_replica_more_is_never)
{
    static const int64_t mib[] = {16000, 16000};
    struct rig *rig = gpus(mib, 2, 4);
    struct sl_ask ask = ask_of(SHARED, 2, 0, 0);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_FITS);
    rig->pool[0].one_each = true;
    text_is(rig, &ask,
            "nvidia.com/gpu.shared: 2 asked, this node's device plugin gives a container one "
            "replica at most");
    assert_true(sl_reason_is_never(rig_verdict(rig, ask).reason));
    ask.item[0].least_mib = 16000; /* which takes the longer way */
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_ONE_EACH);
    assert_false(sl_fit(rig_view(rig), &ask, NULL));
}

TEST_THAT(containers_get_one_replica_each)
{
    static const int64_t mib[] = {16000, 16000};
    struct rig *rig = gpus(mib, 2, 4);
    struct sl_ask ask = ask_of(SHARED, 3, 0, 0);
    rig->pool[0].one_each = true;
    ask.item[0].each = 1;
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu.shared=0*2,1");
    assert_true(sl_fit(rig_view(rig), &ask, NULL));
    ask.item[0].count = 9;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_EXCEEDS_NODE);
}

TEST_THAT(a_gpu_of_which_more_is_declared_than_it_has_is_told_of)
{
    static const int64_t mib[] = {16000, 16000};
    struct rig *rig = gpus(mib, 2, 4);
    struct sl_ask ask = ask_of(SHARED, 1, 8000, 0);
    char text[256];
    rig_run(rig, ask, "nvidia.com/gpu.shared=1");
    rig_run(rig, ask, "nvidia.com/gpu.shared=1");
    assert_false(sl_view_overcommitted(rig_view(rig)));
    rig_run(rig, ask, "nvidia.com/gpu.shared=1");
    assert_true(sl_view_overcommitted(rig_view(rig)));
    sl_overcommit_text(rig->view, text, sizeof(text));
    assert_string_equal(text, "24000 MiB declared of the 16000 MiB of GPU 1");
    ask.item[0].count = 2; /* the other GPU is free, that one has nothing to give */
    assert_string_equal(rig_choose(rig, ask), "nvidia.com/gpu.shared=0*2");
}

/* ---- at random ---- */

enum { DEVICES = 3, REPLICAS = 3 };

/* What is left of each GPU, in plain numbers. */
struct left {
    int64_t units[DEVICES];
    int64_t mib[DEVICES];
};

static bool can_deal(const struct rig *rig, struct left left, const struct sl_ask_item *item,
                     int64_t units)
{
    if (units == 0) {
        return true;
    }
    for (unsigned d = 0; d < rig->node.n_devices; d++) {
        int64_t all = rig->device[d].memory_mib;
        int64_t unit = rig->pool[0].equal_memory ? all / rig->pool[0].replicas : all;
        bool replica = rig->pool[0].kind == SL_KIND_REPLICA;
        struct left next = left;
        next.units[d]--;
        next.mib[d] -= replica ? item->memory_mib : 0;
        if (rig->device[d].healthy && left.units[d] > 0 && unit >= item->least_mib &&
            unit >= item->memory_mib && next.mib[d] >= 0 && can_deal(rig, next, item, units - 1)) {
            return true;
        }
    }
    return false;
}

static struct rig *random_rig(uint64_t *seed)
{
    int64_t mib[DEVICES];
    int32_t replicas = (int32_t)rig_random(seed, REPLICAS + 1);
    for (unsigned i = 0; i < DEVICES; i++) {
        mib[i] = 4 + rig_random(seed, 9);
    }
    struct rig *rig = gpus(mib, 1 + rig_random(seed, DEVICES), replicas);
    rig->pool[0].equal_memory = replicas > 0 && rig_random(seed, 4) == 0;
    for (unsigned i = 0; i < rig->node.n_devices; i++) {
        rig->device[i].healthy = rig_random(seed, 8) > 0;
    }
    return rig;
}

static struct sl_ask random_ask(const struct rig *rig, uint64_t *seed)
{
    return ask_of(rig->pool[0].resource, 1 + rig_random(seed, 4), (int32_t)rig_random(seed, 8),
                  (int32_t)rig_random(seed, 10));
}

static void take(struct left *left, const struct rig *rig, const struct sl_ask *ask,
                 const struct sl_assignment *assignment)
{
    for (unsigned i = 0; i < assignment->n; i++) {
        const struct sl_assignment_part *part = &assignment->part[i];
        int64_t unit = rig->device[part->device].memory_mib;
        unit /= rig->pool[0].equal_memory ? rig->pool[0].replicas : 1;
        assert_true(unit >= ask->item[0].least_mib && unit >= ask->item[0].memory_mib);
        assert_true(rig->device[part->device].healthy);
        left->units[part->device] -= part->amount;
        left->mib[part->device] -=
            rig->pool[0].kind == SL_KIND_REPLICA ? part->amount * ask->item[0].memory_mib : 0;
        assert_true(left->units[part->device] >= 0);
        assert_true(left->mib[part->device] >= 0);
    }
}

TEST_THAT(a_choice_is_found_whenever_there_is_one_and_takes_no_more_than_there_is)
{
    uint64_t seed = 5;
    unsigned fitted = 0;
    unsigned refused = 0;
    for (unsigned round = 0; round < 3000; round++) {
        struct rig *rig = random_rig(&seed);
        struct left left = {{0}, {0}};
        for (unsigned d = 0; d < rig->node.n_devices; d++) {
            left.units[d] = rig->pool[0].replicas;
            left.mib[d] = rig->device[d].memory_mib;
        }
        for (unsigned i = 0; i < 5; i++) {
            struct sl_ask ask = random_ask(rig, &seed);
            struct sl_assignment assignment;
            char text[SL_ASSIGNMENT_TEXT_MAX];
            bool possible = can_deal(rig, left, &ask.item[0], ask.item[0].count);
            assert_int_equal(rig_verdict(rig, ask).reason == SL_REASON_FITS, possible);
            assert_int_equal(sl_choose(rig_view(rig), &ask, &assignment, NULL), possible);
            refused += !possible;
            if (!possible) {
                continue;
            }
            fitted++;
            take(&left, rig, &ask, &assignment);
            assert_true(sl_assignment_format(&rig->node, &ask, &assignment, text, sizeof text) > 0);
            rig_run(rig, ask, text);
        }
        rig_free(rig);
    }
    assert_true(fitted > 1000 && refused > 1000);
}

TEST_THAT(taking_a_resident_out_gives_its_declared_share_back)
{
    static const int64_t mib[] = {16000};
    struct rig *rig = gpus(mib, 1, 4);
    struct sl_ask ask = ask_of(SHARED, 1, 16000, 0);
    struct sl_scratch scratch;
    struct sl_assignment assignment;
    rig_run(rig, ask, "nvidia.com/gpu.shared=0");
    sl_scratch_init(&scratch, rig_view(rig));
    assert_int_equal(scratch.device[0].declared_mib, 16000);
    assert_false(sl_choose_on(&scratch, &ask, &assignment, NULL));
    sl_scratch_remove(&scratch, 0);
    assert_int_equal(scratch.device[0].declared_mib, 0);
    assert_true(sl_choose_on(&scratch, &ask, &assignment, NULL));
}

TEST_THAT(exact_places_are_taken_only_while_they_have_the_memory)
{
    static const int64_t mib[] = {16000, 16000};
    struct rig *rig = gpus(mib, 2, 4);
    struct sl_ask ask = ask_of(SHARED, 1, 9000, 0);
    struct sl_assignment assignment;
    struct sl_scratch scratch;
    assert_true(
        sl_assignment_parse(&rig->node, &ask, SL_STR("nvidia.com/gpu.shared=0"), &assignment));
    sl_scratch_init(&scratch, rig_view(rig));
    assert_true(sl_scratch_take_exactly(&scratch, &ask, &assignment));
    assert_false(sl_scratch_take_exactly(&scratch, &ask, &assignment));
}

TEST_THAT(exact_instances_are_taken_only_while_they_have_the_memory)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, MIGS, SL_KIND_REPLICA, 8);
    struct sl_assignment assignment;
    struct sl_scratch scratch;
    rig->pool[pool].replicas = 4;
    rig->pool[pool].profile = rig_profile(rig_model("A30-24GB"), "1g.6gb");
    rig->pool[pool].memory_mib = 6000;
    rig_device(rig, 0);
    rig_instance(rig, 0, 0, pool);
    rig_instance(rig, 0, 1, pool);
    struct sl_ask ask = ask_of(MIGS, 1, 3500, 0);
    for (unsigned i = 0; i < 2; i++) {
        const char *text = i == 0 ? MIGS "=0/0" : MIGS "=0/1";
        assert_true(sl_assignment_parse(&rig->node, &ask, sl_str_of(text), &assignment));
        sl_scratch_init(&scratch, rig_view(rig));
        assert_true(sl_scratch_take_exactly(&scratch, &ask, &assignment));
        assert_int_equal(scratch.instance_mib[i], 3500);
        assert_false(sl_scratch_take_exactly(&scratch, &ask, &assignment));
    }
}

TEST_THAT(the_largest_gpu_is_told_wherever_it_stands)
{
    struct sl_ask ask = ask_of(GPU, 1, 0, 30000);
    for (unsigned largest = 0; largest < 3; largest++) {
        int64_t mib[] = {16384, 16384, 16384};
        mib[largest] = 24576;
        struct rig *rig = gpus(mib, 3, 0);
        rig->device[rig_device(rig, 0)].memory_mib = 20000;
        rig->device[3].mig = true; /* is not given whole */
        assert_int_equal(rig_verdict(rig, ask).largest, 24576);
        rig->device[3].memory_mib = 40960;
        assert_int_equal(rig_verdict(rig, ask).largest, 24576);
        rig_free(rig);
    }
}

TEST_THAT(the_largest_instance_is_told_wherever_it_stands)
{
    const struct sl_mig_model *a30 = rig_model("A30-24GB");
    struct sl_ask ask = ask_of(GPU, 1, 0, 30000);
    for (unsigned largest = 0; largest < 3; largest++) {
        struct rig *rig = rig_new();
        unsigned other = rig_pool(rig, "nvidia.com/mig-4g.24gb", SL_KIND_MIG, 1);
        unsigned pool = rig_pool(rig, GPU, SL_KIND_MIG, 3);
        rig->pool[other].profile = rig_profile(a30, "4g.24gb");
        rig->pool[pool].profile = rig_profile(a30, "1g.6gb");
        for (unsigned d = 0; d < 4; d++) {
            rig_device(rig, 0);
            rig->device[d].model = a30;
            rig_instance(rig, d, 0, d < 3 ? pool : other);
        }
        rig->instance[largest].profile = rig_profile(a30, "2g.12gb");
        assert_int_equal(rig_verdict(rig, ask).largest, 11968);
        rig_free(rig);
    }
}
