/* Reads a pod's constraints from its spec, within bounds; input that Kubernetes would refuse has no
 * effect. Operators that are not known here may be a later Kubernetes': they keep no node away. */
#include "core/request/constraint_draft.h"

static void complain(struct sl_text *problem, const char *field)
{
    sl_text_next(problem, field);
    sl_text_puts(problem, ": larger than what is kept of it: ignored");
}

/* Says so of the first such operator of a field. */
static void say_unknown(struct sl_text *problem, const char *field, struct sl_str op, bool *said)
{
    if (!*said) {
        sl_text_next(problem, field);
        sl_text_puts(problem, ": operator ");
        sl_text_quoted(problem, op);
        sl_text_puts(problem, " is not known: kube-scheduler decides");
    }
    *said = true;
}

bool sl_label_is_own(const char *key)
{
    return strcmp(key, "kubernetes.io/hostname") == 0 ||
           strcmp(key, "nvidia.com/gfd.timestamp") == 0 ||
           strcmp(key, "nvidia.com/mig.config") == 0;
}

/* Counts the text against the pod's limit; NULL when it exceeds that. */
static const char *keep(struct sl_constraint_draft *draft, struct sl_str text)
{
    draft->text += text.len + 1;
    if (draft->text > SL_CONSTRAINT_TEXT_MAX) {
        return NULL;
    }
    return text.len == 0 ? "" : text.s;
}

/* ---- selector and affinity ---- */

static bool keep_value(struct sl_constraint_draft *draft, struct sl_str text)
{
    if (draft->n_values == SL_CONSTRAINT_VALUES_MAX) {
        return false;
    }
    const char *value = keep(draft, text);
    draft->value[draft->n_values] = value;
    draft->n_values++;
    return value != NULL;
}

static struct sl_match *add_match(struct sl_constraint_draft *draft, struct sl_str key)
{
    const char *text = keep(draft, key);
    if (text == NULL || draft->n_matches == SL_CONSTRAINT_MATCHES_MAX) {
        return NULL;
    }
    struct sl_match *match = &draft->match[draft->n_matches];
    draft->n_matches++;
    *match = (struct sl_match){.key = text, .value = &draft->value[draft->n_values]};
    return match;
}

static bool read_selector(struct sl_constraint_draft *draft, const struct sl_pair *list)
{
    draft->constraints.selector = draft->match;
    for (; list != NULL; list = list->next) {
        struct sl_match *match = add_match(draft, list->key);
        if (match == NULL || !keep_value(draft, list->value)) {
            return false;
        }
        match->op = SL_MATCH_IN;
        match->n_values = 1;
        draft->constraints.n_selector++;
    }
    return true;
}

static uint8_t op_of(struct sl_str text)
{
    static const char *const names[] = {
        [SL_MATCH_IN] = "In",         [SL_MATCH_NOT_IN] = "NotIn",
        [SL_MATCH_EXISTS] = "Exists", [SL_MATCH_DOES_NOT_EXIST] = "DoesNotExist",
        [SL_MATCH_GT] = "Gt",         [SL_MATCH_LT] = "Lt",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (sl_str_eq(text, sl_str_of(names[i]))) {
            return (uint8_t)i;
        }
    }
    return SL_MATCH_UNKNOWN;
}

/* False for an expression that Kubernetes' labels.NewRequirement() or
 * nodeSelectorRequirementsAsFieldSelector() refuses: it matches no node. */
static bool is_sound(const struct sl_match *match)
{
    int64_t number = 0;
    if (match->field && match->op != SL_MATCH_UNKNOWN) {
        return match->n_values == 1 && match->op <= SL_MATCH_NOT_IN &&
               strcmp(match->key, "metadata.name") == 0;
    }
    switch ((enum sl_match_op)match->op) {
    case SL_MATCH_IN:
    case SL_MATCH_NOT_IN:
        return match->n_values > 0;
    case SL_MATCH_EXISTS:
    case SL_MATCH_DOES_NOT_EXIST:
        return match->n_values == 0;
    case SL_MATCH_GT:
    case SL_MATCH_LT:
        return match->n_values == 1 && sl_str_to_i64(sl_str_of(match->value[0]), &number);
    case SL_MATCH_UNKNOWN:
        return true;
    }
    return false;
}

