/* Opens the gate of one pod, as "sliced release" does. */
#include "cli/commands.h"

#include "kube/write/release_all.h"
#include "util/time.h"

enum { PAGE = 500, AT_ONCE = 32, TRIES = 6 };

static const int64_t call_us = 30 * SL_SECOND_US;

static void tell_opening(void *context, struct sl_str namespace, struct sl_str name,
                         enum sl_opening opening, const struct sl_error *err)
{
    (void)context;
    sl_cli_complain("pod %.*s/%.*s: %s%s%s", (int)namespace.len, namespace.s, (int)name.len, name.s,
                    sl_opening_name(opening), err == NULL ? "" : ": ",
                    err == NULL ? "" : err->message);
}

int sl_cli_release(struct sl_cli *cli)
{
    const char *name = cli->options->name;
    const struct sl_release_all_options options = {.client = cli->client,
                                                   .namespace = cli->namespace,
                                                   .name = name,
                                                   .page = PAGE,
                                                   .at_once = AT_ONCE,
                                                   .call_us = call_us,
                                                   .tries = TRIES,
                                                   .dry_run = cli->options->dry_run,
                                                   .tell = tell_opening};
    struct sl_release_all_counts counts = {.seen = 0};
    struct sl_error err = {.code = SL_ERR_NONE};
    uint64_t told = 0;
    if (sl_release_all(&options, &counts, &err) < 0) {
        sl_cli_complain("%s", err.message);
        return SL_CLI_REFUSED;
    }
    for (unsigned i = 0; i < SL_OPENINGS; i++) {
        told += counts.openings[i];
    }
    if (told == 0) {
        sl_cli_complain(counts.seen == 0 ? "there is no pod %s/%s"
                                         : "pod %s/%s has no gate sliced.dev/queue: it is open",
                        cli->namespace, name);
    }
    bool opened = counts.openings[SL_OPENING_DONE] + counts.openings[SL_OPENING_WOULD] > 0;
    return opened ? SL_CLI_DONE : SL_CLI_REFUSED;
}
