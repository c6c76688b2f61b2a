/* The energy under a curve of power. */
#include "sliced/energy.h"

#include "util/data/sat.h"

static const int64_t us_per_s = 1000000;

bool sl_energy_take(struct sl_energy *energy, int64_t at_us, int64_t mw, int64_t gap_us)
{
    int64_t passed_us = at_us - energy->last_us;
    if (mw < 0 || mw > SL_ENERGY_MW_MAX || passed_us <= 0) {
        return false;
    }
    if (energy->last_us > 0 && passed_us <= gap_us) {
        int64_t mean_mw = (energy->mw + mw) / 2;
        energy->mj = sl_sat_add(energy->mj, mean_mw * passed_us / us_per_s);
    }
    energy->last_us = at_us;
    energy->mw = (int32_t)mw;
    return true;
}

int32_t sl_energy_watts(const struct sl_energy *energy, int64_t now_us, int64_t stale_us,
                        int64_t future_us)
{
    bool fresh = energy->last_us > 0 && energy->last_us > now_us - stale_us &&
                 energy->last_us <= now_us + future_us;
    return fresh ? (energy->mw + 500) / 1000 : -1;
}
