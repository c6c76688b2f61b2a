/* Tells owners what becomes of their waiting pods: why a pod waits, and again when the reason or
 * its estimated start changes; that it did not take its nomination; that it is refused, or that
 * words of it are ignored. With plan held. */
#include "daemon/queue/tell.h"

#include <stdio.h>

#include "daemon/queue/clock.h"
#include "daemon/queue/worker.h"
#include "server/api/explain.h"
#include "util/time.h"

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
static bool reason_explain(const struct sl_queue_worker *worker, const struct sl_pod *pod,
                           char *out, size_t size)
{
    struct sl_explain found;
    if (worker->snapshot == NULL ||
        sl_explain_init(&found, worker->snapshot, pod, &worker->config.score, NULL) < 0) {
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

struct round {
    struct sl_queue_worker *worker;
    int64_t now_us;
    unsigned left;
    unsigned again; /* of them, for owners told before */
    size_t untold;  /* left over */
    bool rest;      /* of those put off */
    unsigned n_put_off;
    struct sl_queue_entry *put_off[TOLD_AT_ONCE]; /* others' namespaces have their turn first */
};

/* Prefers pods of namespaces without a recent turn, so that ten thousand pods of one namespace do
 * not delay other owners. Tells namespaces apart by a hash, which may collide. */
static bool has_turn(struct round *round, struct sl_queue_entry *entry)
{
    struct sl_queue_worker *worker = round->worker;
    const char *space = entry->pod->namespace;
    uint64_t hash = sl_hash(space, strlen(space)) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t *turn = &worker->told_turn[(hash >> 32) % SL_QUEUE_TURNS];
    if (round->rest || *turn == 0 || worker->told_rounds - *turn >= TURN) {
        *turn = worker->told_rounds;
        return true;
    }
    if (round->n_put_off < TOLD_AT_ONCE) {
        round->put_off[round->n_put_off++] = entry;
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
    if (round->left == 0 || !has_turn(round, entry)) {
        round->untold++;
        return;
    }
    sl_queue_tell_one(round->worker, entry, round->now_us);
    round->left = entry->refused ? 0 : round->left - 1; /* 0: no more are taken */
    round->untold += entry->refused ? 1 : 0;
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

static void look_at(void *context, const struct sl_queue_row *row)
{
    struct round *round = context;
    struct sl_queue_worker *worker = round->worker;
    struct sl_queue_entry *entry = sl_queue_find(worker, sl_str_of(row->pod->uid));
    char text[SL_PLAN_TEXT_MAX];
    bool waits = row->state == SL_QUEUE_HELD || row->state == SL_QUEUE_STAGED;
    if (entry != NULL && entry->unsaid) {
        sl_queue_tell_ignored(worker, entry, round->now_us);
    }
    if (entry != NULL && entry->refused && row->state == SL_QUEUE_REFUSED) {
        look_at_refused(round, entry);
        return;
    }
    if (entry == NULL || !waits) {
        return;
    }
    bool first = entry->told_us == 0;
    const char *word = due_word(entry, row, round->now_us);
    if (word == NULL || round->left == 0 || (!first && round->again == 0) ||
        !has_turn(round, entry)) {
        round->untold += first ? 1 : 0;
        return;
    }
    (void)sl_queue_text(row, round->now_us, text, sizeof(text));
    if (!owner_tell(worker, entry->pod, word, word == waiting ? KIND_AHEAD : KIND_BEHIND, text)) {
        *(first ? &round->left : &round->again) = 0; /* no more of these are taken */
        round->untold += first ? 1 : 0;
        return;
    }
    entry->told_us = round->now_us;
    entry->told_of = word_of(row);
    entry->told_start_us = row->start_us;
    round->left--;
    round->again -= first ? 0 : 1;
}

static void look_at_rest(struct round *round)
{
    round->rest = true;
    for (unsigned i = 0; i < round->n_put_off; i++) {
        struct sl_queue_entry *entry = round->put_off[i];
        struct sl_queue_row row;
        round->untold -= entry->refused || entry->told_us == 0 ? 1 : 0; /* counted once more */
        if (sl_planner_row(round->worker->planner, sl_str_of(entry->uid), round->now_us, &row)) {
            look_at(round, &row);
        }
    }
}

/* A look at 100,000 pods takes a good part of a second, during which no plan is made. */
static int64_t rest_us(const struct sl_queue_worker *worker)
{
    int64_t every_us = worker->untold > 0 ? SL_SECOND_US : moves_us;
    return every_us > worker->tell_rest_us ? every_us : worker->tell_rest_us;
}

static unsigned words_quota(const struct sl_queue_worker *worker, int64_t now_us)
{
    int64_t seconds =
        worker->told_round_us == 0 ? 1 : (now_us - worker->told_round_us) / SL_SECOND_US;
    seconds = seconds < 1 ? 1 : seconds;
    return seconds < TOLD_AT_ONCE / TOLD_PER_SECOND ? (unsigned)seconds * TOLD_PER_SECOND
                                                    : TOLD_AT_ONCE;
}

void sl_queue_tell_all(struct sl_queue_worker *worker, int64_t now_us)
{
    struct round round = {.worker = worker, .now_us = now_us, .left = words_quota(worker, now_us)};
    if (worker->options.tell == NULL || worker->entries.len == 0 ||
        now_us - worker->told_round_us < rest_us(worker)) {
        return;
    }
    round.again = worker->untold > 0 ? round.left / 2 : round.left;
    int64_t begin_us = sl_queue_cpu_us();
    worker->told_round_us = now_us;
    worker->ignored_left = round.left;
    if (sl_planner_estimate(worker->planner, now_us, NULL) == 0) {
        worker->estimated_us = now_us;
    }
    worker->told_rounds++;
    (void)sl_planner_visit(worker->planner, now_us, worker->entries.len, look_at, &round);
    look_at_rest(&round);
    worker->untold = round.untold;
    worker->tell_rest_us = (sl_queue_cpu_us() - begin_us) * REST;
}

int64_t sl_queue_tell_time(const struct sl_queue_worker *worker, int64_t wake_us)
{
    if (worker->options.tell == NULL || worker->entries.len == 0) {
        return wake_us;
    }
    int64_t next_us = worker->told_round_us + rest_us(worker);
    return next_us < wake_us ? next_us : wake_us;
}
