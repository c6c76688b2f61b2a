/* Tells owners what becomes of their waiting pods: why a pod waits, and again when the reason or
 * its estimated start changes; that it did not take its nomination; that it is refused, or that
 * words of it are ignored. With plan held. */
#include "daemon/queue/tell.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/queue/clock.h"
#include "daemon/queue/worker.h"
#include "server/model/explain.h"
#include "util/data/share.h"
#include "util/log.h"
#include "util/time.h"
#include "util/timestamp.h"

enum {
    TOLD_PER_SECOND = SL_QUEUE_TOLD,
    TOLD_AT_ONCE = 200, /* after a longer rest */
    MOVED_FACTOR = 2,
    REST = 50, /* times as long as a look at all took */
    TURN = 16, /* looks after which a namespace has its turn before others have more */
};

static const int64_t grace_us = 2 * SL_SECOND_US;    /* most are bound by then */
static const int64_t soon_us = 10 * SL_SECOND_US;    /* a start this near is awaited in silence, */
static const int64_t overdue_us = 30 * SL_SECOND_US; /* but no longer than this */
static const int64_t moved_us = SL_MINUTE_US;
static const int64_t repeat_us = SL_MINUTE_US;     /* between two words on the estimate */
static const int64_t moves_us = 15 * SL_SECOND_US; /* between two looks at all estimates */

enum kind { KIND_BEHIND, KIND_AHEAD, KIND_WARNING };

static const char waiting[] = "Waiting";
static const char moved[] = "EstimateMoved";

/* False: the note was not accepted; tell it again later. */
static bool owner_tell(const struct sl_queue_worker *worker, const struct sl_pod *pod,
                       const char *reason, enum kind kind, const char *text)
{
    const struct sl_event_note note = {
        .namespace = sl_str_of(pod->namespace),
        .name = sl_str_of(pod->name),
        .uid = sl_str_of(pod->uid),
        .warning = kind == KIND_WARNING,
        .ahead = kind == KIND_AHEAD,
        .reason = reason,
        .action = "Scheduling",
        .note = text,
    };
    return worker->options.tell == NULL || worker->options.tell(worker->options.context, &note);
}

/* Explains, for a pod that no node could ever take, what each node lacks. */
static bool reason_explain(struct sl_queue_worker *worker, const struct sl_pod *pod, char *out,
                           size_t size)
{
    struct sl_explain found;
    if (worker->snapshot == NULL) {
        return false;
    }
    size_t cost = sl_explain_cost(worker->snapshot, pod);
    worker->explains_left -= cost < worker->explains_left ? cost : worker->explains_left;
    if (sl_explain_init(&found, worker->snapshot, pod, &worker->config.plan.score, NULL) < 0) {
        return false;
    }
    sl_explain_why(&found, out, size);
    sl_explain_free(&found);
    return true;
}

void sl_queue_tell_one(struct sl_queue_worker *worker, struct sl_queue_entry *entry, int64_t now_us)
{
    char text[SL_EXPLAIN_TEXT_MAX];
    struct sl_queue_row row;
    if (worker->options.tell == NULL ||
        !sl_planner_row(worker->planner, sl_str_of(entry->uid), now_us, &row) ||
        row.state != SL_QUEUE_REFUSED) {
        entry->refused = false;
        return;
    }
    bool never = row.reason == SL_HOLD_NEVER || row.reason == SL_HOLD_MALFORMED;
    if (never && worker->explains_left == 0) {
        return; /* the plan's lock is held: it is told in a later look */
    }
    if (!never || !reason_explain(worker, entry->pod, text, sizeof(text))) {
        (void)sl_queue_text(&row, now_us, text, sizeof(text));
    }
    if (owner_tell(worker, entry->pod, never ? "NeverFits" : "Refused", KIND_WARNING, text)) {
        entry->refused = false;
        entry->told_us = now_us;
        entry->told_of = SL_QUEUE_WORD_REFUSED;
    }
}

