/* A YAML file to struct sl_config. Reads into a copy, so that an error changes nothing. */
#include <stdarg.h>
#include <stdio.h>

#include "codec/stream/yaml.h"
#include "config/known.h"

enum {
    STRING_MAX = 4096,
    DEPTH_MAX = 16,
    PATH_MAX_LEN = 160, /* of a key that can be known or reported */
    SHOWN_MAX = 64,     /* of a value in a message */
};

struct place {
    unsigned line; /* 0: not seen */
    unsigned column;
};

struct reader {
    struct sl_config config;
    struct sl_config_warnings warnings;
    struct place seen[SL_KNOWN]; /* by number; of fields: in the entry that is open */
    struct place root;
    struct place entry[SL_KEY_LISTS][UINT8_MAX];
    unsigned depth;                 /* of open maps */
    struct sl_str open;             /* the path of the innermost: its keys come */
    struct sl_known key;            /* whose value comes */
    const struct sl_key_list *list; /* whose entries come; NULL: none */
    bool in_entry;                  /* the last of that list is open */
};

static struct place place_of(const struct sl_event *event)
{
    return (struct place){event->line, event->column};
}

/* Where a key, list, header or section stands. */
static struct place place_of_path(const struct reader *r, const char *path)
{
    size_t i = sl_known_find(path);
    return i < SL_KNOWN ? r->seen[i] : (struct place){0, 0};
}

/* Where that entry of a list stands; the last: the one that is open. */
static struct place place_of_entry(const struct reader *r, const struct sl_key_list *list, size_t i)
{
    return r->entry[list - sl_key_lists][i];
}

static size_t last_entry(const struct reader *r)
{
    return sl_list_count(r->list, &r->config) - 1;
}

/* For messages: cut between characters, and nothing that could upset a terminal. */
static void show_text(struct sl_str text, char out[SHOWN_MAX + 4])
{
    size_t n = text.len < SHOWN_MAX ? text.len : SHOWN_MAX;
    while (n < text.len && n > 0 && ((unsigned char)text.s[n] & 0xc0) == 0x80) {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.s[i];
        out[i] = c < 0x20 || c == 0x7f ? '?' : text.s[i];
    }
    (void)snprintf(out + n, 4, "%s", n < text.len ? "..." : "");
}

/* The path as messages have it: "queue.limits[1].maxTimeout" while an entry is open. */
static void show_path(const struct reader *r, const char *path, char out[PATH_MAX_LEN])
{
    size_t n = r->in_entry ? strlen(r->list->path) : 0;
    (void)snprintf(out, PATH_MAX_LEN, "%s", path);
    if (n > 0) {
        (void)snprintf(out + n, PATH_MAX_LEN - n, "[%zu]%s", last_entry(r), path + n);
    }
}

static int refuse(struct sl_error *err, enum sl_error_code code, struct place place,
                  const char *path, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Always -1. */
static int refuse(struct sl_error *err, enum sl_error_code code, struct place place,
                  const char *path, const char *format, ...)
{
    char text[sizeof(err->message)];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)sl_error_set(err, code, "%s", text);
    if (err != NULL) {
        err->line = place.line;
        err->column = place.column;
        (void)snprintf(err->field, sizeof(err->field), "%s", path);
    }
    return -1;
}

/* NULL: there is no room for it any more. */
static struct sl_error *add_warning(struct reader *r)
{
    struct sl_config_warnings *warnings = &r->warnings;
    return warnings->n < SL_CONFIG_WARNINGS_MAX ? &warnings->item[warnings->n++] : NULL;
}

/* --- Keys --------------------------------------------------------------------------------------
 */

static int refuse_key(const char *path, const struct sl_event *event, struct sl_error *err)
{
    char list[256];
    const char *near = sl_known_near(path);
    if (near != NULL) {
        return refuse(err, SL_ERR_FIELD, place_of(event), path,
                      "found an unknown key, expected perhaps \"%s\"", near);
    }
    sl_known_siblings(path, list, sizeof(list));
    return refuse(err, SL_ERR_FIELD, place_of(event), path,
                  "found an unknown key, expected one of %s", list);
}

