/* Whom an exporter names: a pod's labels, which it may have copied, say what their author likes. */
#include "rows_rig.h"

#define WHOLE  "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"

enum { SECOND = 1000000, NOW = 10000, BY_PROMETHEUS = 1 };

static void with_gpus(struct scene *scene, const char *resource, enum sl_kind kind, unsigned n)
{
    const int32_t replicas = kind == SL_KIND_REPLICA ? 4 : 1;
    scene->rig->pool[rig_pool(scene->rig, resource, kind, (int64_t)n * replicas)].replicas =
        replicas;
    for (unsigned i = 0; i < n; i++) {
        scene->rig->device[rig_device(scene->rig, 0)].memory_mib = 16000;
    }
}

static struct sl_pod *runs(struct scene *scene, const char *resource, const char *name)
{
    struct sl_ask ask = rig_ask(resource, 1);
    struct sl_pod *pod = rig_run(scene->rig, ask, NULL);
    pod->started_us = ((int64_t)NOW - 5000) * SECOND;
    pod->name = name;
    return pod;
}

static uint64_t scene_elsewhere[4];
static size_t scene_n_elsewhere;
static bool scene_more;

/* The pod that a series names, "": none. The last text is NULL; those of namespaces begin with '@'.
 */
static const char *named_by(struct scene *scene, unsigned others, const char *const *text)
{
    struct sl_usage_said said = {.others = others};
    const struct sl_view *view = rig_view(scene->rig);
    for (unsigned pods = 0, spaces = 0; *text != NULL; text++) {
        if ((*text)[0] == '@') {
            said.namespace[spaces++] = sl_str_of(*text + 1);
        } else {
            said.pod[pods++] = sl_str_of(*text);
        }
    }
    bool doubt = false;
    said.elsewhere = scene_elsewhere;
    said.n_elsewhere = scene_n_elsewhere;
    said.more = scene_more;
    uint64_t key = sl_usage_named(view, &said, &doubt);
    assert_true(key == 0 || !doubt);
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        if (key != 0 && key == sl_usage_pod_key(sl_str_of(pod->namespace), sl_str_of(pod->name))) {
            return pod->name;
        }
    }
    assert_int_equal(key, 0);
    return "";
}

#define NAMED(others, ...) named_by(scene, others, (const char *const[]){__VA_ARGS__, NULL})

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct scene *scene, the_pod_that_stands_beside_the_exporters_own_is_named)
{
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2);
    (void)runs(scene, WHOLE, "train");
    assert_string_equal(NAMED(BY_PROMETHEUS, "exporter-x", "train", "@gpus", "@default"), "train");
    assert_string_equal(NAMED(BY_PROMETHEUS, "train", "@default"), "train");
    assert_string_equal(NAMED(0, "train", "@default"), "train");
    assert_string_equal(NAMED(0, "train", "train", "@default", "@default"), "train");
    assert_string_equal(NAMED(BY_PROMETHEUS, "exporter-x", "exporter-x", "train", "@default"),
                        "train");
    assert_string_equal(NAMED(0, "train", "@gpus"), "");
    assert_string_equal(NAMED(0, "train"), "");
    assert_string_equal(NAMED(0, "other", "@default"), ""); /* it is not there */
}

TEST_ON(struct scene *scene, a_label_that_says_another_pod_names_the_one_that_has_it)
{
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2);
    struct sl_pod *victim = runs(scene, WHOLE, "victim");
    struct sl_pod *liar = runs(scene, WHOLE, "liar");
    liar->poses = true;
    assert_string_equal(NAMED(BY_PROMETHEUS, "exporter-x", "victim", "liar", "@gpus", "@default"),
                        "liar");
    assert_string_equal(NAMED(0, "victim", "liar", "@default"), "liar");
    assert_string_equal(NAMED(BY_PROMETHEUS, "exporter-x", "nobody", "liar", "@gpus", "@default"),
                        "liar");
    liar->poses = false; /* it has taken the label away: the series does not say whose it is */
    assert_string_equal(NAMED(0, "victim", "liar", "@default"), "");
    liar->poses = true;
    victim->poses = true;
    assert_string_equal(NAMED(0, "victim", "liar", "@default"), "");
    assert_string_equal(NAMED(0, "victim", "@default"), "victim");
}

/* Whoever has all that it holds elsewhere cannot have this, too. */
TEST_ON(struct scene *scene, who_is_named_elsewhere_is_not_meant)
{
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 4);
    struct sl_pod *victim = runs(scene, WHOLE, "victim");
    struct sl_pod *liar = runs(scene, WHOLE, "liar");
    assert_string_equal(NAMED(0, "victim", "liar", "@default"), "");
    scene_n_elsewhere = 1;
    scene_elsewhere[0] = sl_usage_pod_key(SL_STR("default"), sl_str_of(victim->name));
    assert_string_equal(NAMED(0, "victim", "liar", "@default"), "liar");
    assert_string_equal(NAMED(0, "victim", "liar", "stranger", "@default"), "");
    victim->items[0].count = 2; /* the other of its two may be here */
    assert_string_equal(NAMED(0, "victim", "liar", "@default"), "");
    scene_elsewhere[0] = sl_usage_pod_key(SL_STR("default"), sl_str_of(liar->name));
    scene_elsewhere[1] = sl_usage_pod_key(SL_STR("other"), sl_str_of(victim->name));
    scene_n_elsewhere = 2;
    assert_string_equal(NAMED(0, "victim", "liar", "@default"), "victim");
    scene_n_elsewhere = 0;
}

