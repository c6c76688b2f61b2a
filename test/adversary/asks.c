#include "adversary/asks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/checks.h"
#include "adversary/fake_time.h"
#include "adversary/grammar.h"
#include "adversary/hooks.h"
#include "adversary/moves.h"
#include "util/time.h"

#define GROUP "/apis/visibility.sliced.dev/v1alpha1"

enum {
    ASKERS = 4,
    TERMS = 30,
    EXPRESSIONS = 4,
    NAPS = 50000,  /* after which time passes though nobody was answered */
    WATCHES = 100, /* that one user asks for */
    PIECE = 1 << 18,
};

/* The least that passes between two estimates, whatever they cost. */
static const int64_t turn_us = 2 * SL_SECOND_US;

static struct rig *playing;

/* ---- estimates ---- */

/* Held by who plays, but while it naps: the thread that makes estimates works then. */
static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER;
static int (*what_if)(void *context, struct sl_pod *pod, struct sl_queue_what_if *out,
                      struct sl_error *err);

/* Each has cost an hour of a processor, as what users have in the queue might make it. */
static int dear_what_if(void *context, struct sl_pod *pod, struct sl_queue_what_if *out,
                        struct sl_error *err)
{
    (void)pthread_mutex_lock(&at_work);
    int result = what_if(context, pod, out, err);
    out->spent_us = SL_HOUR_US;
    (void)pthread_mutex_unlock(&at_work);
    return result;
}

static const char calm_pod[] =
    "{\"metadata\": {\"name\": \"calm\"}, \"spec\": {\"containers\": [{\"name\": \"c\", "
    "\"resources\": {\"limits\": {\"nvidia.com/gpu\": \"1\"}}}]}}";

/* As many terms as are kept of a pod, each of which has to be compared. */
static json_t *heavy_pod(struct rng *rng)
{
    json_t *terms = json_array();
    json_t *pod = json_loads(calm_pod, 0, NULL);
    for (unsigned t = 0; t < TERMS; t++) {
        json_t *expressions = json_array();
        for (unsigned e = 0; e < EXPRESSIONS; e++) {
            char value[32];
            (void)snprintf(value, sizeof(value), "v%u-%u", t, rng_below(rng, 1000));
            (void)json_array_append_new(expressions, json_pack("{s:s, s:s, s:[s]}", "key",
                                                               "nvidia.com/gpu.product", "operator",
                                                               e + 1 < EXPRESSIONS ? "NotIn" : "In",
                                                               "values", value));
        }
        (void)json_array_append_new(terms, json_pack("{s:o}", "matchExpressions", expressions));
    }
    (void)json_object_set_new(json_object_get(pod, "spec"), "affinity",
                              json_pack("{s:{s:{s:o}}}", "nodeAffinity",
                                        "requiredDuringSchedulingIgnoredDuringExecution",
                                        "nodeSelectorTerms", terms));
    return pod;
}

static json_t *hostile_pod(struct rng *rng)
{
    if (rng_chance(rng, 60)) {
        return heavy_pod(rng);
    }
    json_t *pod = grammar_pod(rng, 0);
    for (unsigned i = rng_below(rng, 4); i > 0; i--) {
        grammar_spoil_pod(rng, pod, true);
    }
    return pod;
}

struct question {
    struct http_call *call; /* NULL: it is answered */
    struct http_reply reply;
};

/* Steals the pod. */
static void ask(struct question *question, const char *user, const char *namespace, json_t *pod)
{
    char path[128];
    json_t *body = json_pack("{s:s, s:s, s:{s:o}}", "apiVersion", "visibility.sliced.dev/v1alpha1",
                             "kind", "StartEstimate", "spec", "pod", pod);
    char *text = json_dumps(body, JSON_COMPACT);
    (void)snprintf(path, sizeof(path), GROUP "/namespaces/%s/startestimates", namespace);
    *question = (struct question){.call = NULL};
    (void)http_begin_as(playing->app, &playing->rng, user, "POST", path, text, &question->reply,
                        &question->call);
    free(text);
    json_decref(body);
}

/* Waits until all are answered. The clock does not depend on how long that takes, unless an answer
 * does not come. */
static void await_answers(struct question *question, unsigned n)
{
    unsigned left = 0;
    for (unsigned i = 0; i < n; i++) {
        left += question[i].call != NULL;
    }
    while (left > 0) {
        bool any = false;
        fake_time_pass(turn_us);
        for (unsigned naps = 0; naps < NAPS && !any; naps++) {
            for (unsigned i = 0; i < n && !any; i++) {
                any = question[i].call != NULL && http_go_on(question[i].call, &question[i].reply);
                question[i].call = any ? NULL : question[i].call;
            }
            if (!any) {
                (void)pthread_mutex_unlock(&at_work);
                hooks_nap();
                (void)pthread_mutex_lock(&at_work);
            }
        }
        left -= any;
    }
}

