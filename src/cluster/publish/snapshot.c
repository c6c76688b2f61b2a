/* The published snapshot: readers acquire and release it in a few instructions, writers build the
 * next one aside.
 *
 * A publish copies one array of pointers and puts the new views in; views carry no count. Replaced
 * views hang on the snapshot that showed them last, and are freed when that snapshot and every
 * older one are released. The index of names is counted, and shared from one change of the set of
 * nodes to the next. */
#include "cluster/publish/snapshot.h"

#include <stdlib.h>

#include "cluster/publish/index.h"
#include "cluster/state/state.h"

/* A snapshot with what the store keeps about it. Snapshots in use form a list by generation. A
 * released one passes its gone views to the next older one in use, which may show them too, or
 * frees them when there is none. */
struct sl_shared_snapshot {
    struct sl_snapshot snapshot;
    struct sl_node_index *index;
    size_t holders;
    struct sl_shared_snapshot *older;
    struct sl_shared_snapshot *newer;
    struct sl_view_list gone;  /* views that no newer snapshot shows */
    SL_CHECKED(uint64_t seal;) /* of snapshot and of which views it shows */
    const struct sl_view *view[];
};

#ifdef SL_CHECKS_STOP
static uint64_t seal_of(const struct sl_shared_snapshot *shared)
{
    const struct sl_snapshot *snapshot = &shared->snapshot;
    const char *views = (const char *)shared->view;
    return sl_rank_hash((const char *)snapshot, sizeof(*snapshot)) ^
           sl_rank_hash(views, (size_t)((const char *)&shared->view[snapshot->n_nodes] - views));
}
#endif

void sl_shared_snapshot_free(struct sl_shared_snapshot *shared)
{
    if (shared != NULL) {
        SL_CHECKED(SL_CHECK(shared->seal == seal_of(shared));)
        sl_view_list_free(&shared->gone);
        sl_index_unref(shared->index);
        free(shared);
    }
}

/* With publish_lock held. Afterwards no reader can reach the snapshot, nor see views in its gone
 * list. */
static void shared_detach(struct sl_shared_snapshot *shared)
{
    if (shared->newer != NULL) {
        shared->newer->older = shared->older;
    }
    if (shared->older != NULL) {
        shared->older->newer = shared->newer;
        sl_view_list_move(&shared->older->gone, &shared->gone);
    }
}

static void shared_publish(struct sl_store *store, struct sl_shared_snapshot *shared)
{
    struct sl_shared_snapshot *old = store->current;
    bool unused = false;
    (void)pthread_mutex_lock(&store->publish_lock);
    store->current = shared;
    if (old != NULL) {
        shared->older = old;
        old->newer = shared;
        sl_view_list_move(&old->gone, &store->retired);
        unused = old->holders == 0;
        if (unused) {
            shared_detach(old);
        }
    }
    (void)pthread_mutex_unlock(&store->publish_lock);
    if (unused) {
        sl_shared_snapshot_free(old);
    }
}

static void fill_views(struct sl_store *store, struct sl_shared_snapshot *shared)
{
    if (store->order_changed || store->current == NULL) {
        for (size_t i = 0; i < store->n_order; i++) {
            store->order[i]->place = (uint32_t)i;
            shared->view[i] = store->order[i]->shown->view;
        }
        return;
    }
    memcpy(shared->view, store->current->view, store->n_order * sizeof(struct sl_view *));
    for (struct sl_link *at = store->touched.first; at != NULL; at = at->next) {
        const struct sl_host_entry *host = SL_CONTAINER(at, struct sl_host_entry, touched);
        if (host->node != NULL) {
            shared->view[host->place] = host->shown->view;
        }
    }
}

