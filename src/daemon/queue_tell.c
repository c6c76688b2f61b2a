/* What the owners of waiting pods are told: that they wait and why; again when they wait for
 * something else, when the estimated start is there at last or has moved much; that a turn was not
 * taken; that a pod is refused, or something that it says is passed over. With plan held. */
#include <stdio.h>
#include <time.h>

#include "daemon/queue_internal.h"
#include "server/explain.h"

enum {
    TOLD_PER_SECOND = SL_QUEUE_TOLD,
    TOLD_AT_ONCE = 200, /* after a longer rest */
    MOVED_FACTOR = 2,
    REST = 50, /* times as long as a look at all took */
    TURN = 16, /* looks after which a namespace has its turn before others have more */
};

static const int64_t second_us = 1000000;
static const int64_t grace_us = 2000000;    /* most are bound by then */
static const int64_t soon_us = 10000000;    /* a start that near is awaited, */
static const int64_t overdue_us = 30000000; /* but not for longer than that */
static const int64_t moved_us = 60000000;
static const int64_t repeat_us = 60000000; /* between two words on the estimate */
static const int64_t moves_us = 15000000;  /* between two looks at all estimates */

enum kind { KIND_BEHIND, KIND_AHEAD, KIND_WARNING };

static const char waiting[] = "Waiting";
static const char moved[] = "EstimateMoved";

/* False: it was not taken, and is to be told again. */
static bool tell(const struct sl_queuer *queuer, const struct sl_pod *pod, const char *reason,
                 enum kind kind, const char *text)
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
    return queuer->options.tell == NULL || queuer->options.tell(queuer->options.context, &note);
}

/* Of a pod that no node could take, what is in the way on the nodes that there are. */
static bool explain(const struct sl_queuer *queuer, const struct sl_pod *pod, char *out,
                    size_t size)
{
    struct sl_explain found;
    if (queuer->snapshot == NULL ||
        sl_explain_init(&found, queuer->snapshot, pod, &queuer->config.score, NULL) < 0) {
        return false;
    }
    sl_explain_why(&found, out, size);
    sl_explain_free(&found);
    return true;
}

void sl_queue_tell_one(struct sl_queuer *queuer, struct sl_queue_entry *entry, int64_t now_us)
{
    char text[SL_EXPLAIN_TEXT_MAX];
    struct sl_queue_row row;
    if (queuer->options.tell == NULL ||
        !sl_planner_row(queuer->planner, sl_str_of(entry->uid), now_us, &row) ||
        row.state != SL_QUEUE_REFUSED) {
        entry->refused = false;
        return;
    }
    bool never = row.reason == SL_HOLD_NEVER || row.reason == SL_HOLD_MALFORMED;
    if (!never || !explain(queuer, entry->pod, text, sizeof(text))) {
        (void)sl_queue_text(&row, now_us, text, sizeof(text));
    }
    if (tell(queuer, entry->pod, never ? "NeverFits" : "Refused", KIND_WARNING, text)) {
        entry->refused = false;
        entry->told_us = now_us;
        entry->told_of = SL_QUEUE_WORD_REFUSED;
    }
}

void sl_queue_tell_lapse(struct sl_queuer *queuer, struct sl_queue_entry *entry)
{
    char text[512];
    const char *node = entry->left == NULL ? "" : entry->left;
    if (entry->reason != SL_HOLD_LAPSED) {
        return; /* its node has changed: that is not the pod's doing, it is planned for anew */
    }
    (void)snprintf(text, sizeof(text),
                   "node %s was set aside for it, but kube-scheduler did not place it there within "
                   "%llds; others go first until its next turn",
                   node, (long long)queuer->config.queue.hold_s);
    (void)tell(queuer, entry->pod, "Lapsed", KIND_WARNING, text);
}

static const char owned[] =
    "metadata.ownerReferences: that a DaemonSet owns the pod counts in kube-system and in the "
    "namespaces of queue.daemonSets only: it waits as others do";

/* What of the pod is passed over; 0: nothing. */
static uint64_t ignored_of(const struct sl_pod *pod)
{
    uint64_t hash = pod->problem == NULL ? 0 : sl_hash(pod->problem, strlen(pod->problem)) | 1;
    return pod->daemon_set ? hash ^ UINT64_C(0x2) : hash;
}

void sl_queue_tell_ignored(struct sl_queuer *queuer, struct sl_queue_entry *entry, int64_t now_us)
{
    const struct sl_pod *pod = entry->pod;
    uint64_t ignored = ignored_of(pod);
    bool told = true;
    entry->unsaid = ignored != 0 && ignored != entry->ignored;
    if (!entry->unsaid || queuer->ignored_left == 0 ||
        (entry->ignored_us != 0 && now_us - entry->ignored_us < repeat_us)) {
        return;
    }
    queuer->ignored_left--;
    if (pod->problem != NULL) {
        told = tell(queuer, pod, "Ignored", KIND_WARNING, pod->problem);
    }
    if (pod->daemon_set) {
        told = tell(queuer, pod, "Ignored", KIND_WARNING, owned) && told;
    }
    if (told) {
        entry->ignored = ignored;
        entry->ignored_us = now_us;
        entry->unsaid = false;
    }
}

void sl_queue_tell_denied(struct sl_queuer *queuer, const struct sl_queue_entry *entry,
                          const char *why)
{
    char text[512];
    bool gated = entry->pod->gate != SL_GATE_NONE;
    (void)snprintf(text, sizeof(text),
                   "the API server refused to %s: %s; others go first until its next turn",
                   gated ? "open its gate" : "let kube-scheduler try it", why);
    (void)tell(queuer, entry->pod, "ReleaseRefused", KIND_WARNING, text);
}

