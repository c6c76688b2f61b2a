/* The order by tenants. */
#ifndef SLICED_CORE_PLAN_TENANT_TENANTS_H
#define SLICED_CORE_PLAN_TENANT_TENANTS_H

#include "core/plan/nodes/nodes.h"
#include "core/share/share.h"
#include "core/tenant/tenant.h"

/* ---- tenants.c ---- */

extern const struct sl_plan_order sl_plan_tenants;
/* Makes the tenants as configured; planner->order is to be ended before, and begun after. -1: out
 * of memory, nothing changed. */
int sl_plan_tenants_set(struct sl_planner *planner, const struct sl_tenants *tenants,
                        struct sl_error *err);
/* Returns why the pod may not hold its units now: a cap of its tenant, or borrowMaxTimeout.
 * SL_HOLD_NONE: it may. */
enum sl_hold_reason sl_plan_tenants_hold(const struct sl_planner *planner,
                                         const struct sl_plan_pod *pod);

/* Works out when waiting pods will start on their shares. False: out of memory. */
bool sl_plan_tenants_foretell(struct sl_planner *planner);
/* The pod's start on its tenant's share, past or as last worked out; 0: not known. */
int64_t sl_plan_own_start(const struct sl_planner *planner, const struct sl_plan_pod *pod);

/* ---- reclaim.c ---- */

/* Does the pod go by itself, not later than a preemptor waits? */
bool sl_plan_soon_gone(const struct sl_planner *planner, const struct sl_pod *pod);
/* May the pod preempt though preemption is off: is it due, and reclaim on? */
bool sl_plan_reclaims(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Visits (visit may be NULL) the runs of the view that have to end for the pod to fit, and returns
 * how many; 0: it fits without, or cannot. Only runs of a lower priority end which have had
 * minRuntime and whose tenant keeps its share of what they hold: the youngest first.
 * *ripe_us becomes the time at which a further one has had it, if that is earlier. */
size_t sl_plan_reclaim(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                       const struct sl_view *view, int64_t *ripe_us,
                       void (*visit)(void *context, const struct sl_pod *pod), void *context);

/* ---- audit.c ---- */

void sl_plan_tenants_audit(const struct sl_planner *planner);

/* ---- record.c: what a restart would lose of the shares, as text ---- */

enum { SL_PLAN_RECORD_MAX = 1 << 26 /* bytes, of a record that lasts for a call */ };
/* As sl_planner_tenants_load; the clock was put by by_us since. */
int sl_plan_record_load(struct sl_planner *planner, struct sl_str text, int64_t by_us,
                        struct sl_error *err);
/* The share is new: gives it what the record has of it. */
void sl_plan_record_share(struct sl_planner *planner, const char *resource, const char *model,
                          const char *tenant, struct sl_share *share);
/* Sets the starts that the pod had. */
void sl_plan_record_pod(const struct sl_planner *planner, uint64_t number,
                        struct sl_share_facts *facts);
/* When the record was written, and its lines. */
int64_t sl_plan_record_of(const struct sl_planner *planner, struct sl_str *lines);
void sl_plan_record_free(struct sl_planner *planner);

#endif
