/* The waiting pods, and the items that each waits for. */
#include "sliced/stage.h"

#include "core/stage/internal.h"

#include <stdlib.h>

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

/* ---- links ---- */

static void add_link(struct sl_stage_waiter *waiter, struct sl_stage_target *target)
{
    struct sl_stage_link *link = &waiter->link[waiter->n_links++];
    *link = (struct sl_stage_link){.waiter = waiter, .target = target};
    sl_list_add_first(&target->links, &link->in_target);
}

static void drop_links(struct sl_stages *stages, struct sl_stage_link *links, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct sl_stage_target *target = links[i].target;
        sl_list_remove(&target->links, &links[i].in_target);
        if (target->links.first == NULL) {
            sl_stage_target_drop(stages, target);
        }
    }
    free(links);
}

static void set_starved(struct sl_stages *stages, struct sl_stage_waiter *waiter, bool starved)
{
    stages->n_starved -= waiter->starved;
    stages->n_starved += starved;
    waiter->starved = starved;
}

/* Links the waiter to its items. -1: out of memory; the waiter is starved then. */
static int link_items(struct sl_stages *stages, struct sl_stage_waiter *waiter,
                      const struct sl_after *after, struct sl_error *err)
{
    bool filed = waiter->filings.done || sl_stage_file_waiter(waiter) == 0;
    waiter->link = calloc((size_t)after->n + 1, sizeof(*waiter->link));
    waiter->n_links = 0;
    set_starved(stages, waiter, waiter->link == NULL || !filed);
    for (uint32_t i = 0; i < after->n && !waiter->starved; i++) {
        const struct sl_stage_item *item = &after->item[i];
        struct sl_stage_target *target =
            sl_stage_target_find(stages, sl_str_of(waiter->space->name), item->kind, item->text);
        if (target == NULL && !sl_stage_has_room(stages, waiter->space, 0)) {
            stages->n_refused++;
            set_starved(stages, waiter, true);
            return 0;
        }
        target = sl_stage_target_get(stages, waiter->space, after, item);
        set_starved(stages, waiter, target == NULL);
        stages->feeds = stages->feeds || target == NULL;
        if (target != NULL) {
            add_link(waiter, target);
        }
    }
    return waiter->starved ? sl_error_nomem(err) : 0;
}

/* Links the waiter to the items that its annotation names now. Items that it still names are kept
 * meanwhile. */
static int relink(struct sl_stages *stages, struct sl_stage_waiter *waiter, struct sl_error *err)
{
    struct sl_stage_link *old = waiter->link;
    uint32_t n_old = waiter->n_links;
    struct sl_error why = {.code = SL_ERR_NONE};
    struct sl_after after;
    int result = 0;
    free(waiter->why);
    waiter->why = NULL;
    waiter->link = NULL;
    waiter->n_links = 0;
    waiter->cyclic = false;
    waiter->malformed = sl_after_parse(sl_str_of(waiter->pod->after), &after, &why) < 0;
    if (waiter->malformed) {
        set_starved(stages, waiter, false);
        waiter->why = copy_text(why.message);
    } else {
        result = link_items(stages, waiter, &after, err);
    }
    drop_links(stages, old, n_old);
    sl_stage_touch(stages, waiter);
    return result;
}

/* ---- waiters ---- */

static const char *uid_of(const struct sl_stage_waiter *waiter)
{
    return waiter->key + strlen(waiter->key) + 1;
}

static struct sl_stage_waiter *waiter_new(struct sl_pod *pod)
{
    size_t space = strlen(pod->namespace);
    size_t name = strlen(pod->name);
    size_t uid = strlen(pod->uid);
    struct sl_stage_waiter *waiter = calloc(1, sizeof(*waiter) + space + name + uid + 5);
    if (waiter != NULL) {
        memcpy(waiter->key, pod->namespace, space);
        (void)memcpy(waiter->key + space, "/p/", sizeof("/p/"));
        memcpy(waiter->key + space + 3, pod->name, name);
        memcpy(waiter->key + space + 3 + name + 1, pod->uid, uid);
        waiter->pod = sl_pod_ref(pod);
    }
    return waiter;
}

