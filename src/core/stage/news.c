/* News of pods where many items are waited for. A pod is compared with each of them that its labels
 * do not rule out, so the news wait: the latest of each name, for their namespace's turn. Only the
 * success of a pod is taken in before the news of another of its name: the kubelet tells of it, so
 * these are few. Whoever changes labels on and on delays what waits in its own namespace alone. */
#include "core/stage/internal.h"

#include "util/data/share.h"

#include <stdlib.h>

enum {
    FEW = 256,       /* items and predecessors of a namespace whose news do not wait */
    LOOKS = 1 << 16, /* of one collect; a look takes some 0.1 us */
};

struct sl_stage_news {
    struct sl_pod *pod; /* reference; its name is the key */
    bool gone;          /* it was deleted after that */
    struct sl_link turn;
};

/* Takes the news out, and frees all but the pod. */
static struct sl_pod *news_drop(struct sl_stages *stages, struct sl_stage_space *space,
                                struct sl_stage_news *news)
{
    struct sl_pod *pod = news->pod;
    (void)sl_map_remove(&space->news, pod->name, strlen(pod->name));
    sl_turns_take(&stages->news, &space->news_turn, &news->turn);
    stages->n_news--;
    free(news);
    return pod;
}

static struct sl_stage_news *first_of(const struct sl_stage_space *space)
{
    struct sl_link *first = space->news_turn.waiting.first;
    return first == NULL ? NULL : SL_CONTAINER(first, struct sl_stage_news, turn);
}

void sl_stage_news_clear(struct sl_stages *stages, struct sl_stage_space *space)
{
    while (space->news_turn.waiting.first != NULL) {
        sl_pod_unref(news_drop(stages, space, first_of(space)));
    }
}

/* More pods have news than are remembered: all that may concern them is read. */
static void read_anew(struct sl_stages *stages, struct sl_stage_space *space)
{
    size_t at = 0;
    sl_stage_news_clear(stages, space);
    for (struct sl_stage_target *target = sl_map_next(&stages->targets, &at); target != NULL;
         target = sl_map_next(&stages->targets, &at)) {
        if (target->space == space && target->kind != SL_STAGE_JOB) {
            sl_stage_unread(stages, target);
        }
    }
}

/* Takes in that the pod of the news is as told, or is gone. */
static void news_apply(struct sl_stages *stages, struct sl_stage_space *space,
                       const struct sl_pod *pod, bool gone)
{
    sl_stage_pod_set(stages, space, pod);
    if (gone) {
        sl_stage_pod_drop(stages, space, sl_str_of(pod->name));
    }
}

/* Keeps the pod as the latest news of it until its namespace's turn; false: it need not wait. */
static bool news_put(struct sl_stages *stages, struct sl_stage_space *space,
                     const struct sl_pod *pod)
{
    size_t len = strlen(pod->name);
    struct sl_stage_news *news = sl_map_get(&space->news, pod->name, len);
    struct sl_pod *old = news == NULL ? NULL : news->pod;
    if (news == NULL && space->used <= FEW) {
        return false;
    }
    if (news == NULL && !sl_share_allows(space->news.len, stages->n_news, stages->max)) {
        read_anew(stages, space);
        return true;
    }
    news = news == NULL ? calloc(1, sizeof(*news)) : news;
    if (news == NULL || sl_map_put(&space->news, pod->name, len, news, NULL) < 0) {
        free(news); /* not one that was there: to replace it cannot fail */
        return false;
    }
    if (old != NULL && old->phase == SL_POD_SUCCEEDED && strcmp(old->uid, pod->uid) != 0) {
        news_apply(stages, space, old, true); /* another pod of that name: its success counts */
    }
    news->pod = sl_pod_ref((struct sl_pod *)pod); /* the count is not const */
    news->gone = false;
    if (old == NULL) {
        sl_turns_add(&stages->news, &space->news_turn, &news->turn);
        stages->n_news++;
    }
    sl_pod_unref(old);
    return true;
}

void sl_stages_pod(struct sl_stages *stages, const struct sl_pod *pod)
{
    struct sl_stage_space *space = sl_stage_space_find(stages, sl_str_of(pod->namespace));
    if (space != NULL && pod->name[0] != '\0' && !news_put(stages, space, pod)) {
        sl_stage_pod_set(stages, space, pod);
    }
}

void sl_stages_pod_gone(struct sl_stages *stages, struct sl_str namespace, struct sl_str name)
{
    struct sl_stage_space *space = sl_stage_space_find(stages, namespace);
    if (space == NULL || name.len == 0) {
        return;
    }
    struct sl_stage_news *news = sl_map_get(&space->news, name.s, name.len);
    if (news != NULL) {
        news->gone = true;
    } else {
        sl_stage_pod_drop(stages, space, name);
    }
    sl_stage_note_gone(stages, space, name);
}

void sl_stage_news_take(struct sl_stages *stages)
{
    const uint64_t end = stages->looks + LOOKS;
    while (stages->news.ring.first != NULL && stages->looks < end) {
        struct sl_stage_space *space =
            SL_CONTAINER(stages->news.ring.first, struct sl_stage_space, news_turn.ring);
        bool gone = first_of(space)->gone;
        struct sl_pod *pod = news_drop(stages, space, first_of(space));
        stages->looks++;
        news_apply(stages, space, pod, gone);
        sl_pod_unref(pod);
    }
}
