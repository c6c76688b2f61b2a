/* JSON tokens off the fast path: strings with escapes or beyond ASCII, numbers, literals, and
 * whatever a chunk's end has cut. A cut token is kept in the scratch, at most max_string bytes of
 * it, and only when it will be reported. */
#include "codec/stream/json_internal.h"

const char *sl_json_fail(struct sl_json *json, size_t offset)
{
    json->error.line = json->line;
    json->error.column = (unsigned)(offset - json->line_start + 1);
    json->failed = true;
    return NULL;
}

const char *sl_json_fail_found(struct sl_json *json, const char *p, const char *what)
{
    unsigned char c = (unsigned char)*p;
    size_t at = sl_json_offset(json, p);
    if (c == '"') {
        (void)sl_error_set(&json->error, SL_ERR_SYNTAX, "expected %s, found a string", what);
        return sl_json_fail(json, at);
    }
    if (c > 0x20 && c < 0x7f) {
        (void)sl_error_set(&json->error, SL_ERR_SYNTAX, "expected %s, found '%c'", what, c);
        return sl_json_fail(json, at);
    }
    (void)sl_error_set(&json->error, SL_ERR_SYNTAX, "expected %s, found byte 0x%02x", what, c);
    return sl_json_fail(json, at);
}

static const char *token_fail_long(struct sl_json *json, size_t token_start)
{
    (void)sl_error_set(&json->error, SL_ERR_LIMIT,
                       "a key, string or number is longer than %zu bytes", json->limits.max_string);
    return sl_json_fail(json, token_start);
}

/* With forgiving limits: the token has no text any more; only its end is looked for. */
static void token_spoil(struct sl_json *json, const char *fault)
{
    json->fault = json->skipping ? NULL : fault;
    json->scratch.len = 0;
    json->high = 0;
    json->string = SL_JSON_STRING_RAW;
}

static const char too_long[] = "is longer than what is read of a text";

/* Adds to the cut token's text; false after a failure. */
static bool text_keep(struct sl_json *json, const char *data, size_t len)
{
    if (json->skipping || json->fault != NULL || len == 0) {
        return true;
    }
    if (len > json->limits.max_string - json->scratch.len) {
        if (json->limits.forgiving) {
            token_spoil(json, too_long);
            return true;
        }
        (void)token_fail_long(json, json->token_start);
        return false;
    }
    sl_buf_append(&json->scratch, data, len);
    if (json->scratch.failed != SL_BUF_OK) {
        (void)sl_error_set(&json->error, SL_ERR_NOMEM, "out of memory");
        (void)sl_json_fail(json, json->token_start);
        return false;
    }
    return true;
}

static void begin_cut(struct sl_json *json, enum sl_json_token token, const char *start)
{
    json->token = token;
    json->token_start = sl_json_offset(json, start);
    json->scratch.len = 0;
    json->fault = NULL;
}

static void end_cut(struct sl_json *json)
{
    json->token = SL_JSON_TOKEN_NONE;
    const char *data = json->scratch.data;
    json->text = (struct sl_str){data == NULL ? "" : data, json->scratch.len};
}

/* ---- strings ---- */

static const char *fail_in_string(struct sl_json *json, const char *p)
{
    unsigned char c = (unsigned char)*p;
    size_t at = sl_json_offset(json, p);
    if (c < 0x20) {
        (void)sl_error_set(&json->error, SL_ERR_SYNTAX,
                           "a string has control character 0x%02x, which must be escaped", c);
        return sl_json_fail(json, at);
    }
    (void)sl_error_set(&json->error, SL_ERR_SYNTAX, "a string is not UTF-8 at byte 0x%02x", c);
    return sl_json_fail(json, at);
}

static bool keep_code(struct sl_json *json, uint32_t code)
{
    char utf8[4];
    return text_keep(json, utf8, sl_utf8_encode(code, utf8));
}

/* *p is special. Returns past it, NULL after a failure. */
static const char *string_special(struct sl_json *json, const char *p)
{
    unsigned char c = (unsigned char)*p;
    if (c == '"') {
        end_cut(json);
        return p + 1;
    }
    if (c == '\\') {
        json->string = SL_JSON_STRING_ESCAPE;
        return p + 1;
    }
    if (c < 0x20 || !sl_utf8_begin(&json->utf8, c)) {
        return fail_in_string(json, p);
    }
    json->string = SL_JSON_STRING_UTF8;
    return text_keep(json, p, 1) ? p + 1 : NULL;
}

