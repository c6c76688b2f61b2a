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

/* The key of pods that live on. */
static uint64_t living(uint32_t workload)
{
    return UINT64_C(1) << 32 | workload;
}

static int32_t life_of(int32_t low_permille, int32_t high_permille)
{
    return clamp_permille(low_permille) + HIGH * clamp_permille(high_permille);
}

void sl_peaks_learn(struct sl_past *peaks, uint32_t workload, int32_t low_permille,
                    int32_t high_permille)
{
    sl_past_add(peaks, workload, life_of(low_permille, high_permille));
}

void sl_peaks_glimpse(struct sl_past *peaks, uint32_t workload, int32_t permille)
{
    unsigned n = 0;
    const int32_t *most = sl_past_values(peaks, living(workload), &n);
    if (n == 0 || permille > low_of(*most)) {
        sl_past_forget(peaks, living(workload));
        sl_past_add(peaks, living(workload), life_of(permille, permille));
    }
}

void sl_peaks_forget(struct sl_past *peaks, uint32_t workload)
{
    sl_past_forget(peaks, workload);
    sl_past_forget(peaks, living(workload));
}

/* Lives from which a peak is told; few show less of how they differ. */
static struct sl_peak_expected expected_of(const struct sl_past *peaks, uint64_t key,
                                           int32_t margin_permille)
{
    unsigned n = 0;
    const int32_t *life = sl_past_values(peaks, key, &n);
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
    if (out.lives == 0) {
        return out;
    }
    int32_t spread = MARGIN_LEAST + (highest > 0 ? (highest - least) * 1000 / highest : 0);
    int32_t margin = spread < margin_permille && out.lives > 1 ? spread : margin_permille;
    int64_t expected = (int64_t)highest * (1000 + margin) / 1000 + 1;
    out.permille = expected > 1000 ? 1000 : (int32_t)expected;
    return out;
}

struct sl_peak_expected sl_peaks_expected(const struct sl_past *peaks, uint32_t workload,
                                          int32_t margin_permille)
{
    struct sl_peak_expected ended = expected_of(peaks, workload, margin_permille);
    if (ended.lives > 0) {
        return ended;
    }
    struct sl_peak_expected seen = expected_of(peaks, living(workload), margin_permille);
    seen.lives = 0;
    return seen;
}
