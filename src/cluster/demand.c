/* What others want: pods that wait, and the binds of late, counted by resource. */
#include <stdlib.h>

#include "cluster/internal.h"

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

static struct sl_want *find(const struct sl_wants *wants, uint64_t key)
{
    struct sl_chain *link = sl_table_at(&wants->table, (uint32_t)key);
    for (; link != NULL; link = link->next) {
        struct sl_want *want = SL_CONTAINER(link, struct sl_want, by_key);
        if (want->key == key) {
            return want;
        }
    }
    return NULL;
}

static struct sl_want *find_or_add(struct sl_wants *wants, const struct sl_ask_item *item)
{
    struct sl_want *want = find(wants, item->key);
    if (want != NULL) {
        return want;
    }
    want = calloc(1, sizeof(*want));
    if (want == NULL) {
        return NULL;
    }
    want->key = item->key;
    want->kind = item->kind;
    want->shape = item->shape;
    sl_table_add(&wants->table, &want->by_key, (uint32_t)item->key);
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
    for (uint32_t i = 0; i < pod->n_items; i++) {
        struct sl_want *want = find_or_add(wants, &pod->items[i]);
        if (want == NULL) {
            while (i > 0) {
                i--;
                unpin(wants, find(wants, pod->items[i].key));
            }
            return -1;
        }
        want->pins++;
    }
    return 0;
}

void sl_wants_unpin(struct sl_wants *wants, const struct sl_pod *pod)
{
    for (uint32_t i = 0; i < pod->n_items; i++) {
        unpin(wants, find(wants, pod->items[i].key));
    }
}

void sl_wants_waiting(struct sl_wants *wants, const struct sl_pod *pod, int32_t by)
{
    if (pod->malformed != NULL) {
        return; /* it waits for nothing that any node could free */
    }
    for (uint32_t i = 0; i < pod->n_items; i++) {
        find(wants, pod->items[i].key)->waiting += by;
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
    for (uint32_t i = 0; i < pod->n_items && i < SL_ASK_ITEMS_MAX; i++) {
        struct sl_want *want = find(wants, pod->items[i].key);
        want->pins++;
        want->recent++;
        wants->recent[slot].want[i] = want;
        wants->recent[slot].n++;
    }
    wants->next = (slot + 1) % SL_WANTS_RECENT;
    wants->dirty = true;
}

static bool before(const struct sl_demand_row *a, const struct sl_demand_row *b)
{
    return a->weight != b->weight ? a->weight > b->weight : a->key < b->key;
}

/* Keeps the rows of top in order, the SL_DEMAND_MAX that come first. */
static void offer(struct sl_demand *top, const struct sl_demand_row *row)
{
    if (top->n == SL_DEMAND_MAX) {
        if (!before(row, &top->row[SL_DEMAND_MAX - 1])) {
            return;
        }
        top->n--;
    }
    uint8_t at = top->n;
    for (; at > 0 && before(row, &top->row[at - 1]); at--) {
        top->row[at] = top->row[at - 1];
    }
    top->row[at] = *row;
    top->n++;
}

const struct sl_demand *sl_wants_top(struct sl_wants *wants)
{
    if (!wants->dirty) {
        return &wants->top;
    }
    wants->top = (struct sl_demand){0};
    for (size_t i = 0; i <= wants->table.mask; i++) {
        for (struct sl_chain *link = wants->table.bucket[i]; link != NULL; link = link->next) {
            const struct sl_want *want = SL_CONTAINER(link, struct sl_want, by_key);
            struct sl_demand_row row = {want->key, want->kind, want->shape,
                                        want->waiting + want->recent};
            if (row.weight > 0) {
                offer(&wants->top, &row);
            }
        }
    }
    wants->dirty = false;
    return &wants->top;
}