static const char *string_utf8(struct sl_json *json, const char *p)
{
    if (!sl_utf8_next(&json->utf8, (unsigned char)*p)) {
        return fail_in_string(json, p);
    }
    if (json->utf8.need == 0) {
        json->string = SL_JSON_STRING_PLAIN;
    }
    return text_keep(json, p, 1) ? p + 1 : NULL;
}

static const char *string_escape(struct sl_json *json, const char *p)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (*p == 'u') {
        json->string = SL_JSON_STRING_HEX;
        json->hex = 0;
        json->hex_digits = 0;
        return p + 1;
    }
    const char *name = *p == '\0' ? NULL : strchr(names, *p);
    if (name == NULL) {
        return sl_json_fail_found(json, p, "one of \"\\/bfnrtu after a backslash");
    }
    json->string = SL_JSON_STRING_PLAIN;
    return text_keep(json, &values[name - names], 1) ? p + 1 : NULL;
}

/* Four digits are complete. p: the last of them. */
static const char *string_code(struct sl_json *json, const char *p)
{
    uint32_t code = json->hex;
    bool high = code >= 0xd800 && code <= 0xdbff;
    bool low = code >= 0xdc00 && code <= 0xdfff;
    if (low != (json->high != 0)) {
        (void)sl_error_set(&json->error, SL_ERR_SYNTAX,
                           "\\u%04x is half of a surrogate pair without the other half",
                           (unsigned)(low ? code : json->high));
        return sl_json_fail(json, sl_json_offset(json, p));
    }
    if (high) {
        json->high = code;
        json->string = SL_JSON_STRING_LOW_SLASH;
        return p + 1;
    }
    if (low) {
        code = 0x10000 + ((json->high - 0xd800) << 10) + (code - 0xdc00);
        json->high = 0;
    }
    json->string = SL_JSON_STRING_PLAIN;
    return keep_code(json, code) ? p + 1 : NULL;
}

static const char *string_hex(struct sl_json *json, const char *p)
{
    unsigned char c = (unsigned char)*p;
    unsigned char letter = c | 0x20;
    if (c >= '0' && c <= '9') {
        json->hex = json->hex << 4 | (uint32_t)(c - '0');
    } else if (letter >= 'a' && letter <= 'f') {
        json->hex = json->hex << 4 | (uint32_t)(letter - 'a' + 10);
    } else {
        return sl_json_fail_found(json, p, "four hexadecimal digits after \\u");
    }
    json->hex_digits++;
    return json->hex_digits == 4 ? string_code(json, p) : p + 1;
}

/* After a high surrogate: the backslash, then the u, of the low one. */
static const char *string_low(struct sl_json *json, const char *p)
{
    bool slash = json->string == SL_JSON_STRING_LOW_SLASH;
    if (*p != (slash ? '\\' : 'u')) {
        (void)sl_error_set(&json->error, SL_ERR_SYNTAX,
                           "\\u%04x is half of a surrogate pair without the other half",
                           (unsigned)json->high);
        return sl_json_fail(json, sl_json_offset(json, p));
    }
    json->string = slash ? SL_JSON_STRING_LOW_U : SL_JSON_STRING_HEX;
    json->hex = 0;
    json->hex_digits = 0;
    return p + 1;
}

/* *p is not looked at closer than to find the string's end. */
static const char *string_raw(struct sl_json *json, const char *p)
{
    bool escaped = json->string == SL_JSON_STRING_RAW_ESCAPE;
    json->string = SL_JSON_STRING_RAW;
    if (!escaped && *p == '"') {
        end_cut(json);
    } else if (!escaped && *p == '\\') {
        json->string = SL_JSON_STRING_RAW_ESCAPE;
    }
    return p + 1;
}

static const char *string_step(struct sl_json *json, const char *p)
{
    switch (json->string) {
    case SL_JSON_STRING_RAW:
    case SL_JSON_STRING_RAW_ESCAPE:
        return string_raw(json, p);
    case SL_JSON_STRING_UTF8:
        return string_utf8(json, p);
    case SL_JSON_STRING_ESCAPE:
        return string_escape(json, p);
    case SL_JSON_STRING_HEX:
        return string_hex(json, p);
    case SL_JSON_STRING_LOW_SLASH:
    case SL_JSON_STRING_LOW_U:
        return string_low(json, p);
    case SL_JSON_STRING_PLAIN:
        break;
    }
    return string_special(json, p);
}

