/* POST /api/v1/estimates: when a pod would start that is not there. Nothing is changed. */
#include "server/api/api.h"
#include "server/api/embedded.h"
#include "server/api/handlers.h"
#include "server/app/workspace.h"
#include "server/model/queue.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the pod ---- */

struct sl_pod *sl_api_suppose(const struct sl_pod_facts *facts, struct sl_str namespace,
                              struct sl_error *err)
{
    struct sl_pod_facts own = *facts;
    struct sl_pair gate = {.key = SL_STR("sliced.dev/queue"), .next = facts->gates};
    char uid[SL_UID_TEXT];
    if (facts->node_name.len > 0) {
        (void)sl_error_set(err, SL_ERR_FIELD, "is given: such a pod does not wait");
        (void)snprintf(err->field, sizeof(err->field), "spec.nodeName");
        return NULL;
    }
    if (sl_uid_new(uid, err) < 0) {
        return NULL;
    }
    own.uid = sl_str_of(uid);
    own.namespace = namespace.len > 0 ? namespace : facts->namespace;
    own.name = facts->name.len > 0 ? facts->name : SL_STR("unnamed"); /* it has a generateName */
    own.created_us = sl_clock_real_us();
    /* what it cannot have before it is there, whatever is written */
    own.phase = SL_STR("");
    own.nominated = SL_STR("");
    own.started_us = 0;
    own.deleting_us = 0;
    own.deleting = false;
    own.tried = false;
    own.gates = sl_pair_find(facts->gates, gate.key) == NULL ? &gate : facts->gates;
    struct sl_pod *pod = sl_pod_new(&own, err);
    if (pod != NULL) { /* only sliced writes these two */
        pod->released = false;
        pod->assignment = NULL;
    }
    return pod;
}

static struct sl_pod *suppose_as_written(void *context, const struct sl_pod_facts *facts,
                                         struct sl_error *err)
{
    (void)context;
    return sl_api_suppose(facts, SL_STR(""), err);
}

/* ---- the answer ---- */

/* A question under way, on the heap: the reply may shed the request's arena before the request
 * ends.
 */
struct supposed {
    struct sl_estimate_request estimate;
    void (*answer)(struct sl_request *request, const struct sl_queue_what_if *what_if);
};

/* The request is over, whether it was answered or not. */
static void supposed_end(struct sl_request *request)
{
    struct supposed *supposed = request->verb_state;
    sl_queue_list_free(&supposed->estimate.what_if.list);
    sl_pod_unref(supposed->estimate.pod);
    free(supposed);
}

static void estimate_fail(struct sl_request *request)
{
    if (request->err.code == SL_ERR_LIMIT) {
        sl_metrics_limit(request->metrics, SL_LIMIT_ESTIMATES);
        (void)sl_request_fail(request, 429);
    } else if (request->err.code == SL_ERR_SYSTEM) {
        (void)sl_request_fail(request, 503);
    } else {
        sl_api_queue_failed(request);
    }
}

static void supposed_answer(struct sl_request *request)
{
    struct supposed *supposed = request->verb_state;
    if (supposed->estimate.result == 0) {
        supposed->answer(request, &supposed->estimate.what_if);
    } else {
        request->err = supposed->estimate.err;
        estimate_fail(request);
    }
}

/* NULL after sl_request_fail. */
static struct supposed *supposed_new(struct sl_request *request)
{
    if (request->app->queue.what_if == NULL) {
        (void)sl_error_set(&request->err, SL_ERR_NOTFOUND,
                           "there is no queue here: it is off (queue.enabled)");
        (void)sl_request_fail(request, 404);
        return NULL;
    }
    struct supposed *supposed = malloc(sizeof(*supposed));
    if (supposed == NULL) {
        (void)sl_error_nomem(&request->err);
        (void)sl_request_fail_err(request);
    }
    return supposed;
}

void sl_api_what_if(struct sl_request *request, struct sl_pod *pod,
                    void (*answer)(struct sl_request *request,
                                   const struct sl_queue_what_if *what_if))
{
    struct supposed *supposed = supposed_new(request);
    if (supposed == NULL) {
        sl_pod_unref(pod);
        return;
    }
    *supposed = (struct supposed){
        .estimate = {.request = request,
                     .pod = pod,
                     .who = sl_estimate_who(sl_request_user(request))},
        .answer = answer,
    };
    request->verb_state = supposed;
    request->ended = supposed_end;
    /* Up to 4 MiB, which nobody weighs, would wait in line with it. The pod is a copy of what
     * was decoded there, and answers repeat the body that is held. */
    sl_arena_free(&request->workspace->arena);
    if (sl_estimates_ask(&request->app->estimates, &supposed->estimate, supposed_answer,
                         &request->err) < 0) {
        estimate_fail(request);
    }
}

void sl_api_what_if_members(struct sl_writer *w, const struct sl_queue_what_if *what_if)
{
    struct sl_model_estimate estimate;
    sl_model_estimate_of(what_if, &estimate);
    sl_fields_write(w, sl_model_estimate, SL_SEEN_BY_USERS, &estimate);
}

static void write_table(struct sl_request *request, const struct sl_queue_what_if *what_if)
{
    struct sl_model_estimate estimate;
    struct sl_grid table;
    char text[SL_FIELD_TEXT_MAX];
    sl_model_estimate_of(what_if, &estimate);
    sl_fields_grid(&table, sl_model_estimate, NULL, request->reply.max);
    sl_fields_cells(&table, sl_model_estimate, &estimate, NULL, NULL);
    sl_grid_write(&table, &request->reply);
    sl_grid_free(&table);
    sl_buf_puts(&request->reply, sl_model_estimate_text(&estimate, text));
    sl_buf_putc(&request->reply, '\n');
}

static void answer_directly(struct sl_request *request, const struct sl_queue_what_if *what_if)
{
    struct sl_writer w = {.buf = &request->reply};
    bool as_table = false;
    if (sl_request_output(request, &as_table) < 0) {
        return;
    }
    if (as_table) {
        write_table(request, what_if);
        return;
    }
    sl_write_object(&w);
    sl_api_what_if_members(&w, what_if);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

void sl_api_estimate(struct sl_request *request)
{
    bool as_table = false;
    if (sl_request_only(request, "output") < 0 || sl_request_output(request, &as_table) < 0) {
        return;
    }
    struct sl_pod *pod = sl_api_read_pod(request, suppose_as_written, NULL);
    if (pod == NULL) {
        (void)sl_request_fail_err(request);
        return;
    }
    sl_api_what_if(request, pod, answer_directly);
}
