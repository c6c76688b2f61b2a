/* What the daemon does to single objects: reads, bindings, patches, the lease, Events. As the API
 * server judges: a write about another UID, or about a pod that is bound, is a conflict. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/checks.h"
#include "adversary/cuts.h"
#include "adversary/machines.h"
#include "adversary/usage.h"
#include "adversary/world_internal.h"

enum { PART_MAX = 300 };

/* "/api/v1/namespaces/NS/pods/NAME/END" in parts. */
struct pod_path {
    char ns[PART_MAX];
    char name[PART_MAX];
    char end[16];
};

static void fail(struct world_reply *reply, int status, const char *reason, const char *message)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1",
                               "reason", reason, "message", message, "code", status);
    reply->status = status;
    reply->text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
}

static void answer_with(struct world_reply *reply, json_t *object)
{
    reply->text = json_dumps(object, JSON_COMPACT);
}

static bool take_part(const char **at, char out[PART_MAX], const char *stop)
{
    size_t len = strcspn(*at, stop);
    if (len == 0 || len >= PART_MAX) {
        return false;
    }
    memcpy(out, *at, len);
    out[len] = '\0';
    *at += len;
    return true;
}

static bool read_pod_path(const char *path, struct pod_path *out)
{
    static const char head[] = "/api/v1/namespaces/";
    static const char middle[] = "/pods/";
    if (strncmp(path, head, strlen(head)) != 0) {
        return false;
    }
    path += strlen(head);
    if (!take_part(&path, out->ns, "/?") || strncmp(path, middle, strlen(middle)) != 0) {
        return false;
    }
    path += strlen(middle);
    if (!take_part(&path, out->name, "/?")) {
        return false;
    }
    (void)snprintf(out->end, sizeof(out->end), "%.15s", path);
    return true;
}

/* ---- bindings ---- */

static void answer_binding(struct thing *thing, json_t *body, struct world_reply *reply)
{
    json_t *now = thing->now;
    const char *uid = world_text(body, "metadata", "uid");
    const char *node = world_text(body, "target", "name");
    if (uid[0] != '\0' && strcmp(uid, world_text(now, "metadata", "uid")) != 0) {
        fail(reply, 409, "Conflict", "uid mismatch");
    } else if (world_text(now, "spec", "nodeName")[0] != '\0') {
        fail(reply, 409, "Conflict", "pod is already assigned to a node");
    } else if (json_object_get(json_object_get(now, "metadata"), "deletionTimestamp") != NULL) {
        fail(reply, 409, "Conflict", "pod is being deleted, cannot be assigned to a host");
    } else if (json_array_size(json_object_get(json_object_get(now, "spec"), "schedulingGates")) >
               0) {
        fail(reply, 409, "Conflict", "pod has non-empty .spec.schedulingGates");
    } else {
        json_t *pod = world_edit(thing);
        json_t *meta = json_object_get(pod, "metadata");
        json_t *annotations = json_object_get(meta, "annotations");
        if (!json_is_object(annotations)) {
            annotations = json_object();
            (void)json_object_set_new(meta, "annotations", annotations);
        }
        (void)json_object_update(annotations,
                                 json_object_get(json_object_get(body, "metadata"), "annotations"));
        (void)json_object_set_new(json_object_get(pod, "spec"), "nodeName", json_string(node));
        world_put(WORLD_PODS, pod);
        world_counts.bound++;
        reply->status = 201;
        return;
    }
    world_counts.refused_binds++;
}

/* ---- patches ---- */

/* [{"$patch":"delete","name":...}] takes that one out. */
static void patch_gates(json_t *spec, const json_t *patch)
{
    json_t *gates = json_object_get(spec, "schedulingGates");
    size_t i = 0;
    const json_t *change = NULL;
    json_array_foreach(patch, i, change)
    {
        const char *name = json_string_value(json_object_get(change, "name"));
        for (size_t k = json_array_size(gates); k > 0; k--) {
            const char *gate =
                json_string_value(json_object_get(json_array_get(gates, k - 1), "name"));
            if (gate != NULL && name != NULL && strcmp(gate, name) == 0) {
                (void)json_array_remove(gates, k - 1);
            }
        }
    }
}

static void merge(json_t *into, json_t *patch)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(patch, key, value)
    {
        json_t *old = json_object_get(into, key);
        if (strcmp(key, "schedulingGates") == 0) {
            patch_gates(into, value);
        } else if (json_is_null(value)) {
            (void)json_object_del(into, key);
        } else if (json_is_object(value) && json_is_object(old)) {
            merge(old, value);
        } else {
            (void)json_object_set_new(into, key, json_deep_copy(value));
        }
    }
}

static json_t *at_path(json_t *object, const char *path, char last[PART_MAX])
{
    while (*path == '/') {
        path++;
        if (!take_part(&path, last, "/")) {
            return NULL;
        }
        if (*path == '/') {
            object = json_object_get(object, last);
        }
    }
    return object;
}

