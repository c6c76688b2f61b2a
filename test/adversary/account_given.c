/* What the daemon gives: bindings and nominations, judged when it makes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/checks.h"
#include "adversary/cuts.h"
#include "adversary/hooks.h"
#include "adversary/usage.h"
#include "adversary/world.h"

enum { GIFTS_MAX = 8192, ASKED_MAX = 128, TEXT_MAX = 4096, NAME_MAX_BYTES = 300 };

/* A binding that the daemon has asked for. */
struct gift {
    char uid[NAME_MAX_BYTES];
    char pod[WORLD_KEY];
    char node[NAME_MAX_BYTES];
    char assignment[TEXT_MAX];
    bool pending; /* not answered yet */
};

static struct {
    struct gift gift[GIFTS_MAX];
    size_t n;
    /* bindings that were asked for last, a ring */
    struct {
        char uid[NAME_MAX_BYTES];
        json_t *node; /* as the daemon was told of it then; NULL: there was none */
    } asked[ASKED_MAX];
    unsigned n_asked;
    bool judge;
    char nominated[WORLD_THINGS][2][NAME_MAX_BYTES]; /* UID and node, by the pod's place */
} given;

struct account_counts account_counts;

void account_begin(bool judge)
{
    memset(&given, 0, sizeof(given));
    account_counts = (struct account_counts){0};
    given.judge = judge;
}

static const char *text_of(const json_t *object, const char *part, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, part), key));
    return text == NULL ? "" : text;
}

static struct gift *find(const char *uid, const char *node)
{
    for (size_t i = given.n; i > 0; i--) {
        struct gift *gift = &given.gift[i - 1];
        if (strcmp(gift->uid, uid) == 0 && strcmp(gift->node, node) == 0) {
            return gift;
        }
    }
    return NULL;
}

static struct thing *thing_of(const char *key)
{
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        if (strcmp(world.thing[WORLD_PODS][i].key, key) == 0) {
            return &world.thing[WORLD_PODS][i];
        }
    }
    return NULL;
}

static bool is_same(const json_t *pod, const struct gift *gift)
{
    return pod != NULL && strcmp(text_of(pod, "metadata", "uid"), gift->uid) == 0;
}

void account_end(void)
{
    for (unsigned i = 0; i < ASKED_MAX; i++) {
        json_decref(given.asked[i].node);
        given.asked[i].node = NULL;
    }
}

/* A gift that the pod does not carry any more as it was given is believed as it stands there. */
static bool is_carried(const struct gift *gift)
{
    const struct thing *thing = thing_of(gift->pod);
    const json_t *pod = thing == NULL ? NULL : thing->now;
    const json_t *annotations = json_object_get(json_object_get(pod, "metadata"), "annotations");
    const char *text = json_string_value(json_object_get(annotations, "sliced.dev/assignment"));
    return is_same(pod, gift) && account_stands(pod, gift->node) && text != NULL &&
           strcmp(text, gift->assignment) == 0;
}

void account_forget(void)
{
    size_t n = 0;
    for (size_t i = 0; i < given.n; i++) {
        if (is_carried(&given.gift[i])) {
            given.gift[n] = given.gift[i];
            given.gift[n].pending = false;
            n++;
        }
    }
    given.n = n;
    memset(given.nominated, 0, sizeof(given.nominated));
}

/* It holds what it was given: the daemon has to know, for it did it itself. What the daemon was
 * told of the pod's end counts. */
static bool is_held(const struct gift *gift)
{
    const struct thing *thing = thing_of(gift->pod);
    if (thing == NULL) {
        return false;
    }
    if (is_same(thing->seen, gift) && text_of(thing->seen, "spec", "nodeName")[0] != '\0') {
        return account_stands(thing->seen, gift->node);
    }
    return is_same(thing->now, gift) && (gift->pending || account_stands(thing->now, gift->node));
}

bool account_holds(const char *uid, const char *node)
{
    const struct gift *gift = find(uid, node);
    return gift != NULL && is_held(gift);
}

bool account_nominates(size_t pod, const char *node)
{
    return strcmp(given.nominated[pod][1], node) == 0 &&
           strcmp(given.nominated[pod][0],
                  text_of(world.thing[WORLD_PODS][pod].seen, "metadata", "uid")) == 0;
}

int64_t account_in_use(const char *node, const char *resource)
{
    int64_t sum = 0;
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const struct thing *thing = &world.thing[WORLD_PODS][i];
        if (account_stands(thing->seen, node) &&
            __builtin_add_overflow(sum, account_ask(thing->seen, resource), &sum)) {
            return INT64_MAX;
        }
    }
    for (size_t i = 0; i < given.n; i++) {
        const struct gift *gift = &given.gift[i];
        const struct thing *thing = thing_of(gift->pod);
        if (strcmp(gift->node, node) == 0 && is_held(gift) && !account_stands(thing->seen, node) &&
            __builtin_add_overflow(sum, account_ask(thing->now, resource), &sum)) {
            return INT64_MAX;
        }
    }
    return sum;
}

