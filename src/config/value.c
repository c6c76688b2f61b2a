/* One value of the configuration: read, printed, and described in words. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

#include "config/keys.h"
#include "sliced/order.h"
#include "sliced/quantity.h"
#include "util/time.h"

/* --- Durations, as Go writes them --------------------------------------------------------------
 */

enum { VERB_MAX = 63, PREFIX_MAX = 127, OBJECT_MAX = 253 };

static const struct unit {
    struct sl_str name;
    int64_t ns;
} UNITS[] = {
    /* From small to big, as printing goes down; "ms" before "m", as reading takes the first. */
    {{"ns", 2}, 1},         {{"\xc2\xb5s", 3}, SL_US_NS}, {{"us", 2}, SL_US_NS},
    {{"ms", 2}, SL_MS_NS},  {{"s", 1}, SL_SECOND_NS},     {{"m", 1}, SL_MINUTE_NS},
    {{"h", 1}, SL_HOUR_NS},
};

enum { N_UNITS = sizeof(UNITS) / sizeof(UNITS[0]) };

static struct sl_str text_after(struct sl_str text, size_t n)
{
    return (struct sl_str){text.s + n, text.len - n};
}

static struct sl_str take_digits(struct sl_str *text)
{
    size_t n = 0;
    while (n < text->len && text->s[n] >= '0' && text->s[n] <= '9') {
        n++;
    }
    struct sl_str digits = {text->s, n};
    *text = text_after(*text, n);
    return digits;
}

static const struct unit *take_unit(struct sl_str *text)
{
    for (size_t i = 0; i < N_UNITS; i++) {
        if (sl_str_starts(*text, UNITS[i].name)) {
            *text = text_after(*text, UNITS[i].name.len);
            return &UNITS[i];
        }
    }
    return NULL;
}

/* whole.fraction units, added to *ns; false when that is too much or finer than 1 ns. */
static bool add_part(struct sl_str whole, struct sl_str fraction, int64_t unit, int64_t *ns)
{
    int64_t value = 0;
    for (size_t i = 0; i < whole.len; i++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, whole.s[i] - '0', &value)) {
            return false;
        }
    }
    if (__builtin_mul_overflow(value, unit, &value)) {
        return false;
    }
    for (size_t i = 0; i < fraction.len; i++) {
        int digit = fraction.s[i] - '0';
        if (digit != 0 && (unit == 0 || unit % 10 != 0)) {
            return false;
        }
        unit /= 10;
        if (__builtin_add_overflow(value, unit * digit, &value)) {
            return false;
        }
    }
    return !__builtin_add_overflow(*ns, value, ns);
}

static enum sl_value_result read_duration(struct sl_str text, int64_t *out)
{
    bool negative = text.len > 0 && text.s[0] == '-';
    bool fits = true;
    int64_t ns = 0;
    if (sl_str_eq(text, SL_STR("0"))) {
        *out = 0;
        return SL_VALUE_OK;
    }
    if (negative) {
        text = text_after(text, 1);
    }
    if (text.len == 0) {
        return SL_VALUE_TYPE;
    }
    while (text.len > 0) {
        struct sl_str whole = take_digits(&text);
        struct sl_str fraction = {NULL, 0};
        if (text.len > 0 && text.s[0] == '.') {
            text = text_after(text, 1);
            fraction = take_digits(&text);
        }
        const struct unit *unit = take_unit(&text);
        if (whole.len + fraction.len == 0 || unit == NULL) {
            return SL_VALUE_TYPE;
        }
        fits = fits && add_part(whole, fraction, unit->ns, &ns);
    }
    if (!fits || negative || ns % SL_US_NS != 0) {
        return SL_VALUE_RANGE;
    }
    *out = ns / SL_US_NS;
    return SL_VALUE_OK;
}

static void print_duration(int64_t us, struct sl_buf *out)
{
    if (us == 0) {
        sl_buf_puts(out, "0s");
    }
    for (size_t i = N_UNITS; i-- > 0 && us > 0;) {
        int64_t unit = UNITS[i].ns / SL_US_NS;
        if (us >= unit) {
            sl_buf_i64(out, us / unit);
            sl_buf_append(out, UNITS[i].name.s, UNITS[i].name.len);
            us %= unit;
        }
    }
}

/* --- Sizes, integers, words --------------------------------------------------------------------
 */

static enum sl_value_result read_size(struct sl_str text, int64_t *out)
{
    struct sl_quantity q = {0, 0};
    enum sl_quantity_result result = sl_quantity_parse(text.s, text.len, &q);
    if (result == SL_QUANTITY_SYNTAX) {
        return SL_VALUE_TYPE;
    }
    if (result != SL_QUANTITY_OK || !sl_quantity_is_integer(q)) {
        return SL_VALUE_RANGE;
    }
    *out = q.whole;
    return SL_VALUE_OK;
}

