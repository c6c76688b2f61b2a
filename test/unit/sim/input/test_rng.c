/* Random numbers against values worked out by another program, and functions against the C
 * library's. */
#include <stdlib.h>

#include "unit/test.h"

#include <math.h>

#include "sim/input/rng.h"

TEST_THAT(a_seed_gives_the_published_generators_numbers)
{
    static const uint64_t first[] = {UINT64_C(0xef75d62a19ba94ed), UINT64_C(0x8e9490536375f270),
                                     UINT64_C(0xc05630b1c614195d), UINT64_C(0x66daa2d5136a8f29)};
    static const uint64_t other[] = {UINT64_C(0x44ad28f44a5c0633), UINT64_C(0xa9625f7b75117928),
                                     UINT64_C(0x509bf6cdd4be5f13)};
    struct sl_rng rng;
    sl_rng_seed(&rng, 1, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(sl_rng_next(&rng), first[i]);
    }
    sl_rng_seed(&rng, 42, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sl_rng_next(&rng), other[i]);
    }
}

TEST_THAT(streams_of_one_seed_differ)
{
    struct sl_rng a;
    struct sl_rng b;
    sl_rng_seed(&a, 7, 1);
    sl_rng_seed(&b, 7, 2);
    assert_int_not_equal(sl_rng_next(&a), sl_rng_next(&b));
}

TEST_THAT(logarithm_and_exponential_agree_with_the_library)
{
    struct sl_rng rng;
    sl_rng_seed(&rng, 3, 0);
    for (int i = 0; i < 20000; i++) {
        double x = ldexp(sl_rng_unit(&rng) + 1e-12, (int)sl_rng_below(&rng, 80) - 40);
        double y = 40 * sl_rng_unit(&rng) - 20;
        assert_true(fabs(sl_rng_log(x) - log(x)) <= 4e-16 * fmax(1, fabs(log(x))));
        assert_true(fabs(sl_rng_exp(y) / exp(y) - 1) <= 1e-15);
    }
    assert_true(sl_rng_exp(-800) <= 0);
    assert_true(isinf(sl_rng_exp(800)));
}

TEST_THAT(draws_have_their_mean_and_spread)
{
    enum { N = 200000 };
    struct sl_rng rng;
    double sum = 0;
    double normal = 0;
    double squares = 0;
    uint64_t low = 0;
    sl_rng_seed(&rng, 11, 0);
    for (int i = 0; i < N; i++) {
        double z = sl_rng_normal(&rng);
        double u = sl_rng_unit(&rng);
        assert_true(u >= 0 && u < 1);
        sum += sl_rng_exponential(&rng);
        normal += z;
        squares += z * z;
        low += sl_rng_below(&rng, 3) == 0 ? 1 : 0;
    }
    assert_true(fabs(sum / N - 1) < 0.01);
    assert_true(fabs(normal / N) < 0.01);
    assert_true(fabs(squares / N - 1) < 0.02);
    assert_true(fabs((double)low / N - 1.0 / 3) < 0.005);
}
