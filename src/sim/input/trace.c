/* Traces. Where the formats come from: openb is Alibaba's cluster-trace-gpu-v2023, philly the
 * workload of Muri (Zhao et al., SIGCOMM'22) after Microsoft's, adaptdl that of Pollux (Qiao et
 * al., OSDI'21). */
#include "sim/input/trace.h"

#include <stdio.h>

#include "sim/input/csv.h"
#include "sim/input/generate.h"
#include "sliced/timeout.h"
#include "util/time.h"
#include "util/timestamp.h"

enum { COLUMNS_MAX = 13, GPUS_MAX = 100000, MILLI = 1000 };

static const char whole_gpu[] = "nvidia.com/gpu";
static const char gpu_share[] = "aliyun.com/gpu-mem";

struct reader {
    struct sl_csv csv;
    int column[COLUMNS_MAX]; /* as the format lists them; -1: not there */
    struct sl_workload *workload;
    struct sl_rng rng;
    int64_t gpus_per_pod;
};

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

static struct sl_str text_of(const struct reader *reader, int column)
{
    return sl_csv_has(&reader->csv, column) ? reader->csv.field[column] : (struct sl_str){NULL, 0};
}

static int time_of(const struct reader *reader, int column, int64_t unit, int64_t *out,
                   struct sl_error *err)
{
    return sl_csv_time(&reader->csv, column, unit, out, err);
}

/* Reads seconds, or a duration with its units, such as 1h30m. */
static int duration_of(const struct reader *reader, int column, int64_t *out, struct sl_error *err)
{
    struct sl_str text = reader->csv.field[column];
    int64_t seconds = 0;
    bool has_unit = text.len > 0 && text.s[text.len - 1] > '9';
    if (!has_unit) {
        return time_of(reader, column, SL_SECOND_US, out, err);
    }
    if (!sl_timeout_parse(text, &seconds)) {
        return sl_csv_wrong(&reader->csv, column, "seconds, or a duration such as 1h30m", err);
    }
    *out = seconds * SL_SECOND_US;
    return 0;
}

/* Reads a date with time, as "2026-11-21 12:38:09" or by RFC 3339 (UTC if it has no zone), or
 * seconds. */
static int moment_of(const struct reader *reader, int column, int64_t *out, struct sl_error *err)
{
    struct sl_str text = reader->csv.field[column];
    char stamp[48];
    if (text.len < 19 || text.len + 2 > sizeof(stamp) || text.s[4] != '-') {
        return time_of(reader, column, SL_SECOND_US, out, err);
    }
    bool zoned = strchr("zZ", text.s[text.len - 1]) != NULL ||
                 memchr(text.s + 10, '+', text.len - 10) != NULL ||
                 memchr(text.s + 10, '-', text.len - 10) != NULL;
    (void)snprintf(stamp, sizeof(stamp), "%.*s%s", (int)text.len, text.s, zoned ? "" : "Z");
    stamp[10] = stamp[10] == ' ' ? 'T' : stamp[10];
    if (!sl_time_parse(sl_str_of(stamp), out) || *out < 0) {
        return sl_csv_wrong(&reader->csv, column, "seconds, or a time such as 2026-11-21 12:38:09",
                            err);
    }
    return 0;
}

/* Reads an integer; leaves *out as it is if the field is empty or missing. */
static int optional_of(const struct reader *reader, int column, int64_t min, int64_t max,
                       int64_t *out, struct sl_error *err)
{
    return sl_csv_has(&reader->csv, column) ? sl_csv_i64(&reader->csv, column, min, max, out, err)
                                            : 0;
}

/* ---- openb ---- */

enum openb {
    OPENB_NAME,
    OPENB_CPU,
    OPENB_MEMORY,
    OPENB_GPUS,
    OPENB_MILLI,
    OPENB_SPEC,
    OPENB_CREATED,
    OPENB_DELETED,
    OPENB_SCHEDULED
};

/* Run time: from when it was scheduled (else created) to when it was deleted. */
static int openb_times(struct reader *reader, struct sl_trace_job *facts, struct sl_error *err)
{
    const int *column = reader->column;
    int64_t begin_us = 0;
    int64_t end_us = 0;
    if (time_of(reader, column[OPENB_CREATED], SL_SECOND_US, &facts->submit_us, err) < 0 ||
        time_of(reader, column[OPENB_DELETED], SL_SECOND_US, &end_us, err) < 0) {
        return -1;
    }
    begin_us = facts->submit_us;
    if (sl_csv_has(&reader->csv, column[OPENB_SCHEDULED]) &&
        time_of(reader, column[OPENB_SCHEDULED], SL_SECOND_US, &begin_us, err) < 0) {
        return -1;
    }
    if (end_us < begin_us) {
        return sl_csv_wrong(&reader->csv, column[OPENB_DELETED],
                            "a time that is not before the pod's start", err);
    }
    facts->run_us = end_us > begin_us ? end_us - begin_us : SL_SECOND_US;
    return 0;
}

