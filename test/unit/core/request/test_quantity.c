/* Quantities: values from Kubernetes' own tests, and properties against decimal arithmetic on
 * strings and a regular expression, which share nothing with the code under test. */
#include <stdlib.h>

#include "unit/test.h"
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "sliced/quantity.h"

#define MAX  "9223372036854775807"
#define OVER "9223372036854775808"

struct value_case {
    const char *text;
    int64_t whole;
    int32_t nano;
};

static const int64_t KI = 1024;

static enum sl_quantity_result parse(const char *text, struct sl_quantity *out)
{
    return sl_quantity_parse(text, strlen(text), out);
}

static struct sl_quantity parsed(const char *text)
{
    struct sl_quantity q = {0, 0};
    if (parse(text, &q) != SL_QUANTITY_OK) {
        fail_msg("\"%s\" does not parse", text);
    }
    return q;
}

static void check_value(const char *text, int64_t whole, int32_t nano)
{
    struct sl_quantity q = parsed(text);
    if (q.whole != whole || q.nano != nano) {
        fail_msg("\"%s\" gave %lld and %d nano, not %lld and %d", text, (long long)q.whole,
                 (int)q.nano, (long long)whole, (int)nano);
    }
}

TEST_THAT(known_values_are_read_exactly_with_either_sign)
{
    /* The table of TestQuantityParse in k8s.io/apimachinery/pkg/api/resource/quantity_test.go,
     * without what it caps. */
    const struct value_case cases[] = {
        {"0", 0, 0},
        {"0n", 0, 0},
        {"0u", 0, 0},
        {"0m", 0, 0},
        {"0Ki", 0, 0},
        {"0k", 0, 0},
        {"0Ti", 0, 0},
        {"0T", 0, 0},
        {"1", 1, 0},
        {"1Ki", KI, 0},
        {"8Ki", 8 * KI, 0},
        {"7Mi", 7 * KI * KI, 0},
        {"6Gi", 6 * KI * KI * KI, 0},
        {"5Ti", 5 * KI * KI * KI * KI, 0},
        {"4Pi", 4 * KI * KI * KI * KI * KI, 0},
        {"3Ei", 3 * KI * KI * KI * KI * KI * KI, 0},
        {"100Ti", 100 * KI * KI * KI * KI, 0},
        {"5n", 0, 5},
        {"4u", 0, 4000},
        {"3m", 0, 3000000},
        {"9", 9, 0},
        {"8k", 8000, 0},
        {"50k", 50000, 0},
        {"7M", 7000000, 0},
        {"6G", 6000000000, 0},
        {"5T", 5000000000000, 0},
        {"300T", 300000000000000, 0},
        {"2P", 2000000000000000, 0},
        {"1E", 1000000000000000000, 0},
        {"1E-3", 0, 1000000},
        {"1e3", 1000, 0},
        {"1E3", 1000, 0},
        {"1E6", 1000000, 0},
        {"1e+9", 1000000000, 0},
        {"1E18", 1000000000000000000, 0},
        {"100.035k", 100035, 0},
        {"0.001", 0, 1000000},
        {"0.0005k", 0, 500000000},
        {"0.00050k", 0, 500000000},
        {"0.50000", 0, 500000000},
        {"0.5e0", 0, 500000000},
        {"0.5e-2", 0, 5000000},
        {"10.035M", 10035000, 0},
        {"1.3E+6", 1300000, 0},
        {"1.53E12", 1530000000000, 0},
        {"1.7E18", 1700000000000000000, 0},
        {"9.01", 9, 10000000},
        {"7.123456M", 7123456, 0},
        {"6.987654321G", 6987654321, 0},
        {"2.5P", 2500000000000000, 0},
        {"1.01E", 1010000000000000000, 0},
        {"3.001n", 0, 4},
        {"1.1E-9", 0, 2},
        {"0.0000000001", 0, 1},
        {"0.00000000050", 0, 1},
        {"0.5e-9", 0, 1},
        {"0.9n", 0, 1},
        {"0.00000012345", 0, 124},
        {"100.035Ki", 102435, 840000000},
        {"0.5Mi", KI * KI / 2, 0},
        {"0.05Gi", 53687091, 200000000},
        {"0.025Ti", 27487790694, 400000000},
        {"0.000000000001Ki", 0, 2},
        {".001", 0, 1000000},
        {".0001k", 0, 100000000},
        {"1.", 1, 0},
        {"1.G", 1000000000, 0},
        {"5.", 5, 0},
        {".5", 0, 500000000},
        {"1e-999999999999999999999", 0, 1},
        {"0e999999999999999999999", 0, 0},
        {"0000000000000000000000000000012", 12, 0},
        {MAX, INT64_MAX, 0},
        {"9223372036854775806.9999999999", INT64_MAX, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        check_value(cases[i].text, cases[i].whole, cases[i].nano);
        (void)snprintf(text, sizeof(text), "+%s", cases[i].text);
        check_value(text, cases[i].whole, cases[i].nano);
        (void)snprintf(text, sizeof(text), "-%s", cases[i].text);
        check_value(text, -cases[i].whole, -cases[i].nano);
    }
}

TEST_THAT(text_ends_where_its_length_says)
{
    static const struct {
        const char *text;
        size_t len;
        int64_t whole;
        int32_t nano;
    } cases[] = {{"1e34", 3, 1000, 0},       {"12", 1, 1, 0},
                 {"1.55", 3, 1, 500000000},  {"1Ki", 1, 1, 0},
                 {"1e-15", 4, 0, 100000000}, {"2E3", 2, 2000000000000000000, 0},
                 {"-12", 2, -1, 0},          {"1m5", 2, 0, 1000000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_quantity q;
        assert_int_equal(sl_quantity_parse(cases[i].text, cases[i].len, &q), SL_QUANTITY_OK);
        assert_int_equal(q.whole, cases[i].whole);
        assert_int_equal(q.nano, cases[i].nano);
    }
}

TEST_THAT(what_is_no_quantity_is_refused_and_leaves_the_result_alone)
{
    const char *cases[] = {
        "",       "+",     "-",     ".",    "-.",   "Mi",    "k",      "e3",      "1.1.M",
        "1+1.0M", "0.1mi", "0.1am", "aoeu", ".5i",  "1i",    "-3.01i", "-3.01e-", "1e",
        "1e+",    "1E-",   " 1",    "1 ",   "1 Gi", "1K",    "1g",     "1ki",     "1KI",
        "1B",     "1e1.5", "1e3Mi", "--1",  "+-1",  "0x10",  "1,5",    "1_000",   "NaN",
        "inf",    "1Mim",  "1nn",   "1..",  "1EE",  "1e+-3", "1Kii"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_quantity q = {77, 7};
        if (parse(cases[i], &q) != SL_QUANTITY_SYNTAX) {
            fail_msg("\"%s\" is not refused as no quantity", cases[i]);
        }
        assert_true(q.whole == 77 && q.nano == 7);
    }
    struct sl_quantity q = {77, 7};
    assert_int_equal(sl_quantity_parse("1\0", 2, &q), SL_QUANTITY_SYNTAX);
    assert_int_equal(sl_quantity_parse("1\xc2\xb5", 3, &q), SL_QUANTITY_SYNTAX);
    assert_int_equal(sl_quantity_parse("15", 1, &q), SL_QUANTITY_OK);
    assert_int_equal(q.whole, 1);
}

TEST_THAT(what_passes_2_63_is_refused_as_out_of_range)
{
    const char *cases[] = {OVER,
                           "-9223372036854775808",
                           "9223372036854775807.1",
                           "9223372036854775807.0000000000001",
                           "9Ei",
                           "8Ei",
                           "-8Ei",
                           "9223372036854775807Ki",
                           "12E",
                           "10E",
                           "1e19",
                           "1e999999999999999999999",
                           "99999999999999999999999999999999999999999999999999",
                           "16Ei",
                           "18446744073709551616Ki",
                           "9223372036854775807.5",
                           "9.3E",
                           "7.9999999999999999999999999999999999Ei",
                           "18446744073709551615.99999999999",
                           "18014398509481983.9999999999999999999999999999Ki",
                           "17179869183.9999999999999Gi"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_quantity q = {77, 7};
        if (parse(cases[i], &q) != SL_QUANTITY_RANGE) {
            fail_msg("\"%s\" is not refused as out of range", cases[i]);
        }
        assert_true(q.whole == 77 && q.nano == 7);
    }
}

TEST_THAT(ceil_and_milli_round_away_from_zero)
{
    int64_t v = 5;
    assert_int_equal(sl_quantity_ceil(parsed("1.000000001"), &v), SL_QUANTITY_OK);
    assert_int_equal(v, 2);
    assert_int_equal(sl_quantity_ceil(parsed("-1.5"), &v), SL_QUANTITY_OK);
    assert_int_equal(v, -2);
    assert_int_equal(sl_quantity_ceil(parsed("500m"), &v), SL_QUANTITY_OK);
    assert_int_equal(v, 1);
    assert_int_equal(sl_quantity_ceil(parsed(MAX), &v), SL_QUANTITY_OK);
    assert_true(v == INT64_MAX);
    assert_int_equal(sl_quantity_milli(parsed("1001u"), &v), SL_QUANTITY_OK);
    assert_int_equal(v, 2);
    assert_int_equal(sl_quantity_milli(parsed("-1001u"), &v), SL_QUANTITY_OK);
    assert_int_equal(v, -2);
    assert_int_equal(sl_quantity_milli(parsed("1n"), &v), SL_QUANTITY_OK);
    assert_int_equal(v, 1);
    assert_int_equal(sl_quantity_milli(parsed("-1n"), &v), SL_QUANTITY_OK);
    assert_int_equal(v, -1);
    assert_int_equal(sl_quantity_milli(parsed("2.5"), &v), SL_QUANTITY_OK);
    assert_int_equal(v, 2500);
    assert_int_equal(sl_quantity_milli(parsed("9223372036854775.807"), &v), SL_QUANTITY_OK);
    assert_true(v == INT64_MAX);
    v = 5;
    assert_int_equal(sl_quantity_milli(parsed("9223372036854775.8071"), &v), SL_QUANTITY_RANGE);
    assert_int_equal(sl_quantity_milli(parsed("10P"), &v), SL_QUANTITY_RANGE);
    assert_int_equal(sl_quantity_ceil((struct sl_quantity){INT64_MAX, 1}, &v), SL_QUANTITY_RANGE);
    assert_int_equal(v, 5);
    assert_true(sl_quantity_is_integer(parsed("1000m")));
    assert_false(sl_quantity_is_integer(parsed("1001m")));
}

/* --- The brute force: decimal digits in a string, most significant first ---------------------- */

enum { DIGITS = 256 };

/* value = d[0..n) as an integer, in units of 10^-scale */
struct decimal {
    char d[DIGITS];
    int n;
    int scale;
};

static uint64_t g_random = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (unsigned)((g_random >> 11) % n);
}

static void double_it(struct decimal *x)
{
    int carry = 0;
    for (int i = x->n - 1; i >= 0; i--) {
        int v = 2 * (x->d[i] - '0') + carry;
        x->d[i] = (char)('0' + v % 10);
        carry = v / 10;
    }
    if (carry > 0) {
        memmove(x->d + 1, x->d, (size_t)x->n);
        x->d[0] = (char)('0' + carry);
        x->n++;
    }
}

static void add_one(struct decimal *x)
{
    int i = x->n - 1;
    while (i >= 0 && x->d[i] == '9') {
        x->d[i--] = '0';
    }
    if (i >= 0) {
        x->d[i]++;
    } else {
        memmove(x->d + 1, x->d, (size_t)x->n);
        x->d[0] = '1';
        x->n++;
    }
}

/* Makes scale 9 by padding, or by cutting and rounding up. */
static void to_nano(struct decimal *x)
{
    while (x->scale < 9) {
        x->d[x->n++] = '0';
        x->scale++;
    }
    bool lost = false;
    while (x->scale > 9) {
        lost = lost || (x->n > 0 && x->d[x->n - 1] != '0');
        x->n -= x->n > 0;
        x->scale--;
    }
    if (x->n == 0) {
        x->d[x->n++] = '0';
    }
    if (lost) {
        add_one(x);
    }
    while (x->n > 1 && x->d[0] == '0') {
        memmove(x->d, x->d + 1, (size_t)--x->n);
    }
}

/* Of an exact text in nano: what the parser must say. */
static enum sl_quantity_result expected(const struct decimal *x, bool negative,
                                        struct sl_quantity *out)
{
    static const char limit[] = MAX "000000000";
    int limit_len = (int)strlen(limit);
    if (x->n > limit_len || (x->n == limit_len && memcmp(x->d, limit, (size_t)x->n) > 0)) {
        return SL_QUANTITY_RANGE;
    }
    char padded[40];
    (void)snprintf(padded, sizeof(padded), "%0*d%.*s", limit_len - x->n + 1, 0, x->n, x->d);
    int64_t nano = strtoll(padded + strlen(padded) - 9, NULL, 10);
    padded[strlen(padded) - 9] = '\0';
    int64_t whole = strtoll(padded, NULL, 10);
    out->whole = negative ? -whole : whole;
    out->nano = (int32_t)(negative ? -nano : nano);
    return SL_QUANTITY_OK;
}

static int append_digits(char *text, int at, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned kind = random_below(4);
        text[at++] = kind == 0 ? '0' : kind == 1 ? '9' : (char)('0' + random_below(10));
    }
    return at;
}

