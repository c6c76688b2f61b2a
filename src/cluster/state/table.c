/* Intrusive hash table with chains: the links live in what they link. */
#include "cluster/state/table.h"

#include <stdlib.h>

enum { BUCKETS_MIN = 64 };

int sl_table_init(struct sl_table *table)
{
    *table = (struct sl_table){0};
    table->bucket = calloc(BUCKETS_MIN, sizeof(struct sl_chain *));
    if (table->bucket == NULL) {
        return -1;
    }
    table->mask = BUCKETS_MIN - 1;
    return 0;
}

void sl_table_free(struct sl_table *table)
{
    free(table->bucket);
    *table = (struct sl_table){0};
}

static void table_grow(struct sl_table *table)
{
    size_t n = (table->mask + 1) * 2;
    struct sl_chain **fresh = calloc(n, sizeof(struct sl_chain *));
    if (fresh == NULL) {
        return;
    }
    for (size_t i = 0; i <= table->mask; i++) {
        struct sl_chain *link = table->bucket[i];
        while (link != NULL) {
            struct sl_chain *next = link->next;
            struct sl_chain **head = &fresh[link->hash & (n - 1)];
            link->next = *head;
            *head = link;
            link = next;
        }
    }
    free(table->bucket);
    table->bucket = fresh;
    table->mask = n - 1;
}

void sl_table_add(struct sl_table *table, struct sl_chain *link, uint32_t hash)
{
    if (table->len > table->mask) {
        table_grow(table);
    }
    struct sl_chain **head = &table->bucket[hash & table->mask];
    link->hash = hash;
    link->next = *head;
    *head = link;
    table->len++;
}

void sl_table_remove(struct sl_table *table, struct sl_chain *link)
{
    struct sl_chain **at = &table->bucket[link->hash & table->mask];
    while (*at != NULL && *at != link) {
        at = &(*at)->next;
    }
    if (*at == link) {
        *at = link->next;
        link->next = NULL;
        table->len--;
    }
}

struct sl_chain *sl_table_at(const struct sl_table *table, uint32_t hash)
{
    return table->bucket[hash & table->mask];
}

struct sl_chain *sl_table_pop(struct sl_table *table, size_t *bucket)
{
    if (table->bucket == NULL) {
        return NULL;
    }
    for (; *bucket <= table->mask; (*bucket)++) {
        struct sl_chain *link = table->bucket[*bucket];
        if (link != NULL) {
            table->bucket[*bucket] = link->next;
            table->len--;
            return link;
        }
    }
    return NULL;
}
