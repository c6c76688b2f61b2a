/* Two reflectors feed the store; all their callbacks run on the client's thread. */
#include "kube/watch/sync.h"
#include "util/timestamp.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "kube/client/object_call.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

/* After so many of a watch's silences without news the store does not count as the cluster any
 * more: one is noticed, the next watch may be silent too, then a list has to tell. */
enum { STALE_SILENCES = 3, MISSING_MAX = 256 };

/* One kind of object. */
struct feed {
    struct sl_sync *sync;
    enum sl_sweep kind;
    bool listing;
    bool blind; /* the list had an object whose name could not be read: do not sweep */
    _Atomic uint64_t swept;
    struct sl_reflector *reflector;
};

struct sl_sync {
    struct sl_sync_options options;
    struct feed feed[SL_SWEEP_KINDS];
    unsigned lists; /* that are being read: nothing is published before they are complete */
};

/* ---- lists ---- */

static void tell_listing(const struct feed *feed, bool listing)
{
    const struct sl_sync_options *options = &feed->sync->options;
    if (feed->kind == SL_SWEEP_PODS && options->listing_pods != NULL) {
        options->listing_pods(options->context, listing);
    }
}

static void on_list_begin(void *context)
{
    struct feed *feed = context;
    struct sl_sync *sync = feed->sync;
    feed->listing = true;
    feed->blind = false;
    tell_listing(feed, true);
    if (sync->lists == 0) {
        sl_store_begin(sync->options.store);
    }
    sync->lists++;
    sl_store_sweep_begin(sync->options.store, feed->kind);
}

static void end_list(struct feed *feed)
{
    struct sl_sync *sync = feed->sync;
    struct sl_error err;
    feed->listing = false;
    tell_listing(feed, false);
    sync->lists--;
    if (sync->lists == 0 && sl_store_end(sync->options.store, &err) < 0) {
        sl_log(SL_LOG_WARN, "snapshot is late", "problem", err.message, (char *)NULL);
    }
}

static void on_listed(void *context, bool ok)
{
    struct feed *feed = context;
    if (ok && feed->blind) {
        sl_log(SL_LOG_WARN, "what is gone stays until the next list: an object has no name", "list",
               feed->kind == SL_SWEEP_NODES ? "nodes" : "pods", (char *)NULL);
    } else if (ok) {
        size_t n = sl_store_sweep_end(feed->sync->options.store, feed->kind);
        (void)atomic_fetch_add(&feed->swept, n);
    }
    end_list(feed);
}

/* ---- objects ---- */

static struct sl_str namespace_of(const struct sl_watch_item *item)
{
    return item->namespace.len > 0 ? item->namespace : SL_STR("default");
}

static void on_skipped(void *context, const struct sl_watch_item *item, const struct sl_error *why)
{
    struct feed *feed = context;
    struct sl_store *store = feed->sync->options.store;
    (void)why;
    if (!feed->listing) {
        return;
    }
    if (item->name.len == 0) {
        feed->blind = true;
    } else if (feed->kind == SL_SWEEP_NODES) {
        sl_store_sweep_keep_node(store, item->name);
    } else {
        sl_store_sweep_keep_pod(store, namespace_of(item), item->name);
    }
}

static void tell_published(const struct feed *feed, int64_t received_us)
{
    const struct sl_sync_options *options = &feed->sync->options;
    if (options->published != NULL && feed->sync->lists == 0) {
        options->published(options->context, sl_clock_monotonic_us() - received_us);
    }
}

/* Steals the node; NULL when out of memory. */
static struct sl_node *mark_node(const struct feed *feed, struct sl_node *node,
                                 struct sl_error *err)
{
    const struct sl_sync_options *options = &feed->sync->options;
    int16_t index[SL_NODE_DEVICES_MAX];
    size_t n = options->unhealthy == NULL ? 0 : options->unhealthy(options->context, node, index);
    if (n == 0) {
        return node;
    }
    struct sl_node *marked = sl_node_marked(node, index, n);
    sl_node_unref(node);
    if (marked == NULL) {
        (void)sl_error_nomem(err);
    }
    return marked;
}

static int on_node(void *context, const struct sl_watch_item *item, int64_t received_us,
                   struct sl_error *err)
{
    struct feed *feed = context;
    struct sl_store *store = feed->sync->options.store;
    if (item->event == SL_WATCH_DELETED) {
        (void)sl_store_delete_node(store, item->name, NULL); /* not known: gone all the same */
        tell_published(feed, received_us);
        return 0;
    }
    struct sl_node_facts *facts = item->object->node;
    facts->actuator = sl_actuator_of(&feed->sync->options.actuator, facts);
    facts->mig_mode = feed->sync->options.actuator.mig_mode;
    struct sl_node *node = sl_node_new(facts, err);
    if (node == NULL) {
        return -1;
    }
    if (node->problem != NULL && item->event == SL_WATCH_ADDED) {
        sl_log(SL_LOG_WARN, "node is odd", "node", node->name, "problem", node->problem,
               (char *)NULL);
    }
    node = mark_node(feed, node, err);
    int result = node == NULL ? -1 : sl_store_put_node(store, node, err);
    tell_published(feed, received_us);
    return result;
}

