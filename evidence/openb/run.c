/* One run over a list of pods, on the scheduler's own views: fit and constraints decide which nodes
 * qualify, a policy chooses one. */
#include <stdio.h>
#include <stdlib.h>

#include "evidence/openb/openb.h"
#include "sliced/admit.h"
#include "util/data/vec.h"

/* The demand that sliced has seen: the asks of late. It is counted by class, where the daemon
 * counts pods that ask for the same GPUs and CPU together; the published figures come from this. */
struct sl_openb_seen {
    struct sl_demand demand;
    uint32_t *count;                   /* by class */
    uint32_t recent[SL_DEMAND_RECENT]; /* classes */
    size_t n;                          /* asks so far */
    struct sl_score_config weights;
};

/* A node's score for a class, while nothing changes there. */
struct known {
    int64_t score;
    uint32_t version;
    int gpu;
};

/* ---- demand ---- */

static bool typical_is_before(const struct sl_typical *a, const struct sl_typical *b)
{
    return a->weight != b->weight ? a->weight > b->weight : a->count < b->count;
}

static void typical_offer(struct sl_demand *demand, const struct sl_typical *fresh)
{
    unsigned at = 0;
    while (at < demand->n_typical && !typical_is_before(fresh, &demand->typical[at])) {
        at++;
    }
    if (at == SL_TYPICAL_MAX) {
        return;
    }
    unsigned behind = demand->n_typical - at;
    behind -= demand->n_typical == SL_TYPICAL_MAX ? 1 : 0;
    memmove(&demand->typical[at + 1], &demand->typical[at], behind * sizeof(demand->typical[0]));
    demand->typical[at] = *fresh;
    demand->n_typical = (uint8_t)(demand->n_typical + (demand->n_typical < SL_TYPICAL_MAX ? 1 : 0));
}

static void demand_see(struct sl_openb_run *run, uint32_t class)
{
    struct sl_openb_seen *seen = run->seen;
    uint32_t *slot = &seen->recent[seen->n % SL_DEMAND_RECENT];
    if (seen->n >= SL_DEMAND_RECENT) {
        seen->count[*slot]--;
    }
    *slot = class;
    seen->count[class]++;
    seen->n++;
    seen->demand.n_typical = 0;
    for (uint32_t i = 0; i < run->openb->n_classes; i++) {
        const struct sl_openb_class *c = &run->openb->class[i];
        if (seen->count[i] > 0 && c->ask.n > 0) {
            const struct sl_typical typical = {.key = c->ask.item[0].key,
                                               .count = c->ask.item[0].count,
                                               .cpu_milli = c->cpu_milli,
                                               .weight = (int32_t)seen->count[i],
                                               .kind = c->ask.item[0].kind};
            typical_offer(&seen->demand, &typical);
        }
    }
}

/* ---- nodes ---- */