static bool read_expressions(struct sl_constraint_draft *draft, struct sl_match_term *term,
                             const struct sl_expression_facts *list, bool field,
                             struct sl_text *problem)
{
    for (; list != NULL; list = list->next) {
        struct sl_match *match = add_match(draft, list->key);
        if (match == NULL) {
            return false;
        }
        term->n++;
        match->field = field;
        for (const struct sl_text_facts *value = list->values; value != NULL; value = value->next) {
            if (!keep_value(draft, value->text)) {
                return false;
            }
            match->n_values++;
        }
        match->op = op_of(list->op);
        if (match->op == SL_MATCH_UNKNOWN) {
            say_unknown(problem, "spec.affinity.nodeAffinity", list->op, &draft->said_affinity);
        }
        if (!is_sound(match)) {
            match->op = SL_MATCH_IN;
            match->n_values = 0;
        }
    }
    return true;
}

static bool read_terms(struct sl_constraint_draft *draft, const struct sl_term_facts *list,
                       struct sl_text *problem)
{
    struct sl_constraints *c = &draft->constraints;
    c->affinity = true;
    c->term = draft->term;
    for (; list != NULL; list = list->next) {
        if (c->n_terms == SL_CONSTRAINT_TERMS_MAX) {
            return false;
        }
        struct sl_match_term *term = &draft->term[c->n_terms];
        c->n_terms++;
        *term = (struct sl_match_term){.match = &draft->match[draft->n_matches]};
        if (!read_expressions(draft, term, list->expressions, false, problem) ||
            !read_expressions(draft, term, list->fields, true, problem)) {
            return false;
        }
    }
    return true;
}

/* ---- tolerations ---- */

static bool read_effect(struct sl_str text, uint8_t *out)
{
    static const struct {
        const char *name;
        enum sl_taint_effect effect;
    } effects[] = {
        {"", SL_TAINT_ANY},
        {"NoSchedule", SL_TAINT_NO_SCHEDULE},
        {"NoExecute", SL_TAINT_NO_EXECUTE},
        {"PreferNoSchedule", SL_TAINT_PREFER_NO_SCHEDULE},
    };
    for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
        if (sl_str_eq(text, sl_str_of(effects[i].name))) {
            *out = (uint8_t)effects[i].effect;
            return true;
        }
    }
    return false;
}

/* Reads key, operator and value; false: beyond the pod's text. */
static bool read_toleration(struct sl_constraint_draft *draft,
                            const struct sl_toleration_facts *facts, struct sl_toleration *t,
                            struct sl_text *problem)
{
    uint8_t op = facts->op.len == 0 || sl_str_eq(facts->op, SL_STR("Equal")) ? (uint8_t)SL_MATCH_IN
                                                                             : op_of(facts->op);
    bool valued = op == SL_MATCH_IN || op == SL_MATCH_GT || op == SL_MATCH_LT;
    if (!valued && op != SL_MATCH_EXISTS) {
        say_unknown(problem, "spec.tolerations", facts->op, &draft->said_tolerations);
    }
    t->op = valued ? op : (uint8_t)SL_MATCH_EXISTS;
    t->key = facts->key.len == 0 ? NULL : keep(draft, facts->key);
    t->value = valued ? keep(draft, facts->value) : NULL;
    return (t->key != NULL || facts->key.len == 0) && (t->value != NULL || !valued);
}

