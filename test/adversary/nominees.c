#include "adversary/nominees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/checks.h"
#include "adversary/grammar.h"
#include "adversary/verbs.h"
#include "util/clock.h"

_Atomic uint64_t nominees_judged;

enum { PRIORITY_MAX = 1000000 };

static const char gpu[] = "nvidia.com/gpu";

static json_t *path_of(const json_t *object, const char *part, const char *key)
{
    return json_object_get(json_object_get(object, part), key);
}

static const char *text_of(const json_t *object, const char *part, const char *key)
{
    const char *text = json_string_value(path_of(object, part, key));
    return text == NULL ? "" : text;
}

/* Does what is free on the node follow from what stands there? */
static bool has_places(const json_t *node)
{
    const json_t *labels = path_of(node, "metadata", "labels");
    return json_object_get(labels, "adversary/plain") != NULL &&
           json_object_get(labels, "adversary/places") != NULL;
}

/* Well-formed, and open to kube-scheduler. */
static json_t *make_pod(struct rng *rng)
{
    static unsigned born;
    char name[32];
    char uid[48];
    char count[16];
    unsigned number = ++born;
    (void)snprintf(name, sizeof(name), "w%u", number % 40);
    (void)snprintf(uid, sizeof(uid), "22222222-0000-4000-8000-%012u", number);
    (void)snprintf(count, sizeof(count), "%u", 1 + rng_below(rng, 4));
    return json_pack("{s:{s:s, s:s, s:s, s:s}, s:{s:s, s:[{s:s, s:{s:{s:s}, s:{s:s}}}], s:i}, "
                     "s:{s:s}}",
                     "metadata", "name", name, "namespace", "team-a", "uid", uid,
                     "creationTimestamp", "2026-09-21T14:13:20Z", "spec", "schedulerName",
                     "default-scheduler", "containers", "name", "c", "resources", "limits", gpu,
                     count, "requests", gpu, count, "priority", (int)rng_below(rng, 3) * 100,
                     "status", "phase", "Pending");
}

static void put(json_t *pod)
{
    if (world_find(WORLD_PODS, "team-a", text_of(pod, "metadata", "name")) == NULL) {
        world_put(WORLD_PODS, pod);
    } else {
        json_decref(pod);
    }
}

static void nominate(struct rng *rng, json_t *pod, const struct thing *node)
{
    json_t *status = json_object_get(pod, "status");
    if (node == NULL || rng_chance(rng, 10)) {
        (void)json_object_del(status, "nominatedNodeName");
    } else {
        (void)json_object_set_new(status, "nominatedNodeName",
                                  rng_chance(rng, 95) ? json_string(node->key + 1)
                                                      : grammar_text(rng));
    }
}

void nominees_move(struct rig *rig)
{
    struct rng *rng = &rig->rng;
    world_lock();
    const struct thing *pod = moves_pick(rig, WORLD_PODS);
    const struct thing *node = moves_pick(rig, WORLD_NODES);
    for (unsigned i = 0; i < 3 && node != NULL && !has_places(node->now); i++) {
        node = moves_pick(rig, WORLD_NODES);
    }
    if (pod != NULL) {
        json_t *fresh = world_edit(pod);
        nominate(rng, fresh, node);
        world_put(WORLD_PODS, fresh);
    }
    for (unsigned i = rng_below(rng, 4); i > 0; i--) {
        json_t *fresh = make_pod(rng);
        nominate(rng, fresh, node);
        put(fresh);
    }
    world_unlock();
}

/* ---- whose room is known for sure ---- */

/* Has the object none but these members? */
static bool has_only(const json_t *object, const char *members)
{
    const char *key = NULL;
    json_t *value = NULL;
    bool only = object == NULL || json_is_object(object);
    json_object_foreach((json_t *)object, key, value)
    {
        const char *at = strstr(members, key);
        only = only && at != NULL && at[strlen(key)] == ' ';
    }
    return only;
}

static int64_t priority_of(const json_t *pod)
{
    return json_integer_value(path_of(pod, "spec", "priority"));
}

