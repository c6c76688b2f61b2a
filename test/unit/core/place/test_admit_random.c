/* Random pods and nodes from a small world: what sl_constraints_admit says of them against a second
 * reading of the rules, straight from the facts. */
#include "unit/core/request/facts_rig.h"

#include "sliced/admit.h"
#include "sliced/pod.h"

enum { ROUNDS = 20000 };

static const char *const keys[] = {"a", "b", "c", "kubernetes.io/hostname", "metadata.name"};
static const char *const values[] = {"", "1", "2", "10", "-5", "x", "n1"};
static const char *const ops[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"};
static const char *const effects[] = {"", "NoSchedule", "NoExecute", "PreferNoSchedule"};
static const char *const toleration_ops[] = {"", "Equal", "Exists", "Gt", "Lt", "Near"};

#define PICK(seed, list) sl_str_of((list)[below(seed, sizeof(list) / sizeof((list)[0]))])

static unsigned below(uint64_t *seed, size_t n)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (unsigned)(((*seed * 0x2545f4914f6cdd1du) >> 33) % n);
}

static void *grab(struct facts_rig *rig, size_t size)
{
    void *block = sl_arena_alloc(&rig->arena, size);
    assert_non_null(block);
    return block;
}

/* ---- a random world ---- */

static struct sl_pair *random_pairs(struct facts_rig *rig, uint64_t *seed, unsigned most)
{
    struct sl_pair *list = NULL;
    for (unsigned i = below(seed, most + 1); i > 0; i--) {
        struct sl_str key = PICK(seed, keys);
        if (sl_pair_find(list, key) == NULL) {
            facts_pair(rig, &list, key.s, PICK(seed, values).s);
        }
    }
    return list;
}

static struct sl_expression_facts *random_expressions(struct facts_rig *rig, uint64_t *seed,
                                                      bool field)
{
    struct sl_expression_facts *list = NULL;
    for (unsigned i = below(seed, 3); i > 0; i--) {
        struct sl_expression_facts *e = grab(rig, sizeof(*e));
        e->key = field && below(seed, 8) > 0 ? SL_STR("metadata.name") : PICK(seed, keys);
        e->op = field ? sl_str_of(ops[below(seed, 3)]) : PICK(seed, ops);
        for (unsigned v = below(seed, 3); v > 0; v--) {
            struct sl_text_facts *value = grab(rig, sizeof(*value));
            value->text = PICK(seed, values);
            value->next = e->values;
            e->values = value;
        }
        e->next = list;
        list = e;
    }
    return list;
}

static void random_pod(struct facts_rig *rig, uint64_t *seed, struct sl_pod_facts *pod)
{
    *pod = (struct sl_pod_facts){.name = SL_STR("p")};
    pod->node_selector = random_pairs(rig, seed, below(seed, 2));
    pod->affinity = below(seed, 2) == 0;
    for (unsigned i = pod->affinity ? below(seed, 4) : 0; i > 0; i--) {
        struct sl_term_facts *term = grab(rig, sizeof(*term));
        term->expressions = random_expressions(rig, seed, false);
        term->fields = below(seed, 3) == 0 ? random_expressions(rig, seed, true) : NULL;
        term->next = pod->terms;
        pod->terms = term;
    }
    for (unsigned i = below(seed, 4); i > 0; i--) {
        struct sl_toleration_facts *t = grab(rig, sizeof(*t));
        t->key = below(seed, 3) == 0 ? (struct sl_str){0} : PICK(seed, keys);
        t->op = PICK(seed, toleration_ops);
        t->value = PICK(seed, values);
        t->effect = PICK(seed, effects);
        t->next = pod->tolerations;
        pod->tolerations = t;
    }
    if (below(seed, 4) == 0) {
        struct sl_toleration_facts *t = grab(rig, sizeof(*t));
        t->key = SL_STR("node.kubernetes.io/unschedulable");
        t->op = SL_STR("Exists");
        t->next = pod->tolerations;
        pod->tolerations = t;
    }
}

static void random_node(struct facts_rig *rig, uint64_t *seed, struct sl_node_facts *node)
{
    *node = (struct sl_node_facts){.name = SL_STR("n1")};
    node->labels = random_pairs(rig, seed, 5);
    node->unschedulable = below(seed, 8) == 0;
    for (unsigned i = below(seed, 4) == 0 ? below(seed, 4) : 0; i > 0; i--) {
        struct sl_taint_facts *t = grab(rig, sizeof(*t));
        t->key = PICK(seed, keys);
        t->value = PICK(seed, values);
        t->effect = sl_str_of(effects[1 + below(seed, 3)]);
        t->next = node->taints;
        node->taints = t;
    }
}

/* ---- the second reading ---- */

static bool is(struct sl_str text, const char *other)
{
    return sl_str_eq(text, sl_str_of(other));
}

static bool listed(const struct sl_expression_facts *e, struct sl_str text)
{
    for (const struct sl_text_facts *v = e->values; v != NULL; v = v->next) {
        if (sl_str_eq(v->text, text)) {
            return true;
        }
    }
    return false;
}

static bool whole(struct sl_str text, long *out)
{
    char *end = NULL;
    *out = text.len == 0 ? 0 : strtol(text.s, &end, 10);
    return text.len > 0 && *end == '\0';
}

