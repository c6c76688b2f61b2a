/* Tenants on Philly's virtual clusters: what each order gives a tenant, beside what the tenant has
 * alone on its share. sliced's own orders are played by its engine, on nodes of eight GPUs. The
 * orders that it does not offer (dominant resource fairness, decayed usage) are played here, on
 * units without nodes, with EASY backfill too. Timeouts are the run times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/experiments.h"
#include "sim/input/trace.h"
#include "sim/play/loop.h"
#include "sim/play/policy.h"
#include "util/data/heap.h"

enum { TENANTS_MAX = 64, SETTINGS = 4, PATH = 512 };
static const double half_life_s = 7 * 86400.0; /* of usage: Slurm's, unless it is told another */
static const double worse = 1.01;              /* times what it is alone */

static const struct setting {
    double load;
    double power; /* a tenant's share goes by its load to that power */
} settings[SETTINGS] = {{0.94, 0.5}, {1.08, 0.5}, {0.94, 0}, {0.94, 1}};

enum { FIFO, SJF, DRF, DECAY, BOUNDED, TENANTS, ORDERS };
static const struct {
    const char *name;
    const char *policy; /* of the engine; NULL: played here */
} orders[ORDERS] = {
    [FIFO] = {"fifo", "fifo"},          [SJF] = {"sjf", "sjf"},
    [DRF] = {"DRF, then sjf", NULL},    [DECAY] = {"decayed usage, then sjf", NULL},
    [BOUNDED] = {"bounded", "bounded"}, [TENANTS] = {"tenants", "bounded"},
};

struct tenant {
    const char *name;
    size_t jobs;
    double work;   /* GPU-seconds */
    int64_t share; /* GPUs */
};

struct figures {
    double start;
    double end;
    double late; /* after its start on the share, as it was told; below 0: not told */
};

struct data {
    struct sl_workload jobs;
    size_t *tenant_of; /* by job */
    struct tenant tenant[TENANTS_MAX];
    size_t n_tenants;
    double work;
    double span;
    int64_t gpus;
    struct sl_tenants *tenants;
    struct figures *alone;          /* by job */
    struct figures *figure[ORDERS]; /* by job */
};

static int64_t width_of(const struct data *data, size_t job)
{
    return data->jobs.ask[data->jobs.job[job].ask].count;
}

/* ---- the engine ---- */

static int engine_play(const struct sl_workload *jobs, int64_t gpus, const char *policy,
                       const struct sl_tenants *tenants, struct figures *out, struct sl_error *err)
{
    char text[32];
    struct sl_fleet fleet;
    struct sl_policy how;
    struct sl_sim_run run;
    sl_fleet_init(&fleet);
    (void)snprintf(text, sizeof(text), "%lld", (long long)gpus);
    int rc = sl_policy_parse(sl_str_of(policy), &how, err);
    rc = rc < 0 ? rc : sl_fleet_gpus(&fleet, text, err);
    rc = rc < 0 ? rc : sl_fleet_finish(&fleet, err);
    if (rc == 0) {
        how.engine.plan.tenants = tenants;
        const struct sl_sim_input input = {
            .workload = jobs, .fleet = &fleet, .engine = &how.engine};
        rc = sl_sim_run(&input, &run, err);
        for (size_t i = 0; i < run.n && rc == 0; i++) {
            const struct sl_sim_job *job = &run.job[i];
            int64_t due_us = job->due_us < 0 ? job->start_us : job->due_us;
            out[i] = (struct figures){
                (double)job->start_us / SL_SECOND_US, (double)job->end_us / SL_SECOND_US,
                tenants == NULL ? -1 : (double)(job->start_us - due_us) / SL_SECOND_US};
            if (run.job[i].outcome != SL_SIM_DONE) {
                rc = sl_error_set(err, SL_ERR_FIELD, "job %zu did not run to its end", i);
            }
        }
        sl_sim_run_free(&run);
    }
    sl_fleet_free(&fleet);
    return rc;
}

