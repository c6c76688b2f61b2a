/* reproduce openb: every policy on every seed, and the table. */
#include "evidence/openb/openb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "evidence/reproduce.h"
#include "sim/output/report.h"
#include "sim/play/crew.h"

#define LOAD 1.3

enum { POLICIES_MAX = 16, PATH_TEXT = 4096 };

struct comparison {
    struct sl_openb openb;
    struct sl_score_config weights;
    const struct sl_openb_policy *policy[POLICIES_MAX];
    size_t n_policies;
    uint64_t seed;
    uint32_t seeds;
    struct sl_openb_outcome *outcome; /* by policy, then seed */
    const char *pods;
    const char *nodes;
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

/* ---- running ---- */

static int outcome_run(void *context, size_t index, struct sl_error *err)
{
    struct comparison *all = context;
    const struct sl_openb_policy *policy = all->policy[index / all->seeds];
    return sl_openb_simulate(&all->openb, policy, &all->weights, all->seed + index % all->seeds,
                             LOAD, &all->outcome[index], err);
}

/* ---- reporting ---- */

struct row {
    double mean;
    double deviation;
    double failed; /* pods, on the average */
};

static struct row row_of(const struct comparison *all, size_t policy)
{
    struct row row = {0};
    double n = (double)all->seeds;
    for (uint32_t i = 0; i < all->seeds; i++) {
        const struct sl_openb_outcome *outcome = &all->outcome[policy * all->seeds + i];
        row.mean += 100 * outcome->allocation / n;
        row.failed += (double)outcome->failed / n;
    }
    for (uint32_t i = 0; i < all->seeds; i++) {
        double off = 100 * all->outcome[policy * all->seeds + i].allocation - row.mean;
        row.deviation += off * off / n;
    }
    row.deviation = sqrt(row.deviation);
    return row;
}

static void write_table(const struct comparison *all, struct sl_buf *out)
{
    struct sl_columns columns;
    sl_buf_printf(out, "GPUs given at %.0f %% load, of %lld on %zu nodes, %u seeds\n\n", 100 * LOAD,
                  (long long)(all->openb.milli / SL_OPENB_GPU), all->openb.fleet.n, all->seeds);
    sl_columns_init(&columns, 5);
    sl_columns_row(&columns);
    sl_columns_put(&columns, 0, "policy");
    sl_columns_put(&columns, 1, "allocation %%");
    sl_columns_put(&columns, 2, "deviation");
    sl_columns_put(&columns, 3, "pods refused");
    sl_columns_put(&columns, 4, "published %%");
    for (size_t i = 0; i < all->n_policies; i++) {
        struct row row = row_of(all, i);
        double known = sl_openb_published(all->policy[i], all->pods);
        sl_columns_row(&columns);
        sl_columns_put(&columns, 0, "%s", all->policy[i]->name);
        sl_columns_put(&columns, 1, "%.2f", row.mean);
        sl_columns_put(&columns, 2, "%.2f", row.deviation);
        sl_columns_put(&columns, 3, "%.0f", row.failed);
        if (known > 0) {
            sl_columns_put(&columns, 4, "%.2f", known);
        }
    }
    sl_columns_print(&columns, out);
}

static void write_csv(const struct comparison *all, struct sl_buf *out)
{
    sl_buf_printf(out, "policy,seed,allocation_percent,pods,refused\n");
    for (size_t i = 0; i < all->n_policies; i++) {
        for (uint32_t s = 0; s < all->seeds; s++) {
            const struct sl_openb_outcome *outcome = &all->outcome[i * all->seeds + s];
            sl_buf_printf(out, "%s,%llu,%.4f,%zu,%zu\n", all->policy[i]->name,
                          (unsigned long long)all->seed + s, 100 * outcome->allocation,
                          outcome->pods, outcome->failed);
        }
    }
}

static void write_json(const struct comparison *all, struct sl_buf *out)
{
    sl_buf_printf(out, "{\"pods\": \"");
    sl_report_json_text(out, all->pods);
    sl_buf_printf(out, "\", \"nodes\": \"");
    sl_report_json_text(out, all->nodes);
    sl_buf_printf(out, "\", \"gpus\": %lld, \"load\": %.2f, \"seeds\": %u, \"policies\": [",
                  (long long)(all->openb.milli / SL_OPENB_GPU), LOAD, all->seeds);
    for (size_t i = 0; i < all->n_policies; i++) {
        struct row row = row_of(all, i);
        double known = sl_openb_published(all->policy[i], all->pods);
        sl_buf_printf(
            out,
            "%s\n  {\"policy\": \"%s\", \"allocationPercent\": %.4f, \"deviation\": %.4f, "
            "\"refused\": %.1f",
            i > 0 ? "," : "", all->policy[i]->name, row.mean, row.deviation, row.failed);
        if (known > 0) {
            sl_buf_printf(out, ", \"publishedPercent\": %.2f", known);
        }
        sl_buf_printf(out, "}");
    }
    sl_buf_printf(out, "\n]}\n");
}

static void write_report(const struct comparison *all, enum sl_output output, struct sl_buf *out)
{
    switch (output) {
    case SL_OUTPUT_CSV:
        write_csv(all, out);
        return;
    case SL_OUTPUT_JSON:
        write_json(all, out);
        return;
    case SL_OUTPUT_TABLE:
    case SL_OUTPUT_SVG:
        break;
    }
    write_table(all, out);
}

/* ---- the command ---- */

/* The file given, or the default one in the folder of data. */
static int find_file(const struct sl_reproduce_options *options, const char *given,
                     const char *option, const char *name, char path[PATH_TEXT],
                     struct sl_error *err)
{
    if (given == NULL && options->data == NULL) {
        return sl_error_set(err, SL_ERR_NOTFOUND,
                            "reproduce openb needs %s FILE, or --data FOLDER with openb/%s", option,
                            name);
    }
    int len = given != NULL ? snprintf(path, PATH_TEXT, "%s", given)
                            : snprintf(path, PATH_TEXT, "%s/openb/%s", options->data, name);
    return len < PATH_TEXT ? 0
                           : sl_error_set(err, SL_ERR_LIMIT, "%s: the path is too long", option);
}

int sl_reproduce_openb(const struct sl_reproduce_options *options, struct sl_buf *out,
                       struct sl_error *err)
{
    struct comparison all = {.seed = options->seed, .seeds = options->seeds};
    struct sl_crew crew = {options->threads, options->progress, "placing"};
    struct sl_config config;
    char pods[PATH_TEXT];
    char nodes[PATH_TEXT];
    int rc = -1;
    sl_openb_init(&all.openb);
    sl_config_defaults(&config);
    all.weights = config.score;
    if (choose_policies(&all, options->policy, err) < 0 ||
        find_file(options, options->pods, "--pods", "openb_pod_list_default.csv", pods, err) < 0 ||
        find_file(options, options->nodes, "--nodes", "openb_node_list_gpu_node.csv", nodes, err) <
            0 ||
        sl_openb_load(&all.openb, pods, nodes, err) < 0) {
        goto done;
    }
    all.pods = pods;
    all.nodes = nodes;
    all.outcome = calloc(all.n_policies * all.seeds, sizeof(*all.outcome));
    if (all.outcome == NULL) {
        (void)sl_error_nomem(err);
        goto done;
    }
    if (sl_crew_run(&crew, all.n_policies * all.seeds, outcome_run, &all, err) < 0) {
        goto done;
    }
    write_report(&all, options->output, out);
    rc = 0;
done:
    free(all.outcome);
    sl_openb_free(&all.openb);
    return rc;
}
