/* The program: its options, and the table of published experiments. */
#include "evidence/reproduce.h"

#include <stdlib.h>
#include <string.h>

#include "evidence/experiments.h"
#include "sim/sim.h"
#include "util/term/option.h"

enum { SEEDS_MAX = 1000000, THREADS_MAX = 256 };

static const struct sl_reproduction *const table[] = {
    &sl_short_tasks,    &sl_orders,         &sl_mig,    &sl_openb,
    &sl_mig_acceptance, &sl_repartition,    &sl_miso,   &sl_cbp_pp,
    &sl_sharing,        &sl_tenants_philly, &sl_widths,
};
enum { EXPERIMENTS = sizeof(table) / sizeof(table[0]) };

/* ---- options ---- */

/* Texts are borrowed from the arguments; NULL where not given. */
struct command {
    struct sl_reproduce_options options;
    const char *experiment;
    const char *output;
    enum sl_output form;
    uint64_t seeds; /* 0: as many as the experiment has */
    uint64_t threads;
    bool quiet;
    bool help;
};

#define AT(member) .at = offsetof(struct command, member)

static const struct sl_option options[] = {
    {"--pods", "FILE", "openb: the list of pods, over the one in the folder of data",
     AT(options.pods), .kind = SL_OPTION_ONCE},
    {"--nodes", "FILE", "openb: the list of nodes, over the one in the folder of data",
     AT(options.nodes), .kind = SL_OPTION_ONCE},
    {"--policy", "NAME,...", "openb: only these policies", AT(options.policy),
     .kind = SL_OPTION_ONCE},
    {"--days", "long|short", "repartition: only the days of 24 hours, or of ten minutes",
     AT(options.days), .kind = SL_OPTION_ONCE},
    {"--data", "FOLDER", "where the published traces are (else $SLICED_DATA)", AT(options.data),
     .kind = SL_OPTION_ONCE},
    {"--seeds", "N", "runs, each with the next seed", AT(seeds), .min = 1, .max = SEEDS_MAX,
     .kind = SL_OPTION_NUMBER},
    {"--seed", "N", "the first seed (1)", AT(options.seed), .min = 0, .max = INT64_MAX,
     .kind = SL_OPTION_NUMBER},
    {"--threads", "N", "how many run at once (one per processor); results do not depend on it",
     AT(threads), .min = 1, .max = THREADS_MAX, .kind = SL_OPTION_NUMBER},
    {"--output", "table|csv|json", "form of the report (table)", AT(output), .kind = SL_OPTION_ONCE,
     .letter = 'o'},
    {"--quiet", NULL, "no progress on standard error", AT(quiet)},
    {"--help", NULL, "print this and exit", AT(help), .letter = 'h'},
};

static const struct sl_option_table option_table = {
    .option = options,
    .n = sizeof(options) / sizeof(options[0]),
    .command = "reproduce",
};

static void print_help(struct sl_buf *out)
{
    sl_buf_puts(out, "Usage: reproduce EXPERIMENT [--seeds N] [-o table|csv|json]\n"
                     "\nExperiments:\n");
    for (size_t i = 0; i < EXPERIMENTS; i++) {
        sl_buf_printf(out, "  %-16s %s\n", table[i]->name, table[i]->summary);
        if (table[i]->data != NULL) {
            sl_buf_printf(out, "  %-16s needs --data: %s\n", "", table[i]->data);
        }
    }
    sl_buf_puts(out, "\nOptions:\n");
    sl_option_help(&option_table, 28, out);
    sl_buf_puts(out, "\nExamples:\n"
                     "  reproduce short-tasks\n"
                     "  reproduce openb --data FOLDER --policy bestfit,fgd,sliced\n"
                     "  reproduce repartition --seeds 4\n");
}

