/* Random numbers that a seed repeats. */
#ifndef SLICED_ADVERSARY_RANDOM_H
#define SLICED_ADVERSARY_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0..n-1 */
static inline unsigned rng_below(struct rng *rng, unsigned n)
{
    return (unsigned)(rng_next(rng) % n);
}

static inline bool rng_chance(struct rng *rng, unsigned percent)
{
    return rng_below(rng, 100) < percent;
}

#define rng_pick(rng, list) ((list)[rng_below((rng), sizeof(list) / sizeof((list)[0]))])

#endif