static int openb_job(struct reader *reader, struct sl_error *err)
{
    const int *column = reader->column;
    struct sl_trace_job facts = {.name = text_of(reader, column[OPENB_NAME]),
                                 .models = text_of(reader, column[OPENB_SPEC])};
    int64_t gpus = 0;
    int64_t milli = MILLI;
    if (sl_csv_i64(&reader->csv, column[OPENB_GPUS], 0, GPUS_MAX, &gpus, err) < 0 ||
        optional_of(reader, column[OPENB_MILLI], 0, MILLI, &milli, err) < 0 ||
        optional_of(reader, column[OPENB_CPU], 0, INT32_MAX, &facts.cpu_milli, err) < 0 ||
        optional_of(reader, column[OPENB_MEMORY], 0, INT32_MAX, &facts.memory_mib, err) < 0 ||
        openb_times(reader, &facts, err) < 0) {
        return -1;
    }
    if (gpus == 0) {
        reader->workload->passed_over++;
        return 0;
    }
    bool share = gpus == 1 && milli > 0 && milli < MILLI;
    facts.resource = sl_str_of(share ? gpu_share : whole_gpu);
    facts.count = share ? milli : gpus;
    return sl_workload_add(reader->workload, &facts, err);
}

/* ---- philly ---- */

enum philly { PHILLY_NAME, PHILLY_GPUS, PHILLY_SUBMIT, PHILLY_DURATION, PHILLY_PRIORITY };

static int philly_job(struct reader *reader, struct sl_error *err)
{
    const int *column = reader->column;
    char name[64];
    struct sl_str id = text_of(reader, column[PHILLY_NAME]);
    int64_t priority = 0;
    struct sl_trace_job facts = {.resource = SL_STR("nvidia.com/gpu")};
    (void)snprintf(name, sizeof(name), "job-%.*s", id.len < 40 ? (int)id.len : 40,
                   id.len > 0 ? id.s : "");
    facts.name = sl_str_of(name);
    if (sl_csv_i64(&reader->csv, column[PHILLY_GPUS], 0, GPUS_MAX, &facts.count, err) < 0 ||
        time_of(reader, column[PHILLY_SUBMIT], SL_MS_US, &facts.submit_us, err) < 0 ||
        time_of(reader, column[PHILLY_DURATION], SL_MS_US, &facts.run_us, err) < 0 ||
        optional_of(reader, column[PHILLY_PRIORITY], INT32_MIN, INT32_MAX, &priority, err) < 0) {
        return -1;
    }
    facts.priority = (int32_t)priority;
    if (facts.count == 0 || facts.run_us == 0) {
        reader->workload->passed_over++;
        return 0;
    }
    return add_gang(reader, &facts, err);
}

/* ---- adaptdl ---- */

enum adaptdl { ADAPTDL_NAME, ADAPTDL_SUBMIT, ADAPTDL_APPLICATION, ADAPTDL_GPUS, ADAPTDL_DURATION };

/* Pollux, table 1: GPU-hours of a job of each application, as powers of ten. */
static const struct application {
    const char *name;
    double low;
    double high;
} applications[] = {
    {"imagenet", 2, 3}, {"yolov3", 1, 2},   {"deepspeech2", 0, 1},
    {"bert", 0, 1},     {"cifar10", -1, 0}, {"ncf", -1, 0},
};

static int adaptdl_runtime(struct reader *reader, struct sl_trace_job *facts, struct sl_error *err)
{
    const int *column = reader->column;
    struct sl_str name = text_of(reader, column[ADAPTDL_APPLICATION]);
    size_t n = sizeof(applications) / sizeof(applications[0]);
    size_t at = 0;
    if (sl_csv_has(&reader->csv, column[ADAPTDL_DURATION])) {
        return time_of(reader, column[ADAPTDL_DURATION], SL_SECOND_US, &facts->run_us, err);
    }
    while (at < n && !sl_str_eq(name, sl_str_of(applications[at].name))) {
        at++;
    }
    if (at == n) {
        return sl_csv_wrong(&reader->csv, column[ADAPTDL_APPLICATION],
                            "imagenet, yolov3, deepspeech2, bert, cifar10 or ncf (for others give "
                            "a column \"duration\")",
                            err);
    }
    /* GPU-hours over GPUs: seconds */
    static const double log10_3600 = 3.556302500767287;
    struct sl_distribution hours = {SL_DISTRIBUTION_LOGUNIFORM, applications[at].low + log10_3600,
                                    applications[at].high + log10_3600};
    facts->run_us = sl_distribution_draw(&hours, &reader->rng) / facts->count;
    return 0;
}

