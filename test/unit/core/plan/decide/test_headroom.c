/* Units that long pods leave to shorter ones. */
#include "unit/core/plan/plan_rig.h"

enum { GPUS = 8, SHARE = 8, RULES = 3, ROUNDS = 400 };

/* A node whose GPUs may be whole or shared, some of them in use, and one pod that asks for both. */
struct scene {
    int64_t used;   /* GPUs */
    int64_t gpus;   /* asked for; 0: none */
    int64_t memory; /* asked for, on one GPU; 0: none */
    int64_t timeout_s;
    struct sl_plan_headroom rule[RULES];
    uint64_t random;
};

static int64_t draw(struct scene *scene, unsigned n)
{
    scene->random = scene->random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((scene->random >> 33) % n);
}

static void invent(struct scene *scene)
{
    static const char *const resources[] = {GPU, MEM, ""};
    scene->used = draw(scene, 6);
    scene->gpus = draw(scene, 5);
    scene->memory = scene->gpus == 0 ? 1 + draw(scene, SHARE) : draw(scene, SHARE + 1);
    scene->timeout_s = 1 + draw(scene, 4);
    for (unsigned i = 0; i < RULES; i++) {
        struct sl_plan_headroom *rule = &scene->rule[i];
        *rule = (struct sl_plan_headroom){.max_timeout_us = SECONDS(1 + draw(scene, 4)),
                                          .units = draw(scene, 3) * draw(scene, 3)};
        (void)snprintf(rule->resource, sizeof(rule->resource), "%s", resources[draw(scene, 3)]);
    }
}

/* Units of the resource that the pod leaves. */
static int64_t kept(const struct scene *scene, const char *resource)
{
    int64_t units = 0;
    for (unsigned i = 0; i < RULES; i++) {
        const struct sl_plan_headroom *rule = &scene->rule[i];
        const bool for_it = rule->resource[0] == '\0' || strcmp(rule->resource, resource) == 0;
        if (for_it && SECONDS(scene->timeout_s) > rule->max_timeout_us && rule->units > units) {
            units = rule->units;
        }
    }
    return units;
}

/* True when the pod leaves what it must of that many units. */
static bool leaves(const struct scene *scene, int64_t gpus, int64_t memory)
{
    const int64_t keep = kept(scene, GPU);
    const int64_t keep_memory = kept(scene, MEM);
    return (scene->gpus == 0 || keep == 0 || gpus - scene->gpus >= keep) &&
           (scene->memory == 0 || keep_memory == 0 || memory - scene->memory >= keep_memory);
}

static const char *expected_of(const struct scene *scene)
{
    const int64_t unused = GPUS - scene->used;
    if (!leaves(scene, GPUS, (int64_t)GPUS * SHARE)) {
        return "Refused OverHeadroom";
    }
    if (scene->gpus > unused) {
        return "Held NoRoom";
    }
    if (!leaves(scene, unused, unused * SHARE)) {
        return "Held Headroom";
    }
    return scene->gpus + (scene->memory > 0) > unused ? "Held NoRoom" : "Nominated None";
}

static void check(const struct scene *scene)
{
    struct plan_rig *rig = plan_rig_new();
    rig->config.preemption = false;
    rig->config.n_headrooms = RULES;
    memcpy(rig->config.headroom, scene->rule, sizeof(scene->rule));
    plan_rig_configure(rig);
    plan_rig_share(plan_rig_node(rig, "n1", GPUS), SHARE);
    if (scene->used > 0) {
        plan_rig_run_on(rig, "x", "n1", scene->used, 100);
    }
    const bool both = scene->gpus > 0 && scene->memory > 0;
    struct plan_rig_pod *p =
        plan_rig_pod(rig, "a", scene->memory > 0 ? MEM : GPU,
                     scene->memory > 0 ? scene->memory : scene->gpus, scene->timeout_s);
    if (both) {
        struct plan_rig_pod *whole = plan_rig_pod(rig, "b", GPU, scene->gpus, 1);
        p->item[1] = whole->item[0];
        p->pod.n_items = 2;
    }
    plan_rig_put(rig, p);
    plan_rig_plan(rig);
    assert_string_equal(plan_rig_state(rig, "a"), expected_of(scene));
    plan_rig_free(rig);
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_THAT(a_pod_leaves_the_most_that_a_rule_keeps_from_it)
{
    struct scene scene = {.random = 1};
    for (unsigned round = 0; round < ROUNDS; round++) {
        invent(&scene);
        check(&scene);
    }
}

TEST_ON(struct plan_rig *rig, long_pods_behind_one_that_waits_for_headroom_end_before_it_has_that)
{
    rig->config.n_headrooms = 1;
    rig->config.headroom[0] = (struct sl_plan_headroom){GPU, SECONDS(60), 2};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", GPUS);
    plan_rig_run_on(rig, "x", "n1", 2, 100);
    plan_rig_run_on(rig, "y", "n1", 2, 200);
    plan_rig_wait(rig, "a", 4, 500); /* of 4 free ones; has 6 at 100 s */
    rig->now_us += 1;
    plan_rig_wait(rig, "b", 1, 101);
    rig->now_us += 1;
    plan_rig_wait(rig, "c", 1, 60);
    rig->now_us += 1;
    plan_rig_wait(rig, "d", 1, 99);
    assert_string_equal(plan_rig_plan(rig), "nomination c on n1: nvidia.com/gpu=4\n"
                                            "nomination d on n1: nvidia.com/gpu=5\n");
    assert_string_equal(plan_rig_state(rig, "a"), "Held Headroom");
    assert_string_equal(plan_rig_state(rig, "b"), "Held Headroom");
}

static void wait_for_both(struct plan_rig *rig, const char *name, int64_t memory, int64_t timeout_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, timeout_s);
    p->item[1] = plan_rig_pod(rig, "-", MEM, memory, 1)->item[0];
    p->pod.n_items = 2;
    plan_rig_put(rig, p);
    rig->now_us += 1;
}

