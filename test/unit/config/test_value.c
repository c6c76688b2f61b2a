/* Single values: durations, sizes, addresses, paths. */
#include <stdlib.h>

#include "unit/test.h"
#include <string.h>

#include "config/keys.h"

static struct sl_key key_of(enum sl_key_type type)
{
    bool text = type == SL_KEY_ADDRESS || type == SL_KEY_PREFIX || type == SL_KEY_VERB;
    return (struct sl_key){.path = "test", .type = type, .text = text, .min = 0, .max = INT64_MAX};
}

struct number_case {
    const char *text;
    enum sl_value_result result;
    int64_t value;
};

static void check_numbers(enum sl_key_type type, const struct number_case *cases, size_t n)
{
    struct sl_key key = key_of(type);
    for (size_t i = 0; i < n; i++) {
        int64_t value = -7;
        enum sl_value_result result =
            sl_value_number(&key, sl_str_of(cases[i].text), type != SL_KEY_INTEGER, &value);
        int64_t want = cases[i].result == SL_VALUE_OK ? cases[i].value : -7;
        if (result != cases[i].result || value != want) {
            fail_msg("\"%s\": %d, %lld", cases[i].text, result, (long long)value);
        }
    }
}

TEST_THAT(durations_are_read_as_go_does)
{
    const struct number_case cases[] = {
        {"0", SL_VALUE_OK, 0},
        {"0s", SL_VALUE_OK, 0},
        {"5s", SL_VALUE_OK, 5000000},
        {"500ms", SL_VALUE_OK, 500000},
        {"1m30s", SL_VALUE_OK, 90000000},
        {"1.5h", SL_VALUE_OK, 5400000000},
        {".5s", SL_VALUE_OK, 500000},
        {"1.s", SL_VALUE_OK, 1000000},
        {"3us", SL_VALUE_OK, 3},
        {"3\xc2\xb5s", SL_VALUE_OK, 3},
        {"2000ns", SL_VALUE_OK, 2},
        {"1h2m3s4ms5us", SL_VALUE_OK, 3723004005},
        {"1s1h", SL_VALUE_OK, 3601000000},
        {"0.000001s", SL_VALUE_OK, 1},
        {"0.00000000000s", SL_VALUE_OK, 0},
        {"1500ns", SL_VALUE_RANGE, 0},
        {"0.0000001s", SL_VALUE_RANGE, 0},
        {"0.00000000001s", SL_VALUE_RANGE, 0},
        {"-5s", SL_VALUE_RANGE, 0},
        {"9999999999h", SL_VALUE_RANGE, 0},
        {"99999999999999999999s", SL_VALUE_RANGE, 0},
        {"2562047h2562047h", SL_VALUE_RANGE, 0},
        {"", SL_VALUE_TYPE, 0},
        {"-", SL_VALUE_TYPE, 0},
        {"5", SL_VALUE_TYPE, 0},
        {"s", SL_VALUE_TYPE, 0},
        {".s", SL_VALUE_TYPE, 0},
        {"5 s", SL_VALUE_TYPE, 0},
        {"5S", SL_VALUE_TYPE, 0},
        {"5d", SL_VALUE_TYPE, 0},
        {"5s ", SL_VALUE_TYPE, 0},
        {"1m30", SL_VALUE_TYPE, 0},
        {"1e3s", SL_VALUE_TYPE, 0},
        {"+5s", SL_VALUE_TYPE, 0},
    };
    check_numbers(SL_KEY_DURATION, cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_THAT(sizes_are_quantities_of_whole_bytes)
{
    const struct number_case cases[] = {
        {"64Mi", SL_VALUE_OK, 64 << 20}, {"65536", SL_VALUE_OK, 65536},
        {"1.5Ki", SL_VALUE_OK, 1536},    {"1k", SL_VALUE_OK, 1000},
        {"0", SL_VALUE_OK, 0},           {"-1", SL_VALUE_RANGE, 0},
        {"1.5", SL_VALUE_RANGE, 0},      {"100m", SL_VALUE_RANGE, 0},
        {"9Ei", SL_VALUE_RANGE, 0},      {"64MB", SL_VALUE_TYPE, 0},
        {"64 Mi", SL_VALUE_TYPE, 0},     {"", SL_VALUE_TYPE, 0},
    };
    check_numbers(SL_KEY_SIZE, cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_THAT(integers_are_plain)
{
    const struct number_case cases[] = {
        {"0", SL_VALUE_OK, 0},
        {"17", SL_VALUE_OK, 17},
        {"-1", SL_VALUE_RANGE, 0},
        {"0x10", SL_VALUE_TYPE, 0},
        {"1e3", SL_VALUE_TYPE, 0},
        {"1.0", SL_VALUE_TYPE, 0},
        {"-", SL_VALUE_TYPE, 0},
        {"", SL_VALUE_TYPE, 0},
        {"99999999999999999999", SL_VALUE_RANGE, 0},
    };
    check_numbers(SL_KEY_INTEGER, cases, sizeof(cases) / sizeof(cases[0]));
}

static void check_texts(enum sl_key_type type, const char *const *texts, bool good)
{
    struct sl_key key = key_of(type);
    key.text = true;
    for (; *texts != NULL; texts++) {
        if (sl_value_text(&key, sl_str_of(*texts)) != good) {
            fail_msg("\"%s\" is %s", *texts, good ? "refused" : "accepted");
        }
    }
}

TEST_THAT(addresses_are_checked)
{
    static const char *const good[] = {
        "127.0.0.1:8888", "0.0.0.0:0",    "[::1]:8888",           "[::]:65535",
        "[fe80::1:2]:1",  "localhost:80", "[::ffff:10.0.0.1]:80", NULL};
    static const char *const bad[] = {"",
                                      ":8888",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "127.0.0.1:080",
                                      "127.0.0.1:80a",
                                      "127.0.0.256:80",
                                      "127.0.0:80",
                                      "::1:8888",
                                      "[::1]",
                                      "[]:80",
                                      "[127.0.0.1]:80",
                                      "[::1:80",
                                      "Localhost:80",
                                      "example.org:80",
                                      "*:80",
                                      "127.0.0.1: 80",
                                      " 127.0.0.1:80",
                                      "http://127.0.0.1:80",
                                      "[::1]]:80",
                                      "[fe80::1%eth0]:80",
                                      "127.0.0.1:123456",
                                      NULL};
    check_texts(SL_KEY_ADDRESS, good, true);
    check_texts(SL_KEY_ADDRESS, bad, false);
    struct sl_key key = key_of(SL_KEY_ADDRESS);
    assert_false(sl_value_text(&key, SL_STR("127.0.0.1\0:80")));
}

TEST_THAT(paths_and_verbs_are_checked)
{
    static const char *const good_prefix[] = {"/scheduler", "/a/b-c_d.e~f/1", "/apis", NULL};
    static const char *const bad_prefix[] = {
        "",      "/",   "scheduler", "/a/",  "//a",     "/a//b",     "/a b",  "/a?b",
        "/a%20", "/..", "/a/./b",    "/api", "/api/v1", "/\xc3\xa9", "/a\"b", NULL};
    static const char *const good_verb[] = {"filter", "a", "pre-empt.v1", NULL};
    char long_verb[65];
    memset(long_verb, 'a', sizeof(long_verb));
    long_verb[64] = '\0';
    const char *const bad_verb[] = {"",    "/filter", "a/b", ".",       "..",
                                    "a b", "a?",      "a\n", long_verb, NULL};
    check_texts(SL_KEY_PREFIX, good_prefix, true);
    check_texts(SL_KEY_PREFIX, bad_prefix, false);
    check_texts(SL_KEY_VERB, good_verb, true);
    check_texts(SL_KEY_VERB, bad_verb, false);
}

TEST_THAT(files_and_names_of_objects_are_checked)
{
    char longest[SL_CONFIG_TEXT_MAX];
    char too_long[SL_CONFIG_TEXT_MAX + 1];
    memset(longest, 'a', sizeof(longest));
    memset(too_long, 'a', sizeof(too_long));
    longest[sizeof(longest) - 1] = '\0';
    too_long[sizeof(too_long) - 1] = '\0';
    const char *const good_file[] = {"", "a", "/etc/x y", "../tls.crt", "/\xc3\xa9", longest, NULL};
    const char *const bad_file[] = {"a\"b", "a\\b", "a\nb", "\x7f", too_long, NULL};
    static const char *const good_name[] = {"a", "0", "sliced-system", "a.b-c.d", NULL};
    const char *const bad_name[] = {"",     "-",    "a-", "-a",  ".a",  "a.",    "a..b",
                                    "a-.b", "a.-b", "A",  "a_b", "a b", longest, NULL};
    check_texts(SL_KEY_PATH, good_file, true);
    check_texts(SL_KEY_PATH, bad_file, false);
    check_texts(SL_KEY_WORD, good_file, true);
    check_texts(SL_KEY_WORD, bad_file, false);
    struct sl_key key = key_of(SL_KEY_OBJECT);
    key.string = "sliced";
    for (size_t i = 0; good_name[i] != NULL; i++) {
        assert_true(sl_value_text(&key, sl_str_of(good_name[i])));
    }
    for (size_t i = 0; bad_name[i] != NULL; i++) {
        assert_false(sl_value_text(&key, sl_str_of(bad_name[i])));
    }
    key.string = "";
    assert_true(sl_value_text(&key, SL_STR("")));
}

TEST_THAT(keys_and_values_of_labels_are_checked_as_kubernetes_does)
{
    char longest[SL_TENANT_NAME_MAX];
    char too_long[SL_TENANT_NAME_MAX + 1];
    memset(longest, 'a', sizeof(longest));
    memset(too_long, 'a', sizeof(too_long));
    longest[sizeof(longest) - 1] = '\0';
    too_long[sizeof(too_long) - 1] = '\0';
    const char *const good[] = {"a", "0", "A_b.c-D", longest, NULL};
    const char *const bad[] = {"", "-a", "a-", "_", ".a", "a b", "a*", "\xc3\xa9", too_long, NULL};
    static const char *const good_key[] = {"example.com/team", "nvidia.com/mig-1g.5gb.shared",
                                           "a/B", NULL};
    static const char *const bad_key[] = {"/a", "a/", "A/a", "a/b/c", "a_b/c", "-a/b", NULL};
    check_texts(SL_KEY_VALUE, good, true);
    check_texts(SL_KEY_VALUE, bad, false);
    check_texts(SL_KEY_VALUE, good_key, false);
    check_texts(SL_KEY_LABEL, good, true);
    check_texts(SL_KEY_LABEL, bad, false);
    check_texts(SL_KEY_LABEL, good_key, true);
    check_texts(SL_KEY_LABEL, bad_key, false);
}

TEST_THAT(printed_numbers_read_back_to_the_same)
{
    static const enum sl_key_type types[] = {SL_KEY_INTEGER, SL_KEY_SIZE, SL_KEY_DURATION};
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 30000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        struct sl_key key = key_of(types[i % 3]);
        int64_t value = (int64_t)(random >> (14 + random % 50)); /* up to 2^50: ns fit */
        int64_t again = -1;
        struct sl_buf out;
        if (i % 2 == 0) {
            value &= ~(int64_t)0xfffff;
        }
        sl_buf_init(&out, 128);
        sl_value_print(&key, value, &out);
        assert_int_equal(out.failed, SL_BUF_OK);
        assert_int_equal(sl_value_number(&key, (struct sl_str){out.data, out.len},
                                         key.type != SL_KEY_INTEGER, &again),
                         SL_VALUE_OK);
        assert_int_equal(again, value);
        sl_buf_free(&out);
    }
}
