/* The order of waiting pods. */
#include "cluster/state/waiting.h"

#include "cluster/state/state.h"

static bool is_earlier(const struct sl_link *a, const struct sl_link *b)
{
    const struct sl_pod *pod_a = SL_CONTAINER(a, struct sl_entry, in_waiting)->state.pod;
    const struct sl_pod *pod_b = SL_CONTAINER(b, struct sl_entry, in_waiting)->state.pod;
    if (pod_a->created_us != pod_b->created_us) {
        return pod_a->created_us < pod_b->created_us;
    }
    return strcmp(pod_a->uid, pod_b->uid) < 0;
}

void sl_waiting_add(struct sl_store *store, struct sl_entry *entry)
{
    if (store->waiting.last != NULL && is_earlier(&entry->in_waiting, store->waiting.last)) {
        store->waiting_sorted = false;
    }
    sl_list_add_last(&store->waiting, &entry->in_waiting);
    store->n_waiting++;
}

void sl_waiting_remove(struct sl_store *store, struct sl_entry *entry)
{
    sl_list_remove(&store->waiting, &entry->in_waiting);
    store->n_waiting--;
}

/* Merges two runs that are in order. */
static struct sl_link *merge_runs(struct sl_link *a, struct sl_link *b)
{
    struct sl_link *first = NULL;
    struct sl_link **at = &first;
    while (a != NULL && b != NULL) {
        struct sl_link **from = is_earlier(b, a) ? &b : &a;
        *at = *from;
        at = &(*from)->next;
        *from = *at;
    }
    *at = a != NULL ? a : b;
    return first;
}

/* Merge sort on the links: run[i] holds 2^i pods or none. */
void sl_waiting_sort(struct sl_store *store)
{
    if (store->waiting_sorted) {
        return;
    }
    struct sl_link *run[64] = {NULL};
    struct sl_link *rest = store->waiting.first;
    while (rest != NULL) {
        struct sl_link *one = rest;
        rest = rest->next;
        one->next = NULL;
        size_t i = 0;
        for (; run[i] != NULL; i++) {
            one = merge_runs(run[i], one);
            run[i] = NULL;
        }
        run[i] = one;
    }
    struct sl_link *all = NULL;
    for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++) {
        all = merge_runs(run[i], all);
    }
    store->waiting = (struct sl_list){.first = all};
    for (struct sl_link *at = all; at != NULL; at = at->next) {
        at->prev = store->waiting.last;
        store->waiting.last = at;
    }
    store->waiting_sorted = true;
}
