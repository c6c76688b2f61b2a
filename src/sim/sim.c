/* Runs the command and prints its output. */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/experiments/reproduce.h"
#include "sim/options.h"
#include "sim/run.h"

enum { EXIT_REFUSED = 1, EXIT_WRONG = 2, REPORT_MAX_BYTES = 1 << 30 };

static int print_complaint(const struct sl_error *err)
{
    (void)fprintf(stderr, "slicesim: %s\n", err->message);
    bool refused =
        err->code == SL_ERR_NOMEM || err->code == SL_ERR_SYSTEM || err->code == SL_ERR_INTERNAL;
    return refused ? EXIT_REFUSED : EXIT_WRONG;
}

static int write_out(const struct sl_buf *text, struct sl_error *err)
{
    if (text->failed != SL_BUF_OK) {
        return sl_error_nomem(err);
    }
    if (text->len > 0 && fwrite(text->data, 1, text->len, stdout) != text->len) {
        return sl_error_set(err, SL_ERR_SYSTEM, "the report cannot be written");
    }
    return fflush(stdout) == 0 ? 0
                               : sl_error_set(err, SL_ERR_SYSTEM, "the report cannot be written");
}

static int list_experiments(const char *name, struct sl_error *err)
{
    struct sl_buf names;
    sl_buf_init(&names, 1024);
    for (size_t i = 0; sl_reproduce_at(i) != NULL; i++) {
        sl_buf_printf(&names, "%s%s", i > 0 ? ", " : "", sl_reproduce_at(i)->name);
    }
    int len = (int)names.len;
    const char *text = names.data == NULL ? "" : names.data;
    int rc = name == NULL
                 ? sl_error_set(err, SL_ERR_FIELD, "reproduce what? One of %.*s", len, text)
                 : sl_error_set(err, SL_ERR_FIELD, "unknown experiment \"%s\"; there are %.*s",
                                name, len, text);
    sl_buf_free(&names);
    return rc;
}

/* What an experiment does not read is refused: it would look as if it counted. */
static int check_experiment(const struct sl_sim_options *options, const struct sl_reproduction *row,
                            const char *data, struct sl_error *err)
{
    const char *unread = options->policy != NULL  ? "--policy"
                         : options->pods != NULL  ? "--pods"
                         : options->nodes != NULL ? "--nodes"
                                                  : NULL;
    if (unread != NULL && row->run != sl_reproduce_openb) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: only with reproduce openb", unread);
    }
    if (options->days != NULL && row->run != sl_reproduce_repartition) {
        return sl_error_set(err, SL_ERR_FIELD, "--days: only with reproduce repartition");
    }
    if (row->data != NULL && data == NULL) {
        return sl_error_set(err, SL_ERR_NOTFOUND,
                            "reproduce %s needs published data: --data FOLDER with %s", row->name,
                            row->data);
    }
    if (options->output == SL_OUTPUT_SVG && !row->svg) {
        return sl_error_set(err, SL_ERR_FIELD, "reproduce %s has no plot: -o table, csv or json",
                            row->name);
    }
    return 0;
}

static int run_experiment(const struct sl_sim_options *options, struct sl_buf *out,
                          struct sl_error *err)
{
    const struct sl_reproduction *row =
        options->experiment == NULL ? NULL : sl_reproduce_find(sl_str_of(options->experiment));
    if (row == NULL) {
        return list_experiments(options->experiment, err);
    }
    const char *data = options->data;
    if (data == NULL) {
        data = getenv("SLICED_DATA"); // NOLINT(concurrency-mt-unsafe): no other thread yet
    }
    const struct sl_reproduce_options what = {
        .seed = options->seed,
        .seeds = options->seeds > 0 ? (uint32_t)options->seeds : row->seeds,
        .threads = (unsigned)options->threads,
        .data = data,
        .pods = options->pods,
        .nodes = options->nodes,
        .policy = options->policy,
        .days = options->days,
        .output = options->output,
        .progress = !options->quiet,
    };
    return check_experiment(options, row, data, err) < 0 ? -1 : row->run(&what, out, err);
}

static int run_command(const struct sl_sim_options *options, struct sl_buf *out,
                       struct sl_error *err)
{
    if (options->help) {
        sl_sim_options_help(options->command, out);
        return 0;
    }
    if (options->version) {
        sl_buf_printf(out, "slicesim %s\n", SL_VERSION);
        return 0;
    }
    if (options->command == SL_COMMAND_REPRODUCE) {
        return run_experiment(options, out, err);
    }
    if (options->command == SL_COMMAND_RUN) {
        return sl_sim_command_run(options, out, err);
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "nothing to do: slicesim run or slicesim reproduce; slicesim --help shows "
                        "how");
}

int sl_sim_main(int argc, char **argv)
{
    struct sl_sim_options options;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf out;
    sl_buf_init(&out, REPORT_MAX_BYTES);
    int status = EXIT_SUCCESS;
    if (sl_sim_options_parse(argc, argv, &options, &err) < 0 ||
        run_command(&options, &out, &err) < 0 || write_out(&out, &err) < 0) {
        status = print_complaint(&err);
    }
    sl_buf_free(&out);
    return status;
}
