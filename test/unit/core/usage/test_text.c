/* What was measured, in words for a pod's owner. */
#include "unit/core/rig.h"

#include "sliced/usage.h"

TEST_FIXTURE(NULL, rig_free_all)

#define SHARED "nvidia.com/gpu.shared"

static struct rig *rig_of_shared(unsigned gpus)
{
    struct rig *rig = rig_new();
    rig_pool(rig, SHARED, SL_KIND_REPLICA, 10);
    for (unsigned i = 0; i < gpus; i++) {
        rig->device[rig_device(rig, 0)].memory_mib = 16000;
        rig->measured[i] = sl_measured_none;
        rig->measured[i].by_use = true;
    }
    rig->n_measured = gpus;
    return rig;
}

static const char *said(struct rig *rig, size_t size)
{
    static char text[256];
    struct sl_ask ask = rig_ask(SHARED, 1);
    ask.item[0].workload = 5;
    memset(text, 'x', sizeof(text));
    sl_usage_text(rig_view(rig), &ask, text, size);
    assert_true(strlen(text) < size);
    assert_int_equal(text[size], 'x'); /* nothing behind the caller's room */
    return text;
}

TEST_THAT(each_gpu_is_told_by_what_is_known_of_it)
{
    struct rig *rig = rig_of_shared(3);
    rig->measured[1].state = SL_SERIES_GOOD;
    rig->measured[1].used_mib = 0;
    rig->measured[1].by = SL_SHARING_PEAKS;
    rig->measured[2] = rig->measured[1];
    rig->measured[2].used_mib = 300;
    rig->measured[2].by = SL_SHARING_CBP;
    rig_view(rig);
    rig->measured[2].pods = sl_view_pods_of(rig->view, 2);
    rig->measured[2].room_mib = 0;
    assert_string_equal(said(rig, 200),
                        "GPU 0: Absent; GPU 1: 0 of 16000 MiB used, no room by peaks; "
                        "GPU 2: 300 of 16000 MiB used, room for 0 by cbp");
    rig->measured[1].by_use = false; /* others' GPUs are not told */
    assert_string_equal(said(rig, 200),
                        "GPU 0: Absent; GPU 2: 300 of 16000 MiB used, room for 0 by cbp");
    rig->n_measured = 0;
    assert_string_equal(said(rig, 200), "");
}

TEST_THAT(the_state_that_gives_no_room_is_told_with_the_rule)
{
    struct rig *rig = rig_of_shared(1);
    struct sl_measured *m = &rig->measured[0];
    *m = (struct sl_measured){.by_use = true,
                              .used_mib = 4000,
                              .room_mib = -1,
                              .load = -1,
                              .samples = 7,
                              .by = SL_SHARING_CBP,
                              .state = SL_SERIES_SHORT};
    assert_string_equal(said(rig, 200),
                        "GPU 0: 4000 of 16000 MiB used, Short: 7 of 20 samples for cbp");
    m->state = SL_SERIES_GAPPY;
    assert_string_equal(said(rig, 200), "GPU 0: 4000 of 16000 MiB used, Gappy");
    m->state = SL_SERIES_GOOD;
    m->by = SL_SHARING_ASKS; /* as the view has it after a pod has come */
    assert_string_equal(said(rig, 200),
                        "GPU 0: 4000 of 16000 MiB used, not measured since pods came or went");
    m->by_use = false; /* by asks alone, which are less than is used */
    assert_string_equal(said(rig, 200), "");
    m->over_mib = 3000;
    assert_string_equal(said(rig, 200), "GPU 0: 4000 of 16000 MiB used");
}

TEST_THAT(three_gpus_are_told_and_the_rest_counted)
{
    struct rig *rig = rig_of_shared(5);
    assert_string_equal(said(rig, 200), "GPU 0: Absent; GPU 1: Absent; GPU 2: Absent; 2 more");
}

TEST_THAT(the_words_are_cut_to_their_room)
{
    static const char whole[] = "GPU 0: Absent; GPU 1: Absent; GPU 2: Absent; 1 more";
    struct rig *rig = rig_of_shared(4);
    for (size_t size = 1; size <= sizeof(whole); size++) {
        const char *text = said(rig, size);
        assert_memory_equal(text, whole, strlen(text) < 44 ? strlen(text) : 44);
        assert_true(strlen(text) + 1 == size || size > 44);
    }
}

TEST_THAT(an_ask_without_a_workload_is_told_nothing)
{
    struct rig *rig = rig_of_shared(1);
    struct sl_ask ask = rig_ask2("nvidia.com/gpu", 1, SHARED, 1);
    char text[64];
    sl_usage_text(rig_view(rig), &ask, text, sizeof(text));
    assert_string_equal(text, "");
    ask.item[1].workload = 5;
    sl_usage_text(rig->view, &ask, text, sizeof(text));
    assert_string_equal(text, "GPU 0: Absent");
}
