/* sliced release. */
#include "daemon/release.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/command.h"
#include "daemon/options.h"

enum { PAGE = 500, AT_ONCE = 32, TEXT_BYTES_MAX = 64 << 10 };

static void print_opening(void *context, struct sl_str namespace, struct sl_str name,
                          enum sl_opening opening, const struct sl_error *err)
{
    (void)context;
    (void)fprintf(stderr, "pod %.*s/%.*s: %s%s%s\n", (int)namespace.len, namespace.s, (int)name.len,
                  name.s, sl_opening_name(opening), err == NULL ? "" : ": ",
                  err == NULL ? "" : err->message);
}

int sl_release_summary(const struct sl_release_all_counts *counts, bool dry_run, bool one,
                       struct sl_buf *out)
{
    uint64_t failed = counts->openings[SL_OPENING_FAILED];
    sl_buf_printf(out, "%" PRIu64 " pod%s looked at, %" PRIu64 " gate%s %s", counts->seen,
                  counts->seen == 1 ? "" : "s",
                  counts->openings[dry_run ? SL_OPENING_WOULD : SL_OPENING_DONE],
                  counts->openings[dry_run ? SL_OPENING_WOULD : SL_OPENING_DONE] == 1 ? "" : "s",
                  dry_run ? "would be opened" : "opened");
    if (counts->openings[SL_OPENING_GONE] > 0) {
        sl_buf_printf(out, ", %" PRIu64 " gone", counts->openings[SL_OPENING_GONE]);
    }
    if (failed > 0) {
        sl_buf_printf(out, ", %" PRIu64 " failed", failed);
    }
    sl_buf_putc(out, '\n');
    if (one && counts->seen == 0) {
        sl_buf_puts(out, "there is no such pod\n");
        return SL_COMMAND_FAILED;
    }
    return failed > 0 ? SL_COMMAND_FAILED : SL_COMMAND_DONE;
}

static int release_pods(const struct sl_release_options *options, const struct sl_command *command,
                        struct sl_error *err)
{
    const struct sl_release_all_options all = {.client = command->asker.client,
                                               .namespace = options->namespace,
                                               .name = options->name,
                                               .page = PAGE,
                                               .at_once = AT_ONCE,
                                               .call_us = command->asker.call_us,
                                               .tries = command->asker.tries,
                                               .dry_run = options->dry_run,
                                               .tell = print_opening};
    struct sl_release_all_counts counts;
    struct sl_buf text;
    int result = sl_release_all(&all, &counts, err);
    sl_buf_init(&text, TEXT_BYTES_MAX);
    int status = sl_release_summary(&counts, options->dry_run, options->name != NULL, &text);
    (void)fwrite(text.data, 1, text.len, stderr);
    sl_buf_free(&text);
    return result < 0 ? SL_COMMAND_FAILED : status;
}

int sl_release_main(int argc, char **argv)
{
    struct sl_release_options options;
    struct sl_command command;
    struct sl_error err = {.code = SL_ERR_NONE};
    if (sl_release_options_parse(argc, argv, &options, &err) < 0) {
        (void)fprintf(stderr, "sliced release: %s\n", err.message);
        return SL_COMMAND_WRONG;
    }
    if (options.help) {
        return sl_command_help(sl_release_options_help);
    }
    int status = SL_COMMAND_WRONG;
    if (sl_command_begin(&command, options.kubeconfig, options.context, AT_ONCE, &err) == 0) {
        status = release_pods(&options, &command, &err);
    }
    if (err.code != SL_ERR_NONE) {
        (void)fprintf(stderr, "sliced release: %s\n", err.message);
    }
    sl_command_end(&command);
    return status;
}