/* ---- places ---- */

/* The next "resource=" and its places of an assignment's text. */
static bool next_item(const char **at, char resource[NAME_MAX_BYTES], char places[TEXT_MAX])
{
    size_t len = strcspn(*at, ";");
    const char *equals = memchr(*at, '=', len);
    if (equals == NULL) {
        return false;
    }
    (void)snprintf(resource, NAME_MAX_BYTES, "%.*s", (int)(equals - *at), *at);
    (void)snprintf(places, TEXT_MAX, "%.*s", (int)(*at + len - equals - 1), equals + 1);
    *at += len;
    *at += **at == ';' ? 1 : 0;
    return true;
}

/* "0/3*2" is place "0/3" and the amount 2. */
static int64_t read_place(const char *text, size_t len, char place[NAME_MAX_BYTES])
{
    const char *star = memchr(text, '*', len);
    (void)snprintf(place, NAME_MAX_BYTES, "%.*s", (int)(star == NULL ? len : (size_t)(star - text)),
                   text);
    return star == NULL ? 1 : strtoll(star + 1, NULL, 10);
}

/* Units that the assignment has of that resource at that place. */
static int64_t units_at(const char *assignment, const char *resource, const char *place)
{
    char name[NAME_MAX_BYTES];
    char places[TEXT_MAX];
    char each[NAME_MAX_BYTES];
    int64_t sum = 0;
    while (next_item(&assignment, name, places)) {
        const char *at = places;
        while (*at != '\0' && strcmp(name, resource) == 0) {
            size_t len = strcspn(at, ",");
            int64_t amount = read_place(at, len, each);
            sum += strcmp(each, place) == 0 ? amount : 0;
            at += len + (at[len] == ',' ? 1 : 0);
        }
    }
    return sum;
}

static int64_t held_at(const struct gift *but, const char *resource, const char *place)
{
    int64_t sum = 0;
    for (size_t i = 0; i < given.n; i++) {
        const struct gift *other = &given.gift[i];
        if (other != but && strcmp(other->node, but->node) == 0 && is_held(other)) {
            sum += units_at(other->assignment, resource, place);
        }
    }
    return sum;
}

/* Who else is there, for a failure. */
static void print_held(const struct gift *but)
{
    char line[2 * TEXT_MAX];
    for (size_t i = 0; i < given.n; i++) {
        const struct gift *other = &given.gift[i];
        if (strcmp(other->node, but->node) == 0 && is_held(other)) {
            const struct thing *thing = thing_of(other->pod);
            char *text = json_dumps(thing->seen, JSON_COMPACT);
            (void)snprintf(line, sizeof(line), "%s: %s, %s, as told: %.1500s\n", other->pod,
                           other->assignment, other->pending ? "pending" : "answered",
                           text == NULL ? "nothing" : text);
            free(text);
            hooks_print(line);
        }
    }
}

static int64_t size_of_place(const json_t *node, const char *resource)
{
    const json_t *labels = json_object_get(json_object_get(node, "metadata"), "labels");
    const char *units = json_string_value(json_object_get(labels, "adversary/units"));
    if (strcmp(resource, "aliyun.com/gpu-mem") == 0 ||
        strcmp(resource, "nvidia.com/gpu-10gb") == 0) {
        return units == NULL ? INT64_MAX : strtoll(units, NULL, 10);
    }
    return json_object_get(labels, "adversary/places") == NULL ? INT64_MAX : 1;
}

static void check_places(const struct gift *gift, const json_t *node)
{
    const char *at = gift->assignment;
    char resource[NAME_MAX_BYTES];
    char places[TEXT_MAX];
    char place[NAME_MAX_BYTES];
    while (next_item(&at, resource, places)) {
        int64_t size = size_of_place(node, resource);
        const char *each = places;
        while (*each != '\0') {
            size_t len = strcspn(each, ",");
            (void)read_place(each, len, place);
            int64_t mine = units_at(gift->assignment, resource, place);
            int64_t theirs = held_at(gift, resource, place);
            if (place[0] != '?' && size != INT64_MAX && mine + theirs > size) {
                print_held(gift);
                check_failed("%s is given %lld of %s at %s of node %s (%s) where others that "
                             "stand have %lld of %lld",
                             gift->pod, (long long)mine, resource, place, gift->node,
                             gift->assignment, (long long)theirs, (long long)size);
            }
            account_counts.checked_places++;
            each += len + (each[len] == ',' ? 1 : 0);
        }
    }
}