static int take_key(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    char shown[SHOWN_MAX + 4];
    show_text(event->text, shown);
    (void)snprintf(path, sizeof(path), "%.*s%s%s", (int)r->open.len, r->open.s,
                   r->open.len > 0 ? "." : "", shown);
    if (event->text.len > 0 && memchr(event->text.s, '.', event->text.len) != NULL) {
        return refuse(err, SL_ERR_FIELD, place_of(event), path,
                      "found a key with \".\" in it, expected nested maps");
    }
    size_t known = sl_str_eq(event->text, sl_str_of(shown)) ? sl_known_find(path) : SL_KNOWN;
    if (known == SL_KNOWN) {
        return refuse_key(path, event, err);
    }
    if (r->seen[known].line != 0) {
        show_path(r, sl_known_at(known).path, path);
        return refuse(err, SL_ERR_FIELD, place_of(event), path,
                      "found a second time, expected once (first on line %u)", r->seen[known].line);
    }
    r->seen[known] = place_of(event);
    r->key = sl_known_at(known);
    return 0;
}

/* --- Values ------------------------------------------------------------------------------------
 */

/* "many" in quotes, a number bare, and a word for what has no text. */
static void describe_found(const struct sl_event *event, char *out, size_t size)
{
    char shown[SHOWN_MAX + 4];
    show_text(event->text, shown);
    switch (event->type) {
    case SL_EVENT_STRING:
        (void)snprintf(out, size, "\"%s\"", shown);
        break;
    case SL_EVENT_NUMBER:
        (void)snprintf(out, size, "%s", shown);
        break;
    case SL_EVENT_BOOL:
        (void)snprintf(out, size, "%s", event->boolean ? "true" : "false");
        break;
    case SL_EVENT_OBJECT:
        (void)snprintf(out, size, "a map");
        break;
    case SL_EVENT_ARRAY:
        (void)snprintf(out, size, "a list");
        break;
    default:
        (void)snprintf(out, size, "nothing");
        break;
    }
}

static int refuse_value(const char *path, enum sl_error_code code, const struct sl_event *event,
                        const char *expected, struct sl_error *err)
{
    char found[SHOWN_MAX + 8];
    describe_found(event, found, sizeof(found));
    return refuse(err, code, place_of(event), path, "found %s, expected %s", found, expected);
}

static int refuse_type(const char *path, const struct sl_event *event, const char *expected,
                       struct sl_error *err)
{
    return refuse_value(path, SL_ERR_TYPE, event, expected, err);
}

static int refuse_key_value(const struct reader *r, enum sl_error_code code,
                            const struct sl_event *event, struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    struct sl_buf expected;
    sl_buf_init(&expected, 512);
    sl_value_expected(r->key.key, &expected);
    sl_buf_putc(&expected, '\0');
    if (expected.failed != SL_BUF_OK) {
        sl_buf_free(&expected);
        return sl_error_nomem(err);
    }
    show_path(r, r->key.path, path);
    (void)refuse_value(path, code, event, expected.data, err);
    sl_buf_free(&expected);
    return -1;
}

/* SL_VALUE_TYPE also for what is no scalar. */
static enum sl_value_result set_value(const struct sl_key *key, void *base,
                                      const struct sl_event *event)
{
    bool string = event->type == SL_EVENT_STRING;
    int64_t value = event->boolean ? 1 : 0;
    enum sl_value_result result = SL_VALUE_TYPE;
    if (key->text && string) {
        return sl_value_text(key, event->text) && sl_key_set_text(key, base, event->text)
                   ? SL_VALUE_OK
                   : SL_VALUE_RANGE;
    }
    if (key->type == SL_KEY_BOOLEAN && event->type == SL_EVENT_BOOL) {
        result = SL_VALUE_OK;
    } else if (!key->text && (string || event->type == SL_EVENT_NUMBER)) {
        result = sl_value_number(key, event->text, string, &value);
    }
    if (result == SL_VALUE_OK) {
        sl_key_set_number(key, base, value);
    }
    return result;
}