static void free_waiter(struct sl_stage_waiter *waiter)
{
    sl_pod_unref(waiter->pod);
    free(waiter->why);
    free(waiter);
}

/* Adds a waiter; NULL: out of memory. The later of two pods of one name counts, as the earlier
 * is about to go. */
static struct sl_stage_waiter *waiter_add(struct sl_stages *stages, struct sl_pod *pod)
{
    struct sl_stage_waiter *waiter = waiter_new(pod);
    struct sl_stage_space *space =
        waiter == NULL ? NULL : sl_stage_space_get(stages, sl_str_of(pod->namespace));
    if (space == NULL) {
        if (waiter != NULL) {
            free_waiter(waiter);
        }
        return NULL;
    }
    const char *uid = uid_of(waiter);
    if (sl_map_put(&stages->waiters, uid, strlen(uid), waiter, NULL) < 0) {
        sl_stage_space_unref(stages, space);
        free_waiter(waiter);
        return NULL;
    }
    if (sl_map_put(&stages->by_name, waiter->key, strlen(waiter->key), waiter, NULL) < 0) {
        (void)sl_map_remove(&stages->waiters, uid, strlen(uid));
        sl_stage_space_unref(stages, space);
        free_waiter(waiter);
        return NULL;
    }
    waiter->space = space;
    sl_list_add_first(&space->waiters, &waiter->in_space);
    return waiter;
}

static void waiter_drop(struct sl_stages *stages, struct sl_stage_waiter *waiter)
{
    struct sl_stage_space *space = waiter->space;
    const char *uid = uid_of(waiter);
    size_t len = strlen(waiter->key);
    bool cyclic = waiter->cyclic;
    sl_stage_untouch(stages, waiter);
    set_starved(stages, waiter, false);
    sl_stage_unfile(space, SL_STAGE_WAITERS, &waiter->filings);
    (void)sl_map_remove(&stages->waiters, uid, strlen(uid));
    if (sl_map_get(&stages->by_name, waiter->key, len) == waiter) {
        (void)sl_map_remove(&stages->by_name, waiter->key, len);
    }
    sl_list_remove(&space->waiters, &waiter->in_space);
    drop_links(stages, waiter->link, waiter->n_links);
    free_waiter(waiter);
    if (cyclic) {
        sl_stage_cycle_doubt(stages, space, true);
    }
    sl_stage_space_unref(stages, space);
}

static bool same_labels(const struct sl_pod *a, const struct sl_pod *b)
{
    return a->n_labels == b->n_labels &&
           (a->n_labels == 0 || memcmp(a->label, b->label, a->n_labels * sizeof(a->label[0])) == 0);
}

static void swap_pod(struct sl_stage_waiter *waiter, struct sl_pod *pod)
{
    struct sl_pod *old = waiter->pod;
    waiter->pod = sl_pod_ref(pod);
    sl_pod_unref(old);
}

/* Updates a waiter whose annotation or labels have changed. */
static int change(struct sl_stages *stages, struct sl_stage_waiter *waiter, struct sl_pod *pod,
                  struct sl_error *err)
{
    bool cyclic = waiter->cyclic;
    if (!same_labels(waiter->pod, pod)) {
        sl_stage_unfile(waiter->space, SL_STAGE_WAITERS, &waiter->filings);
    }
    swap_pod(waiter, pod);
    int result = relink(stages, waiter, err);
    sl_stage_cycle_doubt(stages, waiter->space, cyclic);
    return result;
}

int sl_stages_put(struct sl_stages *stages, struct sl_pod *pod, struct sl_error *err)
{
    struct sl_stage_waiter *waiter = sl_map_get(&stages->waiters, pod->uid, strlen(pod->uid));
    if (pod->after == NULL || pod->uid[0] == '\0') {
        sl_stages_remove(stages, sl_str_of(pod->uid));
        return 0;
    }
    if (waiter != NULL && strcmp(waiter->pod->name, pod->name) != 0) {
        waiter_drop(stages, waiter);
        waiter = NULL;
    }
    if (waiter == NULL) {
        waiter = waiter_add(stages, pod);
        if (waiter == NULL) {
            return sl_error_nomem(err);
        }
        int result = relink(stages, waiter, err);
        sl_stage_cycle_doubt(stages, waiter->space, false);
        return result;
    }
    if (strcmp(waiter->pod->after, pod->after) == 0 && same_labels(waiter->pod, pod) &&
        !waiter->starved) {
        swap_pod(waiter, pod);
        return 0;
    }
    return change(stages, waiter, pod, err);
}