/* ---- sums ---- */

/* Calls check for each resource of ours that the pod asks for. */
static void each_resource(const json_t *pod, void (*check)(void *context, const char *resource),
                          void *context)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t l = 0; l < 2; l++) {
        size_t i = 0;
        const json_t *container = NULL;
        json_array_foreach(json_object_get(json_object_get(pod, "spec"), lists[l]), i, container)
        {
            const char *key = NULL;
            json_t *value = NULL;
            json_object_foreach(json_object_get(json_object_get(container, "resources"), "limits"),
                                key, value)
            {
                if (account_is_ours(key) && account_ask(pod, key) > 0) {
                    check(context, key);
                }
            }
        }
    }
}

struct judged {
    const json_t *node;
    const json_t *pod;
    const char *name;
    const char *what;
};

static const json_t *node_of(const char *name)
{
    for (size_t i = 0; i < world.n[WORLD_NODES]; i++) {
        const struct thing *thing = &world.thing[WORLD_NODES][i];
        if (thing->seen != NULL && strcmp(thing->key + 1, name) == 0) {
            return thing->seen;
        }
    }
    return NULL;
}

void account_asked(const char *uid, const char *node)
{
    world_lock();
    unsigned i = given.n_asked++ % ASKED_MAX;
    json_decref(given.asked[i].node);
    given.asked[i].node = json_incref((json_t *)node_of(node));
    (void)snprintf(given.asked[i].uid, sizeof(given.asked[i].uid), "%s", uid);
    cuts_asked(uid, node);
    world_unlock();
}

/* It may have gone since it was asked for. */
static const json_t *known_node(const struct gift *gift)
{
    const json_t *node = node_of(gift->node);
    for (unsigned i = 0; node == NULL && i < ASKED_MAX; i++) {
        const json_t *asked = given.asked[i].node;
        if (strcmp(given.asked[i].uid, gift->uid) == 0 &&
            strcmp(text_of(asked, "metadata", "name"), gift->node) == 0) {
            node = asked;
        }
    }
    return node;
}

/* The gift counts itself, being held. */
static void check_sum(void *context, const char *resource)
{
    const struct judged *judged = context;
    int64_t used = account_in_use(judged->name, resource);
    int64_t there = account_allocatable(judged->node, resource);
    if (there >= 0 && used > there) {
        check_failed("%s %s: %lld of %s on node %s would be in use of %lld",
                     text_of(judged->pod, "metadata", "name"), judged->what, (long long)used,
                     resource, judged->name, (long long)there);
    }
}

static void judge_binding(struct gift *gift)
{
    const struct thing *thing = thing_of(gift->pod);
    const json_t *node = known_node(gift);
    const json_t *pod = thing == NULL                ? NULL
                        : is_same(thing->seen, gift) ? thing->seen
                                                     : thing->now;
    account_counts.bindings++;
    if (!given.judge || world.unsure || pod == NULL || !is_same(pod, gift)) {
        return;
    }
    if (node == NULL) {
        check_failed("%s is bound to node %s, of which the daemon was not told", gift->pod,
                     gift->node);
        return;
    }
    struct judged judged = {node, pod, gift->node, "is bound"};
    each_resource(pod, check_sum, &judged);
    check_places(gift, node);
    usage_binds((size_t)(thing - world.thing[WORLD_PODS]), gift->node);
}

static json_t *binding_of(const char *method, const char *path, const char *body, size_t len)
{
    static const char end[] = "/binding";
    size_t size = strlen(path);
    if (strcmp(method, "POST") != 0 || size < strlen(end) ||
        strcmp(path + size - strlen(end), end) != 0) {
        return NULL;
    }
    return json_loadb(body, len, JSON_ALLOW_NUL, NULL);
}

/* A binding takes the place of the pod's nomination, and gives it back when it fails. */
static void end_nomination(const char *uid)
{
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        if (strcmp(given.nominated[i][0], uid) == 0) {
            given.nominated[i][0][0] = '\0';
            given.nominated[i][1][0] = '\0';
        }
    }
}

