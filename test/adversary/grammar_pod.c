/* Pods: whole ones, and one thing after the other that may be wrong with them. */
#include <stdio.h>
#include <string.h>

#include "adversary/grammar.h"

static json_t *meta_of(json_t *object)
{
    return json_object_get(object, "metadata");
}

static json_t *spec_of(json_t *object)
{
    return json_object_get(object, "spec");
}

/* The member of that name, made when it is missing or something else. */
static json_t *member(json_t *object, const char *key, bool array)
{
    json_t *value = json_object_get(object, key);
    if (array ? !json_is_array(value) : !json_is_object(value)) {
        value = array ? json_array() : json_object();
        (void)json_object_set_new(object, key, value);
    }
    return value;
}

static json_t *some_container(struct rng *rng, json_t *pod)
{
    json_t *containers =
        member(spec_of(pod), rng_chance(rng, 70) ? "containers" : "initContainers", true);
    size_t n = json_array_size(containers);
    if (n == 0 || rng_chance(rng, 30)) {
        json_t *fresh = json_pack("{s:s}", "name", rng_chance(rng, 90) ? "more" : "c");
        if (rng_chance(rng, 30)) {
            (void)json_object_set_new(fresh, "restartPolicy", json_string("Always"));
        }
        (void)json_array_append_new(containers, fresh);
        return json_array_get(containers, n);
    }
    return json_array_get(containers, rng_below(rng, (unsigned)n));
}

/* Requests and limits are the same, as the API server wants it of extended resources. */
static void ask(json_t *container, const char *resource, json_t *quantity)
{
    json_t *resources = member(container, "resources", false);
    (void)json_object_set(member(resources, "limits", false), resource, quantity);
    (void)json_object_set_new(member(resources, "requests", false), resource, quantity);
}

json_t *grammar_pod(struct rng *rng, unsigned number)
{
    static const char *const spaces[] = {"team-a", "team-b", "default", "kube-system"};
    char name[32];
    char uid[48];
    char count[16];
    const char *resource = grammar_real_resource(rng);
    (void)snprintf(name, sizeof(name), "p%u", number % 160);
    (void)snprintf(uid, sizeof(uid), "00000000-0000-4000-8000-%012u", number);
    (void)snprintf(count, sizeof(count), "%u",
                   1 + rng_below(rng, strcmp(resource, "aliyun.com/gpu-mem") == 0 ? 12 : 3));
    json_t *pod =
        json_pack("{s:{s:s, s:s, s:s, s:s, s:{s:s}}, s:{s:s, s:[{s:s, s:{}}], s:i}, s:{s:s}}",
                  "metadata", "name", name, "namespace", rng_pick(rng, spaces), "uid", uid,
                  "creationTimestamp", "2026-09-21T14:13:20Z", "labels", "app", "x", "spec",
                  "schedulerName", "default-scheduler", "containers", "name", "c", "resources",
                  "priority", (int)rng_below(rng, 4) * 100, "status", "phase", "Pending");
    json_t *container = json_array_get(json_object_get(spec_of(pod), "containers"), 0);
    ask(container, resource, json_string(count));
    if (rng_chance(rng, 70)) {
        (void)json_object_set_new(spec_of(pod), "schedulingGates",
                                  json_pack("[{s:s}]", "name", "sliced.dev/queue"));
    }
    if (rng_chance(rng, 40)) {
        (void)json_object_set_new(member(meta_of(pod), "annotations", false), "sliced.dev/timeout",
                                  json_string(rng_chance(rng, 50) ? "10m" : "2h"));
    }
    return pod;
}

/* ---- metadata ---- */

static void spoil_annotation(struct rng *rng, json_t *pod)
{
    const char *key = grammar_annotation(rng);
    (void)json_object_set_new(member(meta_of(pod), "annotations", false), key,
                              grammar_annotation_value(rng, key));
}

static void drop_annotations(struct rng *rng, json_t *pod)
{
    json_t *annotations = json_object_get(meta_of(pod), "annotations");
    const char *key = grammar_annotation(rng);
    if (rng_chance(rng, 30)) {
        (void)json_object_del(meta_of(pod), "annotations");
    } else {
        (void)json_object_del(annotations, key);
    }
}

static void many(struct rng *rng, json_t *pod, const char *what)
{
    json_t *into = member(meta_of(pod), what, false);
    unsigned n = 100 + rng_below(rng, 900);
    char key[64];
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(key, sizeof(key), "sliced.dev/many-%u", i);
        (void)json_object_set_new(into, key, json_string("x"));
    }
}

static void many_labels(struct rng *rng, json_t *pod)
{
    many(rng, pod, "labels");
}

