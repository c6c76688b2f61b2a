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

/* NULL when the key has no values. */
static const struct entry *entry_find(const struct sl_past *past, uint64_t key)
{
    const struct entry *set = &past->entry[set_of(past, key)];
    for (size_t i = 0; i < SET; i++) {
        if (set[i].added > 0 && set[i].key == key) {
            return &set[i];
        }
    }
    return NULL;
}

/* Takes the place of the key of its set that was least lately added to. */
static struct entry *entry_begin(struct sl_past *past, uint64_t key)
{
    struct entry *set = &past->entry[set_of(past, key)];
    struct entry *entry = &set[0];
    for (size_t i = 1; i < SET; i++) {
        entry = set[i].added < entry->added ? &set[i] : entry;
    }
    *entry = (struct entry){.key = key};
    return entry;
}

void sl_past_add(struct sl_past *past, uint64_t key, int32_t value)
{
    struct entry *entry = (struct entry *)entry_find(past, key);
    entry = entry == NULL ? entry_begin(past, key) : entry;
    entry->added = ++past->clock;
    entry->value[entry->next] = value;
    entry->next = (uint8_t)((entry->next + 1U) % SL_PAST_VALUES);
    entry->n = (uint8_t)(entry->n < SL_PAST_VALUES ? entry->n + 1U : entry->n);
}

void sl_past_forget(struct sl_past *past, uint64_t key)
{
    struct entry *entry = (struct entry *)entry_find(past, key);
    if (entry != NULL) {
        *entry = (struct entry){.key = 0};
    }
}

const int32_t *sl_past_values(const struct sl_past *past, uint64_t key, unsigned *n)
{
    const struct entry *entry = past == NULL ? NULL : entry_find(past, key);
    *n = entry == NULL ? 0 : entry->n;
    return entry == NULL ? NULL : entry->value;
}
