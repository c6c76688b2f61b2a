/* Judging all nodes for one pod, and the sentence that sums it up. */
#include "server/model/explain.h"
#include "server/model/row.h"

#include <stdio.h>
#include <stdlib.h>

#include "sliced/admit.h"
#include "util/buf.h"

static int by_use(const void *left, const void *right)
{
    const struct sl_explain_row *a = left;
    const struct sl_explain_row *b = right;
    if (a->fits != b->fits) {
        return a->fits ? -1 : 1;
    }
    if (a->own != b->own) {
        return a->own ? -1 : 1;
    }
    if (a->score.total != b->score.total) {
        return a->score.total > b->score.total ? -1 : 1;
    }
    bool never_a = sl_reason_is_never(a->verdict.reason);
    bool never_b = sl_reason_is_never(b->verdict.reason);
    if (never_a != never_b) {
        return never_a ? 1 : -1;
    }
    bool absent_a = a->verdict.reason == SL_REASON_NOT_OFFERED;
    bool absent_b = b->verdict.reason == SL_REASON_NOT_OFFERED;
    if (absent_a != absent_b) {
        return absent_a ? 1 : -1;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

/* The pod's stand-in on that node, when it is nominated there; else NULL. */
static const struct sl_resident *stand_in(const struct sl_view *view, const struct sl_pod *pod)
{
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *each = view->resident[i].pod;
        if (each->set_aside && strcmp(each->uid, pod->uid) == 0) {
            return &view->resident[i];
        }
    }
    return NULL;
}

/* Finds the pod's nomination; -1: out of memory. */
static int find_nomination(struct sl_explain *explain)
{
    const struct sl_resident *own = NULL;
    for (size_t i = 0; i < explain->n && own == NULL; i++) {
        const struct sl_view *view = explain->snapshot->view[i];
        own = stand_in(view, explain->pod);
        explain->row[i].own = own != NULL;
        if (own != NULL) {
            explain->without = sl_view_without(view, (unsigned)(own - view->resident));
        }
    }
    return own != NULL && explain->without == NULL ? -1 : 0;
}

const struct sl_view *sl_explain_view(const struct sl_explain *explain,
                                      const struct sl_explain_row *row)
{
    return row->own ? explain->without : explain->snapshot->view[row->place];
}

const struct sl_resident *sl_explain_nomination(const struct sl_explain *explain,
                                                const struct sl_view **view)
{
    for (size_t i = 0; explain->without != NULL && i < explain->n; i++) {
        if (explain->row[i].own) {
            *view = explain->snapshot->view[explain->row[i].place];
            return stand_in(*view, explain->pod);
        }
    }
    return NULL;
}

/* Also by what kube-scheduler looks at: a node that the pod excludes is of no use to it, whatever
 * is free there. */
static bool judge(const struct sl_pod *pod, const struct sl_view *view, const struct sl_ask *ask,
                  struct sl_verdict *out)
{
    enum sl_constraint constraint = sl_constraints_admit_now(pod->constraints, view);
    bool excluded = constraint != SL_CONSTRAINT_NONE && constraint < SL_CONSTRAINT_CPU;
    bool fits = sl_fit(view, ask, out);
    if (excluded && !ask->malformed) {
        *out = (struct sl_verdict){.reason = SL_REASON_EXCLUDED};
    } else if (fits) {
        bool full = constraint != SL_CONSTRAINT_NONE;
        out->reason = full ? SL_REASON_HOST_FULL : SL_REASON_FITS;
    }
    return fits && constraint == SL_CONSTRAINT_NONE;
}

static void judge_nodes(struct sl_explain *explain, const struct sl_score_config *config)
{
    for (size_t i = 0; i < explain->n; i++) {
        struct sl_explain_row *row = &explain->row[i];
        row->place = (uint32_t)i;
        const struct sl_view *view = sl_explain_view(explain, row);
        row->fits = judge(explain->pod, view, &explain->ask, &row->verdict);
        sl_verdict_by_dra(&row->verdict, &explain->ask, &explain->snapshot->dra);
        if (row->fits) {
            explain->n_fit++;
            sl_score(view, &explain->ask, &explain->snapshot->demand, config, &row->score);
        }
        explain->count[row->verdict.reason]++;
    }
}

/* Sets the wire's 0..10 of the rows that fit, which stand first. */
static int put_wire(struct sl_explain *explain)
{
    size_t n = explain->n_fit;
    int32_t *total = calloc(n + 1, sizeof(*total));
    uint32_t *rank = calloc(n + 1, sizeof(*rank));
    uint8_t *wire = calloc(n + 1, sizeof(*wire));
    bool ok = total != NULL && rank != NULL && wire != NULL;
    if (ok) {
        for (size_t i = 0; i < n; i++) {
            total[i] = explain->row[i].score.total;
            rank[i] = explain->row[i].place;
        }
        sl_score_wire(total, rank, n, wire);
        for (size_t i = 0; i < n; i++) {
            explain->row[i].wire = wire[i];
        }
    }
    free(total);
    free(rank);
    free(wire);
    return ok ? 0 : -1;
}

size_t sl_explain_cost(const struct sl_snapshot *snapshot, const struct sl_pod *pod)
{
    return snapshot->n_nodes * (1 + (size_t)sl_constraints_looks(pod->constraints));
}

int sl_explain_init(struct sl_explain *explain, const struct sl_snapshot *snapshot,
                    const struct sl_pod *pod, const struct sl_score_config *config,
                    struct sl_error *err)
{
    memset(explain, 0, sizeof(*explain));
    explain->snapshot = snapshot;
    explain->pod = pod;
    explain->n = snapshot->n_nodes;
    sl_pod_ask(pod, &explain->ask);
    explain->row = calloc(explain->n + 1, sizeof(*explain->row));
    if (explain->row == NULL || find_nomination(explain) < 0) {
        sl_explain_free(explain);
        return sl_error_nomem(err);
    }
    judge_nodes(explain, config);
    qsort(explain->row, explain->n, sizeof(*explain->row), by_use);
    if (put_wire(explain) < 0) {
        sl_explain_free(explain);
        return sl_error_nomem(err);
    }
    return 0;
}

void sl_explain_free(struct sl_explain *explain)
{
    free(explain->row);
    sl_view_free(explain->without);
    explain->row = NULL;
    explain->without = NULL;
}

/* ---- the sentence ---- */

/* The most frequent reason that says not now; FITS when none does. */
static enum sl_reason most_frequent_not_now(const struct sl_explain *explain)
{
    enum sl_reason most = SL_REASON_FITS;
    for (unsigned i = 0; i < SL_REASON_COUNT; i++) {
        bool counts = i != SL_REASON_FITS && !sl_reason_is_never((enum sl_reason)i);
        if (counts && explain->count[i] > 0 &&
            (most == SL_REASON_FITS || explain->count[i] > explain->count[most])) {
            most = (enum sl_reason)i;
        }
    }
    return most;
}

/* The reason among those that say never which comes nearest to fitting: "the largest node has" is
 * then true of all nodes. */
static enum sl_reason nearest_never(const struct sl_explain *explain)
{
    static const enum sl_reason nearest_first[] = {
        SL_REASON_EXCEEDS_TOGETHER, SL_REASON_LITTLE_MEMORY, SL_REASON_ONE_EACH,
        SL_REASON_EXCEEDS_DEVICE,   SL_REASON_EXCEEDS_NODE,  SL_REASON_NOT_OFFERED};
    for (size_t i = 0; i < sizeof(nearest_first) / sizeof(nearest_first[0]); i++) {
        if (explain->count[nearest_first[i]] > 0) {
            return nearest_first[i];
        }
    }
    return SL_REASON_FITS;
}

/* The most units of the ask's first item that one GPU of any node could give. */
static int64_t most_on_one_gpu(const struct sl_explain *explain)
{
    int64_t most = 0;
    for (size_t i = 0; i < explain->n; i++) {
        const struct sl_view *view = explain->snapshot->view[i];
        int pool = sl_view_pool(view, explain->ask.item[0].key);
        most = pool >= 0 && view->room[pool].most > most ? view->room[pool].most : most;
    }
    return most;
}

/* Sums up the verdicts of one reason, about the first item that has it. Returns of how many. */
static size_t sum_up(const struct sl_explain *explain, enum sl_reason reason,
                     struct sl_verdict *sum)
{
    size_t nodes = 0;
    int64_t most = 0;
    *sum = (struct sl_verdict){.reason = reason, .item = SL_ASK_ITEMS_MAX};
    for (size_t i = 0; i < explain->n; i++) {
        const struct sl_verdict *v = &explain->row[i].verdict;
        if (v->reason != reason || (nodes > 0 && v->item != sum->item)) {
            continue;
        }
        nodes++;
        sum->item = v->item;
        sum->alias = v->alias != NULL ? v->alias : sum->alias;
        sum->asked = v->asked;
        sum->capacity += v->capacity;
        sum->free += v->free;
        most = v->capacity > most ? v->capacity : most;
        sum->largest = v->largest > sum->largest ? v->largest : sum->largest;
    }
    sum->capacity = reason == SL_REASON_EXCEEDS_NODE ? most : sum->capacity;
    sum->largest = reason == SL_REASON_EXCEEDS_DEVICE ? most_on_one_gpu(explain) : sum->largest;
    return nodes;
}

/* The node that comes nearest among those with that reason. */
static const struct sl_explain_row *nearest_of(const struct sl_explain *explain,
                                               enum sl_reason reason)
{
    const struct sl_explain_row *nearest = NULL;
    for (size_t i = 0; i < explain->n; i++) {
        const struct sl_explain_row *row = &explain->row[i];
        if (row->verdict.reason == reason &&
            (nearest == NULL || row->verdict.free > nearest->verdict.free)) {
            nearest = row;
        }
    }
    return nearest;
}

/* GPUs differ in what is used of them: one speaks for itself. */
static void say_in_use(const struct sl_explain *explain, char *out, size_t size)
{
    const struct sl_explain_row *row = nearest_of(explain, SL_REASON_MEMORY_IN_USE);
    char text[SL_EXPLAIN_TEXT_MAX / 2];
    (void)sl_verdict_text(&row->verdict, &explain->ask, NULL, text, sizeof(text));
    (void)snprintf(out, size, "%s (node %s); waits for pods there to end", text,
                   sl_explain_view(explain, row)->node->name);
}

/* Says why no node fits, by the sums over those that speak for all. */
static void say_refused(const struct sl_explain *explain, const struct sl_verdict *sum,
                        size_t nodes, char *out, size_t size)
{
    if (sum->reason == SL_REASON_MEMORY_IN_USE) {
        say_in_use(explain, out, size);
    } else {
        (void)sl_verdicts_text(sum, nodes, &explain->ask, explain->pod->malformed, out, size);
    }
}

/* Says that no node could take the pod even when empty. Where it asks for several items, each node
 * may lack another one and no sum over nodes is true: the node that comes nearest speaks for
 * itself. */
static void say_never(const struct sl_explain *explain, char *out, size_t size)
{
    enum sl_reason reason = nearest_never(explain);
    for (size_t i = 0; i < explain->n && explain->ask.n > 1; i++) {
        const struct sl_explain_row *row = &explain->row[i];
        if (row->verdict.reason == reason) {
            char text[SL_EXPLAIN_TEXT_MAX];
            (void)sl_verdict_text(&row->verdict, &explain->ask, NULL, text, sizeof(text));
            (void)snprintf(out, size,
                           "no node can give all that it asks for, even when empty: it cannot "
                           "start in this cluster as it is (%s: %s)",
                           explain->snapshot->view[row->place]->node->name, text);
            return;
        }
    }
    struct sl_verdict sum;
    size_t nodes = sum_up(explain, reason, &sum);
    say_refused(explain, &sum, nodes, out, size);
}

/* Says how many nodes are full in which way: a sum would be true of some of them only. */
static void say_mixed(const struct sl_explain *explain, char *out, size_t size)
{
    struct sl_buf text;
    const char *separator = " now (";
    const struct sl_ask *ask = &explain->ask;
    sl_buf_init(&text, size - 1);
    if (ask->n == 1) {
        sl_buf_printf(&text, "no node has room for %lld %s", (long long)ask->item[0].count,
                      ask->item[0].resource);
    } else {
        sl_buf_puts(&text, "no node has room for all that it asks for");
    }
    for (unsigned i = 0; i < SL_REASON_COUNT; i++) {
        bool counts = i != SL_REASON_FITS && !sl_reason_is_never((enum sl_reason)i);
        if (counts && explain->count[i] > 0) {
            sl_buf_printf(&text, "%s%s: %zu node%s", separator, sl_reason_name((enum sl_reason)i),
                          explain->count[i], explain->count[i] == 1 ? "" : "s");
            separator = ", ";
        }
    }
    sl_buf_puts(&text, "); waits for pods there to end");
    (void)snprintf(out, size, "%.*s", (int)text.len, text.len == 0 ? "" : text.data);
    sl_buf_free(&text);
}

static void say_not_now(const struct sl_explain *explain, char *out, size_t size)
{
    size_t refused = 0;
    struct sl_verdict sum;
    for (unsigned i = 0; i < SL_REASON_COUNT; i++) {
        bool counts = i != SL_REASON_FITS && !sl_reason_is_never((enum sl_reason)i);
        refused += counts ? explain->count[i] : 0;
    }
    size_t nodes = sum_up(explain, most_frequent_not_now(explain), &sum);
    /* these two reasons say "no node has" and "at most" of all nodes that are refused for now */
    bool of_all = sum.reason == SL_REASON_FRAGMENTED ||
                  (sum.reason == SL_REASON_INSUFFICIENT && sum.free > 0);
    if (of_all && nodes < refused) {
        say_mixed(explain, out, size);
    } else {
        say_refused(explain, &sum, nodes, out, size);
    }
}

/* The other nodes are what the sentence is about. */
static void say_excluded(const struct sl_explain *explain, char *out, size_t size)
{
    size_t n = explain->count[SL_REASON_EXCLUDED];
    const char *plural = n == 1 ? "" : "s";
    size_t len = strlen(out);
    if (n > 0 && n == explain->n) {
        (void)snprintf(out, size,
                       "its node selector, affinity or tolerations exclude all %zu node%s", n,
                       plural);
    } else if (n > 0 && len < size) {
        (void)snprintf(out + len, size - len,
                       "; its node selector, affinity or tolerations exclude %zu more node%s", n,
                       plural);
    }
}

void sl_explain_why(const struct sl_explain *explain, char *out, size_t size)
{
    const struct sl_pod *pod = explain->pod;
    size_t admitted = explain->n - explain->count[SL_REASON_EXCLUDED];
    if (pod->phase == SL_POD_SUCCEEDED || pod->phase == SL_POD_FAILED) {
        (void)snprintf(out, size, "it has ended (%s)", sl_pod_phase_name(pod->phase));
    } else if (pod->node != NULL) {
        bool known = sl_snapshot_find(explain->snapshot, sl_str_of(pod->node), 0) != SL_NODE_NONE;
        (void)snprintf(out, size, "it is bound to node %s%s", pod->node,
                       known ? "" : ", which is not known");
    } else if (pod->deleting) {
        (void)snprintf(out, size, "it is being deleted");
    } else if (pod->malformed != NULL) {
        say_refused(explain, &(struct sl_verdict){.reason = SL_REASON_MALFORMED_ASK}, 0, out, size);
    } else if (explain->n_fit > 0) {
        (void)snprintf(out, size,
                       "fits on %zu of %zu node%s, best on %s; waits for the scheduler to bind it",
                       explain->n_fit, admitted, admitted == 1 ? "" : "s",
                       sl_explain_view(explain, &explain->row[0])->node->name);
        say_excluded(explain, out, size);
    } else if (most_frequent_not_now(explain) == SL_REASON_FITS) {
        say_never(explain, out, size);
        say_excluded(explain, out, size);
    } else {
        say_not_now(explain, out, size);
        say_excluded(explain, out, size);
    }
}

/* ---- all nodes by their reason ---- */

/* Nothing helps where the pod fits; what ends by itself is better than what never will; else the
 * reason counts that comes nearest. */
static bool has_remedy(const struct sl_explain *explain, enum sl_reason reason)
{
    enum sl_reason nearest = nearest_never(explain);
    if (explain->n_fit > 0) {
        return false;
    }
    if (most_frequent_not_now(explain) != SL_REASON_FITS) {
        return !sl_reason_is_never(reason);
    }
    return nearest == SL_REASON_FITS || nearest == reason;
}

struct reason {
    const char *name;
    int64_t nodes;
    bool never;
    char nearest[SL_EXPLAIN_TEXT_MAX];
    const char *help;
    const char *remedy;
};
_Static_assert(sizeof(struct reason) <= SL_FIELD_CHILD_MAX, "a list's child");

#define REASON(member) SL_AT(struct reason, member)

static const struct sl_field reason_fields[] = {
    ALL("reason", TEXT, "The reason in one word.", REASON(name)),
    ALL("nodes", NUMBER, "How many nodes give it.", REASON(nodes)),
    ALL("never", FLAG, "Waiting alone does not change it.", REASON(never)),
    ALL("nearest", TEXT, "What the node that lacks least says.", REASON(nearest)),
    ALL("help", TEXT, "What the reason means.", REASON(help)),
    ALL("remedy", TEXT, "What would help; null: nothing is known.", REASON(remedy)),
    SL_FIELDS_END,
};

static bool next_reason(const void *record, unsigned *at, void *child)
{
    const struct sl_explain *explain = record;
    struct reason *out = child;
    while (*at < SL_REASON_COUNT && (*at == SL_REASON_FITS || explain->count[*at] == 0)) {
        (*at)++;
    }
    if (*at == SL_REASON_COUNT) {
        return false;
    }
    enum sl_reason reason = (enum sl_reason)(*at)++;
    *out = (struct reason){
        .name = sl_reason_name(reason),
        .nodes = (int64_t)explain->count[reason],
        .never = sl_reason_is_never(reason),
        .help = sl_reason_help(reason),
        .remedy = has_remedy(explain, reason) ? sl_reason_remedy(reason) : NULL,
    };
    (void)sl_verdict_text(&nearest_of(explain, reason)->verdict, &explain->ask,
                          explain->pod->malformed, out->nearest, sizeof(out->nearest));
    return true;
}

/* ---- why nodes are not cut ---- */

/* False: nothing bars it, or a cut is not what the pod lacks there. */
static bool is_barred(const struct sl_explain *explain, const struct sl_explain_row *row,
                      struct sl_partition_status *out)
{
    const struct sl_partition_reader *cuts = explain->cuts;
    if (row->verdict.reason != SL_REASON_NOT_PARTITIONED || cuts == NULL || cuts->status == NULL) {
        return false;
    }
    cuts->status(cuts->context, sl_explain_view(explain, row), explain->now_us, out);
    return out->bar != SL_CUT_BAR_NONE;
}

void sl_explain_bar(const struct sl_explain *explain, const struct sl_explain_row *row, char *out,
                    size_t size)
{
    struct sl_partition_status status;
    bool barred = is_barred(explain, row, &status);
    (void)snprintf(out, size, "%s%s%s", barred ? sl_explain_view(explain, row)->node->name : "",
                   barred ? " is not cut now: " : "", barred ? status.text : "");
}

void sl_explain_cuts(struct sl_explain *explain, const struct sl_partition_reader *cuts,
                     int64_t now_us)
{
    explain->cuts = cuts;
    explain->now_us = now_us;
    for (size_t i = explain->n; i-- > 0;) {
        struct sl_partition_status status;
        if (is_barred(explain, &explain->row[i], &status)) {
            explain->barred[status.bar].first = &explain->row[i];
            explain->barred[status.bar].n++;
        }
    }
}

struct bar {
    const char *why;
    int64_t nodes;
    char text[SL_EXPLAIN_TEXT_MAX];
};
_Static_assert(sizeof(struct bar) <= SL_FIELD_CHILD_MAX, "a list's child");

#define BAR(member) SL_AT(struct bar, member)

static const struct sl_field bar_fields[] = {
    ALL("why", TEXT, "The thing in one word.", BAR(why)),
    ALL("nodes", NUMBER, "How many nodes it is true of.", BAR(nodes)),
    ALL("text", TEXT, "The same in a sentence, which names one of them.", BAR(text)),
    SL_FIELDS_END,
};

/* Each thing that bars cuts once. */
static bool next_bar(const void *record, unsigned *at, void *child)
{
    const struct sl_explain *explain = record;
    struct bar *out = child;
    char more[48] = "";
    while (*at < SL_CUT_BARS && explain->barred[*at].n == 0) {
        (*at)++;
    }
    if (*at == SL_CUT_BARS) {
        return false;
    }
    enum sl_cut_bar bar = (enum sl_cut_bar)(*at)++;
    size_t n = explain->barred[bar].n;
    if (n > 1) {
        (void)snprintf(more, sizeof(more), " and %zu more node%s", n - 1, n == 2 ? "" : "s");
    }
    *out = (struct bar){.why = sl_cut_bar_name(bar), .nodes = (int64_t)n};
    (void)snprintf(out->text, sizeof(out->text), "%s%s %s not cut now: %s",
                   sl_explain_view(explain, explain->barred[bar].first)->node->name, more,
                   n > 1 ? "are" : "is", sl_cut_bar_text(bar));
    return true;
}

#define EXPLAIN(member) SL_AT(struct sl_explain, member)

const struct sl_field sl_model_explain[] = {
    ALL("nodes", NUMBER, "How many nodes there are.", EXPLAIN(n)),
    ALL("excluded", NUMBER, "How many of them its node selector, affinity or tolerations exclude.",
        EXPLAIN(count[SL_REASON_EXCLUDED])),
    ALL("fit", NUMBER, "How many of them could take it now.", EXPLAIN(n_fit)),
    ALL("reasons", LIST, "What the others have against it, each reason once.",
        LIST_OF(reason_fields, next_reason)),
    ALL("uncut", LIST,
        "What keeps GPUs from being cut on nodes that it would fit on then, each thing once.",
        LIST_OF(bar_fields, next_bar)),
    SL_FIELDS_END,
};