static void many_annotations(struct rng *rng, json_t *pod)
{
    many(rng, pod, "annotations");
}

static void spoil_label(struct rng *rng, json_t *pod)
{
    static const char *const keys[] = {"aliyun.com/gpu-count", "stage",   "tier", "app",
                                       "sliced.dev/queue",     "\033[31m"};
    static const char *const counts[] = {"1", "2", "4", "8", "64", "-1", "0", "x"};
    (void)json_object_set_new(member(meta_of(pod), "labels", false), rng_pick(rng, keys),
                              rng_chance(rng, 60) ? json_string(rng_pick(rng, counts))
                                                  : grammar_text(rng));
}

static void spoil_owner(struct rng *rng, json_t *pod)
{
    static const char *const kinds[] = {"DaemonSet", "Job", "ReplicaSet", "daemonset", ""};
    static const char *const versions[] = {"apps/v1", "example.com/v1", "v1", "", "apps/v1beta1"};
    json_t *owner = json_pack("{s:s, s:s, s:s, s:s, s:b}", "apiVersion", rng_pick(rng, versions),
                              "kind", rng_pick(rng, kinds), "name", "owner", "uid", "owner-uid",
                              "controller", (int)rng_chance(rng, 50));
    if (rng_chance(rng, 10)) {
        (void)json_object_set_new(owner, "kind", grammar_anything(rng));
    }
    json_t *owners = member(meta_of(pod), "ownerReferences", true);
    unsigned n = rng_chance(rng, 5) ? 500 : 1;
    for (unsigned i = 0; i < n; i++) {
        (void)json_array_append(owners, owner);
    }
    json_decref(owner);
}

static void spoil_managed_fields(struct rng *rng, json_t *pod)
{
    json_t *fields = member(meta_of(pod), "managedFields", true);
    (void)json_array_append_new(
        fields, json_pack("{s:s, s:o}", "manager", "kubectl", "fieldsV1", grammar_deep(rng)));
}

static void spoil_time(struct rng *rng, json_t *pod)
{
    (void)json_object_set_new(meta_of(pod), "creationTimestamp", grammar_time(rng));
}

/* The API server gives each its own. */
/* No API server tells either: a pod without a UID, and pods of one UID. */
static void spoil_uid(struct rng *rng, json_t *pod)
{
    if (rng_chance(rng, 50)) {
        (void)json_object_del(meta_of(pod), "uid");
    } else {
        (void)json_object_set_new(meta_of(pod), "uid", json_string(GRAMMAR_TWIN));
    }
}

static void grow_name(struct rng *rng, json_t *pod)
{
    char name[260];
    unsigned len = rng_chance(rng, 50) ? 253 : 1 + rng_below(rng, 252);
    memset(name, 'a' + (char)rng_below(rng, 26), len);
    name[len] = '\0';
    (void)json_object_set_new(meta_of(pod), "name", json_string(name));
}

/* ---- spec ---- */

static void spoil_ask(struct rng *rng, json_t *pod)
{
    char resource[GRAMMAR_NAME];
    ask(some_container(rng, pod), grammar_resource(rng, resource), grammar_quantity(rng));
}

static void spoil_real_ask(struct rng *rng, json_t *pod)
{
    ask(some_container(rng, pod), grammar_real_resource(rng), grammar_quantity(rng));
}

static void many_asks(struct rng *rng, json_t *pod)
{
    char resource[GRAMMAR_NAME];
    unsigned n = rng_chance(rng, 80) ? 4 + rng_below(rng, 16) : 500 + rng_below(rng, 2000);
    json_t *container = some_container(rng, pod);
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-%ug.%ugb", i % 50, i);
        ask(container, resource, json_string("1"));
    }
}

static void many_containers(struct rng *rng, json_t *pod)
{
    unsigned n = 20 + rng_below(rng, 300);
    for (unsigned i = 0; i < n; i++) {
        json_t *container = some_container(rng, pod);
        ask(container, grammar_real_resource(rng),
            json_string(rng_chance(rng, 80) ? "1" : "4611686018427387904"));
    }
}

static void spoil_overhead(struct rng *rng, json_t *pod)
{
    (void)json_object_set_new(member(spec_of(pod), "overhead", false), grammar_real_resource(rng),
                              grammar_quantity(rng));
}

static void spoil_whole(struct rng *rng, json_t *pod)
{
    static const char *const names[] = {"cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu"};
    json_t *whole = member(spec_of(pod), "resources", false);
    json_t *list = member(whole, rng_chance(rng, 70) ? "requests" : "limits", false);
    (void)json_object_set_new(list, rng_pick(rng, names), grammar_quantity(rng));
}

