/* The values that each kind of field takes, and where they go. */
#include "codec/stream/walker_kinds.h"

typedef int (*take_fn)(struct sl_walker *walker, const struct sl_field *field, char *target,
                       const struct sl_event *event, struct sl_error *err);
typedef int (*element_fn)(struct sl_walker *walker, struct sl_walk_frame *frame,
                          const struct sl_event *event, struct sl_error *err);

/* ---- failures ---- */

static const char *found_name(const struct sl_event *event)
{
    static const char *const names[] = {
        [SL_EVENT_OBJECT] = "an object",      [SL_EVENT_ARRAY] = "an array",
        [SL_EVENT_STRING] = "a string",       [SL_EVENT_NUMBER] = "a number",
        [SL_EVENT_BOOL] = "a boolean",        [SL_EVENT_NULL] = "null",
        [SL_EVENT_DOCUMENT_END] = "no value",
    };
    size_t i = (size_t)event->type;
    const char *name = i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
    return name == NULL ? "something else" : name;
}

static int wrong_type(struct sl_walker *walker, const struct sl_event *event, const char *expected,
                      struct sl_error *err)
{
    return sl_walk_fail(walker, event, err, SL_ERR_TYPE, "expected %s, found %s", expected,
                        found_name(event));
}

/* ---- scalars ---- */

static int copy_text(struct sl_walker *walker, const struct sl_event *event, struct sl_str *out,
                     struct sl_error *err)
{
    const char *copy = sl_arena_strdup(walker->arena, event->text.s, event->text.len);
    if (copy == NULL) {
        return sl_walk_nomem(walker, event, err);
    }
    *out = (struct sl_str){copy, event->text.len};
    return SL_EVENT_GO;
}

int sl_walk_copy(struct sl_walker *walker, const struct sl_event *event, struct sl_str *out,
                 struct sl_error *err)
{
    if (event->text.len > 0 && memchr(event->text.s, '\0', event->text.len) != NULL) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "has a NUL character in it");
    }
    return copy_text(walker, event, out, err);
}

static int take_string(struct sl_walker *walker, const struct sl_field *field, char *target,
                       const struct sl_event *event, struct sl_error *err)
{
    struct sl_str copy;
    int result = sl_walk_copy(walker, event, &copy, err);
    if (result == SL_EVENT_GO) {
        memcpy(target + field->offset, &copy, sizeof(copy));
    }
    return result;
}

static bool all_digits(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] != '-' && (text.s[i] < '0' || text.s[i] > '9')) {
            return false;
        }
    }
    return true;
}

static int read_integer(struct sl_walker *walker, const struct sl_event *event, int64_t min,
                        int64_t max, int64_t *out, struct sl_error *err)
{
    int shown = event->text.len < 40 ? (int)event->text.len : 40;
    if (!sl_str_to_i64(event->text, out)) {
        return all_digits(event->text)
                   ? sl_walk_fail(walker, event, err, SL_ERR_FIELD, "%.*s is out of range", shown,
                                  event->text.s)
                   : sl_walk_fail(walker, event, err, SL_ERR_TYPE,
                                  "expected an integer, found %.*s", shown, event->text.s);
    }
    if (*out < min || *out > max) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "%.*s is out of range", shown,
                            event->text.s);
    }
    return SL_EVENT_GO;
}

static int take_i64(struct sl_walker *walker, const struct sl_field *field, char *target,
                    const struct sl_event *event, struct sl_error *err)
{
    int64_t value;
    int result = read_integer(walker, event, INT64_MIN, INT64_MAX, &value, err);
    if (result == SL_EVENT_GO) {
        memcpy(target + field->offset, &value, sizeof(value));
    }
    return result;
}

static int take_i32(struct sl_walker *walker, const struct sl_field *field, char *target,
                    const struct sl_event *event, struct sl_error *err)
{
    int64_t value;
    int result = read_integer(walker, event, INT32_MIN, INT32_MAX, &value, err);
    if (result == SL_EVENT_GO) {
        int32_t narrow = (int32_t)value;
        memcpy(target + field->offset, &narrow, sizeof(narrow));
    }
    return result;
}

static int take_bool(struct sl_walker *walker, const struct sl_field *field, char *target,
                     const struct sl_event *event, struct sl_error *err)
{
    (void)walker;
    (void)err;
    memcpy(target + field->offset, &event->boolean, sizeof(event->boolean));
    return SL_EVENT_GO;
}

