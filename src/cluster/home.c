/* Node names with the pods that stand there and the view built of both. */
#include <stdlib.h>

#include "cluster/internal.h"

struct sl_home *sl_home_find(const struct sl_store *store, struct sl_str name)
{
    uint32_t hash = (uint32_t)sl_hash(name.s, name.len);
    for (struct sl_chain *link = sl_table_at(&store->homes, hash); link != NULL;
         link = link->next) {
        struct sl_home *home = SL_CONTAINER(link, struct sl_home, by_name);
        if (link->hash == hash && sl_str_eq((struct sl_str){home->name, home->name_len}, name)) {
            return home;
        }
    }
    return NULL;
}

struct sl_home *sl_home_get(struct sl_store *store, struct sl_str name)
{
    struct sl_home *home = sl_home_find(store, name);
    if (home != NULL) {
        return home;
    }
    home = calloc(1, sizeof(*home) + name.len + 1);
    if (home == NULL) {
        return NULL;
    }
    memcpy(home->name, name.s, name.len);
    home->name_len = (uint32_t)name.len;
    sl_table_add(&store->homes, &home->by_name, (uint32_t)sl_hash(name.s, name.len));
    return home;
}

void sl_home_touch(struct sl_store *store, struct sl_home *home)
{
    home->stale = true;
    if (home->touched) {
        return;
    }
    home->touched = true;
    home->touched_prev = NULL;
    home->touched_next = store->touched;
    if (store->touched != NULL) {
        store->touched->touched_prev = home;
    }
    store->touched = home;
}

void sl_home_untouch(struct sl_store *store, struct sl_home *home)
{
    if (!home->touched) {
        return;
    }
    if (home->touched_prev != NULL) {
        home->touched_prev->touched_next = home->touched_next;
    } else {
        store->touched = home->touched_next;
    }
    if (home->touched_next != NULL) {
        home->touched_next->touched_prev = home->touched_prev;
    }
    home->touched = false;
}

void sl_home_sweep(struct sl_store *store, struct sl_home *home)
{
    if (home == NULL || home->node != NULL || home->n_pods > 0 || home->n_others > 0) {
        return;
    }
    sl_home_untouch(store, home);
    sl_table_remove(&store->homes, &home->by_name);
    free(home);
}

void sl_home_retire(struct sl_store *store, struct sl_home *home)
{
    if (home->box != NULL) {
        sl_boxes_add(&store->retired, home->box);
        home->box = NULL;
    }
}

static int make_gather_room(struct sl_store *store, size_t n)
{
    if (n <= store->cap_gather) {
        return 0;
    }
    size_t cap = n * 2;
    struct sl_pod **fresh = realloc(store->gather, cap * sizeof(struct sl_pod *));
    if (fresh == NULL) {
        return -1;
    }
    store->gather = fresh;
    store->cap_gather = cap;
    return 0;
}

int sl_home_refresh(struct sl_store *store, struct sl_home *home)
{
    if (!home->stale || home->node == NULL) {
        home->stale = false;
        return 0;
    }
    if (make_gather_room(store, home->n_pods) < 0) {
        return -1;
    }
    size_t n = 0;
    for (const struct sl_entry *entry = home->pods.first; entry != NULL;
         entry = entry->link[SL_PLACE_HOME].next) {
        store->gather[n++] = sl_state_pod(&entry->state);
    }
    struct sl_box *box = calloc(1, sizeof(*box));
    if (box == NULL) {
        return -1;
    }
    const struct sl_host_use others = {home->others_cpu_milli, home->others_memory_kib * 1024,
                                       home->n_others};
    box->view = sl_view_new_beside(home->node, store->gather, n, &others);
    if (box->view == NULL) {
        free(box);
        return -1;
    }
    sl_home_retire(store, home);
    home->box = box;
    home->stale = false;
    return 0;
}

int sl_order_reserve(struct sl_store *store)
{
    if (store->n_order < store->cap_order) {
        return 0;
    }
    size_t cap = store->cap_order == 0 ? 16 : store->cap_order * 2;
    struct sl_home **fresh = realloc(store->order, cap * sizeof(struct sl_home *));
    if (fresh == NULL) {
        return -1;
    }
    store->order = fresh;
    store->cap_order = cap;
    return 0;
}

/* Where the name stands in store->order, or would. */
static size_t order_place(const struct sl_store *store, const char *name)
{
    size_t low = 0;
    size_t high = store->n_order;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(store->order[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void sl_order_add(struct sl_store *store, struct sl_home *home)
{
    size_t at = order_place(store, home->name);
    memmove(&store->order[at + 1], &store->order[at],
            (store->n_order - at) * sizeof(struct sl_home *));
    store->order[at] = home;
    store->n_order++;
    store->order_changed = true;
}

void sl_order_remove(struct sl_store *store, struct sl_home *home)
{
    size_t at = order_place(store, home->name);
    store->n_order--;
    memmove(&store->order[at], &store->order[at + 1],
            (store->n_order - at) * sizeof(struct sl_home *));
    store->order_changed = true;
}
