/* The rule of nos' controller, with the faults that it is known for. */
#include <stdlib.h>

#include "evidence/days/day.h"
#include "evidence/days/nos_rule.h"
#include "sim/input/fleet.h"
#include "sim/input/workload.h"
#include "unit/test.h"

enum { PODS = 8 };

static struct sl_error error;

struct scene {
    struct sl_fleet fleet;
    struct sl_view *view;
    struct sl_pod *held; /* bound */
    struct sl_workload jobs;
    struct sl_cut_pod pod[PODS];
    size_t n_pods;
    struct sl_cut_site site;
    struct sl_nos_rule *rule;
    struct sl_cut_output output;
};

static void plan(struct scene *scene, const char *gpus, const char *held)
{
    sl_fleet_init(&scene->fleet);
    assert_int_equal(sl_fleet_gpus(&scene->fleet, gpus, &error), 0);
    assert_int_equal(sl_fleet_finish(&scene->fleet, &error), 0);
    if (held != NULL) {
        struct sl_pod *first = (struct sl_pod *)scene->pod[0].pod;
        scene->held = sl_pod_bound_to(first, scene->fleet.node[0]->name, held, SL_POD_RUNNING);
        assert_non_null(scene->held);
    }
    scene->view = sl_view_new(scene->fleet.node[0], &scene->held, held != NULL ? 1 : 0);
    assert_non_null(scene->view);
    scene->rule = sl_nos_rule_new(&error);
    const struct sl_view *views[] = {scene->view};
    size_t bound = held != NULL ? 1 : 0;
    const struct sl_cut_input input = {.view = views,
                                       .site = &scene->site,
                                       .n_views = 1,
                                       .pod = scene->pod + bound,
                                       .n_pods = scene->n_pods - bound,
                                       .max_plans = 1};
    assert_int_equal(sl_nos_rule_plan(scene->rule, &input, &scene->output, &error), 0);
}

static void wait_for(struct scene *scene, const char *const *resources)
{
    sl_workload_init(&scene->jobs);
    for (; *resources != NULL; resources++) {
        const struct sl_trace_job facts = {
            .resource = sl_str_of(*resources), .count = 1, .run_us = 1};
        assert_int_equal(sl_workload_add(&scene->jobs, &facts, &error), 0);
    }
    assert_int_equal(sl_workload_finish(&scene->jobs, &error), 0);
    for (; scene->n_pods < scene->jobs.n; scene->n_pods++) {
        scene->pod[scene->n_pods].pod =
            sl_workload_pod(&scene->jobs, scene->n_pods, SL_SIM_EPOCH_US, &error);
    }
}

static void assert_cut(const struct scene *scene, const char *expected)
{
    char text[128] = "";
    if (scene->output.n_plans > 0) {
        const struct sl_cut_plan *plan = &scene->output.plan[0];
        (void)sl_cut_text(scene->view->node, plan->cut, plan->n_cuts, text, sizeof(text));
    }
    assert_string_equal(text, expected);
}

static int scene_setup(void **state)
{
    *state = calloc(1, sizeof(struct scene));
    return 0;
}

static int scene_teardown(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < scene->n_pods; i++) {
        sl_pod_unref((struct sl_pod *)scene->pod[i].pod);
    }
    sl_nos_rule_free(scene->rule);
    sl_view_free(scene->view);
    sl_pod_unref(scene->held);
    sl_workload_free(&scene->jobs);
    sl_fleet_free(&scene->fleet);
    free(scene);
    return 0;
}

#define ONE   "nvidia.com/mig-1g.5gb"
#define THREE "nvidia.com/mig-3g.20gb"
#define FOUR  "nvidia.com/mig-4g.20gb"

TEST_FIXTURE(scene_setup, scene_teardown)

TEST_THAT(a_gpu_gets_what_most_pods_lack)
{
    wait_for(*state, (const char *const[]){ONE, ONE, THREE, NULL});
    plan(*state, "1x1:A100-SXM4-40GB:7g.40gb", NULL);
    assert_cut(*state, "GPU 0 into 3x 1g.5gb + 1x 3g.20gb");
}

