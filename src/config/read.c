/* A YAML file to struct sl_config. Reads into a copy, so that an error changes nothing. */
#include <stdio.h>

#include "codec/yaml.h"
#include "config/keys.h"
#include "config/suggest.h"

enum {
    STRING_MAX = 4096,
    DEPTH_MAX = 16,
    PATH_MAX_LEN = 160, /* of a key that can be known or reported */
    SHOWN_MAX = 64,     /* of a value in a message */
    HEADERS = 2,
};

static const struct {
    const char *path;
    const char *value;
} HEADER[HEADERS] = {{"apiVersion", SL_CONFIG_API_VERSION}, {"kind", SL_CONFIG_KIND}};

struct place {
    unsigned line; /* 0: not seen */
    unsigned column;
};

/* What the key at hand is. */
enum target { TARGET_NONE, TARGET_KEY, TARGET_SECTION, TARGET_HEADER, TARGET_LIST };

struct reader {
    struct sl_config config;
    struct place key[SL_KEYS];
    struct place section[SL_KEY_SECTIONS]; /* [0] is the root */
    struct place header[HEADERS];
    struct place list[SL_KEY_LISTS];
    struct place field[SL_KEY_FIELDS_MAX]; /* of the entry that is open */
    struct place entry;
    size_t open; /* the section whose keys come, when the root is open */
    unsigned depth;
    enum target target;
    size_t index;
    const struct sl_key_list *in_list; /* whose entries come; NULL: none */
    bool in_entry;                     /* of that list: its last */
    struct sl_config_warnings warnings;
};

static struct place place_of(const struct sl_event *event)
{
    return (struct place){event->line, event->column};
}

/* For messages: cut between characters, and nothing that could upset a terminal. */
static void show(struct sl_str text, char out[SHOWN_MAX + 4])
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

