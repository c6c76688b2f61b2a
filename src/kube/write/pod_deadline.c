/* Deadlines of pods, one PATCH each. */
#include "kube/write/pod_deadline.h"

#include <stdlib.h>

#include "codec/write.h"
#include "kube/client/object_call.h"
#include "util/log.h"

enum { BODY_BYTES_MAX = 4096, PATCH_TRIES = 4 };

struct patch {
    struct sl_pod_deadlines *deadlines;
    struct sl_pod *pod;
    int64_t seconds;
    bool shorten;
};

/* ---- what could not be set ---- */

static uint64_t hash_of(const struct sl_pod *pod)
{
    uint64_t hash = sl_hash(pod->uid, strlen(pod->uid));
    return hash == 0 ? 1 : hash;
}

void sl_pod_deadline_look(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod)
{
    (void)pthread_mutex_lock(&deadlines->lock);
    uint64_t *slot = &deadlines->missed[deadlines->next_missed % SL_POD_DEADLINES_MISSED];
    (void)atomic_fetch_add(&deadlines->n_missed, *slot == 0 ? 1 : 0);
    *slot = hash_of(pod);
    deadlines->next_missed++;
    (void)pthread_mutex_unlock(&deadlines->lock);
}

static void note_missed(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod)
{
    (void)atomic_fetch_add(&deadlines->failures, 1);
    sl_pod_deadline_look(deadlines, pod);
}

bool sl_pod_deadline_missed(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod)
{
    bool found = false;
    if (atomic_load(&deadlines->n_missed) == 0) {
        return false;
    }
    uint64_t hash = hash_of(pod);
    (void)pthread_mutex_lock(&deadlines->lock);
    for (size_t i = 0; i < SL_POD_DEADLINES_MISSED && !found; i++) {
        found = deadlines->missed[i] == hash;
        if (found) {
            deadlines->missed[i] = 0;
            (void)atomic_fetch_sub(&deadlines->n_missed, 1);
        }
    }
    (void)pthread_mutex_unlock(&deadlines->lock);
    return found;
}

/* ---- the PATCH ---- */

/* Called by the client; the patch ends with it. */
static void on_patched(void *context, const struct sl_reply *reply)
{
    struct patch *patch = context;
    const struct sl_pod *pod = patch->pod;
    bool gone = reply->status == 404 || reply->status == 409 || reply->status == 422;
    if (reply->status == 200) {
        (void)atomic_fetch_add(
            patch->shorten ? &patch->deadlines->shortened : &patch->deadlines->set, 1);
    } else if (!gone) {
        note_missed(patch->deadlines, pod);
        sl_log_pod_share(SL_LOG_WARN, sl_str_of(pod->namespace), sl_str_of(pod->name),
                         "activeDeadlineSeconds not set", "problem", reply->err.message,
                         (char *)NULL);
    }
    sl_pod_unref(patch->pod);
    free(patch);
}

static void write_patch(struct sl_buf *body, const struct sl_pod *pod, int64_t seconds)
{
    sl_buf_init(body, BODY_BYTES_MAX);
    struct sl_writer w = {.buf = body};
    sl_write_object(&w);
    sl_write_member_object(&w, "metadata");
    sl_write_member_text(&w, "uid", pod->uid); /* refuses a pod made anew */
    sl_write_object_end(&w);
    sl_write_member_object(&w, "spec");
    sl_write_member_i64(&w, "activeDeadlineSeconds", seconds);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
}

/* Takes the patch over. */
static void patch_send(struct patch *patch)
{
    const struct sl_pod *pod = patch->pod;
    struct sl_reply refused = {.status = 0};
    struct sl_buf body;
    struct sl_call_options call = {
        .method = "PATCH",
        .content_type = "application/merge-patch+json",
        .priority = SL_CALL_NORMAL,
        .repeatable = true,
        .max_tries = PATCH_TRIES,
        .timeout_us = patch->deadlines->try_us,
        .done = on_patched,
        .context = patch,
    };
    write_patch(&body, pod, patch->seconds);
    const struct sl_object_ref object = {SL_OBJECT_POD, sl_str_of(pod->namespace),
                                         sl_str_of(pod->name)};
    if (sl_object_call(patch->deadlines->client, &object, "", &body, &call, &refused.err) < 0) {
        on_patched(patch, &refused);
    }
}

static void patch_new(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod, int64_t seconds,
                      bool shorten)
{
    struct patch *patch = malloc(sizeof(*patch));
    if (patch == NULL) {
        note_missed(deadlines, pod);
        return;
    }
    *patch = (struct patch){.deadlines = deadlines,
                            .pod = sl_pod_ref((struct sl_pod *)pod), /* the count alone */
                            .seconds = seconds,
                            .shorten = shorten};
    patch_send(patch);
} /* NOLINT(clang-analyzer-unix.Malloc): the call has it */

void sl_pod_deadline_set(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod)
{
    patch_new(deadlines, pod, pod->timeout_s, false);
}

void sl_pod_deadline_shorten(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod,
                             int64_t seconds)
{
    patch_new(deadlines, pod, seconds, true);
}

bool sl_pod_deadline_wanted(const struct sl_pod *pod)
{
    return pod->timeout_s > 0 && !pod->has_deadline;
}

/* ---- life ---- */

void sl_pod_deadlines_init(struct sl_pod_deadlines *deadlines, struct sl_client *client,
                           int64_t try_us)
{
    *deadlines = (struct sl_pod_deadlines){.client = client, .try_us = try_us};
    (void)pthread_mutex_init(&deadlines->lock, NULL);
}

void sl_pod_deadlines_free(struct sl_pod_deadlines *deadlines)
{
    (void)pthread_mutex_destroy(&deadlines->lock);
}
