/* startestimates, which can only be created: when would this pod start? */
#include "codec/estimate.h"
#include "server/api/api.h"
#include "server/app/workspace.h"
#include "server/visibility/handlers.h"
#include "server/visibility/kinds.h"

#include <stdio.h>

enum { FIELD_MAX = 160 }; /* bytes shown of a place within the pod */

/* Errors within the pod name its place in the body. */
static void place_error(struct sl_error *err)
{
    struct sl_error own = *err;
    if (own.field[0] != '\0') {
        (void)snprintf(err->field, sizeof(err->field), "spec.pod.%.*s", FIELD_MAX, own.field);
    }
}

/* The pod of the body in the namespace of the path; NULL with request->err set. */
static struct sl_pod *read_pod(struct sl_request *request, struct sl_str text)
{
    const struct sl_text_limits limits = sl_api_text_limits(request);
    struct sl_pod_facts facts;
    if (text.len == 0) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD,
                           "the body is empty, a StartEstimate is expected");
        return NULL;
    }
    if (sl_estimate_decode(text, &limits, &request->workspace->arena, &facts, &request->err) < 0) {
        return NULL;
    }
    struct sl_pod *pod = sl_api_suppose(&facts, request->param[0], &request->err);
    if (pod == NULL) {
        place_error(&request->err);
    } else if (!sl_api_asks(pod, "spec.pod", &request->err)) {
        sl_pod_unref(pod);
        pod = NULL;
    }
    return pod;
}

static struct sl_str body_of(const struct sl_request *request)
{
    const struct sl_buf *held = &request->workspace->held;
    return (struct sl_str){held->data, held->len};
}

/* The object that was sent, with one member more. */
static void write_answer(struct sl_request *request, const struct sl_queue_what_if *what_if)
{
    struct sl_writer w = {.buf = &request->reply};
    struct sl_str text = body_of(request);
    size_t len = text.len;
    while (len > 0 && text.s[len - 1] != '}') { /* there is one: it was read as an object */
        len--;
    }
    sl_buf_append(&request->reply, text.s, len - 1);
    w.comma = true;
    sl_write_member_object(&w, "status");
    sl_api_what_if_members(&w, what_if);
    sl_write_object_end(&w);
    sl_buf_puts(&request->reply, "}\n");
    request->code = 201;
}

void sl_vis_estimate(struct sl_request *request)
{
    struct sl_pod *pod = read_pod(request, body_of(request));
    if (pod == NULL) {
        (void)sl_request_fail_err(request);
        return;
    }
    sl_api_what_if(request, pod, write_answer);
}