static int adaptdl_job(struct reader *reader, struct sl_error *err)
{
    const int *column = reader->column;
    struct sl_trace_job facts = {.name = text_of(reader, column[ADAPTDL_NAME]),
                                 .resource = SL_STR("nvidia.com/gpu")};
    if (sl_csv_i64(&reader->csv, column[ADAPTDL_GPUS], 1, GPUS_MAX, &facts.count, err) < 0 ||
        time_of(reader, column[ADAPTDL_SUBMIT], SL_SECOND_US, &facts.submit_us, err) < 0 ||
        adaptdl_runtime(reader, &facts, err) < 0) {
        return -1;
    }
    return add_gang(reader, &facts, err);
}

/* ---- csv ---- */

enum csv {
    CSV_NAME,
    CSV_SUBMIT,
    CSV_DURATION,
    CSV_TIMEOUT,
    CSV_PRIORITY,
    CSV_RESOURCE,
    CSV_COUNT,
    CSV_NAMESPACE,
    CSV_CPU,
    CSV_MEMORY,
    CSV_MODELS,
    CSV_AFTER
};

static int csv_resource(const struct reader *reader, struct sl_trace_job *facts,
                        struct sl_error *err)
{
    int column = reader->column[CSV_RESOURCE];
    struct sl_resource parsed;
    facts->resource = SL_STR("nvidia.com/gpu");
    if (!sl_csv_has(&reader->csv, column)) {
        return 0;
    }
    facts->resource = reader->csv.field[column];
    if (!sl_resource_parse(facts->resource, &parsed) || parsed.inventory) {
        return sl_csv_wrong(&reader->csv, column,
                            "a resource that sliced schedules, such as nvidia.com/gpu, "
                            "nvidia.com/mig-1g.5gb or aliyun.com/gpu-mem",
                            err);
    }
    return 0;
}

static int csv_job(struct reader *reader, struct sl_error *err)
{
    const int *column = reader->column;
    int64_t priority = 0;
    struct sl_trace_job facts = {.name = text_of(reader, column[CSV_NAME]),
                                 .namespace = text_of(reader, column[CSV_NAMESPACE]),
                                 .models = text_of(reader, column[CSV_MODELS]),
                                 .after = text_of(reader, column[CSV_AFTER]),
                                 .count = 1};
    if (moment_of(reader, column[CSV_SUBMIT], &facts.submit_us, err) < 0 ||
        duration_of(reader, column[CSV_DURATION], &facts.run_us, err) < 0 ||
        (sl_csv_has(&reader->csv, column[CSV_TIMEOUT]) &&
         duration_of(reader, column[CSV_TIMEOUT], &facts.timeout_us, err) < 0) ||
        optional_of(reader, column[CSV_PRIORITY], INT32_MIN, INT32_MAX, &priority, err) < 0 ||
        optional_of(reader, column[CSV_COUNT], 0, INT32_MAX, &facts.count, err) < 0 ||
        optional_of(reader, column[CSV_CPU], 0, INT32_MAX, &facts.cpu_milli, err) < 0 ||
        optional_of(reader, column[CSV_MEMORY], 0, INT32_MAX, &facts.memory_mib, err) < 0 ||
        csv_resource(reader, &facts, err) < 0) {
        return -1;
    }
    if (facts.count == 0) {
        reader->workload->passed_over++;
        return 0;
    }
    facts.priority = (int32_t)priority;
    facts.line = reader->csv.line;
    facts.column = facts.after.len > 0 ? reader->csv.place[column[CSV_AFTER]] : 0;
    return sl_workload_add(reader->workload, &facts, err);
}

/* ---- the table ---- */

