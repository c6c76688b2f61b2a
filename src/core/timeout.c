/* Go's time.ParseDuration for positive durations, and days; in integers, rounded up to seconds. */
#include "core/timeout.h"

static const struct unit {
    struct sl_str name;
    int64_t ns;
} units[] = {
    /* "ms" before "m": the first that the text starts with is taken. */
    {{"ns", 2}, 1},
    {{"us", 2}, 1000},
    {{"\xc2\xb5s", 3}, 1000}, /* micro sign */
    {{"\xce\xbcs", 3}, 1000}, /* Greek mu */
    {{"ms", 2}, 1000000},
    {{"s", 1}, 1000000000},
    {{"m", 1}, 60000000000},
    {{"h", 1}, 3600000000000},
    {{"d", 1}, 86400000000000},
};

static const int64_t second_ns = 1000000000;

static const struct unit *unit_at(struct sl_str text)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (sl_str_starts(text, units[i].name)) {
            return &units[i];
        }
    }
    return NULL;
}

static bool is_digit(struct sl_str text, size_t i)
{
    return i < text.len && text.s[i] >= '0' && text.s[i] <= '9';
}

/* The digits after the point as value / scale, nine of them: finer ones are dropped, as Go does
 * with what is below a nanosecond. Returns the index behind them. */
static size_t read_fraction(struct sl_str text, size_t i, int64_t *value, int64_t *scale)
{
    for (; is_digit(text, i); i++) {
        if (*scale < second_ns) {
            *value = *value * 10 + (text.s[i] - '0');
            *scale *= 10;
        }
    }
    return i;
}

/* value / scale of a unit in nanoseconds, in steps that stay below 2^63. */
static int64_t fraction_of(int64_t unit_ns, int64_t value, int64_t scale)
{
    int64_t seconds = value * (unit_ns / second_ns);
    return seconds / scale * second_ns + seconds % scale * second_ns / scale +
           value * (unit_ns % second_ns) / scale;
}

/* One "<number><unit>" at the start of *text, taken off it and added to *ns. */
static bool read_part(struct sl_str *text, int64_t *ns)
{
    int64_t whole = 0;
    int64_t fraction = 0;
    int64_t scale = 1;
    size_t i = 0;
    for (; is_digit(*text, i); i++) {
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, text->s[i] - '0', &whole)) {
            return false;
        }
    }
    size_t digits = i;
    if (i < text->len && text->s[i] == '.') {
        size_t end = read_fraction(*text, i + 1, &fraction, &scale);
        digits += end - (i + 1);
        i = end;
    }
    *text = (struct sl_str){text->s + i, text->len - i};
    const struct unit *unit = unit_at(*text);
    if (digits == 0 || unit == NULL) {
        return false;
    }
    *text = (struct sl_str){text->s + unit->name.len, text->len - unit->name.len};
    int64_t part = 0;
    return !__builtin_mul_overflow(whole, unit->ns, &part) &&
           !__builtin_add_overflow(part, fraction_of(unit->ns, fraction, scale), &part) &&
           !__builtin_add_overflow(*ns, part, ns);
}

bool sl_timeout_parse(struct sl_str text, int64_t *out_s)
{
    int64_t seconds = 0;
    if (!sl_str_to_i64(text, &seconds)) {
        int64_t ns = 0;
        if (text.len == 0) {
            return false;
        }
        while (text.len > 0) {
            if (!read_part(&text, &ns)) {
                return false;
            }
        }
        seconds = ns / second_ns + (ns % second_ns > 0);
    }
    if (seconds < 1 || seconds > SL_TIMEOUT_MAX_S) {
        return false;
    }
    *out_s = seconds;
    return true;
}
