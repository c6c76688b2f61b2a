/* Kubernetes quantities as exact fixed point: parsing, rounding, adding. No allocation. */
#include "sliced/quantity.h"

#include <string.h>

enum { NANO_PER_UNIT = 1000000000, NANO_PER_MILLI = 1000000, NANO_DIGITS = 9 };

/* Exponents beyond this count as infinite for any text that fits in memory. */
static const int64_t EXPONENT_CAP = INT64_MAX / 4;

/* A parsed text: whole digits (no leading zeros), digits after the point, and the factor, which is
 * 10^exponent when shift is 0, else 2^shift. */
struct number {
    const char *whole;
    size_t n_whole;
    const char *fraction;
    size_t n_fraction;
    bool negative;
    int64_t exponent;
    unsigned shift;
};

struct suffix {
    char text[4];
    int16_t exponent; /* of 10 */
    uint16_t shift;   /* of 2 */
};

static const struct suffix SUFFIXES[] = {
    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"", 0, 0},    {"k", 3, 0},   {"M", 6, 0},
    {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

/* The weights of the digits after the point, in nanos. */
static const uint32_t NANO_WEIGHTS[NANO_DIGITS] = {100000000, 10000000, 1000000, 100000, 10000,
                                                   1000,      100,      10,      1};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t count_digits(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && is_digit(text[n])) {
        n++;
    }
    return n;
}