/* As of a pod whose resource is none of the node's, or that a nomination holds a place for. */
TEST_ON(struct scene *scene, a_name_beside_that_of_a_stranger_names_nobody)
{
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2);
    struct sl_pod *victim = runs(scene, WHOLE, "victim");
    assert_string_equal(NAMED(0, "victim", "stranger", "@default"), "");
    assert_string_equal(NAMED(BY_PROMETHEUS, "exporter-x", "victim", "stranger", "@default"), "");
    victim->set_aside = true;
    assert_string_equal(NAMED(0, "victim", "@default"), "");
}

TEST_ON(struct scene *scene, labels_that_say_more_than_is_read_name_nobody)
{
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2);
    struct sl_pod *pod = runs(scene, WHOLE, "pod");
    scene_more = true;
    assert_string_equal(NAMED(0, "pod", "@default"), "");
    pod->poses = true;
    assert_string_equal(NAMED(0, "pod", "@default"), "");
    scene_more = false;
    assert_string_equal(NAMED(0, "pod", "@default"), "pod");
}

/* ---- the node ---- */

enum { A = 1, B, C }; /* nodes */

/* Views that nobody looks into. */
static const struct sl_view *view_at(int node)
{
    static const int64_t views[C + 1];
    return (const struct sl_view *)(const void *)&views[node];
}

/* The node of a series whose labels name these, 0: the end; negative: and its pod is named there.
 * 0: of none. */
static int home_of(const int *node)
{
    struct sl_usage_home home[4];
    size_t n = 0;
    for (; node[n] != 0; n++) {
        home[n].view = view_at(abs(node[n]));
        home[n].pod = node[n] < 0 ? 7 : 0;
    }
    const struct sl_usage_home *found = sl_usage_home(home, n);
    return found == NULL ? 0 : abs(node[found - home]);
}

#define HOME(...) home_of((const int[]){__VA_ARGS__, 0})

TEST_THAT(a_series_is_of_the_one_node_that_its_labels_name)
{
    assert_int_equal(home_of((const int[]){0}), 0);
    assert_int_equal(HOME(A), A); /* whether or not it names a pod of it */
    assert_int_equal(HOME(-A), A);
    assert_int_equal(HOME(B, B, B), B);
    assert_int_equal(HOME(-B, -B), B);
}

/* The other label is a copy of the pod's own. */
TEST_THAT(of_several_nodes_a_series_is_of_the_one_that_has_its_pod)
{
    assert_int_equal(HOME(A, -B), B);
    assert_int_equal(HOME(-A, B), A);
    assert_int_equal(HOME(-A, B, -A), A);
    assert_int_equal(HOME(A, B), 0);
    assert_int_equal(HOME(-A, -B), 0);
    assert_int_equal(HOME(-A, -B, -A), 0);
    assert_int_equal(HOME(A, -B, -C), 0);
    assert_int_equal(HOME(A, -B, C), B);
}

/* ---- agreement ---- */

static struct sl_usage_row *measured(struct scene *scene, int gpu, int64_t idle_s)
{
    struct sl_usage_row *row = &scene->row[scene->n++];
    *row = (struct sl_usage_row){.gpu = gpu,
                                 .instance = -1,
                                 .measured = sl_measured_none,
                                 .idle_us = idle_s * SECOND,
                                 .since_us = ((int64_t)NOW - idle_s) * SECOND};
    return row;
}

static void name(struct sl_usage_row *row, const struct sl_pod *pod)
{
    row->names.used_mib[row->names.n] = -1;
    row->names.pod[row->names.n++] =
        sl_usage_pod_key(sl_str_of(pod->namespace), sl_str_of(pod->name));
}

static struct sl_pod_use use_of(struct scene *scene, const struct sl_pod *pod)
{
    const struct sl_view *view = rig_view(scene->rig);
    struct sl_usage_row row[ROWS];
    struct sl_pod_use use = {0};
    memcpy(row, scene->row, sizeof(row));
    sl_usage_agree(view, row, scene->n);
    for (unsigned i = 0; i < view->n_residents; i++) {
        if (view->resident[i].pod == pod) {
            sl_usage_pod(view, &view->resident[i], row, scene->n, (int64_t)NOW * SECOND, &use);
        }
    }
    return use;
}