/* Leaves out tolerations of unknown effects, which tolerate no taint that we know. */
static bool read_tolerations(struct sl_constraint_draft *draft,
                             const struct sl_toleration_facts *list, struct sl_text *problem)
{
    struct sl_constraints *c = &draft->constraints;
    c->toleration = draft->toleration;
    for (; list != NULL; list = list->next) {
        struct sl_toleration t = {0};
        if (!read_effect(list->effect, &t.effect)) {
            continue;
        }
        if (c->n_tolerations == SL_CONSTRAINT_TOLERATIONS_MAX ||
            !read_toleration(draft, list, &t, problem)) {
            return false;
        }
        draft->toleration[c->n_tolerations] = t;
        c->n_tolerations++;
    }
    return true;
}

/* ---- all of them ---- */

static uint64_t mix_matches(uint64_t h, const struct sl_match *match, unsigned n)
{
    h = sl_mix(h, n);
    for (unsigned i = 0; i < n; i++) {
        h = sl_mix_text(h, match[i].key);
        h = sl_mix(h,
                   (uint64_t)match[i].n_values << 16 | (uint64_t)match[i].op << 1 | match[i].field);
        for (unsigned v = 0; v < match[i].n_values; v++) {
            h = sl_mix_text(h, match[i].value[v]);
        }
    }
    return h;
}

static uint64_t digest(const struct sl_constraints *c)
{
    uint64_t h = mix_matches(1, c->selector, c->n_selector);
    h = sl_mix(h, (uint64_t)c->n_terms << 1 | c->affinity);
    for (unsigned i = 0; i < c->n_terms; i++) {
        h = mix_matches(h, c->term[i].match, c->term[i].n);
    }
    h = sl_mix(h, c->n_tolerations);
    for (unsigned i = 0; i < c->n_tolerations; i++) {
        h = sl_mix_text(h, c->toleration[i].key);
        h = sl_mix_text(h, c->toleration[i].value);
        h = sl_mix(h, (uint64_t)c->toleration[i].op << 8 | c->toleration[i].effect);
    }
    h = sl_mix(h, (uint64_t)c->cpu_milli);
    h = sl_mix(h, (uint64_t)c->memory_bytes);
    return h == 0 ? 1 : h; /* 0 stands for none */
}

static bool asks_by_name(const struct sl_constraint_draft *draft)
{
    for (unsigned i = 0; i < draft->n_matches; i++) {
        if (draft->match[i].field || sl_label_is_own(draft->match[i].key)) {
            return true;
        }
    }
    return false;
}

const struct sl_constraints *sl_constraint_read(struct sl_constraint_draft *draft,
                                                const struct sl_pod_facts *facts,
                                                struct sl_text *problem)
{
    struct sl_constraints *c = &draft->constraints;
    draft->n_matches = 0;
    draft->n_values = 0;
    draft->text = 0;
    draft->said_affinity = false;
    draft->said_tolerations = false;
    if (!read_selector(draft, facts->node_selector)) {
        complain(problem, "spec.nodeSelector");
        c->n_selector = 0;
        draft->n_matches = 0;
        draft->n_values = 0;
        draft->text = 0;
    }
    size_t text = draft->text;
    if (facts->affinity && !read_terms(draft, facts->terms, problem)) {
        complain(problem, "spec.affinity.nodeAffinity");
        c->n_terms = 0;
        c->affinity = false;
        draft->n_matches = c->n_selector;
        draft->text = text;
    }
    if (!read_tolerations(draft, facts->tolerations, problem)) {
        complain(problem, "spec.tolerations");
        draft->toleration[0] = (struct sl_toleration){.effect = SL_TAINT_ANY};
        c->n_tolerations = 1;
    }
    if (c->n_selector == 0 && !c->affinity && c->n_tolerations == 0 && c->cpu_milli == 0 &&
        c->memory_bytes == 0) {
        return NULL;
    }
    c->by_name = asks_by_name(draft);
    c->weight = (uint16_t)(draft->n_matches + draft->n_values + c->n_tolerations);
    c->digest = digest(c);
    return c;
}
