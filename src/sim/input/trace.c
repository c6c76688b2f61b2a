/* Traces. Where the formats come from: openb is Alibaba's cluster-trace-gpu-v2023, philly the
 * workload of Muri (Zhao et al., SIGCOMM'22) after Microsoft's, whose own job log philly-log is
 * (Jeon et al., ATC'19), adaptdl that of Pollux (Qiao et al., OSDI'21), helios SenseTime's (Hu et
 * al., SC'21), pai Alibaba's cluster-trace-gpu-v2020 (Weng et al., NSDI'22), spot-gpu its
 * cluster-trace-v2026-spot-gpu (Duan et al., ASPLOS'26). */
#include "sim/input/trace.h"

#include <stdio.h>

#include "sim/input/csv/record.h"
#include "sim/input/generate.h"
#include "sim/input/philly_log.h"
#include "util/time.h"

enum { GPUS_MAX = 100000, POD_GPUS_MAX = 1000, CPUS_MAX = 1000000, GB_MAX = 1000000 };
enum { WORKERS_MAX = 20000, MILLI = 1000, OWNERS_MAX_BYTES = 1 << 30 };
enum { PATH_SIZE = 4096, NAME_SIZE = 320 };

static const char whole_gpu[] = "nvidia.com/gpu";
static const char gpu_share[] = "aliyun.com/gpu-mem";

struct reader {
    struct sl_workload *workload;
    struct sl_rng rng;
    int64_t gpus_per_pod;
    struct sl_csv owner_csv; /* texts of owners are its own */
    struct sl_map owners;    /* name of a job -> struct owner */
    struct sl_arena arena;   /* of owners */
};

/* What a format says of a job. */
struct record {
    struct sl_trace_job job;
    int64_t gpus;
    int64_t milli; /* of one GPU */
    int64_t begin_us;
    int64_t end_us;
    int64_t priority;
    int64_t workers; /* pods, each with the same ask */
    struct sl_str application;
    struct sl_str part; /* of the job */
};

#define AT(member)          .at = offsetof(struct record, member)
#define TEXT(member)        .kind = SL_FIELD_TEXT, AT(member)
#define COUNT(member, most) .kind = SL_FIELD_INTEGER, AT(member), .min = 0, .max = (most)
#define PARTS(member, most) .kind = SL_FIELD_THOUSANDTHS, AT(member), .max = (int64_t)(most)*MILLI
#define PRIORITY                                                                                   \
    {                                                                                              \
        "priority", .kind = SL_FIELD_INTEGER, AT(priority), .min = INT32_MIN, .max = INT32_MAX,    \
                    .need = SL_FIELD_OPTIONAL                                                      \
    }

/* ---- for all formats ---- */

static int pass_over(struct reader *reader)
{
    reader->workload->passed_over++;
    return 0;
}