/* A job wider than the share has all of it, for as much longer. */
static int alone_play(struct data *data, size_t tenant, struct sl_error *err)
{
    struct sl_workload jobs;
    int64_t share = data->tenant[tenant].share;
    struct figures *figure = calloc(data->tenant[tenant].jobs + 1, sizeof(*figure));
    int rc = 0;
    if (figure == NULL) {
        return sl_error_nomem(err);
    }
    sl_workload_init(&jobs);
    for (size_t i = 0; i < data->jobs.n && rc == 0; i++) {
        const struct sl_job *job = &data->jobs.job[i];
        int64_t width = width_of(data, i);
        struct sl_trace_job facts = {
            .resource = SL_STR("nvidia.com/gpu"),
            .count = width < share ? width : share,
            .submit_us = job->submit_us,
            .run_us = width < share ? job->run_us : job->run_us / share * width,
        };
        rc = data->tenant_of[i] == tenant ? sl_workload_add(&jobs, &facts, err) : 0;
    }
    int64_t first_us = rc < 0 || jobs.n == 0 ? 0 : jobs.job[0].submit_us;
    rc = rc < 0 ? rc : sl_workload_finish(&jobs, err);
    rc = rc < 0 ? rc : engine_play(&jobs, share, "bounded", NULL, figure, err);
    size_t n = 0;
    for (size_t i = 0; i < data->jobs.n && rc == 0; i++) {
        if (data->tenant_of[i] == tenant) {
            double shift = (double)first_us / SL_SECOND_US;
            data->alone[i] = (struct figures){figure[n].start + shift, figure[n].end + shift, -1};
            n++;
        }
    }
    sl_workload_free(&jobs);
    free(figure);
    return rc;
}

/* ---- orders that sliced does not offer ---- */

struct run {
    double end;
    size_t job;
};

struct play {
    const struct data *data;
    bool decays;
    double now;
    int64_t free;
    struct run *run; /* heap by end */
    struct run *later;
    size_t n_runs;
    size_t *wait[TENANTS_MAX]; /* by length */
    size_t n_wait[TENANTS_MAX];
    double used[TENANTS_MAX]; /* units; of usage that decays, unit-seconds too */
    double usage[TENANTS_MAX];
};

static bool ends_before(const void *a, const void *b, const void *context)
{
    const struct run *x = a;
    const struct run *y = b;
    (void)context;
    return x->end != y->end ? x->end < y->end : x->job < y->job;
}

static const struct sl_heap_rule by_end = {.size = sizeof(struct run), .is_before = ends_before};

static double run_of(const struct play *play, size_t job)
{
    return (double)play->data->jobs.job[job].run_us / SL_SECOND_US;
}

static void advance(struct play *play, double now)
{
    double decay = pow(0.5, (now - play->now) / half_life_s);
    for (size_t i = 0; i < play->data->n_tenants; i++) {
        play->usage[i] = play->usage[i] * decay + play->used[i] * (now - play->now);
    }
    play->now = now;
}

static void start_job(struct play *play, struct figures *out, size_t job)
{
    const struct data *data = play->data;
    out[job] = (struct figures){play->now, play->now + run_of(play, job), -1};
    play->free -= width_of(data, job);
    play->used[data->tenant_of[job]] += (double)width_of(data, job);
    play->run[play->n_runs] = (struct run){out[job].end, job};
    play->n_runs++;
    sl_heap_fix(&by_end, play->run, play->n_runs, play->n_runs - 1);
}

/* When that many units are free, and how many more. */
static double shadow_of(struct play *play, int64_t width, int64_t *more)
{
    size_t n = play->n_runs;
    int64_t free = play->free;
    double at = play->now;
    memcpy(play->later, play->run, n * sizeof(*play->run));
    while (free < width && n > 0) {
        at = play->later[0].end;
        free += width_of(play->data, play->later[0].job);
        n--;
        play->later[0] = play->later[n];
        sl_heap_fix(&by_end, play->later, n, 0);
    }
    *more = free - width;
    return at;
}

