/* A reflector of Jobs that keeps nothing. */
#include "kube/watch/jobs.h"

#include <stdlib.h>

#include "kube/client/object_call.h"

struct sl_jobs {
    struct sl_jobs_options options;
    struct sl_reflector *reflector;
};

static void on_listed(void *context, bool ok)
{
    const struct sl_jobs *jobs = context;
    if (ok) {
        jobs->options.listed(jobs->options.context);
    }
}

static int on_job(void *context, const struct sl_watch_item *item, int64_t received_us,
                  struct sl_error *err)
{
    const struct sl_jobs *jobs = context;
    (void)received_us;
    (void)err;
    if (item->event == SL_WATCH_DELETED) {
        jobs->options.gone(jobs->options.context, item->namespace, item->name);
    } else {
        jobs->options.job(jobs->options.context, item->object->job);
    }
    return 0;
}

struct sl_jobs *sl_jobs_start(const struct sl_jobs_options *options, struct sl_error *err)
{
    struct sl_jobs *jobs = calloc(1, sizeof(*jobs));
    if (jobs == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    jobs->options = *options;
    const struct sl_reflector_options reflector = {
        .client = options->client,
        .kind = SL_OBJECT_JOB,
        .name = "jobs",
        .path = "/apis/batch/v1/jobs",
        .times = options->times,
        .limits = sl_kube_text_limits,
        .calls = {.context = jobs, .object = on_job, .listed = on_listed},
    };
    jobs->reflector = sl_reflector_start(&reflector, err);
    if (jobs->reflector == NULL) {
        free(jobs);
        return NULL;
    }
    return jobs;
}

void sl_jobs_stop(struct sl_jobs *jobs)
{
    if (jobs != NULL) {
        sl_reflector_stop(jobs->reflector);
        free(jobs);
    }
}