static int on_pod(void *context, const struct sl_watch_item *item, int64_t received_us,
                  struct sl_error *err)
{
    struct feed *feed = context;
    struct sl_store *store = feed->sync->options.store;
    if (item->event == SL_WATCH_DELETED) {
        if (feed->sync->options.deleted_pod != NULL) {
            feed->sync->options.deleted_pod(feed->sync->options.context, namespace_of(item),
                                            item->name);
        }
        struct sl_str uid = item->object == NULL ? SL_STR("") : item->object->pod->uid;
        if (sl_store_delete_pod(store, namespace_of(item), item->name, uid, NULL) == 0) {
            tell_published(feed, received_us);
        }
        return 0;
    }
    struct sl_pod *pod = sl_pod_new(item->object->pod, err);
    if (pod == NULL) {
        return -1;
    }
    const struct sl_sync_options *options = &feed->sync->options;
    bool ours = pod->n_items > 0 || pod->malformed != NULL;
    if (options->seen_pod != NULL) {
        options->seen_pod(options->context, pod);
    }
    void (*told)(void *context, const struct sl_pod *pod) =
        feed->listing ? options->listed_pod : options->changed_pod;
    if (ours && told != NULL) {
        told(options->context, pod);
    }
    int result = sl_store_put_pod(store, pod, err);
    if (ours) {
        tell_published(feed, received_us);
    }
    return result;
}

/* ---- life ---- */

static int start_feed(struct sl_sync *sync, enum sl_sweep kind, struct sl_error *err)
{
    struct feed *feed = &sync->feed[kind];
    bool nodes = kind == SL_SWEEP_NODES;
    feed->sync = sync;
    feed->kind = kind;
    const struct sl_sync_options *options = &sync->options;
    const struct sl_reflector_options reflector = {
        .client = options->client,
        .kind = nodes ? SL_OBJECT_NODE : SL_OBJECT_POD,
        .name = nodes ? "nodes" : "pods",
        .path = nodes ? "/api/v1/nodes" : "/api/v1/pods",
        .times = options->times,
        .limits = sl_kube_text_limits,
        .calls = {.context = feed,
                  .list_begin = on_list_begin,
                  .object = nodes ? on_node : on_pod,
                  .skipped = on_skipped,
                  .listed = on_listed},
    };
    feed->reflector = sl_reflector_start(&reflector, err);
    return feed->reflector == NULL ? -1 : 0;
}

struct sl_sync *sl_sync_start(const struct sl_sync_options *options, struct sl_error *err)
{
    struct sl_sync *sync = calloc(1, sizeof(*sync));
    if (sync == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    sync->options = *options;
    if (start_feed(sync, SL_SWEEP_NODES, err) < 0 || start_feed(sync, SL_SWEEP_PODS, err) < 0) {
        sl_sync_stop(sync);
        return NULL;
    }
    return sync;
}

void sl_sync_stop(struct sl_sync *sync)
{
    if (sync == NULL) {
        return;
    }
    for (int kind = 0; kind < SL_SWEEP_KINDS; kind++) {
        sl_reflector_stop(sync->feed[kind].reflector);
    }
    for (int kind = 0; kind < SL_SWEEP_KINDS; kind++) {
        if (sync->feed[kind].listing) {
            end_list(&sync->feed[kind]);
        }
    }
    free(sync);
}

/* True when this kind is complete; else writes what is missing, and since when. */
static bool is_fresh(struct sl_sync *sync, enum sl_sweep kind, char *text, size_t size)
{
    const char *name = kind == SL_SWEEP_NODES ? "nodes" : "pods";
    const int64_t stale_us = STALE_SILENCES * sync->options.times.silence_us;
    struct sl_reflector_stats stats;
    char since[32];
    sl_reflector_stats(sync->feed[kind].reflector, &stats);
    if (stats.synced && sl_clock_monotonic_us() - stats.news_us < stale_us) {
        return true;
    }
    sl_time_format(
        (stats.synced ? stats.last_event_us : stats.lost_us) / SL_SECOND_US * SL_SECOND_US, since);
    (void)snprintf(text, size,
                   stats.synced ? "no news of %s since %s%s%s"
                                : "waiting for the list of %s since %s%s%s",
                   name, since, stats.trouble[0] == '\0' ? "" : ": ", stats.trouble);
    return false;
}

const char *sl_sync_missing(struct sl_sync *sync)
{
    static _Thread_local char text[MISSING_MAX];
    for (int kind = 0; kind < SL_SWEEP_KINDS; kind++) {
        if (!is_fresh(sync, (enum sl_sweep)kind, text, sizeof(text))) {
            return text;
        }
    }
    return NULL;
}

void sl_sync_stats(struct sl_sync *sync, struct sl_sync_stats *out)
{
    sl_reflector_stats(sync->feed[SL_SWEEP_NODES].reflector, &out->nodes);
    sl_reflector_stats(sync->feed[SL_SWEEP_PODS].reflector, &out->pods);
    out->swept_nodes = atomic_load(&sync->feed[SL_SWEEP_NODES].swept);
    out->swept_pods = atomic_load(&sync->feed[SL_SWEEP_PODS].swept);
}