/* ---- all ---- */

struct round {
    struct sl_queuer *queuer;
    int64_t now_us;
    unsigned left;
    unsigned again; /* of them, for those who were told before */
    size_t untold;  /* left over */
    bool rest;      /* of those put off */
    unsigned n_put_off;
    struct sl_queue_entry *put_off[TOLD_AT_ONCE]; /* others' namespaces have their turn first */
};

/* One of a namespace that had no turn of late, others when there is no such left: ten thousand pods
 * of one keep nobody else's owner waiting. Namespaces are told apart by a hash, as far as that
 * goes. */
static bool has_turn(struct round *round, struct sl_queue_entry *entry)
{
    struct sl_queuer *queuer = round->queuer;
    const char *space = entry->pod->namespace;
    uint64_t hash = sl_hash(space, strlen(space)) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t *turn = &queuer->told_turn[(hash >> 32) % SL_QUEUE_TURNS];
    if (round->rest || *turn == 0 || queuer->told_rounds - *turn >= TURN) {
        *turn = queuer->told_rounds;
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
    told_us = told_us < second_us ? second_us : told_us;
    left_us = left_us < second_us ? second_us : left_us;
    return off_us > moved_us &&
           (left_us / MOVED_FACTOR >= told_us || told_us / MOVED_FACTOR >= left_us);
}

static void look_at_refused(struct round *round, struct sl_queue_entry *entry)
{
    if (round->left == 0 || !has_turn(round, entry)) {
        round->untold++;
        return;
    }
    sl_queue_tell_one(round->queuer, entry, round->now_us);
    round->left = entry->refused ? 0 : round->left - 1; /* 0: no more are taken */
    round->untold += entry->refused ? 1 : 0;
}

/* No word yet of a pod that waits since a moment ago only, or is about to start: its owner sees it
 * start, and an Event costs the API server as much as a third of the pod's way to its node. */
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
    case SL_HOLD_LAPSED: /* told by itself */
        return SL_QUEUE_WORD_NONE;
    case SL_HOLD_CONSTRAINT:
    case SL_HOLD_NEVER:
        return SL_QUEUE_WORD_EXCLUDED;
    default:
        return row->state == SL_QUEUE_STAGED ? SL_QUEUE_WORD_STAGED : SL_QUEUE_WORD_QUEUED;
    }
}

/* It waits for something else than it was told, or its start can be estimated only now. */
static bool has_changed(const struct sl_queue_entry *entry, const struct sl_queue_row *row)
{
    enum sl_queue_word word = word_of(row);
    return (word != SL_QUEUE_WORD_NONE && word != entry->told_of) ||
           (entry->told_start_us == 0 && row->start_us > 0);
}

/* The reason of the Event that is due; NULL: none is. */
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
    struct sl_queuer *queuer = round->queuer;
    struct sl_queue_entry *entry = sl_queue_find(queuer, sl_str_of(row->pod->uid));
    char text[SL_PLAN_TEXT_MAX];
    bool waits = row->state == SL_QUEUE_HELD || row->state == SL_QUEUE_STAGED;
    if (entry != NULL && entry->unsaid) {
        sl_queue_tell_ignored(queuer, entry, round->now_us);
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
    if (!tell(queuer, entry->pod, word, word == waiting ? KIND_AHEAD : KIND_BEHIND, text)) {
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
        if (sl_planner_row(round->queuer->planner, sl_str_of(entry->uid), round->now_us, &row)) {
            look_at(round, &row);
        }
    }
}

/* A look at 100,000 pods takes a good part of a second, in which nothing is planned. */
static int64_t rest_us(const struct sl_queuer *queuer)
{
    int64_t every_us = queuer->untold > 0 ? second_us : moves_us;
    return every_us > queuer->tell_rest_us ? every_us : queuer->tell_rest_us;
}

static unsigned quota(const struct sl_queuer *queuer, int64_t now_us)
{
    int64_t seconds = queuer->told_round_us == 0 ? 1 : (now_us - queuer->told_round_us) / second_us;
    seconds = seconds < 1 ? 1 : seconds;
    return seconds < TOLD_AT_ONCE / TOLD_PER_SECOND ? (unsigned)seconds * TOLD_PER_SECOND
                                                    : TOLD_AT_ONCE;
}

/* Time of the processor, not of the clock: others may have the machine. */
static int64_t cpu_us(void)
{
    struct timespec time = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * second_us + time.tv_nsec / 1000;
}

void sl_queue_tell_all(struct sl_queuer *queuer, int64_t now_us)
{
    struct round round = {.queuer = queuer, .now_us = now_us, .left = quota(queuer, now_us)};
    if (queuer->options.tell == NULL || queuer->entries.len == 0 ||
        now_us - queuer->told_round_us < rest_us(queuer)) {
        return;
    }
    round.again = queuer->untold > 0 ? round.left / 2 : round.left;
    int64_t begin_us = cpu_us();
    queuer->told_round_us = now_us;
    queuer->ignored_left = round.left;
    if (sl_planner_estimate(queuer->planner, now_us, NULL) == 0) {
        queuer->estimated_us = now_us;
    }
    queuer->told_rounds++;
    (void)sl_planner_visit(queuer->planner, now_us, queuer->entries.len, look_at, &round);
    look_at_rest(&round);
    queuer->untold = round.untold;
    queuer->tell_rest_us = (cpu_us() - begin_us) * REST;
}

int64_t sl_queue_tell_time(const struct sl_queuer *queuer, int64_t wake_us)
{
    if (queuer->options.tell == NULL || queuer->entries.len == 0) {
        return wake_us;
    }
    int64_t next_us = queuer->told_round_us + rest_us(queuer);
    return next_us < wake_us ? next_us : wake_us;
}
