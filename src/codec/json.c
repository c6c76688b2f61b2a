/* JSON's grammar over chunks. One loop in two versions: one that reports every token, and one for
 * what the receiver skips, which checks the same and calls nobody. */
#include "codec/json.h"

#include "codec/json_token.h"

#include <stdlib.h>

#define SL_INLINE static inline __attribute__((always_inline))

enum { RUN_MAX = 64 }; /* strings in one event */

/* The reader's position. Lives in registers: its address goes to inlined functions only. */
struct walk {
    const char *p; /* NULL after a failure */
    const char *end;
    enum sl_json_place place;
    unsigned depth;
    bool leave; /* the chunk has ended within a token, or skipping has begun or ended */
};

static const char *skip_white_run(struct sl_json *json, const char *p, const char *end)
{
    while (p < end) {
        if (*p == '\n') {
            p++;
            json->line++;
            json->line_start = sl_json_offset(json, p);
            p = sl_scan_spaces(p, end); /* indentation */
        } else if (*p == ' ' || *p == '\t' || *p == '\r') {
            p++;
        } else {
            break;
        }
    }
    return p;
}

/* False when the chunk has ended. */
SL_INLINE bool skip_white(struct sl_json *json, struct walk *w)
{
    if (w->p < w->end && (unsigned char)*w->p > ' ') {
        return true;
    }
    w->p = skip_white_run(json, w->p, w->end);
    return w->p < w->end;
}

/* ---- reporting ---- */

