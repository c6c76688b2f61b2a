/* The queue's rows. A further field is a row here; where its value is not a member of struct
 * sl_queue_row, also a member of struct sl_model_queued. */
#include "server/model/queue.h"
#include "server/model/row.h"

#include <stdio.h>

#include "server/model/explain.h"
#include "server/model/pod.h"
#include "util/show.h"
#include "util/time.h"

enum { ASK_TEXT = 512 };

#define QUEUED(member) SL_AT(struct sl_model_queued, member)
#define OF_ROW(member) SL_BEHIND(struct sl_model_queued, row, struct sl_queue_row, member)
#define OF_POD(member) SL_BEHIND(struct sl_model_queued, pod, struct sl_pod, member)

/* ---- texts ---- */

static const char *ask_text(const void *record, char *out)
{
    const struct sl_model_queued *queued = record;
    sl_model_ask_text(queued->pod, out, ASK_TEXT);
    return out;
}

static const char *sentence_text(const void *record, char *out)
{
    const struct sl_model_queued *queued = record;
    (void)sl_queue_text(queued->row, queued->now_us, out, SL_PLAN_TEXT_MAX);
    return out;
}

/* Without what changes as time passes. */
static const char *lasting_text(const void *record, char *out)
{
    const struct sl_model_queued *queued = record;
    struct sl_queue_row own = *queued->row;
    char text[SL_PLAN_TEXT_MAX];
    own.estimate = SL_ESTIMATE_NONE;
    own.silent_us = 0;
    (void)sl_queue_text(&own, queued->now_us, text, sizeof(text));
    (void)sl_show(sl_str_of(text), out, SL_FIELD_TEXT_MAX);
    return out;
}

const char *sl_model_estimate_text(const void *record, char out[SL_FIELD_TEXT_MAX])
{
    char text[SL_FIELD_TEXT_MAX];
    (void)sl_show(sl_str_of(sentence_text(record, text)), out, SL_FIELD_TEXT_MAX);
    return out;
}

/* ---- what was tried ---- */

struct
try {
    int64_t at_us;
    int64_t ended_us;
    const char *outcome;
    const char *node;
    const char *why;
};

#define TRY(member) SL_AT(struct try, member)

static const struct sl_field try_fields[] = {
    SEEN(SL_SEEN_ALONE, "at", TIME, NULL, TRY(at_us)),
    SEEN(SL_SEEN_ALONE, "endedAt", TIME, NULL, TRY(ended_us)),
    SEEN(SL_SEEN_ALONE, "outcome", TEXT, NULL, TRY(outcome)),
    SEEN(SL_SEEN_ALONE, "node", TEXT, NULL, TRY(node)),
    SEEN(SL_SEEN_ALONE, "why", TEXT, NULL, TRY(why)),
    SL_FIELDS_END,
};

static bool next_try(const void *record, unsigned *at, void *child)
{
    const struct sl_queue_list *list = ((const struct sl_model_queued *)record)->list;
    if (list == NULL || *at >= list->n_tried) {
        return false;
    }
    const struct sl_queue_try *tried = &list->tried[(*at)++];
    *(struct try *)child = (struct try){tried->at_us, tried->ended_us,
                                        sl_queue_try_end_name(tried->end), tried->node, tried->why};
    return true;
}

/* ---- objects of it ---- */

static const struct sl_field first_fields[] = {
    OPERATORS("namespace", TEXT, SL_AT(struct sl_pod, namespace)),
    OPERATORS("name", TEXT, SL_AT(struct sl_pod, name)),
    SL_FIELDS_END,
};

static const struct sl_field order_fields[] = {
    OPERATORS("value", AMOUNT, OF_ROW(parts.p)),
    OPERATORS("priority", AMOUNT, OF_ROW(parts.priority)),
    OPERATORS("timeout", AMOUNT, OF_ROW(parts.timeout)),
    OPERATORS("submission", AMOUNT, OF_ROW(parts.submission)),
    SL_FIELDS_END,
};

/* A start that is overdue has no time that stands still: users see none. */
static const struct sl_field start_fields[] = {
    ALL("sure", TEXT,
        "How sure that is. now: it is nominated. reserved: by that time. estimate: about then, if "
        "all ahead run for their whole timeouts. none: nothing can be said.",
        QUEUED(sure)),
    OPERATORS("at", TIME, OF_ROW(start_us)),
    USERS("at", SECOND, "The time; null: unknown, or it is due.", QUEUED(due_us)),
    OPERATORS("inSeconds", LEFT, QUEUED(left_us)),
    OPERATORS("usuallyAt", TIME, OF_ROW(usual_start_us)),
    SL_FIELDS_END,
};

static const struct sl_field nomination_fields[] = {
    OPERATORS("node", TEXT, OF_ROW(node)),
    OPERATORS("assignment", TEXT, OF_ROW(assignment)),
    SL_FIELDS_END,
};

/* ---- whose it is ---- */