/* A job of many GPUs as pods, which have equal parts of its CPU and memory for each GPU. */
static int add_gang(void *context, const struct sl_trace_job *facts, struct sl_error *err)
{
    struct reader *reader = context;
    bool whole = sl_str_eq(facts->resource, sl_str_of(whole_gpu));
    int64_t most = whole ? reader->gpus_per_pod : facts->count;
    int64_t left = facts->count;
    if (left == 0 || facts->run_us <= 0) {
        return pass_over(reader);
    }
    for (int part = 0; left > 0; part++) {
        struct sl_trace_job pod = *facts;
        char name[NAME_SIZE];
        pod.count = left < most ? left : most;
        if (facts->count > most) {
            pod.cpu_milli = facts->cpu_milli * pod.count / facts->count;
            pod.memory_mib = facts->memory_mib * pod.count / facts->count;
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

/* Workers that ask for so many thousandths of a GPU each: a share where that is less than one GPU,
 * else whole ones, rounded up. */
static int add_workers(struct reader *reader, struct record *record, struct sl_error *err)
{
    struct sl_trace_job *job = &record->job;
    struct sl_str base = job->name;
    char name[NAME_SIZE];
    bool share = record->milli < MILLI;
    if (record->milli == 0 || record->workers == 0 || job->run_us <= 0) {
        return pass_over(reader);
    }
    if (record->workers > WORKERS_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d pods", WORKERS_MAX);
    }
    job->resource = sl_str_of(share ? gpu_share : whole_gpu);
    job->count = share ? record->milli : (record->milli + MILLI - 1) / MILLI;
    for (int64_t i = 0; i < record->workers; i++) {
        if (record->workers > 1) {
            (void)snprintf(name, sizeof(name), "%.*s-%lld", (int)base.len, base.s, (long long)i);
            job->name = sl_str_of(name);
        }
        if (add_gang(reader, job, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* A name by the job's number, or by that of its record. */
static struct sl_str job_name(struct sl_str id, const struct sl_csv *csv, char name[64])
{
    if (id.len > 0) {
        (void)snprintf(name, 64, "job-%.*s", id.len < 40 ? (int)id.len : 40, id.s);
    } else {
        (void)snprintf(name, 64, "job-%u", csv->line - 1);
    }
    return sl_str_of(name);
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

/* ---- philly, vc: jobs of whole GPUs ---- */

static const struct sl_field philly_fields[] = {
    {"job_id", TEXT(job.name), .need = SL_FIELD_COLUMN},
    {"num_gpu", COUNT(job.count, GPUS_MAX)},
    {"submit_time", SL_FIELD_MS, AT(job.submit_us)},
    {"duration", SL_FIELD_MS, AT(job.run_us)},
    {"vc", TEXT(job.namespace), .need = SL_FIELD_OPTIONAL},
    PRIORITY,
};

static const struct sl_field vc_fields[] = {
    {"submit_s", SL_FIELD_SECONDS, AT(job.submit_us)},
    {"duration_s", SL_FIELD_SECONDS, AT(job.run_us)},
    {"gpus", COUNT(job.count, GPUS_MAX)},
    {"tenant", TEXT(job.namespace), .need = SL_FIELD_COLUMN},
};

static int gang_job(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct record *record = taken;
    char name[64];
    record->job.name = job_name(record->job.name, csv, name);
    record->job.priority = (int32_t)record->priority;
    return add_gang(context, &record->job, err);
}

/* ---- helios ---- */

static const struct sl_field helios_fields[] = {
    {"job_id", TEXT(job.name), .need = SL_FIELD_COLUMN},
    {"vc", TEXT(job.namespace), .need = SL_FIELD_COLUMN},
    {"gpu_num", COUNT(job.count, GPUS_MAX)},
    {"cpu_num", PARTS(job.cpu_milli, CPUS_MAX), .need = SL_FIELD_COLUMN},
    {"submit_time", SL_FIELD_MOMENT, AT(job.submit_us)},
    {"duration", SL_FIELD_SECONDS, AT(job.run_us), .need = SL_FIELD_COLUMN},
};

/* Names of its virtual clusters may differ in the case of letters (vcJkd), which namespaces do not
 * have: a capital becomes a hyphen and the small letter (vc-jkd), so that no two names become one.
 */
static int helios_job(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct record *record = taken;
    struct sl_str vc = record->job.namespace;
    char name[NAME_SIZE];
    size_t n = 0;
    for (size_t i = 0; i < vc.len && n + 2 <= sizeof(name); i++) {
        bool capital = vc.s[i] >= 'A' && vc.s[i] <= 'Z';
        if (capital) {
            name[n++] = '-';
        }
        name[n++] = (char)(capital ? vc.s[i] - 'A' + 'a' : vc.s[i]);
    }
    record->job.namespace = (struct sl_str){name, n};
    return gang_job(context, record, csv, err);
}

/* ---- pai ---- */

static const char pai_task_header[] =
    "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n";
static const char pai_job_header[] = "job_name,inst_id,user,status,start_time,end_time\n";

/* A job, as the table of jobs has it. */
struct owner {
    struct sl_str job;
    struct sl_str user;
    int64_t submit_us; /* -1: nothing */
};

static const struct sl_field pai_owner_fields[] = {
#define OF_OWNER(member) .at = offsetof(struct owner, member)
    {"job_name", SL_FIELD_TEXT, OF_OWNER(job)},
    {"user", SL_FIELD_TEXT, OF_OWNER(user), .need = SL_FIELD_COLUMN},
    {"start_time", SL_FIELD_SECONDS, OF_OWNER(submit_us), .need = SL_FIELD_COLUMN},
};

static int pai_owner(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct reader *reader = context;
    struct owner *owner = sl_arena_alloc(&reader->arena, sizeof(*owner));
    (void)csv;
    if (owner == NULL) {
        return sl_error_nomem(err);
    }
    *owner = *(struct owner *)taken;
    return sl_map_put(&reader->owners, owner->job.s, owner->job.len, owner, NULL) < 0
               ? sl_error_nomem(err)
               : 0;
}

static int pai_owners_read(struct reader *reader, const char *file, struct sl_error *err)
{
    struct owner fresh = {.submit_us = -1};
    const struct sl_records records = SL_RECORDS(pai_owner_fields, pai_owner, fresh, reader);
    return sl_csv_open(&reader->owner_csv, file, pai_job_header, err) < 0 ||
                   sl_records_take(&records, &reader->owner_csv, err) < 0
               ? sl_error_locate(err, file)
               : 0;
}

/* A percentage there becomes thousandths in two steps: 50.0 is read as 50000. */
static const struct sl_field pai_fields[] = {
    {"job_name", TEXT(job.name)},
    {"task_name", TEXT(part), .need = SL_FIELD_COLUMN},
    {"inst_num", COUNT(workers, INT32_MAX), .need = SL_FIELD_COLUMN},
    {"start_time", SL_FIELD_SECONDS, AT(begin_us), .need = SL_FIELD_COLUMN},
    {"end_time", SL_FIELD_SECONDS, AT(end_us), .need = SL_FIELD_COLUMN},
    {"plan_cpu", PARTS(job.cpu_milli, 100 * CPUS_MAX), .need = SL_FIELD_COLUMN},
    {"plan_mem", PARTS(job.memory_mib, GB_MAX), .need = SL_FIELD_COLUMN},
    {"plan_gpu", PARTS(gpus, 100 * POD_GPUS_MAX), .need = SL_FIELD_COLUMN},
};

/* The instances of a task. A job's start there is its submission, a task's that of its pods. */
static int pai_task(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct reader *reader = context;
    struct record *record = taken;
    struct sl_trace_job *job = &record->job;
    const struct owner *owner = sl_map_get(&reader->owners, job->name.s, job->name.len);
    char name[NAME_SIZE];
    (void)csv;
    if (record->begin_us < 0 || (reader->owners.len > 0 && owner == NULL)) {
        return pass_over(reader);
    }
    bool queued = owner != NULL && owner->submit_us >= 0 && owner->submit_us < record->begin_us;
    job->submit_us = queued ? owner->submit_us : record->begin_us;
    job->namespace = owner != NULL ? owner->user : job->namespace;
    job->run_us = record->end_us - record->begin_us;
    job->cpu_milli /= 100;
    job->memory_mib = job->memory_mib * 1024 / MILLI;
    record->milli = record->gpus / 100;
    (void)snprintf(name, sizeof(name), "%.*s-%.*s", (int)job->name.len, job->name.s,
                   (int)record->part.len, record->part.len > 0 ? record->part.s : "");
    job->name = sl_str_of(name);
    return add_workers(reader, record, err);
}

/* ---- spot-gpu ---- */

static const struct sl_field spot_fields[] = {
    {"job_name", TEXT(job.name), .need = SL_FIELD_COLUMN},
    {"organization", TEXT(job.namespace), .need = SL_FIELD_COLUMN},
    {"gpu_model", TEXT(job.models), .need = SL_FIELD_COLUMN},
    {"cpu_request", PARTS(job.cpu_milli, CPUS_MAX), .need = SL_FIELD_COLUMN},
    {"gpu_request", PARTS(milli, POD_GPUS_MAX)},
    {"worker_num", COUNT(workers, INT32_MAX)},
    {"submit_time", SL_FIELD_SECONDS, AT(job.submit_us)},
    {"duration", SL_FIELD_SECONDS, AT(job.run_us), .need = SL_FIELD_COLUMN},
    {"job_type", TEXT(part), .need = SL_FIELD_COLUMN},
};

static int spot_job(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct record *record = taken;
    char name[64];
    record->job.name = job_name(record->job.name, csv, name);
    record->job.priority = sl_str_eq(record->part, SL_STR("HP")) ? 1 : 0;
    return add_workers(context, record, err);
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
    {"tenant", TEXT(job.namespace), .need = SL_FIELD_OPTIONAL}, /* the same: one of both */
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
    const char *header; /* of files that have none */
    /* Reads the file behind a comma: who owns the jobs. */
    int (*owners)(struct reader *reader, const char *file, struct sl_error *err);
    bool random;
    bool ours; /* its users write it for sliced: another column may be a mistake */
} formats[] = {
#define FIELDS(fields) fields, sizeof(fields) / sizeof((fields)[0])
    {"csv", csv_job, FIELDS(csv_fields), .ours = true},
    {"openb", openb_job, FIELDS(openb_fields), .random = false},
    {"philly", gang_job, FIELDS(philly_fields), .random = false},
    {"philly-log", NULL, NULL, 0, .random = false}, /* JSON */
    {"vc", gang_job, FIELDS(vc_fields), .random = false},
    {"helios", helios_job, FIELDS(helios_fields), .random = false},
    {"pai", pai_task, FIELDS(pai_fields), .header = pai_task_header, .owners = pai_owners_read},
    {"spot-gpu", spot_job, FIELDS(spot_fields), .random = false},
    {"adaptdl", adaptdl_job, FIELDS(adaptdl_fields), .random = true},
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

static int read_records(struct reader *reader, const struct format *format, struct sl_csv *csv,
                        struct sl_error *err)
{
    struct record record = {
        .job = {.resource = sl_str_of(whole_gpu), .count = 1},
        .milli = MILLI,
        .workers = 1,
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
    return sl_records_take(&records, csv, err) < 0 ||
                   (format->ours && note_unread(&records, csv, reader->workload, err) < 0)
               ? -1
               : 0;
}

/* text is what was read of the file; NULL: nothing yet. */
static int read_jobs(struct reader *reader, const struct format *format, const char *file,
                     const struct sl_buf *text, struct sl_error *err)
{
    struct sl_csv csv;
    int rc = 0;
    sl_csv_init(&csv);
    if (text != NULL) {
        sl_buf_append(&csv.text, text->data, text->len);
        rc = csv.text.failed == SL_BUF_OK ? 0 : sl_error_nomem(err);
    } else {
        rc = sl_input_read(file, &csv.text, err);
    }
    if (rc == 0 && format->job == NULL) {
        rc = sl_philly_log_read(&csv.text, add_gang, reader, err);
    } else if (rc == 0) {
        rc = sl_csv_begin(&csv, format->header, err) < 0 ? -1
                                                         : read_records(reader, format, &csv, err);
    }
    sl_csv_close(&csv);
    return rc;
}

static const struct format *format_need(const char *format_and_file, const char **file,
                                        struct sl_error *err)
{
    const struct format *format = format_find(format_and_file, file);
    if (format == NULL) {
        (void)sl_error_set(err, SL_ERR_FIELD,
                           "\"%s\": expected FORMAT:FILE with a format of csv, openb, philly, "
                           "philly-log, vc, helios, pai, spot-gpu, adaptdl",
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
    return sl_input_read(file, out, err) < 0 ? sl_error_locate(err, file) : 0;
}

int sl_trace_read(const char *format_and_file, const struct sl_trace_how *how,
                  struct sl_workload *out, struct sl_error *err)
{
    char first[PATH_SIZE];
    const char *file = NULL;
    const struct format *format = format_need(format_and_file, &file, err);
    struct reader reader = {.workload = out,
                            .gpus_per_pod =
                                how->gpus_per_pod > 0 ? how->gpus_per_pod : SL_TRACE_GPUS_PER_POD};
    if (format == NULL) {
        return -1;
    }
    int rc = 0;
    const char *comma = format->owners != NULL ? strchr(file, ',') : NULL;
    sl_arena_init(&reader.arena, OWNERS_MAX_BYTES);
    sl_rng_seed(&reader.rng, how->seed, 0);
    if (comma != NULL) {
        (void)snprintf(first, sizeof(first), "%.*s", (int)(comma - file), file);
        file = first;
        rc = format->owners(&reader, comma + 1, err);
    }
    if (rc == 0 && (read_jobs(&reader, format, file, how->text, err) < 0 ||
                    sl_workload_finish(out, err) < 0)) {
        rc = sl_error_locate(err, file);
    }
    sl_csv_close(&reader.owner_csv);
    sl_map_free(&reader.owners);
    sl_arena_free(&reader.arena);
    return rc;
}
