/* Reasons: the sentences, and what counts as never. */
#include "unit/core/request/facts_rig.h"

#include "core/request/text.h"
#include "sliced/reason.h"

static const struct sl_ask mig_ask = {
    .n = 2,
    .item = {{.resource = "aliyun.com/gpu-mem", .count = 8, .kind = SL_KIND_MEMORY},
             {.resource = "nvidia.com/mig-1g.6gb", .count = 2, .kind = SL_KIND_MIG}},
};

static void check_text(struct sl_verdict verdict, const char *malformed, const char *expected)
{
    char out[256];
    size_t len = sl_verdict_text(&verdict, &mig_ask, malformed, out, sizeof(out));
    assert_string_equal(out, expected);
    assert_int_equal(len, strlen(expected));
}

TEST_THAT(sentences_carry_the_resource_and_the_numbers)
{
    struct sl_verdict v = {.item = 1, .asked = 2, .free = 1, .capacity = 8};
    v.reason = SL_REASON_INSUFFICIENT;
    check_text(v, NULL, "nvidia.com/mig-1g.6gb: 2 asked, 1 free of 8");
    v.reason = SL_REASON_NOT_OFFERED;
    check_text(v, NULL, "nvidia.com/mig-1g.6gb: not offered by this node");
    v.reason = SL_REASON_NOT_PARTITIONED;
    check_text(v, NULL, "nvidia.com/mig-1g.6gb: 2 asked, this node's GPUs are not cut for it now");
    v.reason = SL_REASON_CUTTING;
    check_text(v, NULL, "nvidia.com/mig-1g.6gb: 2 asked, this node's GPUs are being cut");
    v.reason = SL_REASON_EXCEEDS_NODE;
    check_text(v, NULL, "nvidia.com/mig-1g.6gb: 2 asked, this node has 8 in all");
    v.reason = SL_REASON_DEVICES_SHARED;
    check_text(v, NULL, "nvidia.com/mig-1g.6gb: 2 asked, 1 free of 8, parts of others are in use");
    v.reason = SL_REASON_UNHEALTHY;
    check_text(v, NULL, "nvidia.com/mig-1g.6gb: 2 asked, 1 free of 8 on healthy GPUs");
    v = (struct sl_verdict){.asked = 8, .free = 12, .capacity = 24, .largest = 6};
    v.reason = SL_REASON_FRAGMENTED;
    check_text(v, NULL, "aliyun.com/gpu-mem: 8 asked, 12 free in sum but at most 6 on one GPU");
    v.reason = SL_REASON_EXCEEDS_DEVICE;
    check_text(v, NULL, "aliyun.com/gpu-mem: 8 asked, one GPU of this node has at most 6");
    v.reason = SL_REASON_EXCEEDS_TOGETHER;
    check_text(v, NULL,
               "aliyun.com/gpu-mem: 8 asked, never to be had on this node beside the pod's other "
               "GPU requests");
}

