/* POST and DELETE /api/v1/embedded/pods: a scheduling story can be played with curl. */
#include "server/api/embedded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "codec/status.h"
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "server/app/workspace.h"
#include "server/model/pod.h"
#include "util/clock.h"
#include "util/time.h"

int sl_uid_new(char out[SL_UID_TEXT], struct sl_error *err)
{
    unsigned char b[16];
    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b)) {
        return sl_error_set(err, SL_ERR_SYSTEM, "no random bytes for a UID");
    }
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* RFC 4122: version 4 */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80); /* and its variant */
    (void)snprintf(out, SL_UID_TEXT,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
    return 0;
}

struct sl_pod *sl_embedded_pod_new(const struct sl_pod_facts *facts, struct sl_error *err)
{
    struct sl_pod_facts filled = *facts;
    char uid[SL_UID_TEXT];
    if (filled.uid.len == 0) {
        if (sl_uid_new(uid, err) < 0) {
            return NULL;
        }
        filled.uid = sl_str_of(uid);
    }
    if (filled.created_us == 0) {
        filled.created_us = sl_clock_real_us();
    }
    return sl_pod_new(&filled, err);
}

/* ---- POST ---- */

static struct sl_pod *make_pod(void *context, const struct sl_pod_facts *facts,
                               struct sl_error *err)
{
    (void)context;
    return sl_embedded_pod_new(facts, err);
}

/* Adds a pod under a free name. Takes over the reference. */
static int admit_pod(struct sl_app *app, struct sl_pod *pod, struct sl_error *err)
{
    (void)pthread_mutex_lock(&app->admit);
    struct sl_pod *known =
        sl_store_pod(app->store, sl_str_of(pod->namespace), sl_str_of(pod->name));
    int rc = 0;
    if (known != NULL) {
        rc = sl_error_set(err, SL_ERR_CONFLICT, "pod %s/%s is there already (%s)", pod->namespace,
                          pod->name, sl_pod_phase_name(known->phase));
        sl_pod_unref(known);
        sl_pod_unref(pod);
    } else {
        rc = sl_store_put_pod(app->store, pod, err);
    }
    (void)pthread_mutex_unlock(&app->admit);
    return rc;
}

/* Waits until the plan knows: a player of a story asks for the next thing at once. */
static void settle_queue(struct sl_app *app)
{
    if (app->queue.settle != NULL) {
        (void)app->queue.settle(app->queue.context, 2 * SL_SECOND_US);
    }
}

void sl_embedded_post(struct sl_request *request)
{
    struct sl_pod *pod = sl_api_read_pod(request, make_pod, NULL);
    if (pod == NULL) {
        (void)sl_request_fail_err(request);
        return;
    }
    if (admit_pod(request->app, sl_pod_ref(pod), &request->err) < 0) {
        /* 403, as Kubernetes answers when a quota is used up */
        (void)sl_request_fail(
            request, request->err.code == SL_ERR_LIMIT ? 403 : sl_status_code(request->err.code));
    } else {
        struct sl_writer w = {.buf = &request->reply};
        settle_queue(request->app);
        sl_fields_item(&w, sl_model_pod, SL_SEEN_ALONE, pod);
        sl_buf_putc(&request->reply, '\n');
        request->code = 201;
        sl_log_pod(SL_LOG_INFO, sl_str_of(pod->namespace), sl_str_of(pod->name), "pod added", "uid",
                   pod->uid, (char *)NULL);
    }
    sl_pod_unref(pod);
}

/* ---- DELETE ---- */

/* A pod's end may free units and open a stage: no plan sees one without the other. */
static void hold_queue(struct sl_app *app, bool begins)
{
    if (app->queue.hold != NULL) {
        app->queue.hold(app->queue.context, begins);
    }
}

void sl_embedded_delete(struct sl_request *request)
{
    struct sl_str ns = request->param[0];
    struct sl_str name = request->param[1];
    struct sl_app *app = request->app;
    hold_queue(app, true);
    (void)pthread_mutex_lock(&app->admit);
    struct sl_pod *pod = sl_store_pod(app->store, ns, name);
    if (pod != NULL) { /* and none but this handler takes it away */
        (void)sl_store_delete_pod(app->store, ns, name, SL_STR(""), NULL);
    }
    (void)pthread_mutex_unlock(&app->admit);
    hold_queue(app, false);
    if (pod == NULL) {
        sl_api_unknown_pod(request, ns, name);
        return;
    }
    struct sl_writer w = {.buf = &request->reply};
    settle_queue(app);
    sl_fields_item(&w, sl_model_pod, SL_SEEN_ALONE, pod);
    sl_buf_putc(&request->reply, '\n');
    sl_log_pod(SL_LOG_INFO, sl_str_of(pod->namespace), sl_str_of(pod->name), "pod ended", "uid",
               pod->uid, (char *)NULL);
    sl_pod_unref(pod);
}