TEST_ON(struct plan_rig *rig, long_pods_wait_behind_for_headroom_of_a_second_resource_too)
{
    rig->config.n_headrooms = 1;
    rig->config.headroom[0] = (struct sl_plan_headroom){MEM, SECONDS(60), 20};
    plan_rig_configure(rig);
    plan_rig_share(plan_rig_node(rig, "n1", 4), SHARE);
    struct plan_rig_pod *x = plan_rig_pod(rig, "x", MEM, SHARE, 100);
    plan_rig_start(rig, x, "n1", MEM "=0*8");
    rig->now_us += 1;
    wait_for_both(rig, "all", SHARE, 500);
    wait_for_both(rig, "long", 1, 500);
    wait_for_both(rig, "short", 1, 50);
    (void)plan_rig_plan(rig);
    assert_string_equal(plan_rig_state(rig, "all"), "Held Headroom");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Headroom");
    assert_string_equal(plan_rig_state(rig, "short"), "Nominated None");
}

TEST_ON(struct plan_rig *rig, what_no_node_offers_is_not_over_headroom)
{
    rig->config.n_headrooms = 1;
    rig->config.headroom[0] = (struct sl_plan_headroom){"", SECONDS(60), 1};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 4);
    plan_rig_put(rig, plan_rig_pod(rig, "a", MEM, 1, 100));
    assert_string_equal(plan_rig_plan(rig), "refuse a: Never\n");
}

TEST_THAT(a_pod_is_over_headroom_by_rules_for_its_own_resource)
{
    static const struct {
        const char *resource;
        const char *state;
    } rows[] = {
        {MEM, "Nominated None"}, {GPU, "Refused OverHeadroom"}, {"", "Refused OverHeadroom"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan_rig *rig = plan_rig_new();
        struct sl_plan_headroom *rule = &rig->config.headroom[0];
        *rule = (struct sl_plan_headroom){.max_timeout_us = SECONDS(60), .units = 1};
        (void)snprintf(rule->resource, sizeof(rule->resource), "%s", rows[i].resource);
        rig->config.n_headrooms = 1;
        plan_rig_configure(rig);
        plan_rig_node(rig, "n1", 4);
        plan_rig_wait(rig, "a", 4, 100);
        (void)plan_rig_plan(rig);
        assert_string_equal(plan_rig_state(rig, "a"), rows[i].state);
        plan_rig_free(rig);
    }
}

/* Of several rules the one counts that keeps the most; a node without the resource adds nothing. */
TEST_ON(struct plan_rig *rig, a_pod_over_headroom_is_told_by_how_much)
{
    struct sl_queue_row row;
    rig->config.n_headrooms = 4;
    rig->config.headroom[0] = (struct sl_plan_headroom){GPU, SECONDS(60), 3};
    rig->config.headroom[1] = (struct sl_plan_headroom){MEM, SECONDS(60), 12};
    rig->config.headroom[2] = (struct sl_plan_headroom){"", SECONDS(100), 20};
    rig->config.headroom[3] = (struct sl_plan_headroom){MEM, SECONDS(7200), 30};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 4);
    plan_rig_share(plan_rig_node(rig, "n2", 2), 16);
    (void)plan_rig_plan(rig);
    plan_rig_put(rig, plan_rig_pod(rig, "few", MEM, 12, 3600));
    plan_rig_put(rig, plan_rig_pod(rig, "many", MEM, 13, 3600));
    plan_rig_put(rig, plan_rig_pod(rig, "short", MEM, 16, 60));
    assert_string_equal(plan_rig_plan(rig), "refuse many: OverHeadroom\n"
                                            "nomination few on n2: aliyun.com/gpu-mem=0*12\n"
                                            "nomination short on n2: aliyun.com/gpu-mem=1*16\n");
    assert_true(plan_rig_row(rig, "many", &row));
    assert_int_equal(row.over.units, 20);
    assert_int_equal(row.over.max_timeout_us, SECONDS(100));
    assert_int_equal(row.over.capacity, 32);
    assert_string_equal(row.over.item->resource, MEM);
}
