/* Walks the job log of Microsoft's Philly trace. */
#include "sim/input/philly_log.h"

#include "codec/stream/json.h"
#include "codec/stream/walker.h"
#include "sim/input/csv/csv.h"

enum { JOB_TEXT_MAX = 1 << 16, STRING_MAX = 4096 };

struct log_job {
    struct sl_str id;
    struct sl_str vc;
    int64_t submit_us; /* -1: not known, as the others */
    int64_t begin_us;  /* of the current attempt */
    int64_t end_us;
    int64_t attempt_gpus;
    int64_t gpus;
    int64_t run_us;
};

struct log_taker {
    int (*take)(void *context, const struct sl_trace_job *job, struct sl_error *err);
    void *context;
};

/* What is not known is null, empty or the text None. */
static int moment(struct sl_walker *walker, int64_t *out, const struct sl_event *event,
                  struct sl_error *err)
{
    int shown = event->text.len < 40 ? (int)event->text.len : 40;
    if (event->text.len == 0 || sl_str_eq(event->text, SL_STR("None")) ||
        sl_csv_parse_date(event->text, out)) {
        return SL_EVENT_GO;
    }
    return sl_walk_fail(walker, event, err, SL_ERR_FIELD,
                        "expected a time such as 2017-10-07 01:12:09, found \"%.*s\"", shown,
                        event->text.s);
}

static int take_submit(struct sl_walker *walker, void *target, const struct sl_event *event,
                       struct sl_error *err)
{
    return moment(walker, &((struct log_job *)target)->submit_us, event, err);
}

static int take_begin(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    return moment(walker, &((struct log_job *)target)->begin_us, event, err);
}

static int take_end(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    return moment(walker, &((struct log_job *)target)->end_us, event, err);
}

static int count_gpu(struct sl_walker *walker, void *target, const struct sl_event *event,
                     struct sl_error *err)
{
    (void)walker;
    (void)event;
    (void)err;
    ((struct log_job *)target)->attempt_gpus++;
    return SL_EVENT_GO;
}

static int attempt_begins(struct sl_walker *walker, void *target, const struct sl_event *event,
                          struct sl_error *err)
{
    struct log_job *job = target;
    (void)walker;
    (void)event;
    (void)err;
    job->begin_us = job->end_us = -1;
    job->attempt_gpus = 0;
    return SL_EVENT_GO;
}

static int attempt_ends(struct sl_walker *walker, void *target, const struct sl_event *event,
                        struct sl_error *err)
{
    struct log_job *job = target;
    (void)walker;
    (void)event;
    (void)err;
    job->gpus = job->attempt_gpus > 0 ? job->attempt_gpus : job->gpus;
    job->run_us +=
        job->begin_us >= 0 && job->end_us > job->begin_us ? job->end_us - job->begin_us : 0;
    return SL_EVENT_GO;
}

static int job_begins(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    (void)event;
    (void)err;
    sl_arena_reset(walker->arena);
    *(struct log_job *)target = (struct log_job){.submit_us = -1};
    return SL_EVENT_GO;
}

static int job_ends(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    const struct log_taker *taker = walker->context;
    const struct log_job *job = target;
    const struct sl_trace_job facts = {.name = job->id,
                                       .namespace = job->vc,
                                       .count = job->gpus,
                                       .submit_us = job->submit_us,
                                       .run_us = job->run_us};
    if (job->submit_us < 0) {
        return sl_walk_missing(walker, event, err, "submitted_time");
    }
    if (taker->take(taker->context, &facts, err) < 0) {
        sl_walk_place(walker, event, err);
        return SL_EVENT_FAIL;
    }
    return SL_EVENT_GO;
}

static const struct sl_field detail_fields[] = {
    {SL_FIELD_NAME("gpus"), .kind = SL_FIELD_TEXTS, .value = count_gpu},
};
static const struct sl_table detail_table = {SL_TABLE_FIELDS(detail_fields)};

static const struct sl_field attempt_fields[] = {
    {SL_FIELD_NAME("start_time"), .kind = SL_FIELD_TEXT, .value = take_begin},
    {SL_FIELD_NAME("end_time"), .kind = SL_FIELD_TEXT, .value = take_end},
    {SL_FIELD_NAME("detail"), .kind = SL_FIELD_OBJECTS, .table = &detail_table},
};
static const struct sl_table attempt_table = {SL_TABLE_FIELDS(attempt_fields),
                                              .begin = attempt_begins, .end = attempt_ends};

static const struct sl_field job_fields[] = {
    {SL_FIELD_NAME("jobid"), .kind = SL_FIELD_STRING, .offset = offsetof(struct log_job, id)},
    {SL_FIELD_NAME("vc"), .kind = SL_FIELD_STRING, .offset = offsetof(struct log_job, vc)},
    {SL_FIELD_NAME("submitted_time"), .kind = SL_FIELD_TEXT, .value = take_submit},
    {SL_FIELD_NAME("attempts"), .kind = SL_FIELD_OBJECTS, .table = &attempt_table},
};
static const struct sl_table job_table = {SL_TABLE_FIELDS(job_fields), .begin = job_begins,
                                          .end = job_ends};

static const struct sl_field log_field = {.kind = SL_FIELD_OBJECTS, .table = &job_table};

int sl_philly_log_read(struct sl_str text,
                       int (*take)(void *context, const struct sl_trace_job *job,
                                   struct sl_error *err),
                       void *context, struct sl_error *err)
{
    const struct sl_text_limits limits = {
        .max_bytes = SIZE_MAX, .max_string = STRING_MAX, .max_depth = SL_WALK_DEPTH_MAX};
    struct log_taker taker = {take, context};
    struct log_job job = {.submit_us = -1};
    struct sl_arena arena;
    struct sl_walker walker;
    sl_arena_init(&arena, JOB_TEXT_MAX);
    sl_walk_init(&walker, &log_field, &job, &arena, &taker);
    struct sl_json *json = sl_json_new(&limits, sl_walk_receive, &walker);
    int rc = json == NULL ? sl_error_nomem(err) : 0;
    if (rc == 0 && (sl_json_feed(json, text.len > 0 ? text.s : "", text.len, err) < 0 ||
                    sl_json_finish(json, err) < 0)) {
        rc = -1;
    }
    sl_json_free(json);
    sl_arena_free(&arena);
    return rc;
}
