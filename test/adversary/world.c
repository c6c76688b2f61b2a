/* Objects, versions, events of watches, lists in pages. */
#include "adversary/world.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/world_internal.h"

enum { EVENTS_MAX = 4096, LISTS_MAX = 8 };

struct event {
    uint64_t version;
    const char *type;
    json_t *object;
    char key[WORLD_KEY];
};

/* What a list shows, page after page. */
struct listing {
    enum world_kind kind;
    uint64_t version;
    size_t n;
    json_t *object[WORLD_THINGS];
};

static struct {
    struct event event[EVENTS_MAX]; /* a ring */
    uint64_t first, end;            /* numbers of events in it */
    uint64_t version;
    uint64_t oldest; /* watches from before are told 410 */
    struct listing list[LISTS_MAX];
    unsigned next_list;
    json_t *lease;
} past;

struct world world;
struct world_counts world_counts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *list;
    const char *kind;
    const char *version;
} kinds[WORLD_KINDS] = {
    [WORLD_NODES] = {"NodeList", "Node", "v1"},
    [WORLD_PODS] = {"PodList", "Pod", "v1"},
    [WORLD_JOBS] = {"JobList", "Job", "batch/v1"},
    [WORLD_CONFIG_MAPS] = {"ConfigMapList", "ConfigMap", "v1"},
    [WORLD_SPACES] = {"NamespaceList", "Namespace", "v1"},
};

void world_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

void world_unlock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* ---- objects ---- */

const char *world_text(const json_t *object, const char *part, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, part), key));
    return text == NULL ? "" : text;
}

static void key_of(const json_t *object, char out[WORLD_KEY])
{
    (void)snprintf(out, WORLD_KEY, "%s/%s", world_text(object, "metadata", "namespace"),
                   world_text(object, "metadata", "name"));
}

static struct thing *find(enum world_kind kind, const char *key, bool make)
{
    struct thing *unused = NULL;
    for (size_t i = 0; i < world.n[kind]; i++) {
        struct thing *thing = &world.thing[kind][i];
        if (strcmp(thing->key, key) == 0) {
            return thing;
        }
        if (thing->now == NULL && thing->seen == NULL) {
            unused = thing;
        }
    }
    if (make && unused == NULL) {
        if (world.n[kind] == WORLD_THINGS) {
            abort();
        }
        unused = &world.thing[kind][world.n[kind]++];
    }
    if (make) {
        (void)snprintf(unused->key, sizeof(unused->key), "%s", key);
        return unused;
    }
    return NULL;
}

struct thing *world_find(enum world_kind kind, const char *ns, const char *name)
{
    char key[WORLD_KEY];
    (void)snprintf(key, sizeof(key), "%s/%s", ns, name);
    struct thing *thing = find(kind, key, false);
    return thing == NULL || thing->now == NULL ? NULL : thing;
}

static void note(enum world_kind kind, const char *type, json_t *object, const char *key)
{
    (void)kind;
    struct event *event = &past.event[past.end % EVENTS_MAX];
    if (past.end - past.first == EVENTS_MAX) {
        past.oldest = event->version;
        past.first++;
    }
    json_decref(event->object);
    event->version = past.version;
    event->type = type;
    event->object = json_incref(object);
    (void)snprintf(event->key, sizeof(event->key), "%s", key);
    past.end++;
}

/* The kind is in the object, as the API server says it in events. */
static void stamp(enum world_kind kind, json_t *object)
{
    world_stamp(object);
    (void)json_object_set_new(object, "kind", json_string(kinds[kind].kind));
    (void)json_object_set_new(object, "apiVersion", json_string(kinds[kind].version));
}

void world_put(enum world_kind kind, json_t *object)
{
    char key[WORLD_KEY];
    key_of(object, key);
    struct thing *thing = find(kind, key, true);
    stamp(kind, object);
    note(kind, thing->now == NULL ? "ADDED" : "MODIFIED", object, key);
    json_decref(thing->now);
    thing->now = object;
}

void world_delete(enum world_kind kind, struct thing *thing)
{
    json_t *last = json_deep_copy(thing->now);
    stamp(kind, last);
    note(kind, "DELETED", last, thing->key);
    json_decref(last);
    json_decref(thing->now);
    thing->now = NULL;
}

json_t *world_edit(const struct thing *thing)
{
    return json_deep_copy(thing->now);
}

void world_compact(void)
{
    past.oldest = past.version + 1;
    past.version++;
}