/* The tenant with the least for its share among those with jobs left in this pass. */
static size_t next_tenant(const struct play *play, const size_t *at)
{
    size_t best = TENANTS_MAX;
    double least = INFINITY;
    for (size_t i = 0; i < play->data->n_tenants; i++) {
        double has =
            (play->decays ? play->usage[i] : play->used[i]) / (double)play->data->tenant[i].share;
        if (at[i] < play->n_wait[i] && has < least) {
            best = i;
            least = has;
        }
    }
    return best;
}

/* One pass: jobs that start leave the queues. */
static void pass(struct play *play, struct figures *out)
{
    size_t at[TENANTS_MAX] = {0};
    size_t kept[TENANTS_MAX] = {0};
    double shadow = INFINITY;
    int64_t more = INT64_MAX;
    size_t t = next_tenant(play, at);
    while (t < TENANTS_MAX && play->free > 0) {
        size_t job = play->wait[t][at[t]];
        int64_t width = width_of(play->data, job);
        bool ends = play->now + run_of(play, job) <= shadow;
        at[t]++;
        if (width <= play->free && (ends || width <= more)) {
            more -= ends ? 0 : width;
            start_job(play, out, job);
        } else {
            play->wait[t][kept[t]] = job;
            kept[t]++;
            shadow = shadow == INFINITY ? shadow_of(play, width, &more) : shadow;
        }
        t = next_tenant(play, at);
    }
    for (size_t i = 0; i < play->data->n_tenants; i++) {
        memmove(play->wait[i] + kept[i], play->wait[i] + at[i],
                (play->n_wait[i] - at[i]) * sizeof(size_t));
        play->n_wait[i] -= at[i] - kept[i];
    }
}

static void queue_job(struct play *play, size_t job)
{
    size_t tenant = play->data->tenant_of[job];
    size_t *wait = play->wait[tenant];
    size_t at = play->n_wait[tenant];
    for (; at > 0 && run_of(play, wait[at - 1]) > run_of(play, job); at--) {
        wait[at] = wait[at - 1];
    }
    wait[at] = job;
    play->n_wait[tenant]++;
}

static int usage_play(const struct data *data, bool decays, struct figures *out,
                      struct sl_error *err)
{
    size_t n = data->jobs.n;
    struct play play = {.data = data, .decays = decays, .free = data->gpus};
    play.run = calloc(2 * n + 2, sizeof(*play.run));
    size_t *room = calloc(n + 1, sizeof(*room));
    play.later = play.run + n + 1;
    int rc = play.run == NULL || room == NULL ? sl_error_nomem(err) : 0;
    size_t used = 0;
    for (size_t i = 0; i < data->n_tenants && rc == 0; i++) {
        play.wait[i] = room + used;
        used += data->tenant[i].jobs;
    }
    for (size_t next = 0; rc == 0 && (next < n || play.n_runs > 0);) {
        double submit = next < n ? (double)data->jobs.job[next].submit_us / SL_SECOND_US : INFINITY;
        double end = play.n_runs > 0 ? play.run[0].end : INFINITY;
        advance(&play, submit < end ? submit : end);
        while (play.n_runs > 0 && play.run[0].end <= play.now) {
            size_t job = play.run[0].job;
            play.free += width_of(data, job);
            play.used[data->tenant_of[job]] -= (double)width_of(data, job);
            play.n_runs--;
            play.run[0] = play.run[play.n_runs];
            sl_heap_fix(&by_end, play.run, play.n_runs, 0);
        }
        for (; next < n && (double)data->jobs.job[next].submit_us / SL_SECOND_US <= play.now;
             next++) {
            queue_job(&play, next);
        }
        pass(&play, out);
    }
    free(play.run);
    free(room);
    return rc;
}

/* ---- the data ---- */

static size_t tenant_of(struct data *data, const char *name)
{
    size_t i = 0;
    while (i < data->n_tenants && strcmp(data->tenant[i].name, name) != 0) {
        i++;
    }
    if (i == data->n_tenants && i < TENANTS_MAX) {
        data->tenant[i].name = name;
        data->n_tenants++;
    }
    return i;
}

