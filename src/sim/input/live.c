/* A live cluster with its queue. The manifests are read twice: when the first waiting pod came, and
 * in which order they did, is known only behind the last one. */
#include <stdlib.h>

#include "config/config.h"
#include "sim/input/csv/csv.h"
#include "sim/input/fleet.h"
#include "sim/input/workload_after.h"
#include "util/data/vec.h"

struct arrival {
    int64_t at_us; /* Unix */
    size_t seen;   /* its number among the waiting pods of the manifests */
};

struct live {
    struct sl_fleet *fleet;
    struct sl_workload *jobs;
    int64_t now_us; /* Unix */
    struct arrival *arrival;
    size_t n;
    size_t cap;
    size_t *rank; /* by number among the waiting pods: the number of the job */
    size_t seen;
};

/* The pod, if it is to be a job; *out is NULL if it is none. -1: out of memory. */
static int job_pod(const struct sl_pod_facts *facts, struct sl_pod **out, struct sl_error *err)
{
    struct sl_resource resource;
    *out = NULL;
    struct sl_pod *pod = sl_pod_new(facts, err);
    if (pod == NULL) {
        return -1;
    }
    /* nothing is known of what others wait for */
    bool is_job =
        sl_pod_waits(pod) && pod->n_items > 0 && pod->malformed == NULL && pod->after == NULL &&
        sl_resource_parse(sl_str_of(pod->items[0].resource), &resource) && !resource.inventory;
    if (is_job) {
        *out = pod;
    } else {
        sl_pod_unref(pod);
    }
    return 0;
}

/* ---- first: who waits, since when ---- */

static int note_arrival(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct live *live = context;
    struct sl_pod *pod = NULL;
    if (object->pod == NULL) {
        return 0;
    }
    struct sl_pod_facts facts = *object->pod;
    if (job_pod(&facts, &pod, err) < 0) {
        return -1;
    }
    if (pod == NULL) {
        return 0;
    }
    sl_pod_unref(pod);
    if (sl_vec_reserve(&live->arrival, &live->cap, live->n + 1, sizeof(*live->arrival)) < 0) {
        return sl_error_nomem(err);
    }
    bool known = facts.created_us > 0 && facts.created_us < live->now_us;
    live->arrival[live->n] = (struct arrival){known ? facts.created_us : live->now_us, live->n};
    live->n++;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct arrival *x = a;
    const struct arrival *y = b;
    return x->at_us != y->at_us ? (x->at_us < y->at_us ? -1 : 1)
                                : (x->seen > y->seen) - (x->seen < y->seen);
}

static int rank_arrivals(struct live *live, struct sl_error *err)
{
    if (live->n == 0) {
        return sl_error_set(err, SL_ERR_FIELD, "no pod waits for a GPU");
    }
    qsort(live->arrival, live->n, sizeof(*live->arrival), by_time);
    live->rank = calloc(live->n, sizeof(*live->rank));
    live->jobs->pod = calloc(live->n, sizeof(struct sl_pod *));
    if (live->rank == NULL || live->jobs->pod == NULL) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; i < live->n; i++) {
        live->rank[live->arrival[i].seen] = i;
    }
    return 0;
}

/* ---- then: what there is, in virtual time ---- */

static int64_t shifted(const struct live *live, int64_t at_us)
{
    return at_us == 0 ? 0 : SL_SIM_EPOCH_US + at_us - live->arrival[0].at_us;
}

static int take_object(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct live *live = context;
    struct sl_pod *pod = NULL;
    if (object->pod == NULL) {
        return sl_fleet_object(live->fleet, object, err);
    }
    struct sl_pod_facts facts = *object->pod;
    struct sl_object own = *object;
    own.pod = &facts;
    facts.started_us = shifted(live, facts.started_us);
    facts.deleting_us = shifted(live, facts.deleting_us);
    if (job_pod(&facts, &pod, err) < 0) {
        return -1;
    }
    if (pod == NULL) {
        facts.created_us = shifted(live, facts.created_us);
        return sl_fleet_object(live->fleet, &own, err);
    }
    sl_pod_unref(pod);
    char uid[SL_WORKLOAD_UID_TEXT];
    size_t job = live->rank[live->seen];
    live->seen++;
    sl_workload_put_uid(job, uid);
    facts.uid = sl_str_of(uid);
    facts.created_us = shifted(live, live->arrival[job].at_us);
    facts.nominated = SL_STR("");
    facts.tried = false;
    live->jobs->pod[job] = sl_pod_new(&facts, err);
    return live->jobs->pod[job] == NULL ? -1 : 0;
}

static int add_jobs(struct live *live, struct sl_error *err)
{
    struct sl_config config;
    sl_config_defaults(&config);
    for (size_t i = 0; i < live->n; i++) {
        const struct sl_pod *pod = live->jobs->pod[i];
        int64_t timeout_us =
            pod->timeout_s > 0 ? pod->timeout_s * SL_SECOND_US : config.plan.default_timeout_us;
        const struct sl_trace_job job = {
            .name = sl_str_of(pod->name),
            .namespace = sl_str_of(pod->namespace),
            .resource = sl_str_of(pod->items[0].resource),
            .count = pod->items[0].count,
            .submit_us = live->arrival[i].at_us,
            .run_us = timeout_us,
            .priority = pod->priority,
        };
        if (sl_workload_add(live->jobs, &job, err) < 0) {
            return -1;
        }
    }
    return sl_workload_finish(live->jobs, err);
}

int sl_live_read(const char *file, int64_t now_us, struct sl_fleet *fleet, struct sl_workload *jobs,
                 int64_t *begin_us, struct sl_error *err)
{
    struct live live = {.fleet = fleet, .jobs = jobs, .now_us = now_us};
    struct sl_buf text;
    sl_buf_init(&text, (size_t)SL_MANIFEST_MAX + 1);
    bool read = sl_input_read(file, &text, err) == 0 &&
                sl_fleet_decode(&text, note_arrival, &live, err) == 0 &&
                rank_arrivals(&live, err) == 0 &&
                sl_fleet_decode(&text, take_object, &live, err) == 0 && add_jobs(&live, err) == 0;
    if (read) {
        *begin_us = now_us - live.arrival[0].at_us;
    }
    free(live.arrival);
    free(live.rank);
    sl_buf_free(&text);
    return read ? 0 : sl_error_locate(err, file);
}
