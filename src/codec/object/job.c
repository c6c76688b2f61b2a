/* Job (batch/v1): whether it has ended, and how. */
#include "codec/object/parts.h"

static int begin_condition(struct sl_walker *walker, void *target, const struct sl_event *event,
                           struct sl_error *err)
{
    struct sl_job_build *job = target;
    (void)walker;
    (void)event;
    (void)err;
    job->type = (struct sl_str){0};
    job->status = (struct sl_str){0};
    return SL_EVENT_GO;
}

/* SuccessCriteriaMet and FailureTarget come before the end, while pods still run. */
static int end_condition(struct sl_walker *walker, void *target, const struct sl_event *event,
                         struct sl_error *err)
{
    struct sl_job_build *job = target;
    bool is_true = sl_str_eq(job->status, SL_STR("True"));
    (void)walker;
    (void)event;
    (void)err;
    job->facts.complete =
        job->facts.complete || (is_true && sl_str_eq(job->type, SL_STR("Complete")));
    job->facts.failed = job->facts.failed || (is_true && sl_str_eq(job->type, SL_STR("Failed")));
    return SL_EVENT_GO;
}

static const struct sl_field condition_fields[] = {
    {SL_FIELD_NAME("type"), .kind = SL_FIELD_STRING, .offset = offsetof(struct sl_job_build, type)},
    {SL_FIELD_NAME("status"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_job_build, status)},
};

static const struct sl_table condition_table = {SL_TABLE_FIELDS(condition_fields),
                                                .begin = begin_condition, .end = end_condition};

static const struct sl_field status_fields[] = {
    {SL_FIELD_NAME("conditions"), .kind = SL_FIELD_OBJECTS, .table = &condition_table},
};

const struct sl_table sl_job_status_table = {SL_TABLE_FIELDS(status_fields)};