static int data_read(struct data *data, const char *folder, struct sl_error *err)
{
    char path[PATH];
    const struct sl_trace_how how = {.gpus_per_pod = SL_TRACE_GPUS_PER_POD};
    (void)snprintf(path, sizeof(path), "vc:%s/philly/vc.csv", folder);
    if (sl_trace_read(path, &how, &data->jobs, err) < 0) {
        return -1;
    }
    size_t n = data->jobs.n;
    data->tenant_of = calloc(n + 1, sizeof(*data->tenant_of));
    data->tenants = calloc(1, sizeof(*data->tenants));
    data->alone = calloc(n + 1, sizeof(*data->alone));
    bool whole = data->tenant_of != NULL && data->tenants != NULL && data->alone != NULL;
    for (int i = 0; i < ORDERS; i++) {
        data->figure[i] = calloc(n + 1, sizeof(*data->figure[i]));
        whole = whole && data->figure[i] != NULL;
    }
    if (!whole) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        size_t t = tenant_of(data, data->jobs.job[i].namespace);
        double work = (double)width_of(data, i) * (double)data->jobs.job[i].run_us / SL_SECOND_US;
        if (t == TENANTS_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "more than %d tenants", TENANTS_MAX);
        }
        data->tenant_of[i] = t;
        data->tenant[t].jobs++;
        data->tenant[t].work += work;
        data->work += work;
    }
    data->span = n == 0 ? 0 : (double)data->jobs.job[n - 1].submit_us / SL_SECOND_US;
    return data->span > 0 ? 0 : sl_error_set(err, SL_ERR_FIELD, "%s: all jobs at once", path);
}

/* Whole GPUs, one at least; what is left goes to those who lack most of one. */
static void share_out(struct data *data, const struct setting *setting)
{
    double part[TENANTS_MAX] = {0};
    double sum = 0;
    int64_t left = (int64_t)(data->work / data->span / setting->load);
    data->gpus = left;
    for (size_t i = 0; i < data->n_tenants; i++) {
        part[i] = pow(data->tenant[i].work, setting->power);
        sum += part[i];
    }
    for (size_t i = 0; i < data->n_tenants; i++) {
        part[i] *= (double)data->gpus / sum;
        data->tenant[i].share = part[i] < 1 ? 1 : (int64_t)part[i];
        part[i] -= (double)data->tenant[i].share;
        left -= data->tenant[i].share;
    }
    for (; left > 0; left--) {
        size_t most = 0;
        for (size_t i = 1; i < data->n_tenants; i++) {
            most = part[i] > part[most] ? i : most;
        }
        data->tenant[most].share++;
        part[most] -= 1;
    }
    data->tenants->n_shares = (uint8_t)data->n_tenants;
    data->tenants->n_spaces = (uint8_t)data->n_tenants;
    for (size_t i = 0; i < data->n_tenants; i++) {
        struct sl_tenant_share *share = &data->tenants->share[i];
        struct sl_tenant_space *space = &data->tenants->space[i];
        share->weight = data->tenant[i].share * SL_TENANT_WEIGHT_ONE;
        (void)snprintf(share->tenant, sizeof(share->tenant), "%s", data->tenant[i].name);
        (void)snprintf(space->tenant, sizeof(space->tenant), "%s", data->tenant[i].name);
        (void)snprintf(space->namespace, sizeof(space->namespace), "%s", data->tenant[i].name);
    }
}

static void data_free(struct data *data)
{
    sl_workload_free(&data->jobs);
    free(data->tenant_of);
    free(data->tenants);
    free(data->alone);
    for (int i = 0; i < ORDERS; i++) {
        free(data->figure[i]);
    }
    free(data);
}

/* ---- the report ---- */

