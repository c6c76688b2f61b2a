/* Lack of memory: allocations of the test program, failed on purpose and counted. This header
 * stands in for the allocator of the program that includes it; for programs of one thread. */
#ifndef SLICED_TEST_LACK_H
#define SLICED_TEST_LACK_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static struct {
    bool armed;
    bool forever;
    bool hit;
    size_t tried;
    size_t fail_at;
    volatile bool looks; /* for a function of the real allocator */
    int64_t live;        /* blocks */
} lack;

/* From now on the n-th allocation (from 1) fails; all after it too when forever. */
static inline void lack_arm(size_t n, bool forever)
{
    lack.armed = true;
    lack.forever = forever;
    lack.hit = false;
    lack.tried = 0;
    lack.fail_at = n;
}

/* Back to normal. True when an allocation was failed since lack_arm. */
static inline bool lack_disarm(void)
{
    lack.armed = false;
    return lack.hit;
}

static bool lack_refuses(void)
{
    if (!lack.armed) {
        return false;
    }
    lack.tried++;
    bool fail = lack.tried == lack.fail_at || (lack.forever && lack.tried > lack.fail_at);
    lack.hit = lack.hit || fail;
    return fail;
}

/* Declares `real`, the function that this one stands in for. dlsym may itself free an old message:
 * then it is NULL. */
#define LACK_REAL(name)                                                                            \
    static __typeof__(name) *real;                                                                 \
    if (real == NULL && !lack.looks) {                                                             \
        lack.looks = true;                                                                         \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                 \
        lack.looks = false;                                                                        \
    }

void *malloc(size_t size)
{
    LACK_REAL(malloc)
    void *block = real == NULL || lack_refuses() ? NULL : real(size);
    lack.live += block != NULL;
    return block;
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
void *calloc(size_t n, size_t size)
{
    LACK_REAL(calloc)
    void *block = real == NULL || lack_refuses() ? NULL : real(n, size);
    lack.live += block != NULL;
    return block;
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
void *realloc(void *old, size_t size)
{
    LACK_REAL(realloc)
    void *block = real == NULL || lack_refuses() ? NULL : real(old, size);
    lack.live += old == NULL && block != NULL;
    return block;
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
void free(void *block)
{
    LACK_REAL(free)
    if (real != NULL) {
        lack.live -= block != NULL;
        real(block);
    }
}

#endif
