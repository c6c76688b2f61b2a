/* JSON's grammar over chunks: one step per token. Text that the receiver skips is checked the same
 * and reported to nobody. */
#include "codec/stream/json_internal.h"

enum { RUN_MAX = 64 }; /* strings in one event */

static const char *skip_white_run(struct sl_json *json, const char *p)
{
    while (p < json->end) {
        if (*p == '\n') {
            p++;
            json->line++;
            json->line_start = sl_json_offset(json, p);
            p = sl_scan_spaces(p, json->end); /* indentation */
        } else if (*p == ' ' || *p == '\t' || *p == '\r') {
            p++;
        } else {
            break;
        }
    }
    return p;
}

static inline const char *skip_white(struct sl_json *json, const char *p)
{
    return p < json->end && (unsigned char)*p > ' ' ? p : skip_white_run(json, p);
}

/* ---- reporting ---- */

/* Gives the event its place and hands it over. */
static int report_event(struct sl_json *json, struct sl_event *event, size_t offset)
{
    event->line = json->line;
    event->column = (unsigned)(offset - json->line_start + 1);
    json->event = offset;
    int answer = json->receive(json->context, event, &json->error);
    if (answer < 0) {
        json->failed = true;
        if (json->error.line == 0) {
            json->error.line = event->line;
            json->error.column = event->column;
        }
    }
    return answer;
}

static int report_text(struct sl_json *json, enum sl_event_type type, struct sl_str text,
                       size_t offset)
{
    struct sl_event event = {.type = type,
                             .boolean = type == SL_EVENT_BOOL && json->literal == SL_JSON_TRUE,
                             .text = text,
                             .fault = json->fault};
    if (json->skipping) {
        return SL_EVENT_GO;
    }
    json->fault = NULL;
    return report_event(json, &event, offset);
}

static int report_bare(struct sl_json *json, enum sl_event_type type, size_t offset)
{
    return report_text(json, type, (struct sl_str){NULL, 0}, offset);
}

/* Reports a KEY, OBJECT or ARRAY; the value at depth base, which is it or follows it, may be
 * skipped. Returns p, or NULL after a failure. */
static const char *report_begin(struct sl_json *json, const char *p, enum sl_event_type type,
                                struct sl_str text, size_t offset, unsigned base)
{
    int answer = report_text(json, type, text, offset);
    if (answer < 0) {
        return NULL;
    }
    json->runs = answer == SL_EVENT_RUNS && type == SL_EVENT_ARRAY;
    if (answer == SL_EVENT_SKIP) {
        json->skipping = true;
        json->skip_base = base;
        if (json->limits.forgiving && type != SL_EVENT_KEY) {
            json->nested = 1;
            json->depth = base;
        }
    }
    return p;
}

/* A value is complete; end: what is reported of it. */
static const char *end_value(struct sl_json *json, const char *p, enum sl_event_type end,
                             struct sl_str text, size_t offset)
{
    if (report_text(json, end, text, offset) < 0) {
        return NULL;
    }
    json->place = json->depth == 0 ? SL_JSON_DONE : SL_JSON_AFTER;
    json->skipping = json->skipping && json->depth != json->skip_base;
    return p;
}

/* ---- the parts of the grammar ---- */

/* Each takes what begins at p and returns where it stopped, NULL after a failure. The chunk's end
 * stops all of them. */

/* The string whose opening quote is at p, into json->text; it is cut when json->token says so. */
static inline const char *take_string(struct sl_json *json, const char *p)
{
    const char *start = p + 1;
    const char *q = sl_scan_plain(start, json->end);
    size_t len = (size_t)(q - start);
    if (q < json->end && *q == '"' && (json->skipping || len <= json->limits.max_string)) {
        json->text = (struct sl_str){start, len};
        return q + 1;
    }
    return sl_json_string_rest(json, start, q, json->end);
}

