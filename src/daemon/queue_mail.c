/* What comes in to the queue: from the store, with its lock held, and from the releaser. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/queue_internal.h"

enum { FIRST_LETTERS = 64 };

/* With mail held. */
static void ring(struct sl_queuer *queuer)
{
    queuer->posted++;
    (void)pthread_cond_signal(&queuer->woken);
}

/* With mail held. False: there is no place. */
static bool make_room(struct sl_queuer *queuer)
{
    struct sl_queue_mail *box = &queuer->box;
    size_t cap = box->cap == 0 ? FIRST_LETTERS : box->cap * 2;
    if (box->n < box->cap) {
        return true;
    }
    if (box->n >= queuer->max_letters) {
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

/* With mail held. Of a pod that changes faster than is planned only the last change counts: whoever
 * changes his all the time fills no box. False: it is not in the box as one that waits. */
static bool replace(struct sl_queue_mail *box, struct sl_pod *pod)
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
static bool append(struct sl_queuer *queuer, struct sl_pod *pod, bool waits)
{
    struct sl_queue_mail *box = &queuer->box;
    if (!make_room(queuer)) {
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
    struct sl_queuer *queuer = context;
    (void)pthread_mutex_lock(&queuer->mail);
    bool kept = (waits && replace(&queuer->box, pod)) || append(queuer, pod, waits);
    queuer->box.lost = queuer->box.lost || !kept;
    ring(queuer);
    (void)pthread_mutex_unlock(&queuer->mail);
}

void sl_queue_published(void *context)
{
    struct sl_queuer *queuer = context;
    (void)pthread_mutex_lock(&queuer->mail);
    queuer->box.changed = true;
    ring(queuer);
    (void)pthread_mutex_unlock(&queuer->mail);
}

void sl_queue_released(void *context, enum sl_release_end end, const struct sl_error *err)
{
    struct sl_queue_call *call = context;
    struct sl_queuer *queuer = call->queuer;
    call->end = end;
    (void)snprintf(call->text, sizeof(call->text), "%s", err == NULL ? "" : err->message);
    (void)pthread_mutex_lock(&queuer->mail);
    call->next = queuer->box.ends;
    queuer->box.ends = call;
    ring(queuer);
    (void)pthread_mutex_unlock(&queuer->mail);
}

struct sl_queue_mail sl_queue_take_mail(struct sl_queuer *queuer, uint64_t *posted)
{
    (void)pthread_mutex_lock(&queuer->mail);
    struct sl_queue_mail mail = queuer->box;
    queuer->box = (struct sl_queue_mail){.n = 0};
    *posted = queuer->posted;
    (void)pthread_mutex_unlock(&queuer->mail);
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
