/* Parses positive durations as Go's time.ParseDuration, and days; in integers, rounded up to
 * seconds. */
#include "sliced/timeout.h"

#include "util/time.h"

static const struct unit {
    struct sl_str name;
    int64_t ns;
} units[] = {
    /* "ms" before "m": the first unit that the text starts with counts. */
    {{"ns", 2}, 1},
    {{"us", 2}, SL_US_NS},
    {{"\xc2\xb5s", 3}, SL_US_NS}, /* micro sign */
    {{"\xce\xbcs", 3}, SL_US_NS}, /* Greek mu */
    {{"ms", 2}, SL_MS_NS},
    {{"s", 1}, SL_SECOND_NS},
    {{"m", 1}, SL_MINUTE_NS},
    {{"h", 1}, SL_HOUR_NS},
    {{"d", 1}, 24 * SL_HOUR_NS},
};

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

/* Reads the digits after the point as value / scale. Digits beyond the ninth are dropped, as in Go.
 * Returns the index behind them. */
static size_t read_fraction(struct sl_str text, size_t i, int64_t *value, int64_t *scale)
{
    for (; is_digit(text, i); i++) {
        if (*scale < SL_SECOND_NS) {
            *value = *value * 10 + (text.s[i] - '0');
            *scale *= 10;
        }
    }
    return i;
}

/* Returns value / scale of a unit in nanoseconds; no step exceeds 2^63. */
static int64_t fraction_of(int64_t unit_ns, int64_t value, int64_t scale)
{
    int64_t seconds = value * (unit_ns / SL_SECOND_NS);
    return seconds / scale * SL_SECOND_NS + seconds % scale * SL_SECOND_NS / scale +
           value * (unit_ns % SL_SECOND_NS) / scale;
}

/* Takes one "<number><unit>" off the start of *text and adds it to *ns. */
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
        while (text.len > 0) {
            if (!read_part(&text, &ns)) {
                return false;
            }
        }
        seconds = ns / SL_SECOND_NS + (ns % SL_SECOND_NS > 0);
    }
    if (seconds < 1 || seconds > SL_TIMEOUT_MAX_S) {
        return false;
    }
    *out_s = seconds;
    return true;
}
