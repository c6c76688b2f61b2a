/* What the daemon answers, against the account. */
#include "adversary/checks.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adversary/account.h"
#include "adversary/hooks.h"
#include "adversary/rig.h"
#include "adversary/world.h"
#include "chaos/wrap.h"

enum { MESSAGE_MAX = 8192, CONTEXT_MAX = 512, EXIT_FAILED_CHECK = 3 };

static char context_text[CONTEXT_MAX];
static int tell_fd = -1;

void check_context(const char *text)
{
    (void)snprintf(context_text, sizeof(context_text), "%s", text);
}

void check_tell(int fd)
{
    tell_fd = fd;
}

void check_failed(const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    hooks_print_log();
    hooks_print("\nadversary: FAILED: ");
    hooks_print(message);
    hooks_print("\nadversary: at ");
    hooks_print(context_text);
    hooks_print("\n");
    uint64_t which = (uint64_t)(uintptr_t)format;
    (void)!write(tell_fd, &which, sizeof(which));
    _exit(EXIT_FAILED_CHECK);
}

/* ---- text ---- */

static bool is_control(const unsigned char *c, size_t left, bool lines)
{
    bool c1 = c[0] == 0xc2 && left > 1 && c[1] >= 0x80 && c[1] < 0xa0;
    return (c[0] < 0x20 && !(lines && c[0] == '\n')) || c[0] == 0x7f || c1;
}

static void check_text(const char *what, const char *text, size_t len, bool lines)
{
    const unsigned char *c = (const unsigned char *)text;
    for (size_t i = 0; i < len; i++) {
        if (is_control(c + i, len - i, lines)) {
            check_failed("%s has the control character %02x at %zu: %.*s", what, c[i], i,
                         (int)(len > 2000 ? 2000 : len), text);
        }
    }
}

void check_words(const char *what, const char *text)
{
    check_text(what, text == NULL ? "" : text, text == NULL ? 0 : strlen(text), false);
}

void check_lines(const char *what, const char *text, size_t len)
{
    check_text(what, text, len, true);
}

/* ---- answers ---- */

static json_t *ask_json(struct rig *rig, const char *path)
{
    struct http_reply reply = rig_ask(rig, "GET", path, NULL);
    json_error_t error;
    if (reply.status != 200) {
        check_failed("GET %s is answered %u: %s", path, reply.status, reply.text);
    }
    json_t *root = json_loadb(reply.text, reply.len, JSON_ALLOW_NUL, &error);
    if (root == NULL) {
        check_failed("GET %s is no JSON: %s at %d: %.2000s", path, error.text, error.position,
                     reply.text);
    }
    http_reply_free(&reply);
    return root;
}

static void ask_text(struct rig *rig, const char *path, unsigned also)
{
    struct http_reply reply = rig_ask(rig, "GET", path, NULL);
    if (reply.status != 200 && reply.status != also) {
        check_failed("GET %s is answered %u: %s", path, reply.status, reply.text);
    }
    check_lines(path, reply.text, reply.len);
    http_reply_free(&reply);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static const char *meta_of(const json_t *object, const char *key)
{
    return text_of(json_object_get(object, "metadata"), key);
}

/* ---- nodes ---- */

static const struct thing *pod_of(const json_t *row)
{
    char key[WORLD_KEY];
    (void)snprintf(key, sizeof(key), "%s/%s", text_of(row, "namespace"), text_of(row, "name"));
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        if (strcmp(world.thing[WORLD_PODS][i].key, key) == 0) {
            return &world.thing[WORLD_PODS][i];
        }
    }
    return NULL;
}

/* What those have who are to stand there, by the daemon's own word; -1: nobody can tell what the
 * pods of the node have. */
static int64_t assumed_on(const struct thing *node, const json_t *item, const char *resource)
{
    int64_t sum = 0;
    size_t i = 0;
    const json_t *row = NULL;
    const json_t *labels = json_object_get(json_object_get(node->seen, "metadata"), "labels");
    bool sure = json_object_get(labels, "adversary/plain") != NULL;
    json_array_foreach(json_object_get(item, "pods"), i, row)
    {
        const struct thing *thing = pod_of(row);
        const json_t *pod = thing == NULL ? NULL : thing->seen != NULL ? thing->seen : thing->now;
        sure = sure && pod != NULL && account_is_plain(pod);
        if (sure && !account_stands(thing->seen, node->key + 1)) {
            sum += account_ask(pod, resource);
        }
    }
    return sure ? sum : -1;
}

