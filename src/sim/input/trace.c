/* Traces. Where the formats come from: openb is Alibaba's cluster-trace-gpu-v2023, philly the
 * workload of Muri (Zhao et al., SIGCOMM'22) after Microsoft's, adaptdl that of Pollux (Qiao et
 * al., OSDI'21). */
#include "sim/input/trace.h"

#include <stdio.h>

#include "sim/input/csv/record.h"
#include "sim/input/generate.h"
#include "util/time.h"

enum { GPUS_MAX = 100000, MILLI = 1000 };

static const char whole_gpu[] = "nvidia.com/gpu";
static const char gpu_share[] = "aliyun.com/gpu-mem";

struct reader {
    struct sl_workload *workload;
    struct sl_rng rng;
    int64_t gpus_per_pod;
};

/* What a format says of a job. */
struct record {
    struct sl_trace_job job;
    int64_t gpus;
    int64_t milli; /* of one GPU */
    int64_t begin_us;
    int64_t end_us;
    int64_t priority;
    struct sl_str application;
};

#define AT(member)          .at = offsetof(struct record, member)
#define TEXT(member)        .kind = SL_FIELD_TEXT, AT(member)
#define COUNT(member, most) .kind = SL_FIELD_INTEGER, AT(member), .min = 0, .max = (most)
#define PRIORITY                                                                                   \
    {                                                                                              \
        "priority", .kind = SL_FIELD_INTEGER, AT(priority), .min = INT32_MIN, .max = INT32_MAX,    \
                    .need = SL_FIELD_OPTIONAL                                                      \
    }

/* ---- for all formats ---- */

/* A job of many GPUs as pods. */
static int add_gang(struct reader *reader, const struct sl_trace_job *facts, struct sl_error *err)
{
    int64_t most = reader->gpus_per_pod;
    int64_t left = facts->count;
    for (int part = 0; left > 0; part++) {
        struct sl_trace_job pod = *facts;
        char name[320];
        pod.count = left < most ? left : most;
        if (facts->count > most) {
            (void)snprintf(name, sizeof(name), "%.*s-%d", (int)facts->name.len, facts->name.s,
                           part);
            pod.name = sl_str_of(name);
        }
        if (sl_workload_add(reader->workload, &pod, err) < 0) {
            return -1;
        }
        left -= pod.count;
    }
    return 0;
}

static int pass_over(struct reader *reader)
{
    reader->workload->passed_over++;
    return 0;
}

/* ---- openb ---- */

static const struct sl_field openb_fields[] = {
    {"name", TEXT(job.name), .need = SL_FIELD_COLUMN},
    {"num_gpu", COUNT(gpus, GPUS_MAX)},
    {"gpu_milli", COUNT(milli, MILLI), .need = SL_FIELD_COLUMN},
    {"cpu_milli", COUNT(job.cpu_milli, INT32_MAX), .need = SL_FIELD_COLUMN},
    {"memory_mib", COUNT(job.memory_mib, INT32_MAX), .need = SL_FIELD_COLUMN},
    {"gpu_spec", TEXT(job.models), .need = SL_FIELD_OPTIONAL},
    {"creation_time", SL_FIELD_SECONDS, AT(job.submit_us)},
    {"deletion_time", SL_FIELD_SECONDS, AT(end_us)},
    {"scheduled_time", SL_FIELD_SECONDS, AT(begin_us), .need = SL_FIELD_OPTIONAL},
};

/* Run time: from when it was scheduled (else created) to when it was deleted. */
static int openb_job(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct reader *reader = context;
    struct record *record = taken;
    struct sl_trace_job *job = &record->job;
    int64_t begin_us = record->begin_us < 0 ? job->submit_us : record->begin_us;
    if (record->end_us < begin_us) {
        return sl_record_wrong(csv, "deletion_time", "a time that is not before the pod's start",
                               err);
    }
    if (record->gpus == 0) {
        return pass_over(reader);
    }
    bool share = record->gpus == 1 && record->milli > 0 && record->milli < MILLI;
    job->run_us = record->end_us > begin_us ? record->end_us - begin_us : SL_SECOND_US;
    job->resource = sl_str_of(share ? gpu_share : whole_gpu);
    job->count = share ? record->milli : record->gpus;
    return sl_workload_add(reader->workload, job, err);
}

/* ---- philly ---- */

static const struct sl_field philly_fields[] = {
    {"job_id", TEXT(job.name), .need = SL_FIELD_COLUMN},
    {"num_gpu", COUNT(job.count, GPUS_MAX)},
    {"submit_time", SL_FIELD_MS, AT(job.submit_us)},
    {"duration", SL_FIELD_MS, AT(job.run_us)},
    PRIORITY,
};

