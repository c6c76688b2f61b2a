/* The published snapshot: picked up and given back in a few instructions, built by writers aside.
 *
 * A publish copies one array of pointers and puts the new views in; the views themselves carry no
 * count. Those that it replaced hang on the picture that showed them last, and are freed when that
 * picture and every older one are given back (pictures form a list by generation). The index of
 * names is counted and shared from one change of the set of nodes to the next. */
#include <stdlib.h>

#include "cluster/internal.h"

void sl_boxes_add(struct sl_boxes *boxes, struct sl_box *box)
{
    box->next = NULL;
    if (boxes->last != NULL) {
        boxes->last->next = box;
    } else {
        boxes->first = box;
    }
    boxes->last = box;
}

static void boxes_move(struct sl_boxes *to, struct sl_boxes *from)
{
    if (from->first == NULL) {
        return;
    }
    if (to->last != NULL) {
        to->last->next = from->first;
    } else {
        to->first = from->first;
    }
    to->last = from->last;
    *from = (struct sl_boxes){0};
}

void sl_boxes_free(struct sl_boxes *boxes)
{
    struct sl_box *box = boxes->first;
    while (box != NULL) {
        struct sl_box *next = box->next;
        sl_view_free(box->view);
        free(box);
        box = next;
    }
    *boxes = (struct sl_boxes){0};
}

void sl_picture_free(struct sl_picture *picture)
{
    if (picture != NULL) {
        sl_boxes_free(&picture->gone);
        sl_index_unref(picture->index);
        free(picture);
    }
}

/* Under the door. After this nobody else can reach the picture; what stays in its gone list nobody
 * can see any more. */
static void detach(struct sl_picture *picture)
{
    if (picture->newer != NULL) {
        picture->newer->older = picture->older;
    }
    if (picture->older != NULL) {
        picture->older->newer = picture->newer;
        boxes_move(&picture->older->gone, &picture->gone);
    }
}

static void publish(struct sl_store *store, struct sl_picture *picture)
{
    struct sl_picture *old = store->current;
    bool unused = false;
    pthread_mutex_lock(&store->door);
    store->current = picture;
    if (old != NULL) {
        picture->older = old;
        old->newer = picture;
        boxes_move(&old->gone, &store->retired);
        unused = old->holders == 0;
        if (unused) {
            detach(old);
        }
    }
    pthread_mutex_unlock(&store->door);
    if (unused) {
        sl_picture_free(old);
    }
}

static void fill_views(struct sl_store *store, struct sl_picture *picture)
{
    if (store->order_changed || store->current == NULL) {
        for (size_t i = 0; i < store->n_order; i++) {
            store->order[i]->place = (uint32_t)i;
            picture->view[i] = store->order[i]->box->view;
        }
        return;
    }
    memcpy(picture->view, store->current->view, store->n_order * sizeof(struct sl_view *));
    for (const struct sl_home *home = store->touched; home != NULL; home = home->touched_next) {
        if (home->node != NULL) {
            picture->view[home->place] = home->box->view;
        }
    }
}

static struct sl_picture *picture_new(struct sl_store *store)
{
    struct sl_picture *picture =
        malloc(sizeof(*picture) + store->n_order * sizeof(struct sl_view *));
    if (picture == NULL) {
        return NULL;
    }
    *picture = (struct sl_picture){0};
    picture->index = store->order_changed || store->current == NULL
                         ? sl_index_new(store->order, store->n_order)
                         : sl_index_ref(store->current->index);
    if (picture->index == NULL) {
        free(picture);
        return NULL;
    }
    fill_views(store, picture);
    picture->snapshot = (struct sl_snapshot){
        .generation = store->generation,
        .n_nodes = store->n_order,
        .view = picture->view,
        .index = picture->index,
        .demand = *sl_wants_top(&store->wants),
        .n_pods = store->pods_by_name.len,
        .n_waiting = store->n_waiting,
        .n_bound = store->n_bound,
        .n_reserved = store->n_reserved,
        .n_claimed = store->n_claimed,
    };
    return picture;
}

int sl_store_settle(struct sl_store *store)
{
    if (store->batch || (!store->dirty && store->touched == NULL)) {
        return 0;
    }
    for (struct sl_home *home = store->touched; home != NULL; home = home->touched_next) {
        if (sl_home_refresh(store, home) < 0) {
            return -1;
        }
    }
    struct sl_picture *picture = picture_new(store);
    if (picture == NULL) {
        return -1;
    }
    publish(store, picture);
    while (store->touched != NULL) {
        sl_home_untouch(store, store->touched);
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
    pthread_mutex_lock(&store->lock);
    store->published = published;
    store->published_context = context;
    pthread_mutex_unlock(&store->lock);
}

const struct sl_snapshot *sl_store_acquire(struct sl_store *store)
{
    pthread_mutex_lock(&store->door);
    struct sl_picture *picture = store->current;
    picture->holders++;
    pthread_mutex_unlock(&store->door);
    return &picture->snapshot;
}

void sl_store_release(struct sl_store *store, const struct sl_snapshot *snapshot)
{
    if (snapshot == NULL) {
        return;
    }
    struct sl_picture *picture = SL_CONTAINER(snapshot, struct sl_picture, snapshot);
    pthread_mutex_lock(&store->door);
    picture->holders--;
    bool unused = picture->holders == 0 && picture != store->current;
    if (unused) {
        detach(picture);
    }
    pthread_mutex_unlock(&store->door);
    if (unused) {
        sl_picture_free(picture);
    }
}