static const char *string_resume(struct sl_json *json, const char *p, const char *end)
{
    while (p != NULL && p < end && json->token == SL_JSON_TOKEN_STRING) {
        if (json->string == SL_JSON_STRING_PLAIN || json->string == SL_JSON_STRING_RAW) {
            const char *special = sl_scan_plain(p, end);
            if (!text_keep(json, p, (size_t)(special - p))) {
                return NULL;
            }
            p = special;
            if (p == end) {
                break;
            }
        }
        const char *next = string_step(json, p);
        if (next == NULL && json->limits.forgiving && json->error.code == SL_ERR_SYNTAX) {
            json->failed = false;
            json->error = (struct sl_error){.code = SL_ERR_NONE};
            token_spoil(json, "is not UTF-8, or has an escape that stands for no character");
            next = p; /* it may be the quote */
        }
        p = next;
    }
    return p;
}

const char *sl_json_string_rest(struct sl_json *json, const char *start, const char *p,
                                const char *end)
{
    size_t start_offset = sl_json_offset(json, start) - 1;
    while (p < end && *p != '\\') {
        /* before what stands at p: the same failure wherever chunks are cut */
        if (!json->skipping && (size_t)(p - start) > json->limits.max_string) {
            if (json->limits.forgiving) {
                break;
            }
            return token_fail_long(json, start_offset);
        }
        if (*p == '"') {
            json->text = (struct sl_str){start, (size_t)(p - start)};
            return p + 1;
        }
        int length = (unsigned char)*p < 0x20 ? SL_UTF8_BAD : sl_utf8_length(p, end);
        if (length <= 0) {
            break; /* cut, or bad: reading byte by byte tells where */
        }
        p = sl_scan_plain(p + length, end);
    }
    begin_cut(json, SL_JSON_TOKEN_STRING, start - 1);
    json->string =
        json->skipping && json->limits.forgiving ? SL_JSON_STRING_RAW : SL_JSON_STRING_PLAIN;
    if (!text_keep(json, start, (size_t)(p - start))) {
        return NULL;
    }
    return string_resume(json, p, end);
}

/* ---- numbers ---- */

enum number_state {
    NUMBER_STOP, /* the byte belongs to no number here */
    NUMBER_START,
    NUMBER_MINUS,
    NUMBER_ZERO,
    NUMBER_INT,
    NUMBER_DOT,
    NUMBER_FRACTION,
    NUMBER_E,
    NUMBER_E_SIGN,
    NUMBER_EXPONENT,
    NUMBER_STATES
};

enum number_class {
    CLASS_OTHER,
    CLASS_ZERO,
    CLASS_DIGIT,
    CLASS_MINUS,
    CLASS_PLUS,
    CLASS_DOT,
    CLASS_E
};

static const unsigned char number_next[NUMBER_STATES][CLASS_E + 1] = {
    [NUMBER_START] =
        {[CLASS_MINUS] = NUMBER_MINUS, [CLASS_ZERO] = NUMBER_ZERO, [CLASS_DIGIT] = NUMBER_INT},
    [NUMBER_MINUS] = {[CLASS_ZERO] = NUMBER_ZERO, [CLASS_DIGIT] = NUMBER_INT},
    [NUMBER_ZERO] = {[CLASS_DOT] = NUMBER_DOT, [CLASS_E] = NUMBER_E},
    [NUMBER_INT] = {[CLASS_ZERO] = NUMBER_INT,
                    [CLASS_DIGIT] = NUMBER_INT,
                    [CLASS_DOT] = NUMBER_DOT,
                    [CLASS_E] = NUMBER_E},
    [NUMBER_DOT] = {[CLASS_ZERO] = NUMBER_FRACTION, [CLASS_DIGIT] = NUMBER_FRACTION},
    [NUMBER_FRACTION] =
        {[CLASS_ZERO] = NUMBER_FRACTION, [CLASS_DIGIT] = NUMBER_FRACTION, [CLASS_E] = NUMBER_E},
    [NUMBER_E] = {[CLASS_PLUS] = NUMBER_E_SIGN,
                  [CLASS_MINUS] = NUMBER_E_SIGN,
                  [CLASS_ZERO] = NUMBER_EXPONENT,
                  [CLASS_DIGIT] = NUMBER_EXPONENT},
    [NUMBER_E_SIGN] = {[CLASS_ZERO] = NUMBER_EXPONENT, [CLASS_DIGIT] = NUMBER_EXPONENT},
    [NUMBER_EXPONENT] = {[CLASS_ZERO] = NUMBER_EXPONENT, [CLASS_DIGIT] = NUMBER_EXPONENT},
};