static bool expression_holds(const struct sl_expression_facts *e, const struct sl_pair *label)
{
    bool none = e->values == NULL;
    bool one = !none && e->values->next == NULL;
    long theirs = 0;
    long bound = 0;
    if (is(e->op, "In")) {
        return !none && label != NULL && listed(e, label->value);
    }
    if (is(e->op, "NotIn")) {
        return !none && (label == NULL || !listed(e, label->value));
    }
    if (is(e->op, "Exists")) {
        return none && label != NULL;
    }
    if (is(e->op, "DoesNotExist")) {
        return none && label == NULL;
    }
    if (is(e->op, "Near")) {
        return true; /* kube-scheduler decides */
    }
    if (!one || label == NULL || !whole(label->value, &theirs) || !whole(e->values->text, &bound)) {
        return false;
    }
    return (is(e->op, "Gt") && theirs > bound) || (is(e->op, "Lt") && theirs < bound);
}

static bool field_holds(const struct sl_expression_facts *e, struct sl_str name)
{
    bool one = e->values != NULL && e->values->next == NULL;
    if (!one || !is(e->key, "metadata.name")) {
        return false;
    }
    bool same = sl_str_eq(e->values->text, name);
    return (is(e->op, "In") && same) || (is(e->op, "NotIn") && !same);
}

static bool term_holds(const struct sl_term_facts *term, const struct sl_node_facts *node)
{
    bool any = false;
    for (const struct sl_expression_facts *e = term->expressions; e != NULL; e = e->next) {
        any = true;
        if (!expression_holds(e, sl_pair_find(node->labels, e->key))) {
            return false;
        }
    }
    for (const struct sl_expression_facts *e = term->fields; e != NULL; e = e->next) {
        any = true;
        if (!field_holds(e, node->name)) {
            return false;
        }
    }
    return any;
}

static bool tolerated(const struct sl_pod_facts *pod, const struct sl_taint_facts *taint)
{
    for (const struct sl_toleration_facts *t = pod->tolerations; t != NULL; t = t->next) {
        long theirs = 0;
        long bound = 0;
        bool numbers = whole(taint->value, &theirs) && whole(t->value, &bound);
        bool value = is(t->op, "Gt")   ? numbers && theirs > bound
                     : is(t->op, "Lt") ? numbers && theirs < bound
                                       : is(t->op, "Exists") || is(t->op, "Near") ||
                                             sl_str_eq(t->value, taint->value);
        if ((t->effect.len == 0 || sl_str_eq(t->effect, taint->effect)) &&
            (t->key.len == 0 || sl_str_eq(t->key, taint->key)) && value) {
            return true;
        }
    }
    return false;
}

static enum sl_constraint expected(const struct sl_pod_facts *pod, const struct sl_node_facts *node)
{
    const struct sl_taint_facts cordon = {.key = SL_STR("node.kubernetes.io/unschedulable"),
                                          .effect = SL_STR("NoSchedule")};
    if (node->unschedulable && !tolerated(pod, &cordon)) {
        return SL_CONSTRAINT_UNSCHEDULABLE;
    }
    for (const struct sl_pair *pair = pod->node_selector; pair != NULL; pair = pair->next) {
        const struct sl_pair *label = sl_pair_find(node->labels, pair->key);
        if (label == NULL || !sl_str_eq(label->value, pair->value)) {
            return SL_CONSTRAINT_SELECTOR;
        }
    }
    bool admitted = !pod->affinity;
    for (const struct sl_term_facts *term = pod->terms; term != NULL; term = term->next) {
        admitted = admitted || term_holds(term, node);
    }
    if (!admitted) {
        return SL_CONSTRAINT_AFFINITY;
    }
    for (const struct sl_taint_facts *t = node->taints; t != NULL; t = t->next) {
        if (!is(t->effect, "PreferNoSchedule") && !tolerated(pod, t)) {
            return SL_CONSTRAINT_TAINT;
        }
    }
    return SL_CONSTRAINT_NONE;
}

TEST_THAT(random_pods_go_where_a_second_reading_lets_them)
{
    struct facts_rig rig;
    uint64_t seed = 0x9e3779b97f4a7c15u;
    unsigned seen[SL_CONSTRAINT_COUNT] = {0};
    facts_init(&rig);
    for (int round = 0; round < ROUNDS; round++) {
        struct sl_pod_facts pod_facts;
        struct sl_node_facts node_facts;
        random_pod(&rig, &seed, &pod_facts);
        random_node(&rig, &seed, &node_facts);
        struct sl_pod *pod = sl_pod_new(&pod_facts, NULL);
        struct sl_node *node = sl_node_new(&node_facts, NULL);
        assert_non_null(pod);
        assert_non_null(node);
        enum sl_constraint found = sl_constraints_admit(pod->constraints, node);
        assert_int_equal(found, expected(&pod_facts, &node_facts));
        seen[found]++;
        sl_pod_unref(pod);
        sl_node_unref(node);
        sl_arena_reset(&rig.arena);
    }
    for (int i = SL_CONSTRAINT_NONE; i < SL_CONSTRAINT_CPU; i++) {
        assert_true(seen[i] > ROUNDS / 100); /* each answer has its share */
    }
    facts_free(&rig);
}