static int prepare_nodes(struct sl_openb_run *run, struct sl_error *err)
{
    const struct sl_fleet *fleet = &run->openb->fleet;
    run->node = calloc(fleet->n, sizeof(*run->node));
    size_t *order = calloc(fleet->n, sizeof(*order));
    bool ok = run->node != NULL && order != NULL;
    for (size_t i = 0; ok && i < fleet->n; i++) {
        size_t j = (size_t)sl_rng_below(&run->rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; ok && i < fleet->n; i++) {
        run->node[i].view = sl_view_new(fleet->node[order[i]], NULL, 0);
        ok = run->node[i].view != NULL;
        run->n_nodes += ok ? 1 : 0;
    }
    free(order);
    return ok ? 0 : sl_error_nomem(err);
}

static void free_run(struct sl_openb_run *run)
{
    for (size_t i = 0; i < run->n_nodes; i++) {
        sl_view_free(run->node[i].view);
        for (uint32_t p = 0; p < run->node[i].n_pods; p++) {
            sl_pod_unref(run->node[i].pod[p]);
        }
        free(run->node[i].pod);
    }
    free(run->node);
    free(run->typical);
    if (run->seen != NULL) {
        free(run->seen->count);
    }
    free(run->seen);
}

/* The chosen GPU, or those that bind would choose. */
static bool devices_assign(const struct sl_openb_node *node, const struct sl_openb_class *class,
                           int gpu, char text[SL_ASSIGNMENT_TEXT_MAX])
{
    struct sl_assignment assignment;
    text[0] = '\0';
    if (class->ask.n == 0) {
        return true;
    }
    if (gpu >= 0) {
        assignment.n = 1;
        assignment.part[0] = (struct sl_assignment_part){0, (int16_t)gpu, -1, class->milli};
    } else if (!sl_choose(node->view, &class->ask, &assignment, NULL)) {
        return false;
    }
    return sl_assignment_format(node->view->node, &class->ask, &assignment, text,
                                SL_ASSIGNMENT_TEXT_MAX) > 0;
}

static int pod_place(struct sl_openb_node *node, const struct sl_openb_class *class, int gpu,
                     struct sl_error *err)
{
    char text[SL_ASSIGNMENT_TEXT_MAX];
    if (sl_vec_reserve(&node->pod, &node->cap_pods, node->n_pods + 1, sizeof(struct sl_pod *)) <
        0) {
        return sl_error_nomem(err);
    }
    if (!devices_assign(node, class, gpu, text)) {
        return sl_error_set(err, SL_ERR_INTERNAL, "a pod that fits could not be placed");
    }
    const char *name = node->view->node->name;
    struct sl_pod *pod =
        sl_pod_bound_to(class->pod, name, text[0] == '\0' ? NULL : text, SL_POD_RUNNING);
    if (pod == NULL) {
        return sl_error_nomem(err);
    }
    node->pod[node->n_pods++] = pod;
    struct sl_view *view = sl_view_new(node->view->node, node->pod, node->n_pods);
    if (view == NULL) {
        return sl_error_nomem(err);
    }
    sl_view_free(node->view);
    node->view = view;
    node->version++;
    if (class->gpus > 0) {
        node->affinity[class->milli < SL_OPENB_GPU ? 0 : class->gpus]++;
    }
    return 0;
}

/* ---- choosing a node ---- */

static bool class_fits(const struct sl_openb_node *node, const struct sl_openb_class *class)
{
    return (class->ask.n == 0 || sl_fit(node->view, &class->ask, NULL)) &&
           sl_constraints_admit_now(class->pod->constraints, node->view) == SL_CONSTRAINT_NONE;
}

static struct sl_openb_node *node_choose_ours(struct sl_openb_run *run,
                                              const struct sl_openb_class *class)
{
    struct sl_scorer scorer;
    struct sl_openb_node *best = NULL;
    int32_t most = 0;
    sl_scorer_init(&scorer, &class->ask, &run->seen->demand, &run->seen->weights);
    for (size_t i = 0; i < run->n_nodes; i++) {
        struct sl_openb_node *node = &run->node[i];
        struct sl_score score;
        if (class_fits(node, class) && sl_scorer_score(&scorer, node->view, &score) &&
            (best == NULL || score.total > most)) {
            best = node;
            most = score.total;
        }
    }
    return best;
}

static struct sl_openb_node *node_choose(struct sl_openb_run *run,
                                         const struct sl_openb_class *class, struct known *known,
                                         int *gpu)
{
    struct sl_openb_node *best = NULL;
    int64_t most = 0;
    uint64_t fitting = 0;
    for (size_t i = 0; i < run->n_nodes; i++) {
        struct sl_openb_node *node = &run->node[i];
        struct known *of = &known[i];
        if (!class_fits(node, class)) {
            continue;
        }
        if (of->version != node->version + 1 || run->policy->random) {
            of->gpu = -1;
            of->score = run->policy->score(run, node, class, &of->gpu);
            of->version = node->version + 1;
        }
        fitting++;
        bool better = run->policy->random ? sl_rng_below(&run->rng, fitting) == 0
                                          : best == NULL || of->score > most;
        if (better) {
            best = node;
            most = of->score;
            *gpu = of->gpu;
        }
    }
    return best;
}

/* ---- the stream ---- */

static int64_t milli_asked(const struct sl_openb_class *class)
{
    return (int64_t) class->gpus * class->milli;
}

/* Shuffles the list, then cuts it or repeats random pods of it until the pods ask for target milli.
 * As in the published simulator, only one GPU of the next pod counts for the limit. */
static uint32_t *make_stream(struct sl_openb_run *run, double target, size_t *n)
{
    const struct sl_openb *openb = run->openb;
    size_t cap = openb->n_pods;
    uint32_t *stream = malloc(cap * sizeof(*stream));
    double sum = 0;
    for (size_t i = 0; stream != NULL && i < openb->n_pods; i++) {
        size_t j = (size_t)sl_rng_below(&run->rng, i + 1);
        stream[i] = stream[j];
        stream[j] = openb->pod[i];
        sum += (double)milli_asked(&openb->class[openb->pod[i]]);
    }
    *n = openb->n_pods;
    while (stream != NULL && sum > target && *n > 0) {
        size_t i = (size_t)sl_rng_below(&run->rng, *n);
        sum -= (double)milli_asked(&openb->class[stream[i]]);
        memmove(&stream[i], &stream[i + 1], (*n - i - 1) * sizeof(*stream));
        (*n)--;
    }
    while (stream != NULL && sum > 0 && sum < target) {
        uint32_t class = openb->pod[sl_rng_below(&run->rng, openb->n_pods)];
        if (sum + openb->class[class].milli > target) {
            break;
        }
        if (sl_vec_reserve(&stream, &cap, *n + 1, sizeof(*stream)) < 0) {
            free(stream);
            return NULL;
        }
        sum += (double)milli_asked(&openb->class[class]);
        stream[(*n)++] = class;
    }
    return stream;
}

static int stream_play(struct sl_openb_run *run, const uint32_t *stream, size_t n,
                       struct known *known, struct sl_openb_outcome *out, struct sl_error *err)
{
    const struct sl_openb *openb = run->openb;
    int64_t given = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sl_openb_class *class = &openb->class[stream[i]];
        int gpu = -1;
        if (run->policy->ours) {
            demand_see(run, stream[i]);
        }
        struct sl_openb_node *node =
            run->policy->ours ? node_choose_ours(run, class)
                              : node_choose(run, class, &known[stream[i] * run->n_nodes], &gpu);
        if (node == NULL) {
            out->failed++;
            continue;
        }
        if (pod_place(node, class, gpu, err) < 0) {
            return -1;
        }
        given += milli_asked(class);
    }
    out->pods = n;
    out->allocation = (double)given / (double)openb->milli;
    return 0;
}

