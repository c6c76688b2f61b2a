/* Log lines: one write each, valid JSON in JSON form whatever the values hold. */
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "unit/test.h"
#include "util/clock.h"
#include "util/log.h"

/* Take the place of the clocks and of libc's poll: a wait for room is counted and cut short, and
 * time passes at once. */
static int64_t clock_us;
static unsigned waits;

int64_t sl_clock_monotonic_us(void)
{
    return clock_us;
}

int64_t sl_clock_monotonic_ns(void)
{
    return clock_us * 1000;
}

int64_t sl_clock_real_us(void)
{
    return clock_us;
}

int poll(struct pollfd *fds, nfds_t nfds, int timeout)
{
    const struct timespec most = {.tv_nsec = timeout > 0 ? 1000000 : 0};
    fd_set writable;
    assert_int_equal(nfds, 1);
    FD_ZERO(&writable);
    FD_SET(fds[0].fd, &writable);
    waits += timeout == 0 ? 0 : 1;
    return pselect(fds[0].fd + 1, NULL, &writable, NULL, &most, NULL);
}

static char captured[65536];

/* Runs a logging call with standard error going to a file and reads it back. */
static const char *captured_of(void (*call)(const char *name, int64_t number), const char *name,
                               int64_t number)
{
    char path[] = "/tmp/sliced-log-XXXXXX";
    int file = mkstemp(path);
    int saved = dup(STDERR_FILENO);
    assert_true(file >= 0 && saved >= 0);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    call(name, number);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    ssize_t n = pread(file, captured, sizeof(captured) - 1, 0);
    assert_true(n >= 0);
    captured[n] = '\0';
    (void)close(saved);
    (void)close(file);
    (void)unlink(path);
    return captured;
}

static void log_value(const char *value, int64_t level)
{
    sl_log((enum sl_log_level)level, "pod bound", "pod", value, "none", (char *)NULL, (char *)NULL);
}

static const char *capture(enum sl_log_level level, const char *value)
{
    return captured_of(log_value, value, level);
}

static void log_of_pod(const char *name, int64_t number)
{
    sl_log_pod(SL_LOG_DEBUG, SL_STR("team"), sl_str_of(name), "filter", "#passed",
               SL_LOG_NUMBER(number), "best", "n1", (char *)NULL);
}

static const char *capture_pod(const char *name, int64_t number)
{
    return captured_of(log_of_pod, name, number);
}

TEST_THAT(text_lines_carry_level_message_and_pairs)
{
    sl_log_configure(SL_LOG_INFO, false);
    const char *line = capture(SL_LOG_WARN, "default/a");
    assert_non_null(strstr(line, " warn \"pod bound\" pod=\"default/a\" none=\"\"\n"));
}

TEST_THAT(lines_below_the_level_are_not_written)
{
    sl_log_configure(SL_LOG_WARN, false);
    assert_string_equal(capture(SL_LOG_INFO, "x"), "");
    assert_string_not_equal(capture(SL_LOG_ERROR, "x"), "");
}

TEST_THAT(json_lines_parse_whatever_the_value)
{
    static const char *const values[] = {"plain", "quote \" backslash \\", "line\nfeed\ttab\x01",
                                         "\xc3\xa9"};
    sl_log_configure(SL_LOG_INFO, true);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        json_error_t error;
        json_t *root = json_loads(capture(SL_LOG_INFO, values[i]), 0, &error);
        assert_non_null(root);
        assert_string_equal(json_string_value(json_object_get(root, "pod")), values[i]);
        assert_string_equal(json_string_value(json_object_get(root, "level")), "info");
        json_decref(root);
    }
}

/* Of text and of JSON: the next reader is a terminal. */
TEST_THAT(what_must_not_be_shown_is_escaped)
{
    for (int json = 0; json < 2; json++) {
        sl_log_configure(SL_LOG_INFO, json != 0);
        const char *line = capture(SL_LOG_INFO, "\x1b[2J\xc2\x9b\xe2\x80\xae\xff");
        assert_non_null(strstr(line, "\"\\u001b[2J\\u009b\\u202e\xef\xbf\xbd\""));
    }
}