TEST_THAT(one_sentence_speaks_for_all_nodes_with_the_reason)
{
    static const struct {
        struct sl_verdict sum;
        size_t nodes;
        const char *expected;
    } cases[] = {
        {{SL_REASON_INSUFFICIENT, 1, .asked = 1, .capacity = 8},
         2,
         "8 of 8 nvidia.com/mig-1g.6gb are in use; waits for one to end"},
        {{SL_REASON_INSUFFICIENT, 1, .asked = 2, .capacity = 8},
         2,
         "8 of 8 nvidia.com/mig-1g.6gb are in use; waits for some to end"},
        {{SL_REASON_INSUFFICIENT, 1, .asked = 2, .free = 1, .capacity = 8},
         2,
         "7 of 8 nvidia.com/mig-1g.6gb are in use and no node has 2 free; waits for some to end"},
        {{SL_REASON_FRAGMENTED, 0, .asked = 8, .free = 12, .capacity = 24, .largest = 6},
         2,
         "8 aliyun.com/gpu-mem asked, 12 are free in sum but at most 6 on one GPU; waits for pods "
         "there to end"},
        {{SL_REASON_DEVICES_SHARED, 1, .asked = 2},
         2,
         "2 nvidia.com/mig-1g.6gb asked, but parts of the GPUs are in use; waits for a whole one "
         "to become free"},
        {{SL_REASON_UNHEALTHY, 9, .asked = 2},
         2,
         "what is left of GPU is on GPUs that are marked unhealthy; waits for these to recover or "
         "for pods to end"},
        {{SL_REASON_NOT_PARTITIONED, 1, .asked = 2},
         2,
         "no GPU is cut for nvidia.com/mig-1g.6gb now; 2 nodes could be cut for "
         "it"},
        {{SL_REASON_MEMORY_TAKEN, 1, .asked = 2},
         2,
         "no node has 2 nvidia.com/mig-1g.6gb with 0 MiB of GPU memory each to give now; waits for "
         "pods there to end"},
        {{SL_REASON_CUTTING, 1, .asked = 2},
         1,
         "the GPUs of 1 node are being cut; waits for that to end"},
        {{SL_REASON_OUT_OF_SERVICE, 1, .asked = 2},
         1,
         "1 node has nvidia.com/mig-1g.6gb, but does not offer enough now: the device plugin "
         "restarts or has yet to start, or GPUs are unhealthy; waits for that to end"},
        {{SL_REASON_OUT_OF_SERVICE, 1, .asked = 2},
         2,
         "2 nodes have nvidia.com/mig-1g.6gb, but do not offer enough now: the device plugin "
         "restarts or has yet to start, or GPUs are unhealthy; waits for that to end"},
        {{SL_REASON_DEVICE_CLASS, 1, .asked = 2},
         2,
         "no node's device plugin offers nvidia.com/mig-1g.6gb, a DeviceClass does (DRA): sliced "
         "does not schedule its devices"},
        {{SL_REASON_HOST_FULL, 1, .asked = 2},
         2,
         "2 nodes have the GPUs, but too little CPU, memory or places for pods; waits for pods "
         "there to end"},
        {{SL_REASON_NOT_OFFERED, 1, .asked = 2},
         2,
         "no node offers nvidia.com/mig-1g.6gb: it cannot start in this cluster as it is"},
        {{SL_REASON_EXCEEDS_NODE, 1, .asked = 9, .capacity = 8},
         2,
         "9 nvidia.com/mig-1g.6gb asked, the largest node has 8 in all: it cannot start in this "
         "cluster as it is"},
        {{SL_REASON_EXCEEDS_DEVICE, 0, .asked = 9, .largest = 8},
         2,
         "9 aliyun.com/gpu-mem asked, one GPU has at most 8: it cannot start in this cluster as it "
         "is"},
        {{SL_REASON_LITTLE_MEMORY, 1, .asked = 2, .largest = 5952},
         2,
         "no node has 2 nvidia.com/mig-1g.6gb with 0 MiB of GPU memory each, the largest has 5952 "
         "MiB: it cannot start in this cluster as it is"},
        {{SL_REASON_LITTLE_MEMORY, 1, .asked = 2},
         2,
         "no node has 2 nvidia.com/mig-1g.6gb with 0 MiB of GPU memory each, how much there is is "
         "unknown: it cannot start in this cluster as it is"},
        {{SL_REASON_ONE_EACH, 1, .asked = 2},
         2,
         "2 nvidia.com/mig-1g.6gb asked, the nodes' device plugin gives a container one replica at "
         "most: it cannot start in this cluster as it is"},
        {{SL_REASON_EXCEEDS_TOGETHER, 1, .asked = 2}, 2, "no node is known that could take it"},
        {{SL_REASON_FITS, 0, .asked = 0}, 2, "no node is known that could take it"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[256];
        (void)sl_verdicts_text(&cases[i].sum, cases[i].nodes, &mig_ask, NULL, out, sizeof(out));
        assert_string_equal(out, cases[i].expected);
    }
}

TEST_THAT(memory_that_nobody_tells_is_called_unknown)
{
    check_text(
        (struct sl_verdict){
            .reason = SL_REASON_LITTLE_MEMORY, .item = 1, .asked = 1, .largest = 5952},
        NULL,
        "nvidia.com/mig-1g.6gb: 1 asked with 0 MiB of GPU memory each, 0 of this node's have "
        "that, the largest has 5952 MiB");
    check_text(
        (struct sl_verdict){.reason = SL_REASON_LITTLE_MEMORY, .item = 1, .asked = 1}, NULL,
        "nvidia.com/mig-1g.6gb: 1 asked with 0 MiB of GPU memory each, 0 of this node's have "
        "that, how much they have is unknown");
}

TEST_THAT(sentences_without_numbers)
{
    check_text((struct sl_verdict){.reason = SL_REASON_FITS}, NULL, "fits");
    check_text((struct sl_verdict){.reason = SL_REASON_NO_ASK}, NULL, "asks for no GPU");
    check_text((struct sl_verdict){.reason = SL_REASON_UNKNOWN_NODE}, NULL, "node not known (yet)");
    check_text((struct sl_verdict){.reason = SL_REASON_MALFORMED_ASK}, "container \"a\": wrong",
               "malformed GPU request: container \"a\": wrong");
    check_text((struct sl_verdict){.reason = SL_REASON_MALFORMED_ASK}, NULL,
               "malformed GPU request");
}

TEST_THAT(extreme_numbers_are_written_in_full)
{
    struct sl_verdict v = {
        .reason = SL_REASON_INSUFFICIENT, .asked = INT64_MAX, .free = 0, .capacity = INT64_MIN};
    check_text(v, NULL,
               "aliyun.com/gpu-mem: 9223372036854775807 asked, 0 free of -9223372036854775808");
}

TEST_THAT(an_item_outside_the_ask_is_named_gpu)
{
    struct sl_verdict v = {.reason = SL_REASON_NOT_OFFERED, .item = 7};
    check_text(v, NULL, "GPU: not offered by this node");
    char out[64];
    v.item = 0;
    (void)sl_verdict_text(&v, NULL, NULL, out, sizeof(out));
    assert_string_equal(out, "GPU: not offered by this node");
}

TEST_THAT(a_text_is_cut_at_every_size_and_never_overruns)
{
    const char *full = "nvidia.com/mig-1g.6gb: 2 asked, 1 free of 8";
    struct sl_verdict v = {
        .reason = SL_REASON_INSUFFICIENT, .item = 1, .asked = 2, .free = 1, .capacity = 8};
    for (size_t size = 0; size <= strlen(full) + 2; size++) {
        char out[64];
        memset(out, '#', sizeof(out));
        size_t len = sl_verdict_text(&v, &mig_ask, NULL, out, size);
        size_t expected = size == 0 ? 0 : size - 1 < strlen(full) ? size - 1 : strlen(full);
        assert_int_equal(len, expected);
        assert_memory_equal(out, full, len);
        assert_true(size == 0 || out[len] == '\0');
        assert_int_equal(out[size], '#');
    }
}

TEST_THAT(a_text_is_never_cut_inside_a_character)
{
    struct sl_verdict v = {.reason = SL_REASON_MALFORMED_ASK};
    char out[26];
    size_t len = sl_verdict_text(&v, NULL, "\xc3\xa4\xc3\xb6", out, sizeof(out));
    assert_string_equal(out, "malformed GPU request: \xc3\xa4");
    assert_int_equal(len, 25);
    char shorter[25];
    len = sl_verdict_text(&v, NULL, "\xc3\xa4\xc3\xb6", shorter, sizeof(shorter));
    assert_string_equal(shorter, "malformed GPU request: ");
    assert_int_equal(len, 23);
}

TEST_THAT(nothing_follows_a_cut)
{
    char out[4];
    struct sl_text text;
    sl_text_init(&text, out, sizeof(out));
    sl_text_puts(&text, "ab\xc3\xa4");
    sl_text_puts(&text, "c");
    sl_text_i64(&text, 1);
    assert_string_equal(out, "ab");
    assert_true(text.cut);
    assert_int_equal(text.len, 2);
}

TEST_THAT(what_a_device_class_offers_is_not_called_offered_by_nobody)
{
    static const char resource[] = "nvidia.com/gpu";
    const uint64_t key = sl_hash(resource, strlen(resource));
    struct sl_ask ask = {.n = 2,
                         .item = {{.resource = "a", .key = 1, .count = 1},
                                  {.resource = resource, .key = key, .count = 1}}};
    struct sl_verdict v = {.reason = SL_REASON_NOT_OFFERED, .item = 1};
    struct sl_dra dra = {0};
    char out[128];
    sl_verdict_by_dra(&v, &ask, &dra);
    assert_int_equal(v.reason, SL_REASON_NOT_OFFERED);
    sl_dra_add(&dra, SL_STR("nvidia.com/gpu"));
    sl_dra_add(&dra, SL_STR("nvidia.com/gpu"));
    sl_dra_add(&dra, SL_STR("cpu"));
    sl_dra_add(&dra, SL_STR("deviceclass.resource.kubernetes.io/gpu"));
    sl_dra_add(&dra, SL_STR(""));
    assert_int_equal(dra.n, 1);
    sl_verdict_by_dra(&v, &ask, &dra);
    assert_int_equal(v.reason, SL_REASON_DEVICE_CLASS);
    (void)sl_verdict_text(&v, &ask, NULL, out, sizeof(out));
    assert_string_equal(out, "nvidia.com/gpu: a DeviceClass offers it (DRA), whose devices sliced "
                             "does not schedule");
    v = (struct sl_verdict){.reason = SL_REASON_NOT_OFFERED, .item = 0};
    sl_verdict_by_dra(&v, &ask, &dra);
    assert_int_equal(v.reason, SL_REASON_NOT_OFFERED);
    /* kube-scheduler asks DRA where no unit is allocatable, however many there are */
    v = (struct sl_verdict){.reason = SL_REASON_OUT_OF_SERVICE, .item = 1, .capacity = 8};
    sl_verdict_by_dra(&v, &ask, &dra);
    assert_int_equal(v.reason, SL_REASON_DEVICE_CLASS);
    v = (struct sl_verdict){.reason = SL_REASON_OUT_OF_SERVICE, .item = 1, .free = 1};
    sl_verdict_by_dra(&v, &ask, &dra);
    assert_int_equal(v.reason, SL_REASON_OUT_OF_SERVICE);
}

TEST_THAT(as_many_resources_of_classes_are_kept_as_have_room)
{
    struct sl_dra dra = {0};
    for (int i = 1; i <= SL_DRA_MAX + 5; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "nvidia.com/gpu-%dgb", i);
        sl_dra_add(&dra, sl_str_of(name));
    }
    assert_int_equal(dra.n, SL_DRA_MAX);
}

