/* The walk: a stack of open containers, one table row per value. */
#include "codec/stream/walker_kinds.h"

/* ---- keys ---- */

static bool same_any_case(const char *name, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned a = (unsigned char)name[i];
        unsigned b = (unsigned char)text[i];
        a += a - 'A' < 26u ? 'a' - 'A' : 0u;
        b += b - 'A' < 26u ? 'a' - 'A' : 0u;
        if (a != b) {
            return false;
        }
    }
    return true;
}

static const struct sl_field *find_field(const struct sl_table *table, struct sl_str key,
                                         unsigned *bit)
{
    *bit = 0;
    for (; table != NULL; table = table->also) {
        for (unsigned i = 0; i < table->n; i++, (*bit)++) {
            const struct sl_field *field = &table->field[i];
            if (field->name_len != key.len) {
                continue;
            }
            if (table->any_case ? same_any_case(field->name, key.s, key.len)
                                : memcmp(field->name, key.s, key.len) == 0) {
                return field;
            }
        }
    }
    return NULL;
}

static int object_key(struct sl_walker *walker, struct sl_walk_frame *frame,
                      const struct sl_event *event, struct sl_error *err)
{
    unsigned bit;
    const struct sl_field *field = find_field(frame->table, event->text, &bit);
    frame->pending = field;
    if (field == NULL || event->fault != NULL) {
        return SL_EVENT_SKIP;
    }
    uint64_t mask = (uint64_t)1 << bit;
    if ((frame->seen & mask) != 0) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "is given twice");
    }
    frame->seen |= mask;
    return SL_EVENT_GO;
}

/* Remembers a map's key for the path of an error. */
static void note_key(struct sl_walk_frame *frame, struct sl_str key)
{
    size_t len = key.len < sizeof(frame->key) - 1 ? key.len : sizeof(frame->key) - 1;
    if (len > 0) {
        memcpy(frame->key, key.s, len);
    }
    frame->key[len] = '\0';
    frame->keyed = true;
}

static bool has_pair(const struct sl_walk_frame *frame, struct sl_str key)
{
    void *head;
    memcpy(&head, frame->target, sizeof(head));
    for (const struct sl_pair *pair = head; pair != NULL; pair = pair->next) {
        if (sl_str_eq(pair->key, key)) {
            return true;
        }
    }
    return false;
}

static int pair_key(struct sl_walker *walker, struct sl_walk_frame *frame,
                    const struct sl_event *event, struct sl_error *err)
{
    const struct sl_field *field = frame->field;
    enum sl_walk_keep keep = field->keep == NULL ? SL_WALK_KEEP : field->keep(event->text);
    frame->pair = NULL;
    if (keep == SL_WALK_PASS) {
        frame->keyed = false;
        return SL_EVENT_SKIP;
    }
    note_key(frame, event->text);
    if (frame->count >= SL_WALK_MAP_MAX && keep != SL_WALK_KEEP_ALWAYS) {
        return sl_walk_fail(walker, event, err, SL_ERR_LIMIT, "more than %d entries that matter",
                            (int)SL_WALK_MAP_MAX);
    }
    if (has_pair(frame, event->text)) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "is given twice");
    }
    frame->pair = sl_arena_alloc(walker->arena, sizeof(*frame->pair));
    if (frame->pair == NULL) {
        return sl_walk_nomem(walker, event, err);
    }
    return sl_walk_copy(walker, event, &frame->pair->key, err);
}

static int bad_text(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err)
{
    return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "%s", event->fault);
}

static int take_key(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err)
{
    struct sl_walk_frame *frame = &walker->frame[walker->depth - 1];
    if (frame->table != NULL) {
        return object_key(walker, frame, event, err);
    }
    if (event->fault != NULL) {
        frame->pair = NULL;
        return bad_text(walker, event, err);
    }
    if (frame->field->kind == SL_FIELD_OBJECT_MAP) {
        note_key(frame, event->text);
        return frame->field->value(walker, frame->target, event, err);
    }
    return pair_key(walker, frame, event, err);
}

