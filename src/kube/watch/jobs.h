/* Watches all Jobs (batch/v1). */
#ifndef SLICED_KUBE_JOBS_H
#define SLICED_KUBE_JOBS_H

#include "kube/watch/reflector.h"

struct sl_jobs;

struct sl_jobs_options {
    struct sl_client *client;
    struct sl_reflector_times times;
    /* All on the client's thread. */
    void (*job)(void *context, const struct sl_job_facts *job);
    void (*gone)(void *context, struct sl_str namespace, struct sl_str name);
    void (*listed)(void *context); /* a list is complete: Jobs that it did not name are gone */
    void *context;
};

struct sl_jobs *sl_jobs_start(const struct sl_jobs_options *options, struct sl_error *err);
/* As sl_reflector_stop. NULL is allowed. */
void sl_jobs_stop(struct sl_jobs *jobs);

#endif
