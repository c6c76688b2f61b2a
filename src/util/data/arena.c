/* Bump allocator in blocks. */
#include "util/data/arena.h"

#include <stdlib.h>

enum { BLOCK_MIN = 4096, BLOCK_MAX = 65536 };

struct sl_arena_block {
    struct sl_arena_block *older;
    size_t cap;
    size_t len;
    _Alignas(16) char data[];
};

void sl_arena_init(struct sl_arena *arena, size_t max)
{
    *arena = (struct sl_arena){.max = max};
}

static void free_chain(struct sl_arena_block *block)
{
    while (block != NULL) {
        struct sl_arena_block *older = block->older;
        free(block);
        block = older;
    }
}

void sl_arena_reset(struct sl_arena *arena)
{
    if (arena->block != NULL) {
        free_chain(arena->block->older);
        arena->block->older = NULL;
        arena->block->len = 0;
        if (arena->block->cap > BLOCK_MAX) {
            free(arena->block);
            arena->block = NULL;
        }
    }
    arena->used = 0;
    arena->full = false;
}

void sl_arena_free(struct sl_arena *arena)
{
    free_chain(arena->block);
    *arena = (struct sl_arena){.max = arena->max};
}

size_t sl_arena_bytes(const struct sl_arena *arena)
{
    size_t sum = 0;
    for (const struct sl_arena_block *block = arena->block; block != NULL; block = block->older) {
        sum += block->cap;
    }
    return sum;
}

void *sl_arena_alloc(struct sl_arena *arena, size_t size)
{
    if (size > arena->max || arena->used > arena->max - size) {
        arena->full = true;
        return NULL;
    }
    size_t need = (size + 15) & ~(size_t)15;
    struct sl_arena_block *block = arena->block;
    if (block == NULL || block->cap - block->len < need) {
        size_t cap = block == NULL ? BLOCK_MIN : block->cap * 2;
        if (cap > BLOCK_MAX) {
            cap = BLOCK_MAX;
        }
        if (cap < need) {
            cap = need;
        }
        struct sl_arena_block *fresh = malloc(sizeof(*fresh) + cap);
        if (fresh == NULL) {
            return NULL;
        }
        fresh->older = block;
        fresh->cap = cap;
        fresh->len = 0;
        arena->block = fresh;
        block = fresh;
    }
    void *memory = block->data + block->len;
    block->len += need;
    arena->used += size;
    memset(memory, 0, size);
    return memory;
}

char *sl_arena_strdup(struct sl_arena *arena, const char *s, size_t len)
{
    char *copy = sl_arena_alloc(arena, len + 1);
    if (copy != NULL && len > 0) {
        memcpy(copy, s, len);
    }
    return copy;
}