static const char *due_text(const void *record, char *out)
{
    const struct sl_model_queued *queued = record;
    (void)snprintf(out, SL_FIELD_TEXT_MAX, "%s", queued->due ? "yes" : "no");
    return queued->tenanted ? out : NULL;
}

static const struct sl_field tenant_fields[] = {
    ALL("tenant", TEXT, "The tenant whose its namespace is.", OF_ROW(tenant)),
    ALL("due", FLAG, "Does it wait, and would have started by now on its tenant's own share?",
        QUEUED(due)),
    ALL("ownStart", SECOND,
        "When it would start on its tenant's own share, or would have; null: not known.",
        OF_ROW(own_start_us)),
    SL_FIELDS_END,
};

const struct sl_field sl_model_queued_tenant[] = {
    CELL(TEXT, NULL, OF_ROW(tenant), COLUMN(13, "TENANT")),
    CELL(TEXT, NULL, TEXT_BY(due_text), COLUMN(14, "DUE")),
    SL_FIELDS_END,
};

/* ---- the row ---- */

const struct sl_field sl_model_queued[] = {
    SEEN(SL_SEEN_IN_LISTS | SL_SEEN_BY_USERS, "position", NUMBER,
         "Place in the whole queue, from 1.", QUEUED(position), COLUMN(1, "POS"),
         SHOWN(1, "Position")),
    MEMBERS_OF(SL_SEEN_IN_LISTS, sl_model_pod, QUEUED(pod)),
    CELL(TEXT, NULL, OF_POD(namespace), COLUMN(2, "NAMESPACE")),
    CELL(TEXT, NULL, OF_POD(name), COLUMN(3, "NAME")),
    CELL(TEXT, "Its ask: resources and counts.", TEXT_BY(ask_text), COLUMN(4, "ASK"),
         SHOWN(2, "Ask")),
    CELL(NUMBER, "Priority of the pod.", OF_POD(priority), COLUMN(5, "PRIORITY"),
         WIDE(12, "Priority")),
    ALL("state", TEXT, "Held, Nominated, Released, Staged, Gated or Refused.", QUEUED(state),
        COLUMN(8, "STATE"), SHOWN(5, "State")),
    ALL("reason", TEXT, "Why its turn has not come, in one word; None: nothing is against it.",
        QUEUED(reason)),
    CELL(TEXT, "Why its turn has not come.", QUEUED(held), COLUMN(9, "REASON"), SHOWN(6, "Reason")),
    USERS("message", TEXT, "The same in a sentence.", TEXT_BY(lasting_text)),
    SEEN(SL_SEEN_BY_OPERATORS, "text", TEXT, "The same in a sentence.", TEXT_BY(sentence_text),
         WIDE(15, "Message")),
    ALL("since", TIME, "Since when it has been in that state.", OF_ROW(since_us)),
    OPERATORS("waitedSeconds", AGE, QUEUED(waited_us), COLUMN(7, "WAITED")),
    CELL(SECONDS, "Since it was created.", QUEUED(waited_us), SHOWN(4, "Waited")),
    ALL("ahead", NUMBER, "Pods that go before it and want the same resource.", OF_ROW(ahead),
        COLUMN(10, "AHEAD"), SHOWN(7, "Ahead")),
    OPERATORS("first", OBJECT, OF_ROW(first), OBJECT_OF(first_fields)),
    ALL("plannedTimeoutSeconds", SECONDS,
        "The timeout by which it is planned: what it states, or the queue's default.",
        OF_ROW(timeout_us), COLUMN(6, "TIMEOUT"), SHOWN(3, "Timeout")),
    OPERATORS("usualRuntimeSeconds", SPAN, QUEUED(usual_us)),
    OPERATORS("P", OBJECT, OBJECT_OF(order_fields)),
    ALL("estimatedStart", OBJECT, "When it should start.", OBJECT_OF(start_fields)),
    CELL(LEFT, "Estimated time until it starts.", QUEUED(left_us), COLUMN(11, "START-IN"),
         SHOWN(8, "Start-In")),
    CELL(TEXT, "How sure the estimate is: now, reserved, estimate or none.", QUEUED(sure),
         WIDE(10, "Sure")),
    OPERATORS("latestStart", TIME, OF_ROW(latest_start_us)),
    USERS("latestStart", SECOND, "By when the order bounded promises a start; null: no promise.",
          OF_ROW(latest_start_us)),
    OPERATORS("nomination", OBJECT, QUEUED(nominated), OBJECT_OF(nomination_fields)),
    USERS("node", TEXT, "Where devices are set aside for it, or will be.", OF_ROW(node),
          COLUMN(12, "NODE"), SHOWN(9, "Node")),
    USERS("devices", TEXT, "What is set aside for it there.", OF_ROW(assignment),
          WIDE(11, "Devices")),
    MEMBERS_OF(SL_SEEN_BY_ALL, tenant_fields, QUEUED(tenanted)),
    CELL(TEXT, "The tenant whose its namespace is.", OF_ROW(tenant), WIDE(13, "Tenant")),
    CELL(TEXT, "Does it wait, and would have started by now on its tenant's own share?",
         TEXT_BY(due_text), WIDE(14, "Due")),
    ALL("expiries", NUMBER, "Nominations of it that were not bound in time.", OF_ROW(expiries)),
    SEEN(SL_SEEN_ALONE | SL_SEEN_BY_USERS, "remedy", TEXT,
         "What would help; null: only time, or nothing is against it.", QUEUED(remedy)),
    SEEN(SL_SEEN_ALONE, "tried", LIST, NULL, LIST_OF(try_fields, next_try)),
    USERS("nodes", OBJECT, "What nodes have against it; only where one pod is read.",
          QUEUED(explain), .absent = true, OBJECT_OF(sl_model_explain)),
    SL_FIELDS_END,
};

