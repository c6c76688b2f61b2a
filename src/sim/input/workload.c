/* The jobs of a simulation. */
#include "sim/input/workload.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/input/workload_after.h"
#include "util/data/vec.h"
#include "util/time.h"

enum { TEXT_MAX_BYTES = 1 << 30, KEY_MAX = 512, NAME_MAX_BYTES = 253 };

void sl_workload_init(struct sl_workload *workload)
{
    memset(workload, 0, sizeof(*workload));
    sl_arena_init(&workload->arena, TEXT_MAX_BYTES);
}

void sl_workload_free(struct sl_workload *workload)
{
    free(workload->job);
    if (workload->borrowed) {
        memset(workload, 0, sizeof(*workload));
        return;
    }
    for (size_t i = 0; workload->pod != NULL && i < workload->n; i++) {
        sl_pod_unref(workload->pod[i]);
    }
    free(workload->pod);
    free(workload->ask);
    sl_map_free(&workload->ask_of);
    sl_map_free(&workload->namespaces);
    sl_arena_free(&workload->arena);
    memset(workload, 0, sizeof(*workload));
}

int sl_workload_copy(const struct sl_workload *base, struct sl_workload *out, struct sl_error *err)
{
    struct sl_job *job = malloc((base->n > 0 ? base->n : 1) * sizeof(*job));
    if (job == NULL) {
        return sl_error_nomem(err);
    }
    if (base->n > 0) {
        memcpy(job, base->job, base->n * sizeof(*job));
    }
    *out = *base;
    out->job = job;
    out->cap = base->n;
    out->borrowed = true;
    return 0;
}

int32_t sl_timeout_seconds(int64_t us)
{
    int64_t s = us / SL_SECOND_US + (us % SL_SECOND_US > 0 ? 1 : 0);
    if (s < 1) {
        return 1;
    }
    return s < INT32_MAX ? (int32_t)s : INT32_MAX;
}

/* A copy that lives as long as the workload; one for all equal texts. NULL: out of memory. */
static const char *text_intern(struct sl_workload *workload, struct sl_str text)
{
    char *known = sl_map_get(&workload->namespaces, text.s, text.len);
    if (known != NULL) {
        return known;
    }
    char *copy = sl_arena_strdup(&workload->arena, text.s, text.len);
    if (copy == NULL || sl_map_put(&workload->namespaces, copy, text.len, copy, NULL) < 0) {
        return NULL;
    }
    return copy;
}

/* ---- asks ---- */

static int grow_asks(struct sl_workload *workload, struct sl_error *err)
{
    if (workload->n_asks == SL_JOB_ASKS_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d different requests", SL_JOB_ASKS_MAX);
    }
    return sl_vec_reserve(&workload->ask, &workload->cap_asks, workload->n_asks + 1,
                          sizeof(*workload->ask)) < 0
               ? sl_error_nomem(err)
               : 0;
}

static int new_ask(struct sl_workload *workload, const struct sl_trace_job *facts,
                   struct sl_str key, struct sl_error *err)
{
    if (grow_asks(workload, err) < 0) {
        return -1;
    }
    struct sl_job_ask ask = {
        .resource = text_intern(workload, facts->resource),
        .count = facts->count,
        .cpu_milli = facts->cpu_milli,
        .memory_mib = facts->memory_mib,
        .models = facts->models.len > 0 ? text_intern(workload, facts->models) : NULL,
    };
    char *copy = sl_arena_strdup(&workload->arena, key.s, key.len);
    /* the map keeps pointers: the index travels as the arena's own words */
    uint32_t *index = sl_arena_alloc(&workload->arena, sizeof(*index));
    if (ask.resource == NULL || (facts->models.len > 0 && ask.models == NULL) || copy == NULL ||
        index == NULL || sl_map_put(&workload->ask_of, copy, key.len, index, NULL) < 0) {
        return sl_error_nomem(err);
    }
    *index = workload->n_asks;
    workload->ask[workload->n_asks++] = ask;
    return 0;
}