void sl_queue_tell_expiry(struct sl_queue_worker *worker, struct sl_queue_entry *entry)
{
    char text[512];
    const char *node = entry->left == NULL ? "" : entry->left;
    if (entry->reason != SL_HOLD_EXPIRED) {
        return; /* its node has changed, through no fault of the pod, which gets a new plan */
    }
    (void)snprintf(text, sizeof(text),
                   "node %s was set aside for it, but kube-scheduler did not place it there within "
                   "%llds; others go first until its next turn",
                   node, (long long)worker->config.queue.hold_s);
    (void)owner_tell(worker, entry->pod, "Expired", KIND_WARNING, text);
}

static const char owned[] =
    "metadata.ownerReferences: that a DaemonSet owns the pod counts in kube-system and in the "
    "namespaces of queue.daemonSets only: it waits as others do";

/* A hash of the pod's words that are ignored; 0: none are. */
static uint64_t ignored_of(const struct sl_pod *pod)
{
    uint64_t hash = pod->problem == NULL ? 0 : sl_hash(pod->problem, strlen(pod->problem)) | 1;
    return pod->daemon_set ? hash ^ UINT64_C(0x2) : hash;
}

void sl_queue_tell_ignored(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                           int64_t now_us)
{
    const struct sl_pod *pod = entry->pod;
    uint64_t ignored = ignored_of(pod);
    bool told = true;
    entry->unsaid = ignored != 0 && ignored != entry->ignored;
    if (!entry->unsaid || worker->ignored_left == 0 ||
        (entry->ignored_us != 0 && now_us - entry->ignored_us < repeat_us)) {
        return;
    }
    worker->ignored_left--;
    if (pod->problem != NULL) {
        told = owner_tell(worker, pod, "Ignored", KIND_WARNING, pod->problem);
    }
    if (pod->daemon_set) {
        told = owner_tell(worker, pod, "Ignored", KIND_WARNING, owned) && told;
    }
    if (told) {
        entry->ignored = ignored;
        entry->ignored_us = now_us;
        entry->unsaid = false;
    }
}

void sl_queue_tell_denied(struct sl_queue_worker *worker, const struct sl_queue_entry *entry,
                          const char *why)
{
    char text[512];
    bool gated = entry->pod->gate != SL_GATE_NONE;
    (void)snprintf(text, sizeof(text),
                   "the API server refused to %s: %s; others go first until its next turn",
                   gated ? "open its gate" : "let kube-scheduler try it", why);
    (void)owner_tell(worker, entry->pod, "ReleaseRefused", KIND_WARNING, text);
}

/* ---- all ---- */

/* Of one kind: what may still be told in this look. */
struct words {
    unsigned left;
    unsigned again; /* of them, for owners told before */
    size_t untold;  /* left over */
    uint64_t *turn; /* namespaces' last */
    unsigned n_put_off;
    struct sl_queue_entry *put_off[TOLD_AT_ONCE]; /* others' namespaces have their turn first */
};

struct round {
    struct sl_queue_worker *worker;
    int64_t now_us;
    size_t position; /* of the row, from 1 */
    bool rest;       /* of those put off */
    struct words events;
    struct words conditions;
    struct sl_queue_shares stood; /* conditions that this look found, or began */
    struct sl_queue_shares taken; /* those of the last look, and those begun since */
};

