/* Random numbers that are the same on every machine. */
#include "sim/input/rng.h"

#include <math.h>

static uint64_t splitmix(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void sl_rng_seed(struct sl_rng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t state = stream;
    state = seed ^ splitmix(&state);
    for (int i = 0; i < 4; i++) {
        rng->s[i] = splitmix(&state);
    }
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t sl_rng_next(struct sl_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t sl_rng_below(struct sl_rng *rng, uint64_t n)
{
    /* the lowest (2^64 mod n) values would come once too often */
    uint64_t least = (UINT64_C(0) - n) % n;
    uint64_t value = sl_rng_next(rng);
    while (value < least) {
        value = sl_rng_next(rng);
    }
    return value % n;
}

double sl_rng_unit(struct sl_rng *rng)
{
    return (double)(sl_rng_next(rng) >> 11) * 0x1p-53;
}

double sl_rng_log(double x)
{
    static const double ln2 = 0.693147180559945309417;
    static const double root_half = 0.70710678118654752440;
    int exponent = 0;
    double m = frexp(x, &exponent); /* exact */
    if (m < root_half) {
        m *= 2;
        exponent--;
    }
    /* ln m = 2 artanh((m-1)/(m+1)), |z| <= 0.172: eleven terms are below 1e-17 */
    double z = (m - 1) / (m + 1);
    double square = z * z;
    double sum = 0;
    for (int k = 21; k >= 1; k -= 2) {
        sum = sum * square + 1.0 / k;
    }
    return 2 * z * sum + exponent * ln2;
}

double sl_rng_exp(double x)
{
    static const double ln2_high = 0.693147180369123816490; /* fdlibm's: the low bits are zero */
    static const double ln2_low = 1.90821492927058770002e-10;
    if (x > 709) {
        return HUGE_VAL;
    }
    if (x < -745) {
        return 0;
    }
    double k = floor(x / 0.693147180559945309417 + 0.5);
    double r = (x - k * ln2_high) - k * ln2_low;
    double sum = 1;
    for (int n = 18; n >= 1; n--) { /* |r| <= 0.35: the terms left out are below 1e-25 */
        sum = 1 + sum * r / n;
    }
    return ldexp(sum, (int)k);
}

double sl_rng_exponential(struct sl_rng *rng)
{
    return -sl_rng_log(1 - sl_rng_unit(rng)); /* 1 - [0,1) is never 0 */
}

double sl_rng_normal(struct sl_rng *rng)
{
    /* Marsaglia's polar method; the second value is not kept: one call, one result */
    for (;;) {
        double u = 2 * sl_rng_unit(rng) - 1;
        double v = 2 * sl_rng_unit(rng) - 1;
        double s = u * u + v * v;
        if (s > 0 && s < 1) {
            return u * sqrt(-2 * sl_rng_log(s) / s);
        }
    }
}
