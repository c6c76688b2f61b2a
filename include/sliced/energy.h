/* Sums up what a GPU draws, by samples of its power. Only time between two samples counts: nothing
 * is added for a gap. */
#ifndef SLICED_ENERGY_H
#define SLICED_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

enum { SL_ENERGY_MW_MAX = 10000000 /* 10 kW: no GPU draws that much */ };

/* Zeroed: nothing was measured. */
struct sl_energy {
    int64_t last_us; /* of the youngest sample, Unix, by the measuring side's clock; 0: none */
    int64_t mj;      /* millijoules between the first sample and the youngest */
    int32_t mw;      /* milliwatts, of the youngest sample */
};

/* Takes a sample of 0 to SL_ENERGY_MW_MAX milliwatts. gap_us: the longest time between two samples
 * that counts, a day at most. False, with nothing changed: out of range, or not younger than the
 * samples before. */
bool sl_energy_take(struct sl_energy *energy, int64_t at_us, int64_t mw, int64_t gap_us);

/* Returns the watts drawn now; -1 when nobody knows, because the youngest sample is older than
 * stale_us, or more than future_us ahead of now_us. */
int32_t sl_energy_watts(const struct sl_energy *energy, int64_t now_us, int64_t stale_us,
                        int64_t future_us);

#endif
