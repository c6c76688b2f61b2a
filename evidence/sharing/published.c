/* The runs of Ferikoglou et al.: how each job's memory grew while it ran alone, and what their
 * schedulers made of 30 of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/shape/data.h"
#include "evidence/sharing/jobs.h"
#include "sim/input/csv/record.h"
#include "sim/input/rng.h"

enum {
    GPU_MIB = 32510, /* of their V100, as their scheduler counted */
    PEAK_MIB = 6994, /* of each job */
    IDLE_MIB = 100,  /* below it no job holds the GPU */
    SAMPLES_MAX = 1 << 20,
    JOBS_MAX = 4096,
    LAST_S = 86400, /* at which a job may come */
    PATH_TEXT = 4096,
};

/* How often they over-provisioned: an ask of 100 % more is twice the peak. */
static const int percent[SL_SHARING_PUBLISHED] = {0, 100, 200};

/* One figure by the second. */
struct track {
    double *value;
    size_t n;
};

struct reading {
    struct sl_sharing_published *out;
    const char *folder;
    double busy_sum[SL_SHARING_TOGETHER]; /* by jobs together */
    double watts_sum[SL_SHARING_TOGETHER];
    double n[SL_SHARING_TOGETHER];
};

static int file_read(const struct reading *reading, const char *name, struct sl_buf *text,
                     struct sl_error *err)
{
    char path[PATH_TEXT];
    sl_buf_init(text, SL_CSV_FILE_MAX);
    if (sl_ferikoglou_path(reading->folder, name, path, sizeof(path), err) < 0 ||
        sl_input_read(path, text, err) < 0) {
        return -1;
    }
    sl_buf_putc(text, '\0');
    return text->failed == SL_BUF_OK ? 0 : sl_error_nomem(err);
}

/* Lines of "second,value" without a header. */
static int track_read(const struct reading *reading, const char *name, struct track *out,
                      struct sl_error *err)
{
    struct sl_buf text;
    unsigned line = 0;
    int rc = file_read(reading, name, &text, err);
    out->value = rc == 0 ? malloc((text.len / 2 + 1) * sizeof(*out->value)) : NULL;
    out->n = 0;
    if (rc == 0 && out->value == NULL) {
        rc = sl_error_nomem(err);
    }
    for (char *at = text.data; rc == 0 && *at != '\0'; at += *at == '\n') {
        size_t len = strcspn(at, "\n");
        char *comma = memchr(at, ',', len);
        char *end = NULL;
        double value = comma == NULL ? -1 : strtod(comma + 1, &end);
        line++;
        if (comma == NULL || end == comma + 1 || !(value >= 0 && value < INT32_MAX)) {
            rc = sl_error_set(err, SL_ERR_TYPE,
                              "%s:%u: expected \"SECOND,VALUE\", the value 0 or more", name, line);
            break;
        }
        out->value[out->n++] = value;
        at += len;
    }
    sl_buf_free(&text);
    return rc;
}

/* Names as "OVERPROV_100_dcgm_fb_used_combined_DEFAULT.csv". */
static int track_of(const struct reading *reading, unsigned ask, const char *what,
                    const char *scheduler, struct track *out, struct sl_error *err)
{
    char name[128];
    (void)snprintf(name, sizeof(name), "OVERPROV_%d_dcgm_%s_combined_%s.csv", percent[ask], what,
                   scheduler);
    return track_read(reading, name, out, err);
}

/* ---- the jobs ---- */

struct arrival {
    int64_t submit_s;
    int64_t mib;
};

static const struct sl_field fields[] = {
    {"arrival_s", SL_FIELD_INTEGER, .at = offsetof(struct arrival, submit_s), .max = LAST_S},
    {"mem_request_mib_at_0pct", SL_FIELD_INTEGER, .at = offsetof(struct arrival, mib), .min = 1,
     .max = GPU_MIB},
};

struct arrivals {
    struct sl_sharing_load *load;
    int over; /* percent */
};

static int take_arrival(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    const struct arrivals *arrivals = context;
    const struct arrival *arrival = taken;
    struct sl_sharing_load *load = arrivals->load;
    int64_t mib = arrival->mib * (100 + arrivals->over) / 100;
    if (load->n == JOBS_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d jobs", JOBS_MAX);
    }
    if (mib > GPU_MIB) {
        return sl_record_wrong(csv, fields[1].column, "an ask that a GPU can hold", err);
    }
    load->job[load->n].submit_s = arrival->submit_s;
    load->job[load->n++].ask_mib = (int32_t)mib;
    return 0;
}

