/* A place for each pod whose condition is being ended or could not be. */
#include "daemon/live/unqueued.h"

#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

static const int64_t rest_first_us = SL_MINUTE_US;
static const int64_t rest_most_us = 60 * SL_MINUTE_US;
static const int64_t log_rest_us = SL_MINUTE_US;

/* ---- places, with the lock held ---- */

static struct sl_unqueued_pod *place_find(struct sl_unqueued *unqueued, const struct sl_pod *pod)
{
    for (unsigned i = 0; i < SL_UNQUEUED; i++) {
        struct sl_unqueued_pod *place = &unqueued->place[i];
        if (place->pod != NULL && strcmp(place->pod->uid, pod->uid) == 0) {
            return place;
        }
    }
    return NULL;
}

static void place_empty(struct sl_unqueued_pod *place)
{
    sl_pod_unref(place->pod);
    *place = (struct sl_unqueued_pod){.of = place->of};
}

static struct sl_unqueued_pod *place_free(struct sl_unqueued *unqueued)
{
    for (unsigned i = 0; i < SL_UNQUEUED; i++) {
        if (unqueued->place[i].pod == NULL) {
            return &unqueued->place[i];
        }
    }
    return NULL;
}

/* One whose failure rests, in turn, which is then forgotten. */
static struct sl_unqueued_pod *place_take(struct sl_unqueued *unqueued)
{
    for (unsigned i = 0; i < SL_UNQUEUED; i++) {
        struct sl_unqueued_pod *place = &unqueued->place[unqueued->next++ % SL_UNQUEUED];
        if (!place->under_way) {
            place_empty(place);
            return place;
        }
    }
    return NULL;
}

/* NULL: all are under way. */
static struct sl_unqueued_pod *place_make(struct sl_unqueued *unqueued, const struct sl_pod *pod)
{
    struct sl_unqueued_pod *place = place_free(unqueued);
    place = place == NULL ? place_take(unqueued) : place;
    if (place != NULL) {
        place->pod = sl_pod_ref((struct sl_pod *)pod); /* the count alone */
    }
    return place;
}

/* ---- how it ends ---- */

static void failure_log(struct sl_unqueued *unqueued, const struct sl_pod *pod,
                        const struct sl_error *err)
{
    int64_t now_us = sl_clock_monotonic_us();
    if (unqueued->logged_us == 0 || now_us - unqueued->logged_us >= log_rest_us) {
        unqueued->logged_us = now_us;
        sl_log_pod(
            SL_LOG_WARN, sl_str_of(pod->namespace), sl_str_of(pod->name),
            "the condition of a bound pod still says that it is queued, which is tried again",
            "reason", err == NULL ? "" : err->message, (char *)NULL);
    }
}

static void place_ended(void *call, enum sl_release_end end, const struct sl_error *err)
{
    struct sl_unqueued_pod *place = call;
    struct sl_unqueued *unqueued = place->of;
    (void)pthread_mutex_lock(&unqueued->lock);
    if (end == SL_RELEASE_RELEASED || end == SL_RELEASE_GONE) {
        place_empty(place);
    } else {
        int64_t rest_us = place->rest_us == 0 ? rest_first_us : 2 * place->rest_us;
        place->rest_us = rest_us < rest_most_us ? rest_us : rest_most_us;
        place->due_us = sl_clock_monotonic_us() + place->rest_us;
        place->under_way = false;
        failure_log(unqueued, place->pod, err);
    }
    (void)pthread_mutex_unlock(&unqueued->lock);
}

/* ---- trying ---- */

/* Without the lock: it may end at once. */
static void condition_end(struct sl_unqueued *unqueued, const struct sl_pod *pod,
                          uint64_t leadership, struct sl_unqueued_pod *place)
{
    const struct sl_queued queued = {
        .namespace = sl_str_of(pod->namespace),
        .name = sl_str_of(pod->name),
        .uid = sl_str_of(pod->uid),
        .reason = SL_STR("Bound"),
        .message = SL_STR("it is bound to its node"),
        .status = SL_QUEUED_FALSE,
        .turned_us = sl_clock_real_us(),
        .leadership = leadership,
    };
    /* a pod that found no place is brought again by its next word, or the next list */
    sl_release_show(unqueued->releaser, &queued, place == NULL ? NULL : place_ended, place);
}

/* Marks the place as under way, if it is due. */
static bool place_begin(struct sl_unqueued_pod *place)
{
    bool due = place->pod != NULL && !place->under_way && sl_clock_monotonic_us() >= place->due_us;
    if (due) {
        place->under_way = true;
    }
    return due;
}

static bool is_stale(const struct sl_pod *pod)
{
    return pod->queued && pod->node != NULL && !pod->deleting;
}

void sl_unqueued_seen(struct sl_unqueued *unqueued, const struct sl_pod *pod, uint64_t leadership)
{
    if (unqueued->releaser == NULL || leadership == 0 || !is_stale(pod)) {
        return;
    }
    (void)pthread_mutex_lock(&unqueued->lock);
    struct sl_unqueued_pod *place = place_find(unqueued, pod);
    place = place == NULL ? place_make(unqueued, pod) : place;
    bool begins = place == NULL || place_begin(place);
    (void)pthread_mutex_unlock(&unqueued->lock);
    if (begins) {
        condition_end(unqueued, pod, leadership, place);
    }
}

/* Is the pod there as it was? Whether it still says that it is queued the store does not follow. */
static bool is_there(const struct sl_unqueued *unqueued, const struct sl_pod *pod)
{
    struct sl_pod *now =
        sl_store_pod(unqueued->store, sl_str_of(pod->namespace), sl_str_of(pod->name));
    bool there = now != NULL && strcmp(now->uid, pod->uid) == 0 && !now->deleting;
    sl_pod_unref(now);
    return there;
}

void sl_unqueued_tick(struct sl_unqueued *unqueued, uint64_t leadership)
{
    if (unqueued->releaser == NULL || leadership == 0) {
        return;
    }
    for (unsigned i = 0; i < SL_UNQUEUED; i++) {
        struct sl_unqueued_pod *place = &unqueued->place[i];
        (void)pthread_mutex_lock(&unqueued->lock);
        bool begins = place_begin(place); /* from here on its pod stays */
        (void)pthread_mutex_unlock(&unqueued->lock);
        if (begins && is_there(unqueued, place->pod)) {
            condition_end(unqueued, place->pod, leadership, place);
        } else if (begins) {
            place_ended(place, SL_RELEASE_GONE, NULL);
        }
    }
}

/* ---- life ---- */

void sl_unqueued_init(struct sl_unqueued *unqueued, struct sl_store *store)
{
    *unqueued = (struct sl_unqueued){.store = store};
    (void)pthread_mutex_init(&unqueued->lock, NULL);
    for (unsigned i = 0; i < SL_UNQUEUED; i++) {
        unqueued->place[i].of = unqueued;
    }
}

void sl_unqueued_free(struct sl_unqueued *unqueued)
{
    for (unsigned i = 0; i < SL_UNQUEUED; i++) {
        place_empty(&unqueued->place[i]);
    }
    (void)pthread_mutex_destroy(&unqueued->lock);
}
