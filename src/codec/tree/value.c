/* Reads events into a tree, and finds one's way in it. */
#include "codec/tree/value.h"

#include "codec/stream/json.h"
#include "codec/stream/yaml.h"

struct reader {
    struct sl_arena *arena;
    struct sl_value *root;
    struct sl_value *open[SL_VALUE_DEPTH_MAX]; /* containers, outermost first */
    struct sl_value *last[SL_VALUE_DEPTH_MAX]; /* what was put into each last */
    unsigned depth;
    struct sl_str key;
};

static int fail_room(const struct reader *reader, struct sl_error *err)
{
    return reader->arena->full
               ? sl_error_set(err, SL_ERR_LIMIT, "the text needs more than %zu bytes as a tree",
                              reader->arena->max)
               : sl_error_nomem(err);
}

static int copy_text(struct reader *reader, struct sl_str text, struct sl_str *out,
                     struct sl_error *err)
{
    const char *copy = sl_arena_strdup(reader->arena, text.len == 0 ? "" : text.s, text.len);
    *out = (struct sl_str){copy, copy == NULL ? 0 : text.len};
    return copy == NULL ? fail_room(reader, err) : 0;
}

static struct sl_value *add_value(struct reader *reader, enum sl_value_kind kind,
                                  struct sl_error *err)
{
    struct sl_value *value = sl_arena_alloc(reader->arena, sizeof(*value));
    if (value == NULL) {
        (void)fail_room(reader, err);
        return NULL;
    }
    *value = (struct sl_value){.kind = kind, .key = reader->key};
    reader->key = (struct sl_str){NULL, 0};
    if (reader->depth == 0) {
        reader->root = value;
        return value;
    }
    unsigned top = reader->depth - 1;
    if (reader->last[top] == NULL) {
        reader->open[top]->first = value;
    } else {
        reader->last[top]->next = value;
    }
    reader->last[top] = value;
    return value;
}

static int open_value(struct reader *reader, enum sl_value_kind kind, struct sl_error *err)
{
    struct sl_value *value = add_value(reader, kind, err);
    if (value == NULL) {
        return SL_EVENT_FAIL;
    }
    reader->open[reader->depth] = value; /* the limits keep the depth */
    reader->last[reader->depth] = NULL;
    reader->depth++;
    return SL_EVENT_GO;
}

static int put_scalar(struct reader *reader, const struct sl_event *event, enum sl_value_kind kind,
                      struct sl_error *err)
{
    struct sl_value *value = add_value(reader, kind, err);
    if (value == NULL) {
        return SL_EVENT_FAIL;
    }
    value->boolean = kind == SL_VALUE_BOOL && event->boolean;
    bool text = kind == SL_VALUE_STRING || kind == SL_VALUE_NUMBER;
    return text && copy_text(reader, event->text, &value->text, err) < 0 ? SL_EVENT_FAIL
                                                                         : SL_EVENT_GO;
}

static int receive(void *context, const struct sl_event *event, struct sl_error *err)
{
    struct reader *reader = context;
    if (reader->root != NULL && reader->depth == 0 && event->type != SL_EVENT_DOCUMENT_END) {
        return sl_error_set(err, SL_ERR_SYNTAX, "a second document begins here; one is expected");
    }
    switch (event->type) {
    case SL_EVENT_OBJECT:
        return open_value(reader, SL_VALUE_OBJECT, err);
    case SL_EVENT_ARRAY:
        return open_value(reader, SL_VALUE_ARRAY, err);
    case SL_EVENT_OBJECT_END:
    case SL_EVENT_ARRAY_END:
        reader->depth--;
        return SL_EVENT_GO;
    case SL_EVENT_KEY:
        return copy_text(reader, event->text, &reader->key, err) < 0 ? SL_EVENT_FAIL : SL_EVENT_GO;
    case SL_EVENT_STRING:
        return put_scalar(reader, event, SL_VALUE_STRING, err);
    case SL_EVENT_NUMBER:
        return put_scalar(reader, event, SL_VALUE_NUMBER, err);
    case SL_EVENT_BOOL:
        return put_scalar(reader, event, SL_VALUE_BOOL, err);
    case SL_EVENT_NULL:
        return put_scalar(reader, event, SL_VALUE_NULL, err);
    case SL_EVENT_DOCUMENT_END:
    case SL_EVENT_STRINGS:
        break;
    }
    return SL_EVENT_GO;
}

static bool is_json(struct sl_str text)
{
    static const char blanks[] = {' ', '\t', '\r', '\n'};
    size_t i = 0;
    while (i < text.len && memchr(blanks, text.s[i], sizeof(blanks)) != NULL) {
        i++;
    }
    return i < text.len && (text.s[i] == '{' || text.s[i] == '[');
}

int sl_value_read(struct sl_str text, struct sl_arena *arena, struct sl_value **out,
                  struct sl_error *err)
{
    const struct sl_text_limits limits = {
        .max_bytes = SIZE_MAX, .max_string = SIZE_MAX, .max_depth = SL_VALUE_DEPTH_MAX};
    struct reader reader = {.arena = arena};
    int rc = is_json(text) ? sl_json_parse(text, &limits, receive, &reader, err)
                           : sl_yaml_parse(text.len == 0 ? "" : text.s, text.len, &limits, receive,
                                           &reader, err);
    if (rc == 0 && reader.root == NULL) {
        return sl_error_set(err, SL_ERR_SYNTAX, "the text is empty");
    }
    *out = reader.root;
    return rc;
}

/* ---- the way in it ---- */

static struct sl_value *member_of(const struct sl_value *value, struct sl_str key)
{
    struct sl_value *member = value->kind == SL_VALUE_OBJECT ? value->first : NULL;
    while (member != NULL && !sl_str_eq(member->key, key)) {
        member = member->next;
    }
    return member;
}

const struct sl_value *sl_value_at(const struct sl_value *value, const char *path)
{
    struct sl_str rest = sl_str_of(path);
    while (value != NULL && rest.s != NULL) {
        value = member_of(value, sl_str_cut(&rest, '.'));
    }
    return value;
}

void sl_value_join(struct sl_value *value, struct sl_value *more, const char *key)
{
    struct sl_value *to = member_of(value, sl_str_of(key));
    struct sl_value *from = member_of(more, sl_str_of(key));
    if (to == NULL || from == NULL || to == from) {
        return;
    }
    struct sl_value **end = &to->first;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = from->first;
    from->first = NULL;
}

struct sl_str sl_value_text(const struct sl_value *value, const char *path)
{
    const struct sl_value *found = sl_value_at(value, path);
    return found == NULL ? (struct sl_str){NULL, 0} : found->text;
}

int64_t sl_value_i64(const struct sl_value *value, const char *path, int64_t fallback)
{
    const struct sl_value *found = sl_value_at(value, path);
    int64_t number = 0;
    return found != NULL && found->kind == SL_VALUE_NUMBER && sl_str_to_i64(found->text, &number)
               ? number
               : fallback;
}
