/* Is it beyond doubt where a request ends? Where not, a proxy before the daemon may see the end
 * elsewhere, and what one caller has put into a body would be answered as another's request. The
 * library passes over much of this (seen with 0.9.75), so that it is judged here whatever the
 * library does. */
#include <string.h>
#include <strings.h>

#include "server/http/connection.h"

enum { LENGTH_DIGITS_MAX = 18 }; /* more would not fit an int64_t */

/* The headers of a request, as they are looked at one by one. */
struct headers {
    unsigned seen; /* bit i: once[i] was there */
    bool http_1_0;
    bool chunked;
    const char *wrong; /* what is, NULL: nothing so far */
};

/* The daemon reads one value of each of these. The length of a body has two names. */
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

/* Is the head a row of lines, each of a token, a colon and a value, up to its end? The library has
 * written zeros over colons and over lines' ends; no other byte is one, and no line is folded (RFC
 * 9112, 5.2). It takes a line that begins with a colon or a zero for the empty line, so that more
 * bytes stand at the end than that line has. A line feed alone, too, shows as a zero too few; only
 * a colon or a zero right beside one cannot be told from a carriage return. rest: what is behind
 * the version. */
static bool is_whole(const char *rest, const char *end)
{
    static const char LINE_END[2] = {0};
    while (end - rest >= 2 && memcmp(rest, LINE_END, 2) == 0) {
        const char *name = rest + 2;
        if (end - name == 2) {
            return memcmp(name, LINE_END, 2) == 0;
        }
        size_t name_len = strnlen(name, (size_t)(end - name));
        if (!is_token(name, name_len) || name + name_len == end) {
            return false;
        }
        const char *value = name + name_len + 1;
        size_t value_len = strnlen(value, (size_t)(end - value));
        if (has_control(value, value_len)) {
            return false;
        }
        rest = value + value_len;
    }
    return false;
}

/* From its method on the library keeps the head in one piece until the reply, but for lines that it
 * joins; is_whole stops before these. A library from 1.0 on leaves other bytes, and refuses a line
 * without a name, or with a zero, itself. */
static bool is_head_whole(const struct sl_request *request, const char *method, const char *version)
{
    if (MHD_get_version()[0] != '0') {
        return true;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info != NULL && method + strlen(method) + 1 == request->path.s &&
           is_whole(version + strlen(MHD_HTTP_VERSION_1_1), method + info->header_size);
}

/* Returns what is wrong with the value of once[i]; NULL: nothing. */
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
    }
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]) && headers->wrong == NULL; i++) {
        if (strcasecmp(name, once[i].name) == 0) {
            headers->wrong = judge_once(headers, i, value == NULL ? "" : value);
            headers->seen |= 1u << once[i].bit;
            headers->chunked = headers->chunked || i == TRANSFER;
        }
    }
    return headers->wrong == NULL ? MHD_YES : MHD_NO;
}

int sl_request_check_framing(struct sl_request *request, const char *method, const char *version)
{
    struct headers headers = {.http_1_0 = strcmp(version, MHD_HTTP_VERSION_1_1) != 0};
    (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, judge_header, &headers);
    if (headers.wrong == NULL && !is_head_whole(request, method, version)) {
        headers.wrong = "a line of the head is none that a request has (RFC 9112, 3 and 5)";
    }
    /* The library passes over as much in the lines between chunks and behind them, of which it
     * leaves nothing to judge. Schedulers and API servers give lengths. */
    request->chunked = headers.chunked;
    if (headers.wrong == NULL) {
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "%s", headers.wrong);
    request->failed = false;
    request->close = true; /* nothing that follows on this connection is a request */
    return sl_request_fail(request, 400);
}