static const bool number_complete[NUMBER_STATES] = {
    [NUMBER_ZERO] = true,
    [NUMBER_INT] = true,
    [NUMBER_FRACTION] = true,
    [NUMBER_EXPONENT] = true,
};

static const unsigned char number_classes[256] = {
    ['0'] = CLASS_ZERO,  ['1'] = CLASS_DIGIT, ['2'] = CLASS_DIGIT, ['3'] = CLASS_DIGIT,
    ['4'] = CLASS_DIGIT, ['5'] = CLASS_DIGIT, ['6'] = CLASS_DIGIT, ['7'] = CLASS_DIGIT,
    ['8'] = CLASS_DIGIT, ['9'] = CLASS_DIGIT, ['-'] = CLASS_MINUS, ['+'] = CLASS_PLUS,
    ['.'] = CLASS_DOT,   ['e'] = CLASS_E,     ['E'] = CLASS_E,
};

/* Takes what belongs to the number; *state is where it stopped. */
static const char *number_run(const char *p, const char *end, unsigned char *state)
{
    unsigned char at = *state;
    while (p < end) {
        unsigned char next = number_next[at][number_classes[(unsigned char)*p]];
        if (next == NUMBER_STOP) {
            break;
        }
        at = next;
        p++;
    }
    *state = at;
    return p;
}

const char *sl_json_number(struct sl_json *json, const char *p, const char *end)
{
    unsigned char state = NUMBER_START;
    const char *stop = number_run(p, end, &state);
    bool is_long = !json->skipping && (size_t)(stop - p) > json->limits.max_string;
    if (is_long && !json->limits.forgiving) {
        return token_fail_long(json, sl_json_offset(json, p));
    }
    if (stop == end) {
        begin_cut(json, SL_JSON_TOKEN_NUMBER, p);
        json->number = state;
        return text_keep(json, p, (size_t)(stop - p)) ? stop : NULL;
    }
    if (!number_complete[state]) {
        return sl_json_fail_found(json, stop, "a digit in a number");
    }
    json->fault = is_long ? too_long : NULL;
    json->text = (struct sl_str){p, is_long ? 0 : (size_t)(stop - p)};
    return stop;
}

static const char *number_resume(struct sl_json *json, const char *p, const char *end)
{
    const char *stop = number_run(p, end, &json->number);
    if (!text_keep(json, p, (size_t)(stop - p))) {
        return NULL;
    }
    if (stop < end) {
        if (!number_complete[json->number]) {
            return sl_json_fail_found(json, stop, "a digit in a number");
        }
        end_cut(json);
    }
    return stop;
}

bool sl_json_token_finish(struct sl_json *json)
{
    if (json->token != SL_JSON_TOKEN_NUMBER || !number_complete[json->number]) {
        return false;
    }
    end_cut(json);
    return true;
}

/* ---- literals ---- */

static const char *literal_resume(struct sl_json *json, const char *p, const char *end)
{
    static const char *const words[] = {"true", "false", "null"};
    const char *word = words[json->literal];
    while (p < end && word[json->literal_at] != '\0') {
        if (*p != word[json->literal_at]) {
            return sl_json_fail_found(json, p, word);
        }
        json->literal_at++;
        p++;
    }
    if (word[json->literal_at] == '\0') {
        json->token = SL_JSON_TOKEN_NONE;
    }
    return p;
}

const char *sl_json_literal(struct sl_json *json, const char *p, const char *end)
{
    begin_cut(json, SL_JSON_TOKEN_LITERAL, p);
    json->literal = *p == 't' ? SL_JSON_TRUE : *p == 'f' ? SL_JSON_FALSE : SL_JSON_NULL;
    json->literal_at = 0;
    return literal_resume(json, p, end);
}

const char *sl_json_resume(struct sl_json *json, const char *p, const char *end)
{
    switch (json->token) {
    case SL_JSON_TOKEN_STRING:
        return string_resume(json, p, end);
    case SL_JSON_TOKEN_NUMBER:
        return number_resume(json, p, end);
    case SL_JSON_TOKEN_LITERAL:
        return literal_resume(json, p, end);
    case SL_JSON_TOKEN_NONE:
        break;
    }
    return p;
}