/* ---- values and ends ---- */

static void element_done(struct sl_walk_frame *frame)
{
    frame->pending = NULL;
    frame->pair = NULL;
    if (frame->table != NULL) {
        return;
    }
    frame->keyed = false;
    if (frame->field->kind == SL_FIELD_OBJECTS || frame->field->kind == SL_FIELD_TEXTS) {
        frame->count++;
    }
}

static int take_member(struct sl_walker *walker, const struct sl_walk_frame *frame,
                       const struct sl_event *event, struct sl_error *err)
{
    return event->type == SL_EVENT_NULL
               ? SL_EVENT_GO
               : sl_walk_take(walker, frame->pending, frame->target, event, err);
}

static int take_value(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err)
{
    unsigned depth = walker->depth;
    if (depth == 0) {
        return event->type == SL_EVENT_NULL && walker->null_root
                   ? SL_EVENT_GO
                   : sl_walk_take(walker, walker->root, walker->target, event, err);
    }
    struct sl_walk_frame *frame = &walker->frame[depth - 1];
    int result = event->fault != NULL   ? bad_text(walker, event, err)
                 : frame->table != NULL ? take_member(walker, frame, event, err)
                                        : sl_walk_take_element(walker, frame, event, err);
    if (result != SL_EVENT_FAIL && walker->depth == depth) {
        element_done(frame);
    }
    return result;
}

/* The short way for lists of names, which come by the thousand. */
static int take_run(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err)
{
    struct sl_walk_frame *frame = &walker->frame[walker->depth - 1];
    const struct sl_str *item = event->run.item;
    for (size_t i = 0; i < event->run.n;) {
        size_t taken = frame->field->run(walker, frame->target, item + i, event->run.n - i);
        frame->count += taken;
        i += taken;
        if (i == event->run.n) {
            break;
        }
        struct sl_event one = {.type = SL_EVENT_STRING,
                               .text = item[i],
                               .line = event->line,
                               .column = event->column + (unsigned)(item[i].s - item[0].s)};
        if (take_value(walker, &one, err) == SL_EVENT_FAIL) {
            return SL_EVENT_FAIL;
        }
        i++;
    }
    return SL_EVENT_GO;
}

static int take_end(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err)
{
    struct sl_walk_frame *frame = &walker->frame[walker->depth - 1];
    frame->pending = NULL;
    frame->keyed = false;
    if (frame->table != NULL && frame->table->end != NULL &&
        frame->table->end(walker, frame->target, event, err) == SL_EVENT_FAIL) {
        return SL_EVENT_FAIL;
    }
    walker->depth--;
    if (walker->depth > 0) {
        element_done(&walker->frame[walker->depth - 1]);
    }
    return SL_EVENT_GO;
}

void sl_walk_init(struct sl_walker *walker, const struct sl_field *root, void *target,
                  struct sl_arena *arena, void *context)
{
    walker->context = context;
    walker->arena = arena;
    walker->root = root;
    walker->target = target;
    walker->null_root = false;
    walker->defer = false;
    walker->vital = false;
    walker->depth = 0;
    walker->deferred.code = SL_ERR_NONE;
}

int sl_walk_receive(void *context, const struct sl_event *event, struct sl_error *err)
{
    struct sl_walker *walker = context;
    switch (event->type) {
    case SL_EVENT_KEY:
        return take_key(walker, event, err);
    case SL_EVENT_OBJECT_END:
    case SL_EVENT_ARRAY_END:
        return take_end(walker, event, err);
    case SL_EVENT_DOCUMENT_END:
        return SL_EVENT_GO;
    case SL_EVENT_OBJECT:
    case SL_EVENT_ARRAY:
        return take_value(walker, event, err);
    case SL_EVENT_STRINGS:
        return take_run(walker, event, err);
    default:
        /* A scalar has nothing behind it that could be passed over. */
        return take_value(walker, event, err) == SL_EVENT_FAIL ? SL_EVENT_FAIL : SL_EVENT_GO;
    }
}
