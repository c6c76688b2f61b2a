/* Memory for one request or one decoded object, freed all at once. It has a maximum. */
#ifndef SLICED_UTIL_ARENA_H
#define SLICED_UTIL_ARENA_H

#include "util/str.h"

struct sl_arena_block;

struct sl_arena {
    struct sl_arena_block *block; /* newest first */
    size_t used;                  /* bytes handed out */
    size_t max;
    bool full; /* an allocation would have passed the maximum; else NULL means no memory */
};

/* Between two resets the arena hands out at most max bytes. Allocates nothing yet. */
void sl_arena_init(struct sl_arena *arena, size_t max);

/* Takes back everything handed out and keeps one block for reuse. */
void sl_arena_reset(struct sl_arena *arena);
void sl_arena_free(struct sl_arena *arena);

/* Bytes of its blocks, handed out or not. */
size_t sl_arena_bytes(const struct sl_arena *arena);

/* size bytes, zeroed, aligned for any type; NULL when out of memory or past the maximum. */
void *sl_arena_alloc(struct sl_arena *arena, size_t size);

/* A NUL-terminated copy; NULL as above. */
char *sl_arena_strdup(struct sl_arena *arena, const char *s, size_t len);

#endif
