#include "adversary/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/checks.h"
#include "adversary/grammar.h"
#include "adversary/moves.h"

enum { NODES_MAX = 32, NAME_MAX_BYTES = 300, MOST = 90 };

static const char *meta_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, "metadata"), key));
    return text == NULL ? "" : text;
}

/* References to a pod that is there, and whether it is as the daemon was told. */
static json_t *some_pod(struct rig *rig, bool *told)
{
    world_lock();
    const struct thing *thing = moves_pick(rig, WORLD_PODS);
    json_t *pod = thing == NULL ? NULL : json_deep_copy(thing->now);
    *told = thing != NULL && thing->now == thing->seen && !world.unsure;
    world_unlock();
    return pod;
}

static json_t *node_names(struct rig *rig, unsigned percent)
{
    json_t *names = json_array();
    world_lock();
    for (size_t i = 0; i < world.n[WORLD_NODES]; i++) {
        const struct thing *thing = &world.thing[WORLD_NODES][i];
        if (thing->now != NULL && rng_chance(&rig->rng, percent)) {
            (void)json_array_append_new(names, json_string(thing->key + 1));
        }
    }
    world_unlock();
    if (rng_chance(&rig->rng, 10)) {
        (void)json_array_append_new(names, json_string("nowhere\033[31m\n\"\xc2\x9b"));
    }
    return names;
}

/* The queue holds it, by the account and by the daemon's own word: nobody may start it. */
static bool is_held(struct rig *rig, const json_t *pod, bool told)
{
    struct sl_queue_status status;
    const char *uid = meta_of(pod, "uid");
    const struct sl_queue_reader *queue = &rig->app->queue;
    if (rig->threads || !told || queue->status == NULL || !account_waits(pod) ||
        !account_is_known_by_uid(pod)) {
        return false;
    }
    queue->status(queue->context, sl_str_of(uid), &status);
    return rig_nominated(rig, uid)[0] == '\0' && !sl_queue_may_go(&status);
}

/* ---- filter ---- */

static json_t *post(struct rig *rig, const char *path, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);
    struct http_reply reply = rig_ask(rig, "POST", path, text);
    json_t *root = json_loadb(reply.text, reply.len, JSON_ALLOW_NUL, NULL);
    if (root == NULL || (reply.status != 200 && reply.status != 503 && reply.status / 100 != 4)) {
        check_failed("POST %s is answered %u: %.2000s", path, reply.status,
                     reply.text == NULL ? "" : reply.text);
    }
    if (reply.status != 200) {
        json_decref(root);
        root = NULL;
    }
    free(text);
    http_reply_free(&reply);
    json_decref(body);
    return root;
}

/* The names that passed, as an array; NULL: none were asked of. percent: of the nodes are asked of.
 */
static json_t *filter(struct rig *rig, json_t *pod, bool told, unsigned percent)
{
    bool held = is_held(rig, pod, told);
    json_t *body = json_pack("{s:O, s:o}", "Pod", pod, "NodeNames", node_names(rig, percent));
    json_t *root = post(rig, "/scheduler/filter", body);
    json_t *passed = json_incref(json_object_get(root, "NodeNames"));
    size_t n = json_array_size(passed);
    move_counts.filters++;
    move_counts.passed += n;
    if (held && n > 0) {
        check_failed("filter passes %zu nodes for %s, which the queue holds", n,
                     meta_of(pod, "name"));
    }
    json_decref(root);
    return passed;
}

void verbs_filter(struct rig *rig)
{
    bool told = false;
    json_t *pod = some_pod(rig, &told);
    if (pod != NULL) {
        json_decref(filter(rig, pod, told, MOST));
        json_decref(pod);
    }
}

/* ---- bind ---- */

static void post_binding(struct rig *rig, json_t *pod, const char *node, bool told)
{
    bool held = is_held(rig, pod, told);
    uint64_t before = account_counts.bindings;
    json_t *body =
        json_pack("{s:s, s:s, s:s, s:s}", "PodName", meta_of(pod, "name"), "PodNamespace",
                  meta_of(pod, "namespace"), "PodUID", meta_of(pod, "uid"), "Node", node);
    char *text = json_dumps(body, JSON_COMPACT);
    account_asked(meta_of(pod, "uid"), node);
    rig_bind(rig, text);
    if (held && account_counts.bindings > before) {
        check_failed("%s is bound to %s though the queue holds it", meta_of(pod, "name"), node);
    }
    free(text);
    json_decref(body);
    move_counts.binds++;
}

json_t *verbs_passed(struct rig *rig, json_t *pod)
{
    return filter(rig, pod, true, 100);
}

void verbs_bind(struct rig *rig, json_t *pod, const char *node)
{
    post_binding(rig, pod, node, true);
}

void verbs_schedule(struct rig *rig)
{
    bool told = false;
    json_t *pod = some_pod(rig, &told);
    const json_t *spec = json_object_get(pod, "spec");
    if (pod == NULL || json_object_get(spec, "nodeName") != NULL ||
        json_array_size(json_object_get(spec, "schedulingGates")) > 0) {
        json_decref(pod);
        return;
    }
    json_t *passed = filter(rig, pod, told, MOST);
    size_t n = json_array_size(passed);
    if (n > 0) {
        json_t *body = json_pack("{s:O, s:O}", "Pod", pod, "NodeNames", passed);
        json_decref(post(rig, "/scheduler/prioritize", body));
        if (rng_chance(&rig->rng, 90)) {
            const json_t *node = json_array_get(passed, rng_below(&rig->rng, (unsigned)n));
            post_binding(rig, pod, json_string_value(node), told);
        }
    }
    json_decref(passed);
    json_decref(pod);
}

