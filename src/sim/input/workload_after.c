/* Dependencies of jobs: turns names into numbers and into the annotation that stages read. */
#include "sim/input/workload_after.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEY_MAX = 512, SHOWN_MAX = 60 };

void sl_workload_put_uid(size_t index, char out[SL_WORKLOAD_UID_TEXT])
{
    (void)snprintf(out, SL_WORKLOAD_UID_TEXT, "%08zx-0000-4000-8000-000000000000", index);
}

bool sl_workload_keep_after(struct sl_workload *workload, const struct sl_trace_job *facts,
                            struct sl_job *job)
{
    struct sl_job_after *after = sl_arena_alloc(&workload->arena, sizeof(*after));
    if (after == NULL) {
        return false;
    }
    *after = (struct sl_job_after){
        .text = sl_arena_strdup(&workload->arena, facts->after.s, facts->after.len),
        .line = facts->line,
        .column = facts->column,
    };
    job->after = after;
    workload->staged = true;
    return after->text != NULL;
}

/* ---- names ---- */

struct names {
    struct sl_map map; /* "NAMESPACE/NAME" -> the job, or twice */
    struct sl_arena arena;
};

static struct sl_job twice; /* stands for names that several jobs have */

/* Returns the length of the key, cut to KEY_MAX: names have at most 253 bytes. */
static size_t put_key(const char *namespace, struct sl_str name, char out[KEY_MAX])
{
    int n = snprintf(out, KEY_MAX, "%s/%.*s", namespace, (int)name.len, name.s);
    return n < 0 ? 0 : (n < KEY_MAX ? (size_t)n : KEY_MAX - 1);
}

static int learn_names(const struct sl_workload *workload, struct names *names,
                       struct sl_error *err)
{
    char key[KEY_MAX];
    for (size_t i = 0; i < workload->n; i++) {
        struct sl_job *job = &workload->job[i];
        size_t len = put_key(job->namespace, sl_str_of(job->name), key);
        bool known = sl_map_get(&names->map, key, len) != NULL;
        const char *copy = sl_arena_strdup(&names->arena, key, len);
        if (copy == NULL || sl_map_put(&names->map, copy, len, known ? &twice : job, NULL) < 0) {
            return sl_error_nomem(err);
        }
    }
    return 0;
}

static int after_wrong(const struct sl_job_after *after, struct sl_str name, const char *what,
                       struct sl_error *err)
{
    (void)sl_error_set(err, SL_ERR_FIELD, "\"%.*s\": %s",
                       name.len < SHOWN_MAX ? (int)name.len : SHOWN_MAX, name.len > 0 ? name.s : "",
                       what);
    if (err != NULL) {
        err->line = after->line;
        err->column = after->column;
        (void)snprintf(err->field, sizeof(err->field), "after");
    }
    return -1;
}

/* ---- links ---- */

static int find_job(const struct names *names, const struct sl_job *job, struct sl_str name,
                    struct sl_job **out, struct sl_error *err)
{
    char key[KEY_MAX];
    size_t len = put_key(job->namespace, name, key);
    *out = sl_map_get(&names->map, key, len);
    if (*out == NULL) {
        return after_wrong(job->after, name, "no job of the namespace has this name", err);
    }
    if (*out == &twice) {
        return after_wrong(job->after, name, "several jobs of the namespace have this name", err);
    }
    return 0;
}

static struct sl_str text_trim(struct sl_str text)
{
    while (text.len > 0 && text.s[0] == ' ') {
        text.s++;
        text.len--;
    }
    while (text.len > 0 && text.s[text.len - 1] == ' ') {
        text.len--;
    }
    return text;
}

static int link_job(struct sl_workload *workload, const struct names *names, struct sl_job *job,
                    struct sl_error *err)
{
    struct sl_job *before[SL_STAGE_ITEMS_MAX];
    struct sl_job_after linked = *job->after;
    struct sl_str rest = sl_str_of(job->after->text);
    for (linked.n = 0; rest.s != NULL; linked.n++) {
        const char *bar = rest.len == 0 ? NULL : memchr(rest.s, '|', rest.len);
        size_t len = bar == NULL ? rest.len : (size_t)(bar - rest.s);
        struct sl_str name = text_trim((struct sl_str){rest.s, len});
        rest =
            bar == NULL ? (struct sl_str){NULL, 0} : (struct sl_str){bar + 1, rest.len - len - 1};
        if (linked.n == SL_STAGE_ITEMS_MAX) {
            return after_wrong(job->after, name, "more than 16 names", err);
        }
        if (find_job(names, job, name, &before[linked.n], err) < 0) {
            return -1;
        }
    }
    struct sl_job_after *after = sl_arena_alloc(&workload->arena, sizeof(*after));
    linked.job = sl_arena_alloc(&workload->arena, linked.n * sizeof(*linked.job));
    if (after == NULL || linked.job == NULL) {
        return sl_error_nomem(err);
    }
    for (uint32_t i = 0; i < linked.n; i++) {
        linked.job[i] = (uint32_t)(before[i] - workload->job);
        before[i]->followed = true;
    }
    *after = linked;
    job->after = after;
    return 0;
}

int sl_workload_link(struct sl_workload *workload, struct sl_error *err)
{
    struct names names;
    memset(&names.map, 0, sizeof(names.map));
    sl_arena_init(&names.arena, (size_t)1 << 32);
    int rc = learn_names(workload, &names, err);
    for (size_t i = 0; rc == 0 && i < workload->n; i++) {
        rc =
            workload->job[i].after == NULL ? 0 : link_job(workload, &names, &workload->job[i], err);
    }
    sl_map_free(&names.map);
    sl_arena_free(&names.arena);
    return rc;
}

/* ---- for stages ---- */

struct sl_str sl_workload_put_after(const struct sl_job *job, char out[SL_WORKLOAD_AFTER_TEXT])
{
    size_t len = 0;
    for (uint32_t i = 0; job->after != NULL && i < job->after->n; i++) {
        int n = snprintf(out + len, SL_WORKLOAD_AFTER_TEXT - len, "%s%u", i > 0 ? "," : "",
                         job->after->job[i]);
        len += n > 0 ? (size_t)n : 0;
    }
    return (struct sl_str){out, len};
}

size_t sl_workload_stage_job(struct sl_str name)
{
    int64_t number = 0;
    return sl_str_to_i64(name, &number) && number >= 0 ? (size_t)number : SIZE_MAX;
}