void sl_stages_remove(struct sl_stages *stages, struct sl_str uid)
{
    struct sl_stage_waiter *waiter =
        uid.len == 0 ? NULL : sl_map_get(&stages->waiters, uid.s, uid.len);
    if (waiter != NULL) {
        waiter_drop(stages, waiter);
    }
}

/* ---- all ---- */

struct sl_stages *sl_stages_new(size_t max, struct sl_error *err)
{
    struct sl_stages *stages = calloc(1, sizeof(*stages));
    if (stages == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    stages->max = max;
    return stages;
}

void sl_stages_clear(struct sl_stages *stages)
{
    size_t at = 0;
    struct sl_stage_waiter *waiter = sl_map_next(&stages->waiters, &at);
    for (struct sl_stage_waiter *each = waiter; each != NULL; each = waiter) {
        waiter = sl_map_next(&stages->waiters, &at);
        waiter_drop(stages, each);
    }
}

void sl_stages_free(struct sl_stages *stages)
{
    if (stages == NULL) {
        return;
    }
    sl_stages_clear(stages);
    sl_map_free(&stages->waiters);
    sl_map_free(&stages->by_name);
    sl_map_free(&stages->spaces);
    sl_map_free(&stages->targets);
    free(stages);
}

void sl_stages_set_max(struct sl_stages *stages, size_t max)
{
    stages->max = max;
    stages->feeds = true;
    stages->refills = true;
}

/* Links starved waiters to their items again, when there is room. */
static void feed_starved(struct sl_stages *stages)
{
    size_t at = 0;
    if (stages->n_starved == 0 || !stages->feeds) {
        return;
    }
    stages->feeds = false;
    for (struct sl_stage_waiter *waiter = sl_map_next(&stages->waiters, &at); waiter != NULL;
         waiter = sl_map_next(&stages->waiters, &at)) {
        if (waiter->starved && sl_stage_has_room(stages, waiter->space, 0)) {
            (void)relink(stages, waiter, NULL);
            sl_stage_cycle_doubt(stages, waiter->space, false);
        }
    }
}

bool sl_stages_changed(const struct sl_stages *stages)
{
    return stages->changed.first != NULL || stages->n_doubted > 0 || stages->n_news > 0 ||
           (stages->n_starved > 0 && stages->feeds);
}

bool sl_stages_collect(struct sl_stages *stages,
                       void (*visit)(void *context, struct sl_str uid, enum sl_hold_reason stage,
                                     const char *why),
                       void *context)
{
    char why[SL_STAGE_TEXT_MAX];
    feed_starved(stages);
    sl_stage_news_take(stages);
    sl_stage_cycle_review(stages);
    while (stages->changed.first != NULL) {
        struct sl_stage_waiter *waiter =
            SL_CONTAINER(stages->changed.first, struct sl_stage_waiter, changed);
        sl_stage_untouch(stages, waiter);
        enum sl_hold_reason stage = sl_stage_verdict(waiter, why, sizeof(why));
        visit(context, sl_str_of(uid_of(waiter)), stage, stage == SL_HOLD_NONE ? NULL : why);
    }
    return stages->n_doubted > 0 || stages->n_news > 0;
}

void sl_stages_stats(const struct sl_stages *stages, struct sl_stages_stats *out)
{
    *out = (struct sl_stages_stats){
        .waiters = stages->waiters.len,
        .targets = stages->targets.len,
        .jobs = stages->n_jobs,
        .records = stages->n_records,
        .refused = stages->n_refused,
        .looks = stages->looks,
    };
}
