/* While kube-scheduler is away (it crashed, is upgraded, has no leader) no pod can take its
 * nomination, through no fault of the pod. Once kube-scheduler has asked about a pod, or said that
 * it cannot place it, its nomination expires in time even during silence. But kube-scheduler may
 * have crashed just after it asked. If it was not heard from since, the pod's first expiry is
 * forgiven; if other pods show the silence, its nomination is held as theirs are. */
#include "core/plan/nodes/nodes.h"

/* kube-scheduler survived its question about a pod if it is heard from this much later. */
static const int64_t went_on_us = SL_SECOND_US;

int64_t sl_plan_silence(const struct sl_planner *planner)
{
    return planner->config.hold_us / 2;
}

/* Only a pod that kube-scheduler must see shows its silence: neither one whose gate is not open,
 * nor one that expired before, which kube-scheduler may have seen and passed over. */
int64_t sl_plan_silent_since(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    bool seen = pod->nomination->heard_us > 0 || pod->pod->tried;
    bool expired = pod->strikes > 0 || pod->excused;
    if (planner->heard_us == 0 || seen || expired || pod->pod->gate != SL_GATE_NONE) {
        return INT64_MAX;
    }
    return planner->heard_us > pod->nomination->held_us ? planner->heard_us
                                                        : pod->nomination->held_us;
}

bool sl_plan_is_doubtful(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return pod->nomination->heard_us > 0 && !pod->pod->tried && pod->strikes == 0 &&
           planner->heard_us - pod->nomination->heard_us < went_on_us;
}

int64_t sl_plan_due(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    int64_t hold_us = planner->config.hold_us;
    int64_t due_us = sl_sat_add(pod->nomination->held_us, hold_us);
    int64_t since_us = sl_plan_silent_since(planner, pod);
    bool away = planner->away && sl_plan_is_doubtful(planner, pod);
    if (!away && (since_us == INT64_MAX || due_us - since_us < sl_plan_silence(planner))) {
        return due_us;
    }
    int64_t most_us =
        hold_us > INT64_MAX / SL_PLAN_SILENT_HOLDS ? INT64_MAX : hold_us * SL_PLAN_SILENT_HOLDS;
    int64_t last_us = sl_sat_add(pod->nomination->since_us, most_us);
    return last_us > due_us ? last_us : due_us;
}

void sl_planner_heard(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    bool silent = planner->now_us - planner->heard_us >= sl_plan_silence(planner);
    for (struct sl_plan_pod *pod = sl_plan_pod_first(planner, SL_STAND_NOMINATED);
         silent && pod != NULL; pod = sl_plan_pod_next(pod)) {
        int64_t since_us = sl_plan_silent_since(planner, pod);
        bool away = planner->away && sl_plan_is_doubtful(planner, pod);
        if (away ||
            (since_us < INT64_MAX && planner->now_us - since_us >= sl_plan_silence(planner))) {
            pod->nomination->held_us = planner->now_us;
        }
    }
    planner->heard_us = planner->now_us;
    planner->away = false;
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod != NULL && pod->nomination != NULL) {
        pod->nomination->heard_us = planner->now_us;
    }
}

int64_t sl_planner_silent(const struct sl_planner *planner, int64_t now_us)
{
    int64_t since_us = INT64_MAX;
    for (const struct sl_plan_pod *pod = sl_plan_pod_first(planner, SL_STAND_NOMINATED);
         pod != NULL; pod = sl_plan_pod_next(pod)) {
        int64_t at_us = sl_plan_silent_since(planner, pod);
        since_us = at_us < since_us ? at_us : since_us;
    }
    bool silent = since_us < INT64_MAX && now_us - since_us >= sl_plan_silence(planner);
    return silent ? planner->heard_us : 0;
}
