/* What a pod does with what it holds. The kubelet chooses its GPUs: nobody is taken for another. */
#include "rows_rig.h"

#define WHOLE  "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEMORY "aliyun.com/gpu-mem"
#define MIG    "nvidia.com/mig-3g.20gb"

enum { SECOND = 1000000, NOW = 10000 };

static void with_gpus(struct scene *scene, const char *resource, enum sl_kind kind, unsigned n,
                      int32_t replicas)
{
    unsigned pool = rig_pool(scene->rig, resource, kind, (int64_t)n * replicas);
    scene->rig->pool[pool].replicas = replicas;
    for (unsigned i = 0; i < n; i++) {
        unsigned device = rig_device(scene->rig, kind == SL_KIND_MEMORY ? replicas : 0);
        scene->rig->device[device].memory_mib = 16000;
    }
}

/* -1: nobody knows for how long */
static struct sl_usage_row *measured(struct scene *scene, int gpu, int64_t idle_s, int32_t used_mib)
{
    struct sl_usage_row *row = &scene->row[scene->n++];
    *row = (struct sl_usage_row){.gpu = gpu,
                                 .instance = -1,
                                 .measured = sl_measured_none,
                                 .idle_us = idle_s < 0 ? -1 : idle_s * SECOND,
                                 .since_us = ((int64_t)NOW - idle_s) * SECOND};
    row->measured.used_mib = used_mib;
    return row;
}

static struct sl_pod *runs(struct scene *scene, const struct sl_ask *ask, const char *assignment)
{
    struct sl_pod *pod = rig_run(scene->rig, *ask, assignment);
    pod->started_us = ((int64_t)NOW - 5000) * SECOND;
    return pod;
}

static struct sl_pod_use use_of(struct scene *scene, const struct sl_pod *pod)
{
    const struct sl_view *view = rig_view(scene->rig);
    struct sl_pod_use use = {0};
    struct sl_usage_row row[ROWS];
    memcpy(row, scene->row, sizeof(row));
    sl_usage_agree(view, row, scene->n);
    for (unsigned i = 0; i < view->n_residents; i++) {
        if (strcmp(view->resident[i].pod->uid, pod->uid) == 0) {
            sl_usage_pod(view, &view->resident[i], row, scene->n, (int64_t)NOW * SECOND, &use);
            return use;
        }
    }
    fail_msg("%s is not there", pod->uid);
    return use;
}

static int64_t idle_of(struct scene *scene, const struct sl_pod *pod)
{
    struct sl_pod_use use = use_of(scene, pod);
    return use.idle_us < 0 ? -1 : use.idle_us / SECOND;
}

static uint64_t key_of(const struct sl_pod *pod)
{
    return sl_usage_pod_key(sl_str_of(pod->namespace), sl_str_of(pod->name));
}

static struct sl_usage_names named(const struct sl_pod *pod)
{
    return (struct sl_usage_names){.pod = {key_of(pod)}, .used_mib = {-1}, .n = 1};
}

static void also_named(struct sl_usage_row *row, const struct sl_pod *pod)
{
    row->names.used_mib[row->names.n] = -1;
    row->names.pod[row->names.n++] = key_of(pod);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct scene *scene, a_pod_of_the_only_gpu_idles_as_long_as_that)
{
    struct sl_ask ask = rig_ask(WHOLE, 1);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 1, 1);
    struct sl_pod *pod = runs(scene, &ask, WHOLE "=0");
    measured(scene, 0, 100, 700);
    struct sl_pod_use use = use_of(scene, pod);
    assert_int_equal(use.idle_us, 100 * (int64_t)SECOND);
    assert_int_equal(use.since_us, ((int64_t)NOW - 100) * SECOND);
    assert_int_equal(use.used_mib, 700);
    assert_int_equal(use.share, 1000);
    assert_int_equal(use.held, 1);
    scene->row[0].idle_us = 0;
    assert_int_equal(idle_of(scene, pod), 0);
    scene->row[0].idle_us = -1;
    assert_int_equal(idle_of(scene, pod), -1);
}

