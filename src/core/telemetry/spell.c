/* Spells in which nothing runs. */
#include "sliced/spell.h"

void sl_spell_take(struct sl_spell *spell, int64_t at_us, bool busy, int64_t gap_us)
{
    if (at_us > spell->last_us) {
        bool unseen = spell->last_us == 0 || at_us - spell->last_us > gap_us;
        spell->since_us = busy || unseen ? at_us : spell->since_us;
        spell->last_us = at_us;
    } else if (busy && at_us > spell->since_us) {
        spell->since_us = at_us; /* another metric of the same time, or a late sample */
    }
}

int64_t sl_spell_length(const struct sl_spell *spell, int64_t now_us, int64_t stale_us,
                        int64_t future_us)
{
    bool fresh = spell->last_us > 0 && spell->last_us > now_us - stale_us &&
                 spell->last_us <= now_us + future_us;
    return fresh ? spell->last_us - spell->since_us : -1;
}
