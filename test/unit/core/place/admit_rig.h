/* A pod and a node whose selectors, affinity, taints and tolerations are written in a word or two.
 */
#ifndef SLICED_TEST_ADMIT_RIG_H
#define SLICED_TEST_ADMIT_RIG_H

#include "unit/core/request/facts_rig.h"

#include "sliced/admit.h"
#include "sliced/pod.h"

struct rig {
    struct facts_rig facts;
    struct sl_pod_facts pod;
    struct sl_node_facts node;
    struct sl_pod *made;
    struct sl_node *made_node;
};

static inline int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    assert_non_null(rig);
    facts_init(&rig->facts);
    rig->pod.name = SL_STR("p");
    rig->node.name = SL_STR("n1");
    *state = rig;
    return 0;
}

static inline int tear_down(void **state)
{
    struct rig *rig = *state;
    sl_pod_unref(rig->made);
    sl_node_unref(rig->made_node);
    facts_free(&rig->facts);
    free(rig);
    return 0;
}

static inline struct sl_str copy(struct rig *rig, const char *text, size_t len)
{
    return len == 0 ? (struct sl_str){0} : facts_text(&rig->facts, text, len);
}

/* Cuts the next word, at one of the separators, off the text. */
static inline struct sl_str word(struct rig *rig, const char **text, const char *separators)
{
    size_t len = strcspn(*text, separators);
    struct sl_str out = copy(rig, *text, len);
    *text += len;
    *text += **text != '\0';
    return out;
}

static inline const struct sl_constraints *constraints_of(struct rig *rig)
{
    struct sl_error err = {0};
    sl_pod_unref(rig->made);
    rig->made = sl_pod_new(&rig->pod, &err);
    assert_non_null(rig->made);
    assert_int_equal(err.code, SL_ERR_NONE);
    return rig->made->constraints;
}

static inline struct sl_node *node_of(struct rig *rig)
{
    struct sl_error err = {0};
    sl_node_unref(rig->made_node);
    rig->made_node = sl_node_new(&rig->node, &err);
    assert_non_null(rig->made_node);
    assert_int_equal(err.code, SL_ERR_NONE);
    return rig->made_node;
}

/* "key Operator a,b": appended to the list. */
static inline void express(struct rig *rig, struct sl_expression_facts **list, const char *text)
{
    struct sl_expression_facts *e = sl_arena_alloc(&rig->facts.arena, sizeof(*e));
    assert_non_null(e);
    e->key = word(rig, &text, " ");
    e->op = word(rig, &text, " ");
    while (*text != '\0') {
        struct sl_text_facts *value = sl_arena_alloc(&rig->facts.arena, sizeof(*value));
        assert_non_null(value);
        value->text = word(rig, &text, ",");
        value->next = e->values;
        e->values = value;
    }
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = e;
}

static inline struct sl_term_facts *add_term(struct rig *rig)
{
    struct sl_term_facts *term = sl_arena_alloc(&rig->facts.arena, sizeof(*term));
    assert_non_null(term);
    struct sl_term_facts **last = &rig->pod.terms;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = term;
    rig->pod.affinity = true;
    return term;
}

/* Terms parted by '|', expressions by ';', fields begin with '@'. "" is a term without any. */
static inline void require(struct rig *rig, const char *text)
{
    rig->pod.terms = NULL;
    for (bool more = true; more;) {
        struct sl_term_facts *term = add_term(rig);
        size_t len = strcspn(text, "|");
        char *all = sl_arena_strdup(&rig->facts.arena, text, len);
        const char *rest = all;
        while (*rest != '\0') {
            struct sl_str one = word(rig, &rest, ";");
            bool field = one.s[0] == '@';
            express(rig, field ? &term->fields : &term->expressions, one.s + (field ? 1 : 0));
        }
        text += len;
        more = *text == '|';
        text += more ? 1 : 0;
    }
}

/* "key=value:Effect", as kubectl taint has it. */
static inline void taint(struct rig *rig, const char *text)
{
    struct sl_taint_facts *t = sl_arena_alloc(&rig->facts.arena, sizeof(*t));
    assert_non_null(t);
    size_t colon = strcspn(text, ":");
    char *head = sl_arena_strdup(&rig->facts.arena, text, colon);
    const char *rest = head;
    t->key = word(rig, &rest, "=");
    t->value = copy(rig, rest, strlen(rest));
    t->effect = copy(rig, text + colon + 1, strlen(text + colon + 1));
    t->next = rig->node.taints;
    rig->node.taints = t;
}

/* "key operator value effect", "-" for what is not given. */
static inline void tolerate(struct rig *rig, const char *text)
{
    struct sl_toleration_facts *t = sl_arena_alloc(&rig->facts.arena, sizeof(*t));
    assert_non_null(t);
    struct sl_str *part[] = {&t->key, &t->op, &t->value, &t->effect};
    for (size_t i = 0; i < 4; i++) {
        struct sl_str one = word(rig, &text, " ");
        *part[i] = sl_str_eq(one, SL_STR("-")) ? (struct sl_str){0} : one;
    }
    t->next = rig->pod.tolerations;
    rig->pod.tolerations = t;
}

static inline void asks(struct rig *rig, const char *requests)
{
    rig->pod.containers = NULL;
    facts_container(&rig->facts, &rig->pod.containers, "main", requests, NULL);
}

static inline void expect(struct rig *rig, enum sl_constraint expected)
{
    enum sl_constraint found = sl_constraints_admit(constraints_of(rig), node_of(rig));
    assert_int_equal(found, expected);
}

#endif