enum {
    LOAD,
    SHARES,
    ORDER,
    TENANT,
    MEAN,
    OF_SJF,
    WORSE_MEAN,
    WORSE_LONGEST,
    LATE,
    LATEST,
    BEYOND,
    JAIN,
    RHO,
    LONGEST
};
static const struct sl_column columns[] = {
    [LOAD] = SL_COLUMN(NULL, "load", 2, 2),
    [SHARES] = SL_COLUMN(NULL, "sharesByLoadTo", 1, 1),
    [ORDER] = SL_COLUMN("", "order", 0, 0),
    [TENANT] = SL_COLUMN(NULL, "tenant", 0, 0),
    [MEAN] = SL_COLUMN("mean, h", "meanResponse", 2, 6),
    [OF_SJF] = SL_COLUMN("/ sjf's", "ofSjf", 3, 6),
    [WORSE_MEAN] = SL_COLUMN("worse in mean", "worseInMean", 0, 0),
    [WORSE_LONGEST] = SL_COLUMN("in longest", "worseInLongest", 0, 0),
    [LATE] = SL_COLUMN("late, p99 h", "lateP99", 2, 6),
    [LATEST] = SL_COLUMN("latest, h", "latest", 2, 6),
    [BEYOND] = SL_COLUMN("beyond R", "beyondR", 0, 0),
    [JAIN] = SL_COLUMN("Jain", "jain", 3, 6),
    [RHO] = SL_COLUMN("worst rho", "worstRho", 2, 6),
    [LONGEST] = SL_COLUMN(NULL, "longestWait", 2, 6),
};

enum { HOUR_S = 3600 };

struct sums {
    double response[TENANTS_MAX];
    double longest[TENANTS_MAX];
    double all;
    size_t jobs;
};

