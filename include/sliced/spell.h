/* For how long nothing has run on a GPU or MIG instance, by samples of how busy it was. Only what
 * was seen counts: a gap between samples ends a spell, as if something had run in it. */
#ifndef SLICED_SPELL_H
#define SLICED_SPELL_H

#include <stdbool.h>
#include <stdint.h>

/* Unix microseconds, by the measuring side's clock. Zeroed: nothing was measured. */
struct sl_spell {
    int64_t since_us; /* when something last ran, or may have run */
    int64_t last_us;  /* of the youngest sample */
};

/* Takes a sample in, in any order of time. gap_us: the longest time between two samples in which
 * nothing is thought to have run when both show nothing. */
void sl_spell_take(struct sl_spell *spell, int64_t at_us, bool busy, int64_t gap_us);

/* Returns the length of the spell up to its youngest sample, microseconds; 0 when that sample is
 * busy; -1 when nobody knows, because that sample is older than stale_us, or more than future_us
 * ahead of now_us. */
int64_t sl_spell_length(const struct sl_spell *spell, int64_t now_us, int64_t stale_us,
                        int64_t future_us);

#endif