static const struct format {
    const char *name;
    int (*job)(struct reader *reader, struct sl_error *err);
    bool random;
    bool ours; /* its users write it for sliced: another column may be a mistake */
    struct {
        const char *name;
        bool optional;
    } column[COLUMNS_MAX];
} formats[] = {
    {"openb",
     openb_job,
     false,
     false,
     {[OPENB_NAME] = {"name", false},
      [OPENB_CPU] = {"cpu_milli", false},
      [OPENB_MEMORY] = {"memory_mib", false},
      [OPENB_GPUS] = {"num_gpu", false},
      [OPENB_MILLI] = {"gpu_milli", false},
      [OPENB_SPEC] = {"gpu_spec", true},
      [OPENB_CREATED] = {"creation_time", false},
      [OPENB_DELETED] = {"deletion_time", false},
      [OPENB_SCHEDULED] = {"scheduled_time", true}}},
    {"philly",
     philly_job,
     false,
     false,
     {[PHILLY_NAME] = {"job_id", false},
      [PHILLY_GPUS] = {"num_gpu", false},
      [PHILLY_SUBMIT] = {"submit_time", false},
      [PHILLY_DURATION] = {"duration", false},
      [PHILLY_PRIORITY] = {"priority", true}}},
    {"adaptdl",
     adaptdl_job,
     true,
     false,
     {[ADAPTDL_NAME] = {"name", false},
      [ADAPTDL_SUBMIT] = {"time", false},
      [ADAPTDL_APPLICATION] = {"application", false},
      [ADAPTDL_GPUS] = {"num_replicas", false},
      [ADAPTDL_DURATION] = {"duration", true}}},
    {"csv",
     csv_job,
     false,
     true,
     {[CSV_NAME] = {"name", true},
      [CSV_SUBMIT] = {"submit", false},
      [CSV_DURATION] = {"duration", false},
      [CSV_TIMEOUT] = {"timeout", true},
      [CSV_PRIORITY] = {"priority", true},
      [CSV_RESOURCE] = {"resource", true},
      [CSV_COUNT] = {"count", true},
      [CSV_NAMESPACE] = {"namespace", true},
      [CSV_CPU] = {"cpu_milli", true},
      [CSV_MEMORY] = {"memory_mib", true},
      [CSV_MODELS] = {"models", true},
      [CSV_AFTER] = {"after", true}}},
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

static bool column_is_known(const struct format *format, struct sl_str name)
{
    for (unsigned i = 0; i < COLUMNS_MAX; i++) {
        if (format->column[i].name != NULL && sl_str_eq(name, sl_str_of(format->column[i].name))) {
            return true;
        }
    }
    return false;
}

/* Lists the columns that the format does not have, for a note. */
static int note_unread(const struct reader *reader, const struct format *format,
                       struct sl_error *err)
{
    const struct sl_csv *csv = &reader->csv;
    struct sl_workload *workload = reader->workload;
    struct sl_buf list;
    sl_buf_init(&list, (size_t)SL_CSV_COLUMNS_MAX * 1024);
    for (unsigned i = 0; i < csv->n_columns && format->ours; i++) {
        if (!column_is_known(format, csv->column[i])) {
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

/* Finds the file's columns. An optional column in another spelling counts as absent. */
static int find_columns(struct reader *reader, const struct format *format, struct sl_error *err)
{
    for (unsigned i = 0; i < COLUMNS_MAX; i++) {
        const char *name = format->column[i].name;
        reader->column[i] = name == NULL ? -1 : sl_csv_column(&reader->csv, name);
        if (name != NULL && reader->column[i] < 0 && !format->column[i].optional) {
            return sl_csv_need(&reader->csv, name, err);
        }
    }
    return note_unread(reader, format, err);
}

static int read_jobs(struct reader *reader, const struct format *format, struct sl_error *err)
{
    int rc = find_columns(reader, format, err);
    if (rc == 0) {
        rc = sl_csv_next(&reader->csv, err);
    }
    while (rc == 1) {
        if (format->job(reader, err) < 0) {
            if (err != NULL && err->line == 0) {
                err->line = reader->csv.line;
                err->column = 1;
            }
            return -1;
        }
        rc = sl_csv_next(&reader->csv, err);
    }
    return rc < 0 ? -1 : sl_workload_finish(reader->workload, err);
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
    int rc = how->text == NULL ? sl_csv_open(&reader.csv, file, err)
                               : sl_csv_parse(&reader.csv, how->text->data, how->text->len, err);
    if (rc < 0) {
        return sl_csv_locate(file, err);
    }
    sl_rng_seed(&reader.rng, how->seed, 0);
    rc = read_jobs(&reader, format, err);
    sl_csv_close(&reader.csv);
    return rc < 0 ? sl_csv_locate(file, err) : 0;
}