TEST_THAT(a_huge_value_is_cut_but_the_line_stays_whole)
{
    char *value = malloc(20001);
    assert_non_null(value);
    memset(value, 'v', 20000);
    value[20000] = '\0';
    sl_log_configure(SL_LOG_INFO, true);
    json_t *root = json_loads(capture(SL_LOG_INFO, value), 0, NULL);
    assert_non_null(root);
    json_decref(root);
    free(value);
}

TEST_THAT(a_traced_pod_is_written_whatever_the_level)
{
    sl_log_configure(SL_LOG_WARN, false);
    assert_string_equal(capture_pod("a", 3), "");
    sl_log_trace("team/a");
    assert_non_null(
        strstr(capture_pod("a", 3), " debug \"filter\" pod=\"team/a\" passed=3 best=\"n1\"\n"));
    assert_string_equal(capture_pod("ab", 3), "");
    assert_string_equal(capture_pod("", 3), "");
    sl_log_trace("teamXa"); /* which the configuration refuses */
    assert_string_equal(capture_pod("a", 3), "");
    sl_log_trace("");
    assert_string_equal(capture_pod("a", 3), "");
}

TEST_THAT(numbers_are_numbers_in_json)
{
    sl_log_configure(SL_LOG_DEBUG, true);
    json_t *root = json_loads(capture_pod("123", -5), 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(root, "passed")), -5);
    assert_string_equal(json_string_value(json_object_get(root, "pod")), "team/123");
    json_decref(root);
}

/* Fills the pipe and lets later writes block. */
static void pipe_fill(int end)
{
    static const char bytes[4096];
    assert_int_equal(fcntl(end, F_SETFL, O_NONBLOCK), 0);
    while (write(end, bytes, sizeof(bytes)) > 0) {
    }
    assert_int_equal(fcntl(end, F_SETFL, 0), 0);
}

/* Standard error as a pipe, which nobody reads but drained. */
struct standard_error {
    int end[2];
    int saved;
    uint64_t before;
};

static void pipe_begin(struct standard_error *e)
{
    sl_log_configure(SL_LOG_INFO, false);
    clock_us += INT64_C(120000000); /* whatever an earlier test lost */
    waits = 0;
    e->before = sl_log_lost();
    assert_int_equal(pipe(e->end), 0);
    assert_int_equal(fcntl(e->end[0], F_SETFL, O_NONBLOCK), 0);
    e->saved = dup(STDERR_FILENO);
    assert_true(dup2(e->end[1], STDERR_FILENO) >= 0);
}

static void pipe_end(struct standard_error *e)
{
    assert_true(dup2(e->saved, STDERR_FILENO) >= 0);
    (void)close(e->saved);
    (void)close(e->end[0]);
    (void)close(e->end[1]);
}

static uint64_t lost_by(const struct standard_error *e)
{
    return sl_log_lost() - e->before;
}

/* What the pipe holds, or its last part. */
static const char *drained(const struct standard_error *e)
{
    captured[0] = '\0';
    for (ssize_t n = 1; n > 0;) {
        n = read(e->end[0], captured, sizeof(captured) - 1);
        captured[n > 0 ? (size_t)n : strlen(captured)] = '\0';
    }
    return captured;
}

static void say_of(const char *namespace, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        sl_log_pod_share(SL_LOG_INFO, sl_str_of(namespace), SL_STR("p"), "pod refused", "#i",
                         SL_LOG_NUMBER(i), (char *)NULL);
    }
}

static unsigned lines_in(const char *text)
{
    unsigned n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '\n';
    }
    return n;
}

