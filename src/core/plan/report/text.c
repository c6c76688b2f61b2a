/* Names of states and reasons, and the sentence for a pod's owner. */
#include "core/request/text.h"
#include "sliced/plan.h"
#include "util/time.h"

static const char *const state_names[SL_QUEUE_STATES] = {
    [SL_QUEUE_HELD] = "Held",         [SL_QUEUE_NOMINATED] = "Nominated",
    [SL_QUEUE_RELEASED] = "Released", [SL_QUEUE_STAGED] = "Staged",
    [SL_QUEUE_GATED] = "Gated",       [SL_QUEUE_REFUSED] = "Refused",
};

static const char *const estimate_names[] = {
    [SL_ESTIMATE_NONE] = "none",
    [SL_ESTIMATE_NOW] = "now",
    [SL_ESTIMATE_RESERVED] = "reserved",
    [SL_ESTIMATE_LAID_OUT] = "estimate",
};

static const struct {
    const char *name;
    const char *help;
    const char *text;   /* in the sentence; NULL: nothing to add */
    const char *remedy; /* NULL: none is needed */
} reasons[SL_HOLD_REASONS] = {
    [SL_HOLD_NONE] = {"None",
                      "Nothing is against it; a pod that has just come is looked at in the "
                      "next plan.",
                      NULL, NULL},
    [SL_HOLD_NO_ROOM] = {"NoRoom",
                         "No node has room for it now: it is the first of its resource, "
                         "or stands behind others.",
                         NULL, "fewer units or a shorter sliced.dev/timeout may bring it forward"},
    [SL_HOLD_BEHIND] =
        {"Behind",
         "There is room now, but starting it would delay a pod ahead of "
         "it: it runs longer than until that pod's reserved start.",
         "it would delay a pod ahead",
         "a shorter sliced.dev/timeout: it may go first once it ends before that reserved start"},
    [SL_HOLD_PROMISE] = {"Promise",
                         "There is room now, but another pod would miss its latest "
                         "start (order bounded).",
                         "another pod's latest start comes first",
                         "a shorter sliced.dev/timeout: it may go first once it ends before that "
                         "pod's latest start"},
    [SL_HOLD_HEADROOM] = {"Headroom",
                          "The free units are kept for pods with shorter timeouts "
                          "(headroom).",
                          "what is free is kept for shorter pods", "a shorter sliced.dev/timeout"},
    [SL_HOLD_CAP] = {"Cap",
                     "Its tenant has as much as it may have (tenants): pods that run or wait, or "
                     "units.",
                     "its tenant has as many pods or units as it may have",
                     "wait until pods of your tenant end"},
    [SL_HOLD_BORROW] = {"Borrow",
                        "There may be room, but its tenant's runs longer than "
                        "tenants.borrowMaxTimeout hold as much as its share of the units already.",
                        "your tenant's long pods hold as much as its own share already",
                        "a shorter sliced.dev/timeout; else it starts from the time at which it "
                        "would on your tenant's own share"},
    [SL_HOLD_PACE] = {"Pace",
                      "As many pods are released as kube-scheduler takes at a time; it "
                      "follows.",
                      "as many pods are released as may be at once", "wait some seconds"},
    [SL_HOLD_EXPIRED] = {"Expired",
                         "It did not take what was set aside for it within "
                         "queue.holdSeconds: look for another reason why kube-scheduler "
                         "cannot place it. Or the API server refused to open its gate. It is "
                         "tried again later, or when it or the nodes change.",
                         "it did not take the node set aside for it, and is tried again later",
                         "look at the pod's Events for what kube-scheduler has against its node"},
    [SL_HOLD_CONSTRAINT] = {"Constraint",
                            "There is room, but only on nodes that its node "
                            "selector, affinity, tolerations, CPU or memory "
                            "exclude.",
                            "nodes with room are excluded by its node selector, affinity, "
                            "tolerations, CPU or memory",
                            "loosen its node selector, affinity, CPU or memory, or tolerate the "
                            "taints of nodes with room"},
    [SL_HOLD_CUT] = {"Cut",
                     "No node has room for it now, and a node's GPUs are being cut for it, "
                     "or are about to be.",
                     NULL, "wait until the cut is over"},
    [SL_HOLD_DEVICE_CLASS] = {"DeviceClass",
                              "No node's device plugin offers a resource that it asks for, but a "
                              "DeviceClass does: DRA gives its devices, which sliced does not "
                              "schedule.",
                              "a DeviceClass offers its resource (DRA), whose devices sliced does "
                              "not schedule",
                              "ask for a resource that a device plugin offers, or have the pod "
                              "scheduled without the queue"},
    [SL_HOLD_NEVER] = {"Never",
                       "No node of the cluster could ever take it, not even an empty "
                       "one. It is planned for when nodes come or change.",
                       "no node of the cluster could ever take it",
                       "change its request by what the nodes have against it"},
    [SL_HOLD_OVER_HEADROOM] = {"OverHeadroom",
                               "It asks for more than headroom leaves to pods with timeouts as "
                               "long as its own, were all units free: it does not start before "
                               "that, or nodes, change.",
                               NULL, "fewer units or a shorter sliced.dev/timeout"},
    [SL_HOLD_STAGE] = {"Stage",
                       "It waits until what its annotation sliced.dev/after names has "
                       "succeeded.",
                       "it waits for what sliced.dev/after names",
                       "wait for what sliced.dev/after names"},
    [SL_HOLD_STAGE_FAILED] = {"StageFailed",
                              "Something that its annotation sliced.dev/after names "
                              "has failed, or the annotation cannot be read: it does not "
                              "start before that changes.",
                              "something that sliced.dev/after names has failed",
                              "run again what has failed, or correct sliced.dev/after"},
    [SL_HOLD_STAGE_CYCLE] = {"StageCycle",
                             "Annotations sliced.dev/after form a cycle: it does not "
                             "start before one of them changes.",
                             "annotations sliced.dev/after form a cycle",
                             "take one of those annotations out"},
    [SL_HOLD_LIMIT] = {"Limit",
                       "Its timeout is longer than its resource allows (limits): it never "
                       "starts. State a shorter activeDeadlineSeconds.",
                       NULL, "a timeout within the limit of its resource"},
    [SL_HOLD_MALFORMED] = {"Malformed",
                           "Its request for GPU resources is malformed: it never "
                           "starts.",
                           "its request is malformed", "correct its request"},
    [SL_HOLD_GATES] = {"Gates",
                       "Scheduling gates of others hold it: it is planned for when they "
                       "are gone.",
                       "scheduling gates of others hold it",
                       "those who put the other gates there have to remove them"},
};

