/* Walks the job log of Microsoft's Philly trace. */
#include "sim/input/philly_log.h"

#include "codec/stream/json.h"
#include "codec/stream/walker.h"
#include "sim/input/csv/csv.h"

enum { JOB_TEXT_MAX = 1 << 20, STRING_MAX = 4096 };

struct log_job {
    struct sl_str id;
    struct sl_str vc;
    struct sl_str submitted;
    struct sl_str start; /* of the current attempt, as the next two */
    struct sl_str end;
    int64_t attempt_gpus;
    int64_t gpus;
    int64_t run_us;
};

struct log_taker {
    int (*take)(void *context, const struct sl_trace_job *job, struct sl_error *err);
    void *context;
};

/* *out is -1 where it is not known: null, empty or the text None. */
static int moment(struct sl_walker *walker, struct sl_str text, int64_t *out,
                  const struct sl_event *event, struct sl_error *err)
{
    *out = -1;
    if (text.len == 0 || sl_str_eq(text, SL_STR("None")) || sl_csv_parse_date(text, out)) {
        return SL_EVENT_GO;
    }
    return sl_walk_fail(walker, event, err, SL_ERR_FIELD,
                        "expected times such as 2017-10-07 01:12:09, found \"%.40s\"", text.s);
}

static int gpu_seen(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    (void)walker;
    (void)event;
    (void)err;
    ((struct log_job *)target)->attempt_gpus++;
    return SL_EVENT_GO;
}

static int attempt_ends(struct sl_walker *walker, void *target, const struct sl_event *event,
                        struct sl_error *err)
{
    struct log_job *job = target;
    int64_t start_us = -1;
    int64_t end_us = -1;
    if (moment(walker, job->start, &start_us, event, err) < 0 ||
        moment(walker, job->end, &end_us, event, err) < 0) {
        return SL_EVENT_FAIL;
    }
    job->gpus = job->attempt_gpus > 0 ? job->attempt_gpus : job->gpus;
    job->run_us += start_us >= 0 && end_us > start_us ? end_us - start_us : 0;
    job->attempt_gpus = 0;
    job->start = job->end = (struct sl_str){NULL, 0};
    return SL_EVENT_GO;
}

static int job_ends(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    const struct log_taker *taker = walker->context;
    struct log_job *job = target;
    struct sl_trace_job facts = {.name = job->id,
                                 .namespace = job->vc,
                                 .resource = SL_STR("nvidia.com/gpu"),
                                 .count = job->gpus,
                                 .run_us = job->run_us};
    if (moment(walker, job->submitted, &facts.submit_us, event, err) < 0) {
        return SL_EVENT_FAIL;
    }
    if (facts.submit_us < 0) {
        return sl_walk_missing(walker, event, err, "submitted_time");
    }
    if (taker->take(taker->context, &facts, err) < 0) {
        sl_walk_place(walker, event, err);
        return SL_EVENT_FAIL;
    }
    sl_arena_reset(walker->arena);
    *job = (struct log_job){.gpus = 0};
    return SL_EVENT_GO;
}

#define TEXT(name, member)                                                                         \
    {                                                                                              \
        SL_FIELD_NAME(name), .kind = SL_FIELD_STRING, .offset = offsetof(struct log_job, member)   \
    }

static const struct sl_field detail_fields[] = {
    {SL_FIELD_NAME("gpus"), .kind = SL_FIELD_TEXTS, .value = gpu_seen},
};
static const struct sl_table detail_table = {SL_TABLE_FIELDS(detail_fields)};

static const struct sl_field attempt_fields[] = {
    TEXT("start_time", start),
    TEXT("end_time", end),
    {SL_FIELD_NAME("detail"), .kind = SL_FIELD_OBJECTS, .table = &detail_table},
};
static const struct sl_table attempt_table = {SL_TABLE_FIELDS(attempt_fields), .end = attempt_ends};

static const struct sl_field job_fields[] = {
    TEXT("jobid", id),
    TEXT("vc", vc),
    TEXT("submitted_time", submitted),
    {SL_FIELD_NAME("attempts"), .kind = SL_FIELD_OBJECTS, .table = &attempt_table},
};
static const struct sl_table job_table = {SL_TABLE_FIELDS(job_fields), .end = job_ends};

static const struct sl_field log_field = {.kind = SL_FIELD_OBJECTS, .table = &job_table};

int sl_philly_log_read(const struct sl_buf *text,
                       int (*take)(void *context, const struct sl_trace_job *job,
                                   struct sl_error *err),
                       void *context, struct sl_error *err)
{
    const struct sl_text_limits limits = {
        .max_bytes = SIZE_MAX, .max_string = STRING_MAX, .max_depth = SL_WALK_DEPTH_MAX};
    struct log_taker taker = {take, context};
    struct log_job job = {.gpus = 0};
    struct sl_arena arena;
    struct sl_walker walker;
    sl_arena_init(&arena, JOB_TEXT_MAX);
    sl_walk_init(&walker, &log_field, &job, &arena, &taker);
    int rc = sl_json_parse((struct sl_str){text->data, text->len}, &limits, sl_walk_receive,
                           &walker, err);
    sl_arena_free(&arena);
    return rc;
}