static const char *take_key(struct sl_json *json, const char *p)
{
    if (*p != '"') {
        return sl_json_fail_found(json, p,
                                  json->place == SL_JSON_KEY ? "a key in double quotes"
                                                             : "a key in double quotes or '}'");
    }
    json->place = SL_JSON_KEY;
    const char *behind = take_string(json, p);
    if (behind == NULL || json->token != SL_JSON_TOKEN_NONE) {
        return behind;
    }
    json->place = SL_JSON_COLON;
    return report_begin(json, behind, SL_EVENT_KEY, json->text, sl_json_offset(json, p),
                        json->depth);
}

static const char *open_container(struct sl_json *json, const char *p)
{
    size_t offset = sl_json_offset(json, p);
    unsigned base = json->depth;
    bool object = *p == '{';
    if (json->skipping && json->limits.forgiving) {
        json->nested = 1;
        return p + 1;
    }
    if (base == json->limits.max_depth) {
        (void)sl_error_set(&json->error, SL_ERR_LIMIT, "nested deeper than %u levels",
                           json->limits.max_depth);
        return sl_json_fail(json, offset);
    }
    json->in_object[base] = object;
    json->depth = base + 1;
    json->place = object ? SL_JSON_KEY_OR_END : SL_JSON_VALUE_OR_END;
    return report_begin(json, p + 1, object ? SL_EVENT_OBJECT : SL_EVENT_ARRAY,
                        (struct sl_str){NULL, 0}, offset, base);
}

static const char *close_container(struct sl_json *json, const char *p)
{
    json->runs = false;
    json->depth--;
    return end_value(json, p + 1,
                     json->in_object[json->depth] != 0 ? SL_EVENT_OBJECT_END : SL_EVENT_ARRAY_END,
                     (struct sl_str){NULL, 0}, sl_json_offset(json, p));
}

/* The number or literal in json->text or json->literal is complete. */
static const char *end_other(struct sl_json *json, const char *p, bool number, size_t offset)
{
    enum sl_event_type literal = json->literal == SL_JSON_NULL ? SL_EVENT_NULL : SL_EVENT_BOOL;
    return number ? end_value(json, p, SL_EVENT_NUMBER, json->text, offset)
                  : end_value(json, p, literal, (struct sl_str){NULL, 0}, offset);
}

/* A value whose first byte is no quote, brace or bracket. */
static const char *take_other(struct sl_json *json, const char *p)
{
    size_t offset = sl_json_offset(json, p);
    bool number = *p == '-' || (*p >= '0' && *p <= '9');
    const char *behind = NULL;
    if (number) {
        behind = sl_json_number(json, p, json->end);
    } else if (*p == 't' || *p == 'f' || *p == 'n') {
        behind = sl_json_literal(json, p, json->end);
    } else if (offset == 0 && (unsigned char)*p >= 0x80) {
        (void)sl_error_set(&json->error, SL_ERR_SYNTAX,
                           "expected a value, found a byte order mark or no UTF-8 (byte 0x%02x)",
                           (unsigned)(unsigned char)*p);
        return sl_json_fail(json, offset);
    } else {
        return sl_json_fail_found(json, p,
                                  json->place == SL_JSON_VALUE ? "a value" : "a value or ']'");
    }
    json->place = SL_JSON_VALUE;
    return behind == NULL || json->token != SL_JSON_TOKEN_NONE
               ? behind
               : end_other(json, behind, number, offset);
}

/* Strings that follow each other with nothing but a comma between, the first at p, in one event.
 * Returns p when there is no such string. */
static const char *take_run(struct sl_json *json, const char *p)
{
    struct sl_str item[RUN_MAX];
    size_t n = 0;
    const char *start = p + 1;
    const char *behind = p;
    while (n < RUN_MAX) {
        const char *q = sl_scan_plain(start, json->end);
        size_t len = (size_t)(q - start);
        if (q == json->end || *q != '"' || len > json->limits.max_string) {
            break;
        }
        item[n++] = (struct sl_str){start, len};
        behind = q + 1;
        if (json->end - behind < 2 || behind[0] != ',' || behind[1] != '"') {
            break;
        }
        start = behind + 2;
    }
    if (n == 0) {
        return p;
    }
    struct sl_event event = {.type = SL_EVENT_STRINGS, .run = {item, n}};
    json->place = SL_JSON_AFTER;
    return report_event(json, &event, sl_json_offset(json, p)) < 0 ? NULL : behind;
}

