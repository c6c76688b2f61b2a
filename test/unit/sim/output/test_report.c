/* Reports, policies by name, options, threads. */
#include <stdlib.h>

#include "unit/test.h"
#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "sim/options.h"
#include "sim/output/report.h"

static struct sl_error error;

/* ---- reports ---- */

static struct sl_result results[] = {
    {.policy = 0,
     .seed = 1,
     .jobs = 3,
     .killed = 1,
     .response = {10, 9, 20, 22, 23},
     .wait = {1, 0.5, 2, 2.5, 3},
     .slowdown = {1.5, 1, 2, 3, 4},
     .finish = 40,
     .makespan = 99.5,
     .utilisation = 0.5,
     .allocation = 0.75,
     .fragmentation = 0.125,
     .fairness = 0.9},
    {.policy = 1, .seed = 1, .jobs = 2, .never = 1, .makespan = 50},
    {.policy = 0, .seed = 2, .jobs = 3, .response = {30, 9, 20, 22, 23}, .makespan = 200},
    {.policy = 1, .seed = 2, .jobs = 3, .makespan = 60},
};

static struct sl_policies two = {.n = 2,
                                 .policy = {{.name = "fifo"}, {.name = "config:a \"b\".yaml"}}};

static struct sl_experiment experiment_of(uint32_t seeds)
{
    return (struct sl_experiment){
        .policies = &two, .seed = 1, .seeds = seeds, .n = (size_t)seeds * 2, .result = results};
}

TEST_THAT(json_has_the_members_that_are_promised)
{
    struct sl_experiment experiment = experiment_of(2);
    struct sl_buf out;
    json_error_t wrong;
    sl_buf_init(&out, 1 << 20);
    sl_report_json(&experiment, &out);
    json_t *root = json_loadb(out.data, out.len, 0, &wrong);
    if (root == NULL) {
        fail_msg("line %d: %s", wrong.line, wrong.text);
    }
    json_t *runs = json_object_get(root, "runs");
    assert_int_equal(json_array_size(runs), 4);
    json_t *first = json_array_get(runs, 0);
    assert_string_equal(json_string_value(json_object_get(first, "policy")), "fifo");
    assert_int_equal(json_integer_value(json_object_get(first, "seed")), 1);
    assert_int_equal(json_integer_value(json_object_get(first, "jobs")), 3);
    static const char *const groups[] = {"response", "wait", "slowdown"};
    static const char *const members[] = {"mean", "p50", "p95", "p99", "max"};
    for (size_t g = 0; g < 3; g++) {
        for (size_t m = 0; m < 5; m++) {
            assert_true(
                json_is_number(json_object_get(json_object_get(first, groups[g]), members[m])));
        }
    }
    json_t *response = json_object_get(first, "response");
    assert_true(fabs(json_number_value(json_object_get(response, "p95")) - 20) < 1e-9);
    assert_true(fabs(json_number_value(json_object_get(first, "makespan")) - 99.5) < 1e-9);
    assert_true(fabs(json_number_value(json_object_get(first, "utilisation")) - 0.5) < 1e-9);
    assert_true(fabs(json_number_value(json_object_get(first, "allocation")) - 0.75) < 1e-9);
    assert_string_equal(json_string_value(json_object_get(json_array_get(runs, 1), "policy")),
                        "config:a \"b\".yaml");
    json_decref(root);
    sl_buf_free(&out);
}

static char *text_of(void (*report)(const struct sl_experiment *, struct sl_buf *), uint32_t seeds)
{
    struct sl_experiment experiment = experiment_of(seeds);
    struct sl_buf out;
    size_t len = 0;
    sl_buf_init(&out, 1 << 20);
    report(&experiment, &out);
    sl_buf_putc(&out, '\0');
    assert_int_equal(out.failed, SL_BUF_OK);
    return sl_buf_steal(&out, &len);
}

TEST_THAT(a_table_of_one_seed_has_its_figures)
{
    char *text = text_of(sl_report_table, 1);
    assert_non_null(strstr(text, "response mean, s"));
    assert_non_null(strstr(text, "99.5"));
    assert_non_null(strstr(text, "never started"));
    assert_null(strstr(text, "seeds"));
    free(text);
}

TEST_THAT(a_table_of_many_seeds_has_medians_and_their_band)
{
    char *text = text_of(sl_report_table, 2);
    assert_non_null(strstr(text, "20.0 (11.0-29.0)")); /* of 10 and 30 */
    assert_non_null(strstr(text, "2 seeds: medians, p5-p95 in parentheses"));
    free(text);
}

TEST_THAT(csv_quotes_what_needs_it)
{
    char *text = text_of(sl_report_csv, 1);
    assert_non_null(strstr(text, "policy,seed,jobs,response_mean,"));
    assert_non_null(strstr(text, "\nfifo,1,3,10.000000,"));
    assert_non_null(strstr(text, "\n\"config:a \"\"b\"\".yaml\",1,2,"));
    free(text);
}

/* ---- policies ---- */

