/* Is it beyond doubt where a request ends? Where not, a proxy before the daemon may see the end
 * elsewhere, and what one caller has put into a body would be answered as another's request. The
 * library passes over much of this (seen with 0.9.75), so that it is judged here whatever the
 * library does. */
#include <stdint.h>
#include <strings.h>

#include "server/http/connection.h"

enum { LENGTH_DIGITS_MAX = 18 }; /* more would not fit an int64_t */

/* The headers of a request, as they are looked at one by one. */
struct headers {
    unsigned seen; /* bit i: once[i] was there */
    bool http_1_0;
    const char *end;   /* of the value before */
    const char *wrong; /* what is, NULL: nothing so far */
};

/* What the daemon reads of them is one value. The length of a body has two names. */
static const struct once {
    const char *name;
    unsigned bit;
} once[] = {
    {MHD_HTTP_HEADER_CONTENT_LENGTH, 0},
    {MHD_HTTP_HEADER_TRANSFER_ENCODING, 0},
    {MHD_HTTP_HEADER_HOST, 1},
    {MHD_HTTP_HEADER_ORIGIN, 2},
    {MHD_HTTP_HEADER_AUTHORIZATION, 3},
    {MHD_HTTP_HEADER_CONTENT_ENCODING, 4},
    {"X-Remote-User", 5},
};
enum { LENGTH = 0, TRANSFER = 1 }; /* in once */

/* RFC 9110, 5.6.2 */
static bool is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool alnum = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (!alnum && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return len > 0;
}

/* RFC 9110, 5.5: a line's end that is none, and other control characters. */
static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* Was a line of it folded (RFC 9112, 5.2)? The library puts such a line behind the name, in new
 * memory; else a value stands behind its name, in what was read. Without a value, the beginning of
 * the name alone tells. */
static bool is_folded(const char *name, const char *value)
{
    for (size_t i = 0; i <= TRANSFER; i++) {
        size_t len = strlen(once[i].name);
        if (strncasecmp(name, once[i].name, len) == 0 && name[len] != '\0') {
            return true;
        }
    }
    return value[0] != '\0' && (uintptr_t)value < (uintptr_t)name;
}

/* What is wrong with the value of once[i]; NULL: nothing. */
static const char *judge_once(const struct headers *headers, size_t i, const char *value)
{
    if ((headers->seen & 1u << once[i].bit) != 0) {
        return once[i].bit == LENGTH ? "the length of the body is given twice"
                                     : "a header of which there is one is given twice";
    }
    size_t digits = strspn(value, "0123456789");
    if (i == LENGTH && (digits == 0 || digits > LENGTH_DIGITS_MAX || value[digits] != '\0')) {
        return "Content-Length is no number of bytes";
    }
    if (i == TRANSFER && (headers->http_1_0 || strcasecmp(value, "chunked") != 0)) {
        return "of Transfer-Encoding only chunked is taken, with HTTP/1.1";
    }
    return NULL;
}

static enum MHD_Result judge_header(void *context, enum MHD_ValueKind kind, const char *name,
                                    size_t name_len, const char *value, size_t value_len)
{
    struct headers *headers = context;
    (void)kind;
    if (name == NULL || !is_token(name, name_len)) {
        headers->wrong = "a header's name is no token (RFC 9110, 5.6.2)";
    } else if (value != NULL && has_control(value, value_len)) {
        headers->wrong = "a header has a control character in it";
    } else if (is_folded(name, value == NULL ? "" : value)) {
        headers->wrong = "a header is folded into lines";
    } else if (headers->end != NULL && name == headers->end + 1) {
        headers->wrong = "a header's line ends without a carriage return"; /* one byte is between */
    }
    headers->end = value == NULL ? NULL : value + value_len;
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]) && headers->wrong == NULL; i++) {
        if (strcasecmp(name, once[i].name) == 0) {
            headers->wrong = judge_once(headers, i, value == NULL ? "" : value);
            headers->seen |= 1u << once[i].bit;
        }
    }
    return headers->wrong == NULL ? MHD_YES : MHD_NO;
}

int sl_request_check_framing(struct sl_request *request, const char *version)
{
    struct headers headers = {.http_1_0 = strcmp(version, MHD_HTTP_VERSION_1_1) != 0};
    (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, judge_header, &headers);
    if (headers.wrong == NULL) {
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "%s", headers.wrong);
    request->failed = false;
    request->close = true; /* nothing that follows on this connection is a request */
    return sl_request_fail(request, 400);
}