/* It waits, and asks for whole GPUs alone, in words that nobody reads in two ways. */
static bool is_simple(const json_t *pod)
{
    const json_t *containers = path_of(pod, "spec", "containers");
    const json_t *resources = json_object_get(json_array_get(containers, 0), "resources");
    const json_t *meta = json_object_get(pod, "metadata");
    return has_only(meta, "name namespace uid creationTimestamp labels annotations "
                          "resourceVersion ") &&
           has_only(json_object_get(meta, "labels"), "app ") &&
           has_only(json_object_get(meta, "annotations"), "") &&
           has_only(json_object_get(pod, "spec"), "schedulerName containers priority ") &&
           json_is_integer(path_of(pod, "spec", "priority")) && priority_of(pod) >= 0 &&
           priority_of(pod) < PRIORITY_MAX && json_array_size(containers) == 1 &&
           has_only(json_object_get(resources, "limits"), "nvidia.com/gpu ") &&
           strcmp(text_of(pod, "metadata", "creationTimestamp"), "2026-09-21T14:13:20Z") == 0 &&
           strcmp(text_of(pod, "spec", "schedulerName"), "default-scheduler") == 0 &&
           strcmp(text_of(pod, "status", "phase"), "Pending") == 0 && account_is_plain(pod) &&
           account_is_known_by_uid(pod) && account_ask(pod, gpu) > 0;
}

/* The daemon has it on that node, or on its way there. */
static bool is_among(const json_t *rows, const json_t *pod)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        if (json_equal(json_object_get(row, "name"), path_of(pod, "metadata", "name")) &&
            json_equal(json_object_get(row, "namespace"), path_of(pod, "metadata", "namespace"))) {
            return true;
        }
    }
    return false;
}

static bool is_on_its_way(const json_t *items, const json_t *pod)
{
    size_t i = 0;
    const json_t *item = NULL;
    bool found = false;
    json_array_foreach(items, i, item)
    {
        found = found || is_among(json_object_get(item, "pods"), pod);
    }
    return found;
}

/* ---- what they leave ---- */

enum { CROWD = 32 };

/* Those that are nominated to a node and come before a pod, the first of them first. */
struct crowd {
    const json_t *pod[CROWD];
    size_t n;
    bool unsure; /* of somebody nobody can tell whether he is one of them */
};

static int by_rank(const void *a, const void *b)
{
    const json_t *x = *(const json_t *const *)a;
    const json_t *y = *(const json_t *const *)b;
    int64_t less = priority_of(y) - priority_of(x);
    return less != 0 ? (less > 0) - (less < 0)
                     : strcmp(text_of(x, "metadata", "uid"), text_of(y, "metadata", "uid"));
}

static struct crowd crowd_of(const char *node, const json_t *items, const json_t *but)
{
    struct crowd crowd = {.n = 0};
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const json_t *pod = world.thing[WORLD_PODS][i].seen;
        bool deleting = path_of(pod, "metadata", "deletionTimestamp") != NULL;
        crowd.unsure = crowd.unsure || (deleting && account_stands(pod, node));
        if (strcmp(text_of(pod, "status", "nominatedNodeName"), node) != 0 ||
            json_equal(path_of(pod, "metadata", "uid"), path_of(but, "metadata", "uid"))) {
            continue;
        }
        bool simple = is_simple(pod);
        bool stands = text_of(pod, "spec", "nodeName")[0] != '\0' || is_on_its_way(items, pod);
        bool known = simple || stands || account_is_gated(pod);
        crowd.unsure = crowd.unsure || !known || crowd.n == CROWD;
        if (simple && !stands && !crowd.unsure && priority_of(pod) >= priority_of(but)) {
            crowd.pod[crowd.n++] = pod;
        }
    }
    if (crowd.n > 0) {
        qsort(crowd.pod, crowd.n, sizeof(const json_t *), by_rank);
    }
    return crowd;
}

/* Returns how many of the free GPUs the crowd leaves. *all: there is room for all its pods; else
 * only the first of them count. */
static int64_t left_by(const struct crowd *crowd, int64_t left, bool *all)
{
    size_t i = 0;
    while (i < crowd->n && account_ask(crowd->pod[i], gpu) <= left) {
        left -= account_ask(crowd->pod[i++], gpu);
    }
    *all = i == crowd->n;
    return left;
}