TEST_THAT(policies_are_read_with_their_parameters)
{
    struct sl_policies list;
    assert_int_equal(
        sl_policies_parse("fifo:backfill=false,p:gamma=0.25:beta=2,bounded:c=1.3,sjf:score=packing",
                          &list, &error),
        0);
    assert_int_equal(list.n, 4);
    assert_int_equal(list.policy[0].engine.plan.order.kind, SL_ORDER_FIFO);
    assert_false(list.policy[0].engine.plan.backfill);
    assert_true(list.policy[1].engine.plan.backfill);
    assert_int_equal(list.policy[1].engine.plan.order.weights.gamma, 250000);
    assert_int_equal(list.policy[1].engine.plan.order.weights.beta, 2000000);
    assert_int_equal(list.policy[2].engine.plan.promise.c_permille, 1300);
    assert_string_equal(list.policy[2].name, "bounded:c=1.3");
    assert_int_equal(list.policy[3].engine.plan.score.weight[SL_TERM_PACKING], 1);
    assert_int_equal(list.policy[3].engine.plan.score.weight[SL_TERM_AVAILABILITY], 0);
}

TEST_THAT(a_wrong_policy_lists_what_there_is)
{
    static const char *const cases[][2] = {
        {"lifo", "there is no policy \"lifo\"; there are fifo, sjf, p, hrrn, bounded, config:FILE"},
        {"fifo,", "there is no policy \"\""},
        {"fifo,fifo", "\"fifo\" is there twice"},
        {"fifo:gamma=1", "fifo has no parameter \"gamma\"; it takes backfill, score"},
        {"p:gamma=x", "gamma: expected a number in 0..1000000, not \"x\""},
        {"bounded:c=0.9", "c: expected a number in 1..100, not \"0.9\""},
        {"fifo:backfill=maybe", "backfill: expected true or false, not \"maybe\""},
        {"fifo:score=tidiness", "score: expected terms such as availability*3+packing"},
        {"config:/nonexistent.yaml", "/nonexistent.yaml"},
        {"config:", "expected config:FILE"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_policies list;
        int rc = sl_policies_parse(cases[i][0], &list, &error);
        if (strcmp(cases[i][0], "fifo,") == 0 && rc == 0) {
            continue; /* a comma at the end is no harm */
        }
        assert_int_equal(rc, -1);
        if (strstr(error.message, cases[i][1]) == NULL) {
            fail_msg("%s: %s", cases[i][0], error.message);
        }
    }
}

/* ---- options ---- */

static int parse(struct sl_sim_options *options, int argc, const char *const *argv)
{
    char *copy[16] = {NULL};
    memcpy((void *)copy, (const void *)argv, (size_t)argc * sizeof(char *));
    return sl_sim_options_parse(argc, copy, options, &error);
}

TEST_THAT(options_are_read)
{
    static const char *const argv[] = {"slicesim",  "run",    "--generate=tasks=5",
                                       "--cluster", "a.yaml", "b.yaml",
                                       "--seeds",   "7",      "-o",
                                       "json",      "--quiet"};
    struct sl_sim_options options;
    assert_int_equal(parse(&options, 11, argv), 0);
    assert_int_equal(options.command, SL_COMMAND_RUN);
    assert_string_equal(options.generate, "tasks=5");
    assert_int_equal(options.n_cluster, 2);
    assert_string_equal(options.cluster[1], "b.yaml");
    assert_int_equal(options.seeds, 7);
    assert_int_equal(options.seed, 1);
    assert_int_equal(options.output, SL_OUTPUT_JSON);
    assert_true(options.quiet);
}

TEST_THAT(a_wrong_option_says_what_was_meant)
{
    static const char *const cases[][4] = {
        {"run", "--seed=x", NULL, "--seed takes an integer in 0.."},
        {"run", "--polcy", "fifo", "unknown option --polcy; did you mean --policy?"},
        {"run", "--data", "x", "unknown option --data"},
        {"run", "-o", "yaml", "expected table, csv or json"},
        {"run", "--gpus", NULL, "--gpus needs a value"},
        {"run", "--quiet=1", NULL, "--quiet takes no value"},
        {"run", "jobs.csv", NULL, "unexpected \"jobs.csv\""},
        {"simulate", NULL, NULL, "unknown command \"simulate\"; expected run, help or version"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *argv[] = {"slicesim", cases[i][0], cases[i][1], cases[i][2]};
        struct sl_sim_options options;
        int argc = 2 + (cases[i][1] != NULL) + (cases[i][2] != NULL);
        assert_int_equal(parse(&options, argc, argv), -1);
        if (strstr(error.message, cases[i][3]) == NULL) {
            fail_msg("%s", error.message);
        }
    }
}

/* ---- threads ---- */

enum { TASKS = 500 };

static int count_task(void *context, size_t index, struct sl_error *err)
{
    _Atomic int *counts = context;
    (void)atomic_fetch_add(&counts[index], 1);
    return index == 499 && counts[TASKS] != 0 ? sl_error_set(err, SL_ERR_FIELD, "no") : 0;
}

TEST_THAT(every_task_is_done_once)
{
    static _Atomic int counts[TASKS + 1];
    const struct sl_crew crew = {.threads = 8, .doing = "counting"};
    assert_int_equal(sl_crew_run(&crew, TASKS, count_task, (void *)counts, &error), 0);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(counts[i], 1);
    }
    counts[TASKS] = 1;
    assert_int_equal(sl_crew_run(&crew, TASKS, count_task, (void *)counts, &error), -1);
    assert_string_equal(error.message, "no");
    assert_int_equal(sl_crew_run(&crew, 0, count_task, (void *)counts, &error), 0);
}