/* However far the kubelet's clock is behind: its start may seem to be before that. */
TEST_ON(struct scene *scene, what_was_judged_before_a_pod_came_does_not_say_that_it_idles)
{
    struct sl_ask ask = rig_ask(WHOLE, 1);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 1, 1);
    struct sl_pod *pod = runs(scene, &ask, WHOLE "=0");
    uint64_t there = sl_view_pods_of(rig_view(scene->rig), 0);
    measured(scene, 0, 100, 700)->measured.pods = there + 1;
    assert_int_equal(idle_of(scene, pod), -1);
    scene->row[0].measured.pods = there;
    assert_int_equal(idle_of(scene, pod), 100);
}

TEST_ON(struct scene *scene, a_pod_holds_all_its_gpus)
{
    struct sl_ask ask = rig_ask(WHOLE, 2);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 3, 1);
    struct sl_pod *pod = runs(scene, &ask, WHOLE "=0,2");
    for (int gpu = 0; gpu < 3; gpu++) {
        measured(scene, gpu, 100, 700);
    }
    struct sl_pod_use use = use_of(scene, pod);
    assert_int_equal(use.held, 1 | 4);
    assert_int_equal(use.share, 2000);
    assert_int_equal(use.used_mib, 2100); /* of all three, of which nobody else has one */
    scene->row[1].measured.used_mib = -1;
    assert_int_equal(use_of(scene, pod).used_mib, -1); /* not known of one */
    scene->row[1].measured.used_mib = 0;
    assert_int_equal(use_of(scene, pod).used_mib, 1400);
}

TEST_ON(struct scene *scene, a_slice_of_a_gpu_of_unknown_memory_is_no_known_share)
{
    struct sl_ask ask = rig_ask("nvidia.com/gpu-4gb", 1);
    with_gpus(scene, ask.item[0].resource, SL_KIND_REPLICA, 1, 4);
    scene->rig->pool[0].slices = true;
    scene->rig->pool[0].memory_mib = 4000;
    rig_instance(scene->rig, 0, -1, 0);
    scene->rig->instance[0].slices = 4;
    struct sl_pod *pod = runs(scene, &ask, NULL);
    assert_int_equal(use_of(scene, pod).share, 250);
    scene->rig->device[0].memory_mib = 0;
    assert_int_equal(use_of(scene, pod).share, 0);
}

TEST_ON(struct scene *scene, no_pod_idles_for_longer_than_it_runs)
{
    struct sl_ask ask = rig_ask(WHOLE, 1);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 1, 1);
    struct sl_pod *pod = runs(scene, &ask, WHOLE "=0");
    measured(scene, 0, 9000, 0);
    assert_int_equal(idle_of(scene, pod), 5000);
    assert_int_equal(use_of(scene, pod).since_us, pod->started_us);
    pod->started_us = 0;
    assert_int_equal(idle_of(scene, pod), -1);
    pod->started_us = ((int64_t)NOW + 50) * SECOND; /* by another clock */
    assert_int_equal(idle_of(scene, pod), -1);
}

TEST_ON(struct scene *scene, of_several_gpus_that_the_kubelet_may_give_all_must_idle)
{
    struct sl_ask ask = rig_ask(WHOLE, 1);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2, 1);
    struct sl_pod *pod = runs(scene, &ask, WHOLE "=0");
    measured(scene, 0, 100, 0);
    assert_int_equal(idle_of(scene, pod), -1); /* of GPU 1 nothing is known */
    measured(scene, 1, 0, 0);
    assert_int_equal(idle_of(scene, pod), -1); /* either may be its own */
    scene->row[0].idle_us = 0;
    assert_int_equal(idle_of(scene, pod), 0);
    scene->row[0].idle_us = 100 * (int64_t)SECOND;
    scene->row[1].idle_us = 60 * (int64_t)SECOND;
    assert_int_equal(idle_of(scene, pod), 60);
}

TEST_ON(struct scene *scene, whom_the_exporter_names_is_known_among_many)
{
    struct sl_ask ask = rig_ask(WHOLE, 1);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2, 1);
    struct sl_pod *idle = runs(scene, &ask, WHOLE "=0");
    struct sl_pod *busy = runs(scene, &ask, WHOLE "=1");
    measured(scene, 0, 0, 9000)->names = named(busy); /* not as they were assigned */
    measured(scene, 1, 300, 500)->names = named(idle);
    assert_int_equal(idle_of(scene, idle), 300);
    assert_int_equal(use_of(scene, idle).used_mib, 500);
    assert_int_equal(use_of(scene, idle).gpus, 2);
    assert_int_equal(idle_of(scene, busy), 0);
    assert_int_equal(use_of(scene, busy).used_mib, 9000);
}