static void check_pool(const struct thing *node, const json_t *item, const json_t *pool)
{
    const char *resource = text_of(pool, "resource");
    int64_t there = account_allocatable(node->seen, resource);
    int64_t used = account_in_use(node->key + 1, resource);
    int64_t left = used > there ? 0 : there - used;
    int64_t free = json_integer_value(json_object_get(pool, "free"));
    if (there >= 0 && free > left) {
        check_failed("%s says %lld of %s are free; %lld are there and pods that stand ask for %lld",
                     node->key, (long long)free, resource, (long long)there, (long long)used);
    }
    int64_t assumed = assumed_on(node, item, resource);
    if (there >= 0 && assumed >= 0 && free < left - assumed) {
        char *text = json_dumps(item, JSON_COMPACT);
        check_failed("%s says %lld of %s are free; %lld are there, pods that stand ask for %lld "
                     "and others for %lld: %.5000s",
                     node->key, (long long)free, resource, (long long)there, (long long)used,
                     (long long)assumed, text);
    }
}

static void check_node(const struct thing *node, const json_t *items)
{
    size_t i = 0;
    size_t k = 0;
    const json_t *item = NULL;
    const json_t *pool = NULL;
    json_array_foreach(items, i, item)
    {
        if (strcmp(text_of(item, "name"), node->key + 1) == 0) {
            json_array_foreach(json_object_get(item, "pools"), k, pool)
            {
                check_pool(node, item, pool);
            }
            return;
        }
    }
    check_failed("%s is not known", node->key);
}

static void check_nodes(struct rig *rig)
{
    json_t *root = ask_json(rig, "/api/v1/nodes?limit=5000");
    world_lock();
    for (size_t i = 0; i < world.n[WORLD_NODES]; i++) {
        if (world.thing[WORLD_NODES][i].seen != NULL) {
            check_node(&world.thing[WORLD_NODES][i], json_object_get(root, "items"));
        }
    }
    world_unlock();
    json_decref(root);
}

/* ---- the queue ---- */

static const json_t *row_of(const json_t *rows, const json_t *pod)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(text_of(row, "name"), meta_of(pod, "name")) == 0 &&
            strcmp(text_of(row, "namespace"), meta_of(pod, "namespace")) == 0) {
            return row;
        }
    }
    return NULL;
}

static void check_explain(struct rig *rig, const json_t *pod)
{
    char path[700];
    (void)snprintf(path, sizeof(path), "/api/v1/pods/%s/%s/explain", meta_of(pod, "namespace"),
                   meta_of(pod, "name"));
    json_decref(ask_json(rig, path));
    (void)snprintf(path, sizeof(path), "/api/v1/pods/%s/%s/explain?output=table",
                   meta_of(pod, "namespace"), meta_of(pod, "name"));
    ask_text(rig, path, 200);
}

static void check_row(struct rig *rig, const json_t *rows, const json_t *pod)
{
    const json_t *row = row_of(rows, pod);
    if (row == NULL) {
        char *text = json_dumps(pod, JSON_COMPACT);
        char path[700];
        (void)snprintf(path, sizeof(path), "/api/v1/pods/%s/%s/explain", meta_of(pod, "namespace"),
                       meta_of(pod, "name"));
        struct http_reply reply = rig_ask(rig, "GET", path, NULL);
        check_failed("%s/%s waits behind the gate and has no row in the queue: %.1000s: %.3000s",
                     meta_of(pod, "namespace"), meta_of(pod, "name"), reply.text, text);
    }
    if (text_of(row, "state")[0] == '\0' || text_of(row, "text")[0] == '\0') {
        check_failed("%s/%s has a row without a reason", meta_of(pod, "namespace"),
                     meta_of(pod, "name"));
    }
    if (rng_chance(&rig->rng, 5)) {
        check_explain(rig, pod);
    }
}

static void check_queue(struct rig *rig)
{
    json_t *root = ask_json(rig, "/api/v1/queue?limit=100000");
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const json_t *pod = world.thing[WORLD_PODS][i].seen;
        if (account_waits(pod) && account_is_known_by_uid(pod)) {
            check_row(rig, json_object_get(root, "items"), pod);
        }
    }
    json_decref(root);
    ask_text(rig, "/api/v1/queue?output=table&limit=100000", 200);
}

/* ---- memory ---- */

/* Bounded by what there is: a generous line, which a leak of anything in a run of minutes crosses.
 */
static void check_memory(void)
{
    static const size_t base = 24 << 20;
    static const size_t each = 64 << 10;
    size_t n = 0;
    for (unsigned kind = 0; kind < WORLD_KINDS; kind++) {
        for (size_t i = 0; i < world.n[kind]; i++) {
            n += world.thing[kind][i].seen != NULL ? 1 : 0;
        }
    }
    if (chaos_live_bytes() > base + n * each) {
        check_failed("%zu bytes are in use for %zu objects", chaos_live_bytes(), n);
    }
}

void check_all(struct rig *rig)
{
    check_nodes(rig);
    if (rig->worker != NULL) {
        check_queue(rig);
    }
    check_memory();
    if (rng_chance(&rig->rng, 20)) {
        ask_text(rig, "/api/v1/nodes?output=table&limit=5000", 200);
        ask_text(rig, "/metrics", 200);
        json_decref(ask_json(rig, "/api/v1/state"));
        json_decref(ask_json(rig, "/gpushare-scheduler/inspect"));
    }
}