const char *sl_queue_state_name(enum sl_queue_state state)
{
    return state < SL_QUEUE_STATES ? state_names[state] : "Unknown";
}

const char *sl_hold_reason_name(enum sl_hold_reason reason)
{
    return reason < SL_HOLD_REASONS ? reasons[reason].name : "Unknown";
}

const char *sl_hold_reason_help(enum sl_hold_reason reason)
{
    return reason < SL_HOLD_REASONS ? reasons[reason].help : "";
}

const char *sl_hold_reason_remedy(enum sl_hold_reason reason)
{
    return reason < SL_HOLD_REASONS ? reasons[reason].remedy : NULL;
}

const char *sl_estimate_name(enum sl_estimate estimate)
{
    return estimate <= SL_ESTIMATE_LAID_OUT ? estimate_names[estimate] : "none";
}

/* ---- the sentence ---- */

size_t sl_queue_duration_text(int64_t us, char *out, size_t size)
{
    struct sl_text text;
    sl_text_init(&text, out, size);
    sl_text_duration(&text, us);
    return text.len;
}

/* As a configuration states it: "168h", "1h30m". */
static void put_stated(struct sl_text *text, int64_t us)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{SL_HOUR_S, "h"}, {SL_MINUTE_S, "m"}, {1, "s"}};
    int64_t left = us / SL_SECOND_US;
    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (left >= units[i].seconds) {
            sl_text_i64(text, left / units[i].seconds);
            sl_text_puts(text, units[i].name);
            left %= units[i].seconds;
        }
    }
}