/* Tells namespaces apart by a hash, which may collide. */
static size_t space_of(const struct sl_pod *pod)
{
    uint64_t hash = sl_hash(pod->namespace, strlen(pod->namespace));
    return (hash * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SL_QUEUE_TURNS;
}

static void count_share(struct sl_queue_shares *shares, const struct sl_pod *pod)
{
    shares->all++;
    shares->of[space_of(pod)]++;
}

/* Prefers pods of namespaces without a recent turn, so that ten thousand pods of one namespace do
 * not delay other owners. */
static bool has_turn(struct round *round, struct words *words, struct sl_queue_entry *entry)
{
    const struct sl_queue_worker *worker = round->worker;
    uint64_t *turn = &words->turn[space_of(entry->pod)];
    if (round->rest || *turn == 0 || worker->told_rounds - *turn >= TURN) {
        *turn = worker->told_rounds;
        return true;
    }
    if (words->n_put_off < TOLD_AT_ONCE) {
        words->put_off[words->n_put_off++] = entry;
    }
    return false;
}

static bool has_moved(const struct sl_queue_entry *entry, const struct sl_queue_row *row,
                      int64_t now_us)
{
    if (row->start_us == 0 || entry->told_start_us == 0) {
        return false;
    }
    int64_t told_us = entry->told_start_us - now_us;
    int64_t left_us = row->start_us - now_us;
    int64_t off_us = left_us > told_us ? left_us - told_us : told_us - left_us;
    told_us = told_us < SL_SECOND_US ? SL_SECOND_US : told_us;
    left_us = left_us < SL_SECOND_US ? SL_SECOND_US : left_us;
    return off_us > moved_us &&
           (left_us / MOVED_FACTOR >= told_us || told_us / MOVED_FACTOR >= left_us);
}

static void look_at_refused(struct round *round, struct sl_queue_entry *entry)
{
    struct words *words = &round->events;
    if (words->left == 0 || !has_turn(round, words, entry)) {
        words->untold++;
        return;
    }
    sl_queue_tell_one(round->worker, entry, round->now_us);
    words->left = entry->refused ? 0 : words->left - 1; /* 0: no more are taken */
    words->untold += entry->refused ? 1 : 0;
}

/* A pod that has just come, or is about to start, needs no Event: its owner sees it start, and an
 * Event costs the API server a third as much as placing the pod. */
static bool may_start_soon(const struct sl_queue_row *row, int64_t since_us, int64_t now_us)
{
    int64_t age_us = now_us - since_us;
    bool near = row->start_us > 0 && row->start_us - now_us < soon_us;
    return age_us < grace_us || (near && age_us < overdue_us);
}

static enum sl_queue_word word_of(const struct sl_queue_row *row)
{
    switch (row->reason) {
    case SL_HOLD_NONE:
    case SL_HOLD_EXPIRED: /* has a note of its own */
        return SL_QUEUE_WORD_NONE;
    case SL_HOLD_CONSTRAINT:
    case SL_HOLD_NEVER:
        return SL_QUEUE_WORD_EXCLUDED;
    default:
        return row->state == SL_QUEUE_STAGED ? SL_QUEUE_WORD_STAGED : SL_QUEUE_WORD_QUEUED;
    }
}

/* Has the reason changed since the owner was told, or is the start estimated for the first time? */
static bool has_changed(const struct sl_queue_entry *entry, const struct sl_queue_row *row)
{
    enum sl_queue_word word = word_of(row);
    return (word != SL_QUEUE_WORD_NONE && word != entry->told_of) ||
           (entry->told_start_us == 0 && row->start_us > 0);
}

/* The reason of the Event that is due; NULL: none. */
static const char *due_word(const struct sl_queue_entry *entry, const struct sl_queue_row *row,
                            int64_t now_us)
{
    if (entry->told_us == 0) {
        return may_start_soon(row, row->pod->created_us, now_us) ? NULL : waiting;
    }
    if (now_us - entry->told_us < repeat_us) {
        return NULL;
    }
    if (has_changed(entry, row) && !may_start_soon(row, row->since_us, now_us)) {
        return waiting;
    }
    return has_moved(entry, row, now_us) ? moved : NULL;
}

static void look_at(struct round *round, struct sl_queue_entry *entry,
                    const struct sl_queue_row *row)
{
    struct words *words = &round->events;
    char text[SL_PLAN_TEXT_MAX];
    bool waits = row->state == SL_QUEUE_HELD || row->state == SL_QUEUE_STAGED;
    if (entry->unsaid) {
        sl_queue_tell_ignored(round->worker, entry, round->now_us);
    }
    if (entry->refused && row->state == SL_QUEUE_REFUSED) {
        look_at_refused(round, entry);
        return;
    }
    if (!waits) {
        return;
    }
    bool first = entry->told_us == 0;
    const char *word = due_word(entry, row, round->now_us);
    if (word == NULL || words->left == 0 || (!first && words->again == 0) ||
        !has_turn(round, words, entry)) {
        words->untold += first ? 1 : 0;
        return;
    }
    (void)sl_queue_text(row, round->now_us, text, sizeof(text));
    if (!owner_tell(round->worker, entry->pod, word, word == waiting ? KIND_AHEAD : KIND_BEHIND,
                    text)) {
        *(first ? &words->left : &words->again) = 0; /* no more of these are taken */
        words->untold += first ? 1 : 0;
        return;
    }
    entry->told_us = round->now_us;
    entry->told_of = word_of(row);
    entry->told_start_us = row->start_us;
    words->left--;
    words->again -= first ? 0 : 1;
}

/* ---- the condition ---- */

bool sl_queue_stands(const struct sl_queue_entry *entry)
{
    return entry->shown == SL_QUEUE_SHOWN_TRUE ||
           (entry->shown == SL_QUEUE_SHOWN_BEFORE && entry->pod->queued);
}

void sl_queue_show_ended(struct sl_queue_entry *entry)
{
    entry->shown = sl_queue_stands(entry) ? SL_QUEUE_SHOWN_OVER : entry->shown;
}

void sl_queue_show_failed(struct sl_queue_worker *worker, const struct sl_queue_call *call,
                          int64_t now_us)
{
    struct sl_queue_entry *entry = sl_queue_find(worker, sl_str_of(call->uid));
    if (entry == NULL) {
        return;
    }
    entry->shown = SL_QUEUE_SHOWN_TRUE; /* or may be: it is written in any case */
    entry->notice.state = SL_QUEUE_STATES;
    entry->notice.at_us = now_us;
    if (worker->show_logged_us == 0 || now_us - worker->show_logged_us >= repeat_us) {
        worker->show_logged_us = now_us;
        sl_log_pod(SL_LOG_WARN, sl_str_of(entry->pod->namespace), sl_str_of(entry->pod->name),
                   "condition not written, which is tried again", "reason", call->text,
                   (char *)NULL);
    }
}

/* Appends the place, and the start as a point in time: it holds until it is written anew. */
static void condition_text(const struct sl_queue_row *row, size_t position, int64_t now_us,
                           char out[SL_PLAN_TEXT_MAX])
{
    struct sl_queue_row own = *row;
    char at[32];
    own.first = NULL; /* another's, and gone soon */
    own.estimate = SL_ESTIMATE_NONE;
    own.usual_us = 0;
    own.silent_us = 0;
    size_t len = sl_queue_text(&own, now_us, out, SL_PLAN_TEXT_MAX);
    if (!sl_notice_waits(row->state) || len + 1 >= SL_PLAN_TEXT_MAX) {
        return;
    }
    bool estimated = row->estimate == SL_ESTIMATE_RESERVED || row->estimate == SL_ESTIMATE_LAID_OUT;
    sl_time_format(row->start_us / SL_SECOND_US * SL_SECOND_US, at);
    (void)snprintf(out + len, SL_PLAN_TEXT_MAX - len, "; position %zu in the queue%s%s", position,
                   !estimated                              ? ""
                   : row->estimate == SL_ESTIMATE_RESERVED ? "; starts by "
                                                           : "; estimated start ",
                   estimated ? at : "");
}

/* Writes the condition. False: out of memory. */
static bool condition_show(struct round *round, struct sl_queue_entry *entry,
                           const struct sl_queue_row *row, const struct sl_notice *now)
{
    static const char unkept[] = "kubectl get queuedpods shows what is known of it";
    struct sl_queue_worker *worker = round->worker;
    const struct sl_pod *pod = entry->pod;
    char text[SL_PLAN_TEXT_MAX];
    size_t len = strlen(entry->uid);
    bool waits = sl_notice_waits(row->state);
    bool kept = worker->config.queue.condition.enabled || !waits;
    struct sl_queue_call *call = calloc(1, sizeof(*call) + len + 1);
    if (call == NULL) {
        return false;
    }
    memcpy(call->uid, entry->uid, len);
    call->worker = worker;
    call->shows = true;
    condition_text(row, entry->position, round->now_us, text);
    bool held = waits && row->reason != SL_HOLD_NONE;
    struct sl_queued queued = {
        .namespace = sl_str_of(pod->namespace),
        .name = sl_str_of(pod->name),
        .uid = sl_str_of(pod->uid),
        .reason = sl_str_of(!kept  ? "NotKept"
                            : held ? sl_hold_reason_name(row->reason)
                                   : sl_queue_state_name(row->state)),
        .message = sl_str_of(kept ? text : unkept),
        .status = !kept   ? SL_QUEUED_UNKNOWN
                  : waits ? SL_QUEUED_TRUE
                          : SL_QUEUED_FALSE,
        .leadership = worker->leadership,
    };
    bool turns = queued.status != SL_QUEUED_TRUE || !sl_queue_stands(entry);
    bool first = entry->shown == SL_QUEUE_SHOWN_BEFORE && waits;
    queued.turned_us = !turns ? 0 : first ? pod->created_us : round->now_us;
    if (queued.status == SL_QUEUED_TRUE && turns) {
        count_share(&round->stood, pod);
        count_share(&round->taken, pod);
    }
    entry->shown = queued.status == SL_QUEUED_TRUE ? SL_QUEUE_SHOWN_TRUE : SL_QUEUE_SHOWN_OVER;
    entry->notice = *now;
    (void)atomic_fetch_add(&worker->showing, 1);
    worker->options.show(worker->options.releaser, &queued, sl_queue_shown, call);
    return true;
}

static enum sl_notice_due condition_due(const struct round *round,
                                        const struct sl_queue_entry *entry,
                                        const struct sl_queue_row *row, const struct sl_notice *now)
{
    const struct sl_config *config = &round->worker->config;
    bool waits = sl_notice_waits(row->state);
    if (sl_queue_stands(entry)) {
        bool good =
            entry->shown == SL_QUEUE_SHOWN_TRUE && (config->queue.condition.enabled || !waits);
        return good ? sl_notice_due(&entry->notice, now) : SL_NOTICE_CHANGED;
    }
    bool wanted = waits && config->queue.condition.enabled &&
                  sl_share_allows(round->taken.of[space_of(entry->pod)], round->taken.all,
                                  (size_t)config->queue.condition.max_pods);
    return wanted ? SL_NOTICE_CHANGED : SL_NOTICE_GOOD;
}

static void look_at_condition(struct round *round, struct sl_queue_entry *entry,
                              const struct sl_queue_row *row)
{
    struct words *words = &round->conditions;
    const struct sl_notice now = sl_notice_of(row, entry->position, round->now_us);
    enum sl_notice_due due = condition_due(round, entry, row, &now);
    bool first = due == SL_NOTICE_CHANGED;
    if (due == SL_NOTICE_GOOD) {
        return;
    }
    bool soon = !sl_queue_stands(entry) && may_start_soon(row, row->pod->created_us, round->now_us);
    if (soon || words->left == 0 || (!first && words->again == 0) ||
        !has_turn(round, words, entry) || !condition_show(round, entry, row, &now)) {
        words->untold += first ? 1 : 0;
        return;
    }
    words->left--;
    words->again -= first ? 0 : 1;
}

/* ---- the look ---- */

static void look_at_row(void *context, const struct sl_queue_row *row)
{
    struct round *round = context;
    struct sl_queue_entry *entry = sl_queue_find(round->worker, sl_str_of(row->pod->uid));
    round->position++;
    if (entry == NULL) {
        return;
    }
    entry->position = round->position;
    if (round->worker->options.tell != NULL) {
        look_at(round, entry, row);
    }
    if (round->worker->options.show != NULL) {
        if (sl_queue_stands(entry)) {
            count_share(&round->stood, entry->pod);
        }
        look_at_condition(round, entry, row);
    }
}

static void look_at_rest(struct round *round, struct words *words,
                         void (*look)(struct round *round, struct sl_queue_entry *entry,
                                      const struct sl_queue_row *row))
{
    round->rest = true;
    for (unsigned i = 0; i < words->n_put_off && words->left > 0; i++) {
        struct sl_queue_entry *entry = words->put_off[i];
        const struct words before = {
            .left = words->left, .again = words->again, .untold = words->untold};
        struct sl_queue_row row;
        if (!sl_planner_row(round->worker->planner, sl_str_of(entry->uid), round->now_us, &row)) {
            continue;
        }
        look(round, entry, &row);
        bool told = words->left < before.left && words->untold == before.untold;
        bool counted = told && words->again == before.again && before.untold > 0;
        words->untold = before.untold - (counted ? 1 : 0); /* it was counted when it was put off */
    }
}

/* A look at 100,000 pods takes a good part of a second, during which no plan is made. */
static int64_t rest_us(const struct sl_queue_worker *worker)
{
    bool more = worker->untold > 0 || worker->unshown > 0;
    int64_t every_us = more ? SL_SECOND_US : moves_us;
    return every_us > worker->tell_rest_us ? every_us : worker->tell_rest_us;
}

static bool nobody_is_told(const struct sl_queue_worker *worker)
{
    return (worker->options.tell == NULL && worker->options.show == NULL) ||
           worker->entries.len == 0;
}

static unsigned words_quota(const struct sl_queue_worker *worker, int64_t now_us)
{
    int64_t seconds =
        worker->told_round_us == 0 ? 1 : (now_us - worker->told_round_us) / SL_SECOND_US;
    seconds = seconds < 1 ? 1 : seconds;
    return seconds < TOLD_AT_ONCE / TOLD_PER_SECOND ? (unsigned)seconds * TOLD_PER_SECOND
                                                    : TOLD_AT_ONCE;
}

/* Saves none up, and waits for those that are being written: a server that is slow gets fewer. */
static unsigned conditions_quota(struct sl_queue_worker *worker)
{
    unsigned showing = atomic_load(&worker->showing);
    unsigned most = (unsigned)worker->config.queue.condition.per_second;
    return showing < most ? most - showing : 0;
}

/* untold: what the last look left over. */
static struct words words_new(unsigned left, size_t untold, uint64_t *turn)
{
    return (struct words){.left = left, .again = untold > 0 ? left / 2 : left, .turn = turn};
}

void sl_queue_tell_all(struct sl_queue_worker *worker, int64_t now_us)
{
    if (nobody_is_told(worker) || now_us - worker->told_round_us < rest_us(worker)) {
        return;
    }
    struct round round = {
        .worker = worker,
        .now_us = now_us,
        .events = words_new(words_quota(worker, now_us), worker->untold, worker->told_turn),
        .conditions = words_new(conditions_quota(worker), worker->unshown, worker->shown_turn),
        .taken = worker->stood,
    };
    int64_t begin_us = sl_queue_cpu_us();
    worker->told_round_us = now_us;
    worker->ignored_left = round.events.left;
    worker->explains_left = SL_EXPLAINS_MAX;
    if (sl_planner_estimate(worker->planner, now_us, NULL) == 0) {
        worker->estimated_us = now_us;
    }
    worker->told_rounds++;
    (void)sl_planner_visit(worker->planner, now_us, worker->entries.len, look_at_row, &round);
    look_at_rest(&round, &round.events, look_at);
    look_at_rest(&round, &round.conditions, look_at_condition);
    worker->untold = round.events.untold;
    worker->unshown = round.conditions.untold;
    worker->stood = round.stood;
    worker->tell_rest_us = (sl_queue_cpu_us() - begin_us) * REST;
}

int64_t sl_queue_tell_time(const struct sl_queue_worker *worker, int64_t wake_us)
{
    if (nobody_is_told(worker)) {
        return wake_us;
    }
    int64_t next_us = worker->told_round_us + rest_us(worker);
    return next_us < wake_us ? next_us : wake_us;
}