TEST_ON(struct scene *scene, fewer_gpus_that_name_a_pod_than_it_holds_say_nothing)
{
    struct sl_ask ask = rig_ask(WHOLE, 2);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 3, 1);
    struct sl_pod *pod = runs(scene, &ask, WHOLE "=0,1");
    measured(scene, 0, 300, 0)->names = named(pod);
    measured(scene, 1, 0, 0);
    measured(scene, 2, 300, 0);
    assert_int_equal(idle_of(scene, pod), -1);
    scene->row[2].names = named(pod);
    assert_int_equal(idle_of(scene, pod), 300);
}

TEST_ON(struct scene *scene, a_pod_alone_on_a_replica_is_known_named_or_not)
{
    struct sl_ask ask = rig_ask(SHARED, 1);
    ask.item[0].memory_mib = 2000;
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 1, 4);
    struct sl_pod *pod = runs(scene, &ask, SHARED "=0");
    struct sl_usage_row *row = measured(scene, 0, 60, 5000);
    row->measured.over_mib = 3000;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(use_of(scene, pod).used_mib, 5000);
        assert_int_equal(use_of(scene, pod).over_mib, 3000);
        row->names = named(pod);
    }
    struct sl_pod *other = runs(scene, &ask, SHARED "=0"); /* the exporter names one of them */
    assert_int_equal(use_of(scene, pod).used_mib, -1);
    assert_int_equal(use_of(scene, pod).over_mib, 0);
    assert_int_equal(use_of(scene, other).used_mib, -1);
}

/* GPU 0 idles with two pods, GPU 1 is busy with one. */
TEST_ON(struct scene *scene, each_of_those_who_share_a_gpu_is_known_by_name)
{
    struct sl_ask ask = rig_ask(SHARED, 1);
    ask.item[0].memory_mib = 1000;
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 2, 4);
    struct sl_pod *first = runs(scene, &ask, SHARED "=1"); /* not as they were assigned */
    struct sl_pod *second = runs(scene, &ask, SHARED "=0");
    struct sl_pod *busy = runs(scene, &ask, SHARED "=1");
    struct sl_usage_row *idle = measured(scene, 0, 300, 500);
    struct sl_usage_row *row = measured(scene, 1, 0, 9000);
    row->measured.over_mib = 7000; /* over the asks of two */
    idle->names = named(first);
    row->names = named(busy);
    assert_int_equal(idle_of(scene, second), -1); /* it may be on either */
    assert_int_equal(use_of(scene, busy).used_mib, -1);
    also_named(idle, second);
    assert_int_equal(idle_of(scene, first), 300);
    assert_int_equal(idle_of(scene, second), 300);
    assert_int_equal(idle_of(scene, busy), 0);
    assert_int_equal(use_of(scene, first).used_mib, -1);
    assert_int_equal(use_of(scene, busy).used_mib, 9000); /* the others are elsewhere */
    assert_int_equal(use_of(scene, busy).over_mib, 8000); /* over its own ask */
    row->measured.used_mib = 1000 + SL_USAGE_CONTEXT_MIB; /* that of CUDA is in no ask */
    assert_int_equal(use_of(scene, busy).over_mib, 0);
    row->measured.used_mib++;
    assert_int_equal(use_of(scene, busy).over_mib, SL_USAGE_CONTEXT_MIB + 1);
    row->measured.over_mib = 0; /* not by several samples, or all together use no more */
    assert_int_equal(use_of(scene, busy).over_mib, 0);
}

/* Whoever is named on some of its units may have the others anywhere; nor do names place shares of
 * memory, or a pod that waits. */
