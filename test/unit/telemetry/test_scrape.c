/* Pages of exporters, as dcgm-exporter writes them and as it must not. */
#include <stdio.h>
#include <stdlib.h>

#include "telemetry/scrape.h"
#include "told.h"
#include "unit/test.h"

#define NOW INT64_C(1700000000000000)

static bool is_wanted(void *context, const char *name)
{
    (void)context;
    return strncmp(name, "used", 4) == 0;
}

static const char *read_in(struct told *told, const char *text, size_t piece)
{
    const struct sl_answer_options options = {.pod_label = {SL_STR("pod")},
                                              .series = told_series,
                                              .sample = told_sample,
                                              .context = told};
    struct sl_scrape *scrape = sl_scrape_new(&options, is_wanted);
    struct sl_error err = {0};
    size_t all = strlen(text);
    int rc = 0;
    told_begin(told);
    assert_non_null(scrape);
    sl_scrape_reset(scrape, NOW);
    for (size_t at = 0; rc == 0 && at < all; at += piece) {
        rc = sl_scrape_feed(scrape, text + at, all - at < piece ? all - at : piece, &err);
    }
    if (rc == 0) {
        rc = sl_scrape_finish(scrape, &err);
    }
    sl_scrape_free(scrape);
    if (rc < 0) {
        told_say(told, "! ", err.message);
    }
    return told->text;
}

static void says(const char *text, const char *expected)
{
    struct told told = {.begin_us = NOW};
    assert_string_equal(read_in(&told, text, 1), expected);
    assert_string_equal(read_in(&told, text, 7), expected);
    assert_string_equal(read_in(&told, text, 1 << 20), expected);
}

TEST_THAT(samples_come_with_their_labels)
{
    says("# HELP used Framebuffer memory used (in MiB).\n"
         "# TYPE used gauge\n"
         "used{gpu=\"0\",UUID=\"GPU-a\",modelName=\"Tesla T4\",Hostname=\"n\"} 4000\n"
         "clock{gpu=\"0\"} 139\n"
         "used{gpu=\"1\", UUID=\"GPU-b\", GPU_I_PROFILE=\"1g.5gb\", GPU_I_ID=\"7\",} 500.5\n",
         "[used  gpu 0 GPU-a i ] 0=4000[used  gpu 1 GPU-b i7 1g.5gb] 0=500.5");
}

TEST_THAT(a_sample_may_bring_its_time)
{
    says("used 1 1700000000123\nused{} 2 -1\nused 3 9223372036854775807\n",
         "[used  gpu   i ] 123000=1[used  gpu   i ][used  gpu   i ]");
}

TEST_THAT(numbers_that_are_none_are_passed_over)
{
    says("used NaN\nused +Inf\nused -Inf\nused x\nused -2e1\n",
         "[used  gpu   i ][used  gpu   i ][used  gpu   i ][used  gpu   i ][used  gpu   i ] 0=-20");
}

TEST_THAT(blanks_and_ends_of_lines_of_other_systems_do_not_matter)
{
    says("\n \t\r\n  used\t{ gpu = \"0\" , UUID =\"x\" }  1\t\r\n  # more\n#\n",
         "[used  gpu 0 x i ] 0=1");
}

TEST_THAT(what_is_escaped_in_a_label_is_read)
{
    says("used{gpu=\"a\\\"b\\\\c\\nd\",other=\"}\\\"\"} 1\n", "[used  gpu a\"b\\c\nd  i ] 0=1");
}

TEST_THAT(a_label_that_is_too_long_is_as_none)
{
    char text[1024];
    char label[400];
    memset(label, 'a', sizeof(label) - 1);
    label[sizeof(label) - 1] = '\0';
    (void)snprintf(text, sizeof(text), "used{gpu=\"%s\",UUID=\"x\"} 1\n", label);
    says(text, "[used  gpu  x i ] 0=1");
}

TEST_THAT(comments_and_samples_of_any_length_are_passed_over)
{
    enum { LONG = 2 * SL_SCRAPE_LINE_MAX };
    static char text[LONG + 16];
    struct told told = {.begin_us = NOW};
    memset(text, 'x', LONG);
    text[0] = '#';
    (void)snprintf(text + LONG, sizeof(text) - LONG, "\nused 1\n");
    says(text, "[used  gpu   i ] 0=1");
    text[0] = 'x'; /* a pod with very many labels must not blind its neighbours */
    says(text, "[used  gpu   i ] 0=1");
    text[0] = '<';
    assert_non_null(strstr(read_in(&told, text, 100), "! this is no page of an exporter: line 1"));
}

/* Labels of pods stand behind the exporter's own. */
TEST_THAT(of_labels_of_one_name_the_first_counts)
{
    says("used{gpu=\"0\",UUID=\"x\",gpu=\"3\",UUID=\"y\",__name__=\"busy\"} 1\n",
         "[used  gpu 0 x i ] 0=1");
}

/* A pod's label "pod" stands before the exporter's own. */
TEST_THAT(all_names_of_a_pod_come)
{
    says("used{gpu=\"0\",pod=\"victim\",container=\"c\",pod=\"own\"} 1\n",
         "[used  gpu 0  i  pod victim pod own] 0=1");
}

TEST_THAT(what_is_no_page_is_an_error)
{
    static const char *const texts[] = {
        "<html><body>Sign in</body></html>\n",
        "{\"status\":\"success\"}\n",
        "Unauthorized\n",
        "used\n",
        "used{gpu=\"0\"}\n",
        "used{gpu=\"0\" 1\n",
        "used{gpu=\"0} 1\n",
        "used{gpu=\"0\\",
        "used{gpu=0} 1\n",
        "used{=\"0\"} 1\n",
        "used{gpu=\"0\"UUID=\"x\"} 1\n",
        "used 1 2 3\n",
        "used 1 now\n",
        "1used 1\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct told told = {.begin_us = NOW};
        const char *text = read_in(&told, texts[i], 3);
        if (text[0] != '!') {
            fail_msg("%s was taken: %s", texts[i], text);
        }
    }
}

/* 40 may be the beginning of 4000. */
TEST_THAT(a_line_that_is_cut_does_not_count)
{
    says("used 1\nused 40", "[used  gpu   i ] 0=1! the page is cut in line 2");
}

TEST_THAT(a_page_of_something_else_is_said)
{
    says("", "! the page has none of the metrics of telemetry.metrics");
    says("node_cpu_seconds_total{cpu=\"0\"} 1\n",
         "! the page has none of the metrics of telemetry.metrics");
}

TEST_THAT(a_page_without_end_is_given_up)
{
    const struct sl_answer_options options = {.series = told_series, .sample = told_sample};
    struct sl_scrape *scrape = sl_scrape_new(&options, is_wanted);
    struct sl_error err = {0};
    char line[1024];
    size_t fed = 0;
    assert_non_null(scrape);
    memset(line, 'x', sizeof(line));
    line[0] = '#';
    sl_scrape_reset(scrape, NOW);
    while (sl_scrape_feed(scrape, line, sizeof(line), &err) == 0) {
        fed += sizeof(line);
        assert_true(fed <= SL_SCRAPE_BYTES_MAX);
    }
    assert_int_equal(err.code, SL_ERR_LIMIT);
    sl_scrape_free(scrape);
}
