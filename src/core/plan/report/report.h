/* Reports of the plan: rows, estimated starts, texts. */
#ifndef SLICED_CORE_PLAN_REPORT_REPORT_H
#define SLICED_CORE_PLAN_REPORT_REPORT_H

#include "core/plan/tenant/tenants.h"

/* Looks for estimated starts. Beyond it no start is told earlier than units of the lane come free,
 * wherever. */
enum { SL_PLAN_EARLY_CHECKS = 1 << 18 };

/* Can the pod's start be estimated? Only its lack of units has a known end. */
bool sl_plan_is_foreseen(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Sets early_us of all classes that wait, by timeouts or as is usual. False: out of memory. */
bool sl_plan_early(struct sl_planner *planner, bool usual);

#endif
