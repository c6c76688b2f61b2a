/* Random numbers that are the same on every machine: xoshiro256** (Blackman and Vigna, 2018) seeded
 * by splitmix64, and functions of them that use only operations which IEEE 754 rounds exactly. */
#ifndef SLICED_SIM_RNG_H
#define SLICED_SIM_RNG_H

#include <stdint.h>

struct sl_rng {
    uint64_t s[4];
};

/* Streams of one seed do not depend on each other: the arrivals stay when the run times change. */
void sl_rng_seed(struct sl_rng *rng, uint64_t seed, uint64_t stream);
uint64_t sl_rng_next(struct sl_rng *rng);

/* In 0..n-1, without bias; n > 0. */
uint64_t sl_rng_below(struct sl_rng *rng, uint64_t n);

/* In [0, 1), a multiple of 2^-53. */
double sl_rng_unit(struct sl_rng *rng);

double sl_rng_exponential(struct sl_rng *rng); /* of mean 1 */
double sl_rng_normal(struct sl_rng *rng);      /* of mean 0 and deviation 1 */

/* Natural logarithm of x > 0 and e to the x; good to some 1e-15, and the same everywhere, which
 * those of the C library are not. */
double sl_rng_log(double x);
double sl_rng_exp(double x);

#endif