TEST_ON(struct scene *scene, a_sharer_is_alone_where_names_show_all_units_of_the_others_elsewhere)
{
    struct sl_ask one = rig_ask(SHARED, 1);
    struct sl_ask two = rig_ask(SHARED, 2);
    struct sl_ask memory = rig_ask(MEMORY, 4);
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 3, 4);
    struct sl_pod *pod = runs(scene, &one, SHARED "=0");
    struct sl_pod *other = runs(scene, &two, SHARED "=1,2");
    measured(scene, 0, 0, 5000)->names = named(pod);
    measured(scene, 1, 0, 100)->names = named(other);
    measured(scene, 2, 0, 100);
    assert_int_equal(use_of(scene, pod).used_mib, -1);
    scene->row[2].names = named(other);
    assert_int_equal(use_of(scene, pod).used_mib, 5000);
    also_named(&scene->row[0], other);
    assert_int_equal(use_of(scene, pod).used_mib, -1);
    scene->row[0].names.n = 1;
    struct sl_pod *waiting = runs(scene, &one, SHARED "=1");
    waiting->set_aside = true;
    assert_int_equal(use_of(scene, pod).used_mib, -1);
    waiting->phase = SL_POD_SUCCEEDED;
    assert_int_equal(use_of(scene, pod).used_mib, 5000);
    (void)rig_pool(scene->rig, MEMORY, SL_KIND_MEMORY, 16);
    scene->rig->device[2].memory_units = 16;
    also_named(&scene->row[2], runs(scene, &memory, MEMORY "=2*4"));
    assert_int_equal(use_of(scene, pod).used_mib, -1);
}

/* Whole GPUs are nobody else's, and who has one is on no shared one. */
TEST_ON(struct scene *scene, who_shares_gpus_is_not_on_those_of_who_has_them_whole)
{
    struct sl_ask shared = rig_ask(SHARED, 1);
    struct sl_ask whole = rig_ask(WHOLE, 1);
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 1, 4);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 1, 1);
    struct sl_pod *sharer = runs(scene, &shared, SHARED "=0");
    struct sl_pod *owner = runs(scene, &whole, WHOLE "=1");
    measured(scene, 0, 0, 5000)->names = named(sharer);
    measured(scene, 1, 0, 9000);
    assert_int_equal(use_of(scene, sharer).used_mib, 5000); /* wherever the owner is */
    scene->row[1].names = named(owner);
    assert_int_equal(use_of(scene, owner).used_mib, 9000);
    scene->row[0].names.n = 0;
    assert_int_equal(use_of(scene, owner).used_mib, 9000); /* wherever the sharer is */
}

TEST_ON(struct scene *scene, what_a_sharer_uses_is_known_where_somebody_tells_it)
{
    struct sl_ask ask = rig_ask(SHARED, 1);
    ask.item[0].memory_mib = 2000;
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 1, 4);
    struct sl_pod *modest = runs(scene, &ask, SHARED "=0");
    struct sl_pod *greedy = runs(scene, &ask, SHARED "=0");
    struct sl_usage_row *row = measured(scene, 0, 0, 9000);
    row->measured.over_mib = 5000;
    row->names = named(modest);
    also_named(row, greedy);
    row->names.used_mib[0] = 1500;
    row->names.used_mib[1] = 7500;
    assert_int_equal(use_of(scene, modest).used_mib, 1500);
    assert_int_equal(use_of(scene, modest).over_mib, 0);
    assert_int_equal(use_of(scene, greedy).used_mib, 7500);
    assert_int_equal(use_of(scene, greedy).over_mib, 5500);
    row->names.used_mib[0] = 20000; /* no pod uses more than all do */
    assert_int_equal(use_of(scene, modest).used_mib, 9000);
    row->names.used_mib[0] = -1;
    assert_int_equal(use_of(scene, modest).used_mib, -1);
}

/* Whoever can write series can add names, not take any away. */
TEST_ON(struct scene *scene, a_foreign_name_makes_no_busy_pod_idle)
{
    struct sl_ask ask = rig_ask(SHARED, 1);
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 2, 4);
    struct sl_pod *victim = runs(scene, &ask, SHARED "=0");
    struct sl_pod *other = runs(scene, &ask, SHARED "=1");
    struct sl_usage_row *busy = measured(scene, 0, 0, 9000);
    struct sl_usage_row *idle = measured(scene, 1, 3000, 500);
    busy->names = named(victim);
    idle->names = named(other);
    assert_int_equal(idle_of(scene, victim), 0);
    also_named(idle, victim);
    assert_int_equal(idle_of(scene, victim), 0);
    assert_int_equal(use_of(scene, victim).used_mib, -1); /* not the sum of both */
    busy->names = named(other);
    busy->names.crowded = true; /* with so many names that its own is not among them */
    assert_int_equal(idle_of(scene, victim), -1);
    assert_int_equal(idle_of(scene, other), -1);
    busy->names = named(victim);
    also_named(busy, other);
    assert_int_equal(idle_of(scene, other), 0); /* at worst a pod seems to work */
}