static int philly_job(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct reader *reader = context;
    struct record *record = taken;
    struct sl_str id = record->job.name;
    char name[64];
    (void)csv;
    if (record->job.count == 0 || record->job.run_us == 0) {
        return pass_over(reader);
    }
    (void)snprintf(name, sizeof(name), "job-%.*s", id.len < 40 ? (int)id.len : 40,
                   id.len > 0 ? id.s : "");
    record->job.name = sl_str_of(name);
    record->job.priority = (int32_t)record->priority;
    return add_gang(reader, &record->job, err);
}

/* ---- adaptdl ---- */

/* Pollux, table 1: GPU-hours of a job of each application, as powers of ten. */
static const struct application {
    const char *name;
    double low;
    double high;
} applications[] = {
    {"imagenet", 2, 3}, {"yolov3", 1, 2},   {"deepspeech2", 0, 1},
    {"bert", 0, 1},     {"cifar10", -1, 0}, {"ncf", -1, 0},
};

static const struct sl_field adaptdl_fields[] = {
    {"name", TEXT(job.name), .need = SL_FIELD_COLUMN},
    {"num_replicas", .kind = SL_FIELD_INTEGER, AT(job.count), .min = 1, .max = GPUS_MAX},
    {"time", SL_FIELD_SECONDS, AT(job.submit_us)},
    {"application", TEXT(application), .need = SL_FIELD_COLUMN},
    {"duration", SL_FIELD_SECONDS, AT(end_us), .need = SL_FIELD_OPTIONAL},
};

static int adaptdl_draw(struct reader *reader, struct record *record, const struct sl_csv *csv,
                        struct sl_error *err)
{
    size_t n = sizeof(applications) / sizeof(applications[0]);
    size_t at = 0;
    while (at < n && !sl_str_eq(record->application, sl_str_of(applications[at].name))) {
        at++;
    }
    if (at == n) {
        return sl_record_wrong(csv, "application",
                               "imagenet, yolov3, deepspeech2, bert, cifar10 or ncf (for others "
                               "give a column \"duration\")",
                               err);
    }
    /* GPU-hours over GPUs: seconds */
    static const double log10_3600 = 3.556302500767287;
    struct sl_distribution hours = {SL_DISTRIBUTION_LOGUNIFORM, applications[at].low + log10_3600,
                                    applications[at].high + log10_3600};
    record->job.run_us = sl_distribution_draw(&hours, &reader->rng) / record->job.count;
    return 0;
}

static int adaptdl_job(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct reader *reader = context;
    struct record *record = taken;
    record->job.run_us = record->end_us;
    if (record->end_us < 0 && adaptdl_draw(reader, record, csv, err) < 0) {
        return -1;
    }
    return add_gang(reader, &record->job, err);
}

/* ---- csv ---- */

static const struct sl_field csv_fields[] = {
    {"name", TEXT(job.name), .need = SL_FIELD_OPTIONAL},
    {"submit", SL_FIELD_MOMENT, AT(job.submit_us)},
    {"duration", SL_FIELD_DURATION, AT(job.run_us)},
    {"timeout", SL_FIELD_DURATION, AT(job.timeout_us), .need = SL_FIELD_OPTIONAL},
    PRIORITY,
    {"resource", TEXT(job.resource), .need = SL_FIELD_OPTIONAL},
    {"count", COUNT(job.count, INT32_MAX), .need = SL_FIELD_OPTIONAL},
    {"namespace", TEXT(job.namespace), .need = SL_FIELD_OPTIONAL},
    {"cpu_milli", COUNT(job.cpu_milli, INT32_MAX), .need = SL_FIELD_OPTIONAL},
    {"memory_mib", COUNT(job.memory_mib, INT32_MAX), .need = SL_FIELD_OPTIONAL},
    {"models", TEXT(job.models), .need = SL_FIELD_OPTIONAL},
    {"after", TEXT(job.after), .need = SL_FIELD_OPTIONAL},
};

static int csv_job(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct reader *reader = context;
    struct record *record = taken;
    struct sl_trace_job *job = &record->job;
    struct sl_resource parsed;
    if (!sl_resource_parse(job->resource, &parsed) || parsed.inventory) {
        return sl_record_wrong(csv, "resource",
                               "a resource that sliced schedules, such as nvidia.com/gpu, "
                               "nvidia.com/mig-1g.5gb or aliyun.com/gpu-mem",
                               err);
    }
    if (job->count == 0) {
        return pass_over(reader);
    }
    job->priority = (int32_t)record->priority;
    job->line = csv->line;
    job->column = job->after.len > 0 ? csv->place[sl_csv_column(csv, "after")] : 0;
    return sl_workload_add(reader->workload, job, err);
}

/* ---- the table ---- */

