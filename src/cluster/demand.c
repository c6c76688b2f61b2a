/* What others want: pods that wait, and the binds of late, counted by resource. */
#include <stdlib.h>

#include "cluster/internal.h"
#include "sliced/constraint.h"

int sl_wants_init(struct sl_wants *wants)
{
    return sl_table_init(&wants->table);
}

void sl_wants_free(struct sl_wants *wants)
{
    size_t bucket = 0;
    for (struct sl_chain *link = sl_table_pop(&wants->table, &bucket); link != NULL;
         link = sl_table_pop(&wants->table, &bucket)) {
        free(SL_CONTAINER(link, struct sl_want, by_key));
    }
    sl_table_free(&wants->table);
}

/* The i-th want of a pod: of each item first the resource, then the resource with its size. The CPU
 * goes with the first item. */
static struct sl_want want_of(const struct sl_pod *pod, uint32_t i)
{
    const struct sl_ask_item *item = &pod->items[i / 2];
    struct sl_want want = {.key = item->key, .kind = item->kind, .shape = item->shape};
    if (i % 2 == 1) {
        bool first = i == 1 && pod->constraints != NULL;
        want.count = item->count;
        want.cpu_milli = first ? pod->constraints->cpu_milli : 0;
    }
    return want;
}

static uint32_t hash_of(const struct sl_want *want)
{
    uint64_t h = want->key + (uint64_t)want->count * UINT64_C(0x9e3779b97f4a7c15) +
                 (uint64_t)want->cpu_milli * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (uint32_t)(h ^ h >> 32);
}

static struct sl_want *find(const struct sl_wants *wants, const struct sl_want *like)
{
    struct sl_chain *link = sl_table_at(&wants->table, hash_of(like));
    for (; link != NULL; link = link->next) {
        struct sl_want *want = SL_CONTAINER(link, struct sl_want, by_key);
        if (want->key == like->key && want->count == like->count &&
            want->cpu_milli == like->cpu_milli) {
            return want;
        }
    }
    return NULL;
}

static struct sl_want *find_of(const struct sl_wants *wants, const struct sl_pod *pod, uint32_t i)
{
    struct sl_want like = want_of(pod, i);
    return find(wants, &like);
}

static struct sl_want *find_or_add(struct sl_wants *wants, const struct sl_want *like)
{
    struct sl_want *want = find(wants, like);
    if (want != NULL) {
        return want;
    }
    want = malloc(sizeof(*want));
    if (want == NULL) {
        return NULL;
    }
    *want = *like;
    sl_table_add(&wants->table, &want->by_key, hash_of(like));
    return want;
}

static void unpin(struct sl_wants *wants, struct sl_want *want)
{
    want->pins--;
    if (want->pins == 0) {
        sl_table_remove(&wants->table, &want->by_key);
        free(want);
    }
}

int sl_wants_pin(struct sl_wants *wants, const struct sl_pod *pod)
{
    for (uint32_t i = 0; i < 2 * pod->n_items; i++) {
        struct sl_want like = want_of(pod, i);
        struct sl_want *want = find_or_add(wants, &like);
        if (want == NULL) {
            while (i > 0) {
                i--;
                unpin(wants, find_of(wants, pod, i));
            }
            return -1;
        }
        want->pins++;
    }
    return 0;
}

void sl_wants_unpin(struct sl_wants *wants, const struct sl_pod *pod)
{
    for (uint32_t i = 0; i < 2 * pod->n_items; i++) {
        unpin(wants, find_of(wants, pod, i));
    }
}

void sl_wants_waiting(struct sl_wants *wants, const struct sl_pod *pod, int32_t by)
{
    if (pod->malformed != NULL) {
        return; /* it waits for nothing that any node could free */
    }
    for (uint32_t i = 0; i < 2 * pod->n_items; i++) {
        find_of(wants, pod, i)->waiting += by;
    }
    wants->dirty = true;
}

void sl_wants_record(struct sl_wants *wants, const struct sl_pod *pod)
{
    unsigned slot = wants->next;
    for (uint8_t i = 0; i < wants->recent[slot].n; i++) {
        wants->recent[slot].want[i]->recent--;
        unpin(wants, wants->recent[slot].want[i]);
    }
    wants->recent[slot].n = 0;
    for (uint32_t i = 0; i < 2 * pod->n_items && i < 2 * SL_ASK_ITEMS_MAX; i++) {
        struct sl_want *want = find_of(wants, pod, i);
        want->pins++;
        want->recent++;
        wants->recent[slot].want[i] = want;
        wants->recent[slot].n++;
    }
    wants->next = (slot + 1) % SL_WANTS_RECENT;
    wants->dirty = true;
}

static void offer_want(struct sl_demand *top, const struct sl_want *want)
{
    int32_t weight = want->waiting + want->recent;
    if (want->count == 0) {
        const struct sl_demand_row row = {want->key, want->kind, want->shape, weight};
        sl_demand_offer(top, &row);
    } else {
        const struct sl_typical typical = {want->key, want->count, want->cpu_milli, weight,
                                           want->kind};
        sl_demand_offer_typical(top, &typical);
    }
}

const struct sl_demand *sl_wants_top(struct sl_wants *wants)
{
    if (!wants->dirty) {
        return &wants->top;
    }
    wants->top = (struct sl_demand){0};
    for (size_t i = 0; i <= wants->table.mask; i++) {
        for (struct sl_chain *link = wants->table.bucket[i]; link != NULL; link = link->next) {
            offer_want(&wants->top, SL_CONTAINER(link, struct sl_want, by_key));
        }
    }
    wants->dirty = false;
    return &wants->top;
}
