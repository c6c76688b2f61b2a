/* The jobs of a simulation: from a trace or a generator. A job is one pod. */
#ifndef SLICED_SIM_WORKLOAD_H
#define SLICED_SIM_WORKLOAD_H

#include "sliced/pod.h"
#include "util/data/arena.h"
#include "util/data/map.h"
#include "util/error.h"
#include "util/time.h"

/* Virtual time 0, as pods and planner see it: 2025-01-01T00:00:00Z. */
#define SL_SIM_EPOCH_US (INT64_C(1735689600) * SL_SECOND_US)

enum { SL_JOBS_MAX = 4000000, SL_JOB_ASKS_MAX = 60000 };

/* An ask, shared by all jobs with equal requests. Its text lives in the workload. */
struct sl_job_ask {
    const char *resource;
    int64_t count;
    int64_t cpu_milli;  /* 0: says nothing */
    int64_t memory_mib; /* 0: says nothing */
    const char *models; /* "V100M16|V100M32": values of the label nvidia.com/gpu.product; or NULL */
    uint32_t jobs;      /* with this ask */
};

/* The jobs that must succeed before a job may start. */
struct sl_job_after {
    const char *text; /* their names in the job's namespace, a bar between two */
    uint32_t *job;    /* indexes in workload->job; known when all have been added */
    uint32_t n;
    unsigned line; /* of the trace, where it says so */
    unsigned column;
};

struct sl_job {
    const char *name; /* in the workload, as namespace is */
    const char *namespace;
    int64_t submit_us; /* from the first submission, which is at 0 */
    int64_t run_us;    /* > 0; how long it would run */
    int32_t timeout_s; /* > 0; it is killed after that */
    int32_t priority;
    uint32_t ask;                     /* index in workload->ask */
    bool followed;                    /* others wait for it */
    const struct sl_job_after *after; /* NULL: for none */
};

struct sl_workload {
    struct sl_job *job; /* by submission */
    size_t n;
    size_t cap;
    struct sl_pod **pod; /* of a live queue, by job: references; NULL: made of the asks */
    struct sl_job_ask *ask;
    uint32_t n_asks;
    size_t cap_asks;
    struct sl_map ask_of;     /* "resource count ..." -> its index */
    struct sl_map namespaces; /* so that each name is kept once */
    struct sl_arena arena;
    size_t passed_over; /* records of a trace that ask for no GPU or never ran */
    const char *unread; /* names of its columns that nobody reads; NULL: none */
    bool staged;        /* jobs wait for others */
    bool borrowed;      /* all but job belongs to another workload */
};

void sl_workload_init(struct sl_workload *workload);
void sl_workload_free(struct sl_workload *workload);

/* One job as it is read. Times in microseconds. */
struct sl_trace_job {
    struct sl_str name;      /* empty: job-<number> */
    struct sl_str namespace; /* empty: default */
    struct sl_str resource;
    struct sl_str models;
    struct sl_str after; /* names of jobs, a bar between two; empty: none */
    unsigned line;       /* of after, for errors */
    unsigned column;
    int64_t count;
    int64_t cpu_milli;
    int64_t memory_mib;
    int64_t submit_us;
    int64_t run_us;
    int64_t timeout_us; /* 0: the run time */
    int32_t priority;
};

/* Takes a copy. A run time of 0 is taken for 1 us; a timeout is rounded up to whole seconds, as
 * Kubernetes counts deadlines, and is at most 2^31 - 1 s. */
int sl_workload_add(struct sl_workload *workload, const struct sl_trace_job *facts,
                    struct sl_error *err);

/* Sorts by submission (equal ones stay as they came), moves the first to 0, and looks up the jobs
 * that others wait for. */
int sl_workload_finish(struct sl_workload *workload, struct sl_error *err);

/* Makes the waiting pod of a job, created at epoch_us + submission; its UID begins with the job's
 * number, so that UIDs are in order of submission. The number is its name, too, where it waits for
 * others or they for it, as traces may have names that no pod can have. New reference; NULL with
 * *err set. */
struct sl_pod *sl_workload_pod(const struct sl_workload *workload, size_t index, int64_t epoch_us,
                               struct sl_error *err);

/* Required node affinity: the label nvidia.com/gpu.product is one of the models. */
enum { SL_MODELS_MAX = 32 };
struct sl_models_affinity {
    struct sl_term_facts term;
    struct sl_expression_facts expression;
    struct sl_text_facts value[SL_MODELS_MAX];
};
/* models: "V100M16|V100M32"; NULL or "": any. Afterwards facts borrow from affinity and models. */
void sl_models_require(struct sl_models_affinity *affinity, const char *models,
                       struct sl_pod_facts *facts);

/* The job's number, from the name of such a pod. */
size_t sl_workload_stage_job(struct sl_str name);

/* The same jobs with an array of their own, so that times may be changed; the rest is borrowed from
 * base, which must outlive it. */
int sl_workload_copy(const struct sl_workload *base, struct sl_workload *out, struct sl_error *err);

/* The timeout that Kubernetes can keep, in seconds. */
int32_t sl_timeout_seconds(int64_t us);

#endif