TEST_THAT(never_is_what_no_end_of_a_pod_would_help)
{
    for (enum sl_reason r = SL_REASON_FITS; r < SL_REASON_COUNT; r++) {
        bool never = r == SL_REASON_NOT_OFFERED || r == SL_REASON_EXCEEDS_NODE ||
                     r == SL_REASON_EXCEEDS_DEVICE || r == SL_REASON_EXCEEDS_TOGETHER ||
                     r == SL_REASON_LITTLE_MEMORY || r == SL_REASON_ONE_EACH ||
                     r == SL_REASON_MALFORMED_ASK || r == SL_REASON_EXCLUDED;
        assert_int_equal(sl_reason_is_never(r), never);
    }
}

TEST_THAT(every_reason_has_a_name_of_its_own_and_a_help)
{
    for (enum sl_reason r = SL_REASON_FITS; r < SL_REASON_COUNT; r++) {
        assert_non_null(sl_reason_name(r));
        assert_true(strlen(sl_reason_help(r)) > 20);
        for (enum sl_reason other = SL_REASON_FITS; other < r; other++) {
            assert_string_not_equal(sl_reason_name(r), sl_reason_name(other));
        }
    }
    assert_string_equal(sl_reason_name(SL_REASON_INSUFFICIENT), "Insufficient");
    assert_string_equal(sl_reason_name(SL_REASON_NOT_PARTITIONED), "NotPartitioned");
}