void account_call(const char *method, const char *path, const char *body, size_t len)
{
    json_t *binding = binding_of(method, path, body, len);
    if (binding == NULL) {
        cuts_called(method, path, body, len);
        return;
    }
    world_lock();
    cuts_binds(text_of(binding, "metadata", "uid"), text_of(binding, "target", "name"));
    const char *uid = text_of(binding, "metadata", "uid");
    const char *node = text_of(binding, "target", "name");
    struct gift *gift = find(uid, node);
    bool known = gift != NULL && (gift->pending || is_held(gift));
    if (!known && account_is_known_by_uid(binding)) {
        if (given.n == GIFTS_MAX) {
            given.n = 0;
        }
        const json_t *annotations =
            json_object_get(json_object_get(binding, "metadata"), "annotations");
        const char *assignment =
            json_string_value(json_object_get(annotations, "sliced.dev/assignment"));
        assignment = assignment == NULL ? "" : assignment;
        /* the same once more was decided before, though others came to the node meanwhile */
        bool again = gift != NULL && strcmp(gift->assignment, assignment) == 0;
        if (gift == NULL) { /* else an earlier try that came to nothing: this one takes its place */
            gift = &given.gift[given.n++];
        }
        *gift = (struct gift){.pending = true};
        (void)snprintf(gift->uid, sizeof(gift->uid), "%s", uid);
        (void)snprintf(gift->node, sizeof(gift->node), "%s", node);
        (void)snprintf(gift->pod, sizeof(gift->pod), "%s/%s",
                       text_of(binding, "metadata", "namespace"),
                       text_of(binding, "metadata", "name"));
        (void)snprintf(gift->assignment, sizeof(gift->assignment), "%s", assignment);
        if (!again) {
            judge_binding(gift);
        }
    } else if (gift != NULL) {
        gift->pending = true;
    }
    end_nomination(uid); /* not before: it is judged as what was set aside for the pod */
    world_unlock();
    json_decref(binding);
}

void account_answered(const char *method, const char *path, const char *body, size_t len)
{
    json_t *binding = binding_of(method, path, body, len);
    if (binding == NULL) {
        return;
    }
    world_lock();
    struct gift *gift =
        find(text_of(binding, "metadata", "uid"), text_of(binding, "target", "name"));
    if (gift != NULL) {
        gift->pending = false;
    }
    world_unlock();
    json_decref(binding);
}

/* ---- nominations ---- */

static int64_t nominated_on(const char *node, const char *resource)
{
    int64_t sum = 0;
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const struct thing *thing = &world.thing[WORLD_PODS][i];
        if (strcmp(given.nominated[i][1], node) == 0 && !account_stands(thing->seen, NULL) &&
            __builtin_add_overflow(sum, account_ask(thing->seen, resource), &sum)) {
            return INT64_MAX;
        }
    }
    return sum;
}

/* Who has how much there, for a failure. */
static void account_print(const char *node, const char *resource)
{
    char line[WORLD_KEY + 200];
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const struct thing *thing = &world.thing[WORLD_PODS][i];
        bool nominations = strcmp(given.nominated[i][1], node) == 0;
        long long units = (long long)account_ask(thing->seen, resource);
        if (units > 0 && (nominations || account_stands(thing->seen, node))) {
            (void)snprintf(line, sizeof(line), "%s: %lld %s\n", thing->key, units,
                           nominations ? "nominated" : "stands");
            hooks_print(line);
        }
    }
}

static void check_nomination(void *context, const char *resource)
{
    const struct judged *judged = context;
    int64_t there = account_allocatable(judged->node, resource);
    int64_t sum = 0;
    if (__builtin_add_overflow(account_in_use(judged->name, resource),
                               nominated_on(judged->name, resource), &sum)) {
        sum = INT64_MAX;
    }
    if (there >= 0 && sum > there) {
        account_print(judged->name, resource);
        check_failed("%s %s: with it %lld of %s on node %s would be in use or nominated, of %lld",
                     text_of(judged->pod, "metadata", "name"), judged->what, (long long)sum,
                     resource, judged->name, (long long)there);
    }
}

void account_nominations(const char *(*nominated)(void *context, const char *uid), void *context)
{
    bool fresh[WORLD_THINGS] = {false};
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const struct thing *thing = &world.thing[WORLD_PODS][i];
        const char *uid = text_of(thing->seen, "metadata", "uid");
        const char *node = account_is_known_by_uid(thing->seen) ? nominated(context, uid) : "";
        fresh[i] = node[0] != '\0' && (strcmp(given.nominated[i][0], uid) != 0 ||
                                       strcmp(given.nominated[i][1], node) != 0);
        (void)snprintf(given.nominated[i][0], NAME_MAX_BYTES, "%s", uid);
        (void)snprintf(given.nominated[i][1], NAME_MAX_BYTES, "%s", node);
    }
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const json_t *pod = world.thing[WORLD_PODS][i].seen;
        struct judged judged = {node_of(given.nominated[i][1]), pod, given.nominated[i][1],
                                "has a new nomination"};
        if (fresh[i] && !world.unsure) {
            account_counts.nominations++;
            each_resource(pod, check_nomination, &judged);
            usage_nominates(pod, given.nominated[i][1]);
        }
    }
}
