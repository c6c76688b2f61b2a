/* Runs the command and prints its output. */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/options.h"
#include "sim/run.h"

enum { EXIT_REFUSED = 1, EXIT_WRONG = 2 };

static int write_out(const struct sl_buf *text, struct sl_error *err)
{
    if (text->failed != SL_BUF_OK) {
        return sl_error_nomem(err);
    }
    bool written = fwrite(text->data, 1, text->len, stdout) == text->len && fflush(stdout) == 0;
    return written ? 0 : sl_error_set(err, SL_ERR_SYSTEM, "the report cannot be written");
}

int sl_sim_end(const char *program, int rc, struct sl_buf *out, struct sl_error *err)
{
    if (rc == 0) {
        rc = write_out(out, err);
    }
    sl_buf_free(out);
    if (rc == 0) {
        return EXIT_SUCCESS;
    }
    (void)fprintf(stderr, "%s: %s\n", program, err->message);
    bool refused =
        err->code == SL_ERR_NOMEM || err->code == SL_ERR_SYSTEM || err->code == SL_ERR_INTERNAL;
    return refused ? EXIT_REFUSED : EXIT_WRONG;
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
    if (options->command == SL_COMMAND_RUN) {
        return sl_sim_command_run(options, out, err);
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "nothing to do: slicesim run, which slicesim run --help explains");
}

int sl_sim_main(int argc, char **argv)
{
    struct sl_sim_options options;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf out;
    sl_buf_init(&out, SL_SIM_REPORT_MAX);
    int rc = sl_sim_options_parse(argc, argv, &options, &err);
    rc = rc < 0 ? rc : run_command(&options, &out, &err);
    return sl_sim_end("slicesim", rc, &out, &err);
}
