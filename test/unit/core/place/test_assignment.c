/* The assignment as text: what it looks like, that it comes back, and what is refused. */
#include "unit/core/rig.h"

#include "core/place/choose.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define MIG    "nvidia.com/mig-1g.6gb"

/* Two GPUs with memory and replicas, nvidia-smi's 3 and 5, and a partitioned one, 7, with instances
 * at 0 and 2 and one of unknown start. */
static struct rig *varied(void)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MEM, SL_KIND_MEMORY, 32);
    rig_pool(rig, GPU, SL_KIND_WHOLE, 2);
    unsigned shared = rig_pool(rig, SHARED, SL_KIND_REPLICA, 8);
    unsigned mig = rig_pool(rig, MIG, SL_KIND_MIG, 3);
    rig->pool[shared].replicas = 4;
    rig_device(rig, 16);
    rig_device(rig, 16);
    rig_device(rig, 0);
    rig_instance(rig, 2, 0, mig);
    rig_instance(rig, 2, 2, mig);
    rig_instance(rig, 2, -1, mig);
    rig->device[0].index = 3;
    rig->device[1].index = 5;
    rig->device[2].index = 7;
    return rig;
}

static const char *format(const struct rig *rig, const struct sl_ask *ask,
                          const struct sl_assignment *assignment)
{
    static char text[SL_ASSIGNMENT_TEXT_MAX];
    size_t len = sl_assignment_format(&rig->node, ask, assignment, text, sizeof text);
    assert_int_equal(len, strlen(text));
    return text;
}

static void assert_reads(const struct rig *rig, const struct sl_ask *ask, const char *text)
{
    struct sl_assignment read;
    if (!sl_assignment_parse(&rig->node, ask, sl_str_of(text), &read)) {
        fail_msg("refused: %s", text);
    }
    assert_string_equal(format(rig, ask, &read), text);
}

static void assert_refuses(const struct rig *rig, const struct sl_ask *ask, const char *text)
{
    struct sl_assignment read;
    if (sl_assignment_parse(&rig->node, ask, sl_str_of(text), &read)) {
        fail_msg("accepted: %s", text);
    }
}

TEST_THAT(devices_are_named_as_nvidia_smi_counts)
{
    struct rig *rig = varied();
    struct sl_ask ask = rig_ask(GPU, 2);
    struct sl_assignment a = {.n = 2, .part = {{0, 0, -1, 1}, {0, 1, -1, 1}}};
    assert_string_equal(format(rig, &ask, &a), GPU "=3,5");
}

TEST_THAT(instances_are_named_by_start_or_else_by_ordinal)
{
    struct rig *rig = varied();
    struct sl_ask ask = rig_ask(MIG, 2);
    struct sl_assignment a = {.n = 2, .part = {{0, 2, 1, 1}, {0, 2, 2, 1}}};
    assert_string_equal(format(rig, &ask, &a), MIG "=7/2,7/#2");
}

TEST_THAT(items_are_joined_in_the_order_of_the_ask)
{
    struct rig *rig = varied();
    struct sl_ask ask = rig_ask2(MEM, 4, MIG, 1);
    struct sl_assignment a = {.n = 2, .part = {{1, 2, 0, 1}, {0, 1, -1, 4}}};
    assert_string_equal(format(rig, &ask, &a), MEM "=5*4;" MIG "=7/0");
}

TEST_THAT(text_comes_back_as_it_was)
{
    struct rig *rig = varied();
    struct sl_ask whole = rig_ask(GPU, 2);
    struct sl_ask shared = rig_ask(SHARED, 5);
    struct sl_ask three = rig_ask(MIG, 3);
    struct sl_ask both = rig_ask2(MEM, 12, SHARED, 1);
    assert_reads(rig, &whole, GPU "=3,5");
    assert_reads(rig, &whole, GPU "=5,3");
    assert_reads(rig, &shared, SHARED "=3*4,5");
    assert_reads(rig, &three, MIG "=7/0,7/2,7/#2");
    assert_reads(rig, &both, MEM "=5*12;" SHARED "=5");
}

