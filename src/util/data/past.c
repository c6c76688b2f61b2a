/* Sets of eight keys, each a small list by age. */
#include "util/data/past.h"

#include <stdlib.h>

enum { SET = 8 };

#define NONE SIZE_MAX

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

/* The place of the key's entry; NONE: the key has no values. */
static size_t entry_find(const struct sl_past *past, uint64_t key)
{
    size_t set = set_of(past, key);
    for (size_t i = set; i < set + SET; i++) {
        if (past->entry[i].added > 0 && past->entry[i].key == key) {
            return i;
        }
    }
    return NONE;
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
    size_t place = entry_find(past, key);
    struct entry *entry = place == NONE ? entry_begin(past, key) : &past->entry[place];
    entry->added = ++past->clock;
    entry->value[entry->next] = value;
    entry->next = (uint8_t)((entry->next + 1U) % SL_PAST_VALUES);
    entry->n = (uint8_t)(entry->n < SL_PAST_VALUES ? entry->n + 1U : entry->n);
}

void sl_past_forget(struct sl_past *past, uint64_t key)
{
    size_t place = entry_find(past, key);
    if (place != NONE) {
        past->entry[place] = (struct entry){.key = 0};
    }
}

const int32_t *sl_past_values(const struct sl_past *past, uint64_t key, unsigned *n)
{
    size_t place = past == NULL ? NONE : entry_find(past, key);
    *n = place == NONE ? 0 : past->entry[place].n;
    return place == NONE ? NULL : past->entry[place].value;
}