static int take_key_value(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    void *base = &r->config;
    if (r->in_entry) {
        base = sl_list_entry(r->list, &r->config, last_entry(r));
    }
    switch (set_value(r->key.key, base, event)) {
    case SL_VALUE_TYPE:
        return refuse_key_value(r, SL_ERR_TYPE, event, err);
    case SL_VALUE_RANGE:
        return refuse_key_value(r, SL_ERR_FIELD, event, err);
    case SL_VALUE_OK:
        break;
    }
    return 0;
}

/* --- Lists -------------------------------------------------------------------------------------
 */

static int open_entry(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    const struct sl_key_list *list = r->list;
    size_t n = sl_list_count(list, &r->config);
    if (event->type != SL_EVENT_OBJECT) {
        (void)snprintf(path, sizeof(path), "%s[%zu]", list->path, n);
        return refuse_type(path, event, "a map", err);
    }
    if (n == list->max) {
        return refuse(err, SL_ERR_LIMIT, place_of(event), list->path,
                      "found one more entry, expected at most %u", list->max);
    }
    sl_list_set_count(list, &r->config, n + 1);
    for (size_t i = 0; i < list->n_fields; i++) {
        sl_key_set_default(&list->field[i], sl_list_entry(list, &r->config, n));
        r->seen[sl_known_find(list->field[i].path)] = (struct place){0, 0};
    }
    r->entry[list - sl_key_lists][n] = place_of(event);
    r->in_entry = true;
    r->open = sl_str_of(list->path);
    r->depth++;
    return 0;
}

/* Is there, where it must be? */
static int check_field(const struct reader *r, const struct sl_key *key, struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    if (!key->required || place_of_path(r, key->path).line != 0) {
        return 0;
    }
    show_path(r, r->list->path, path);
    return refuse(err, SL_ERR_FIELD, place_of_entry(r, r->list, last_entry(r)), path,
                  "found no %s, expected one", key->path + sl_key_parent_len(key->path) + 1);
}

/* Have both entries the same in all that is unique? *key: the last such field; NULL: none. */
static bool same_entry(const struct reader *r, size_t a, size_t b, const struct sl_key **key)
{
    bool same = true;
    *key = NULL;
    for (size_t i = 0; i < r->list->n_fields; i++) {
        const struct sl_key *field = &r->list->field[i];
        if (field->unique) {
            same = same && sl_key_equal(field, sl_list_entry_of(r->list, &r->config, a),
                                        sl_list_entry_of(r->list, &r->config, b));
            *key = field;
        }
    }
    return same && *key != NULL;
}

/* Has no entry before it the same? */
static int check_unique(const struct reader *r, struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    const struct sl_key *key = NULL;
    size_t last = last_entry(r);
    for (size_t k = 0; k < last; k++) {
        if (same_entry(r, k, last, &key)) {
            struct place place = place_of_path(r, key->path);
            show_path(r, key->path, path);
            return refuse(err, SL_ERR_FIELD,
                          place.line == 0 ? place_of_entry(r, r->list, last) : place, path,
                          "found what %s[%zu] has, expected another", r->list->path, k);
        }
    }
    return 0;
}

/* An override that says whose pods, but no weight. */
static void warn_of_entry(struct reader *r)
{
    char path[PATH_MAX_LEN];
    if (strcmp(r->list->path, "queue.overrides") != 0) {
        return;
    }
    const struct sl_order_weights *weights =
        &r->config.plan.override[r->config.plan.n_overrides - 1].weights;
    if (weights->alpha < 0 && weights->beta < 0 && weights->gamma < 0) {
        show_path(r, r->list->path, path);
        (void)refuse(add_warning(r), SL_ERR_FIELD, place_of_entry(r, r->list, last_entry(r)), path,
                     "has no effect: it states none of alpha, beta, gamma");
    }
}