void sl_model_queued_of(const struct sl_queue_row *row, int64_t now_us, size_t position,
                        struct sl_model_queued *out)
{
    bool known = row->estimate != SL_ESTIMATE_NONE;
    int64_t left_us = row->start_us > now_us ? row->start_us - now_us : 0;
    *out = (struct sl_model_queued){
        .row = row,
        .pod = row->pod,
        .now_us = now_us,
        .position = (int64_t)position,
        .waited_us = now_us - row->pod->created_us,
        .left_us = known ? left_us : -1,
        .due_us = known && left_us > 0 ? row->start_us : 0,
        .usual_us = row->usual_us > 0 ? row->usual_us : -1,
        .state = sl_queue_state_name(row->state),
        .reason = sl_hold_reason_name(row->reason),
        .held = row->reason == SL_HOLD_NONE ? NULL : sl_hold_reason_name(row->reason),
        .remedy = sl_hold_reason_remedy(row->reason),
        .sure = sl_estimate_name(row->estimate),
        .nominated = row->state == SL_QUEUE_NOMINATED,
        .tenanted = row->tenant != NULL,
        .due = row->own_start_us > 0 && row->own_start_us <= now_us &&
               row->state != SL_QUEUE_NOMINATED,
    };
}

/* ---- a pod that is not there ---- */

#define ESTIMATE(member) SL_AT(struct sl_model_estimate, member)
#define OF_QUEUED(member)                                                                          \
    SL_BEHIND(struct sl_model_estimate, queued.row, struct sl_queue_row, member)

_Static_assert(offsetof(struct sl_model_estimate, queued) == 0, "its fields are the estimate's");

const struct sl_field sl_model_estimate[] = {
    ALL("position", NUMBER, "Place in the whole queue, from 1.", ESTIMATE(queued.position),
        COLUMN(1, "POS")),
    ALL("ahead", NUMBER, "Pods that go before it and want the same resource.", OF_QUEUED(ahead),
        COLUMN(2, "AHEAD")),
    ALL("startsInSeconds", LEFT, "How long it would wait; null: nothing can be said.",
        ESTIMATE(queued.left_us), COLUMN(5, "START-IN")),
    ALL("estimatedStart", SECOND, "When it would start; null: nothing can be said.",
        ESTIMATE(start_us)),
    ALL("estimateKind", TEXT, "How sure that is: now, reserved, estimate or none.",
        ESTIMATE(queued.sure), COLUMN(6, "SURE")),
    ALL("state", TEXT, "Held, Nominated, Staged, Gated or Refused.", ESTIMATE(queued.state),
        COLUMN(3, "STATE")),
    ALL("reason", TEXT, "Why its turn would not have come, in one word, or None.",
        ESTIMATE(queued.reason)),
    CELL(TEXT, NULL, ESTIMATE(queued.held), COLUMN(4, "REASON")),
    ALL("node", TEXT, "Where devices would be set aside for it at once.", OF_QUEUED(node),
        COLUMN(7, "NODE")),
    ALL("devices", TEXT, "The devices that it would get there.", OF_QUEUED(assignment),
        COLUMN(8, "DEVICES")),
    ALL("message", TEXT, "The reason in a sentence.", TEXT_BY(sl_model_estimate_text)),
    ALL("delayed", NUMBER,
        "Pods that wait now and would start later, or at a time no longer known.",
        ESTIMATE(delayed), COLUMN(9, "DELAYED")),
    MEMBERS_OF(SL_SEEN_BY_ALL, tenant_fields, ESTIMATE(queued.tenanted)),
    SL_FIELDS_END,
};

void sl_model_estimate_of(const struct sl_queue_what_if *what_if, struct sl_model_estimate *out)
{
    const struct sl_queue_list *list = &what_if->list;
    sl_model_queued_of(list->row, list->now_us, what_if->position, &out->queued);
    out->start_us = out->queued.left_us < 0 ? 0 : list->row->start_us;
    out->delayed = (int64_t)what_if->delayed;
}