static int take_output(struct command *command, struct sl_error *err)
{
    static const char *const outputs[] = {"table", "csv", "json"};
    for (size_t i = 0; command->output != NULL && i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        if (strcmp(outputs[i], command->output) == 0) {
            command->form = (enum sl_output)i;
            return 0;
        }
    }
    return command->output == NULL
               ? 0
               : sl_error_set(err, SL_ERR_FIELD, "--output \"%s\": expected table, csv or json",
                              command->output);
}

static int parse(int argc, char **argv, struct command *out, struct sl_error *err)
{
    *out = (struct command){.options = {.seed = 1}};
    for (int i = 1; i < argc; i++) {
        const char *value = NULL;
        if (argv[i][0] != '-' && out->experiment == NULL) {
            out->experiment = argv[i];
        } else if (argv[i][0] != '-') {
            return sl_error_set(err, SL_ERR_FIELD, "unexpected \"%s\"; reproduce --help shows how",
                                argv[i]);
        } else if (sl_option_take(&option_table, argc, argv, &i, out, &value, err) == NULL) {
            return -1;
        }
    }
    return take_output(out, err);
}

/* ---- running ---- */

static const struct sl_reproduction *find(const char *name, struct sl_error *err)
{
    struct sl_buf names;
    for (size_t i = 0; name != NULL && i < EXPERIMENTS; i++) {
        if (strcmp(table[i]->name, name) == 0) {
            return table[i];
        }
    }
    sl_buf_init(&names, 1024);
    for (size_t i = 0; i < EXPERIMENTS; i++) {
        sl_buf_printf(&names, "%s%s", i > 0 ? ", " : "", table[i]->name);
    }
    (void)sl_error_set(err, SL_ERR_FIELD, "reproduce %s? There are %.*s",
                       name == NULL ? "what" : name, (int)names.len,
                       names.data == NULL ? "" : names.data);
    sl_buf_free(&names);
    return NULL;
}

/* What an experiment does not read is refused: it would look as if it counted. */
static int check(const struct sl_reproduce_options *what, const struct sl_reproduction *row,
                 struct sl_error *err)
{
    const char *unread = what->policy != NULL  ? "--policy"
                         : what->pods != NULL  ? "--pods"
                         : what->nodes != NULL ? "--nodes"
                                               : NULL;
    if (unread != NULL && row != &sl_openb) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: only with openb", unread);
    }
    if (what->days != NULL && row != &sl_repartition) {
        return sl_error_set(err, SL_ERR_FIELD, "--days: only with repartition");
    }
    if (row->data != NULL && what->data == NULL) {
        return sl_error_set(err, SL_ERR_NOTFOUND, "%s needs published data: --data FOLDER with %s",
                            row->name, row->data);
    }
    return 0;
}

static int run(struct command *command, struct sl_buf *out, struct sl_error *err)
{
    struct sl_reproduce_options *what = &command->options;
    if (command->help) {
        print_help(out);
        return 0;
    }
    const struct sl_reproduction *row = find(command->experiment, err);
    if (row == NULL) {
        return -1;
    }
    if (what->data == NULL) {
        what->data = getenv("SLICED_DATA"); // NOLINT(concurrency-mt-unsafe): no other thread yet
    }
    what->seeds = command->seeds > 0 ? (uint32_t)command->seeds : row->seeds;
    what->threads = (unsigned)command->threads;
    what->progress = !command->quiet;
    if (check(what, row, err) < 0) {
        return -1;
    }
    struct sl_rows rows;
    sl_rows_init(&rows, row->column, row->n_columns);
    int rc = row->run(what, &rows, err);
    rc = rc < 0 ? rc : sl_rows_print(&rows, command->form, row->name, what->seeds, out, err);
    sl_rows_free(&rows);
    return rc;
}

int sl_reproduce_main(int argc, char **argv)
{
    struct command command;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf out;
    sl_buf_init(&out, SL_SIM_REPORT_MAX);
    int rc = parse(argc, argv, &command, &err);
    rc = rc < 0 ? rc : run(&command, &out, &err);
    return sl_sim_end("reproduce", rc, &out, &err);
}