static int take_hook(struct sl_walker *walker, const struct sl_field *field, char *target,
                     const struct sl_event *event, struct sl_error *err)
{
    return field->value(walker, target, event, err);
}

/* ---- containers ---- */

static struct sl_walk_frame *push_frame(struct sl_walker *walker, const struct sl_event *event,
                                        struct sl_error *err)
{
    if (walker->depth == SL_WALK_DEPTH_MAX) {
        (void)sl_walk_fail(walker, event, err, SL_ERR_INTERNAL, "tables nest deeper than %d",
                           (int)SL_WALK_DEPTH_MAX);
        return NULL;
    }
    struct sl_walk_frame *frame = &walker->frame[walker->depth++];
    frame->field = NULL;
    frame->table = NULL;
    frame->pending = NULL;
    frame->target = NULL;
    frame->seen = 0;
    frame->count = 0;
    frame->tail = NULL;
    frame->pair = NULL;
    frame->keyed = false;
    return frame;
}

/* An object that its table skips has no frame, since its end will not be reported. */
static int begin_object(struct sl_walker *walker, struct sl_walk_frame *frame,
                        const struct sl_event *event, struct sl_error *err)
{
    if (frame->table->begin == NULL) {
        return SL_EVENT_GO;
    }
    int result = frame->table->begin(walker, frame->target, event, err);
    if (result != SL_EVENT_GO) {
        walker->depth--;
    }
    return result;
}

static int take_container(struct sl_walker *walker, const struct sl_field *field, char *target,
                          const struct sl_event *event, struct sl_error *err)
{
    if (field->open != NULL) {
        int result = field->open(walker, target, event, err);
        if (result != SL_EVENT_GO) {
            return result;
        }
    }
    struct sl_walk_frame *frame = push_frame(walker, event, err);
    if (frame == NULL) {
        return SL_EVENT_FAIL;
    }
    frame->field = field;
    switch (field->kind) {
    case SL_FIELD_OBJECT:
        frame->table = field->table;
        frame->target = target + field->offset;
        return begin_object(walker, frame, event, err);
    case SL_FIELD_STRINGS:
    case SL_FIELD_QUANTITIES:
        frame->tail = target + field->offset;
        frame->target = frame->tail;
        return SL_EVENT_GO;
    case SL_FIELD_OBJECTS:
        if (field->size > 0) {
            frame->tail = target + field->offset;
        }
        frame->target = target + field->offset;
        return SL_EVENT_GO;
    case SL_FIELD_TEXTS:
        frame->target = target; /* the hook wants the outer one */
        return field->run != NULL ? SL_EVENT_RUNS : SL_EVENT_GO;
    default:
        frame->target = target + field->offset;
        return SL_EVENT_GO;
    }
}

/* Links a pointer to the end of a list whose elements have any type: the slot holds a pointer of
 * that type, so its bytes are copied. */
static void link_tail(struct sl_walk_frame *frame, void *element, size_t next_offset)
{
    memcpy(frame->tail, &element, sizeof(element));
    frame->tail = (char *)element + next_offset;
}

static bool has_room(const struct sl_walker *walker, const struct sl_walk_frame *frame)
{
    return frame->field->max == 0 ||
           (frame->count < frame->field->max && walker->arena->used < walker->arena->max / 2);
}

static int too_many(struct sl_walker *walker, const struct sl_event *event, size_t max,
                    struct sl_error *err)
{
    return sl_walk_fail(walker, event, err, SL_ERR_LIMIT, "more than %zu of them", max);
}

static int take_element(struct sl_walker *walker, struct sl_walk_frame *frame,
                        const struct sl_event *event, struct sl_error *err)
{
    const struct sl_field *field = frame->field;
    char *element = frame->target;
    if (!has_room(walker, frame)) {
        return too_many(walker, event, field->max, err);
    }
    if (field->size > 0) {
        element = sl_arena_alloc(walker->arena, field->size);
        if (element == NULL) {
            return sl_walk_nomem(walker, event, err);
        }
        link_tail(frame, element, field->next);
    }
    struct sl_walk_frame *inner = push_frame(walker, event, err);
    if (inner == NULL) {
        return SL_EVENT_FAIL;
    }
    inner->table = field->table;
    inner->target = element;
    return begin_object(walker, inner, event, err);
}