TEST_THAT(one_free_slice_is_enough_for_any_number)
{
    wait_for(*state, (const char *const[]){ONE, ONE, ONE, NULL});
    plan(*state, "1x1:A100-SXM4-40GB:4g.20gb+2g.10gb+1g.5gb", NULL);
    assert_cut(*state, "");
}

TEST_THAT(no_geometry_has_4g_beside_3g)
{
    wait_for(*state, (const char *const[]){FOUR, THREE, NULL});
    plan(*state, "1x1:A100-SXM4-40GB:7g.40gb", NULL);
    assert_true(((struct scene *)*state)->output.n_plans == 1);
    assert_int_not_equal(((struct scene *)*state)->output.plan[0].cut[0].n, 2);
}

TEST_THAT(a_plan_by_counts_may_leave_a_gpu_without_its_free_instances)
{
    /* by counts 3g fits beside one 1g; not where that 1g is: 3g begins at 0 or 4 */
    wait_for(*state, (const char *const[]){ONE, FOUR, NULL});
    plan(*state, "1x1:A100-SXM4-40GB:1g.5gb*7", ONE "=0/1");
    assert_cut(*state, "GPU 0 into 1x 1g.5gb");
}

TEST_ON(struct scene *scene, no_plan_is_made_while_a_node_is_cut)
{
    scene->site.out = true;
    wait_for(scene, (const char *const[]){ONE, NULL});
    plan(scene, "1x1:A100-SXM4-40GB:7g.40gb", NULL);
    assert_cut(scene, "");
}

/* ---- the day on which it is compared ---- */

TEST_THAT(a_day_has_small_slices_in_the_morning_and_large_ones_in_the_evening)
{
    struct sl_workload day;
    double work[2][SL_DAY_PROFILES] = {{0}};
    double sum[2] = {0};
    sl_workload_init(&day);
    assert_int_equal(sl_day_generate(&sl_days[0], 1, false, &day, &error), 0);
    for (size_t i = 0; i < day.n; i++) {
        int64_t hour = day.job[i].submit_us / SL_SECOND_US / 3600;
        int half = hour < 8 ? 0 : hour >= 18 ? 1 : -1;
        for (int p = 0; p < SL_DAY_PROFILES && half >= 0; p++) {
            const char *resource = day.ask[day.job[i].ask].resource;
            bool is = strstr(resource, sl_day_kinds[p].profile) != NULL;
            work[half][p] += is ? sl_day_kinds[p].slices * (double)day.job[i].run_us : 0;
            sum[half] += is ? sl_day_kinds[p].slices * (double)day.job[i].run_us : 0;
        }
    }
    assert_true(work[0][0] + work[0][1] > 0.6 * sum[0]);
    assert_true(work[1][2] + work[1][3] + work[1][4] > 0.6 * sum[1]);
    sl_workload_free(&day);
}

TEST_THAT(the_same_day_may_be_asked_for_on_whole_gpus)
{
    struct sl_workload day;
    struct sl_workload whole;
    sl_workload_init(&day);
    sl_workload_init(&whole);
    assert_int_equal(sl_day_generate(&sl_days[0], 3, false, &day, &error), 0);
    assert_int_equal(sl_day_generate(&sl_days[0], 3, true, &whole, &error), 0);
    assert_int_equal(day.n, whole.n);
    assert_int_equal(whole.n_asks, 1);
    assert_string_equal(whole.ask[0].resource, "nvidia.com/gpu");
    for (size_t i = 0; i < day.n; i++) {
        assert_int_equal(day.job[i].submit_us, whole.job[i].submit_us);
        assert_int_equal(day.job[i].run_us, whole.job[i].run_us);
        assert_true(day.job[i].timeout_s >= day.job[i].run_us / SL_SECOND_US);
    }
    sl_workload_free(&day);
    sl_workload_free(&whole);
}