TEST_THAT(a_namespace_has_its_share_of_lines_and_no_more)
{
    struct standard_error e;
    pipe_begin(&e);
    uint64_t before = sl_log_left_out();
    say_of("a", 500);
    say_of("b", 1);
    sl_log_trace("a/p");
    say_of("a", 1);
    sl_log_trace("");
    ssize_t got = read(e.end[0], captured, sizeof(captured) - 1);
    captured[got > 0 ? got : 0] = '\0';
    unsigned lines = lines_in(captured);
    bool other = strstr(captured, "pod=\"b/p\" i=0\n") != NULL;
    uint64_t then = sl_log_left_out() - before;
    clock_us += INT64_C(60000000);
    say_of("a", 2);
    got = read(e.end[0], captured, sizeof(captured) - 1);
    captured[got > 0 ? got : 0] = '\0';
    pipe_end(&e);
    assert_int_equal(lines, SL_LOG_SHARE + 2);
    assert_true(other);
    assert_int_equal(then, 500 - SL_LOG_SHARE);
    assert_non_null(strstr(captured, "pod=\"a/p\" i=0 leftOut=480\n"));
    assert_non_null(strstr(captured, "pod=\"a/p\" i=1\n"));
}

TEST_THAT(many_namespaces_have_no_more_lines_than_the_log_has_shares)
{
    struct standard_error e;
    uint64_t before = sl_log_left_out();
    pipe_begin(&e);
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "n%u", i);
        say_of(name, 2);
        (void)drained(&e);
    }
    pipe_end(&e);
    assert_int_equal(sl_log_left_out() - before, 2000 - 64 * 2 - SL_LOG_SHARE);
}

static void say(const char *message)
{
    sl_log(SL_LOG_WARN, message, (char *)NULL);
}

TEST_THAT(a_reader_that_has_stopped_stops_nobody)
{
    struct standard_error e;
    pipe_begin(&e);
    pipe_fill(e.end[1]);
    for (int i = 0; i < 100; i++) {
        say("lost");
    }
    uint64_t lost = lost_by(&e);
    (void)drained(&e);
    say("read again");
    const char *line = drained(&e);
    uint64_t lost_then = lost_by(&e);
    pipe_end(&e);
    assert_non_null(strstr(line, "read again"));
    assert_int_equal(lost, 100);
    assert_int_equal(lost_then, 100);
    assert_int_equal(waits, 1);
}

TEST_THAT(a_reader_that_is_slow_is_waited_for_once_a_minute_at_most)
{
    struct standard_error e;
    pipe_begin(&e);
    for (int i = 0; i < 10; i++) { /* it reads all, and stops again */
        pipe_fill(e.end[1]);
        say("lost");
        (void)drained(&e);
        say("read");
        clock_us += 59000000;
    }
    unsigned waited = waits;
    clock_us += 1000000; /* a minute since the last line was lost */
    pipe_fill(e.end[1]);
    say("lost");
    pipe_end(&e);
    assert_int_equal(waited, 1);
    assert_int_equal(waits, 2);
    assert_int_equal(lost_by(&e), 11);
}

TEST_THAT(a_torn_line_ends_where_the_next_begins)
{
    struct standard_error e;
    char part[4096];
    char value[1001];
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    pipe_begin(&e);
    pipe_fill(e.end[1]);
    ssize_t room = read(e.end[0], part, sizeof(part));
    sl_log(SL_LOG_WARN, "long", "a", value, "b", value, "c", value, "d", value, "e", value,
           (char *)NULL);
    say("wholly lost");
    uint64_t lost = lost_by(&e);
    (void)drained(&e);
    say("next");
    bool apart = drained(&e)[0] == '\n' && strstr(captured, "next") != NULL;
    say("whole");
    bool once = drained(&e)[0] != '\n' && strstr(captured, "whole") != NULL;
    pipe_end(&e);
    assert_int_equal(room, sizeof(part));
    assert_int_equal(lost, 2);
    assert_true(apart);
    assert_true(once);
}

TEST_THAT(a_line_that_cannot_be_written_is_counted)
{
    struct standard_error e;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    (void)signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    pipe_begin(&e);
    (void)close(e.end[0]);
    say("nobody can read it");
    uint64_t lost = lost_by(&e);
    int redirected = dup2(full, STDERR_FILENO);
    say("the disk is full");
    uint64_t lost_then = lost_by(&e);
    e.end[0] = full;
    pipe_end(&e);
    assert_true(redirected >= 0);
    assert_int_equal(lost, 1);
    assert_int_equal(lost_then, 2);
}
