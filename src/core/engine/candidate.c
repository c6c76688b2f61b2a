/* What comes before room: a pod that stands, one that asks for nothing, those who go first. */
#include "sliced/candidate.h"

static enum sl_candidacy refused(enum sl_reason why, enum sl_reason *reason)
{
    *reason = why;
    return SL_CANDIDATE_REFUSED;
}

enum sl_candidacy sl_candidate_judge(const struct sl_candidate *candidate, enum sl_reason *reason)
{
    const struct sl_ask *ask = candidate->ask;
    if (candidate->stands) {
        return candidate->here ? SL_CANDIDATE_PASSES
                               : refused(SL_REASON_RESERVED_ELSEWHERE, reason);
    }
    if (ask->n == 0 && !ask->malformed) { /* it asks for no GPU */
        return SL_CANDIDATE_PASSES;
    }
    if (candidate->view == NULL) {
        return refused(SL_REASON_UNKNOWN_NODE, reason);
    }
    return sl_plan_fronts_use(candidate->front, candidate->n_fronts, candidate->view)
               ? SL_CANDIDATE_BEHIND
               : SL_CANDIDATE_IF_ROOM;
}