TEST_THAT(a_name_is_the_namespace_and_the_name)
{
    uint64_t key = sl_usage_pod_key(SL_STR("a"), SL_STR("bc"));
    assert_int_not_equal(key, sl_usage_pod_key(SL_STR("ab"), SL_STR("c")));
    assert_int_not_equal(key, sl_usage_pod_key(SL_STR("b"), SL_STR("bc")));
    assert_int_equal(sl_usage_pod_key(SL_STR(""), SL_STR("bc")), 0);
    assert_int_equal(sl_usage_pod_key(SL_STR("a"), SL_STR("")), 0);
}

TEST_ON(struct scene *scene, pods_that_share_a_gpu_idle_together)
{
    struct sl_ask ask = rig_ask(SHARED, 1);
    ask.item[0].memory_mib = 4000;
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 1, 4);
    struct sl_pod *first = runs(scene, &ask, SHARED "=0");
    measured(scene, 0, 60, 5000)->measured.over_mib = 1000;
    assert_int_equal(use_of(scene, first).used_mib, 5000);
    assert_int_equal(use_of(scene, first).over_mib, 1000);
    assert_int_equal(use_of(scene, first).declared_mib, 4000);
    assert_int_equal(use_of(scene, first).share, 250);
    struct sl_pod *second = runs(scene, &ask, SHARED "=0");
    assert_int_equal(idle_of(scene, first), 60);
    assert_int_equal(idle_of(scene, second), 60);
    assert_int_equal(use_of(scene, second).used_mib, -1); /* whose it is nobody knows */
    assert_int_equal(use_of(scene, second).over_mib, 0);
}

TEST_ON(struct scene *scene, a_share_of_memory_stands_where_its_plugin_put_it)
{
    struct sl_ask ask = rig_ask(MEMORY, 4);
    with_gpus(scene, MEMORY, SL_KIND_MEMORY, 2, 16);
    struct sl_pod *pod = runs(scene, &ask, MEMORY "=0*4");
    measured(scene, 0, 200, 6000)->measured.over_mib = 2000;
    measured(scene, 1, 0, 0);
    assert_int_equal(idle_of(scene, pod), 200);
    assert_int_equal(use_of(scene, pod).share, 250);
    assert_int_equal(use_of(scene, pod).declared_mib, 4000);
    assert_int_equal(use_of(scene, pod).over_mib, 2000);
    pod->assignment = NULL; /* where it is then is only assumed */
    assert_int_equal(idle_of(scene, pod), -1);
}

TEST_ON(struct scene *scene, instances_count_by_their_profile)
{
    struct sl_ask ask = rig_ask(MIG, 1);
    with_halves(scene, MIG);
    struct sl_pod *pod = runs(scene, &ask, MIG "=0/0");
    struct sl_usage_row *first = measured(scene, 0, 90, 100);
    first->instance = 1;
    snprintf(first->profile, sizeof(first->profile), "3g.20gb");
    assert_int_equal(idle_of(scene, pod), -1); /* the other may be its own */
    struct sl_usage_row *second = measured(scene, 0, 50, 100);
    second->instance = 2;
    snprintf(second->profile, sizeof(second->profile), "3g.20gb");
    assert_int_equal(idle_of(scene, pod), 50);
    assert_int_equal(use_of(scene, pod).share, 500);
    first->names = named(pod);
    assert_int_equal(idle_of(scene, pod), 90);
    assert_int_equal(use_of(scene, pod).used_mib, 100);
}

/* Nothing is said of a pod's activity by GPUs of which one may be another's. */
TEST_ON(struct scene *scene, a_pods_rows_are_told_where_they_are_all_known_to_be_its_own)
{
    struct sl_ask ask = rig_ask(WHOLE, 2);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 3, 1);
    struct sl_pod *pod = runs(scene, &ask, WHOLE "=0,1");
    for (int gpu = 0; gpu < 3; gpu++) {
        measured(scene, gpu, 0, 700)->measured.busy = 0;
    }
    assert_int_equal(use_of(scene, pod).row[0], 0);
    scene->row[0].names = named(pod);
    scene->row[2].names = named(pod);
    assert_int_equal(use_of(scene, pod).row[0], 1 | 4);
    scene->row[0].measured.busy = -1;
    assert_int_equal(use_of(scene, pod).row[0], 0);
    scene->row[0].measured.busy = 1000;
    scene->row[1].names = named(pod);
    assert_int_equal(use_of(scene, pod).row[0], 0);
    scene->rig->node.n_devices = 2; /* they are all its own */
    scene->n = 2;
    scene->row[0].names.n = scene->row[1].names.n = 0;
    assert_int_equal(use_of(scene, pod).row[0], 1 | 2);
}

