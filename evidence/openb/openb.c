/* reproduce openb: every policy on every seed, and the table. */
#include "evidence/openb/openb.h"

#include <stdio.h>

#include "config/config.h"
#include "evidence/experiments.h"
#include "evidence/shape/study.h"

#define LOAD 1.3

enum { POLICIES_MAX = 16, PATH_TEXT = 4096 };

struct comparison {
    struct sl_openb openb;
    struct sl_score_config weights;
    const struct sl_openb_policy *policy[POLICIES_MAX];
    size_t n_policies;
};

/* ---- which policies ---- */

static int unknown_policy(struct sl_str name, struct sl_error *err)
{
    struct sl_buf names;
    sl_buf_init(&names, 1024);
    for (size_t i = 0; i < sl_openb_policy_count(); i++) {
        sl_buf_printf(&names, "%s%s", i > 0 ? ", " : "", sl_openb_policy_at(i)->name);
    }
    (void)sl_error_set(err, SL_ERR_FIELD, "--policy: unknown policy \"%.*s\"; there are %.*s",
                       (int)name.len, name.s, (int)names.len, names.data == NULL ? "" : names.data);
    sl_buf_free(&names);
    return -1;
}

static int choose_policies(struct comparison *all, const char *text, struct sl_error *err)
{
    for (size_t i = 0; text == NULL && i < sl_openb_policy_count(); i++) {
        all->policy[all->n_policies++] = sl_openb_policy_at(i);
    }
    for (const char *at = text; at != NULL && *at != '\0';) {
        struct sl_str name = {at, strcspn(at, ",")};
        const struct sl_openb_policy *policy = sl_openb_policy_find(name);
        if (policy == NULL) {
            return unknown_policy(name, err);
        }
        if (all->n_policies == POLICIES_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "--policy: more than %d policies", POLICIES_MAX);
        }
        all->policy[all->n_policies++] = policy;
        at += name.len + (at[name.len] == ',' ? 1 : 0);
    }
    return all->n_policies > 0 ? 0 : unknown_policy(SL_STR(""), err);
}

/* ---- running and reporting ---- */

enum { ALLOCATION, REFUSED, FIGURES };

static int policy_play(void *context, size_t which, uint64_t seed, double *figure,
                       struct sl_error *err)
{
    const struct comparison *all = context;
    struct sl_openb_outcome outcome;
    int rc = sl_openb_simulate(&all->openb, all->policy[which], &all->weights, seed, LOAD, &outcome,
                               err);
    figure[ALLOCATION] = 100 * outcome.allocation;
    figure[REFUSED] = (double)outcome.failed;
    return rc;
}

enum { POLICY, PUBLISHED = 4 };
static const struct sl_column columns[] = {
    [POLICY] = SL_COLUMN("policy", "policy", 0, 0),
    {"allocation %", "allocationPercent", 2, 4, SL_HOW_MEAN, ALLOCATION, SL_OF_NONE},
    {"deviation", "deviation", 2, 4, SL_HOW_DEVIATION, ALLOCATION, SL_OF_NONE},
    {"pods refused", "refused", 0, 1, SL_HOW_MEAN, REFUSED, SL_OF_NONE},
    [PUBLISHED] = SL_COLUMN("published %", "publishedPercent", 2, 2),
};

static void fill(struct sl_study *study, const struct comparison *all, const char *pods,
                 struct sl_rows *rows)
{
    sl_buf_printf(&rows->about, "GPUs given at %.0f %% load, of %lld on %zu nodes, %u seeds\n\n",
                  100 * LOAD, (long long)(all->openb.milli / SL_OPENB_GPU), all->openb.fleet.n,
                  study->seeds);
    for (size_t i = 0; i < all->n_policies; i++) {
        double known = sl_openb_published(all->policy[i], pods);
        sl_rows_add(rows, SL_ROW_EVERYWHERE);
        sl_rows_text(rows, POLICY, "%s", all->policy[i]->name);
        sl_study_fill(study, i, rows);
        if (known > 0) {
            sl_rows_number(rows, PUBLISHED, known);
        }
    }
}

/* ---- the command ---- */

/* The file given, or the default one in the folder of data. */
static int find_file(const struct sl_reproduce_options *options, const char *given,
                     const char *option, const char *name, char path[PATH_TEXT],
                     struct sl_error *err)
{
    if (given == NULL && options->data == NULL) {
        return sl_error_set(err, SL_ERR_NOTFOUND,
                            "openb needs %s FILE, or --data FOLDER with openb/%s", option, name);
    }
    int len = given != NULL ? snprintf(path, PATH_TEXT, "%s", given)
                            : snprintf(path, PATH_TEXT, "%s/openb/%s", options->data, name);
    return len < PATH_TEXT ? 0
                           : sl_error_set(err, SL_ERR_LIMIT, "%s: the path is too long", option);
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    struct comparison all = {.n_policies = 0};
    struct sl_study study = {.value = NULL};
    struct sl_config config;
    char pods[PATH_TEXT];
    char nodes[PATH_TEXT];
    sl_openb_init(&all.openb);
    sl_config_defaults(&config);
    all.weights = config.plan.score;
    int rc = choose_policies(&all, options->policy, err);
    rc = rc < 0
             ? rc
             : find_file(options, options->pods, "--pods", "openb_pod_list_default.csv", pods, err);
    rc = rc < 0 ? rc
                : find_file(options, options->nodes, "--nodes", "openb_node_list_gpu_node.csv",
                            nodes, err);
    rc = rc < 0 ? rc : sl_openb_load(&all.openb, pods, nodes, err);
    rc = rc < 0 ? rc : sl_study_init(&study, all.n_policies, 1, FIGURES, options, err);
    rc = rc < 0 ? rc : sl_study_play(&study, options, "placing", policy_play, &all, err);
    if (rc == 0) {
        fill(&study, &all, pods, rows);
    }
    sl_study_free(&study);
    sl_openb_free(&all.openb);
    return rc;
}

const struct sl_reproduction sl_openb = {
    .name = "openb",
    .summary = "FGD's comparison: GPUs given of the openb cluster at 130 % load, by policy",
    .seeds = 10,
    SL_COLUMNS(columns),
    .run = play,
};