static void print_size(int64_t bytes, struct sl_buf *out)
{
    static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    unsigned i = 0;
    while (i < 6 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        i++;
    }
    sl_buf_i64(out, bytes);
    sl_buf_puts(out, suffixes[i]);
}

static bool is_integer(struct sl_str text)
{
    size_t sign = text.len > 0 && text.s[0] == '-' ? 1 : 0;
    struct sl_str digits = text_after(text, sign);
    return digits.len > 0 && take_digits(&digits).len == text.len - sign;
}

static enum sl_value_result read_integer(struct sl_str text, bool quoted, int64_t *out)
{
    if (quoted || !is_integer(text)) {
        return SL_VALUE_TYPE;
    }
    return sl_str_to_i64(text, out) ? SL_VALUE_OK : SL_VALUE_RANGE;
}

static enum sl_value_result read_decimal(struct sl_str text, bool quoted, int64_t *out)
{
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        quoted = quoted || ((text.s[i] < '0' || text.s[i] > '9') && text.s[i] != '.');
    }
    if (quoted) {
        return SL_VALUE_TYPE;
    }
    if (!sl_order_weight_parse(text, SL_ORDER_ALPHA_MAX, &value)) {
        return SL_VALUE_RANGE;
    }
    *out = value;
    return SL_VALUE_OK;
}

static void print_decimal(int64_t value, struct sl_buf *out)
{
    char text[SL_ORDER_AMOUNT_TEXT];
    const struct sl_order_amount amount = {value / SL_ORDER_ONE, (int32_t)(value % SL_ORDER_ONE)};
    sl_order_amount_print(amount, text);
    sl_buf_puts(out, text);
}

static enum sl_value_result read_word(const struct sl_key *key, struct sl_str text, int64_t *out)
{
    for (int64_t i = 0; key->words[i] != NULL; i++) {
        if (sl_str_eq(text, sl_str_of(key->words[i]))) {
            *out = i;
            return SL_VALUE_OK;
        }
    }
    return SL_VALUE_RANGE;
}

enum sl_value_result sl_value_number(const struct sl_key *key, struct sl_str text, bool quoted,
                                     int64_t *out)
{
    int64_t value = 0;
    enum sl_value_result result = SL_VALUE_TYPE;
    if (key->type == SL_KEY_BOOLEAN) {
        return SL_VALUE_TYPE; /* neither a number nor a text */
    }
    if (key->type == SL_KEY_ENUM) {
        return quoted ? read_word(key, text, out) : SL_VALUE_TYPE;
    }
    if (key->type == SL_KEY_INTEGER) {
        result = read_integer(text, quoted, &value);
    } else if (key->type == SL_KEY_SIZE) {
        result = read_size(text, &value);
    } else if (key->type == SL_KEY_DURATION) {
        result = read_duration(text, &value);
    } else if (key->type == SL_KEY_DECIMAL) {
        result = read_decimal(text, quoted, &value);
    }
    if (result != SL_VALUE_OK) {
        return result;
    }
    if (value < key->min || value > key->max) {
        return SL_VALUE_RANGE;
    }
    *out = value;
    return SL_VALUE_OK;
}

void sl_value_print(const struct sl_key *key, int64_t value, struct sl_buf *out)
{
    if (key->type == SL_KEY_ENUM) {
        sl_buf_puts(out, key->words[value]);
    } else if (key->type == SL_KEY_BOOLEAN) {
        sl_buf_puts(out, value != 0 ? "true" : "false");
    } else if (key->type == SL_KEY_SIZE) {
        print_size(value, out);
    } else if (key->type == SL_KEY_DURATION) {
        print_duration(value, out);
    } else if (key->type == SL_KEY_DECIMAL) {
        print_decimal(value, out);
    } else {
        sl_buf_i64(out, value);
    }
}

/* --- Texts -------------------------------------------------------------------------------------
 */

static bool is_port(struct sl_str text)
{
    int64_t port = 0;
    bool padded = text.len > 1 && text.s[0] == '0';
    return text.len <= 5 && !padded && is_integer(text) && sl_str_to_i64(text, &port) &&
           port >= 0 && port <= UINT16_MAX && text.s[0] != '-';
}

static bool is_host(struct sl_str host)
{
    char text[INET6_ADDRSTRLEN + 1];
    struct in6_addr address;
    int family = AF_INET;
    if (sl_str_eq(host, SL_STR("localhost"))) {
        return true;
    }
    if (host.len > 2 && host.s[0] == '[' && host.s[host.len - 1] == ']') {
        host = (struct sl_str){host.s + 1, host.len - 2};
        family = AF_INET6;
    }
    if (host.len == 0 || host.len >= sizeof(text) || memchr(host.s, '\0', host.len) != NULL) {
        return false;
    }
    memcpy(text, host.s, host.len);
    text[host.len] = '\0';
    return inet_pton(family, text, &address) == 1;
}

