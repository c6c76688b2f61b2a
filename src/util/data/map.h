/* String -> pointer hash map (open addressing). Keys are borrowed: they must live as long as the
 * entry, as when the key is a member of the value. Not thread safe. */
#ifndef SLICED_UTIL_MAP_H
#define SLICED_UTIL_MAP_H

#include "util/str.h"

struct sl_map_entry {
    const char *key; /* NULL: never used */
    void *value;     /* NULL with a key: deleted */
    uint32_t key_len;
    uint32_t hash;
};

struct sl_map {
    struct sl_map_entry *entry;
    size_t cap;  /* 0 or a power of two */
    size_t len;  /* live entries */
    size_t used; /* live and deleted */
};

/* A zeroed struct sl_map is an empty map. */
void sl_map_free(struct sl_map *map);
/* Bytes of the table itself, without keys and values. */
size_t sl_map_bytes(const struct sl_map *map);

/* Sets key to value (not NULL). Returns 0, or -1 when out of memory (nothing changed). *old,
 * where old is not NULL, becomes the value before, NULL when there was none. */
int sl_map_put(struct sl_map *map, const char *key, size_t len, void *value, void **old);
/* Sets a key that is not there to a new, zeroed value of that size, which ends with a copy of the
 * key and a NUL: its last member, at the offset at. NULL: out of memory. */
void *sl_map_add(struct sl_map *map, size_t size, size_t at, struct sl_str key);
#define SL_MAP_ADD(map, type, member, key)                                                         \
    (sl_map_add((map), sizeof(type), offsetof(type, member), (key)))
void *sl_map_get(const struct sl_map *map, const char *key, size_t len);

/* Takes the entry out and returns its value, NULL when there was none. Never fails. */
void *sl_map_remove(struct sl_map *map, const char *key, size_t len);

/* Iteration in no order: start with *at = 0; NULL at the end. The map must not grow meanwhile. */
void *sl_map_next(const struct sl_map *map, size_t *at);

#endif