TEST_ON(struct scene *scene, several_replicas_may_be_of_one_gpu)
{
    struct sl_ask ask = rig_ask(SHARED, 2);
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 2, 4);
    struct sl_pod *pod = runs(scene, &ask, SHARED "=0,1");
    measured(scene, 0, 0, 700)->measured.busy = 500;
    measured(scene, 1, 0, 700)->measured.busy = 500;
    assert_int_equal(use_of(scene, pod).row[0], 0);
    scene->row[0].names = named(pod);
    scene->row[1].names = named(pod);
    assert_int_equal(use_of(scene, pod).row[0], 1 | 2);
    scene->rig->node.n_devices = 1;
    scene->n = 1;
    assert_int_equal(use_of(scene, pod).row[0], 1);
}

TEST_ON(struct scene *scene, without_devices_or_samples_nothing_is_known)
{
    struct sl_ask ask = rig_ask(WHOLE, 1);
    rig_pool(scene->rig, WHOLE, SL_KIND_WHOLE, 2);
    scene->rig->pool[0].on_devices = false;
    struct sl_pod *pod = runs(scene, &ask, NULL);
    measured(scene, 0, 90, 100);
    assert_int_equal(idle_of(scene, pod), -1);
    assert_int_equal(use_of(scene, pod).used_mib, -1);
}

TEST_ON(struct scene *scene, the_row_of_a_gpu_is_found_by_its_uuid)
{
    struct sl_device device = {.index = 0, .uuid = "GPU-b"};
    snprintf(measured(scene, 0, 0, 0)->uuid, sizeof(scene->row[0].uuid), "GPU-a");
    snprintf(measured(scene, 1, 0, 0)->uuid, sizeof(scene->row[0].uuid), "GPU-b");
    assert_ptr_equal(sl_usage_row_of(scene->row, scene->n, &device), &scene->row[1]);
    device.uuid = "GPU-c"; /* another GPU than the one that was measured */
    assert_null(sl_usage_row_of(scene->row, scene->n, &device));
    device.uuid = NULL;
    assert_ptr_equal(sl_usage_row_of(scene->row, scene->n, &device), &scene->row[0]);
}

TEST_ON(struct scene *scene, the_sentence_names_the_gpus)
{
    struct sl_ask ask = rig_ask(WHOLE, 1);
    char text[128];
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2, 1);
    struct sl_pod *pod = runs(scene, &ask, WHOLE "=0");
    measured(scene, 0, 2100, 0);
    measured(scene, 1, 2100, 0);
    struct sl_pod_use use = use_of(scene, pod);
    sl_usage_idle_text(scene->rig->view, &use, text, sizeof(text));
    assert_string_equal(text,
                        "nothing has run for 35m on what it holds of node node-1, 1 of GPUs 0, 1");
    scene->row[1].names = named(pod);
    use = use_of(scene, pod);
    sl_usage_idle_text(scene->rig->view, &use, text, sizeof(text));
    assert_string_equal(text, "nothing has run for 35m on what it holds of node node-1, GPU 1");
}

/* Part of the sum would seem to be all of it. */
TEST_ON(struct scene *scene, use_that_is_told_of_one_gpu_of_two_is_not_known)
{
    struct sl_ask two = rig_ask(WHOLE, 2);
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2, 2);
    struct sl_pod *pod = runs(scene, &two, WHOLE "=0,1");
    for (int i = 0; i < 2; i++) {
        measured(scene, i, 100, 700);
        scene->row[i].names = named(pod);
    }
    scene->row[0].names.used_mib[0] = 300;
    scene->row[1].measured.used_mib = -1;
    assert_int_equal(use_of(scene, pod).used_mib, -1);
    scene->row[1].measured.used_mib = 700;
    scene->row[1].names.used_mib[0] = 200;
    assert_int_equal(use_of(scene, pod).used_mib, 500);
}