static bool is_address(struct sl_str text)
{
    size_t colon = text.len;
    while (colon > 0 && text.s[colon - 1] != ':') {
        colon--;
    }
    return colon > 1 && is_host((struct sl_str){text.s, colon - 1}) &&
           is_port(text_after(text, colon));
}

/* RFC 3986's unreserved characters: the same however a client escapes a path. */
static bool is_segment(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '.' || c == '_' || c == '~';
        if (!good) {
            return false;
        }
    }
    return text.len > 0 && !sl_str_eq(text, SL_STR(".")) && !sl_str_eq(text, SL_STR(".."));
}

/* The daemon's own interface takes "/api/...". */
static bool is_prefix(struct sl_str text)
{
    if (text.len < 2 || text.len > PREFIX_MAX || text.s[0] != '/' ||
        sl_str_eq(text, SL_STR("/api")) || sl_str_starts(text, SL_STR("/api/"))) {
        return false;
    }
    size_t from = 1;
    for (size_t i = 1; i <= text.len; i++) {
        if (i == text.len || text.s[i] == '/') {
            if (!is_segment((struct sl_str){text.s + from, i - from})) {
                return false;
            }
            from = i + 1;
        }
    }
    return true;
}

/* Has no character that a double-quoted YAML text must escape: printing counts on it. */
static bool is_plain(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.s[i];
        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\') {
            return false;
        }
    }
    return text.len < SL_CONFIG_TEXT_MAX;
}

/* A DNS subdomain, RFC 1123: what Kubernetes takes as the name of most objects. */
static bool is_object_name(struct sl_str text)
{
    bool outer = true; /* at the begin or end of a label, where only letters and digits may be */
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        bool inner = (c == '-' || c == '.') && !outer && i + 1 < text.len;
        bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if ((!good && !inner) || (c == '.' && text.s[i - 1] == '-')) {
            return false;
        }
        outer = c == '.';
    }
    return text.len <= OBJECT_MAX;
}

/* As Kubernetes takes the value of a label, and the last part of its key. */
static bool is_label_value(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        bool inner = (c == '-' || c == '_' || c == '.') && i > 0 && i + 1 < text.len;
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!good && !inner) {
            return false;
        }
    }
    return text.len > 0 && text.len < SL_TENANT_NAME_MAX;
}

/* "team", "example.com/team" */
static bool is_label_key(struct sl_str text)
{
    const char *slash = memchr(text.s, '/', text.len);
    size_t prefix = slash == NULL ? 0 : (size_t)(slash - text.s);
    return slash == NULL ? is_label_value(text)
                         : prefix > 0 && is_object_name((struct sl_str){text.s, prefix}) &&
                               is_label_value(text_after(text, prefix + 1));
}

bool sl_value_may_be_empty(const struct sl_key *key)
{
    bool built_in = key->string != NULL && key->string[0] == '\0';
    switch (key->type) {
    case SL_KEY_ADDRESS:
    case SL_KEY_OBJECT:
    case SL_KEY_LABEL:
    case SL_KEY_VALUE:
        return built_in && !key->required;
    case SL_KEY_PATH:
    case SL_KEY_WORD:
    case SL_KEY_URL:
    case SL_KEY_SELECTOR:
        return true;
    default:
        return false;
    }
}

bool sl_value_text(const struct sl_key *key, struct sl_str text)
{
    struct sl_config_selector selector;
    if (text.len == 0) {
        return sl_value_may_be_empty(key);
    }
    switch (key->type) {
    case SL_KEY_ADDRESS:
        return is_address(text);
    case SL_KEY_PREFIX:
        return is_prefix(text);
    case SL_KEY_PATH:
    case SL_KEY_WORD:
        return is_plain(text);
    case SL_KEY_OBJECT:
        return is_object_name(text);
    case SL_KEY_URL:
        return is_plain(text) &&
               (sl_str_starts(text, SL_STR("http://")) || sl_str_starts(text, SL_STR("https://")));
    case SL_KEY_SELECTOR:
        return is_plain(text) && sl_config_selector_read(text, &selector);
    case SL_KEY_LABEL:
        return is_label_key(text);
    case SL_KEY_VALUE:
        return is_label_value(text);
    case SL_KEY_PATTERN:
        return is_plain(text) && memchr(text.s, '*', text.len - 1) == NULL;
    default:
        return text.len <= VERB_MAX && is_segment(text);
    }
}

/* --- In words ----------------------------------------------------------------------------------
 */

/* In patterns: a character that sl_value_text lets through, and one label of a selector. */
#define PLAIN "[^\"\\\\\\x00-\\x1f\\x7f]"
#define NAME  "[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?"
#define LABEL "[^=,\"\\\\]+=[^=,\"\\\\]*"