/* Writes a random quantity to text and its exact value to *x. */
static bool random_quantity(char *text, struct decimal *x)
{
    static const char *binary[] = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    static const struct {
        const char *text;
        int power;
    } decimal[] = {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0},   {"k", 3},
                   {"M", 6},  {"G", 9},  {"T", 12}, {"P", 15}, {"E", 18}};
    int at = 0;
    unsigned sign = random_below(3);
    if (sign > 0) {
        text[at++] = sign == 1 ? '-' : '+';
    }
    int begin = at;
    if (random_below(4) == 0) { /* near the limit */
        static const char *edges[] = {MAX, OVER, "9223372036854775806", "8796093022207",
                                      "7", "8",  "9007199254740991",    "18446744073709551616"};
        const char *edge = edges[random_below(8)];
        memcpy(text + at, edge, strlen(edge));
        at += (int)strlen(edge);
    } else {
        at = append_digits(text, at, random_below(22));
    }
    x->n = at - begin;
    memcpy(x->d, text + begin, (size_t)x->n);
    x->scale = 0;
    if (x->n == 0 || random_below(2) == 0) {
        text[at++] = '.';
        int from = at;
        at = append_digits(text, at, random_below(2) == 0 ? random_below(4) : random_below(30));
        if (x->n == 0 && at == from) {
            text[at++] = '5';
        }
        memcpy(x->d + x->n, text + from, (size_t)(at - from));
        x->n += at - from;
        x->scale = at - from;
    }
    unsigned kind = random_below(3);
    if (kind == 0) {
        unsigned i = random_below(6);
        at += snprintf(text + at, 8, "%s", binary[i]);
        for (unsigned k = 0; k < 10 * (i + 1); k++) {
            double_it(x);
        }
    } else if (kind == 1) {
        unsigned i = random_below(10);
        at += snprintf(text + at, 8, "%s", decimal[i].text);
        x->scale -= decimal[i].power;
    } else {
        int power = (int)random_below(61) - 30;
        at += snprintf(text + at, 8, "%c%s%d", random_below(2) == 0 ? 'e' : 'E',
                       power >= 0 && random_below(2) == 0 ? "+" : "", power);
        x->scale -= power;
    }
    text[at] = '\0';
    to_nano(x);
    return text[0] == '-';
}