/* ---- what is given ---- */

/* Its free GPUs, by the daemon's own word; -1: it has other things than whole GPUs. */
static int64_t free_on(const json_t *item)
{
    const json_t *name = json_object_get(item, "name");
    const struct thing *node = world_find(WORLD_NODES, "", json_string_value(name));
    const json_t *pools = json_object_get(item, "pools");
    const json_t *pool = json_array_get(pools, 0);
    const char *resource = json_string_value(json_object_get(pool, "resource"));
    bool whole = node != NULL && has_places(node->seen) && json_array_size(pools) == 1 &&
                 resource != NULL && strcmp(resource, gpu) == 0;
    return whole ? json_integer_value(json_object_get(pool, "free")) : -1;
}

static bool is_in(const json_t *names, const json_t *name)
{
    size_t i = 0;
    const json_t *each = NULL;
    bool found = false;
    json_array_foreach(names, i, each)
    {
        found = found || json_equal(each, name);
    }
    return found;
}

/* Filter has passed these nodes for the pod. Returns one that it may not have, or NULL. */
static const char *judge(const json_t *items, const json_t *pod, const json_t *passed)
{
    size_t i = 0;
    const json_t *item = NULL;
    const char *forbidden = NULL;
    json_array_foreach(items, i, item)
    {
        const json_t *name = json_object_get(item, "name");
        struct crowd crowd = crowd_of(json_string_value(name), items, pod);
        bool all = false;
        int64_t free = free_on(item);
        int64_t left = left_by(&crowd, free, &all);
        bool fits = account_ask(pod, gpu) <= left;
        bool passes = is_in(passed, name);
        if (free < 0 || crowd.unsure || (!all && fits)) {
            continue;
        }
        nominees_judged += crowd.n > 0;
        forbidden = fits ? forbidden : json_string_value(name);
        if (passes != fits) {
            check_failed("filter %s %s for %s, which asks for %lld GPUs: %lld are free, and %zu "
                         "nominees leave %lld",
                         passes ? "passes" : "refuses", json_string_value(name),
                         text_of(pod, "metadata", "name"), (long long)account_ask(pod, gpu),
                         (long long)free, crowd.n, (long long)left);
        }
    }
    return forbidden;
}

/* A victim's room is granted to it. */
static bool has_grant(struct rig *rig, const json_t *pod)
{
    struct sl_grant *grant = sl_grants_get(
        &rig->app->grants, sl_str_of(text_of(pod, "metadata", "uid")), sl_clock_monotonic_ns());
    sl_grant_unref(grant);
    return grant != NULL;
}

static void ask(struct rig *rig, const json_t *items, json_t *pod)
{
    json_t *passed = verbs_passed(rig, pod);
    world_lock();
    const char *forbidden = judge(items, pod, passed);
    world_unlock();
    uint64_t before = account_counts.bindings;
    if (forbidden != NULL) {
        verbs_bind(rig, pod, forbidden);
    }
    if (account_counts.bindings > before) {
        check_failed("%s is bound to %s, whose room is that of nominees",
                     text_of(pod, "metadata", "name"), forbidden);
    }
    json_decref(passed);
}

void nominees_check(struct rig *rig)
{
    enum { TRIES = 8 };
    unsigned n = 0;
    if (rig->worker != NULL || rig->threads) {
        return;
    }
    struct http_reply reply = rig_ask(rig, "GET", "/api/v1/nodes?limit=5000", NULL);
    json_t *root = json_loadb(reply.text, reply.len, JSON_ALLOW_NUL, NULL);
    const json_t *items = json_object_get(root, "items");
    for (size_t i = 0; i < world.n[WORLD_PODS] && n < TRIES; i++) {
        json_t *pod = json_incref(world.thing[WORLD_PODS][i].seen);
        if (is_simple(pod) && !is_on_its_way(items, pod) && !has_grant(rig, pod) &&
            rng_chance(&rig->rng, 50)) {
            ask(rig, items, pod);
            n++;
        }
        json_decref(pod);
    }
    json_decref(root);
    http_reply_free(&reply);
}
