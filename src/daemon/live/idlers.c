/* A table of fixed size keeps what owners were told. A pod for which it has no place is not told
 * of; a place is free again when its pod was not seen for long. An Event that a restart or a new
 * leader tells anew has the same name, which the API server takes once. */
#include "daemon/live/idlers.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/data/hash.h"
#include "util/time.h"
#include "util/timestamp.h"

enum { SETS = 1024, SET = 8, TEXT_MAX = 640 };

static const int64_t forget_us = 2 * SL_HOUR_US; /* above the longest telemetry.interval */
static const int64_t again_us = SL_MINUTE_US; /* until a deadline that was not set is set again */

struct told {
    uint64_t uid;     /* its hash */
    int64_t seen_us;  /* last; 0: a free place */
    int64_t since_us; /* of the spell that the owner was told of; 0: of none */
    int64_t end_us;   /* when the pod is ended, if it goes on; 0: it is not */
    int64_t idle_us;  /* how long it must have been seen to idle by then */
    bool sure;        /* it was, when the owner was told */
    bool over;
};

struct sl_idlers {
    struct sl_idlers_options options;
    struct told told[SETS][SET];
};

struct sl_idlers *sl_idlers_new(const struct sl_idlers_options *options)
{
    struct sl_idlers *idlers = calloc(1, sizeof(*idlers));
    if (idlers != NULL) {
        idlers->options = *options;
    }
    return idlers;
}

void sl_idlers_free(struct sl_idlers *idlers)
{
    free(idlers);
}

/* NULL: there is no place for it. */
static struct told *told_of(struct sl_idlers *idlers, const struct sl_pod *pod, int64_t now_us)
{
    uint64_t uid = sl_hash(pod->uid, strlen(pod->uid));
    struct told *set = idlers->told[uid % SETS];
    struct told *oldest = &set[0];
    for (unsigned i = 0; i < SET; i++) {
        if (set[i].seen_us > 0 && set[i].uid == uid) {
            set[i].seen_us = now_us;
            return &set[i];
        }
        oldest = set[i].seen_us < oldest->seen_us ? &set[i] : oldest;
    }
    if (oldest->seen_us > now_us - forget_us) {
        return NULL;
    }
    *oldest = (struct told){.uid = uid, .seen_us = now_us};
    return oldest;
}

static bool owner_tell(const struct sl_idlers *idlers, const struct sl_pod *pod, bool warning,
                       bool once, const char *reason, const char *text)
{
    const struct sl_event_note note = {
        .namespace = sl_str_of(pod->namespace),
        .name = sl_str_of(pod->name),
        .uid = sl_str_of(pod->uid),
        .warning = warning,
        .once = once,
        .reason = reason,
        .action = "Measuring",
        .note = text,
    };
    return idlers->options.tell(idlers->options.context, &note);
}

static bool tell_idle(const struct sl_idlers *idlers, const struct sl_view *view,
                      const struct sl_pod *pod, const struct sl_pod_use *use, int64_t end_us)
{
    char text[TEXT_MAX];
    char idle[TEXT_MAX / 2];
    char since[32];
    char end[32];
    sl_usage_idle_text(view, use, idle, sizeof(idle));
    sl_time_format(use->since_us / SL_SECOND_US * SL_SECOND_US, since);
    sl_time_format(end_us / SL_SECOND_US * SL_SECOND_US, end);
    (void)snprintf(text, sizeof(text), "%s, since %s; %s%s", idle, since,
                   end_us > 0 ? "if nothing runs there, the pod is ended at "
                              : "other pods cannot have it meanwhile",
                   end_us > 0 ? end : "");
    return owner_tell(idlers, pod, end_us > 0, end_us == 0, "GPUIdle", text);
}

static bool tell_over(const struct sl_idlers *idlers, const struct sl_pod *pod,
                      const struct sl_pod_use *use)
{
    char text[TEXT_MAX];
    (void)snprintf(text, sizeof(text),
                   "it uses %lld MiB of GPU memory and declares %lld: its neighbours may run out "
                   "of memory, and none are placed beside it for what is beyond",
                   (long long)use->used_mib, (long long)use->declared_mib);
    return owner_tell(idlers, pod, true, true, "GPUMemoryExceeded", text);
}

/* Warns of the spell, and ends the pod when it was seen to idle for that long more: samples may be
 * late, and what they do not show yet is not known. Only a pod that says how long it runs is ended:
 * nothing is known of what others wait for. And none is for what a name alone says of shared GPUs.
 */
static void see_idle(const struct sl_idlers *idlers, const struct sl_view *view,
                     const struct sl_pod *pod, const struct sl_pod_use *use, struct told *told,
                     int64_t now_us)
{
    bool sure = use->sure_us >= idlers->options.idle_us;
    bool may_end = sure && idlers->options.deadline_us > 0 && pod->timeout_s > 0;
    int64_t end_us = may_end ? now_us + idlers->options.deadline_us : 0;
    if (told->since_us != use->since_us || (may_end && !told->sure)) {
        if (tell_idle(idlers, view, pod, use, end_us)) {
            told->since_us = use->since_us;
            told->end_us = end_us;
            told->sure = sure;
            told->idle_us = use->sure_us + idlers->options.deadline_us;
        }
    } else if (may_end && told->end_us > 0 && now_us >= told->end_us &&
               use->sure_us >= told->idle_us) {
        idlers->options.end(idlers->options.context, pod, now_us);
        told->end_us = now_us + again_us;
    }
}

void sl_idlers_see(struct sl_idlers *idlers, const struct sl_view *view,
                   const struct sl_resident *resident, const struct sl_pod_use *use, int64_t now_us)
{
    const struct sl_pod *pod = resident->pod;
    struct told *told = pod->deleting ? NULL : told_of(idlers, pod, now_us);
    bool idle = use->idle_us >= idlers->options.idle_us;
    if (told == NULL) {
        return;
    }
    if (idle) {
        see_idle(idlers, view, pod, use, told, now_us);
    }
    if (use->over_mib > 0 && !told->over) {
        told->over = tell_over(idlers, pod, use);
    }
}