static const char *take_value(struct sl_json *json, const char *p)
{
    if (*p == '{' || *p == '[') {
        return open_container(json, p);
    }
    if (*p != '"') {
        return take_other(json, p);
    }
    if (json->runs && !json->skipping) {
        const char *behind = take_run(json, p);
        if (behind != p) {
            return behind;
        }
    }
    json->place = SL_JSON_VALUE;
    const char *behind = take_string(json, p);
    return behind == NULL || json->token != SL_JSON_TOKEN_NONE
               ? behind
               : end_value(json, behind, SL_EVENT_STRING, json->text, sl_json_offset(json, p));
}

static const char *take_after(struct sl_json *json, const char *p)
{
    bool object = json->in_object[json->depth - 1] != 0;
    if (*p == ',') {
        json->place = object ? SL_JSON_KEY : SL_JSON_VALUE;
        return p + 1;
    }
    return *p == (object ? '}' : ']')
               ? close_container(json, p)
               : sl_json_fail_found(json, p, object ? "',' or '}'" : "',' or ']'");
}

/* The stream's next text begins at p. */
static const char *begin_text(struct sl_json *json, const char *p)
{
    size_t offset = sl_json_offset(json, p);
    if (report_bare(json, SL_EVENT_DOCUMENT_END, offset) < 0) {
        return NULL;
    }
    json->offset -= offset;
    json->line = 1;
    json->line_start = 0;
    json->place = SL_JSON_VALUE;
    return p;
}

/* A key, colon and value in one go where they are whole; else what the place asks for. *p is no
 * white space. */
static const char *take_next(struct sl_json *json, const char *p)
{
    switch (json->place) {
    case SL_JSON_KEY_OR_END:
        if (*p == '}') {
            return close_container(json, p);
        }
        /* fall through */
    case SL_JSON_KEY:
        p = take_key(json, p);
        p = p == NULL ? NULL : skip_white(json, p);
        if (p == NULL || p == json->end) {
            return p;
        }
        /* fall through */
    case SL_JSON_COLON:
        if (*p != ':') {
            return sl_json_fail_found(json, p, "':'");
        }
        json->place = SL_JSON_VALUE;
        p = skip_white(json, p + 1);
        if (p == json->end) {
            return p;
        }
        /* fall through */
    case SL_JSON_VALUE:
        return take_value(json, p);
    case SL_JSON_VALUE_OR_END:
        return *p == ']' ? close_container(json, p) : take_value(json, p);
    case SL_JSON_AFTER:
        return take_after(json, p);
    case SL_JSON_DONE:
        break;
    }
    return json->stream ? begin_text(json, p)
                        : sl_json_fail_found(json, p, "the end of the text after its value");
}

/* The token that was cut is complete. */
static const char *end_token(struct sl_json *json, enum sl_json_token token, const char *p)
{
    if (json->place == SL_JSON_KEY) {
        json->place = SL_JSON_COLON;
        return report_begin(json, p, SL_EVENT_KEY, json->text, json->token_start, json->depth);
    }
    return token == SL_JSON_TOKEN_STRING
               ? end_value(json, p, SL_EVENT_STRING, json->text, json->token_start)
               : end_other(json, p, token == SL_JSON_TOKEN_NUMBER, json->token_start);
}

/* ---- what forgiving limits skip ---- */

/* Within a string: past its end, or past the chunk's. */
static const char *skip_string(struct sl_json *json, const char *p)
{
    while (p < json->end && json->token == SL_JSON_TOKEN_STRING) {
        if (json->string == SL_JSON_STRING_RAW_ESCAPE) {
            json->string = SL_JSON_STRING_RAW;
            p++;
            continue;
        }
        p = sl_scan_plain(p, json->end);
        if (p == json->end) {
            break;
        }
        if (*p == '"') {
            json->token = SL_JSON_TOKEN_NONE;
        } else if (*p == '\\') {
            json->string = SL_JSON_STRING_RAW_ESCAPE;
        }
        p++;
    }
    return p;
}

