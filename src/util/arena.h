/* Memory that is freed all at once: what a request or one decoded object needs. Bounded. */
#ifndef SLICED_UTIL_ARENA_H
#define SLICED_UTIL_ARENA_H

#include "util/str.h"

struct sl_arena_block;

struct sl_arena {
    struct sl_arena_block *block; /* newest first */
    size_t used;                  /* bytes handed out */
    size_t max;
    bool full; /* the maximum was met (else a NULL means that malloc failed) */
};

/* At most max bytes are handed out between two resets. Allocates nothing yet. */
void sl_arena_init(struct sl_arena *arena, size_t max);

/* Forgets everything handed out and keeps one block for reuse. */
void sl_arena_reset(struct sl_arena *arena);
void sl_arena_free(struct sl_arena *arena);

/* Bytes that its blocks have, handed out or not. */
size_t sl_arena_bytes(const struct sl_arena *arena);

/* size bytes, zeroed, aligned for any type; NULL when out of memory or past the maximum. */
void *sl_arena_alloc(struct sl_arena *arena, size_t size);

/* A NUL-terminated copy; NULL as above. */
char *sl_arena_strdup(struct sl_arena *arena, const char *s, size_t len);

#endif
