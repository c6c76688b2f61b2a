/* The parts of a pod's spec that say where it may go: required node affinity and tolerations. */
#include "sliced/constraint.h"
#include "codec/object/parts.h"

/* One more of each than the core keeps, so that the core sees when there are too many. */

static int add_value(struct sl_walker *walker, void *target, const struct sl_event *event,
                     struct sl_error *err)
{
    struct sl_expression_facts *expression = target;
    struct sl_text_facts *value = sl_arena_alloc(walker->arena, sizeof(*value));
    if (value == NULL) {
        return sl_walk_nomem(walker, event, err);
    }
    int result = sl_walk_copy(walker, event, &value->text, err);
    if (result == SL_EVENT_GO) {
        value->next = expression->values;
        expression->values = value;
    }
    return result;
}

static const struct sl_field expression_fields[] = {
    {SL_FIELD_NAME("key"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_expression_facts, key)},
    {SL_FIELD_NAME("operator"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_expression_facts, op)},
    {SL_FIELD_NAME("values"), .kind = SL_FIELD_TEXTS, .value = add_value,
     .max = SL_CONSTRAINT_VALUES_MAX + 1},
};

static const struct sl_table expression_table = {SL_TABLE_FIELDS(expression_fields)};

static const struct sl_field term_fields[] = {
    {SL_FIELD_NAME("matchExpressions"), .kind = SL_FIELD_OBJECTS, .table = &expression_table,
     .offset = offsetof(struct sl_term_facts, expressions),
     .size = sizeof(struct sl_expression_facts), .next = offsetof(struct sl_expression_facts, next),
     .max = SL_CONSTRAINT_MATCHES_MAX + 1},
    {SL_FIELD_NAME("matchFields"), .kind = SL_FIELD_OBJECTS, .table = &expression_table,
     .offset = offsetof(struct sl_term_facts, fields), .size = sizeof(struct sl_expression_facts),
     .next = offsetof(struct sl_expression_facts, next), .max = SL_CONSTRAINT_MATCHES_MAX + 1},
};

static const struct sl_table term_table = {SL_TABLE_FIELDS(term_fields)};

static int note_required(struct sl_walker *walker, void *target, const struct sl_event *event,
                         struct sl_error *err)
{
    struct sl_pod_facts *pod = target;
    (void)walker;
    (void)event;
    (void)err;
    pod->affinity = true;
    return SL_EVENT_GO;
}

static const struct sl_field required_fields[] = {
    {SL_FIELD_NAME("nodeSelectorTerms"), .kind = SL_FIELD_OBJECTS, .table = &term_table,
     .offset = offsetof(struct sl_pod_facts, terms), .size = sizeof(struct sl_term_facts),
     .next = offsetof(struct sl_term_facts, next), .max = SL_CONSTRAINT_TERMS_MAX + 1},
};

static const struct sl_table required_table = {SL_TABLE_FIELDS(required_fields),
                                               .begin = note_required};

static const struct sl_field node_affinity_fields[] = {
    {SL_FIELD_NAME("requiredDuringSchedulingIgnoredDuringExecution"), .kind = SL_FIELD_OBJECT,
     .table = &required_table},
};

static const struct sl_table node_affinity_table = {SL_TABLE_FIELDS(node_affinity_fields)};

static const struct sl_field affinity_fields[] = {
    {SL_FIELD_NAME("nodeAffinity"), .kind = SL_FIELD_OBJECT, .table = &node_affinity_table},
};

const struct sl_table sl_affinity_table = {SL_TABLE_FIELDS(affinity_fields)};

static const struct sl_field toleration_fields[] = {
    {SL_FIELD_NAME("key"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_toleration_facts, key)},
    {SL_FIELD_NAME("operator"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_toleration_facts, op)},
    {SL_FIELD_NAME("value"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_toleration_facts, value)},
    {SL_FIELD_NAME("effect"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_toleration_facts, effect)},
};

const struct sl_table sl_toleration_table = {SL_TABLE_FIELDS(toleration_fields)};
