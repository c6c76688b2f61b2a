/* Whom a GPU's energy is charged to: those who hold it, alike, whatever they write. */
#include "rows_rig.h"

#define WHOLE  "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEMORY "aliyun.com/gpu-mem"
#define MIG    "nvidia.com/mig-3g.20gb"

enum { DRAWN = 14000 };

/* The row of a GPU, or of an instance of it. */
static struct sl_usage_row *row(struct scene *scene, int gpu, int instance)
{
    struct sl_usage_row *row = &scene->row[scene->n++];
    *row = (struct sl_usage_row){.gpu = gpu, .instance = instance, .measured = sl_measured_none};
    return row;
}

static void with_gpus(struct scene *scene, const char *resource, enum sl_kind kind, unsigned n,
                      int32_t units)
{
    unsigned pool = rig_pool(scene->rig, resource, kind, (int64_t)n * units);
    scene->rig->pool[pool].replicas = kind == SL_KIND_REPLICA ? units : 1;
    for (unsigned i = 0; i < n; i++) {
        unsigned device = rig_device(scene->rig, kind == SL_KIND_MEMORY ? units : 0);
        scene->rig->device[device].memory_mib = 16000;
        row(scene, (int)i, -1);
    }
}

static struct sl_pod *runs(struct scene *scene, const char *resource, int64_t count,
                           const char *assignment)
{
    struct sl_ask ask = rig_ask(resource, count);
    return rig_run(scene->rig, ask, assignment);
}

static void name(struct sl_usage_row *row, const struct sl_pod *pod)
{
    row->names.pod[row->names.n++] =
        sl_usage_pod_key(sl_str_of(pod->namespace), sl_str_of(pod->name));
}

/* The GPU of that row drew DRAWN. */
static void draws(struct scene *scene, size_t gpu)
{
    memset(scene->charge, 0, sizeof(scene->charge));
    scene->rest =
        sl_usage_charge(rig_view(scene->rig), scene->row, scene->n, gpu, DRAWN, scene->charge);
}

static int64_t charged(struct scene *scene, const struct sl_pod *pod)
{
    const struct sl_view *view = rig_view(scene->rig);
    for (unsigned i = 0; i < view->n_residents; i++) {
        if (strcmp(view->resident[i].pod->uid, pod->uid) == 0) {
            return scene->charge[i].mj;
        }
    }
    fail_msg("%s is not there", pod->uid);
    return -1;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct scene *scene, a_pod_alone_is_charged_with_all_also_while_it_idles)
{
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2, 1);
    struct sl_pod *pod = runs(scene, WHOLE, 1, WHOLE "=1");
    scene->row[1].measured.busy = 0;
    draws(scene, 1);
    assert_int_equal(charged(scene, pod), DRAWN);
    assert_int_equal(scene->rest, 0);
    draws(scene, 0); /* nobody has it */
    assert_int_equal(charged(scene, pod), 0);
    assert_int_equal(scene->rest, DRAWN);
}

static void assert_alike(struct scene *scene, size_t gpu, const struct sl_pod *a,
                         const struct sl_pod *b)
{
    draws(scene, gpu);
    assert_int_equal(charged(scene, a), DRAWN / 2);
    assert_int_equal(charged(scene, b), DRAWN / 2);
}

/* Whoever creates a pod writes what it asks for. */
TEST_ON(struct scene *scene, pods_that_share_a_gpu_are_charged_alike_whatever_they_ask_for)
{
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 1, 10);
    struct sl_pod *many = runs(scene, SHARED, 4, SHARED "=0*4");
    struct sl_pod *one = runs(scene, SHARED, 1, SHARED "=0");
    many->items[0].memory_mib = 1;
    one->items[0].memory_mib = 16000;
    assert_alike(scene, 0, many, one);
}

TEST_ON(struct scene *scene, shares_of_memory_are_charged_alike)
{
    with_gpus(scene, MEMORY, SL_KIND_MEMORY, 2, 16);
    struct sl_pod *large = runs(scene, MEMORY, 14, MEMORY "=1*14");
    struct sl_pod *small = runs(scene, MEMORY, 1, MEMORY "=1*1");
    assert_alike(scene, 1, large, small);
}

TEST_ON(struct scene *scene, pods_are_charged_where_the_exporter_names_them)
{
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2, 1);
    struct sl_pod *first = runs(scene, WHOLE, 1, WHOLE "=0");
    struct sl_pod *second = runs(scene, WHOLE, 1, WHOLE "=1");
    name(&scene->row[0], second); /* not as they were assigned */
    name(&scene->row[1], first);
    draws(scene, 0);
    assert_int_equal(charged(scene, first), 0);
    assert_int_equal(charged(scene, second), DRAWN);
}

TEST_ON(struct scene *scene, who_only_waits_for_units_is_not_charged)
{
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 1, 10);
    struct sl_pod *runner = runs(scene, SHARED, 1, SHARED "=0");
    struct sl_pod *waiter = runs(scene, SHARED, 1, SHARED "=0");
    waiter->set_aside = true;
    draws(scene, 0);
    assert_int_equal(charged(scene, runner), DRAWN);
    assert_int_equal(charged(scene, waiter), 0);
}

TEST_ON(struct scene *scene, nobody_is_charged_when_nobody_knows_on_which_gpu_it_is)
{
    rig_pool(scene->rig, WHOLE, SL_KIND_WHOLE, 2);
    scene->rig->pool[0].on_devices = false;
    struct sl_pod *pod = runs(scene, WHOLE, 1, NULL);
    row(scene, 0, -1);
    draws(scene, 0);
    assert_int_equal(charged(scene, pod), 0);
    assert_int_equal(scene->rest, DRAWN);
}

TEST_ON(struct scene *scene, instances_are_charged_by_how_busy_they_are)
{
    with_halves(scene, MIG);
    struct sl_pod *busy = runs(scene, MIG, 1, MIG "=0/0");
    struct sl_pod *idle = runs(scene, MIG, 1, MIG "=0/4");
    row(scene, 0, -1);
    struct sl_usage_row *first = row(scene, 0, 1);
    struct sl_usage_row *second = row(scene, 0, 2);
    first->measured.busy = 1000;
    second->measured.busy = 0;
    assert_alike(scene, 0, busy, idle); /* nobody says which is whose */
    name(first, busy);
    name(second, idle);
    draws(scene, 0); /* it holds its half all the same: 1200 to 200 */
    assert_int_equal(charged(scene, busy), DRAWN / 7 * 6);
    assert_int_equal(charged(scene, idle), DRAWN / 7);
    second->measured.busy = -1; /* not told: as if half busy */
    draws(scene, 0);
    assert_int_equal(charged(scene, busy), DRAWN * 12 / 19);
    assert_in_range(scene->rest, 0, 1);
}

TEST_ON(struct scene *scene, the_largest_energy_is_divided_without_overflow)
{
    struct sl_usage_charge charge[PODS] = {{0}};
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 1, 10);
    runs(scene, SHARED, 1, SHARED "=0");
    runs(scene, SHARED, 1, SHARED "=0");
    runs(scene, SHARED, 1, SHARED "=0");
    int64_t rest =
        sl_usage_charge(rig_view(scene->rig), scene->row, scene->n, 0, INT64_MAX, charge);
    assert_int_equal(charge[0].mj, INT64_MAX / 3);
    assert_int_equal(rest + charge[0].mj + charge[1].mj + charge[2].mj, INT64_MAX);
}