static void put_pod(struct sl_text *text, const struct sl_pod *pod)
{
    sl_text_puts(text, pod->namespace);
    sl_text_puts(text, "/");
    sl_text_puts(text, pod->name);
}

/* The pod's owner reads the sentence: it names no pod of another namespace. */
static bool may_name(const struct sl_queue_row *row)
{
    return row->first != NULL && strcmp(row->first->namespace, row->pod->namespace) == 0;
}

static void put_ahead(struct sl_text *text, const struct sl_queue_row *row)
{
    const char *resource = row->pod->n_items > 0 ? row->pod->items[0].resource : "GPUs";
    if (row->ahead == 0) {
        sl_text_puts(text, "first for ");
        sl_text_puts(text, resource);
        return;
    }
    sl_text_i64(text, row->ahead);
    sl_text_puts(text, row->ahead == 1 ? " pod ahead for " : " pods ahead for ");
    sl_text_puts(text, resource);
    if (may_name(row)) {
        sl_text_puts(text, row->ahead == 1 ? "; it is " : "; first is ");
        put_pod(text, row->first);
    }
}

static void put_limit(struct sl_text *text, const struct sl_queue_row *row)
{
    sl_text_puts(text, "its timeout, ");
    put_stated(text, row->timeout_us);
    sl_text_puts(text, row->pod->timeout_s > 0 ? ", is over the limit of "
                                               : " (the default: it states none), is over the "
                                                 "limit of ");
    put_stated(text, row->limit.max_timeout_us);
    if (row->limit.resource[0] != '\0') {
        sl_text_puts(text, " for ");
        sl_text_puts(text, row->limit.resource);
    }
    sl_text_puts(text, "; state a shorter activeDeadlineSeconds or the annotation "
                       "sliced.dev/timeout");
}

static void put_over(struct sl_text *text, const struct sl_queue_over *over)
{
    int64_t left = over->capacity - over->units;
    sl_text_puts(text, "it asks for ");
    sl_text_i64(text, over->item->count);
    sl_text_puts(text, " of ");
    sl_text_puts(text, over->item->resource);
    sl_text_puts(text, ", and of the ");
    sl_text_i64(text, over->capacity);
    sl_text_puts(text, " that there are headroom keeps ");
    sl_text_i64(text, over->units);
    sl_text_puts(text, " for pods of up to ");
    put_stated(text, over->max_timeout_us);
    sl_text_puts(text, "; ");
    if (left > 0) {
        sl_text_puts(text, "ask for ");
        sl_text_i64(text, left);
        sl_text_puts(text, " at most, or ");
    }
    sl_text_puts(text, "state a timeout of at most ");
    put_stated(text, over->max_timeout_us);
}

static void put_reason(struct sl_text *text, const struct sl_queue_row *row, const char *before)
{
    if (row->why != NULL) {
        sl_text_puts(text, before);
        sl_text_puts(text, row->why);
        sl_text_puts(text, row->overdue ? "; that takes longer than expected" : "");
        return;
    }
    if (row->limit.max_timeout_us > 0) {
        sl_text_puts(text, before);
        put_limit(text, row);
    } else if (row->over.units > 0) {
        sl_text_puts(text, before);
        put_over(text, &row->over);
    } else if (row->reason < SL_HOLD_REASONS && reasons[row->reason].text != NULL) {
        sl_text_puts(text, before);
        sl_text_puts(text, reasons[row->reason].text);
    }
    if (row->reason == SL_HOLD_MALFORMED && row->pod->malformed != NULL) {
        sl_text_puts(text, ": ");
        sl_text_puts(text, row->pod->malformed);
    }
}