static void place(struct rng *rng, json_t *pod)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "n%u", rng_below(rng, 14));
    (void)json_object_set_new(spec_of(pod), "nodeName",
                              rng_chance(rng, 95) ? json_string(name) : grammar_text(rng));
}

static void spoil_scheduler(struct rng *rng, json_t *pod)
{
    static const char *const names[] = {"default-scheduler", "other", "", "gpu-scheduler"};
    (void)json_object_set_new(spec_of(pod), "schedulerName",
                              rng_chance(rng, 80) ? json_string(rng_pick(rng, names))
                                                  : grammar_text(rng));
}

static void spoil_numbers(struct rng *rng, json_t *pod)
{
    static const char *const keys[] = {"priority", "activeDeadlineSeconds",
                                       "terminationGracePeriodSeconds"};
    (void)json_object_set_new(spec_of(pod), rng_pick(rng, keys), grammar_number(rng));
}

static void spoil_gates(struct rng *rng, json_t *pod)
{
    static const char *const names[] = {"sliced.dev/queue", "sliced.dev/queue", "other/gate", ""};
    json_t *gates = member(spec_of(pod), "schedulingGates", true);
    if (rng_chance(rng, 40)) {
        (void)json_object_del(spec_of(pod), "schedulingGates");
        return;
    }
    (void)json_array_append_new(gates, json_pack("{s:s}", "name", rng_pick(rng, names)));
}

static json_t *term_of(struct rng *rng)
{
    static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist",
                                            "Gt", "Lt",    "?"};
    static const char *const keys[] = {"kubernetes.io/hostname", "zone", "nvidia.com/gpu.product",
                                       "app"};
    json_t *values = json_array();
    unsigned n = rng_chance(rng, 5) ? 1000 : rng_below(rng, 4);
    for (unsigned i = 0; i < n; i++) {
        (void)json_array_append_new(values,
                                    rng_chance(rng, 70) ? json_string("n1") : grammar_text(rng));
    }
    return json_pack("{s:[{s:s, s:s, s:o}]}", "matchExpressions", "key", rng_pick(rng, keys),
                     "operator", rng_pick(rng, operators), "values", values);
}

static void spoil_affinity(struct rng *rng, json_t *pod)
{
    static const char *const pods[] = {"podAffinity", "podAntiAffinity"};
    json_t *affinity = member(spec_of(pod), "affinity", false);
    unsigned n = rng_chance(rng, 10) ? 1 + rng_below(rng, 100) : 1;
    if (rng_chance(rng, 60)) {
        json_t *terms = json_array();
        for (unsigned i = 0; i < n; i++) {
            (void)json_array_append_new(terms, term_of(rng));
        }
        (void)json_object_set_new(affinity, "nodeAffinity",
                                  json_pack("{s:{s:o}}",
                                            "requiredDuringSchedulingIgnoredDuringExecution",
                                            "nodeSelectorTerms", terms));
    } else {
        json_t *terms = json_array();
        for (unsigned i = 0; i < n; i++) {
            (void)json_array_append_new(terms, json_pack("{s:s, s:o}", "topologyKey",
                                                         "kubernetes.io/hostname", "labelSelector",
                                                         term_of(rng)));
        }
        (void)json_object_set_new(
            affinity, rng_pick(rng, pods),
            json_pack("{s:o}", "requiredDuringSchedulingIgnoredDuringExecution", terms));
    }
}

static void spoil_selector(struct rng *rng, json_t *pod)
{
    static const char *const keys[] = {"kubernetes.io/hostname", "zone", "nvidia.com/gpu.product"};
    const char *key = rng_pick(rng, keys);
    const char *value = key == keys[2] ? "Tesla-T4" : "n1"; /* a model that is guaranteed */
    (void)json_object_set_new(member(spec_of(pod), "nodeSelector", false), key,
                              rng_chance(rng, 50) ? json_string(value) : grammar_text(rng));
}

static void spoil_tolerations(struct rng *rng, json_t *pod)
{
    static const char *const effects[] = {"NoSchedule", "NoExecute", "PreferNoSchedule", "", "x"};
    static const char *const operators[] = {"Exists", "Exists", "Equal", "Gt", "Lt", "?"};
    json_t *tolerations = member(spec_of(pod), "tolerations", true);
    unsigned n = rng_chance(rng, 10) ? 1 + rng_below(rng, 400) : 1;
    for (unsigned i = 0; i < n; i++) {
        (void)json_array_append_new(
            tolerations, json_pack("{s:s, s:s, s:o, s:s}", "key", i % 2 == 0 ? "gpu" : "",
                                   "operator", rng_pick(rng, operators), "value",
                                   rng_chance(rng, 50) ? json_string("-7") : grammar_text(rng),
                                   "effect", rng_pick(rng, effects)));
    }
}

