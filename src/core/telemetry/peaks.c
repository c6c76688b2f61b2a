/* The memory that workloads have come to use. */
#include "sliced/peaks.h"

enum {
    MARGIN_LEAST = 20, /* permille */
    NEARLY = 1100,     /* permille: a bound so near above a peak says the same */
    HIGH = 1 << 16,    /* a life is low + HIGH * high, each in permille of what the pod asked for */
};

static int32_t low_of(int32_t life)
{
    return life % HIGH;
}

static int32_t high_of(int32_t life)
{
    return life / HIGH;
}

static int32_t clamp_permille(int32_t permille)
{
    return permille < 0 ? 0 : permille > 1000 ? 1000 : permille;
}

void sl_peaks_learn(struct sl_past *peaks, uint32_t workload, int32_t low_permille,
                    int32_t high_permille)
{
    sl_past_add(peaks, workload,
                clamp_permille(low_permille) + HIGH * clamp_permille(high_permille));
}

struct sl_peak_expected sl_peaks_expected(const struct sl_past *peaks, uint32_t workload,
                                          int32_t margin_permille)
{
    unsigned n = 0;
    const int32_t *life = sl_past_values(peaks, workload, &n);
    struct sl_peak_expected out = {.permille = 1000};
    int32_t surely = 0;
    int32_t least = 1000;
    for (unsigned i = 0; i < n; i++) {
        surely = low_of(life[i]) > surely ? low_of(life[i]) : surely;
        least = high_of(life[i]) < least ? high_of(life[i]) : least;
    }
    int32_t highest = surely > least ? surely : least;
    for (unsigned i = 0; i < n; i++) {
        out.lives += high_of(life[i]) * 1000 <= highest * NEARLY;
    }
    if (out.lives < SL_PEAKS_LEAST) {
        return out;
    }
    int32_t spread = MARGIN_LEAST + (highest > 0 ? (highest - least) * 1000 / highest : 0);
    int32_t margin = spread < margin_permille ? spread : margin_permille;
    int64_t expected = (int64_t)highest * (1000 + margin) / 1000 + 1;
    out.permille = expected > 1000 ? 1000 : (int32_t)expected;
    return out;
}