static int take_pair(struct sl_walker *walker, struct sl_walk_frame *frame,
                     const struct sl_event *event, struct sl_error *err)
{
    struct sl_pair *pair = frame->pair;
    bool extended = memchr(pair->key.s, '/', pair->key.len) != NULL;
    if (frame->field->drop_zero && extended && sl_str_eq(event->text, SL_STR("0"))) {
        return SL_EVENT_GO;
    }
    /* a user's annotation may hold a NUL: whoever reads the annotation judges it */
    int result = copy_text(walker, event, &pair->value, err);
    if (result == SL_EVENT_GO) {
        link_tail(frame, pair, offsetof(struct sl_pair, next));
        frame->count++;
    }
    return result;
}

static int take_text(struct sl_walker *walker, struct sl_walk_frame *frame,
                     const struct sl_event *event, struct sl_error *err)
{
    if (!has_room(walker, frame)) {
        return too_many(walker, event, frame->field->max, err);
    }
    return frame->field->value(walker, frame->target, event, err);
}

/* The events that each kind of field takes as its own value, and as an element of it. */
struct kind_row {
    take_fn take;
    const char *expected;
    element_fn element_take;
    const char *element_expected;
    unsigned accepts; /* a bit per event type */
    unsigned element_accepts;
};

#define BIT(type)   (1u << (unsigned)(type))
#define STRING_BIT  BIT(SL_EVENT_STRING)
#define NUMBER_BIT  BIT(SL_EVENT_NUMBER)
#define OBJECT_BIT  BIT(SL_EVENT_OBJECT)
#define ARRAY_BIT   BIT(SL_EVENT_ARRAY)
#define SCALAR_BITS (STRING_BIT | NUMBER_BIT)

static const struct kind_row kind_rows[SL_FIELD_KINDS] = {
    [SL_FIELD_STRING] = {take_string, "a string", .accepts = STRING_BIT},
    [SL_FIELD_I64] = {take_i64, "an integer", .accepts = NUMBER_BIT},
    [SL_FIELD_I32] = {take_i32, "an integer", .accepts = NUMBER_BIT},
    [SL_FIELD_BOOL] = {take_bool, "a boolean", .accepts = BIT(SL_EVENT_BOOL)},
    [SL_FIELD_TEXT] = {take_hook, "a string", .accepts = STRING_BIT},
    [SL_FIELD_SCALAR] = {take_hook, "a string or a number", .accepts = SCALAR_BITS},
    [SL_FIELD_TEXTS] = {take_container, "an array of strings", take_text, "a string", ARRAY_BIT,
                        STRING_BIT},
    [SL_FIELD_STRINGS] = {take_container, "an object of strings", take_pair, "a string", OBJECT_BIT,
                          STRING_BIT},
    [SL_FIELD_QUANTITIES] = {take_container, "an object of quantities", take_pair,
                             "a quantity (a string or a number)", OBJECT_BIT, SCALAR_BITS},
    [SL_FIELD_OBJECT] = {take_container, "an object", .accepts = OBJECT_BIT},
    [SL_FIELD_OBJECTS] = {take_container, "an array of objects", take_element, "an object",
                          ARRAY_BIT, OBJECT_BIT},
    [SL_FIELD_OBJECT_MAP] = {take_container, "an object of objects", take_element, "an object",
                             OBJECT_BIT, OBJECT_BIT},
};

int sl_walk_take(struct sl_walker *walker, const struct sl_field *field, char *target,
                 const struct sl_event *event, struct sl_error *err)
{
    const struct kind_row *row = &kind_rows[field->kind];
    return (row->accepts & BIT(event->type)) != 0 ? row->take(walker, field, target, event, err)
                                                  : wrong_type(walker, event, row->expected, err);
}

int sl_walk_take_element(struct sl_walker *walker, struct sl_walk_frame *frame,
                         const struct sl_event *event, struct sl_error *err)
{
    const struct kind_row *row = &kind_rows[frame->field->kind];
    if (row->element_take == take_pair && event->type == SL_EVENT_NULL) {
        return SL_EVENT_GO;
    }
    return (row->element_accepts & BIT(event->type)) != 0
               ? row->element_take(walker, frame, event, err)
               : wrong_type(walker, event, row->element_expected, err);
}
