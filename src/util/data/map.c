/* Open addressing with linear probing and tombstones. */
#include "util/data/map.h"

#include <stdlib.h>

static struct sl_map_entry *slot_find(const struct sl_map *map, const char *key, size_t len,
                                      uint32_t hash)
{
    if (map->cap == 0) {
        return NULL;
    }
    for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
        struct sl_map_entry *entry = &map->entry[i];
        if (entry->key == NULL) {
            return NULL;
        }
        if (entry->value != NULL && entry->hash == hash && entry->key_len == len &&
            memcmp(entry->key, key, len) == 0) {
            return entry;
        }
    }
}

static int map_grow(struct sl_map *map)
{
    size_t cap = map->cap == 0 ? 16 : map->cap;
    while (map->len * 2 >= cap) {
        cap *= 2;
    }
    struct sl_map_entry *fresh = calloc(cap, sizeof(*fresh));
    if (fresh == NULL) {
        return -1;
    }
    for (size_t i = 0; i < map->cap; i++) {
        const struct sl_map_entry *entry = &map->entry[i];
        if (entry->key == NULL || entry->value == NULL) {
            continue;
        }
        size_t j = entry->hash & (cap - 1);
        while (fresh[j].key != NULL) {
            j = (j + 1) & (cap - 1);
        }
        fresh[j] = *entry;
    }
    free(map->entry);
    map->entry = fresh;
    map->cap = cap;
    map->used = map->len;
    return 0;
}

void sl_map_free(struct sl_map *map)
{
    free(map->entry);
    *map = (struct sl_map){0};
}

size_t sl_map_bytes(const struct sl_map *map)
{
    return sizeof(*map) + map->cap * sizeof(*map->entry);
}

int sl_map_put(struct sl_map *map, const char *key, size_t len, void *value, void **old)
{
    uint32_t hash = (uint32_t)sl_hash(key, len);
    struct sl_map_entry *entry = slot_find(map, key, len, hash);
    if (old != NULL) {
        *old = entry == NULL ? NULL : entry->value;
    }
    if (entry != NULL) {
        entry->key = key;
        entry->value = value;
        return 0;
    }
    /* keeps a quarter of the slots empty, so that a probe ends soon */
    if ((map->used + 1) * 4 > map->cap * 3 && map_grow(map) < 0) {
        return -1;
    }
    size_t i = hash & (map->cap - 1);
    while (map->entry[i].key != NULL) {
        i = (i + 1) & (map->cap - 1);
    }
    map->entry[i] = (struct sl_map_entry){key, value, (uint32_t)len, hash};
    map->len++;
    map->used++;
    return 0;
}

void *sl_map_add(struct sl_map *map, size_t size, size_t at, struct sl_str key)
{
    char *value = calloc(1, size + key.len + 1);
    if (value == NULL) {
        return NULL;
    }
    if (key.len > 0) {
        memcpy(value + at, key.s, key.len);
    }
    if (sl_map_put(map, value + at, key.len, value, NULL) < 0) {
        free(value);
        return NULL;
    }
    return value;
}

void *sl_map_get(const struct sl_map *map, const char *key, size_t len)
{
    const struct sl_map_entry *entry = slot_find(map, key, len, (uint32_t)sl_hash(key, len));
    return entry == NULL ? NULL : entry->value;
}

void *sl_map_remove(struct sl_map *map, const char *key, size_t len)
{
    struct sl_map_entry *entry = slot_find(map, key, len, (uint32_t)sl_hash(key, len));
    if (entry == NULL) {
        return NULL;
    }
    void *value = entry->value;
    entry->key = ""; /* a tombstone keeps probes going and points at nothing that may be freed */
    entry->key_len = 0;
    entry->value = NULL;
    map->len--;
    return value;
}

void *sl_map_next(const struct sl_map *map, size_t *at)
{
    for (; *at < map->cap; (*at)++) {
        const struct sl_map_entry *entry = &map->entry[*at];
        if (entry->key != NULL && entry->value != NULL) {
            (*at)++;
            return entry->value;
        }
    }
    return NULL;
}
