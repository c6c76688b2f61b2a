/* One reflector of ConfigMaps. It runs on the client's thread, as the watch of nodes does, so
 * nothing is locked: a node is marked when it comes, or when its ConfigMap does. */
#include "kube/watch/unhealthy.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/data/map.h"
#include "util/log.h"

enum {
    NODES_MAX = 20000, /* with such a ConfigMap; the most that cluster.maxNodes may be */
    OBJECT_TEXT_MAX = 16 << 20,
    STRING_MAX = 4096, /* of the key "gpus"; of a name */
    DEPTH_MAX = 64,
    PATH_MAX_LEN = 320,
};

struct mark {
    size_t n;
    int16_t index[SL_NODE_DEVICES_MAX];
    uint64_t list; /* that named it last */
    size_t name_len;
    char name[]; /* of the node */
};

struct sl_unhealthy {
    struct sl_store *store;
    struct sl_reflector *reflector;
    struct sl_map marks; /* by node */
    uint64_t list;       /* the one being read, or the last */
};

/* ---- marks ---- */

/* The node's name; empty: it is another ConfigMap. */
static struct sl_str node_of(struct sl_str name)
{
    const struct sl_str prefix = SL_STR("unhealthy-gpu-");
    if (!sl_str_starts(name, prefix)) {
        return (struct sl_str){0};
    }
    return (struct sl_str){name.s + prefix.len, name.len - prefix.len};
}

/* Reads "0, 3"; as gpushare does, it passes over anything that is no index. */
static void read_indexes(struct sl_str text, struct mark *mark)
{
    mark->n = 0;
    while (text.len > 0 && mark->n < SL_NODE_DEVICES_MAX) {
        struct sl_str item = sl_str_cut(&text, ',');
        while (item.len > 0 && item.s[0] == ' ') {
            item = (struct sl_str){item.s + 1, item.len - 1};
        }
        while (item.len > 0 && item.s[item.len - 1] == ' ') {
            item.len--;
        }
        int64_t index = -1;
        if (sl_str_to_i64(item, &index) && index >= 0 && index <= INT16_MAX) {
            mark->index[mark->n] = (int16_t)index;
            mark->n++;
        }
    }
}

/* Marks the store's node as its ConfigMap says. */
static int apply_mark(const struct sl_unhealthy *unhealthy, struct sl_str name,
                      struct sl_error *err)
{
    int16_t index[SL_NODE_DEVICES_MAX];
    struct sl_node *node = sl_store_node(unhealthy->store, name);
    if (node == NULL) {
        return 0; /* it will be marked when it comes */
    }
    struct sl_node *marked = sl_node_marked(node, index, sl_unhealthy_of(unhealthy, name, index));
    int result = 0;
    if (marked == NULL) {
        result = sl_error_nomem(err);
    } else if (marked == node) {
        sl_node_unref(marked);
    } else {
        result = sl_store_put_node(unhealthy->store, marked, err);
    }
    sl_node_unref(node);
    return result;
}

static int set_mark(struct sl_unhealthy *unhealthy, struct sl_str node, struct sl_str gpus,
                    struct sl_error *err)
{
    struct mark *mark = sl_map_get(&unhealthy->marks, node.s, node.len);
    if (mark == NULL) {
        if (unhealthy->marks.len >= NODES_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "more than %d nodes have unhealthy GPUs",
                                (int)NODES_MAX);
        }
        mark = SL_MAP_ADD(&unhealthy->marks, struct mark, name, node);
        if (mark == NULL) {
            return sl_error_nomem(err);
        }
        mark->name_len = node.len;
    }
    mark->list = unhealthy->list;
    read_indexes(gpus, mark);
    return apply_mark(unhealthy, node, err);
}

static void drop_mark(struct sl_unhealthy *unhealthy, struct sl_str node)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct mark *mark = sl_map_remove(&unhealthy->marks, node.s, node.len);
    if (mark != NULL && apply_mark(unhealthy, node, &err) < 0) {
        sl_log(SL_LOG_WARN, "a GPU stays marked unhealthy until its node changes", "node",
               mark->name, "reason", err.message, (char *)NULL);
    }
    free(mark);
}