static int prepare_ours(struct sl_openb_run *run, struct sl_error *err)
{
    run->seen = calloc(1, sizeof(*run->seen));
    if (run->seen == NULL) {
        return sl_error_nomem(err);
    }
    run->seen->count = calloc(run->openb->n_classes, sizeof(*run->seen->count));
    return run->seen->count == NULL ? sl_error_nomem(err) : 0;
}

int sl_openb_simulate(const struct sl_openb *openb, const struct sl_openb_policy *policy,
                      const struct sl_score_config *weights, uint64_t seed, double load,
                      struct sl_openb_outcome *out, struct sl_error *err)
{
    struct sl_openb_run run = {.openb = openb, .policy = policy};
    uint32_t *stream = NULL;
    struct known *known = NULL;
    size_t n = 0;
    int rc = -1;
    *out = (struct sl_openb_outcome){0};
    sl_rng_seed(&run.rng, seed, 0);
    stream = make_stream(&run, load * (double)openb->milli, &n);
    known = calloc(openb->n_classes * openb->fleet.n + 1, sizeof(*known));
    if (stream == NULL || known == NULL) {
        (void)sl_error_nomem(err);
        goto done;
    }
    if (prepare_nodes(&run, err) < 0 || sl_openb_find_typical(&run, err) < 0 ||
        prepare_ours(&run, err) < 0) {
        goto done;
    }
    run.seen->weights = *weights;
    rc = stream_play(&run, stream, n, known, out, err);
done:
    free(stream);
    free(known);
    free_run(&run);
    return rc;
}