static const struct format {
    const char *name;
    int (*job)(void *context, void *record, const struct sl_csv *csv, struct sl_error *err);
    const struct sl_field *field;
    size_t n;
    bool random;
    bool ours; /* its users write it for sliced: another column may be a mistake */
} formats[] = {
#define FIELDS(fields) fields, sizeof(fields) / sizeof((fields)[0])
    {"openb", openb_job, FIELDS(openb_fields), .random = false},
    {"philly", philly_job, FIELDS(philly_fields), .random = false},
    {"adaptdl", adaptdl_job, FIELDS(adaptdl_fields), .random = true},
    {"csv", csv_job, FIELDS(csv_fields), .ours = true},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

bool sl_trace_split(const char *text, struct sl_str *format, const char **file)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text || colon[1] == '\0') {
        return false;
    }
    *format = (struct sl_str){text, (size_t)(colon - text)};
    *file = colon + 1;
    return true;
}

static const struct format *format_find(const char *text, const char **file)
{
    struct sl_str name;
    if (!sl_trace_split(text, &name, file)) {
        return NULL;
    }
    for (size_t i = 0; i < FORMATS; i++) {
        if (sl_str_eq(name, sl_str_of(formats[i].name))) {
            return &formats[i];
        }
    }
    return NULL;
}

bool sl_trace_random(const char *format_and_file)
{
    const char *file = NULL;
    const struct format *format = format_find(format_and_file, &file);
    return format != NULL && format->random;
}

/* Lists the columns that the format does not have, for a note. */
static int note_unread(const struct sl_records *records, const struct sl_csv *csv,
                       struct sl_workload *workload, struct sl_error *err)
{
    struct sl_buf list;
    sl_buf_init(&list, (size_t)SL_CSV_COLUMNS_MAX * 1024);
    for (unsigned i = 0; i < csv->n_columns; i++) {
        if (!sl_records_know(records, csv->column[i])) {
            sl_buf_printf(&list, "%s%.*s", list.len > 0 ? ", " : "", (int)csv->column[i].len,
                          csv->column[i].s);
        }
    }
    if (list.len > 0) {
        workload->unread = sl_arena_strdup(&workload->arena, list.data, list.len);
    }
    bool lacking = list.failed != SL_BUF_OK || (list.len > 0 && workload->unread == NULL);
    sl_buf_free(&list);
    return lacking ? sl_error_nomem(err) : 0;
}

static int read_jobs(struct reader *reader, const struct format *format, struct sl_csv *csv,
                     struct sl_error *err)
{
    struct record record = {
        .job = {.resource = sl_str_of(whole_gpu), .count = 1},
        .milli = MILLI,
        .begin_us = -1,
        .end_us = -1,
    };
    const struct sl_records records = {
        .field = format->field,
        .n = format->n,
        .take = format->job,
        .record = &record,
        .size = sizeof(record),
        .context = reader,
    };
    if (sl_records_take(&records, csv, err) < 0 ||
        (format->ours && note_unread(&records, csv, reader->workload, err) < 0)) {
        return -1;
    }
    return sl_workload_finish(reader->workload, err);
}

static const struct format *format_need(const char *format_and_file, const char **file,
                                        struct sl_error *err)
{
    const struct format *format = format_find(format_and_file, file);
    if (format == NULL) {
        (void)sl_error_set(
            err, SL_ERR_FIELD,
            "\"%s\": expected FORMAT:FILE with a format of openb, philly, adaptdl, csv",
            format_and_file);
    }
    return format;
}

int sl_trace_load(const char *format_and_file, struct sl_buf *out, struct sl_error *err)
{
    const char *file = NULL;
    if (format_need(format_and_file, &file, err) == NULL) {
        return -1;
    }
    sl_buf_init(out, (size_t)SL_CSV_FILE_MAX + 1);
    return sl_file_read(file, out, err) < 0 ? sl_csv_locate(file, err) : 0;
}

int sl_trace_read(const char *format_and_file, const struct sl_trace_how *how,
                  struct sl_workload *out, struct sl_error *err)
{
    const char *file = NULL;
    const struct format *format = format_need(format_and_file, &file, err);
    struct reader reader = {.workload = out,
                            .gpus_per_pod =
                                how->gpus_per_pod > 0 ? how->gpus_per_pod : SL_TRACE_GPUS_PER_POD};
    if (format == NULL) {
        return -1;
    }
    struct sl_csv csv;
    int rc = how->text == NULL ? sl_csv_open(&csv, file, err)
                               : sl_csv_parse(&csv, how->text->data, how->text->len, err);
    if (rc == 0) {
        sl_rng_seed(&reader.rng, how->seed, 0);
        rc = read_jobs(&reader, format, &csv, err);
        sl_csv_close(&csv);
    }
    return rc < 0 ? sl_csv_locate(file, err) : 0;
}
