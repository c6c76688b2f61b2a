/* What workloads have come to use: sets of eight, each a small list by age. */
#include "sliced/peaks.h"

#include <stdlib.h>

enum { SET = 8 };

struct peak {
    uint32_t workload;
    uint64_t learned; /* peaks->clock then; 0: empty */
    uint16_t life[SL_PEAKS_LIVES];
    uint8_t n;
    uint8_t next;
};

struct sl_peaks {
    uint64_t clock;
    size_t sets;
    struct peak peak[];
};

struct sl_peaks *sl_peaks_new(size_t n)
{
    size_t sets = n < SET ? 1 : n / SET;
    struct sl_peaks *peaks = calloc(1, sizeof(*peaks) + sets * SET * sizeof(peaks->peak[0]));
    if (peaks != NULL) {
        peaks->sets = sets;
    }
    return peaks;
}

void sl_peaks_free(struct sl_peaks *peaks)
{
    free(peaks);
}

static size_t first_of(const struct sl_peaks *peaks, uint32_t workload)
{
    return (size_t)(workload % peaks->sets) * SET;
}

static const struct peak *find(const struct sl_peaks *peaks, uint32_t workload)
{
    const struct peak *set = &peaks->peak[first_of(peaks, workload)];
    for (size_t i = 0; i < SET; i++) {
        if (set[i].learned > 0 && set[i].workload == workload) {
            return &set[i];
        }
    }
    return NULL;
}

void sl_peaks_learn(struct sl_peaks *peaks, uint32_t workload, int32_t permille)
{
    struct peak *set = &peaks->peak[first_of(peaks, workload)];
    struct peak *peak = &set[0];
    for (size_t i = 0; i < SET; i++) {
        if (set[i].learned > 0 && set[i].workload == workload) {
            peak = &set[i];
            break;
        }
        peak = set[i].learned < peak->learned ? &set[i] : peak;
    }
    if (peak->learned == 0 || peak->workload != workload) {
        *peak = (struct peak){.workload = workload};
    }
    peak->learned = ++peaks->clock;
    peak->life[peak->next] = (uint16_t)(permille < 0 ? 0 : permille > 1000 ? 1000 : permille);
    peak->next = (uint8_t)((peak->next + 1U) % SL_PEAKS_LIVES);
    peak->n = (uint8_t)(peak->n < SL_PEAKS_LIVES ? peak->n + 1U : peak->n);
}

unsigned sl_peaks_lives(const struct sl_peaks *peaks, uint32_t workload)
{
    const struct peak *peak = find(peaks, workload);
    return peak == NULL ? 0 : peak->n;
}

int32_t sl_peaks_expected(const struct sl_peaks *peaks, uint32_t workload, int32_t margin_permille)
{
    const struct peak *peak = find(peaks, workload);
    int32_t highest = 0;
    if (peak == NULL || peak->n < SL_PEAKS_LEAST) {
        return 1000;
    }
    for (unsigned i = 0; i < peak->n; i++) {
        highest = peak->life[i] > highest ? peak->life[i] : highest;
    }
    int64_t expected = (int64_t)highest * (1000 + margin_permille) / 1000 + 1;
    return expected > 1000 ? 1000 : (int32_t)expected;
}