/* Gives the error its place; always -1. */
static int at(struct sl_error *err, struct place place, const char *field)
{
    if (err != NULL) {
        err->line = place.line;
        err->column = place.column;
        (void)snprintf(err->field, sizeof(err->field), "%s", field);
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

static int claim(struct place *seen, const char *path, const struct sl_event *event,
                 struct sl_error *err)
{
    if (seen->line != 0) {
        (void)sl_error_set(err, SL_ERR_FIELD,
                           "found a second time, expected once (first on line %u)", seen->line);
        return at(err, place_of(event), path);
    }
    *seen = place_of(event);
    return 0;
}

static int refuse_key(const char *path, const struct sl_event *event, struct sl_error *err)
{
    char list[256];
    const char *near = sl_suggest_key(path);
    if (near != NULL) {
        (void)sl_error_set(err, SL_ERR_FIELD, "found an unknown key, expected perhaps \"%s\"",
                           near);
        return at(err, place_of(event), path);
    }
    sl_suggest_list(path, list, sizeof(list));
    (void)sl_error_set(err, SL_ERR_FIELD, "found an unknown key, expected one of %s", list);
    return at(err, place_of(event), path);
}

/* "queue.limits[1].maxTimeout"; key NULL: the entry. */
static void entry_path(const struct reader *r, const struct sl_key *key, char out[PATH_MAX_LEN])
{
    size_t n = sl_list_count(r->in_list, &r->config);
    (void)snprintf(out, PATH_MAX_LEN, "%s[%zu]%s", r->in_list->path, n > 0 ? n - 1 : 0,
                   key == NULL ? "" : key->path + strlen(r->in_list->path));
}

static int on_field_key(struct reader *r, const char *path, const struct sl_event *event,
                        struct sl_error *err)
{
    for (size_t i = 0; i < r->in_list->n_fields; i++) {
        if (strcmp(path, r->in_list->field[i].path) == 0) {
            char where[PATH_MAX_LEN];
            entry_path(r, &r->in_list->field[i], where);
            r->target = TARGET_KEY;
            r->index = i;
            return claim(&r->field[i], where, event, err);
        }
    }
    return refuse_key(path, event, err);
}

static int on_key(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    char shown[SHOWN_MAX + 4];
    const char *section = r->in_entry ? r->in_list->path : sl_key_sections[r->open].path;
    const char *dot = section[0] == '\0' ? "" : ".";
    show(event->text, shown);
    (void)snprintf(path, sizeof(path), "%s%s%s", section, dot, shown);
    size_t prefix = strlen(section) + strlen(dot);
    if (event->text.len > 0 && memchr(event->text.s, '.', event->text.len) != NULL) {
        (void)sl_error_set(err, SL_ERR_FIELD, "found a key with \".\" in it, expected nested maps");
        return at(err, place_of(event), path);
    }
    bool whole = strlen(path) == prefix + event->text.len &&
                 memcmp(path + prefix, event->text.s, event->text.len) == 0;
    if (r->in_entry) {
        return whole ? on_field_key(r, path, event, err) : refuse_key(path, event, err);
    }
    for (size_t i = 0; whole && i < HEADERS; i++) {
        if (strcmp(path, HEADER[i].path) == 0) {
            r->target = TARGET_HEADER;
            r->index = i;
            return claim(&r->header[i], path, event, err);
        }
    }
    for (size_t i = 1; whole && i < SL_KEY_SECTIONS; i++) {
        if (strcmp(path, sl_key_sections[i].path) == 0) {
            r->target = TARGET_SECTION;
            r->index = i;
            return claim(&r->section[i], path, event, err);
        }
    }
    for (size_t i = 0; whole && i < SL_KEYS; i++) {
        if (strcmp(path, sl_keys[i].path) == 0) {
            r->target = TARGET_KEY;
            r->index = i;
            return claim(&r->key[i], path, event, err);
        }
    }
    for (size_t i = 0; whole && i < SL_KEY_LISTS; i++) {
        if (strcmp(path, sl_key_lists[i].path) == 0) {
            r->target = TARGET_LIST;
            r->index = i;
            return claim(&r->list[i], path, event, err);
        }
    }
    return refuse_key(path, event, err);
}

/* --- Values ------------------------------------------------------------------------------------
 */

/* "many" in quotes, a number bare, and a word for what has no text. */
static void describe_found(const struct sl_event *event, char *out, size_t size)
{
    char shown[SHOWN_MAX + 4];
    show(event->text, shown);
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
    (void)sl_error_set(err, code, "found %s, expected %s", found, expected);
    return at(err, place_of(event), path);
}

static int refuse_key_value(const struct reader *r, const struct sl_key *key,
                            enum sl_error_code code, const struct sl_event *event,
                            struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    struct sl_buf expected;
    sl_buf_init(&expected, 512);
    sl_value_expected(key, &expected);
    sl_buf_putc(&expected, '\0');
    if (expected.failed != SL_BUF_OK) {
        sl_buf_free(&expected);
        return sl_error_nomem(err);
    }
    (void)snprintf(path, sizeof(path), "%s", key->path);
    if (r->in_entry) {
        entry_path(r, key, path);
    }
    (void)refuse_value(path, code, event, expected.data, err);
    sl_buf_free(&expected);
    return -1;
}

static int set_key(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    const struct sl_key *key = r->in_entry ? &r->in_list->field[r->index] : &sl_keys[r->index];
    void *base = r->in_entry ? sl_list_entry(r->in_list, &r->config,
                                             sl_list_count(r->in_list, &r->config) - 1)
                             : (void *)&r->config;
    bool string = event->type == SL_EVENT_STRING;
    if (key->type == SL_KEY_BOOLEAN && event->type == SL_EVENT_BOOL) {
        sl_key_set_number(key, base, event->boolean ? 1 : 0);
        return 0;
    }
    if (!string && event->type != SL_EVENT_NUMBER) {
        return refuse_key_value(r, key, SL_ERR_TYPE, event, err);
    }
    if (key->text) {
        if (!string) {
            return refuse_key_value(r, key, SL_ERR_TYPE, event, err);
        }
        if (!sl_value_text(key, event->text) || !sl_key_set_text(key, base, event->text)) {
            return refuse_key_value(r, key, SL_ERR_FIELD, event, err);
        }
        return 0;
    }
    int64_t value = 0;
    enum sl_value_result result = sl_value_number(key, event->text, string, &value);
    if (result != SL_VALUE_OK) {
        return refuse_key_value(r, key, result == SL_VALUE_TYPE ? SL_ERR_TYPE : SL_ERR_FIELD, event,
                                err);
    }
    sl_key_set_number(key, base, value);
    return 0;
}

/* --- Lists -------------------------------------------------------------------------------------
 */

static int open_list(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    const struct sl_key_list *list = &sl_key_lists[r->index];
    if (event->type == SL_EVENT_ARRAY) {
        r->in_list = list;
        return 0;
    }
    if (event->type == SL_EVENT_NULL) {
        return 0;
    }
    return refuse_value(list->path, SL_ERR_TYPE, event, "a list of maps", err);
}

static int open_entry(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    const struct sl_key_list *list = r->in_list;
    size_t n = sl_list_count(list, &r->config);
    if (event->type != SL_EVENT_OBJECT) {
        (void)snprintf(path, sizeof(path), "%s[%zu]", list->path, n);
        return refuse_value(path, SL_ERR_TYPE, event, "a map", err);
    }
    if (n == list->max) {
        (void)sl_error_set(err, SL_ERR_LIMIT, "found one more entry, expected at most %u",
                           list->max);
        return at(err, place_of(event), list->path);
    }
    sl_list_set_count(list, &r->config, n + 1);
    memset(r->field, 0, sizeof(r->field));
    r->entry = place_of(event);
    r->in_entry = true;
    for (size_t i = 0; i < list->n_fields; i++) {
        sl_key_set_default(&list->field[i], sl_list_entry(list, &r->config, n));
    }
    return 0;
}

/* Is there, and no entry before it has the same? */
static int check_field(const struct reader *r, size_t i, struct sl_error *err)
{
    char path[PATH_MAX_LEN];
    const struct sl_key_list *list = r->in_list;
    const struct sl_key *key = &list->field[i];
    size_t last = sl_list_count(list, &r->config) - 1;
    if (key->required && r->field[i].line == 0) {
        entry_path(r, NULL, path);
        (void)sl_error_set(err, SL_ERR_FIELD, "found no %s, expected one",
                           key->path + sl_key_parent_len(key->path) + 1);
        return at(err, r->entry, path);
    }
    for (size_t k = 0; key->unique && k < last; k++) {
        if (sl_key_equal(key, sl_list_entry_of(list, &r->config, k),
                         sl_list_entry_of(list, &r->config, last))) {
            entry_path(r, key, path);
            (void)sl_error_set(err, SL_ERR_FIELD, "found what %s[%zu] has, expected another",
                               list->path, k);
            return at(err, r->field[i].line == 0 ? r->entry : r->field[i], path);
        }
    }
    return 0;
}

/* An override that says whose pods, but no weight. */
static void warn_of_entry(struct reader *r)
{
    char path[PATH_MAX_LEN];
    const struct sl_plan_override *override = &r->config.queue.override[0];
    if (strcmp(r->in_list->path, "queue.overrides") != 0) {
        return;
    }
    override += r->config.queue.n_overrides - 1;
    if (override->weights.alpha < 0 && override->weights.beta < 0 && override->weights.gamma < 0) {
        struct sl_error *warning = add_warning(r);
        entry_path(r, NULL, path);
        (void)sl_error_set(warning, SL_ERR_FIELD,
                           "has no effect: it states none of alpha, beta, gamma");
        (void)at(warning, r->entry, path);
    }
}

static int close_entry(struct reader *r, struct sl_error *err)
{
    for (size_t i = 0; i < r->in_list->n_fields; i++) {
        if (check_field(r, i, err) < 0) {
            return -1;
        }
    }
    warn_of_entry(r);
    r->in_entry = false;
    return 0;
}

/* --- Maps --------------------------------------------------------------------------------------
 */

static int check_header(const struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    const char *want = HEADER[r->index].value;
    if (event->type == SL_EVENT_STRING && sl_str_eq(event->text, sl_str_of(want))) {
        return 0;
    }
    return refuse_value(HEADER[r->index].path,
                        event->type == SL_EVENT_STRING ? SL_ERR_FIELD : SL_ERR_TYPE, event, want,
                        err);
}

static int open_root(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    if (r->section[0].line != 0) {
        (void)sl_error_set(err, SL_ERR_FIELD, "found a second document, expected one");
        return at(err, place_of(event), "");
    }
    if (event->type == SL_EVENT_OBJECT) {
        r->section[0] = place_of(event);
        r->depth = 1;
        return 0;
    }
    if (event->type == SL_EVENT_NULL) {
        return 0; /* an empty document: what is missing is said at the end */
    }
    return refuse_value("", SL_ERR_TYPE, event, "a map with apiVersion and kind", err);
}

static int on_value(struct reader *r, const struct sl_event *event, struct sl_error *err)
{
    if (r->depth == 0) {
        return open_root(r, event, err);
    }
    enum target target = r->target;
    r->target = TARGET_NONE;
    if (target == TARGET_KEY) {
        return set_key(r, event, err);
    }
    if (target == TARGET_LIST) {
        return open_list(r, event, err);
    }
    if (r->in_list != NULL) {
        return open_entry(r, event, err);
    }
    if (target == TARGET_HEADER) {
        return check_header(r, event, err);
    }
    if (event->type == SL_EVENT_OBJECT) {
        r->open = r->index;
        r->depth++;
        return 0;
    }
    if (event->type == SL_EVENT_NULL) {
        return 0; /* "server:" with all its keys commented out */
    }
    return refuse_value(sl_key_sections[r->index].path, SL_ERR_TYPE, event, "a map of keys", err);
}

/* Back to the section around the one that ends. */
static void on_object_end(struct reader *r)
{
    const char *path = sl_key_sections[r->open].path;
    size_t len = sl_key_parent_len(path);
    r->depth--;
    for (size_t i = 0; i < SL_KEY_SECTIONS; i++) {
        if (strlen(sl_key_sections[i].path) == len &&
            memcmp(sl_key_sections[i].path, path, len) == 0) {
            r->open = i;
        }
    }
}

static int receive(void *context, const struct sl_event *event, struct sl_error *err)
{
    struct reader *r = context;
    switch (event->type) {
    case SL_EVENT_KEY:
        return on_key(r, event, err);
    case SL_EVENT_OBJECT_END:
        if (r->in_entry) {
            return close_entry(r, err);
        }
        on_object_end(r);
        return 0;
    case SL_EVENT_ARRAY_END:
        r->in_list = NULL;
        return 0;
    case SL_EVENT_DOCUMENT_END:
        return 0;
    default:
        return on_value(r, event, err);
    }
}

/* --- What single values cannot tell ------------------------------------------------------------
 */

/* Of a key or a list. */
static struct place place_of_key(const struct reader *r, const char *path)
{
    for (size_t i = 0; i < SL_KEYS; i++) {
        if (strcmp(sl_keys[i].path, path) == 0) {
            return r->key[i];
        }
    }
    for (size_t i = 0; i < SL_KEY_LISTS; i++) {
        if (strcmp(sl_key_lists[i].path, path) == 0) {
            return r->list[i];
        }
    }
    return (struct place){0, 0};
}

/* Where a key is set to something else than its built-in value, or a list has entries. */
static struct place place_of_choice(const struct reader *r, const char *path)
{
    struct sl_config built_in;
    sl_config_defaults(&built_in);
    for (size_t i = 0; i < SL_KEYS; i++) {
        if (strcmp(sl_keys[i].path, path) == 0 &&
            !sl_key_equal(&sl_keys[i], &r->config, &built_in)) {
            return r->key[i];
        }
    }
    for (size_t i = 0; i < SL_KEY_LISTS; i++) {
        if (strcmp(sl_key_lists[i].path, path) == 0 &&
            sl_list_count(&sl_key_lists[i], &r->config) > 0) {
            return r->list[i];
        }
    }
    return (struct place){0, 0};
}

static void warn_of_orders(struct reader *r)
{
    enum sl_order_kind order = SL_ORDER_FIFO;
    const char *path = sl_keys_of_order(0, &order);
    for (size_t i = 1; path != NULL; i++) {
        struct place place = place_of_choice(r, path);
        if (place.line != 0 && order != r->config.queue.order) {
            struct sl_error *warning = add_warning(r);
            (void)sl_error_set(warning, SL_ERR_FIELD,
                               "has no effect: it is of the order %s, and queue.order is %s",
                               sl_order_name(order), sl_order_name(r->config.queue.order));
            (void)at(warning, place, path);
        }
        path = sl_keys_of_order(i, &order);
    }
}

static bool is_later(struct place a, struct place b)
{
    return a.line > b.line || (a.line == b.line && a.column > b.column);
}

/* To blame is the later of two that were set, or the one that was (built-in verbs all differ). */
static int check_verb(const struct reader *r, size_t i, struct sl_error *err)
{
    const char *verb = sl_key_text(&sl_keys[i], &r->config);
    for (size_t k = 0; k < SL_KEYS; k++) {
        if (sl_keys[k].type == SL_KEY_VERB && is_later(r->key[i], r->key[k]) &&
            strcmp(verb, sl_key_text(&sl_keys[k], &r->config)) == 0) {
            (void)sl_error_set(err, SL_ERR_FIELD,
                               "found \"%s\", expected another name than that of %s", verb,
                               sl_keys[k].path);
            return at(err, r->key[i], sl_keys[i].path);
        }
    }
    return 0;
}

static int check_verbs(const struct reader *r, struct sl_error *err)
{
    for (size_t i = 0; i < SL_KEYS; i++) {
        if (sl_keys[i].type == SL_KEY_VERB && check_verb(r, i, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int check_clashes(const struct reader *r, struct sl_error *err)
{
    struct sl_key_clash clash = {NULL, NULL};
    if (sl_keys_check(&r->config, &clash, err) == 0) {
        return 0;
    }
    struct place place = place_of_key(r, clash.key);
    if (place.line == 0) {
        place = place_of_key(r, clash.other);
    }
    return at(err, place, clash.key);
}

static int check_all(const struct reader *r, struct sl_error *err)
{
    struct place begin = r->section[0].line != 0 ? r->section[0] : (struct place){1, 1};
    for (size_t i = 0; i < HEADERS; i++) {
        if (r->header[i].line == 0) {
            (void)sl_error_set(err, SL_ERR_FIELD, "found nothing, expected %s", HEADER[i].value);
            return at(err, begin, HEADER[i].path);
        }
    }
    if (check_verbs(r, err) != 0) {
        return -1;
    }
    return check_clashes(r, err);
}

int sl_config_parse_warning(const char *name, const char *text, size_t len,
                            struct sl_config *config, struct sl_config_warnings *warnings,
                            struct sl_error *err)
{
    const struct sl_text_limits limits = {
        .max_bytes = SL_CONFIG_FILE_MAX, .max_string = STRING_MAX, .max_depth = DEPTH_MAX};
    struct reader r = {.open = 0};
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

int sl_config_parse(const char *name, const char *text, size_t len, struct sl_config *config,
                    struct sl_error *err)
{
    return sl_config_parse_warning(name, text, len, config, NULL, err);
}
