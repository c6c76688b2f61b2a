/* A table of fixed size keeps what owners were told. A pod that loses its place in it is only told
 * of again too early. */
#include "daemon/live/waiting.h"

#include <stdlib.h>

#include "server/model/explain.h"
#include "sliced/fit.h"

enum { TOLD = 8192 /* a power of two */, SEEN_MAX = 2000, SCAN_PER_TOLD = 4 };

enum said { SAID_NOTHING, SAID_WAITING, SAID_NEVER, SAID_FITS };

struct told {
    uint64_t uid; /* its hash */
    enum said said;
    int64_t at_us;
};

struct sl_waiting {
    struct sl_waiting_options options;
    struct told told[TOLD];
    struct sl_pod *pod[SEEN_MAX]; /* of one round, references */
    size_t n;
    size_t next; /* where the next round begins, so that all pods get their turn */
    size_t from; /* pods that are passed over: of more than SEEN_MAX others are seen another time */
    size_t at;
};

struct sl_waiting *sl_waiting_new(const struct sl_waiting_options *options, struct sl_error *err)
{
    struct sl_waiting *waiting = calloc(1, sizeof(*waiting));
    if (waiting == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    waiting->options = *options;
    return waiting;
}

void sl_waiting_free(struct sl_waiting *waiting)
{
    free(waiting);
}

static void collect_pod(void *context, const struct sl_pod *pod)
{
    struct sl_waiting *waiting = context;
    waiting->at++;
    if (waiting->at > waiting->from && waiting->n < SEEN_MAX) {
        waiting->pod[waiting->n++] = sl_pod_ref((struct sl_pod *)pod); /* the count is not const */
    }
}

static struct told *told_of(struct sl_waiting *waiting, const struct sl_pod *pod)
{
    uint64_t uid = sl_hash(pod->uid, strlen(pod->uid));
    struct told *told = &waiting->told[uid & (TOLD - 1)];
    if (told->uid != uid) {
        *told = (struct told){.uid = uid, .said = SAID_NOTHING};
    }
    return told;
}

/* Is a look at the pod due? A pod that fitted somewhere at the last look is looked at again, as
 * capacity goes quickly. */
static bool is_due(const struct sl_waiting *waiting, const struct sl_pod *pod,
                   const struct told *told, int64_t now_us)
{
    if (now_us - pod->created_us < waiting->options.grace_us) {
        return false;
    }
    return told->said == SAID_NOTHING || told->said == SAID_FITS ||
           now_us - told->at_us >= waiting->options.repeat_us ||
           now_us < told->at_us; /* the clock was set */
}

/* Cheap for most pods: one of the first nodes mostly has room. */
static bool fits_somewhere(const struct sl_snapshot *snapshot, const struct sl_pod *pod)
{
    struct sl_ask ask;
    struct sl_verdict verdict;
    sl_pod_ask(pod, &ask);
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        if (sl_fit(snapshot->view[i], &ask, &verdict)) {
            return true;
        }
    }
    return false;
}

static enum said words_of(const struct sl_explain *explain)
{
    if (explain->pod->malformed != NULL) {
        return SAID_NEVER;
    }
    for (unsigned r = 0; r < SL_REASON_COUNT; r++) {
        bool passes = r == SL_REASON_EXCLUDED || !sl_reason_is_never((enum sl_reason)r);
        if (explain->count[r] > 0 && passes) {
            return SAID_WAITING;
        }
    }
    return explain->n > 0 ? SAID_NEVER : SAID_WAITING; /* the first node may be on its way */
}

static void owner_tell(struct sl_waiting *waiting, const struct sl_explain *explain,
                       struct told *told, int64_t now_us)
{
    char why[SL_EXPLAIN_TEXT_MAX];
    const struct sl_pod *pod = explain->pod;
    enum said said = words_of(explain);
    sl_explain_why(explain, why, sizeof(why));
    const struct sl_event_note note = {
        .namespace = sl_str_of(pod->namespace),
        .name = sl_str_of(pod->name),
        .uid = sl_str_of(pod->uid),
        .warning = said == SAID_NEVER,
        .ahead = true,
        .reason = said == SAID_NEVER ? "NeverFits" : "Waiting",
        .action = "Scheduling",
        .note = why,
    };
    if (waiting->options.tell(waiting->options.context, &note)) {
        told->said = said;
        told->at_us = now_us;
    }
}

/* Goes on where the round before stopped. */
static unsigned tell_all(struct sl_waiting *waiting, const struct sl_snapshot *snapshot,
                         const struct sl_score_config *score, int64_t now_us)
{
    unsigned told = 0;
    unsigned looks = 0;
    size_t explained = 0;
    size_t i = 0;
    for (; i < waiting->n && told < waiting->options.max_told &&
           looks < SCAN_PER_TOLD * waiting->options.max_told && explained < SL_EXPLAINS_MAX;
         i++) {
        const struct sl_pod *pod = waiting->pod[(waiting->next + i) % waiting->n];
        struct told *last = told_of(waiting, pod);
        struct sl_explain explain;
        if (!is_due(waiting, pod, last, now_us)) {
            continue;
        }
        looks++;
        if (fits_somewhere(snapshot, pod)) {
            last->said = SAID_FITS;
        } else if (sl_explain_init(&explain, snapshot, pod, score, NULL) == 0) {
            explained += sl_explain_cost(snapshot, pod);
            owner_tell(waiting, &explain, last, now_us);
            sl_explain_free(&explain);
            told++;
        }
    }
    waiting->next += i;
    return told;
}

unsigned sl_waiting_round(struct sl_waiting *waiting, const struct sl_score_config *score,
                          int64_t now_us)
{
    struct sl_store *store = waiting->options.store;
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    unsigned told = 0;
    waiting->n = 0;
    if (snapshot->n_waiting > 0) {
        waiting->at = 0;
        size_t all = sl_store_visit_waiting(store, waiting->from + SEEN_MAX, collect_pod, waiting);
        told = tell_all(waiting, snapshot, score, now_us);
        if (waiting->next >= waiting->n && (all > SEEN_MAX || waiting->from > 0)) {
            waiting->next = 0;
            waiting->from += SEEN_MAX;
            waiting->from = waiting->from < all ? waiting->from : 0;
        }
    }
    for (size_t i = 0; i < waiting->n; i++) {
        sl_pod_unref(waiting->pod[i]);
    }
    sl_store_release(store, snapshot);
    return told;
}