TEST_THAT(order_of_items_in_the_text_does_not_matter)
{
    struct rig *rig = varied();
    struct sl_ask ask = rig_ask2(MEM, 12, SHARED, 1);
    struct sl_assignment read;
    assert_true(sl_assignment_parse(&rig->node, &ask, SL_STR(SHARED "=3;" MEM "=5*12"), &read));
    assert_string_equal(format(rig, &ask, &read), MEM "=5*12;" SHARED "=3");
}

TEST_THAT(what_the_node_or_the_ask_does_not_have_is_refused)
{
    struct rig *rig = varied();
    struct sl_ask one = rig_ask(GPU, 1);
    struct sl_ask mig = rig_ask(MIG, 1);
    struct sl_ask lost = rig_ask("nvidia.com/mig-4g.24gb", 1);
    assert_refuses(rig, &one, GPU "=4");
    assert_refuses(rig, &one, GPU "=");
    assert_refuses(rig, &one, GPU);
    assert_refuses(rig, &one, "");
    assert_refuses(rig, &one, MIG "=7/0");
    assert_refuses(rig, &one, GPU "=3;" MIG "=7/0");
    assert_refuses(rig, &mig, MIG "=7/1");
    assert_refuses(rig, &mig, MIG "=7/#0"); /* it has a start to be named by */
    assert_refuses(rig, &mig, MIG "=7/#3");
    assert_refuses(rig, &mig, MIG "=3/0");
    assert_refuses(rig, &lost, "nvidia.com/mig-4g.24gb=7/0");
}

TEST_THAT(instance_of_another_pool_is_refused)
{
    struct rig *rig = varied();
    unsigned other = rig_pool(rig, "nvidia.com/mig-2g.12gb", SL_KIND_MIG, 1);
    rig->instance[1].pool = (uint8_t)other;
    struct sl_ask ask = rig_ask(MIG, 1);
    assert_refuses(rig, &ask, MIG "=7/2");
    assert_reads(rig, &ask, MIG "=7/0");
}

TEST_THAT(place_of_the_wrong_sort_is_refused)
{
    struct rig *rig = varied();
    struct sl_ask one = rig_ask(GPU, 1);
    struct sl_ask mig = rig_ask(MIG, 1);
    assert_refuses(rig, &one, GPU "=3/0");
    assert_refuses(rig, &mig, MIG "=7");
    assert_refuses(rig, &one, GPU "=?*1"); /* the node knows its devices */
    assert_refuses(rig, &mig, MIG "=?*1");
}

TEST_THAT(ask_for_nothing_or_too_much_has_no_assignment)
{
    struct rig *rig = varied();
    struct sl_ask_item items[SL_ASK_ITEMS_MAX + 1];
    struct sl_assignment read;
    for (unsigned i = 0; i <= SL_ASK_ITEMS_MAX; i++) {
        items[i] = rig_item(GPU, 1);
    }
    assert_false(sl_assignment_read(&rig->node, items, 0, SL_STR(""), &read));
    assert_false(sl_assignment_read(&rig->node, items, 0, (struct sl_str){NULL, 0}, &read));
    assert_true(sl_assignment_read(&rig->node, items, 1, SL_STR(GPU "=3"), &read));
    assert_false(
        sl_assignment_read(&rig->node, items, SL_ASK_ITEMS_MAX + 1, SL_STR(GPU "=3"), &read));
}

TEST_THAT(place_named_twice_is_refused_wherever_it_stands)
{
    struct rig *rig = varied();
    struct sl_ask three = rig_ask(SHARED, 3);
    struct sl_assignment read;
    assert_true(sl_assignment_parse(&rig->node, &three, SL_STR(SHARED "=3*2,5*1"), &read));
    assert_false(sl_assignment_parse(&rig->node, &three, SL_STR(SHARED "=3,5,5"), &read));
    assert_false(sl_assignment_parse(&rig->node, &three, SL_STR(SHARED "=3,5,3"), &read));
}

TEST_THAT(wrong_sums_are_refused)
{
    struct rig *rig = varied();
    struct sl_ask two = rig_ask(GPU, 2);
    struct sl_ask shared = rig_ask(SHARED, 5);
    struct sl_ask memory = rig_ask(MEM, 8);
    assert_refuses(rig, &two, GPU "=3");
    assert_refuses(rig, &two, GPU "=3,3");
    assert_refuses(rig, &two, GPU "=3*2");
    assert_refuses(rig, &two, GPU "=3,5,7");
    assert_refuses(rig, &two, GPU "=3,5;" GPU "=3,5");
    assert_refuses(rig, &shared, SHARED "=3*5"); /* more replicas than a device has */
    assert_refuses(rig, &shared, SHARED "=3*2,5*2");
    assert_refuses(rig, &shared, SHARED "=3*4,5*0,5");
    assert_refuses(rig, &memory, MEM "=3*4,5*4"); /* a share is of one GPU */
    assert_refuses(rig, &memory, MEM "=3*9");
}

