/* Finds the pod by the label that the GPU operator gives it, and patches it. */
#include "kube/cut/nudge.h"

#include <stdlib.h>

#include "codec/write.h"
#include "kube/client/object_call.h"
#include "kube/client/url.h"
#include "util/clock.h"
#include "util/timestamp.h"

#define ANNOTATION "sliced.dev/nudged"

enum { BODY_BYTES_MAX = 4096, QUERY_BYTES_MAX = 2048 };

struct nudge {
    struct sl_client *client;
    int64_t try_us;
    struct sl_str namespace, name, uid; /* of the pod, while the list is read */
};

static struct sl_call_options call_of(const struct nudge *nudge, const char *method)
{
    return (struct sl_call_options){
        .method = method,
        .priority = SL_CALL_LOW,
        .max_tries = 1,
        .within_us = nudge->try_us,
    };
}

static void on_patched(void *context, const struct sl_reply *reply)
{
    (void)context;
    (void)reply;
}

static void patch_pod(const struct nudge *nudge)
{
    char at[32];
    struct sl_buf body;
    struct sl_writer w = {.buf = &body};
    const struct sl_object_ref pod = {SL_OBJECT_POD, nudge->namespace, nudge->name};
    struct sl_call_options call = call_of(nudge, "PATCH");
    sl_time_format(sl_clock_real_us(), at);
    sl_buf_init(&body, BODY_BYTES_MAX);
    sl_write_object(&w);
    sl_write_member_object(&w, "metadata");
    sl_write_member_str(&w, "uid", nudge->uid);
    sl_write_member_object(&w, "annotations");
    sl_write_member_text(&w, ANNOTATION, at);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    call.content_type = "application/merge-patch+json";
    call.form = SL_FORM_METADATA;
    call.done = on_patched;
    (void)sl_object_call(nudge->client, &pod, "", &body, &call, NULL);
}

/* Only the first is nudged: a DaemonSet has one on the node. */
static int take_pod(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct nudge *nudge = context;
    if (object->pod == NULL) {
        return 0;
    }
    nudge->namespace = object->pod->namespace;
    nudge->name = object->pod->name;
    nudge->uid = object->pod->uid;
    patch_pod(nudge);
    return sl_error_set(err, SL_ERR_LIMIT, "one is enough");
}

static void on_listed(void *context, const struct sl_reply *reply)
{
    struct nudge *nudge = context;
    if (reply->status == 200) {
        (void)sl_manifest_decode(reply->body.s, reply->body.len, &sl_kube_text_limits, take_pod,
                                 nudge, NULL);
    }
    free(nudge);
}

void sl_nudge(struct sl_client *client, struct sl_str namespace, struct sl_str node, int64_t try_us)
{
    const struct sl_object_ref pods = {SL_OBJECT_POD, namespace, {NULL, 0}};
    struct nudge *nudge = calloc(1, sizeof(*nudge));
    struct sl_buf query;
    if (nudge == NULL) {
        return;
    }
    *nudge = (struct nudge){.client = client, .try_us = try_us};
    struct sl_call_options call = call_of(nudge, "GET");
    call.done = on_listed;
    call.context = nudge;
    sl_buf_init(&query, QUERY_BYTES_MAX);
    sl_buf_puts(&query, "?labelSelector=app%3Dnvidia-mig-manager&limit=1&fieldSelector="
                        "spec.nodeName%3D");
    sl_url_put(&query, node);
    sl_buf_putc(&query, '\0');
    if (query.failed != SL_BUF_OK ||
        sl_object_call(client, &pods, query.data, NULL, &call, NULL) < 0) {
        free(nudge);
    }
    sl_buf_free(&query);
}
