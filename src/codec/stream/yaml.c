/* YAML to events, on libyaml's own event parser. Bounded: the text by max_bytes, nesting by a stack
 * of max_depth; libyaml holds one token at a time. */
#include "codec/stream/yaml.h"

#include <stdlib.h>
#include <yaml.h>

enum level { LEVEL_SEQUENCE, LEVEL_KEY, LEVEL_VALUE }; /* what comes next in a collection */

struct reader {
    const struct sl_text_limits *limits;
    sl_event_fn receive;
    void *context;
    unsigned char *level; /* enum level, one per depth */
    unsigned depth;
    bool skipping;
    unsigned skip_base; /* depth at which the value that is skipped stands */
    struct sl_error error;
};

/* Gives the error its place; always -1. */
static int at_mark(struct reader *r, yaml_mark_t mark)
{
    r->error.line = (unsigned)(mark.line + 1);
    r->error.column = (unsigned)(mark.column + 1);
    return -1;
}

static int fail_at(struct reader *r, yaml_mark_t mark, const char *text)
{
    (void)sl_error_set(&r->error, SL_ERR_SYNTAX, "%s", text);
    return at_mark(r, mark);
}

/* base: the depth at which the value stands that a SKIP passes over. */
static int event_report(struct reader *r, enum sl_event_type type, struct sl_str text, bool boolean,
                        yaml_mark_t mark, unsigned base)
{
    if (r->skipping) {
        return 0;
    }
    struct sl_event event = {
        .type = type,
        .boolean = boolean,
        .text = text,
        .line = (unsigned)(mark.line + 1),
        .column = (unsigned)(mark.column + 1),
    };
    int answer = r->receive(r->context, &event, &r->error);
    if (answer < 0) {
        if (r->error.line == 0) {
            r->error.line = event.line;
            r->error.column = event.column;
        }
        return -1;
    }
    if (answer == SL_EVENT_SKIP &&
        (type == SL_EVENT_KEY || type == SL_EVENT_OBJECT || type == SL_EVENT_ARRAY)) {
        r->skipping = true;
        r->skip_base = base;
    }
    return 0;
}

/* A value is complete: what comes next, and whether skipping ends here. */
static void value_done(struct reader *r)
{
    if (r->depth > 0 && r->level[r->depth - 1] == LEVEL_VALUE) {
        r->level[r->depth - 1] = LEVEL_KEY;
    }
    if (r->skipping && r->depth == r->skip_base) {
        r->skipping = false;
    }
}

/* ---- plain scalars: YAML 1.2.2, 10.3.2 "Tag Resolution" of the core schema ---- */

static bool is_one_of(struct sl_str text, const char *const words[3])
{
    for (int i = 0; i < 3; i++) {
        if (sl_str_eq(text, sl_str_of(words[i]))) {
            return true;
        }
    }
    return false;
}

/* Length of the run of characters of the set that begins at text.s[from]. */
static size_t run_of(struct sl_str text, size_t from, const char *set)
{
    size_t n = 0;
    while (from + n < text.len && text.s[from + n] != '\0' &&
           strchr(set, text.s[from + n]) != NULL) {
        n++;
    }
    return n;
}

#define DIGITS "0123456789"

/* [-+]? ( \.[0-9]+ | [0-9]+ ( \.[0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_decimal(struct sl_str text)
{
    size_t at = 0;
    if (at < text.len && (text.s[at] == '-' || text.s[at] == '+')) {
        at++;
    }
    size_t whole = run_of(text, at, DIGITS);
    size_t fraction = 0;
    at += whole;
    if (at < text.len && text.s[at] == '.') {
        fraction = run_of(text, at + 1, DIGITS);
        at += 1 + fraction;
    }
    if (whole + fraction == 0) {
        return false;
    }
    if (at < text.len && (text.s[at] == 'e' || text.s[at] == 'E')) {
        at++;
        if (at < text.len && (text.s[at] == '-' || text.s[at] == '+')) {
            at++;
        }
        size_t exponent = run_of(text, at, DIGITS);
        if (exponent == 0) {
            return false;
        }
        at += exponent;
    }
    return at == text.len;
}

static bool is_number(struct sl_str text)
{
    static const char *const infinities[] = {".inf", ".Inf", ".INF"};
    static const char *const nans[] = {".nan", ".NaN", ".NAN"};
    if (text.len > 2 && sl_str_starts(text, SL_STR("0o"))) {
        return run_of(text, 2, "01234567") == text.len - 2;
    }
    if (text.len > 2 && sl_str_starts(text, SL_STR("0x"))) {
        return run_of(text, 2, DIGITS "abcdefABCDEF") == text.len - 2;
    }
    struct sl_str unsigned_text = text;
    if (text.len > 0 && (text.s[0] == '-' || text.s[0] == '+')) {
        unsigned_text = (struct sl_str){text.s + 1, text.len - 1};
    }
    return is_decimal(text) || is_one_of(unsigned_text, infinities) || is_one_of(text, nans);
}

static enum sl_event_type scalar_resolve(struct sl_str text, bool *boolean)
{
    static const char *const nulls[] = {"null", "Null", "NULL"};
    static const char *const trues[] = {"true", "True", "TRUE"};
    static const char *const falses[] = {"false", "False", "FALSE"};
    if (text.len == 0 || sl_str_eq(text, SL_STR("~")) || is_one_of(text, nulls)) {
        return SL_EVENT_NULL;
    }
    *boolean = is_one_of(text, trues);
    if (*boolean || is_one_of(text, falses)) {
        return SL_EVENT_BOOL;
    }
    return is_number(text) ? SL_EVENT_NUMBER : SL_EVENT_STRING;
}

/* ---- libyaml's events ---- */