static int arrivals_read(const struct reading *reading, struct sl_sharing_load *load, int over,
                         struct sl_error *err)
{
    char path[PATH_TEXT];
    struct arrival arrival = {0, 0};
    struct arrivals arrivals = {load, over};
    const struct sl_records records = SL_RECORDS(fields, take_arrival, arrival, &arrivals);
    return sl_ferikoglou_path(reading->folder, "arrivals.csv", path, sizeof(path), err) < 0
               ? -1
               : sl_records_read(&records, path, err);
}

/* Cuts a run of one job after the other into their lives, until each job has one. */
static int lives_cut(const struct track *mib, struct sl_sharing_load *load, struct sl_error *err)
{
    int32_t life[SL_SHARING_LIFE_MAX];
    uint32_t n = 0;
    uint32_t length = 0;
    for (size_t i = 0; i <= mib->n && n < load->n; i++) {
        double value = i < mib->n ? mib->value[i] : 0;
        if (value > GPU_MIB || length == SL_SHARING_LIFE_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "a job of more than %d MiB, or longer than %d s",
                                GPU_MIB, SL_SHARING_LIFE_MAX - 1);
        }
        if (value >= IDLE_MIB) {
            life[length++] = (int32_t)value;
            continue;
        }
        if (length == 0) {
            continue;
        }
        load->job[n].length = length;
        if (sl_sharing_life_add(load, &load->job[n], life, err) < 0) {
            return -1;
        }
        length = 0;
        n++;
    }
    if (n < load->n) {
        return sl_error_set(err, SL_ERR_FIELD, "expected %u jobs one after the other, found %u",
                            load->n, n);
    }
    sl_sharing_life_settle(load);
    return 0;
}

static int alone_read(struct reading *reading, unsigned ask, struct sl_error *err)
{
    struct sl_sharing_load *load = &reading->out->alone[ask];
    struct track mib = {NULL, 0};
    *load =
        (struct sl_sharing_load){.product = "Tesla-V100-SXM2-32GB", .gpus = 1, .gpu_mib = GPU_MIB};
    load->job = calloc(JOBS_MAX + 1, sizeof(*load->job));
    if (load->job == NULL) {
        return sl_error_nomem(err);
    }
    int rc = arrivals_read(reading, load, percent[ask], err);
    rc = rc < 0 ? rc : track_of(reading, ask, "fb_used", "DEFAULT", &mib, err);
    rc = rc < 0 ? rc : lives_cut(&mib, load, err);
    free(mib.value);
    return rc;
}

/* ---- what their schedulers made of them ---- */

/* Sums up "Name = value" lines: a number, or hours, minutes and seconds. */
static double report_sum(const char *text, const char *name, unsigned *n)
{
    double sum = 0;
    *n = 0;
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
        double value = 0;
        const char *number = strchr(at, '=');
        for (int part = 0; number != NULL && part < 3; part++) {
            char *end = NULL;
            value = value * 60 + strtod(number + 1, &end);
            number = end != NULL && *end == ':' ? end : NULL;
        }
        sum += value;
        (*n)++;
    }
    return sum;
}

static int run_read(struct reading *reading, unsigned ask, const char *scheduler,
                    struct sl_sharing_run *out, struct sl_error *err)
{
    char name[128];
    struct sl_buf text;
    struct track mib = {NULL, 0};
    struct track busy = {NULL, 0};
    struct track watts = {NULL, 0};
    unsigned n = 0;
    (void)snprintf(name, sizeof(name), "OVERPROV_%d_WORKLOAD_%s.txt", percent[ask], scheduler);
    int rc = file_read(reading, name, &text, err);
    rc = rc < 0 ? rc : track_of(reading, ask, "fb_used", scheduler, &mib, err);
    rc = rc < 0 ? rc : track_of(reading, ask, "gpu_utilization", scheduler, &busy, err);
    rc = rc < 0 ? rc : track_of(reading, ask, "power_usage", scheduler, &watts, err);
    if (rc == 0) {
        out->restarts = (unsigned)report_sum(text.data, "Container Restart Count", &n);
        out->pending_s = report_sum(text.data, "Pod_Start_Time - Pod_Creation_Timestamp", &n);
        out->pending_s /= n > 0 ? n : 1;
        out->makespan_s = (double)mib.n;
    }
    for (size_t i = 0; rc == 0 && i < mib.n && i < busy.n && i < watts.n; i++) {
        double together = floor(mib.value[i] / PEAK_MIB + 0.5);
        size_t at = together < SL_SHARING_TOGETHER ? (size_t)together : SL_SHARING_TOGETHER - 1;
        out->memory += mib.value[i] / GPU_MIB / (double)mib.n;
        out->busy += busy.value[i] / 100 / (double)mib.n;
        reading->busy_sum[at] += busy.value[i] / 100;
        out->energy_kj += watts.value[i] / 1000;
        reading->watts_sum[at] += watts.value[i];
        reading->n[at]++;
    }
    sl_buf_free(&text);
    free(mib.value);
    free(busy.value);
    free(watts.value);
    return rc;
}

