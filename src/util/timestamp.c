/* RFC 3339 times to and from Unix microseconds, without the C library's calendar (which knows time
 * zones and locales). */
#include "util/timestamp.h"

#include <stdio.h>

#include "util/time.h"

/* Days since 1970-01-01 in the proleptic Gregorian calendar; a year begins in March, so that the
 * leap day is its last (Hinnant, "chrono-Compatible Low-Level Date Algorithms"). */
static int64_t days_from_civil(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t of_era = days - era * 146097;
    int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;
    *day = (unsigned)(of_year - (153 * m + 2) / 5 + 1);
    *month = (unsigned)(m < 10 ? m + 3 : m - 9);
    *year = y + era * 400 + (*month <= 2);
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/* n digits at text[*at], which moves on. */
static bool read_digits(struct sl_str text, size_t *at, unsigned n, unsigned *out)
{
    unsigned value = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t place = *at + i;
        if (place >= text.len || text.s[place] < '0' || text.s[place] > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(text.s[place] - '0');
    }
    *at += n;
    *out = value;
    return true;
}

static bool read_char(struct sl_str text, size_t *at, const char *any_of)
{
    if (*at >= text.len || text.s[*at] == '\0' || strchr(any_of, text.s[*at]) == NULL) {
        return false;
    }
    (*at)++;
    return true;
}

/* ".123456789": digits beyond microseconds are dropped. */
static bool read_fraction(struct sl_str text, size_t *at, int64_t *us)
{
    *us = 0;
    if (!read_char(text, at, ".")) {
        return true;
    }
    int64_t unit = SL_SECOND_US / 10;
    size_t start = *at;
    while (*at < text.len && text.s[*at] >= '0' && text.s[*at] <= '9') {
        *us += unit * (text.s[*at] - '0');
        unit /= 10;
        (*at)++;
    }
    return *at > start;
}

/* "Z" or "+01:30". */
static bool read_offset(struct sl_str text, size_t *at, int64_t *seconds)
{
    *seconds = 0;
    if (read_char(text, at, "Zz")) {
        return true;
    }
    bool west = *at < text.len && text.s[*at] == '-';
    unsigned hours;
    unsigned minutes;
    if (!read_char(text, at, "+-") || !read_digits(text, at, 2, &hours) ||
        !read_char(text, at, ":") || !read_digits(text, at, 2, &minutes) || hours > 23 ||
        minutes > 59) {
        return false;
    }
    *seconds = (int64_t)hours * SL_HOUR_S + (int64_t)minutes * SL_MINUTE_S;
    if (west) {
        *seconds = -*seconds;
    }
    return true;
}

bool sl_time_parse(struct sl_str text, int64_t *out_us)
{
    size_t at = 0;
    unsigned year;
    unsigned month;
    unsigned day;
    unsigned hour;
    unsigned minute;
    unsigned second;
    int64_t us;
    int64_t offset;
    bool read = read_digits(text, &at, 4, &year) && read_char(text, &at, "-") &&
                read_digits(text, &at, 2, &month) && read_char(text, &at, "-") &&
                read_digits(text, &at, 2, &day) && read_char(text, &at, "Tt") &&
                read_digits(text, &at, 2, &hour) && read_char(text, &at, ":") &&
                read_digits(text, &at, 2, &minute) && read_char(text, &at, ":") &&
                read_digits(text, &at, 2, &second) && read_fraction(text, &at, &us) &&
                read_offset(text, &at, &offset);
    if (!read || at != text.len || month < 1 || month > 12 || day < 1 ||
        day > days_in_month(year, month) || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    int64_t seconds = days_from_civil(year, month, day) * SL_DAY_S + (int64_t)hour * SL_HOUR_S +
                      (int64_t)minute * SL_MINUTE_S + second - offset;
    *out_us = seconds * SL_SECOND_US + us;
    return true;
}

void sl_time_format(int64_t us, char out[32])
{
    int64_t fraction = us % SL_SECOND_US;
    int64_t seconds = us / SL_SECOND_US;
    if (fraction < 0) {
        fraction += SL_SECOND_US;
        seconds--;
    }
    int64_t of_day = seconds % SL_DAY_S;
    int64_t days = seconds / SL_DAY_S;
    if (of_day < 0) {
        of_day += SL_DAY_S;
        days--;
    }
    int64_t year;
    unsigned month;
    unsigned day;
    civil_from_days(days, &year, &month, &day);
    int n = snprintf(out, 32, "%04d-%02u-%02uT%02d:%02d:%02d", (int)year, month, day,
                     (int)(of_day / SL_HOUR_S), (int)(of_day / SL_MINUTE_S % 60),
                     (int)(of_day % SL_MINUTE_S));
    if (n > 0 && n < 24) {
        size_t len = (size_t)n;
        (void)(fraction == 0 ? snprintf(out + len, 32 - len, "Z")
                             : snprintf(out + len, 32 - len, ".%06dZ", (int)fraction));
    }
}