static int check_entry(struct reader *r, struct sl_error *err)
{
    for (size_t i = 0; i < r->list->n_fields; i++) {
        if (check_field(r, &r->list->field[i], err) < 0) {
            return -1;
        }
    }
    warn_of_entry(r);
    return check_unique(r, err);
}

/* --- Maps --------------------------------------------------------------------------------------
 */

static int open_root(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    if (r->root.line != 0) {
        return refuse(err, SL_ERR_FIELD, place_of(event), "",
                      "found a second document, expected one");
    }
    if (event->type == SL_EVENT_OBJECT) {
        r->root = place_of(event);
        r->depth = 1;
        return 0;
    }
    if (event->type == SL_EVENT_NULL) {
        return 0; /* an empty document: what is missing is said at the end */
    }
    return refuse_type("", event, "a map with apiVersion and kind", err);
}

static int take_header(const struct sl_known *header, const struct sl_event *event,
                       struct sl_error *err)
{
    bool string = event->type == SL_EVENT_STRING;
    return string && sl_str_eq(event->text, sl_str_of(header->value))
               ? 0
               : refuse_value(header->path, string ? SL_ERR_FIELD : SL_ERR_TYPE, event,
                              header->value, err);
}

static int take_value(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    if (r->depth == 0) {
        return open_root(r, event, err);
    }
    if (r->list != NULL && !r->in_entry) {
        return open_entry(r, event, err);
    }
    switch (r->key.kind) {
    case SL_KNOWN_KEY:
    case SL_KNOWN_FIELD:
        return take_key_value(r, event, err);
    case SL_KNOWN_HEADER:
        return take_header(&r->key, event, err);
    case SL_KNOWN_LIST:
        r->list = event->type == SL_EVENT_ARRAY ? r->key.list : NULL;
        return r->list != NULL || event->type == SL_EVENT_NULL
                   ? 0
                   : refuse_type(r->key.path, event, "a list of maps", err);
    case SL_KNOWN_SECTION:
        break;
    }
    if (event->type == SL_EVENT_OBJECT) {
        r->open = sl_str_of(r->key.path);
        r->depth++;
        return 0;
    }
    return event->type == SL_EVENT_NULL /* "server:" with all its keys commented out */
               ? 0
               : refuse_type(r->key.path, event, "a map of keys", err);
}

/* Back to the map around the one that ends. */
static int close_map(struct reader *r, struct sl_error *err)
{
    if (r->in_entry && check_entry(r, err) < 0) {
        return -1;
    }
    r->in_entry = false;
    r->depth--;
    while (r->open.len > 0 && r->open.s[r->open.len - 1] != '.') {
        r->open.len--;
    }
    r->open.len -= r->open.len > 0;
    return 0;
}

static int receive(void *context, const struct sl_event *event, struct sl_error *err)
{
    struct reader *r = context;
    switch (event->type) {
    case SL_EVENT_KEY:
        return take_key(r, event, err);
    case SL_EVENT_OBJECT_END:
        return close_map(r, err);
    case SL_EVENT_ARRAY_END:
        r->list = NULL;
        return 0;
    case SL_EVENT_DOCUMENT_END:
        return 0;
    default:
        return take_value(r, event, err);
    }
}

/* --- What single values cannot tell ------------------------------------------------------------
 */

/* Is a key set to something else than its built-in value, or has a list entries? */
static bool is_chosen(const struct reader *r, const struct sl_known *known)
{
    struct sl_config built_in;
    sl_config_defaults(&built_in);
    return known->kind == SL_KNOWN_LIST ? sl_list_count(known->list, &r->config) > 0
                                        : !sl_key_equal(known->key, &r->config, &built_in);
}