static const struct {
    const char *name;     /* in the reference */
    const char *expected; /* in an error, before the range */
    const char *example;  /* after it */
    const char *range;    /* of texts, in the reference */
    const char *pattern;  /* of all of a text that is not empty; sound, not complete */
} TYPES[SL_KEY_TYPES] = {
    [SL_KEY_INTEGER] = {"integer", "an integer from ", "", NULL, NULL},
    [SL_KEY_SIZE] = {"size", "a size from ", " (in bytes, or as 64Ki, 1Mi, 2Gi)", NULL,
                     "[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"},
    [SL_KEY_DURATION] = {"duration", "a duration from ", " (as 500ms, 5s, 1m30s)", NULL,
                         "0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|\xc2\xb5s|ms|s|m|h))+"},
    [SL_KEY_DECIMAL] = {"decimal", "a number from ", ", with at most six digits behind the point",
                        NULL, NULL},
    [SL_KEY_ENUM] = {"word", "one of ", "", NULL, NULL},
    [SL_KEY_BOOLEAN] = {"boolean", "", "", NULL, NULL},
    [SL_KEY_ADDRESS] = {"address", "ADDRESS:PORT, as 127.0.0.1:8888, [::1]:8888 or localhost:0", "",
                        "IPv4, [IPv6] or localhost; port 0 to 65535",
                        "([0-9]{1,3}([.][0-9]{1,3}){3}|\\[[0-9a-fA-F:.]+\\]|localhost):[0-9]{1,5}"},
    [SL_KEY_PREFIX] = {"path",
                       "a path such as /scheduler: \"/\" first and none at the end, of letters, "
                       "digits and -._~, not below /api",
                       "", "begins with /, does not end with it, not below /api",
                       "(/[A-Za-z0-9._~-]+)+"},
    [SL_KEY_VERB] = {"name", "one part of a path: 1 to 63 letters, digits and -._~, no \"/\"", "",
                     "1 to 63 letters, digits, `-._~`; all verbs differ", "[A-Za-z0-9._~-]{1,63}"},
    [SL_KEY_PATH] = {"file", "a file's name without quotes, backslashes and control characters", "",
                     NULL, PLAIN "+"},
    [SL_KEY_WORD] = {"text", "a text without quotes, backslashes and control characters", "", NULL,
                     PLAIN "+"},
    [SL_KEY_OBJECT] = {"name",
                       "the name of a Kubernetes object: small letters, digits, \"-\" and \".\"",
                       "", "as Kubernetes names objects", "[a-z0-9]([-.a-z0-9]*[a-z0-9])?"},
    [SL_KEY_URL] = {"URL", "http://HOST:PORT or https://HOST:PORT", "", "http or https",
                    "https?://" PLAIN "*"},
    [SL_KEY_SELECTOR] = {"selector", "LABEL=VALUE, up to 8 of them joined by commas", "",
                         "up to 8 labels", LABEL "(," LABEL "){0,7}"},
    [SL_KEY_LABEL] = {"label", "a label's key or a resource's name, as team or example.com/team",
                      "", "as Kubernetes names labels and resources",
                      "([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?" NAME},
    [SL_KEY_VALUE] = {"name", "1 to 63 letters, digits and -_., the first and last no sign", "",
                      "as values of labels", NAME},
    [SL_KEY_PATTERN] = {"name", "a namespace, or how names begin and then *", "",
                        "a name, or how names begin and `*`", "[^*\"\\\\\\x00-\\x1f\\x7f]*[*]?"},
};

const char *sl_value_type_name(const struct sl_key *key)
{
    return TYPES[key->type].name;
}

const char *sl_value_pattern(const struct sl_key *key)
{
    return TYPES[key->type].pattern;
}

void sl_value_range(const struct sl_key *key, struct sl_buf *out)
{
    if (key->text && TYPES[key->type].range == NULL) {
        sl_buf_printf(out, "up to %u characters", key->size - 1U);
    } else if (key->text) {
        sl_buf_puts(out, TYPES[key->type].range);
    } else if (key->type == SL_KEY_BOOLEAN) {
        sl_buf_puts(out, "true or false");
    } else if (key->type == SL_KEY_ENUM) {
        for (size_t i = 0; key->words[i] != NULL; i++) {
            sl_buf_puts(out, i > 0 ? ", " : "");
            sl_buf_puts(out, key->words[i]);
        }
    } else {
        sl_value_print(key, key->min, out);
        sl_buf_puts(out, " to ");
        sl_value_print(key, key->max, out);
    }
}

void sl_value_expected(const struct sl_key *key, struct sl_buf *out)
{
    sl_buf_puts(out, TYPES[key->type].expected);
    if (!key->text) {
        sl_value_range(key, out);
    }
    sl_buf_puts(out, TYPES[key->type].example);
}
