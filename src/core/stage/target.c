/* The items that pods wait for, each once, and their namespaces. */
#include "core/stage/internal.h"

#include <stdlib.h>

/* ---- namespaces ---- */

struct sl_stage_space *sl_stage_space_get(struct sl_stages *stages, struct sl_str name)
{
    struct sl_stage_space *space = sl_stage_space_find(stages, name);
    if (space == NULL) {
        space = SL_MAP_ADD(&stages->spaces, struct sl_stage_space, name, name);
        if (space == NULL) {
            return NULL;
        }
    }
    space->refs++;
    return space;
}

void sl_stage_space_unref(struct sl_stages *stages, struct sl_stage_space *space)
{
    space->refs--;
    if (space->refs == 0) {
        stages->n_doubted -= space->doubted;
        sl_stage_news_clear(stages, space);
        (void)sl_map_remove(&stages->spaces, space->name, strlen(space->name));
        sl_map_free(&space->buckets);
        sl_map_free(&space->records);
        sl_map_free(&space->news);
        free(space);
    }
}

/* ---- targets ---- */

static void free_target(struct sl_stage_target *target)
{
    free(target->rule);
    free(target->hash);
    free(target);
}

/* The labels that the Job controller puts on pods; the second before Kubernetes 1.27. */
static const char *const job_labels[2] = {"batch.kubernetes.io/job-name=", "job-name="};

static void put_job_label(struct sl_str name, uint64_t out[2])
{
    char text[SL_STAGE_KEY_MAX];
    for (int i = 0; i < 2; i++) {
        size_t len = strlen(job_labels[i]);
        memcpy(text, job_labels[i], len);
        memcpy(text + len, name.s, name.len);
        out[i] = sl_hash(text, len + name.len);
    }
}

/* Copies the item's rules to the target. False: out of memory. */
static bool put_rules(struct sl_stage_target *target, const struct sl_after *after,
                      const struct sl_stage_item *item)
{
    uint32_t n_hashes = target->kind == SL_STAGE_JOB ? 2 : after->n_hashes;
    target->n_rules = target->kind == SL_STAGE_JOB ? 1 : item->n_rules;
    target->rule = calloc(target->n_rules, sizeof(*target->rule));
    target->hash = calloc((size_t)n_hashes + 1, sizeof(*target->hash));
    if (target->rule == NULL || target->hash == NULL) {
        return false;
    }
    if (target->kind == SL_STAGE_JOB) {
        target->rule[0].n = 2;
        put_job_label(item->text, target->hash);
        return true;
    }
    memcpy(target->rule, after->rule + item->rule, target->n_rules * sizeof(*target->rule));
    memcpy(target->hash, after->hash, n_hashes * sizeof(*target->hash));
    return true;
}

static struct sl_stage_target *target_new(const struct sl_after *after,
                                          const struct sl_stage_item *item, const char *key,
                                          size_t len)
{
    struct sl_stage_target *target = calloc(1, sizeof(*target) + len + 1);
    if (target == NULL) {
        return NULL;
    }
    memcpy(target->key, key, len);
    target->text = (struct sl_str){target->key + (len - item->text.len), item->text.len};
    target->kind = item->kind;
    if (item->kind != SL_STAGE_POD && !put_rules(target, after, item)) {
        free_target(target);
        return NULL;
    }
    return target;
}

struct sl_stage_target *sl_stage_target_get(struct sl_stages *stages, struct sl_stage_space *space,
                                            const struct sl_after *after,
                                            const struct sl_stage_item *item)
{
    char key[SL_STAGE_KEY_MAX];
    size_t len = sl_stage_put_key(key, sl_str_of(space->name), item->kind, item->text);
    struct sl_stage_target *target = sl_map_get(&stages->targets, key, len);
    if (target != NULL) {
        return target;
    }
    target = target_new(after, item, key, len);
    if (target == NULL) {
        return NULL;
    }
    target->space = space;
    if (sl_stage_file_target(target) < 0) {
        free_target(target);
        return NULL;
    }
    if (sl_map_put(&stages->targets, target->key, len, target, NULL) < 0) {
        sl_stage_unfile_target(target);
        free_target(target);
        return NULL;
    }
    space->refs++;
    space->used++;
    stages->n_jobs += target->kind == SL_STAGE_JOB;
    sl_stage_unread(stages, target);
    return target;
}

void sl_stage_target_drop(struct sl_stages *stages, struct sl_stage_target *target)
{
    struct sl_stage_space *space = target->space;
    sl_stage_forget(stages, target);
    if (target->kind != SL_STAGE_POD) {
        sl_stage_unfile_target(target);
    }
    stages->n_jobs -= target->kind == SL_STAGE_JOB;
    (void)sl_map_remove(&stages->targets, target->key, strlen(target->key));
    free_target(target);
    sl_stage_give_back(stages, space);
    sl_stage_space_unref(stages, space);
}