/* Strings and brackets alone say where a container ends. */
static const char *skip_nested(struct sl_json *json, const char *p)
{
    while (p < json->end && json->nested > 0) {
        if (json->token == SL_JSON_TOKEN_STRING) {
            p = skip_string(json, p);
            continue;
        }
        char c = *p++;
        if (c == '"') {
            json->token = SL_JSON_TOKEN_STRING;
            json->string = SL_JSON_STRING_RAW;
        } else if (c == '{' || c == '[') {
            json->nested++;
        } else if (c == '}' || c == ']') {
            json->nested--;
        } else if (c == '\n') {
            json->line++;
            json->line_start = sl_json_offset(json, p);
        }
    }
    if (json->nested == 0) {
        json->skipping = false;
        json->place = json->depth == 0 ? SL_JSON_DONE : SL_JSON_AFTER;
    }
    return p;
}

/* ---- the whole ---- */

void sl_json_keep_to(struct sl_json *json, size_t offset)
{
    sl_buf_append(json->kept, json->chunk + (json->kept_to - json->offset), offset - json->kept_to);
    json->kept_to = offset;
}

bool sl_json_read(struct sl_json *json, const char *data, size_t len)
{
    const char *p = data;
    json->chunk = data;
    json->end = data + len;
    if (json->token != SL_JSON_TOKEN_NONE && json->nested == 0) {
        enum sl_json_token token = json->token;
        p = sl_json_resume(json, p, json->end);
        if (p != NULL && json->token == SL_JSON_TOKEN_NONE) {
            p = end_token(json, token, p);
        }
    }
    while (p != NULL && p < json->end) {
        if (json->nested > 0) {
            p = skip_nested(json, p);
            continue;
        }
        p = skip_white(json, p);
        p = p < json->end ? take_next(json, p) : p;
    }
    if (json->kept != NULL && p != NULL) {
        sl_json_keep_to(json, json->offset + len);
    }
    json->chunk = NULL;
    json->end = NULL;
    json->offset += p == NULL ? 0 : len;
    return p != NULL;
}

/* Why the text cannot end here. */
static const char *name_missing(const struct sl_json *json)
{
    static const char *const tokens[] = {
        [SL_JSON_TOKEN_STRING] = "the rest of a string",
        [SL_JSON_TOKEN_NUMBER] = "the rest of a number",
        [SL_JSON_TOKEN_LITERAL] = "the rest of true, false or null",
    };
    static const char *const places[] = {
        [SL_JSON_KEY_OR_END] = "a key in double quotes or '}'",
        [SL_JSON_KEY] = "a key in double quotes",
        [SL_JSON_COLON] = "':'",
        [SL_JSON_VALUE_OR_END] = "a value or ']'",
        [SL_JSON_VALUE] = "a value",
    };
    if (json->token != SL_JSON_TOKEN_NONE) {
        return tokens[json->token];
    }
    if (json->place == SL_JSON_AFTER) {
        return json->in_object[json->depth - 1] != 0 ? "',' or '}'" : "',' or ']'";
    }
    return places[json->place];
}

bool sl_json_read_end(struct sl_json *json)
{
    if (sl_json_token_finish(json) && end_token(json, SL_JSON_TOKEN_NUMBER, "") == NULL) {
        return false;
    }
    bool none = json->place == SL_JSON_VALUE && json->depth == 0;
    if (json->stream && none && json->token == SL_JSON_TOKEN_NONE) {
        return true;
    }
    if (json->place != SL_JSON_DONE) {
        (void)sl_error_set(&json->error, SL_ERR_SYNTAX, "expected %s, found the end of the text",
                           name_missing(json));
        (void)sl_json_fail(json, json->offset);
        return false;
    }
    return report_bare(json, SL_EVENT_DOCUMENT_END, json->offset) >= 0;
}