/* Gives the event its place and hands it over. */
SL_INLINE int send(struct sl_json *json, struct sl_event *event, size_t offset)
{
    event->line = json->line;
    event->column = (unsigned)(offset - json->line_start + 1);
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

static int report(struct sl_json *json, enum sl_event_type type, struct sl_str text, bool boolean,
                  size_t offset)
{
    struct sl_event event = {.type = type, .boolean = boolean, .text = text, .fault = json->fault};
    json->fault = NULL;
    return send(json, &event, offset);
}

/* Reports a KEY, OBJECT or ARRAY; the value at depth base may be skipped. */
SL_INLINE void report_begin(struct sl_json *json, struct walk *w, enum sl_event_type type,
                            struct sl_str text, size_t offset, unsigned base)
{
    int answer = report(json, type, text, false, offset);
    if (answer < 0) {
        w->p = NULL;
    } else if (answer == SL_EVENT_SKIP) {
        json->skipping = true;
        json->skip_base = base;
        w->leave = true;
        if (json->limits.forgiving && type != SL_EVENT_KEY) {
            json->nested = 1;
            w->depth = base;
        }
    } else {
        json->runs = answer == SL_EVENT_RUNS && type == SL_EVENT_ARRAY;
    }
}

SL_INLINE void report_value(struct sl_json *json, struct walk *w, enum sl_event_type type,
                            struct sl_str text, bool boolean, size_t offset)
{
    if (report(json, type, text, boolean, offset) < 0) {
        w->p = NULL;
    }
}

/* A value is complete. */
SL_INLINE void value_done(struct sl_json *json, struct walk *w, const bool skipping)
{
    w->place = w->depth == 0 ? SL_JSON_DONE : SL_JSON_AFTER;
    if (skipping && w->depth == json->skip_base) {
        json->skipping = false;
        w->leave = true;
    }
}

/* ---- the parts of the grammar ---- */

/* The string whose opening quote is at w->p: into *text, and true when it is complete. */
SL_INLINE bool take_string(struct sl_json *json, struct walk *w, struct sl_str *text,
                           const bool skipping)
{
    const char *start = w->p + 1;
    const char *q = sl_scan_plain(start, w->end);
    size_t len = (size_t)(q - start);
    if (q < w->end && *q == '"' && (skipping || len <= json->limits.max_string)) {
        *text = (struct sl_str){start, len};
        w->p = q + 1;
        return true;
    }
    w->p = sl_json_string_rest(json, start, q, w->end);
    if (w->p == NULL) {
        return false;
    }
    w->leave = json->token != SL_JSON_TOKEN_NONE;
    *text = json->text;
    return !w->leave;
}

SL_INLINE void take_key(struct sl_json *json, struct walk *w, const bool skipping)
{
    const char *start = w->p;
    struct sl_str text;
    if (*start != '"') {
        w->p = sl_json_fail_found(json, start,
                                  w->place == SL_JSON_KEY ? "a key in double quotes"
                                                          : "a key in double quotes or '}'");
        return;
    }
    w->place = SL_JSON_KEY;
    if (!take_string(json, w, &text, skipping)) {
        return;
    }
    w->place = SL_JSON_COLON;
    if (!skipping) {
        report_begin(json, w, SL_EVENT_KEY, text, sl_json_offset(json, start), w->depth);
    }
}

SL_INLINE void open_container(struct sl_json *json, struct walk *w, bool object,
                              const bool skipping)
{
    size_t offset = sl_json_offset(json, w->p);
    unsigned base = w->depth;
    if (skipping && json->limits.forgiving) {
        json->nested = 1;
        w->leave = true;
        w->p++;
        return;
    }
    if (base == json->limits.max_depth) {
        (void)sl_error_set(&json->error, SL_ERR_LIMIT, "nested deeper than %u levels",
                           json->limits.max_depth);
        w->p = sl_json_fail(json, offset);
        return;
    }
    json->in_object[base] = object;
    w->depth = base + 1;
    w->place = object ? SL_JSON_KEY_OR_END : SL_JSON_VALUE_OR_END;
    w->p++;
    if (!skipping) {
        report_begin(json, w, object ? SL_EVENT_OBJECT : SL_EVENT_ARRAY, (struct sl_str){0}, offset,
                     base);
    }
}

SL_INLINE void close_container(struct sl_json *json, struct walk *w, const bool skipping)
{
    size_t offset = sl_json_offset(json, w->p);
    json->runs = false;
    w->depth--;
    w->p++;
    value_done(json, w, skipping);
    if (!skipping) {
        report_value(json, w,
                     json->in_object[w->depth] != 0 ? SL_EVENT_OBJECT_END : SL_EVENT_ARRAY_END,
                     (struct sl_str){0}, false, offset);
    }
}

static void report_literal(struct sl_json *json, struct walk *w, size_t offset)
{
    bool null = json->literal == SL_JSON_NULL;
    report_value(json, w, null ? SL_EVENT_NULL : SL_EVENT_BOOL, (struct sl_str){0},
                 json->literal == SL_JSON_TRUE, offset);
}

/* A value's first byte that is no quote, brace or bracket: a number or a literal. */
SL_INLINE void take_other(struct sl_json *json, struct walk *w, const bool skipping)
{
    const char *start = w->p;
    size_t offset = sl_json_offset(json, start);
    bool number = *start == '-' || (*start >= '0' && *start <= '9');
    if (number) {
        w->p = sl_json_number(json, start, w->end);
    } else if (*start == 't' || *start == 'f' || *start == 'n') {
        w->p = sl_json_literal(json, start, w->end);
    } else if (offset == 0 && (unsigned char)*start >= 0x80) {
        (void)sl_error_set(&json->error, SL_ERR_SYNTAX,
                           "expected a value, found a byte order mark or no UTF-8 (byte 0x%02x)",
                           (unsigned)(unsigned char)*start);
        w->p = sl_json_fail(json, offset);
    } else {
        w->p = sl_json_fail_found(json, start,
                                  w->place == SL_JSON_VALUE ? "a value" : "a value or ']'");
    }
    if (w->p == NULL) {
        return;
    }
    w->place = SL_JSON_VALUE;
    w->leave = json->token != SL_JSON_TOKEN_NONE;
    if (w->leave) {
        return;
    }
    value_done(json, w, skipping);
    if (!skipping && number) {
        report_value(json, w, SL_EVENT_NUMBER, json->text, false, offset);
    } else if (!skipping) {
        report_literal(json, w, offset);
    }
}

/* Strings that follow each other with nothing but a comma between, the first at p, in one event.
 * Returns what is behind them; p when there is no such string; NULL after a failure. */
static const char *take_run(struct sl_json *json, const char *p, const char *end)
{
    struct sl_str item[RUN_MAX];
    size_t n = 0;
    const char *start = p + 1;
    const char *behind = p;
    while (n < RUN_MAX) {
        const char *q = sl_scan_plain(start, end);
        size_t len = (size_t)(q - start);
        if (q == end || *q != '"' || len > json->limits.max_string) {
            break;
        }
        item[n++] = (struct sl_str){start, len};
        behind = q + 1;
        if (end - behind < 2 || behind[0] != ',' || behind[1] != '"') {
            break;
        }
        start = behind + 2;
    }
    struct sl_event event = {.type = SL_EVENT_STRINGS, .run = {item, n}};
    return n > 0 && send(json, &event, sl_json_offset(json, p)) < 0 ? NULL : behind;
}

SL_INLINE void take_value(struct sl_json *json, struct walk *w, const bool skipping)
{
    const char *start = w->p;
    if (!skipping && json->runs && *start == '"') {
        w->p = take_run(json, start, w->end);
        if (w->p != start) {
            w->place = SL_JSON_AFTER;
            return;
        }
    }
    if (*start == '"') {
        struct sl_str text;
        w->place = SL_JSON_VALUE;
        if (take_string(json, w, &text, skipping)) {
            value_done(json, w, skipping);
            if (!skipping) {
                report_value(json, w, SL_EVENT_STRING, text, false, sl_json_offset(json, start));
            }
        }
    } else if (*start == '{' || *start == '[') {
        open_container(json, w, *start == '{', skipping);
    } else {
        take_other(json, w, skipping);
    }
}

SL_INLINE void take_after(struct sl_json *json, struct walk *w, const bool skipping)
{
    bool object = json->in_object[w->depth - 1] != 0;
    if (*w->p == ',') {
        w->p++;
        w->place = object ? SL_JSON_KEY : SL_JSON_VALUE;
    } else if (*w->p == (object ? '}' : ']')) {
        close_container(json, w, skipping);
    } else {
        w->p = sl_json_fail_found(json, w->p, object ? "',' or '}'" : "',' or ']'");
    }
}

/* The stream's next text begins at w->p. */
static void next_text(struct sl_json *json, struct walk *w)
{
    size_t offset = sl_json_offset(json, w->p);
    if (report(json, SL_EVENT_DOCUMENT_END, (struct sl_str){0}, false, offset) < 0) {
        w->p = NULL;
        return;
    }
    json->offset -= offset;
    json->line = 1;
    json->line_start = 0;
    w->place = SL_JSON_VALUE;
}

/* One step; each case goes on to what most often follows it. */
SL_INLINE void step(struct sl_json *json, struct walk *w, const bool skipping)
{
    switch (w->place) {
    case SL_JSON_KEY_OR_END:
        if (*w->p == '}') {
            close_container(json, w, skipping);
            break;
        }
        /* fall through */
    case SL_JSON_KEY:
        take_key(json, w, skipping);
        if (w->p == NULL || w->leave || !skip_white(json, w)) {
            break;
        }
        /* fall through */
    case SL_JSON_COLON:
        if (*w->p != ':') {
            w->p = sl_json_fail_found(json, w->p, "':'");
            break;
        }
        w->p++;
        w->place = SL_JSON_VALUE;
        if (!skip_white(json, w)) {
            break;
        }
        /* fall through */
    case SL_JSON_VALUE:
        take_value(json, w, skipping);
        break;
    case SL_JSON_VALUE_OR_END:
        if (*w->p == ']') {
            close_container(json, w, skipping);
        } else {
            take_value(json, w, skipping);
        }
        break;
    case SL_JSON_AFTER:
        take_after(json, w, skipping);
        break;
    case SL_JSON_DONE:
        if (json->stream) {
            next_text(json, w);
            break;
        }
        w->p = sl_json_fail_found(json, w->p, "the end of the text after its value");
        break;
    }
}

/* Reads until the chunk ends, the mode changes, or the text is bad (NULL). */
SL_INLINE const char *walk(struct sl_json *json, const char *p, const char *end,
                           const bool skipping)
{
    struct walk w = {.p = p, .end = end, .place = json->place, .depth = json->depth};
    while (w.p != NULL && !w.leave && skip_white(json, &w)) {
        step(json, &w, skipping);
    }
    json->place = w.place;
    json->depth = w.depth;
    return w.p;
}

static const char *walk_reporting(struct sl_json *json, const char *p, const char *end)
{
    return walk(json, p, end, false);
}

static const char *walk_skipping(struct sl_json *json, const char *p, const char *end)
{
    return walk(json, p, end, true);
}

/* The token that was cut is complete: what its kind would have done in the loop. */
static const char *complete_token(struct sl_json *json, enum sl_json_token token, const char *p)
{
    struct walk w = {.p = p, .end = p, .place = json->place, .depth = json->depth};
    const bool skipping = json->skipping;
    if (json->place == SL_JSON_KEY) {
        w.place = SL_JSON_COLON;
        if (!skipping) {
            report_begin(json, &w, SL_EVENT_KEY, json->text, json->token_start, w.depth);
        }
    } else {
        value_done(json, &w, skipping);
        if (!skipping && token == SL_JSON_TOKEN_LITERAL) {
            report_literal(json, &w, json->token_start);
        } else if (!skipping) {
            report_value(json, &w,
                         token == SL_JSON_TOKEN_STRING ? SL_EVENT_STRING : SL_EVENT_NUMBER,
                         json->text, false, json->token_start);
        }
    }
    json->place = w.place;
    json->depth = w.depth;
    return w.p;
}

/* Within a string: past its end, or past the chunk's. */
static const char *skip_string(struct sl_json *json, const char *p, const char *end)
{
    while (p < end && json->token == SL_JSON_TOKEN_STRING) {
        if (json->string == SL_JSON_STRING_RAW_ESCAPE) {
            json->string = SL_JSON_STRING_RAW;
            p++;
            continue;
        }
        p = sl_scan_plain(p, end);
        if (p == end) {
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

/* Forgiving: strings and brackets alone say where a container ends. */
static const char *skip_nested(struct sl_json *json, const char *p, const char *end)
{
    while (p < end && json->nested > 0) {
        if (json->token == SL_JSON_TOKEN_STRING) {
            p = skip_string(json, p, end);
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

static const char *read_chunk(struct sl_json *json, const char *p, const char *end)
{
    if (json->token != SL_JSON_TOKEN_NONE && json->nested == 0) {
        enum sl_json_token token = json->token;
        p = sl_json_resume(json, p, end);
        if (p != NULL && json->token == SL_JSON_TOKEN_NONE) {
            p = complete_token(json, token, p);
        }
    }
    while (p != NULL && p < end) {
        p = json->nested > 0 ? skip_nested(json, p, end)
            : json->skipping ? walk_skipping(json, p, end)
                             : walk_reporting(json, p, end);
    }
    return p;
}

/* ---- interface ---- */

struct sl_json *sl_json_new(const struct sl_text_limits *limits, sl_event_fn receive, void *context)
{
    struct sl_json *json = calloc(1, sizeof(*json));
    if (json == NULL) {
        return NULL;
    }
    json->limits = *limits;
    json->in_object = calloc(limits->max_depth + (size_t)1, 1);
    if (json->in_object == NULL) {
        free(json);
        return NULL;
    }
    sl_buf_init(&json->scratch, limits->max_string);
    sl_json_reset(json, receive, context);
    return json;
}

void sl_json_free(struct sl_json *json)
{
    if (json != NULL) {
        sl_buf_free(&json->scratch);
        free(json->in_object);
        free(json);
    }
}

size_t sl_json_bytes(const struct sl_json *json)
{
    return sizeof(*json) + json->limits.max_depth + json->scratch.cap;
}

void sl_json_reset(struct sl_json *json, sl_event_fn receive, void *context)
{
    struct sl_json fresh = {
        .receive = receive,
        .context = context,
        .limits = json->limits,
        .place = SL_JSON_VALUE,
        .in_object = json->in_object,
        .line = 1,
        .scratch = json->scratch,
    };
    fresh.scratch.failed = SL_BUF_OK;
    *json = fresh;
}

void sl_json_reset_stream(struct sl_json *json, sl_event_fn receive, void *context)
{
    sl_json_reset(json, receive, context);
    json->stream = true;
}

bool sl_json_between(const struct sl_json *json)
{
    bool before = json->place == SL_JSON_VALUE && json->depth == 0 && !json->skipping;
    return json->token == SL_JSON_TOKEN_NONE && (before || json->place == SL_JSON_DONE);
}

static int failure(struct sl_json *json, struct sl_error *err)
{
    if (err != NULL) {
        *err = json->error;
    }
    return -1;
}

/* Up to the limit the text is read, so that the same is reported however it is cut. */
static size_t room(struct sl_json *json)
{
    if (json->stream && json->place == SL_JSON_DONE && json->offset >= json->limits.max_bytes) {
        json->line_start -= json->offset; /* what follows is white space, or another text */
        json->offset = 0;
    }
    return json->limits.max_bytes - json->offset;
}

int sl_json_feed(struct sl_json *json, const char *data, size_t len, struct sl_error *err)
{
    if (json->failed) {
        return failure(json, err);
    }
    while (len > 0) {
        size_t most = room(json);
        size_t take = len < most ? len : most;
        if (take == 0) {
            (void)sl_error_set(&json->error, SL_ERR_LIMIT, "the text is longer than %zu bytes",
                               json->limits.max_bytes);
            (void)sl_json_fail(json, json->offset);
            return failure(json, err);
        }
        json->chunk = data;
        if (read_chunk(json, data, data + take) == NULL) {
            return failure(json, err);
        }
        json->offset += take;
        json->chunk = NULL;
        data += take;
        len -= take;
    }
    return 0;
}

/* Why the text cannot end here. */
static const char *missing(const struct sl_json *json)
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

int sl_json_finish(struct sl_json *json, struct sl_error *err)
{
    if (json->failed) {
        return failure(json, err);
    }
    if (json->finished) {
        return 0;
    }
    if (sl_json_token_finish(json) && complete_token(json, SL_JSON_TOKEN_NUMBER, "") == NULL) {
        return failure(json, err);
    }
    bool none = json->place == SL_JSON_VALUE && json->depth == 0;
    if (json->stream && none && json->token == SL_JSON_TOKEN_NONE) {
        json->finished = true; /* no text at all */
        return 0;
    }
    if (json->place != SL_JSON_DONE) {
        (void)sl_error_set(&json->error, SL_ERR_SYNTAX, "expected %s, found the end of the text",
                           missing(json));
        (void)sl_json_fail(json, json->offset);
        return failure(json, err);
    }
    if (report(json, SL_EVENT_DOCUMENT_END, (struct sl_str){0}, false, json->offset) < 0) {
        return failure(json, err);
    }
    json->finished = true;
    return 0;
}
