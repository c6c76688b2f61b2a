/* What has changed since it was last looked at. */
#include "core/plan/state/state.h"

void sl_plan_touch(struct sl_planner *planner, unsigned what)
{
    struct sl_plan_seq *seq = &planner->seq;
    seq->room += (what & SL_PLAN_ROOM) != 0;
    seq->nodes += (what & SL_PLAN_NODES) != 0;
    seq->kinds += (what & SL_PLAN_KINDS) != 0;
    seq->kept += (what & SL_PLAN_KEPT) != 0;
    seq->run = seq->run || (what & SL_PLAN_RUN) != 0;
}

bool sl_plan_untouch(struct sl_planner *planner)
{
    bool touched = planner->seq.run;
    planner->seq.run = false;
    return touched;
}
