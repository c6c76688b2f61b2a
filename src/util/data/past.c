/* Sets of eight keys, each a small list by age. */
#include "util/data/past.h"

#include <stdlib.h>

enum { SET = 8 };

struct entry {
    uint64_t key;
    uint64_t added; /* past->clock then; 0: empty */
    int32_t value[SL_PAST_VALUES];
    uint8_t n;
    uint8_t next;
};

struct sl_past {
    uint64_t clock;
    size_t sets;
    struct entry entry[];
};

struct sl_past *sl_past_new(size_t n)
{
    size_t sets = n < SET ? 1 : n / SET;
    struct sl_past *past = calloc(1, sizeof(*past) + sets * SET * sizeof(past->entry[0]));
    if (past != NULL) {
        past->sets = sets;
    }
    return past;
}

void sl_past_free(struct sl_past *past)
{
    free(past);
}

static size_t set_of(const struct sl_past *past, uint64_t key)
{
    return (size_t)(key % past->sets) * SET;
}

void sl_past_add(struct sl_past *past, uint64_t key, int32_t value)
{
    struct entry *set = &past->entry[set_of(past, key)];
    struct entry *entry = &set[0];
    for (size_t i = 0; i < SET; i++) {
        if (set[i].added > 0 && set[i].key == key) {
            entry = &set[i];
            break;
        }
        entry = set[i].added < entry->added ? &set[i] : entry;
    }
    if (entry->added == 0 || entry->key != key) {
        *entry = (struct entry){.key = key};
    }
    entry->added = ++past->clock;
    entry->value[entry->next] = value;
    entry->next = (uint8_t)((entry->next + 1U) % SL_PAST_VALUES);
    entry->n = (uint8_t)(entry->n < SL_PAST_VALUES ? entry->n + 1U : entry->n);
}

const int32_t *sl_past_values(const struct sl_past *past, uint64_t key, unsigned *n)
{
    const struct entry *set = past == NULL ? NULL : &past->entry[set_of(past, key)];
    *n = 0;
    for (size_t i = 0; set != NULL && i < SET; i++) {
        if (set[i].added > 0 && set[i].key == key) {
            *n = set[i].n;
            return set[i].value;
        }
    }
    return NULL;
}