static struct sl_shared_snapshot *shared_new(struct sl_store *store)
{
    struct sl_shared_snapshot *shared =
        malloc(sizeof(*shared) + store->n_order * sizeof(struct sl_view *));
    if (shared == NULL) {
        return NULL;
    }
    *shared = (struct sl_shared_snapshot){0};
    shared->index = store->order_changed || store->current == NULL
                        ? sl_index_new(store->order, store->n_order)
                        : sl_index_ref(store->current->index);
    if (shared->index == NULL) {
        free(shared);
        return NULL;
    }
    fill_views(store, shared);
    shared->snapshot = (struct sl_snapshot){
        .generation = store->generation,
        .nodes_generation = store->order_changed || store->current == NULL
                                ? store->generation
                                : store->current->snapshot.nodes_generation,
        .n_nodes = store->n_order,
        .view = shared->view,
        .index = shared->index,
        .demand = *sl_wants_top(&store->wants),
        .dra = store->dra,
        .n_pods = store->pods_by_name.len,
        .n_waiting = store->n_waiting,
        .n_bound = store->n_bound,
        .n_reserved = store->n_reserved,
        .n_nominated = store->n_nominated,
    };
    SL_CHECKED(shared->seal = seal_of(shared);)
    return shared;
}

/* Views that readers see already stay as they are. */
static void note_shown(struct sl_store *store)
{
    for (struct sl_link *at = store->touched.first; at != NULL; at = at->next) {
        const struct sl_host_entry *host = SL_CONTAINER(at, struct sl_host_entry, touched);
        if (host->node != NULL && host->shown->view->shown == 0) {
            sl_linked_view_show(host->shown, store->generation);
        }
    }
}

int sl_store_settle(struct sl_store *store)
{
    if (store->batch || (!store->dirty && store->touched.first == NULL)) {
        return 0;
    }
    for (struct sl_link *at = store->touched.first; at != NULL; at = at->next) {
        if (sl_host_refresh(store, SL_CONTAINER(at, struct sl_host_entry, touched)) < 0) {
            return -1;
        }
    }
    note_shown(store);
    struct sl_shared_snapshot *shared = shared_new(store);
    if (shared == NULL) {
        return -1;
    }
    shared_publish(store, shared);
    while (store->touched.first != NULL) {
        sl_list_remove(&store->touched, store->touched.first);
    }
    store->order_changed = false;
    store->dirty = false;
    if (store->published != NULL) {
        store->published(store->published_context);
    }
    return 0;
}

void sl_store_set_published(struct sl_store *store, void (*published)(void *context), void *context)
{
    (void)pthread_mutex_lock(&store->lock);
    store->published = published;
    store->published_context = context;
    (void)pthread_mutex_unlock(&store->lock);
}

void sl_store_set_dra(struct sl_store *store, const struct sl_dra *dra)
{
    (void)pthread_mutex_lock(&store->lock);
    if (!sl_dra_same(&store->dra, dra)) {
        store->dra = *dra;
        store->generation++;
        store->dirty = true;
        (void)sl_store_settle(store); /* without memory a later call publishes it */
    }
    (void)pthread_mutex_unlock(&store->lock);
}

const struct sl_snapshot *sl_store_acquire(struct sl_store *store)
{
    (void)pthread_mutex_lock(&store->publish_lock);
    struct sl_shared_snapshot *shared = store->current;
    shared->holders++;
    (void)pthread_mutex_unlock(&store->publish_lock);
    return &shared->snapshot;
}

void sl_store_release(struct sl_store *store, const struct sl_snapshot *snapshot)
{
    if (snapshot == NULL) {
        return;
    }
    struct sl_shared_snapshot *shared = SL_CONTAINER(snapshot, struct sl_shared_snapshot, snapshot);
    (void)pthread_mutex_lock(&store->publish_lock);
    shared->holders--;
    bool unused = shared->holders == 0 && shared != store->current;
    if (unused) {
        shared_detach(shared);
    }
    (void)pthread_mutex_unlock(&store->publish_lock);
    if (unused) {
        sl_shared_snapshot_free(shared);
    }
}