TEST_THAT(random_quantities_agree_with_decimal_arithmetic_on_strings)
{
    unsigned in_range = 0;
    for (int i = 0; i < 200000; i++) {
        char text[128];
        struct decimal exact;
        bool negative = random_quantity(text, &exact);
        struct sl_quantity want = {0, 0};
        struct sl_quantity got = {0, 0};
        enum sl_quantity_result want_result = expected(&exact, negative, &want);
        enum sl_quantity_result got_result = parse(text, &got);
        if (got_result != want_result || got.whole != want.whole || got.nano != want.nano) {
            fail_msg("\"%s\": got %d, %lld and %d nano; not %d, %lld and %d", text, got_result,
                     (long long)got.whole, (int)got.nano, want_result, (long long)want.whole,
                     (int)want.nano);
        }
        in_range += got_result == SL_QUANTITY_OK;
    }
    assert_in_range(in_range, 50000, 199000);
}

TEST_THAT(random_text_is_accepted_exactly_when_the_grammar_says_so)
{
    static const char alphabet[] = "0123456789..+-eEinumkKMGTPx 00";
    regex_t grammar;
    assert_int_equal(regcomp(&grammar,
                             "^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)"
                             "([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    unsigned accepted = 0;
    for (int i = 0; i < 100000; i++) {
        char text[12];
        unsigned n = random_below(8);
        for (unsigned k = 0; k < n; k++) {
            text[k] = alphabet[random_below(sizeof(alphabet) - 1)];
        }
        text[n] = '\0';
        struct sl_quantity q;
        bool good = regexec(&grammar, text, 0, NULL, 0) == 0;
        if ((parse(text, &q) != SL_QUANTITY_SYNTAX) != good) {
            fail_msg("\"%s\" is %s", text, good ? "refused" : "accepted");
        }
        accepted += good;
    }
    regfree(&grammar);
    assert_in_range(accepted, 5000, 90000);
}

TEST_THAT(order_agrees_with_whole_nanos)
{
    for (int i = 0; i < 100000; i++) {
        int64_t x = (int64_t)random_below(4000000) - 2000000;
        int64_t y = (int64_t)random_below(4000000) - 2000000;
        x *= (int64_t)random_below(3000) + 1;
        y *= (int64_t)random_below(3000) + 1;
        struct sl_quantity a = {x / 1000000000, (int32_t)(x % 1000000000)};
        struct sl_quantity b = {y / 1000000000, (int32_t)(y % 1000000000)};
        assert_int_equal(sl_quantity_cmp(a, b), (x > y) - (x < y));
    }
}

TEST_THAT(zeros_in_front_are_no_digits_however_many)
{
    check_value("0000000000000000000000000000007", 7, 0);
    check_value("-0000000000000000000000000000007Ki", -7 * KI, 0);
    check_value("0000000000000000000000000000000.5", 0, 500000000);
    check_value("0000000000000000000000000000000", 0, 0);
}