/* Names ignored words of the pod. A refusal leaves them out: it is more urgent, or about just
 * these. */
static void put_problem(struct sl_text *text, const struct sl_queue_row *row)
{
    if (row->pod->problem != NULL && row->state != SL_QUEUE_REFUSED) {
        sl_text_puts(text, "; ");
        sl_text_puts(text, row->pod->problem);
    }
}

static void put_estimate(struct sl_text *text, const struct sl_queue_row *row, int64_t now_us)
{
    if (row->estimate != SL_ESTIMATE_RESERVED && row->estimate != SL_ESTIMATE_LAID_OUT) {
        return;
    }
    bool reserved = row->estimate == SL_ESTIMATE_RESERVED;
    sl_text_puts(text, reserved ? "; starts in " : "; estimated start in ");
    sl_text_duration(text, row->start_us - now_us);
    sl_text_puts(text, reserved ? " at the latest" : "");
    if (row->usual_start_us > 0) {
        sl_text_puts(text, ", in ");
        sl_text_duration(text, row->usual_start_us - now_us);
        sl_text_puts(text, " if pods run as long as usual");
    }
}

static void put_tenant(struct sl_text *text, const struct sl_queue_row *row, int64_t now_us)
{
    if (row->tenant == NULL || row->own_start_us == 0 || row->state == SL_QUEUE_NOMINATED) {
        return;
    }
    bool due = row->own_start_us <= now_us;
    sl_text_puts(text, due ? "; due for " : "; on the own share of tenant ");
    if (due) {
        sl_text_duration(text, now_us - row->own_start_us);
        sl_text_puts(text, ": on the own share of tenant ");
    }
    sl_text_puts(text, row->tenant);
    sl_text_puts(text, due ? " it would have started" : " it would start in ");
    if (!due) {
        sl_text_duration(text, row->own_start_us - now_us);
    }
}

static void put_usual(struct sl_text *text, const struct sl_queue_row *row)
{
    if (row->usual_us > 0) {
        sl_text_puts(text, "; usually ends after ");
        sl_text_duration(text, row->usual_us);
    }
}

static void put_silence(struct sl_text *text, const struct sl_queue_row *row, int64_t now_us)
{
    if (row->silent_us > 0) {
        sl_text_puts(text, "; kube-scheduler has not been heard from for ");
        sl_text_duration(text, now_us - row->silent_us);
    }
}

size_t sl_queue_text(const struct sl_queue_row *row, int64_t now_us, char *out, size_t size)
{
    static const char *const starts[SL_QUEUE_STATES] = {
        [SL_QUEUE_HELD] = "held: ",
        [SL_QUEUE_NOMINATED] = "its turn has come: node ",
        [SL_QUEUE_RELEASED] = "released without a node: ",
        [SL_QUEUE_STAGED] = "held: ",
        [SL_QUEUE_GATED] = "held: ",
        [SL_QUEUE_REFUSED] = "refused: ",
    };
    struct sl_text text;
    sl_text_init(&text, out, size);
    sl_text_puts(&text, row->state < SL_QUEUE_STATES ? starts[row->state] : "");
    if (row->state == SL_QUEUE_NOMINATED) {
        sl_text_puts(&text, row->node != NULL ? row->node : "unknown");
        put_silence(&text, row, now_us);
    } else if (row->state == SL_QUEUE_HELD || row->state == SL_QUEUE_RELEASED) {
        bool queued = row->reason != SL_HOLD_EXPIRED && row->reason != SL_HOLD_NEVER &&
                      row->reason != SL_HOLD_CAP && row->reason != SL_HOLD_DEVICE_CLASS;
        if (queued) {
            put_ahead(&text, row);
        }
        put_reason(&text, row, queued ? "; " : "");
        put_estimate(&text, row, now_us);
        put_tenant(&text, row, now_us);
        put_usual(&text, row);
    } else {
        put_reason(&text, row, "");
    }
    put_problem(&text, row);
    return text.len;
}
