/* While kube-scheduler is away (it crashed, is upgraded, has no leader) no pod can take its claim,
 * and that is not the pod's doing. A pod that it has asked about, or says it cannot place, it has
 * seen: that claim lapses in time, however quiet it is. But kube-scheduler may have crashed just
 * after it asked. When it was not heard of since, that is held against no pod the first time; and
 * where other pods show that it is away, the claim is held as theirs are. */
#include "core/plan_internal.h"

/* heard of so long after it asked about a pod, it did not end with that */
static const int64_t went_on_us = 1000000;

int64_t sl_plan_silence(const struct sl_planner *planner)
{
    return planner->config.hold_us / 2;
}

/* Only where kube-scheduler must be able to see the pod: a gate that could not be opened is no
 * sign. And who lapsed before may have said all that it says: it is tried as others are. */
int64_t sl_plan_silent_since(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    bool seen = pod->heard_us > 0 || pod->pod->tried;
    bool lapsed = pod->strikes > 0 || pod->excused;
    if (planner->heard_us == 0 || seen || lapsed || pod->pod->gate != SL_GATE_NONE) {
        return INT64_MAX;
    }
    return planner->heard_us > pod->held_us ? planner->heard_us : pod->held_us;
}

bool sl_plan_is_doubtful(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return pod->heard_us > 0 && !pod->pod->tried && pod->strikes == 0 &&
           planner->heard_us - pod->heard_us < went_on_us;
}

int64_t sl_plan_due(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    int64_t hold_us = planner->config.hold_us;
    int64_t due_us = sl_plan_add(pod->held_us, hold_us);
    int64_t since_us = sl_plan_silent_since(planner, pod);
    bool away = planner->away && sl_plan_is_doubtful(planner, pod);
    if (!away && (since_us == INT64_MAX || due_us - since_us < sl_plan_silence(planner))) {
        return due_us;
    }
    int64_t most_us =
        hold_us > INT64_MAX / SL_PLAN_SILENT_HOLDS ? INT64_MAX : hold_us * SL_PLAN_SILENT_HOLDS;
    int64_t last_us = sl_plan_add(pod->claimed_us, most_us);
    return last_us > due_us ? last_us : due_us;
}

void sl_planner_heard(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    bool silent = planner->now_us - planner->heard_us >= sl_plan_silence(planner);
    for (struct sl_plan_pod *pod = planner->claims.first; silent && pod != NULL; pod = pod->next) {
        int64_t since_us = sl_plan_silent_since(planner, pod);
        bool away = planner->away && sl_plan_is_doubtful(planner, pod);
        if (away ||
            (since_us < INT64_MAX && planner->now_us - since_us >= sl_plan_silence(planner))) {
            pod->held_us = planner->now_us;
        }
    }
    planner->heard_us = planner->now_us;
    planner->away = false;
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod != NULL && pod->claim != NULL) {
        pod->heard_us = planner->now_us;
    }
}

int64_t sl_planner_silent(const struct sl_planner *planner, int64_t now_us)
{
    int64_t since_us = INT64_MAX;
    for (const struct sl_plan_pod *pod = planner->claims.first; pod != NULL; pod = pod->next) {
        int64_t at_us = sl_plan_silent_since(planner, pod);
        since_us = at_us < since_us ? at_us : since_us;
    }
    bool silent = since_us < INT64_MAX && now_us - since_us >= sl_plan_silence(planner);
    return silent ? planner->heard_us : 0;
}