/* A JSON patch of test, remove and replace. False: a test failed. */
static bool apply_operations(json_t *object, const json_t *operations)
{
    size_t i = 0;
    const json_t *operation = NULL;
    json_array_foreach(operations, i, operation)
    {
        char last[PART_MAX] = "";
        const char *op = json_string_value(json_object_get(operation, "op"));
        const char *path = json_string_value(json_object_get(operation, "path"));
        json_t *value = json_object_get(operation, "value");
        json_t *place = at_path(object, path, last);
        json_t *old = json_object_get(place, last);
        if (old == NULL || (strcmp(op, "test") == 0 && !json_equal(old, value))) {
            return false;
        }
        if (strcmp(op, "remove") == 0) {
            (void)json_object_del(place, last);
        } else if (strcmp(op, "replace") == 0) {
            (void)json_object_set(place, last, value);
        }
    }
    return true;
}

static void answer_patch(struct thing *thing, json_t *body, struct world_reply *reply)
{
    const char *uid = world_text(body, "metadata", "uid");
    json_t *fresh = world_edit(thing);
    if (uid[0] != '\0' && strcmp(uid, world_text(fresh, "metadata", "uid")) != 0) {
        fail(reply, 409, "Conflict", "uid mismatch");
    } else if (json_is_array(body) && !apply_operations(fresh, body)) {
        fail(reply, 422, "Invalid",
             "the server rejected our request due to an error in our "
             "request");
    } else {
        usage_patched(thing->now, body);
        if (json_is_object(body)) {
            merge(fresh, body);
        }
        world_counts.patches++;
        answer_with(reply, fresh);
        world_put(WORLD_PODS, fresh);
        return;
    }
    json_decref(fresh);
}

static void answer_pod(const struct world_request *request, const struct pod_path *path,
                       struct world_reply *reply)
{
    struct thing *thing = world_find(WORLD_PODS, path->ns, path->name);
    if (thing == NULL) {
        fail(reply, 404, "NotFound", "pods not found");
        return;
    }
    json_t *body = json_loadb(request->body, request->len, JSON_ALLOW_NUL, NULL);
    if (strcmp(request->method, "GET") == 0) {
        world_counts.reads++;
        answer_with(reply, thing->now);
    } else if (body == NULL) {
        check_failed("the body of %s %s is no JSON: %.*s", request->method, request->path,
                     (int)request->len, request->body);
    } else if (strcmp(path->end, "/binding") == 0) {
        answer_binding(thing, body, reply);
    } else {
        answer_patch(thing, body, reply);
    }
    json_decref(body);
}

/* ---- nodes, and the ConfigMap of those who cut them ---- */

/* A patch that names another version, or another object, changes nothing. */
static bool is_current(const json_t *now, const json_t *body, struct world_reply *reply)
{
    static const char *const keys[] = {"uid", "resourceVersion"};
    for (size_t i = 0; i < 2; i++) {
        const char *is = world_text(body, "metadata", keys[i]);
        if (is[0] != '\0' && strcmp(is, world_text(now, "metadata", keys[i])) != 0) {
            fail(reply, 409, "Conflict", "the object has been modified");
            return false;
        }
    }
    return true;
}

static void answer_node(const struct world_request *request, const char *name,
                        struct world_reply *reply)
{
    struct thing *thing = world_find(WORLD_NODES, "", name);
    json_t *body = json_loadb(request->body, request->len, 0, NULL);
    if (thing == NULL) {
        fail(reply, 404, "NotFound", "nodes not found");
    } else if (strcmp(request->method, "GET") == 0) {
        answer_with(reply, thing->now);
    } else if (is_current(thing->now, body, reply)) {
        json_t *fresh = world_edit(thing);
        merge(fresh, body);
        cuts_written(name, body, request->body, request->len);
        world_counts.patches++;
        answer_with(reply, fresh);
        world_put(WORLD_NODES, fresh);
    }
    json_decref(body);
}

static void answer_file(const struct world_request *request, struct world_reply *reply)
{
    const json_t *now = machines_file();
    json_t *body = json_loadb(request->body, request->len, 0, NULL);
    bool post = strcmp(request->method, "POST") == 0;
    if (post ? now != NULL : now == NULL) {
        fail(reply, post ? 409 : 404, post ? "AlreadyExists" : "NotFound", "configmaps");
    } else if (strcmp(request->method, "GET") == 0) {
        answer_with(reply, (json_t *)now);
    } else if (post || is_current(now, body, reply)) {
        json_t *fresh = post ? json_deep_copy(body) : json_deep_copy(now);
        merge(fresh, body);
        (void)json_object_set_new(json_object_get(fresh, "metadata"), "uid", json_string("file"));
        world_stamp(fresh);
        answer_with(reply, fresh);
        machines_put_file(fresh);
    }
    json_decref(body);
}

/* ---- one name, or a selector: for stages ---- */

