/* Copies a pod's constraints into the pod's own allocation. */
#include "core/request/constraint_draft.h"
#include "core/request/known.h"

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

size_t sl_pack_text_size(const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    struct sl_str str = sl_str_of(text);
    return sl_known_text(str) != NULL ? 0 : str.len + 1;
}

const char *sl_pack_text(struct sl_pack *at, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    if (text[0] == '\0') {
        return "";
    }
    struct sl_str str = sl_str_of(text);
    const char *known = sl_known_text(str);
    if (known != NULL) {
        return known;
    }
    char *start = at->text;
    memcpy(start, str.s, str.len + 1);
    at->text += str.len + 1;
    return start;
}

/* ---- sizes ---- */

static void measure_matches(const struct sl_match *match, unsigned n, size_t *words, size_t *text)
{
    *words += n * sizeof(match[0]);
    for (unsigned i = 0; i < n; i++) {
        *text += sl_pack_text_size(match[i].key);
        *words += match[i].n_values * sizeof(match[i].value[0]);
        for (unsigned v = 0; v < match[i].n_values; v++) {
            *text += sl_pack_text_size(match[i].value[v]);
        }
    }
}

void sl_constraint_measure(const struct sl_constraints *constraints, size_t *words, size_t *text)
{
    const struct sl_constraints *c = constraints;
    if (c == NULL) {
        return;
    }
    *words += sizeof(*c);
    measure_matches(c->selector, c->n_selector, words, text);
    *words += c->n_terms * sizeof(c->term[0]);
    for (unsigned i = 0; i < c->n_terms; i++) {
        measure_matches(c->term[i].match, c->term[i].n, words, text);
    }
    if (are_usual(c)) {
        return;
    }
    *words += c->n_tolerations * sizeof(c->toleration[0]);
    for (unsigned i = 0; i < c->n_tolerations; i++) {
        *text +=
            sl_pack_text_size(c->toleration[i].key) + sl_pack_text_size(c->toleration[i].value);
    }
}

/* ---- copies ---- */

static void *take_words(struct sl_pack *at, size_t size)
{
    char *start = at->words;
    at->words += size;
    return start;
}

static const struct sl_match *pack_matches(struct sl_pack *at, const struct sl_match *from,
                                           unsigned n)
{
    struct sl_match *match = take_words(at, n * sizeof(*match));
    for (unsigned i = 0; i < n; i++) {
        const char **value = take_words(at, from[i].n_values * sizeof(*value));
        for (unsigned v = 0; v < from[i].n_values; v++) {
            value[v] = sl_pack_text(at, from[i].value[v]);
        }
        match[i] = from[i];
        match[i].key = sl_pack_text(at, from[i].key);
        match[i].value = value;
    }
    return match;
}

static const struct sl_match_term *pack_terms(struct sl_pack *at, const struct sl_constraints *c)
{
    struct sl_match_term *term = take_words(at, c->n_terms * sizeof(*term));
    for (unsigned i = 0; i < c->n_terms; i++) {
        term[i] = c->term[i];
        term[i].match = pack_matches(at, c->term[i].match, c->term[i].n);
    }
    return term;
}

static const struct sl_toleration *pack_tolerations(struct sl_pack *at,
                                                    const struct sl_constraints *c)
{
    if (are_usual(c)) {
        return usual_tolerations;
    }
    struct sl_toleration *toleration = take_words(at, c->n_tolerations * sizeof(*toleration));
    for (unsigned i = 0; i < c->n_tolerations; i++) {
        toleration[i] = c->toleration[i];
        toleration[i].key = sl_pack_text(at, c->toleration[i].key);
        toleration[i].value = sl_pack_text(at, c->toleration[i].value);
    }
    return toleration;
}

const struct sl_constraints *sl_constraint_pack(const struct sl_constraints *constraints,
                                                struct sl_pack *at)
{
    if (constraints == NULL) {
        return NULL;
    }
    struct sl_constraints *copy = take_words(at, sizeof(*copy));
    *copy = *constraints;
    copy->selector = pack_matches(at, constraints->selector, constraints->n_selector);
    copy->term = pack_terms(at, constraints);
    copy->toleration = pack_tolerations(at, constraints);
    return copy;
}
