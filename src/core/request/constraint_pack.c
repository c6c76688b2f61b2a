/* Copies a pod's constraints into the pod's own allocation. */
#include "core/request/constraint_draft.h"

/* Tolerations that the API server adds to each pod (DefaultTolerationSeconds), kept once. */
static const struct sl_toleration usual_tolerations[] = {
    {"node.kubernetes.io/not-ready", NULL, SL_TAINT_NO_EXECUTE, SL_MATCH_EXISTS},
    {"node.kubernetes.io/unreachable", NULL, SL_TAINT_NO_EXECUTE, SL_MATCH_EXISTS},
};
enum { USUAL = sizeof(usual_tolerations) / sizeof(usual_tolerations[0]) };

static bool are_usual(const struct sl_constraints *c)
{
    if (c->n_tolerations != USUAL) {
        return false;
    }
    for (unsigned i = 0; i < USUAL; i++) {
        const struct sl_toleration *t = &c->toleration[i];
        if (t->key == NULL || t->value != NULL || t->effect != usual_tolerations[i].effect ||
            strcmp(t->key, usual_tolerations[i].key) != 0) {
            return false;
        }
    }
    return true;
}

static const struct sl_match *pack_matches(struct sl_pack *at, const struct sl_match *from,
                                           unsigned n)
{
    struct sl_match *match = sl_pack_words(at, n * sizeof(*match));
    for (unsigned i = 0; i < n; i++) {
        struct sl_match one = from[i];
        const char **value = sl_pack_words(at, from[i].n_values * sizeof(*value));
        for (unsigned v = 0; v < from[i].n_values; v++) {
            const char *text = sl_pack_text(at, from[i].value[v]);
            if (value != NULL) {
                value[v] = text;
            }
        }
        one.key = sl_pack_text(at, from[i].key);
        one.value = value;
        if (match != NULL) {
            match[i] = one;
        }
    }
    return match;
}

static const struct sl_match_term *pack_terms(struct sl_pack *at, const struct sl_constraints *c)
{
    struct sl_match_term *term = sl_pack_words(at, c->n_terms * sizeof(*term));
    for (unsigned i = 0; i < c->n_terms; i++) {
        struct sl_match_term one = c->term[i];
        one.match = pack_matches(at, c->term[i].match, c->term[i].n);
        if (term != NULL) {
            term[i] = one;
        }
    }
    return term;
}

static const struct sl_toleration *pack_tolerations(struct sl_pack *at,
                                                    const struct sl_constraints *c)
{
    if (are_usual(c)) {
        return usual_tolerations;
    }
    struct sl_toleration *toleration = sl_pack_words(at, c->n_tolerations * sizeof(*toleration));
    for (unsigned i = 0; i < c->n_tolerations; i++) {
        struct sl_toleration one = c->toleration[i];
        one.key = sl_pack_text(at, one.key);
        one.value = sl_pack_text(at, one.value);
        if (toleration != NULL) {
            toleration[i] = one;
        }
    }
    return toleration;
}

const struct sl_constraints *sl_constraint_pack(const struct sl_constraints *constraints,
                                                struct sl_pack *at)
{
    if (constraints == NULL) {
        return NULL;
    }
    struct sl_constraints *copy = sl_pack_words(at, sizeof(*copy));
    struct sl_constraints made = *constraints;
    made.selector = pack_matches(at, constraints->selector, constraints->n_selector);
    made.term = pack_terms(at, constraints);
    made.toleration = pack_tolerations(at, constraints);
    if (copy != NULL) {
        *copy = made;
    }
    return copy;
}