static bool answer_some(const char *path, struct world_reply *reply)
{
    static const char by_name[] = "fieldSelector=metadata.name%3D";
    const char *name = strstr(path, by_name);
    enum world_kind kind = strstr(path, "/jobs?") != NULL ? WORLD_JOBS : WORLD_PODS;
    const char *ns = strstr(path, "/namespaces/");
    if ((name == NULL && strstr(path, "labelSelector=") == NULL) || ns == NULL) {
        return false;
    }
    char space[PART_MAX] = "";
    ns += strlen("/namespaces/");
    (void)take_part(&ns, space, "/");
    json_t *items = json_array();
    for (size_t i = 0; i < world.n[kind]; i++) {
        json_t *now = world.thing[kind][i].now;
        if (now != NULL && strcmp(world_text(now, "metadata", "namespace"), space) == 0 &&
            (name == NULL ||
             strcmp(name + strlen(by_name), world_text(now, "metadata", "name")) == 0)) {
            (void)json_array_append(items, now);
        }
    }
    json_t *page =
        json_pack("{s:s, s:{s:s}, s:o}", "kind", kind == WORLD_JOBS ? "JobList" : "PodList",
                  "metadata", "resourceVersion", "1", "items", items);
    answer_with(reply, page);
    json_decref(page);
    return true;
}

/* ---- leases and Events ---- */

static void answer_lease(const struct world_request *request, struct world_reply *reply)
{
    json_t **lease = world_lease();
    json_t *body = json_loadb(request->body, request->len, 0, NULL);
    world_counts.leases++;
    if (strcmp(request->method, "GET") == 0) {
        if (*lease == NULL) {
            fail(reply, 404, "NotFound", "leases not found");
        } else {
            answer_with(reply, *lease);
        }
    } else if (strcmp(request->method, "POST") == 0
                   ? *lease != NULL
                   : strcmp(world_text(body, "metadata", "resourceVersion"),
                            world_text(*lease, "metadata", "resourceVersion")) != 0) {
        fail(reply, 409, "Conflict", "the object has been modified");
    } else {
        json_decref(*lease);
        *lease = json_incref(body);
        world_stamp_lease();
        reply->status = strcmp(request->method, "POST") == 0 ? 201 : 200;
        answer_with(reply, *lease);
    }
    json_decref(body);
}

static void answer_event(const struct world_request *request, struct world_reply *reply)
{
    json_t *body = json_loadb(request->body, request->len, JSON_ALLOW_NUL, NULL);
    if (body == NULL) {
        check_failed("an Event is no JSON: %.*s", (int)request->len, request->body);
    }
    world_counts.events++;
    check_words("the note of an Event", json_string_value(json_object_get(body, "note")));
    check_words("the reason of an Event", json_string_value(json_object_get(body, "reason")));
    reply->status = strcmp(request->method, "POST") == 0 ? 201 : 200;
    answer_with(reply, body);
    json_decref(body);
}

/* DeviceClasses: none served, none allowed, none there, or more than are kept, odd ones too. */
static void answer_classes(struct world_reply *reply)
{
    static const char *const odd[] = {"nvidia.com/gpu",  "aliyun.com/gpu-mem",   "", "/", "cpu",
                                      "nvidia.com/mig-", "nvidia.com/mig-1g.5gb"};
    enum { KINDS = 4, MANY = 200 };
    const unsigned turn = world.class_reads++ % KINDS;
    json_t *items = json_array();
    for (unsigned i = 0; turn == 2 && i < MANY; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "nvidia.com/gpu-%ugb", i);
        const char *extended = i < sizeof(odd) / sizeof(odd[0]) ? odd[i] : name;
        (void)json_array_append_new(
            items, json_pack("{s:{s:s}, s:{s:o}}", "metadata", "name", name, "spec",
                             "extendedResourceName",
                             i % 9 == 8 ? json_integer(i) : json_string(extended)));
    }
    json_t *page = json_pack("{s:s, s:{s:s}, s:o}", "kind", "DeviceClassList", "metadata",
                             "resourceVersion", "1", "items", items);
    reply->status = turn == 0 ? 404 : turn == 1 ? 403 : 200;
    answer_with(reply, page);
    json_decref(page);
}

void world_answer_object(const struct world_request *request, struct world_reply *reply)
{
    static const char nodes[] = "/api/v1/nodes/";
    static const char file[] = "/api/v1/namespaces/gpu-operator/configmaps";
    struct pod_path path;
    if (strncmp(request->path, nodes, strlen(nodes)) == 0) {
        answer_node(request, request->path + strlen(nodes), reply);
    } else if (strncmp(request->path, file, strlen(file)) == 0) {
        answer_file(request, reply);
    } else if (read_pod_path(request->path, &path)) {
        answer_pod(request, &path, reply);
    } else if (strstr(request->path, "/leases") != NULL) {
        answer_lease(request, reply);
    } else if (strstr(request->path, "/events") != NULL) {
        answer_event(request, reply);
    } else if (strstr(request->path, "/deviceclasses") != NULL) {
        answer_classes(reply);
    } else if (!answer_some(request->path, reply)) {
        check_failed("nobody knows the path %s %s", request->method, request->path);
    }
}
