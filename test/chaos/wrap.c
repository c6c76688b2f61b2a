/* The allocator's wrappers. Blocks are remembered by address, so that freeing what a library has
 * allocated on its own (libyaml, libc) does not count. */
#include "chaos/wrap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 21 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t max);
void __wrap_free(void *block);

static struct {
    bool armed;
    bool forever;
    bool hit;
    size_t tried;
    size_t fail_at;
    bool off; /* nothing is counted */
    size_t live;
    size_t bytes;
    struct {
        void *block; /* GONE where one was */
        size_t size;
    } slot[SLOTS]; /* open addressing */
} chaos;

static char gone;
#define GONE ((void *)&gone)

static size_t slot_of(const void *block)
{
    return (size_t)(((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 32) % SLOTS;
}

static void *remember(void *block, size_t size)
{
    if (block == NULL || chaos.off) {
        return block;
    }
    if (chaos.live >= SLOTS / 2) {
        abort(); /* the table is too small for the scenario */
    }
    size_t i = slot_of(block);
    while (chaos.slot[i].block != NULL && chaos.slot[i].block != GONE) {
        i = (i + 1) % SLOTS;
    }
    chaos.slot[i].block = block;
    chaos.slot[i].size = size;
    chaos.live++;
    chaos.bytes += size;
    return block;
}

static void forget(const void *block)
{
    size_t i = slot_of(block);
    for (size_t n = 0; !chaos.off && n < SLOTS && chaos.slot[i].block != NULL; n++) {
        if (chaos.slot[i].block == block) {
            chaos.live--;
            chaos.bytes -= chaos.slot[i].size;
            chaos.slot[i].block = chaos.slot[(i + 1) % SLOTS].block == NULL ? NULL : GONE;
            return;
        }
        i = (i + 1) % SLOTS;
    }
}

static bool refuse(void)
{
    if (!chaos.armed) {
        return false;
    }
    chaos.tried++;
    bool fail = chaos.tried == chaos.fail_at || (chaos.forever && chaos.tried > chaos.fail_at);
    chaos.hit = chaos.hit || fail;
    return fail;
}

void *__wrap_malloc(size_t size)
{
    return refuse() ? NULL : remember(__real_malloc(size), size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refuse() ? NULL : remember(__real_calloc(n, size), n * size);
}

void *__wrap_realloc(void *old, size_t size)
{
    if (refuse()) {
        return NULL;
    }
    if (old != NULL) {
        forget(old);
    }
    void *block = __real_realloc(old, size);
    if (block == NULL) {
        abort(); /* a real one: this test can say nothing then */
    }
    return remember(block, size);
}

char *__wrap_strndup(const char *text, size_t max)
{
    size_t len = strnlen(text, max);
    char *copy = __wrap_malloc(len + 1);
    if (copy != NULL) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, SIZE_MAX);
}

void __wrap_free(void *block)
{
    if (block != NULL) {
        forget(block);
    }
    __real_free(block);
}

void chaos_arm(size_t n, bool forever)
{
    chaos.armed = true;
    chaos.forever = forever;
    chaos.hit = false;
    chaos.tried = 0;
    chaos.fail_at = n;
}

bool chaos_disarm(void)
{
    chaos.armed = false;
    return chaos.hit;
}

size_t chaos_live(void)
{
    return chaos.live;
}

size_t chaos_live_bytes(void)
{
    return chaos.bytes;
}

void chaos_count(bool on)
{
    chaos.off = !on;
}
