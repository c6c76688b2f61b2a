/* Private to json*.c: the reader's state, and what each file gives the ones above it. json.c calls
 * json_grammar.c, which calls json_token.c. */
#ifndef SLICED_CODEC_JSON_INTERNAL_H
#define SLICED_CODEC_JSON_INTERNAL_H

#include "codec/stream/json.h"
#include "codec/stream/json_scan.h"
#include "util/buf.h"

/* The grammar's next expectation, in the order of the cases that fall through in json_grammar.c. */
enum sl_json_place {
    SL_JSON_KEY_OR_END, /* after { */
    SL_JSON_KEY,        /* after , in an object */
    SL_JSON_COLON,
    SL_JSON_VALUE_OR_END, /* after [ */
    SL_JSON_VALUE,
    SL_JSON_AFTER, /* a value within an object or array stands before */
    SL_JSON_DONE,  /* the text's value is complete */
};

enum sl_json_token { /* the token that the last chunk's end has cut */
                     SL_JSON_TOKEN_NONE,
                     SL_JSON_TOKEN_STRING,
                     SL_JSON_TOKEN_NUMBER,
                     SL_JSON_TOKEN_LITERAL,
};

enum sl_json_string { /* where within a string */
                      SL_JSON_STRING_PLAIN,
                      SL_JSON_STRING_UTF8,      /* within a character */
                      SL_JSON_STRING_ESCAPE,    /* after a backslash */
                      SL_JSON_STRING_HEX,       /* within four hexadecimal digits */
                      SL_JSON_STRING_LOW_SLASH, /* after a high surrogate: a backslash must follow
                                                   ... */
                      SL_JSON_STRING_LOW_U,     /* ... and a u */
                      SL_JSON_STRING_RAW,       /* forgiving: nothing but its end is looked for */
                      SL_JSON_STRING_RAW_ESCAPE,
};

struct sl_json {
    sl_event_fn receive;
    void *context;
    struct sl_text_limits limits;

    enum sl_json_place place;
    enum sl_json_token token;
    bool skipping;      /* report nothing until the value at depth skip_base is complete */
    unsigned skip_base; /* depth at which the value that is skipped stands */
    unsigned depth;
    unsigned char *in_object; /* one per level: 1 in an object, 0 in an array */
    size_t nested;            /* forgiving: containers that are open within what is skipped */

    const char *chunk; /* being read; NULL between two */
    const char *end;   /* of the chunk */
    size_t offset;     /* of the chunk in the text; wraps below 0 when the text began within it */
    unsigned line;
    size_t line_start; /* offset of the line's first byte */

    size_t event;        /* offset of the one that is reported, of its first byte */
    struct sl_buf *kept; /* takes the text as it stands; NULL: none does */
    size_t kept_to;      /* offset up to which it has */

    size_t token_start; /* offset of the cut token */
    struct sl_str text; /* of the token just read */
    const char *fault;  /* forgiving: why there is none of the token that is read */
    struct sl_buf scratch;
    enum sl_json_string string;
    struct sl_utf8 utf8;
    unsigned hex_digits;
    uint32_t hex;
    uint32_t high; /* surrogate that waits for its low one, or 0 */
    unsigned char number;
    unsigned char literal;
    unsigned char literal_at;

    bool runs;   /* in an array whose receiver takes SL_EVENT_STRINGS, and in nothing within it */
    bool stream; /* further texts may follow */
    bool failed;
    bool finished;
    struct sl_error error;
};

/* ---- json_grammar.c ---- */

/* Gives json->kept the text up to that offset, which is in the chunk or at its end. */
void sl_json_keep_to(struct sl_json *json, size_t offset);
/* Reads a chunk. False after a failure. */
bool sl_json_read(struct sl_json *json, const char *data, size_t len);
/* The text has ended. False after a failure, as when it is not complete. */
bool sl_json_read_end(struct sl_json *json);

/* ---- json_token.c: what cannot be taken straight from the chunk (escapes, not ASCII, tokens that
 * a chunk's end cuts) ---- */

/* The text is bad at the byte of that offset; json->error has been set but for its place. Always
 * NULL, so that a scanner can return it. */
const char *sl_json_fail(struct sl_json *json, size_t offset);

/* Fails with "expected what, found (the byte at p)". */
const char *sl_json_fail_found(struct sl_json *json, const char *p, const char *what);

static inline size_t sl_json_offset(const struct sl_json *json, const char *p)
{
    return json->offset + (size_t)(p - json->chunk);
}

/* Each reads on in [.., end) and returns where it stopped, NULL after a failure. The token is
 * complete, with json->text, when json->token is SL_JSON_TOKEN_NONE; else the chunk has ended. */

/* start: after the opening quote; p: the first special byte, or end. */
const char *sl_json_string_rest(struct sl_json *json, const char *start, const char *p,
                                const char *end);
const char *sl_json_number(struct sl_json *json, const char *p, const char *end);
const char *sl_json_literal(struct sl_json *json, const char *p, const char *end);
/* Goes on with json->token. */
const char *sl_json_resume(struct sl_json *json, const char *p, const char *end);

/* The text has ended within a token: true when it was a complete number (json->text). */
bool sl_json_token_finish(struct sl_json *json);

/* Index into the literals: json->literal after sl_json_literal. */
enum { SL_JSON_TRUE, SL_JSON_FALSE, SL_JSON_NULL };

#endif
