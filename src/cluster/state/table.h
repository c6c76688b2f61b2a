/* Intrusive hash table with chains: the links live in what they link, so adding never fails. */
#ifndef SLICED_CLUSTER_STATE_TABLE_H
#define SLICED_CLUSTER_STATE_TABLE_H

#include <stdint.h>

#include "util/data/list.h"

struct sl_chain {
    struct sl_chain *next;
    uint32_t hash;
};

struct sl_table {
    struct sl_chain **bucket;
    size_t mask;
    size_t len;
};

/* -1: out of memory. */
int sl_table_init(struct sl_table *table);
void sl_table_free(struct sl_table *table);
/* Grows when it can; without memory chains only get longer. */
void sl_table_add(struct sl_table *table, struct sl_chain *link, uint32_t hash);
void sl_table_remove(struct sl_table *table, struct sl_chain *link);
/* First of the links that share a bucket with hash; compare link->hash, then the key. */
struct sl_chain *sl_table_at(const struct sl_table *table, uint32_t hash);
/* Takes any link out, to free what the table holds; NULL when it is empty. Start with *bucket 0. */
struct sl_chain *sl_table_pop(struct sl_table *table, size_t *bucket);

#endif