TEST_ON(struct scene *scene, of_those_who_share_all_are_named_or_none_is)
{
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 2);
    struct sl_pod *victim = runs(scene, SHARED, "victim");
    struct sl_pod *other = runs(scene, SHARED, "other");
    struct sl_usage_row *busy = measured(scene, 0, 0);
    name(measured(scene, 1, 300), victim); /* it is on the other: only that is said */
    assert_int_equal(use_of(scene, victim).idle_us, -1);
    struct sl_pod *third = runs(scene, SHARED, "third");
    name(&scene->row[1], third); /* nor does it count for those who stand behind */
    assert_int_equal(use_of(scene, third).idle_us, -1);
    name(busy, other);
    assert_int_equal(use_of(scene, victim).idle_us, 300 * (int64_t)SECOND);
    runs(scene, SHARED, "promised")->set_aside = true; /* who waits is on none */
    assert_int_equal(use_of(scene, victim).idle_us, 300 * (int64_t)SECOND);
}

TEST_ON(struct scene *scene, who_shares_idles_for_sure_only_where_all_gpus_do)
{
    with_gpus(scene, SHARED, SL_KIND_REPLICA, 2);
    struct sl_pod *idle = runs(scene, SHARED, "idle");
    name(measured(scene, 1, 300), idle);
    struct sl_usage_row *other = measured(scene, 0, 0);
    assert_int_equal(use_of(scene, idle).idle_us, 300 * (int64_t)SECOND);
    assert_int_equal(use_of(scene, idle).sure_us, -1);
    other->idle_us = 200 * (int64_t)SECOND;
    assert_int_equal(use_of(scene, idle).idle_us, 300 * (int64_t)SECOND);
    assert_int_equal(use_of(scene, idle).sure_us, 200 * (int64_t)SECOND);
}

TEST_ON(struct scene *scene, who_has_a_gpu_alone_idles_for_sure_by_its_name)
{
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2);
    struct sl_pod *idle = runs(scene, WHOLE, "idle");
    (void)measured(scene, 0, 0);
    name(measured(scene, 1, 300), idle);
    assert_int_equal(use_of(scene, idle).sure_us, 300 * (int64_t)SECOND);
}

TEST_ON(struct scene *scene, a_name_on_what_the_pod_cannot_have_does_not_count)
{
    with_halves(scene, "nvidia.com/mig-3g.20gb");
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 2);
    struct sl_pod *victim = runs(scene, WHOLE, "victim");
    struct sl_usage_row *instance = measured(scene, 0, 300);
    (void)snprintf(instance->profile, sizeof(instance->profile), "3g.20gb");
    name(instance, victim);
    (void)measured(scene, 1, 0);
    (void)measured(scene, 2, 0);
    for (int i = 0; i < 2; i++) {
        instance->instance = (int16_t)i;
        assert_int_equal(use_of(scene, victim).idle_us, 0);
    }
    struct sl_pod *half = runs(scene, "nvidia.com/mig-3g.20gb", "half");
    name(instance, half);
    assert_int_equal(use_of(scene, half).idle_us, 300 * (int64_t)SECOND);
    (void)snprintf(instance->profile, sizeof(instance->profile), "1g.5gb");
    assert_int_equal(use_of(scene, half).idle_us, -1);
}

TEST_ON(struct scene *scene, an_instance_of_an_unknown_profile_may_be_any_instance)
{
    with_halves(scene, "nvidia.com/mig-9g.9gb");
    scene->rig->pool[0].profile = NULL;
    with_gpus(scene, WHOLE, SL_KIND_WHOLE, 1);
    struct sl_pod *pod = runs(scene, "nvidia.com/mig-9g.9gb", "pod");
    struct sl_usage_row *row = measured(scene, 1, 300);
    name(row, pod);
    assert_int_equal(use_of(scene, pod).idle_us, -1); /* it has no whole GPU */
    row->gpu = 0;
    row->instance = 0;
    assert_int_equal(use_of(scene, pod).idle_us, 300 * (int64_t)SECOND);
}

/* A driver that rounds otherwise, as of GB200, whose 1g is 23.8 GB. */
TEST_THAT(an_instance_counts_as_the_driver_writes_its_profile)
{
    static const struct {
        const char *model, *profile, *told;
    } rows[] = {{"A100-80GB / A800-80GB", "3g.40gb", "3g.39gb"},
                {"A100-80GB / A800-80GB", "7g.80gb", "7g.79gb"},
                {"GB200-186GB", "1g.23gb", "1g.24gb"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *own = NULL;
        (void)set_up(&own);
        struct scene *scene = own;
        const struct sl_mig_model *model = rig_model(rows[i].model);
        unsigned pool = rig_pool(scene->rig, "nvidia.com/mig", SL_KIND_MIG, 1);
        scene->rig->pool[pool].profile = rig_profile(model, rows[i].profile);
        unsigned device = rig_device(scene->rig, 0);
        scene->rig->device[device].model = model;
        (void)rig_instance(scene->rig, device, 0, pool);
        struct sl_pod *pod = runs(scene, "nvidia.com/mig", "pod");
        struct sl_usage_row *row = measured(scene, 0, 300);
        row->instance = 1;
        (void)snprintf(row->profile, sizeof(row->profile), "%s", rows[i].told);
        assert_int_equal(use_of(scene, pod).idle_us, 300 * (int64_t)SECOND);
        name(row, pod);
        assert_int_equal(use_of(scene, pod).idle_us, 300 * (int64_t)SECOND);
        (void)tear_down(&own);
    }
}