static void sum_up(const struct data *data, const struct figures *figure, struct sums *sums)
{
    *sums = (struct sums){.jobs = data->jobs.n};
    for (size_t i = 0; i < data->jobs.n; i++) {
        double submit = (double)data->jobs.job[i].submit_us / SL_SECOND_US;
        size_t t = data->tenant_of[i];
        double wait = figure[i].start - submit;
        sums->response[t] += figure[i].end - submit;
        sums->longest[t] = wait > sums->longest[t] ? wait : sums->longest[t];
        sums->all += figure[i].end - submit;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Had all runs of others ended that had begun when the job was due? */
static bool is_beyond(const struct data *data, const struct figures *figure, size_t job)
{
    double due = figure[job].start - figure[job].late;
    double last = due;
    for (size_t i = 0; i < data->jobs.n; i++) {
        bool ran = data->tenant_of[i] != data->tenant_of[job] && figure[i].start < due;
        last = ran && figure[i].end > last ? figure[i].end : last;
    }
    return figure[job].start > last;
}

static void put_lateness(const struct data *data, const struct figures *figure,
                         struct sl_rows *rows)
{
    size_t beyond = 0;
    double *late = calloc(data->jobs.n + 1, sizeof(*late));
    for (size_t i = 0; i < data->jobs.n && late != NULL; i++) {
        late[i] = figure[i].late >= 0 ? figure[i].late : figure[i].start - data->alone[i].start;
        late[i] = late[i] > 0 ? late[i] : 0;
        beyond += figure[i].late > 0 && is_beyond(data, figure, i);
    }
    if (late != NULL) {
        sl_rows_number(rows, BEYOND, (double)beyond);
        qsort(late, data->jobs.n, sizeof(*late), compare_doubles);
        sl_rows_number(rows, LATE, late[data->jobs.n * 99 / 100] / HOUR_S);
        sl_rows_number(rows, LATEST, late[data->jobs.n - 1] / HOUR_S);
    }
    free(late);
}

static void put_order(const struct data *data, const struct setting *setting, const char *name,
                      const struct figures *figure, struct sl_rows *rows)
{
    struct sums alone;
    struct sums sjf;
    struct sums is;
    double sum = 0;
    double squares = 0;
    double rho = 0;
    int worse_mean = 0;
    int worse_longest = 0;
    sum_up(data, data->alone, &alone);
    sum_up(data, data->figure[SJF], &sjf);
    sum_up(data, figure, &is);
    sl_rows_add(rows, SL_ROW_EVERYWHERE);
    sl_rows_number(rows, LOAD, setting->load);
    sl_rows_number(rows, SHARES, setting->power);
    sl_rows_text(rows, ORDER, "%s", name);
    sl_rows_number(rows, MEAN, is.all / (double)is.jobs / HOUR_S);
    sl_rows_number(rows, OF_SJF, is.all / sjf.all);
    for (size_t t = 0; t < data->n_tenants; t++) {
        double gain = alone.response[t] / is.response[t];
        sum += gain;
        squares += gain * gain;
        rho = 1 / gain > rho ? 1 / gain : rho;
        worse_mean += is.response[t] > worse * alone.response[t];
        worse_longest += is.longest[t] > worse * alone.longest[t];
    }
    sl_rows_number(rows, WORSE_MEAN, worse_mean);
    sl_rows_number(rows, WORSE_LONGEST, worse_longest);
    put_lateness(data, figure, rows);
    sl_rows_number(rows, JAIN, sum * sum / (double)data->n_tenants / squares);
    sl_rows_number(rows, RHO, rho);
    for (size_t t = 0; t < data->n_tenants; t++) {
        sl_rows_add(rows, SL_ROW_IN_DATA);
        sl_rows_number(rows, LOAD, setting->load);
        sl_rows_number(rows, SHARES, setting->power);
        sl_rows_text(rows, ORDER, "%s", name);
        sl_rows_text(rows, TENANT, "%s", data->tenant[t].name);
        sl_rows_number(rows, MEAN, is.response[t] / (double)data->tenant[t].jobs / HOUR_S);
        sl_rows_number(rows, LONGEST, is.longest[t] / HOUR_S);
    }
}

static int task_play(void *context, size_t index, struct sl_error *err)
{
    struct data *data = context;
    if (index >= ORDERS) {
        return alone_play(data, index - ORDERS, err);
    }
    return orders[index].policy == NULL
               ? usage_play(data, index == DECAY, data->figure[index], err)
               : engine_play(&data->jobs, data->gpus, orders[index].policy,
                             index == TENANTS ? data->tenants : NULL, data->figure[index], err);
}

static int setting_play(struct data *data, const struct setting *setting,
                        const struct sl_reproduce_options *options, struct sl_rows *rows,
                        struct sl_error *err)
{
    char doing[64];
    (void)snprintf(doing, sizeof(doing), "load %.2f, shares by load^%.1f", setting->load,
                   setting->power);
    const struct sl_crew crew = {options->threads, options->progress, doing};
    share_out(data, setting);
    if (sl_crew_run(&crew, ORDERS + data->n_tenants, task_play, data, err) < 0) {
        return -1;
    }
    sl_buf_printf(&rows->heading, "%lld GPUs, load %.2f, shares by load^%.1f\n",
                  (long long)data->gpus, setting->load, setting->power);
    put_order(data, setting, "each alone (bounded)", data->alone, rows);
    for (int i = 0; i < ORDERS; i++) {
        put_order(data, setting, orders[i].name, data->figure[i], rows);
    }
    return 0;
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    struct data *data = calloc(1, sizeof(*data));
    if (data == NULL) {
        return sl_error_nomem(err);
    }
    sl_workload_init(&data->jobs);
    int rc = data_read(data, options->data, err);
    for (int i = 0; i < SETTINGS && rc == 0; i++) {
        rc = setting_play(data, &settings[i], options, rows, err);
    }
    if (rc == 0) {
        sl_buf_printf(&rows->about,
                      "%zu pods of %zu virtual clusters of Philly, 8 GPUs at most; a share is a "
                      "tenant's own cluster\n\n",
                      data->jobs.n, data->n_tenants);
        sl_buf_puts(
            &rows->closing,
            "\nworse: tenants whose mean response (longest wait) is more than 1 % above that "
            "alone. late: start\nafter the start alone; of the row tenants, after the start "
            "on the share as the pod was told it.\nbeyond R: pods that started later than "
            "the last end of others' runs that had begun when they\nwere due. Jain's index "
            "is of mean response alone over shared, by tenant; rho (Themis) the reverse.\n");
    }
    data_free(data);
    return rc;
}

const struct sl_reproduction sl_tenants_philly = {
    .name = "tenants",
    .summary = "tenants of Philly: what each order gives them, beside their shares alone",
    .data = "philly/vc.csv",
    .seeds = 1,
    SL_COLUMNS(columns),
    .run = play,
};