static int find_ask(struct sl_workload *workload, const struct sl_trace_job *facts, uint32_t *out,
                    struct sl_error *err)
{
    char text[KEY_MAX];
    int n = snprintf(text, sizeof(text), "%.*s %lld %lld %lld %.*s", (int)facts->resource.len,
                     facts->resource.s, (long long)facts->count, (long long)facts->cpu_milli,
                     (long long)facts->memory_mib, (int)facts->models.len,
                     facts->models.len > 0 ? facts->models.s : "");
    if (n < 0 || n >= KEY_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "the request has more than %d characters", KEY_MAX);
    }
    struct sl_str key = {text, (size_t)n};
    const uint32_t *index = sl_map_get(&workload->ask_of, key.s, key.len);
    if (index == NULL) {
        if (new_ask(workload, facts, key, err) < 0) {
            return -1;
        }
        index = sl_map_get(&workload->ask_of, key.s, key.len);
    }
    *out = *index;
    workload->ask[*out].jobs++;
    return 0;
}

/* ---- jobs ---- */

static int grow_jobs(struct sl_workload *workload, struct sl_error *err)
{
    if (workload->n == SL_JOBS_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d jobs", SL_JOBS_MAX);
    }
    return sl_vec_reserve(&workload->job, &workload->cap, workload->n + 1, sizeof(*workload->job)) <
                   0
               ? sl_error_nomem(err)
               : 0;
}

int sl_workload_add(struct sl_workload *workload, const struct sl_trace_job *facts,
                    struct sl_error *err)
{
    char made[32];
    struct sl_resource resource;
    struct sl_str name = facts->name;
    struct sl_str namespace = facts->namespace.len > 0 ? facts->namespace : SL_STR("default");
    uint32_t ask = 0;
    if (name.len == 0) {
        (void)snprintf(made, sizeof(made), "job-%zu", workload->n);
        name = sl_str_of(made);
    }
    if (name.len > NAME_MAX_BYTES || namespace.len > NAME_MAX_BYTES) {
        return sl_error_set(err, SL_ERR_LIMIT, "a name of more than %d characters", NAME_MAX_BYTES);
    }
    if (!sl_resource_parse(facts->resource, &resource) || resource.inventory) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "\"%.*s\" is no resource that sliced schedules; for example "
                            "nvidia.com/gpu, nvidia.com/mig-1g.5gb, aliyun.com/gpu-mem",
                            facts->resource.len < 80 ? (int)facts->resource.len : 80,
                            facts->resource.s);
    }
    if (grow_jobs(workload, err) < 0 || find_ask(workload, facts, &ask, err) < 0) {
        return -1;
    }
    struct sl_job job = {
        .name = sl_arena_strdup(&workload->arena, name.s, name.len),
        .namespace = text_intern(workload, namespace),
        .submit_us = facts->submit_us,
        .run_us = facts->run_us > 0 ? facts->run_us : 1,
        .priority = facts->priority,
        .ask = ask,
    };
    if (job.name == NULL || job.namespace == NULL ||
        (facts->after.len > 0 && !sl_workload_keep_after(workload, facts, &job))) {
        return sl_error_nomem(err);
    }
    job.timeout_s = sl_timeout_seconds(facts->timeout_us > 0 ? facts->timeout_us : job.run_us);
    workload->job[workload->n++] = job;
    return 0;
}

/* Stable: a merge sort, since qsort is not. */
static void merge_sort(struct sl_job *job, struct sl_job *spare, size_t n)
{
    if (n < 2) {
        return;
    }
    size_t half = n / 2;
    merge_sort(job, spare, half);
    merge_sort(job + half, spare, n - half);
    memcpy(spare, job, half * sizeof(*job));
    size_t a = 0;
    size_t b = half;
    size_t to = 0;
    while (a < half) {
        bool right = b < n && job[b].submit_us < spare[a].submit_us;
        job[to++] = right ? job[b++] : spare[a++];
    }
}