/* Parses "e3", "E+3", "e-3". 'E' alone is exa, which SUFFIXES has. */
static bool parse_exponent(const char *text, size_t len, int64_t *out)
{
    if (len < 2 || (text[0] != 'e' && text[0] != 'E')) {
        return false;
    }
    bool negative = text[1] == '-';
    size_t at = negative || text[1] == '+' ? 2 : 1;
    if (at == len || count_digits(text + at, len - at) != len - at) {
        return false;
    }
    int64_t value = 0;
    for (; at < len; at++) {
        value = value > EXPONENT_CAP / 10 ? EXPONENT_CAP : value * 10 + (text[at] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

static bool parse_suffix(const char *text, size_t len, struct number *number)
{
    for (size_t i = 0; i < sizeof(SUFFIXES) / sizeof(SUFFIXES[0]); i++) {
        const struct suffix *suffix = &SUFFIXES[i];
        if (strlen(suffix->text) == len && memcmp(suffix->text, text, len) == 0) {
            number->exponent = suffix->exponent;
            number->shift = suffix->shift;
            return true;
        }
    }
    number->shift = 0;
    return parse_exponent(text, len, &number->exponent);
}

static bool split(const char *text, size_t len, struct number *number)
{
    size_t at = 0;
    *number = (struct number){.negative = len > 0 && text[0] == '-'};
    if (len > 0 && (text[0] == '-' || text[0] == '+')) {
        at = 1;
    }
    number->whole = text + at;
    number->n_whole = count_digits(text + at, len - at);
    at += number->n_whole;
    if (at < len && text[at] == '.') {
        at++;
        number->fraction = text + at;
        number->n_fraction = count_digits(text + at, len - at);
        at += number->n_fraction;
    }
    if (number->n_whole + number->n_fraction == 0) {
        return false;
    }
    return parse_suffix(text + at, len - at, number);
}

static int digit_at(const struct number *number, size_t i)
{
    if (i < number->n_whole) {
        return number->whole[i] - '0';
    }
    i -= number->n_whole;
    return i < number->n_fraction ? number->fraction[i] - '0' : 0;
}

/* An amount without its sign: whole + nano / 10^9, and whether finer digits were cut off. */
struct magnitude {
    uint64_t whole;
    uint32_t nano;
    bool more;
};

/* The digit at index i weighs 10^(n_whole - 1 - i + exponent). */
static bool scale_decimal(const struct number *number, struct magnitude *out)
{
    size_t n = number->n_whole + number->n_fraction;
    size_t first = 0;
    while (first < n && digit_at(number, first) == 0) {
        first++;
    }
    *out = (struct magnitude){0, 0, false};
    if (first == n) {
        return true;
    }
    int64_t power = (int64_t)number->n_whole - 1 - (int64_t)first + number->exponent;
    if (power > 18) {
        return false;
    }
    if (power < -NANO_DIGITS) {
        out->more = true;
        return true;
    }
    size_t i = first;
    for (int64_t p = power; p >= -NANO_DIGITS; p--, i++) {
        int digit = digit_at(number, i);
        if (p >= 0) {
            out->whole = out->whole * 10 + (uint64_t)digit; /* 19 digits fit in 64 bits */
        } else {
            out->nano = out->nano * 10 + (uint32_t)digit;
        }
    }
    for (; i < n && !out->more; i++) {
        out->more = digit_at(number, i) != 0;
    }
    return true;
}

/* (whole + fraction) * 2^shift. The fraction is multiplied digit by digit from the right: a digit
 * times 2^60 plus a carry below 2^60 fits in 64 bits, so that any length is exact. */
static bool scale_binary(const struct number *number, struct magnitude *out)
{
    uint64_t whole = 0;
    for (size_t i = 0; i < number->n_whole; i++) {
        if (__builtin_mul_overflow(whole, 10u, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(number->whole[i] - '0'), &whole)) {
            return false;
        }
    }
    if (__builtin_mul_overflow(whole, (uint64_t)1 << number->shift, &whole)) {
        return false;
    }
    *out = (struct magnitude){0, 0, false};
    uint64_t carry = 0;
    for (size_t i = number->n_fraction; i-- > 0;) {
        uint64_t product = ((uint64_t)(number->fraction[i] - '0') << number->shift) + carry;
        uint32_t digit = (uint32_t)(product % 10);
        carry = product / 10;
        if (i < NANO_DIGITS) {
            out->nano += digit * NANO_WEIGHTS[i];
        } else {
            out->more = out->more || digit != 0;
        }
    }
    return !__builtin_add_overflow(whole, carry, &out->whole);
}

static bool in_range(uint64_t whole, uint32_t nano)
{
    return whole < INT64_MAX || (whole == INT64_MAX && nano == 0);
}

enum sl_quantity_result sl_quantity_parse(const char *text, size_t len, struct sl_quantity *out)
{
    struct number number;
    if (!split(text, len, &number)) {
        return SL_QUANTITY_SYNTAX;
    }
    struct magnitude m = {0, 0, false};
    if (!(number.shift > 0 ? scale_binary(&number, &m) : scale_decimal(&number, &m))) {
        return SL_QUANTITY_RANGE;
    }
    if (m.more && in_range(m.whole, m.nano)) {
        m.nano++;
        m.whole += m.nano / NANO_PER_UNIT;
        m.nano %= NANO_PER_UNIT;
    }
    if (!in_range(m.whole, m.nano)) {
        return SL_QUANTITY_RANGE;
    }
    out->whole = number.negative ? -(int64_t)m.whole : (int64_t)m.whole;
    out->nano = number.negative ? -(int32_t)m.nano : (int32_t)m.nano;
    return SL_QUANTITY_OK;
}

bool sl_quantity_is_integer(struct sl_quantity q)
{
    return q.nano == 0;
}

enum sl_quantity_result sl_quantity_ceil(struct sl_quantity q, int64_t *out)
{
    int64_t away = (q.nano > 0) - (q.nano < 0);
    int64_t value;
    if (__builtin_add_overflow(q.whole, away, &value)) {
        return SL_QUANTITY_RANGE;
    }
    *out = value;
    return SL_QUANTITY_OK;
}

enum sl_quantity_result sl_quantity_milli(struct sl_quantity q, int64_t *out)
{
    int64_t rest = q.nano % NANO_PER_MILLI;
    int64_t value;
    if (__builtin_mul_overflow(q.whole, 1000, &value) ||
        __builtin_add_overflow(value, q.nano / NANO_PER_MILLI + (rest > 0) - (rest < 0), &value)) {
        return SL_QUANTITY_RANGE;
    }
    *out = value;
    return SL_QUANTITY_OK;
}

int sl_quantity_cmp(struct sl_quantity a, struct sl_quantity b)
{
    if (a.whole != b.whole) {
        return a.whole < b.whole ? -1 : 1;
    }
    return (a.nano > b.nano) - (a.nano < b.nano);
}