size_t sl_unhealthy_of(const struct sl_unhealthy *unhealthy, struct sl_str node,
                       int16_t index[SL_NODE_DEVICES_MAX])
{
    const struct mark *mark = sl_map_get(&unhealthy->marks, node.s, node.len);
    if (mark == NULL) {
        return 0;
    }
    memcpy(index, mark->index, mark->n * sizeof(index[0]));
    return mark->n;
}

/* ---- the reflector's calls ---- */

static void on_list_begin(void *context)
{
    struct sl_unhealthy *unhealthy = context;
    unhealthy->list++;
}

static int on_object(void *context, const struct sl_watch_item *item, int64_t received_us,
                     struct sl_error *err)
{
    struct sl_unhealthy *unhealthy = context;
    struct sl_str node = node_of(item->name);
    (void)received_us;
    if (node.len == 0) {
        return 0;
    }
    if (item->event == SL_WATCH_DELETED) {
        drop_mark(unhealthy, node);
        return 0;
    }
    const struct sl_pair *gpus = sl_pair_find(item->object->data, SL_STR("gpus"));
    return set_mark(unhealthy, node, gpus == NULL ? (struct sl_str){0} : gpus->value, err);
}

/* Keeps the marks of a ConfigMap until it can be read again. */
static void on_skipped(void *context, const struct sl_watch_item *item, const struct sl_error *why)
{
    struct sl_unhealthy *unhealthy = context;
    struct sl_str node = node_of(item->name);
    struct mark *mark = sl_map_get(&unhealthy->marks, node.s, node.len);
    (void)why;
    if (node.len > 0 && mark != NULL) {
        mark->list = unhealthy->list;
    }
}

static void on_listed(void *context, bool ok)
{
    struct sl_unhealthy *unhealthy = context;
    size_t at = 0;
    struct mark *mark = ok ? sl_map_next(&unhealthy->marks, &at) : NULL;
    while (mark != NULL) {
        if (mark->list != unhealthy->list) {
            drop_mark(unhealthy, (struct sl_str){mark->name, mark->name_len});
        }
        mark = sl_map_next(&unhealthy->marks, &at);
    }
}

/* ---- life ---- */

struct sl_unhealthy *sl_unhealthy_start(const struct sl_unhealthy_options *options,
                                        struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    struct sl_unhealthy *unhealthy = calloc(1, sizeof(*unhealthy));
    if (unhealthy == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    unhealthy->store = options->store;
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps", options->namespace);
    const struct sl_reflector_options reflector = {
        .client = options->client,
        .kind = SL_OBJECT_CONFIG_MAP,
        .name = "configmaps",
        .path = path,
        .times = options->times,
        .limits = {.max_bytes = OBJECT_TEXT_MAX, .max_string = STRING_MAX, .max_depth = DEPTH_MAX},
        .calls = {.context = unhealthy,
                  .list_begin = on_list_begin,
                  .object = on_object,
                  .skipped = on_skipped,
                  .listed = on_listed},
    };
    unhealthy->reflector = sl_reflector_start(&reflector, err);
    if (unhealthy->reflector == NULL) {
        free(unhealthy);
        return NULL;
    }
    return unhealthy;
}

void sl_unhealthy_stop(struct sl_unhealthy *unhealthy)
{
    if (unhealthy == NULL) {
        return;
    }
    sl_reflector_stop(unhealthy->reflector);
    size_t at = 0;
    for (struct mark *mark = sl_map_next(&unhealthy->marks, &at); mark != NULL;
         mark = sl_map_next(&unhealthy->marks, &at)) {
        free(mark);
    }
    sl_map_free(&unhealthy->marks);
    free(unhealthy);
}

const char *sl_unhealthy_missing(struct sl_unhealthy *unhealthy)
{
    struct sl_reflector_stats stats;
    sl_reflector_stats(unhealthy->reflector, &stats);
    return stats.listed > 0 || stats.failures > 0 ? NULL : "waiting for the list of unhealthy GPUs";
}