void world_forget_told(void)
{
    world.unsure = false;
    for (unsigned kind = 0; kind < WORLD_KINDS; kind++) {
        for (size_t i = 0; i < world.n[kind]; i++) {
            json_decref(world.thing[kind][i].seen);
            world.thing[kind][i].seen = NULL;
        }
    }
}

/* ---- watches ---- */

static enum world_kind kind_of(const json_t *object)
{
    const char *text = json_string_value(json_object_get(object, "kind"));
    for (unsigned kind = 0; kind < WORLD_KINDS; kind++) {
        if (text != NULL && strcmp(text, kinds[kind].kind) == 0) {
            return kind;
        }
    }
    abort();
}

static struct event *next_event(enum world_kind kind, uint64_t version)
{
    for (uint64_t i = past.first; i < past.end; i++) {
        struct event *event = &past.event[i % EVENTS_MAX];
        if (event->version > version && kind_of(event->object) == kind) {
            return event;
        }
    }
    return NULL;
}

char *world_next_event(enum world_kind kind, uint64_t version, uint64_t *next)
{
    world_lock();
    const struct event *event = next_event(kind, version);
    char *text = NULL;
    if (event != NULL) {
        json_t *line = json_pack("{s:s, s:O}", "type", event->type, "object", event->object);
        text = json_dumps(line, JSON_COMPACT);
        json_decref(line);
        *next = event->version;
    }
    world_unlock();
    return text;
}

char *world_bookmark(enum world_kind kind, uint64_t *version)
{
    char *text = malloc(256);
    world_lock();
    if (text != NULL) {
        *version = past.version;
        (void)snprintf(text, 256,
                       "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\","
                       "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"}}}",
                       kinds[kind].kind, kinds[kind].version, past.version);
    }
    world_unlock();
    return text;
}

static void see(struct thing *thing, json_t *object)
{
    json_t *old = thing->seen;
    thing->seen = json_incref(object);
    json_decref(old);
}

void world_told_nonsense(void)
{
    world_lock();
    world.unsure = true;
    world_unlock();
}

void world_told_event(enum world_kind kind, uint64_t version)
{
    world_lock();
    for (uint64_t i = past.first; i < past.end; i++) {
        struct event *event = &past.event[i % EVENTS_MAX];
        if (event->version == version) {
            see(find(kind, event->key, true),
                strcmp(event->type, "DELETED") == 0 ? NULL : event->object);
        }
    }
    world_unlock();
}

/* ---- lists ---- */

static int begin_list(enum world_kind kind)
{
    int number = (int)(past.next_list++ % LISTS_MAX);
    struct listing *list = &past.list[number];
    for (size_t i = 0; i < list->n; i++) {
        json_decref(list->object[i]);
    }
    list->kind = kind;
    list->version = past.version;
    list->n = 0;
    for (size_t i = 0; i < world.n[kind]; i++) {
        if (world.thing[kind][i].now != NULL) {
            list->object[list->n++] = json_incref(world.thing[kind][i].now);
        }
    }
    return number;
}

/* Items of a list say neither kind nor apiVersion. */
static json_t *item_of(json_t *object)
{
    json_t *item = json_copy(object);
    (void)json_object_del(item, "kind");
    (void)json_object_del(item, "apiVersion");
    return item;
}

static void answer_list(enum world_kind kind, const char *path, struct world_reply *reply)
{
    unsigned long limit = WORLD_THINGS;
    unsigned long from = 0;
    int number = -1;
    const char *at = strstr(path, "limit=");
    if (at != NULL) {
        limit = strtoul(at + strlen("limit="), NULL, 10);
    }
    at = strstr(path, "continue=");
    if (at != NULL) {
        char *end = NULL;
        number = (int)strtol(at + strlen("continue="), &end, 10);
        from = strtoul(end + 1, NULL, 10);
    } else {
        number = begin_list(kind);
    }
    struct listing *list = &past.list[number];
    if (list->kind != kind || list->version < past.oldest) {
        reply->status = 410;
        return;
    }
    size_t to = from + limit < list->n ? from + limit : list->n;
    json_t *items = json_array();
    for (size_t i = from; i < to; i++) {
        (void)json_array_append_new(items, item_of(list->object[i]));
    }
    char version[24];
    char next[32] = "";
    (void)snprintf(version, sizeof(version), "%" PRIu64, list->version);
    if (to < list->n) {
        (void)snprintf(next, sizeof(next), "%d.%zu", number, to);
    }
    json_t *page =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:i}, s:o}", "kind", kinds[kind].list, "apiVersion",
                  kinds[kind].version, "metadata", "resourceVersion", version, "continue", next,
                  "remainingItemCount", (int)(list->n - to), "items", items);
    reply->text = json_dumps(page, JSON_COMPACT);
    reply->list = number;
    reply->page_end = to;
    json_decref(page);
}