/* The status of the answer to the last question, which is the calm user's. */
static unsigned answers_end(struct question *question, unsigned n)
{
    const unsigned status = question[n - 1].reply.status;
    for (unsigned i = 0; i < n; i++) {
        const struct http_reply *reply = &question[i].reply;
        if (reply->status == 0 || reply->status == 500) {
            check_failed("an estimate is answered %u: %.2000s", reply->status,
                         reply->text == NULL ? "" : reply->text);
        }
        json_t *root = json_loadb(reply->text, reply->len, JSON_ALLOW_NUL, NULL);
        if (root == NULL) {
            check_failed("an estimate is no JSON: %.2000s", reply->text);
        }
        if (reply->status == 201) { /* beside what was sent */
            check_words("an estimate", json_string_value(json_object_get(
                                           json_object_get(root, "status"), "message")));
        }
        json_decref(root);
        http_reply_free(&question[i].reply);
    }
    return status;
}

void asks_estimates(struct rig *rig)
{
    static const char *const hostile[ASKERS - 1] = {"mallory", "system:serviceaccount:greedy:one",
                                                    "system:serviceaccount:others:two"};
    struct question question[ASKERS];
    playing = rig;
    if (rig->app->queue.what_if == NULL) {
        return; /* the queue is off */
    }
    (void)pthread_mutex_lock(&at_work);
    what_if = rig->app->queue.what_if == dear_what_if ? what_if : rig->app->queue.what_if;
    rig->app->queue.what_if = dear_what_if;
    ask(&question[0], "calm", "calm", json_loads(calm_pod, 0, NULL));
    await_answers(question, 1);
    const unsigned alone = answers_end(question, 1);
    for (unsigned i = 0; i < ASKERS - 1; i++) {
        ask(&question[i], hostile[i], "greedy", hostile_pod(&rig->rng));
    }
    ask(&question[ASKERS - 1], "calm", "calm", json_loads(calm_pod, 0, NULL));
    await_answers(question, ASKERS);
    const unsigned beside = answers_end(question, ASKERS);
    (void)pthread_mutex_unlock(&at_work);
    move_counts.estimates += alone == 201;
    if (beside != alone) {
        check_failed("an estimate is answered %u alone, and %u beside others", alone, beside);
    }
}

/* ---- watches ---- */

/* NULL: it is refused, with *status. */
static struct http_call *watch(const char *user, const char *namespace, const char *kind,
                               unsigned *status)
{
    char path[256];
    struct http_reply reply = {.status = 0};
    struct http_call *call = NULL;
    (void)snprintf(path, sizeof(path), "%s%s%s/%s?watch=true", GROUP,
                   namespace[0] == '\0' ? "" : "/namespaces/", namespace, kind);
    *status = 200;
    if (http_begin_as(playing->app, &playing->rng, user, "GET", path, NULL, &reply, &call)) {
        *status = reply.status;
        http_reply_free(&reply);
    }
    return call;
}

/* Its events are whole, and of its namespace. */
static void check_events(struct http_call *call, const char *namespace)
{
    static char text[PIECE + 1];
    size_t len = http_read(call, text, PIECE);
    text[len] = '\0';
    for (char *line = text; line < text + len;) {
        char *end = strchr(line, '\n');
        if (end == NULL) {
            break; /* there is more than a piece */
        }
        json_t *event = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, NULL);
        const json_t *meta = json_object_get(json_object_get(event, "object"), "metadata");
        const char *of = json_string_value(json_object_get(meta, "namespace"));
        if (end > line && (event == NULL || (of != NULL && strcmp(of, namespace) != 0))) {
            check_failed("a watch of %s is told %.1000s", namespace, line);
        }
        json_decref(event);
        line = end + 1;
    }
}

void asks_watches(struct rig *rig)
{
    static const char *const kinds[] = {"runningpods", "queuedpods"};
    const char *kind = rng_pick(&rig->rng, kinds);
    struct http_call *held[WATCHES] = {NULL};
    unsigned alone = 0;
    unsigned beside = 0;
    playing = rig;
    struct http_call *calm = watch("calm", "team-a", kind, &alone);
    if (calm != NULL) {
        check_events(calm, "team-a");
        http_end(calm);
    }
    for (unsigned i = 0; i < WATCHES; i++) {
        char namespace[32] = "";
        unsigned status = 0;
        if (rng_chance(&rig->rng, 70)) {
            (void)snprintf(namespace, sizeof(namespace), "ns-%u", i);
        }
        held[i] = watch(i % 2 == 0 ? "system:serviceaccount:greedy:one"
                                   : "system:serviceaccount:greedy:two",
                        namespace, kind, &status);
        if (held[i] == NULL && status == 500) {
            check_failed("a watch is answered %u", status);
        }
    }
    calm = watch("calm", "team-a", kind, &beside);
    if (beside != alone) {
        check_failed("a watch is answered %u alone, and %u beside others", alone, beside);
    }
    move_counts.watches += calm != NULL;
    if (calm != NULL) {
        check_events(calm, "team-a");
        http_end(calm);
    }
    for (unsigned i = 0; i < WATCHES; i++) {
        if (held[i] != NULL) {
            http_end(held[i]);
        }
    }
}
