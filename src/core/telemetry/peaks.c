/* What workloads have come to use. */
#include "sliced/peaks.h"

#include "util/data/past.h"

_Static_assert(SL_PEAKS_LIVES == (int)SL_PAST_VALUES, "a life is a value");

/* A struct sl_peaks is a struct sl_past. */
static struct sl_past *past_of(struct sl_peaks *peaks)
{
    return (struct sl_past *)peaks;
}

static const int32_t *lives_of(const struct sl_peaks *peaks, uint32_t workload, unsigned *n)
{
    return sl_past_values((const struct sl_past *)peaks, workload, n);
}

struct sl_peaks *sl_peaks_new(size_t n)
{
    return (struct sl_peaks *)sl_past_new(n);
}

void sl_peaks_free(struct sl_peaks *peaks)
{
    sl_past_free(past_of(peaks));
}

void sl_peaks_learn(struct sl_peaks *peaks, uint32_t workload, int32_t permille)
{
    sl_past_add(past_of(peaks), workload, permille < 0 ? 0 : permille > 1000 ? 1000 : permille);
}

unsigned sl_peaks_lives(const struct sl_peaks *peaks, uint32_t workload)
{
    unsigned n = 0;
    (void)lives_of(peaks, workload, &n);
    return n;
}

int32_t sl_peaks_expected(const struct sl_peaks *peaks, uint32_t workload, int32_t margin_permille)
{
    unsigned n = 0;
    const int32_t *life = lives_of(peaks, workload, &n);
    int32_t highest = 0;
    if (n < SL_PEAKS_LEAST) {
        return 1000;
    }
    for (unsigned i = 0; i < n; i++) {
        highest = life[i] > highest ? life[i] : highest;
    }
    int64_t expected = (int64_t)highest * (1000 + margin_permille) / 1000 + 1;
    return expected > 1000 ? 1000 : (int32_t)expected;
}
