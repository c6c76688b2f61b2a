/* Which nodes admit a pod, by the rules of Kubernetes: NodeAffinity, TaintToleration,
 * NodeUnschedulable and NodeResourcesFit of k8s.io/kubernetes/pkg/scheduler/framework/plugins. */
#include "sliced/admit.h"

#include "util/data/sat.h"

/* ---- labels ---- */

static bool is_one_of(const struct sl_match *match, const char *text)
{
    for (unsigned i = 0; i < match->n_values; i++) {
        if (strcmp(match->value[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* Gt and Lt: true when both values are whole numbers and the node's compares as the pod asks. */
static bool compares(uint8_t op, const char *bound_text, const char *text)
{
    int64_t theirs = 0;
    int64_t bound = 0;
    if (!sl_str_to_i64(sl_str_of(text), &theirs) || !sl_str_to_i64(sl_str_of(bound_text), &bound)) {
        return false;
    }
    return op == SL_MATCH_GT ? theirs > bound : theirs < bound;
}

/* text: the value of the label or field, NULL when the node has none. */
static bool holds(const struct sl_match *match, const char *text)
{
    switch ((enum sl_match_op)match->op) {
    case SL_MATCH_IN:
        return text != NULL && is_one_of(match, text);
    case SL_MATCH_NOT_IN:
        return text == NULL || !is_one_of(match, text);
    case SL_MATCH_EXISTS:
        return text != NULL;
    case SL_MATCH_DOES_NOT_EXIST:
        return text == NULL;
    case SL_MATCH_GT:
    case SL_MATCH_LT:
        return text != NULL && match->n_values == 1 && compares(match->op, match->value[0], text);
    case SL_MATCH_UNKNOWN:
        return true;
    }
    return false;
}

static bool all_hold(const struct sl_match *match, unsigned n, const struct sl_node *node)
{
    for (unsigned i = 0; i < n; i++) {
        if (!holds(&match[i], match[i].field ? node->name : sl_node_label(node, match[i].key))) {
            return false;
        }
    }
    return true;
}

/* A term without expressions matches nothing. */
static bool affinity_admits(const struct sl_constraints *c, const struct sl_node *node)
{
    for (unsigned i = 0; i < c->n_terms; i++) {
        if (c->term[i].n > 0 && all_hold(c->term[i].match, c->term[i].n, node)) {
            return true;
        }
    }
    return !c->affinity;
}

static const char *only_of(const struct sl_match *match, unsigned n, const char *key)
{
    for (unsigned i = 0; i < n; i++) {
        if (match[i].op == SL_MATCH_IN && match[i].n_values == 1 && !match[i].field &&
            strcmp(match[i].key, key) == 0) {
            return match[i].value[0];
        }
    }
    return NULL;
}

const char *sl_constraints_only(const struct sl_constraints *constraints, const char *key)
{
    const struct sl_constraints *c = constraints;
    const char *only = c == NULL ? NULL : only_of(c->selector, c->n_selector, key);
    bool selected = only != NULL;
    for (unsigned i = 0; c != NULL && i < c->n_terms && !selected; i++) {
        const char *one = only_of(c->term[i].match, c->term[i].n, key);
        if (c->term[i].n > 0 && (one == NULL || (only != NULL && strcmp(one, only) != 0))) {
            return NULL;
        }
        only = one == NULL ? only : one;
    }
    return only;
}

/* ---- taints ---- */

/* Unlike node affinity, KEP-5471 takes no number with leading zeros, nor "-0". */
static bool is_plain(const char *number)
{
    const char *digits = number + (number[0] == '-');
    return digits[0] != '0' || (digits == number && digits[1] == '\0');
}

static bool value_covers(const struct sl_toleration *toleration, const char *value)
{
    if (toleration->value == NULL) {
        return true;
    }
    if (toleration->op != SL_MATCH_GT && toleration->op != SL_MATCH_LT) {
        return strcmp(toleration->value, value) == 0;
    }
    return is_plain(toleration->value) && is_plain(value) &&
           compares(toleration->op, toleration->value, value);
}

static bool toleration_covers(const struct sl_toleration *toleration, const struct sl_taint *taint)
{
    return (toleration->effect == SL_TAINT_ANY || toleration->effect == taint->effect) &&
           (toleration->key == NULL || strcmp(toleration->key, taint->key) == 0) &&
           value_covers(toleration, taint->value);
}

static bool tolerates(const struct sl_constraints *c, const struct sl_taint *taint)
{
    for (unsigned i = 0; c != NULL && i < c->n_tolerations; i++) {
        if (toleration_covers(&c->toleration[i], taint)) {
            return true;
        }
    }
    return false;
}

static bool taints_admit(const struct sl_constraints *c, const struct sl_node *node)
{
    for (unsigned i = 0; i < node->n_taints; i++) {
        const struct sl_taint *taint = &node->taint[i];
        bool keeps_away =
            taint->effect == SL_TAINT_NO_SCHEDULE || taint->effect == SL_TAINT_NO_EXECUTE;
        if (keeps_away && !tolerates(c, taint)) {
            return false;
        }
    }
    return true;
}

enum sl_constraint sl_constraints_admit(const struct sl_constraints *constraints,
                                        const struct sl_node *node)
{
    static const struct sl_taint cordon = {"node.kubernetes.io/unschedulable", "",
                                           SL_TAINT_NO_SCHEDULE};
    if (node->unschedulable && !tolerates(constraints, &cordon)) {
        return SL_CONSTRAINT_UNSCHEDULABLE;
    }
    if (constraints != NULL && !all_hold(constraints->selector, constraints->n_selector, node)) {
        return SL_CONSTRAINT_SELECTOR;
    }
    if (constraints != NULL && !affinity_admits(constraints, node)) {
        return SL_CONSTRAINT_AFFINITY;
    }
    return taints_admit(constraints, node) ? SL_CONSTRAINT_NONE : SL_CONSTRAINT_TAINT;
}

/* ---- what is in use ---- */

struct sl_host_use sl_host_use_of(const struct sl_view *view)
{
    return (struct sl_host_use){
        .cpu_milli = view->cpu_milli, .memory_bytes = view->memory_bytes, .n_pods = view->n_pods};
}

void sl_host_use_add(struct sl_host_use *use, const struct sl_pod *pod)
{
    use->n_pods++;
    if (pod->constraints != NULL) {
        use->cpu_milli = sl_sat_add(use->cpu_milli, pod->constraints->cpu_milli);
        use->memory_bytes = sl_sat_add(use->memory_bytes, pod->constraints->memory_bytes);
    }
}

static int64_t sum_without(int64_t sum, int64_t part)
{
    return sum == INT64_MAX ? sum : sum - part;
}

void sl_host_use_remove(struct sl_host_use *use, const struct sl_pod *pod)
{
    use->n_pods--;
    if (pod->constraints != NULL) {
        use->cpu_milli = sum_without(use->cpu_milli, pod->constraints->cpu_milli);
        use->memory_bytes = sum_without(use->memory_bytes, pod->constraints->memory_bytes);
    }
}

/* most: -1 when the node does not say. */
static bool has_room(int64_t most, int64_t used, int64_t asked)
{
    return most < 0 || asked <= 0 || (used <= most && asked <= most - used);
}

enum sl_constraint sl_host_admits(const struct sl_host *host, const struct sl_host_use *use,
                                  const struct sl_constraints *constraints)
{
    if (!has_room(host->pods, use->n_pods, 1)) {
        return SL_CONSTRAINT_PODS;
    }
    if (constraints == NULL) {
        return SL_CONSTRAINT_NONE;
    }
    if (!has_room(host->cpu_milli, use->cpu_milli, constraints->cpu_milli)) {
        return SL_CONSTRAINT_CPU;
    }
    return has_room(host->memory_bytes, use->memory_bytes, constraints->memory_bytes)
               ? SL_CONSTRAINT_NONE
               : SL_CONSTRAINT_MEMORY;
}

enum sl_constraint sl_constraints_admit_beside(const struct sl_constraints *constraints,
                                               const struct sl_view *view,
                                               const struct sl_host_use *more)
{
    struct sl_host_use use = sl_host_use_of(view);
    enum sl_constraint against = sl_constraints_admit(constraints, view->node);
    if (against != SL_CONSTRAINT_NONE) {
        return against;
    }
    if (more != NULL) {
        use.cpu_milli = sl_sat_add(use.cpu_milli, more->cpu_milli);
        use.memory_bytes = sl_sat_add(use.memory_bytes, more->memory_bytes);
        use.n_pods += more->n_pods;
    }
    return sl_host_admits(&view->node->host, &use, constraints);
}

enum sl_constraint sl_constraints_admit_now(const struct sl_constraints *constraints,
                                            const struct sl_view *view)
{
    return sl_constraints_admit_beside(constraints, view, NULL);
}