void verbs_attack(struct rig *rig)
{
    bool told = false;
    json_t *pod = some_pod(rig, &told);
    json_t *names = node_names(rig, MOST);
    size_t n = json_array_size(names);
    if (pod != NULL && n > 0) {
        const json_t *node = json_array_get(names, rng_below(&rig->rng, (unsigned)n));
        post_binding(rig, pod, json_string_value(node), told);
        move_counts.attacks++;
    }
    json_decref(names);
    json_decref(pod);
}

/* ---- preempt ---- */

static json_t *victims_on(struct rig *rig, const char *node)
{
    json_t *pods = json_array();
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const json_t *now = world.thing[WORLD_PODS][i].now;
        if (account_stands(now, node) && rng_chance(&rig->rng, 60)) {
            (void)json_array_append_new(pods, json_pack("{s:s}", "UID", meta_of(now, "uid")));
        }
    }
    if (rng_chance(&rig->rng, 10)) {
        (void)json_array_append_new(pods, json_pack("{s:o}", "UID", grammar_text(&rig->rng)));
    }
    return json_pack("{s:o, s:i}", "Pods", pods, "NumPDBViolations", (int)rng_below(&rig->rng, 3));
}

void verbs_preempt(struct rig *rig)
{
    bool told = false;
    json_t *pod = some_pod(rig, &told);
    if (pod == NULL) {
        return;
    }
    json_t *map = json_object();
    world_lock();
    for (size_t i = 0; i < world.n[WORLD_NODES]; i++) {
        const struct thing *thing = &world.thing[WORLD_NODES][i];
        if (thing->now != NULL) {
            (void)json_object_set_new(map, thing->key + 1, victims_on(rig, thing->key + 1));
        }
    }
    world_unlock();
    json_t *body = json_pack("{s:O, s:o}", "Pod", pod, "NodeNameToMetaVictims", map);
    json_decref(post(rig, "/scheduler/preempt", body));
    json_decref(pod);
}

/* ---- the webhook ---- */

void verbs_review(struct rig *rig)
{
    struct rng *rng = &rig->rng;
    json_t *pod = grammar_pod(rng, 0);
    unsigned spoilt = rng_below(rng, 4);
    for (unsigned i = 0; i < spoilt; i++) {
        grammar_spoil_pod(rng, pod, true);
    }
    if (rng_chance(rng, 40)) {
        (void)json_object_del(json_object_get(pod, "metadata"), "uid");
        (void)json_object_del(json_object_get(pod, "metadata"), "name");
    }
    json_t *body = json_pack(
        "{s:s, s:s, s:{s:o, s:{s:s, s:s, s:s}, s:s, s:{s:s}, s:o}}", "apiVersion",
        "admission.k8s.io/v1", "kind", "AdmissionReview", "request", "uid",
        rng_chance(rng, 90) ? json_string("review") : grammar_text(rng), "kind", "group", "",
        "version", "v1", "kind", "Pod", "operation", rng_chance(rng, 80) ? "CREATE" : "UPDATE",
        "userInfo", "username",
        rng_chance(rng, 50) ? "alice" : "system:serviceaccount:kube-system:daemon-set-controller",
        "object", pod);
    json_decref(post(rig, "/admission/gate/default-scheduler", body));
}

/* ---- readers ---- */

static void read_path(struct rig *rig, const char *path)
{
    struct http_reply reply = rig_ask(rig, "GET", path, NULL);
    if (reply.status == 0 || reply.status == 500) {
        check_failed("GET %s is answered %u: %.2000s", path, reply.status,
                     reply.text == NULL ? "" : reply.text);
    }
    if (reply.text[0] == '{') {
        json_t *root = json_loadb(reply.text, reply.len, JSON_ALLOW_NUL, NULL);
        if (root == NULL) {
            check_failed("GET %s is no JSON: %.2000s", path, reply.text);
        }
        json_decref(root);
    } else {
        check_lines(path, reply.text, reply.len);
    }
    http_reply_free(&reply);
}

void verbs_read(struct rig *rig)
{
    static const char *const paths[] = {"/api/v1/nodes",
                                        "/api/v1/nodes?output=table",
                                        "/api/v1/nodes/n1?output=table",
                                        "/api/v1/nodes/n1",
                                        "/api/v1/nodes?limit=1&continue=n3",
                                        "/api/v1/queue",
                                        "/api/v1/queue?output=table&limit=3",
                                        "/api/v1/queue?namespace=team-a",
                                        "/api/v1/queue?resource=nvidia.com/gpu",
                                        "/api/v1/pods/team-a/p1/explain",
                                        "/api/v1/pods/default/p2/explain?output=table",
                                        "/api/v1/state",
                                        "/gpushare-scheduler/inspect/n2",
                                        "/metrics",
                                        "/readyz",
                                        "/livez",
                                        "/version",
                                        "/"};
    read_path(rig, rng_pick(&rig->rng, paths));
}

void verbs_explain(struct rig *rig)
{
    char path[700];
    bool told = false;
    json_t *pod = some_pod(rig, &told);
    if (pod != NULL) {
        (void)snprintf(path, sizeof(path), "/api/v1/pods/%s/%s/explain%s",
                       meta_of(pod, "namespace"), meta_of(pod, "name"),
                       rng_chance(&rig->rng, 50) ? "?output=table" : "");
        read_path(rig, path);
        json_decref(pod);
    }
}