static void warn_of_orders(struct reader *r)
{
    enum sl_order_kind order = SL_ORDER_FIFO;
    const char *path = sl_keys_of_order(0, &order);
    for (size_t i = 1; path != NULL; i++) {
        size_t at = sl_known_find(path);
        const struct sl_known known = sl_known_at(at);
        if (r->seen[at].line != 0 && order != r->config.plan.order.kind && is_chosen(r, &known)) {
            (void)refuse(add_warning(r), SL_ERR_FIELD, r->seen[at], path,
                         "has no effect: it is of the order %s, and queue.order is %s",
                         sl_order_name(order), sl_order_name(r->config.plan.order.kind));
        }
        path = sl_keys_of_order(i, &order);
    }
}

static bool is_later(struct place a, struct place b)
{
    return a.line > b.line || (a.line == b.line && a.column > b.column);
}

/* To blame is the later of two that were set, or the one that was (built-in verbs all differ). */
static int check_verb(const struct reader *r, const struct sl_key *key, struct sl_error *err)
{
    const char *verb = sl_key_text(key, &r->config);
    struct place place = place_of_path(r, key->path);
    for (size_t k = 0; k < sl_n_keys; k++) {
        if (sl_keys[k].type == SL_KEY_VERB && is_later(place, place_of_path(r, sl_keys[k].path)) &&
            strcmp(verb, sl_key_text(&sl_keys[k], &r->config)) == 0) {
            return refuse(err, SL_ERR_FIELD, place, key->path,
                          "found \"%s\", expected another name than that of %s", verb,
                          sl_keys[k].path);
        }
    }
    return 0;
}

static int check_clashes(const struct reader *r, struct sl_error *err)
{
    struct sl_key_clash clash = {NULL, NULL, 0};
    struct sl_error found;
    if (sl_keys_check(&r->config, &clash, &found) == 0) {
        return 0;
    }
    char path[PATH_MAX_LEN];
    struct place place = place_of_path(r, clash.key);
    place = place.line == 0 ? place_of_path(r, clash.other) : place;
    if (clash.entry > 0) {
        place = place_of_entry(r, sl_known_at(sl_known_find(clash.key)).list, clash.entry - 1);
    }
    sl_keys_clash_path(&clash, path, sizeof(path));
    return refuse(err, found.code, place, path, "%s", found.message);
}

static int check_all(const struct reader *r, struct sl_error *err)
{
    struct place begin = r->root.line != 0 ? r->root : (struct place){1, 1};
    for (size_t i = 0; i < SL_KNOWN_HEADERS; i++) {
        const struct sl_known header = sl_known_at(i);
        if (r->seen[i].line == 0) {
            return refuse(err, SL_ERR_FIELD, begin, header.path, "found nothing, expected %s",
                          header.value);
        }
    }
    for (size_t i = 0; i < sl_n_keys; i++) {
        if (sl_keys[i].type == SL_KEY_VERB && check_verb(r, &sl_keys[i], err) != 0) {
            return -1;
        }
    }
    return check_clashes(r, err);
}

int sl_config_parse(const char *name, const char *text, size_t len, struct sl_config *config,
                    struct sl_config_warnings *warnings, struct sl_error *err)
{
    const struct sl_text_limits limits = {
        .max_bytes = SL_CONFIG_FILE_MAX, .max_string = STRING_MAX, .max_depth = DEPTH_MAX};
    struct reader r = {.open = {"", 0}};
    if (len > SL_CONFIG_FILE_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "%s: found %zu bytes, expected at most %d", name,
                            len, (int)SL_CONFIG_FILE_MAX);
    }
    sl_config_defaults(&r.config);
    if (sl_yaml_parse(text, len, &limits, receive, &r, err) != 0 || check_all(&r, err) != 0) {
        return -1;
    }
    warn_of_orders(&r);
    *config = r.config;
    if (warnings != NULL) {
        *warnings = r.warnings;
    }
    return 0;
}
