/* Takes messages for the queue's thread: from the store, with its lock held, and from the
 * releaser. */
#include "daemon/queue/mail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/queue/worker.h"
#include "util/clock.h"
#include "util/time.h"

enum { FIRST_LETTERS = 64 };

/* With mail held. */
static void mail_ring(struct sl_queue_worker *worker)
{
    worker->posted++;
    (void)pthread_cond_signal(&worker->woken);
}

/* With mail held. False: there is no place. */
static bool mail_make_room(struct sl_queue_worker *worker)
{
    struct sl_queue_mail *box = &worker->box;
    size_t cap = box->cap == 0 ? FIRST_LETTERS : box->cap * 2;
    if (box->n < box->cap) {
        return true;
    }
    if (box->n >= worker->max_letters) {
        return false;
    }
    struct sl_queue_letter *more = realloc(box->letter, cap * sizeof(*more));
    if (more == NULL) {
        return false;
    }
    box->letter = more;
    box->cap = cap;
    return true;
}

/* A place, from 1, as the map's value. */
static void *place_of(size_t place)
{
    return (void *)(uintptr_t)place; // NOLINT(performance-no-int-to-ptr): is never followed
}

/* With mail held. A letter about the same pod is replaced, so that a pod which changes all the time
 * does not fill the box. False: no letter in the box says that the pod waits. */
static bool letter_replace(struct sl_queue_mail *box, struct sl_pod *pod)
{
    size_t len = strlen(pod->uid);
    size_t place = (size_t)(uintptr_t)sl_map_get(&box->last, pod->uid, len);
    struct sl_queue_letter *letter = place == 0 ? NULL : &box->letter[place - 1];
    if (letter == NULL || !letter->waits) {
        return false;
    }
    struct sl_pod *old = letter->pod;
    letter->pod = sl_pod_ref(pod);
    (void)sl_map_put(&box->last, pod->uid, len, place_of(place), NULL); /* is there */
    sl_pod_unref(old);
    return true;
}

/* With mail held. False: there is no place. */
static bool letter_append(struct sl_queue_worker *worker, struct sl_pod *pod, bool waits)
{
    struct sl_queue_mail *box = &worker->box;
    if (!mail_make_room(worker)) {
        return false;
    }
    box->letter[box->n++] = (struct sl_queue_letter){.pod = sl_pod_ref(pod), .waits = waits};
    if (sl_map_put(&box->last, pod->uid, strlen(pod->uid), place_of(box->n), NULL) < 0) {
        box->n--; /* an older letter would take later news, out of order */
        sl_pod_unref(pod);
        return false;
    }
    return true;
}

void sl_queue_feed(void *context, struct sl_pod *pod, bool waits)
{
    struct sl_queue_worker *worker = context;
    (void)pthread_mutex_lock(&worker->mail);
    bool kept = (waits && letter_replace(&worker->box, pod)) || letter_append(worker, pod, waits);
    worker->box.lost = worker->box.lost || !kept;
    mail_ring(worker);
    (void)pthread_mutex_unlock(&worker->mail);
}

void sl_queue_published(void *context)
{
    struct sl_queue_worker *worker = context;
    (void)pthread_mutex_lock(&worker->mail);
    worker->box.changed = true;
    mail_ring(worker);
    (void)pthread_mutex_unlock(&worker->mail);
}

void sl_queue_shown(void *context, enum sl_release_end end, const struct sl_error *err)
{
    const struct sl_queue_call *call = context;
    (void)atomic_fetch_sub(&call->worker->showing, 1);
    if (end == SL_RELEASE_RELEASED || end == SL_RELEASE_GONE) {
        free(context);
    } else {
        sl_queue_released(context, end, err);
    }
}

void sl_queue_released(void *context, enum sl_release_end end, const struct sl_error *err)
{
    struct sl_queue_call *call = context;
    struct sl_queue_worker *worker = call->worker;
    call->end = end;
    (void)snprintf(call->text, sizeof(call->text), "%s", err == NULL ? "" : err->message);
    (void)pthread_mutex_lock(&worker->mail);
    call->next = worker->box.ends;
    worker->box.ends = call;
    mail_ring(worker);
    (void)pthread_mutex_unlock(&worker->mail);
}

struct sl_queue_mail sl_queue_take_mail(struct sl_queue_worker *worker, uint64_t *posted)
{
    (void)pthread_mutex_lock(&worker->mail);
    struct sl_queue_mail mail = worker->box;
    worker->box = (struct sl_queue_mail){.n = 0};
    *posted = worker->posted;
    (void)pthread_mutex_unlock(&worker->mail);
    return mail;
}

void sl_queue_free_mail(struct sl_queue_mail *mail)
{
    for (size_t i = 0; i < mail->n; i++) {
        sl_pod_unref(mail->letter[i].pod);
    }
    while (mail->ends != NULL) {
        struct sl_queue_call *next = mail->ends->next;
        free(mail->ends);
        mail->ends = next;
    }
    sl_map_free(&mail->last);
    free(mail->letter);
    *mail = (struct sl_queue_mail){.n = 0};
}

/* ---- waiting ---- */

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / SL_SECOND_NS),
                             .tv_nsec = (long)(ns % SL_SECOND_NS)};
}

bool sl_queue_wait_for_mail(struct sl_queue_worker *worker, int64_t rest_ns, int64_t until_ns)
{
    const struct timespec rest = timespec_of(rest_ns);
    const struct timespec until = timespec_of(until_ns);
    int code = 0;
    (void)pthread_mutex_lock(&worker->mail);
    while (!worker->stop && code != ETIMEDOUT && sl_clock_monotonic_ns() < rest_ns) {
        code = pthread_cond_timedwait(&worker->woken, &worker->mail, &rest);
    }
    code = 0;
    while (!worker->stop && code != ETIMEDOUT && worker->posted == worker->planned) {
        code = pthread_cond_timedwait(&worker->woken, &worker->mail, &until);
    }
    bool go_on = !worker->stop;
    (void)pthread_mutex_unlock(&worker->mail);
    return go_on;
}

void sl_queue_settled(struct sl_queue_worker *worker, uint64_t posted)
{
    (void)pthread_mutex_lock(&worker->mail);
    worker->planned = posted;
    (void)pthread_cond_broadcast(&worker->settled);
    (void)pthread_mutex_unlock(&worker->mail);
}

bool sl_queue_settle(void *context, int64_t timeout_us)
{
    struct sl_queue_worker *worker = context;
    const struct timespec until = timespec_of(sl_clock_monotonic_ns() + timeout_us * SL_US_NS);
    int code = 0;
    (void)pthread_mutex_lock(&worker->mail);
    uint64_t posted = worker->posted;
    while (worker->planned < posted && code == 0 && !worker->stop) {
        code = pthread_cond_timedwait(&worker->settled, &worker->mail, &until);
    }
    bool settled = worker->planned >= posted;
    (void)pthread_mutex_unlock(&worker->mail);
    return settled;
}