static void told_page(const struct world_reply *reply)
{
    const struct listing *list = &past.list[reply->list];
    char key[WORLD_KEY];
    bool listed[WORLD_THINGS] = {false};
    for (size_t i = 0; i < reply->page_end; i++) {
        key_of(list->object[i], key);
        struct thing *thing = find(list->kind, key, true);
        see(thing, list->object[i]);
        listed[thing - world.thing[list->kind]] = true;
    }
    for (size_t i = 0; i < world.n[list->kind] && reply->page_end == list->n; i++) {
        if (!listed[i]) {
            see(&world.thing[list->kind][i], NULL);
        }
    }
}

void world_told_page(const struct world_reply *reply, bool whole)
{
    world_lock();
    if (reply->list >= 0 && whole) {
        told_page(reply);
    } else if (reply->list >= 0) {
        world.unsure = true;
    }
    world_unlock();
}

/* ---- calls ---- */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool answer_collection(const char *path, struct world_reply *reply)
{
    static const struct {
        const char *path;
        enum world_kind kind;
    } paths[] = {{"/api/v1/nodes?", WORLD_NODES},
                 {"/api/v1/pods?", WORLD_PODS},
                 {"/apis/batch/v1/jobs?", WORLD_JOBS},
                 {"/api/v1/namespaces?", WORLD_SPACES},
                 {"/api/v1/namespaces/kube-system/configmaps?", WORLD_CONFIG_MAPS}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (!starts(path, paths[i].path)) {
            continue;
        }
        const char *version = strstr(path, "resourceVersion=");
        const char *seconds = strstr(path, "timeoutSeconds=");
        reply->kind = paths[i].kind;
        if (strstr(path, "watch=true") == NULL) {
            answer_list(paths[i].kind, path, reply);
            return true;
        }
        reply->version = strtoull(version + strlen("resourceVersion="), NULL, 10);
        reply->seconds = strtoll(seconds + strlen("timeoutSeconds="), NULL, 10);
        reply->watch = reply->version >= past.oldest;
        reply->status = reply->watch ? 200 : 410;
        return true;
    }
    return false;
}

void world_answer(const struct world_request *request, struct world_reply *reply)
{
    *reply = (struct world_reply){.status = 200, .list = -1};
    world_lock();
    if (!answer_collection(request->path, reply)) {
        world_answer_object(request, reply);
    }
    world_unlock();
}

/* ---- the lease ---- */

json_t **world_lease(void)
{
    return &past.lease;
}

void world_take_lease(bool take, const char *note)
{
    json_t *spec = json_object_get(past.lease, "spec");
    if (spec == NULL) {
        return;
    }
    json_int_t transitions = json_integer_value(json_object_get(spec, "leaseTransitions"));
    (void)json_object_set_new(spec, "holderIdentity", json_string(take ? "somebody-else" : ""));
    (void)json_object_set_new(spec, "leaseTransitions", json_integer(transitions + 1));
    if (note != NULL) {
        (void)json_object_set_new(json_object_get(past.lease, "metadata"), "annotations",
                                  json_pack("{s:s}", "sliced.dev/tenants", note));
    }
    world_stamp_lease();
}

void world_stamp(json_t *object)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, ++past.version);
    (void)json_object_set_new(json_object_get(object, "metadata"), "resourceVersion",
                              json_string(text));
}

void world_stamp_lease(void)
{
    world_stamp(past.lease);
}

/* ---- life ---- */

void world_begin(void)
{
    memset(&world, 0, sizeof(world));
    memset(&past, 0, sizeof(past));
    memset(&world_counts, 0, sizeof(world_counts));
    past.version = 100;
    past.oldest = 100;
}

void world_end(void)
{
    for (unsigned kind = 0; kind < WORLD_KINDS; kind++) {
        for (size_t i = 0; i < world.n[kind]; i++) {
            json_decref(world.thing[kind][i].now);
            json_decref(world.thing[kind][i].seen);
        }
    }
    for (size_t i = 0; i < EVENTS_MAX; i++) {
        json_decref(past.event[i].object);
    }
    for (size_t i = 0; i < LISTS_MAX; i++) {
        for (size_t k = 0; k < past.list[i].n; k++) {
            json_decref(past.list[i].object[k]);
        }
    }
    json_decref(past.lease);
    memset(&world, 0, sizeof(world));
    memset(&past, 0, sizeof(past));
}
