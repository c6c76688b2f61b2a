/* sliced release. */
#include "daemon/release.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/options.h"
#include "kube/access/find.h"
#include "server/metrics/version.h"
#include "util/time.h"

enum {
    EXIT_LEFT = 1,
    EXIT_WRONG = 2,
    PAGE = 500,
    AT_ONCE = 32,
    TRIES = 6,
    TEXT_BYTES_MAX = 64 << 10,
    ACCESS_MAX = 16 << 20,
    REPLY_MAX = 4 << 20,
    QUEUED_MAX = 1024,
};

static const int64_t call_us = 30 * SL_SECOND_US;
static const int64_t connect_timeout_us = 5 * SL_SECOND_US;

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
        return EXIT_LEFT;
    }
    return failed > 0 ? EXIT_LEFT : EXIT_SUCCESS;
}

static int release_pods(const struct sl_release_options *options,
                        const struct sl_kube_access *access, struct sl_error *err)
{
    const struct sl_client_options client = {.access = access,
                                             .user_agent = "sliced/" SL_VERSION,
                                             .max_in_flight = 2 * AT_ONCE,
                                             .burst = 1,
                                             .max_queued = QUEUED_MAX,
                                             .connect_timeout_us = connect_timeout_us,
                                             .max_reply = REPLY_MAX};
    struct sl_release_all_options all = {.namespace = options->namespace,
                                         .name = options->name,
                                         .page = PAGE,
                                         .at_once = AT_ONCE,
                                         .call_us = call_us,
                                         .tries = TRIES,
                                         .dry_run = options->dry_run,
                                         .tell = print_opening};
    struct sl_release_all_counts counts;
    struct sl_buf text;
    all.client = sl_client_new(&client, err);
    if (all.client == NULL) {
        return -1;
    }
    int result = sl_release_all(&all, &counts, err);
    sl_client_free(all.client);
    sl_buf_init(&text, TEXT_BYTES_MAX);
    int status = sl_release_summary(&counts, options->dry_run, options->name != NULL, &text);
    (void)fwrite(text.data, 1, text.len, stderr);
    sl_buf_free(&text);
    return result < 0 ? -1 : status;
}

static int print_help(void)
{
    struct sl_buf text;
    sl_buf_init(&text, TEXT_BYTES_MAX);
    sl_release_options_help(&text);
    bool written = text.failed == SL_BUF_OK && fwrite(text.data, 1, text.len, stdout) == text.len &&
                   fflush(stdout) == 0;
    sl_buf_free(&text);
    return written ? EXIT_SUCCESS : EXIT_LEFT;
}

int sl_release_main(int argc, char **argv)
{
    struct sl_release_options options;
    struct sl_access_places places = {.kubeconfig = NULL};
    struct sl_kube_access access;
    struct sl_arena arena;
    struct sl_error err = {.code = SL_ERR_NONE};
    char from[SL_ACCESS_FROM_MAX];
    if (sl_release_options_parse(argc, argv, &options, &err) < 0) {
        (void)fprintf(stderr, "sliced release: %s\n", err.message);
        return EXIT_WRONG;
    }
    if (options.help) {
        return print_help();
    }
    places.kubeconfig = options.kubeconfig;
    places.context = options.context;
    sl_access_environment(&places);
    sl_arena_init(&arena, ACCESS_MAX);
    int status = EXIT_WRONG;
    if (sl_access_find(&places, &arena, &access, from, &err) == 0) {
        status = release_pods(&options, &access, &err);
        status = status < 0 ? EXIT_LEFT : status;
    }
    if (err.code != SL_ERR_NONE) {
        (void)fprintf(stderr, "sliced release: %s\n", err.message);
    }
    sl_arena_free(&arena);
    return status;
}