TEST_THAT(garbage_is_refused)
{
    struct rig *rig = varied();
    struct sl_ask one = rig_ask(GPU, 1);
    struct sl_ask mig = rig_ask(MIG, 1);
    static const char *const texts[] = {
        "=",
        ";",
        ",",
        "*",
        GPU "=,",
        GPU "=*",
        GPU "=3*",
        GPU "=*1",
        GPU "=3*-1",
        GPU "=-3",
        GPU "= 3",
        GPU "=3 ",
        GPU "=3,",
        GPU "=3x",
        GPU "=3*1*1",
        GPU "=99999999999999999999",
        GPU "=3*99999999999999999999",
        GPU "==3",
        ";" GPU "=3",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_refuses(rig, &one, texts[i]);
    }
    static const char *const mig_texts[] = {MIG "=7/",    MIG "=/0",   MIG "=7/#",  MIG "=7//0",
                                            MIG "=7/0/0", MIG "=7/-1", MIG "=7/#-1"};
    for (size_t i = 0; i < sizeof mig_texts / sizeof mig_texts[0]; i++) {
        assert_refuses(rig, &mig, mig_texts[i]);
    }
}

TEST_THAT(node_of_counts_forgets_the_devices_named)
{
    struct rig *rig = varied();
    rig->pool[1].on_devices = false;
    struct sl_ask two = rig_ask(GPU, 2);
    struct sl_assignment read;
    assert_true(sl_assignment_parse(&rig->node, &two, SL_STR(GPU "=3,5"), &read));
    assert_string_equal(format(rig, &two, &read), GPU "=?*2");
    assert_reads(rig, &two, GPU "=?*2");
    assert_refuses(rig, &two, GPU "=?*3");
    assert_refuses(rig, &two, GPU "=3");
}

TEST_THAT(text_that_does_not_fit_is_none)
{
    struct rig *rig = varied();
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_assignment a = {.n = 1, .part = {{0, 0, -1, 1}}};
    char text[sizeof GPU "=3"];
    assert_int_equal(sl_assignment_format(&rig->node, &ask, &a, text, sizeof text),
                     sizeof text - 1);
    assert_int_equal(sl_assignment_format(&rig->node, &ask, &a, text, sizeof text - 1), 0);
    assert_string_equal(text, "");
    assert_int_equal(sl_assignment_format(&rig->node, &ask, &a, NULL, 0), 0);
}

TEST_THAT(largest_assignment_fits_the_text)
{
    struct rig *rig = rig_new();
    struct sl_ask ask = {.n = SL_ASK_ITEMS_MAX};
    struct sl_assignment a = {.n = SL_ASSIGNMENT_MAX};
    static char names[SL_ASK_ITEMS_MAX][80];
    for (unsigned i = 0; i < SL_ASK_ITEMS_MAX; i++) {
        /* as long as Kubernetes lets a name after "nvidia.com/" be */
        snprintf(names[i], sizeof names[i], "nvidia.com/mig-%059u", i);
        ask.item[i] = rig_item(names[i], 128);
    }
    unsigned pool = rig_pool(rig, names[0], SL_KIND_REPLICA, 1000);
    for (unsigned d = 0; d < 64; d++) {
        rig_device(rig, 0);
        rig->device[d].index = (int16_t)(936 + d);
    }
    for (unsigned i = 0; i < SL_ASSIGNMENT_MAX; i++) {
        rig_instance(rig, i % 64, -1, pool);
        a.part[i] = (struct sl_assignment_part){(uint8_t)(i % SL_ASK_ITEMS_MAX), (int16_t)(i % 64),
                                                (int16_t)i, 999999999};
    }
    assert_in_range(strlen(format(rig, &ask, &a)), 2000, SL_ASSIGNMENT_TEXT_MAX - 1);
}