static bool expects_key(const struct reader *r)
{
    return r->depth > 0 && r->level[r->depth - 1] == LEVEL_KEY;
}

static int refuse_properties(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag,
                             yaml_mark_t mark)
{
    if (anchor != NULL) {
        return fail_at(r, mark, "anchors are not supported");
    }
    if (tag != NULL) {
        return fail_at(r, mark, "tags are not supported");
    }
    return 0;
}

static int read_scalar(struct reader *r, const yaml_event_t *e)
{
    struct sl_str text = {(const char *)e->data.scalar.value, e->data.scalar.length};
    if (refuse_properties(r, e->data.scalar.anchor, e->data.scalar.tag, e->start_mark) != 0) {
        return -1;
    }
    if (!r->skipping && text.len > r->limits->max_string) {
        (void)sl_error_set(&r->error, SL_ERR_LIMIT,
                           "a key, string or number is longer than %zu bytes",
                           r->limits->max_string);
        return at_mark(r, e->start_mark);
    }
    if (expects_key(r)) {
        r->level[r->depth - 1] = LEVEL_VALUE;
        return event_report(r, SL_EVENT_KEY, text, false, e->start_mark, r->depth);
    }
    bool boolean = false;
    enum sl_event_type type = SL_EVENT_STRING;
    if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        type = scalar_resolve(text, &boolean);
    }
    if (type == SL_EVENT_NULL || type == SL_EVENT_BOOL) {
        text = (struct sl_str){0};
    }
    int rc = event_report(r, type, text, boolean, e->start_mark, 0);
    value_done(r);
    return rc;
}

static int read_begin(struct reader *r, const yaml_event_t *e)
{
    bool object = e->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor =
        object ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    const yaml_char_t *tag = object ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    if (refuse_properties(r, anchor, tag, e->start_mark) != 0) {
        return -1;
    }
    if (expects_key(r)) {
        return fail_at(r, e->start_mark,
                       object ? "expected a key, found a mapping"
                              : "expected a key, found a sequence");
    }
    if (r->depth == r->limits->max_depth) {
        (void)sl_error_set(&r->error, SL_ERR_LIMIT, "nested deeper than %u levels",
                           r->limits->max_depth);
        return at_mark(r, e->start_mark);
    }
    r->level[r->depth] = object ? LEVEL_KEY : LEVEL_SEQUENCE;
    r->depth++;
    return event_report(r, object ? SL_EVENT_OBJECT : SL_EVENT_ARRAY, (struct sl_str){0}, false,
                        e->start_mark, r->depth - 1);
}

static int read_end(struct reader *r, const yaml_event_t *e)
{
    bool object = e->type == YAML_MAPPING_END_EVENT;
    bool reported = !r->skipping;
    r->depth--;
    value_done(r);
    if (!reported) {
        return 0;
    }
    return event_report(r, object ? SL_EVENT_OBJECT_END : SL_EVENT_ARRAY_END, (struct sl_str){0},
                        false, e->start_mark, 0);
}

static int read_event(struct reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(r, e);
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        return read_begin(r, e);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return read_end(r, e);
    case YAML_ALIAS_EVENT:
        return fail_at(r, e->start_mark, "aliases are not supported");
    case YAML_DOCUMENT_END_EVENT:
        return event_report(r, SL_EVENT_DOCUMENT_END, (struct sl_str){0}, false, e->start_mark, 0);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
        break;
    }
    return 0;
}

/* libyaml counts a reader's problem in bytes from the beginning. */
static yaml_mark_t mark_of_offset(const char *text, size_t len, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset && i < len; i++) {
        mark.column++;
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        }
    }
    return mark;
}

static int fail_parser(struct reader *r, const yaml_parser_t *parser, const char *text, size_t len)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        return sl_error_nomem(&r->error);
    }
    yaml_mark_t mark = parser->problem_mark;
    if (parser->error == YAML_READER_ERROR) {
        mark = mark_of_offset(text, len, parser->problem_offset);
    }
    const char *problem = parser->problem == NULL ? "not YAML" : parser->problem;
    if (parser->context != NULL) {
        (void)sl_error_set(&r->error, SL_ERR_SYNTAX, "%s: %s", parser->context, problem);
        return at_mark(r, mark);
    }
    return fail_at(r, mark, problem);
}

static int parse_all(struct reader *r, yaml_parser_t *parser, const char *text, size_t len)
{
    bool more = true;
    int rc = 0;
    while (more && rc == 0) {
        yaml_event_t event;
        if (yaml_parser_parse(parser, &event) == 0) {
            return fail_parser(r, parser, text, len);
        }
        more = event.type != YAML_STREAM_END_EVENT;
        rc = read_event(r, &event);
        yaml_event_delete(&event);
    }
    return rc;
}

int sl_yaml_parse(const char *text, size_t len, const struct sl_text_limits *limits,
                  sl_event_fn receive, void *context, struct sl_error *err)
{
    struct reader r = {.limits = limits, .receive = receive, .context = context};
    yaml_parser_t parser;
    if (len > limits->max_bytes) {
        return sl_error_set(err, SL_ERR_LIMIT, "the text is longer than %zu bytes",
                            limits->max_bytes);
    }
    r.level = calloc(limits->max_depth + (size_t)1, 1);
    if (r.level == NULL) {
        return sl_error_nomem(err);
    }
    if (yaml_parser_initialize(&parser) == 0) {
        free(r.level);
        return sl_error_nomem(err);
    }
    /* else two bytes that look like UTF-16's mark would choose the encoding */
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)(len == 0 ? "" : text), len);
    int rc = parse_all(&r, &parser, text, len);
    yaml_parser_delete(&parser);
    free(r.level);
    if (rc != 0 && err != NULL) {
        *err = r.error;
    }
    return rc;
}