int sl_workload_finish(struct sl_workload *workload, struct sl_error *err)
{
    if (workload->n == 0) {
        return sl_error_set(err, SL_ERR_FIELD, "has no job that asks for a GPU");
    }
    struct sl_job *spare = malloc((workload->n / 2 + 1) * sizeof(*spare));
    if (spare == NULL) {
        return sl_error_nomem(err);
    }
    merge_sort(workload->job, spare, workload->n);
    free(spare);
    int64_t first = workload->job[0].submit_us;
    for (size_t i = 0; i < workload->n; i++) {
        workload->job[i].submit_us -= first;
    }
    return workload->staged ? sl_workload_link(workload, err) : 0;
}

/* ---- pods ---- */

void sl_models_require(struct sl_models_affinity *affinity, const char *models,
                       struct sl_pod_facts *facts)
{
    unsigned n = 0;
    if (models == NULL || models[0] == '\0') {
        return;
    }
    for (const char *at = models; *at != '\0' && n < SL_MODELS_MAX; n++) {
        size_t len = strcspn(at, "|");
        affinity->value[n] = (struct sl_text_facts){.text = {at, len},
                                                    .next = n > 0 ? &affinity->value[n - 1] : NULL};
        at += len + (at[len] == '|' ? 1 : 0);
    }
    affinity->expression = (struct sl_expression_facts){
        .key = SL_STR("nvidia.com/gpu.product"),
        .op = SL_STR("In"),
        .values = &affinity->value[n - 1],
    };
    affinity->term = (struct sl_term_facts){.expressions = &affinity->expression};
    facts->affinity = true;
    facts->terms = &affinity->term;
}

struct sl_pod *sl_workload_pod(const struct sl_workload *workload, size_t index, int64_t epoch_us,
                               struct sl_error *err)
{
    if (workload->pod != NULL) {
        return sl_pod_ref(workload->pod[index]);
    }
    const struct sl_job *job = &workload->job[index];
    const struct sl_job_ask *ask = &workload->ask[job->ask];
    char uid[SL_WORKLOAD_UID_TEXT];
    char count[24];
    char cpu[24];
    char memory[24];
    char number[24];
    char after[SL_WORKLOAD_AFTER_TEXT];
    bool named = job->after == NULL && !job->followed;
    sl_workload_put_uid(index, uid);
    (void)snprintf(number, sizeof(number), "%zu", index);
    (void)snprintf(count, sizeof(count), "%lld", (long long)ask->count);
    (void)snprintf(cpu, sizeof(cpu), "%lldm", (long long)ask->cpu_milli);
    (void)snprintf(memory, sizeof(memory), "%lldMi", (long long)ask->memory_mib);
    struct sl_pair of_memory = {SL_STR("memory"), sl_str_of(memory), NULL};
    struct sl_pair of_cpu = {SL_STR("cpu"), sl_str_of(cpu), &of_memory};
    struct sl_pair limit = {sl_str_of(ask->resource), sl_str_of(count), NULL};
    struct sl_container_facts container = {
        .name = SL_STR("main"), .requests = &of_cpu, .limits = &limit};
    struct sl_models_affinity affinity = {.term = {.next = NULL}};
    struct sl_pod_facts facts = {
        .namespace = sl_str_of(job->namespace),
        .name = sl_str_of(named ? job->name : number),
        .uid = sl_str_of(uid),
        .created_us = epoch_us + job->submit_us,
        .deadline_s = job->timeout_s,
        .priority = job->priority,
        .containers = &container,
    };
    struct sl_pair annotation = {SL_STR("sliced.dev/after"), sl_workload_put_after(job, after),
                                 NULL};
    facts.annotations = job->after != NULL ? &annotation : NULL;
    sl_models_require(&affinity, ask->models, &facts);
    return sl_pod_new(&facts, err);
}