/* A GPU is as busy with n jobs, and draws as much, as theirs was; with more than they ever ran, as
 * with the most. */
static void busy_settle(struct reading *reading)
{
    double busy[SL_SHARING_TOGETHER] = {0};
    double watts[SL_SHARING_TOGETHER] = {0};
    for (size_t i = 0; i < SL_SHARING_TOGETHER; i++) {
        double n = reading->n[i];
        busy[i] = i == 0 ? 0 : n > 0 ? reading->busy_sum[i] / n : busy[i - 1];
        watts[i] = n > 0 ? reading->watts_sum[i] / n : i == 0 ? 0 : watts[i - 1];
    }
    for (unsigned ask = 0; ask < SL_SHARING_PUBLISHED; ask++) {
        struct sl_sharing_load *load = &reading->out->alone[ask];
        memcpy(load->busy_with, busy, sizeof(busy));
        memcpy(load->watts_with, watts, sizeof(watts));
        for (uint32_t i = 0; i < load->n; i++) {
            load->job[i].busy = busy[1];
        }
    }
}

struct sl_sharing_published *sl_sharing_published_read(const char *folder, struct sl_error *err)
{
    struct reading reading = {.out = calloc(1, sizeof(*reading.out)), .folder = folder};
    struct sl_sharing_run alone;
    int rc = 0;
    if (reading.out == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    for (unsigned ask = 0; rc == 0 && ask < SL_SHARING_PUBLISHED; ask++) {
        alone = (struct sl_sharing_run){.restarts = 0};
        rc = alone_read(&reading, ask, err);
        rc = rc < 0 ? rc : run_read(&reading, ask, "DEFAULT", &alone, err);
        rc = rc < 0 ? rc : run_read(&reading, ask, "ALIBABA", &reading.out->asks[ask], err);
        rc = rc < 0 ? rc : run_read(&reading, ask, "CUSTSCHED", &reading.out->cbp_pp[ask], err);
    }
    if (rc < 0) {
        sl_sharing_published_free(reading.out);
        return NULL;
    }
    busy_settle(&reading);
    return reading.out;
}

void sl_sharing_published_free(struct sl_sharing_published *published)
{
    for (unsigned i = 0; published != NULL && i < SL_SHARING_PUBLISHED; i++) {
        sl_sharing_load_free(&published->alone[i]);
    }
    free(published);
}

int sl_sharing_published_load(const struct sl_sharing_published *published, unsigned ask,
                              uint64_t seed, struct sl_sharing_load *out, struct sl_error *err)
{
    const struct sl_sharing_load *alone = &published->alone[ask];
    struct sl_rng rng;
    *out = *alone;
    out->mib = NULL; /* stays theirs */
    out->job = malloc((alone->n + 1) * sizeof(*out->job));
    if (out->job == NULL) {
        out->n = 0;
        return sl_error_nomem(err);
    }
    memcpy(out->job, alone->job, alone->n * sizeof(*out->job));
    sl_rng_seed(&rng, seed, 1);
    for (uint32_t i = alone->n; i > 1; i--) {
        struct sl_sharing_job *a = &out->job[i - 1];
        struct sl_sharing_job *b = &out->job[sl_rng_below(&rng, i)];
        struct sl_sharing_job kept = *a;
        *a = (struct sl_sharing_job){a->submit_s, a->ask_mib, a->image, a->busy,
                                     b->length,   b->use,     b->ahead};
        *b = (struct sl_sharing_job){b->submit_s, b->ask_mib, b->image,  b->busy,
                                     kept.length, kept.use,   kept.ahead};
    }
    return 0;
}
