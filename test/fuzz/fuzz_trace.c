/* Any text as a trace of each format: an error has its words, and jobs are such as can be played.
 */
#include <stdint.h>
#include <stdlib.h>

#include "sim/input/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES_MAX = 48 }; /* each may be thousands of pods */

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void play(const char *format, const struct sl_buf *text)
{
    const struct sl_trace_how how = {.text = text, .seed = 1, .gpus_per_pod = INT64_MAX};
    struct sl_workload jobs;
    struct sl_error error = {.line = 0};
    sl_workload_init(&jobs);
    int rc = sl_trace_read(format, &how, &jobs, &error);
    check(rc == 0 ? jobs.n > 0 : rc == -1 && error.message[0] != '\0');
    for (size_t i = 0; rc == 0 && i < jobs.n; i++) {
        const struct sl_job *job = &jobs.job[i];
        check(job->submit_us >= (i > 0 ? jobs.job[i - 1].submit_us : 0));
        check(job->run_us > 0 && job->timeout_s > 0);
        check(job->namespace[0] != '\0' && job->name[0] != '\0');
        check(job->ask < jobs.n_asks && jobs.ask[job->ask].count > 0);
    }
    sl_workload_free(&jobs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {
        "csv:-",    "openb:-", "philly:-",   "philly-log:-", "vc:-",
        "helios:-", "pai:-",   "spot-gpu:-", "adaptdl:-",
    };
    struct sl_buf text;
    size_t lines = 0;
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n' ? 1 : 0;
    }
    if (lines > LINES_MAX) {
        return 0;
    }
    sl_buf_init(&text, size + 1);
    sl_buf_append(&text, (const char *)data, size);
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        play(formats[i], &text);
    }
    sl_buf_free(&text);
    return 0;
}