static void spoil_preemption(struct rng *rng, json_t *pod)
{
    (void)json_object_set_new(spec_of(pod), "preemptionPolicy",
                              rng_chance(rng, 80) ? json_string("Never") : grammar_text(rng));
}

/* Something of a type that nobody expects there; seldom of the asks, which the API server decodes.
 */
static void spoil_type(struct rng *rng, json_t *pod)
{
    static const char *const keys[] = {"labels",        "annotations", "ownerReferences",
                                       "managedFields", "finalizers",  "generateName",
                                       "generation"};
    static const char *const specs[] = {"tolerations", "nodeSelector",     "affinity", "hostname",
                                        "priority",    "preemptionPolicy", "volumes"};
    if (rng_chance(rng, 50)) {
        (void)json_object_set_new(meta_of(pod), rng_pick(rng, keys), grammar_anything(rng));
    } else {
        (void)json_object_set_new(spec_of(pod), rng_pick(rng, specs), grammar_anything(rng));
    }
}

/* ---- status ---- */

static void spoil_status(struct rng *rng, json_t *pod)
{
    static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed",
                                         "Unknown", "",        "running"};
    json_t *status = member(pod, "status", false);
    switch (rng_below(rng, 5)) {
    case 0:
        (void)json_object_set_new(status, "startTime", grammar_time(rng));
        break;
    case 1:
        (void)json_object_set_new(status, "nominatedNodeName",
                                  rng_chance(rng, 50) ? json_string("n1") : grammar_text(rng));
        break;
    case 2:
        (void)json_array_append_new(member(status, "conditions", true),
                                    json_pack("{s:s, s:s, s:s, s:o}", "type", "PodScheduled",
                                              "status", rng_chance(rng, 50) ? "False" : "True",
                                              "reason", rng_chance(rng, 50) ? "Unschedulable" : "X",
                                              "message", grammar_text(rng)));
        break;
    case 3:
        (void)json_object_set_new(status, "phase", json_string(rng_pick(rng, phases)));
        break;
    default:
        (void)json_object_set_new(status, "message", grammar_text(rng));
        break;
    }
}

typedef void (*spoil_fn)(struct rng *rng, json_t *pod);

/* What a user may do to a pod that lives. */
static const spoil_fn always[] = {spoil_annotation,  spoil_annotation, drop_annotations,
                                  spoil_label,       many_labels,      many_annotations,
                                  spoil_owner,       spoil_gates,      spoil_managed_fields,
                                  spoil_tolerations, spoil_annotation};

/* And to one that is being created. */
static const spoil_fn at_birth[] = {
    spoil_ask,      spoil_real_ask, spoil_real_ask, many_asks,        many_containers,
    spoil_overhead, place,          place,          spoil_scheduler,  spoil_numbers,
    spoil_affinity, spoil_selector, spoil_time,     spoil_preemption, spoil_status,
    spoil_ask,      grow_name,      spoil_type,     spoil_whole};

void grammar_spoil_pod(struct rng *rng, json_t *pod, bool born)
{
    if (born && rng_chance(rng, 4)) {
        spoil_uid(rng, pod);
    } else if (born && rng_chance(rng, 65)) {
        rng_pick(rng, at_birth)(rng, pod);
    } else {
        rng_pick(rng, always)(rng, pod);
    }
}

void grammar_touch_pod(struct rng *rng, json_t *pod)
{
    static const char *const ends[] = {"Succeeded", "Failed"};
    json_t *status = member(pod, "status", false);
    const char *phase = json_string_value(json_object_get(status, "phase"));
    bool over = phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
    bool bound = json_object_get(spec_of(pod), "nodeName") != NULL;
    if (bound && !over && rng_chance(rng, 50)) {
        bool ends_now = rng_chance(rng, 40);
        (void)json_object_set_new(status, "phase",
                                  json_string(ends_now ? rng_pick(rng, ends) : "Running"));
        if (json_object_get(status, "startTime") == NULL) {
            (void)json_object_set_new(status, "startTime", json_string("2026-09-21T14:30:00Z"));
        }
        return;
    }
    if (rng_chance(rng, 30)) {
        (void)json_object_set_new(meta_of(pod), "deletionTimestamp", grammar_time(rng));
        return;
    }
    unsigned n = 1 + rng_below(rng, 3);
    for (unsigned i = 0; i < n; i++) {
        grammar_spoil_pod(rng, pod, false);
    }
}
