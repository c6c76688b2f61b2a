/* Work in a copy of the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "util/copy.h"
#include "util/time.h"

static int number = 1;

struct result {
    int number;
    char text[64];
};

static void change_number(void *context, void *out)
{
    struct result *result = out;
    const char *text = context;
    number += 41;
    char *own = malloc(64);
    (void)snprintf(own, 64, "%s", text);
    result->number = number;
    (void)snprintf(result->text, sizeof(result->text), "%s", own);
    free(own);
}

static void what_a_copy_changes_stays_as_it_was(void **state)
{
    char text[] = "seen";
    struct result result = {0};
    struct sl_copy copy;
    struct sl_error err = {0};
    (void)state;
    assert_int_equal(sl_copy_begin(&copy, change_number, text, &result, sizeof(result), &err), 0);
    text[0] = 'x';
    assert_int_equal(sl_copy_end(&copy, &result, sizeof(result), SL_MINUTE_US, &err), 0);
    assert_int_equal(result.number, 42);
    assert_string_equal(result.text, "seen");
    assert_int_equal(number, 1);
}

static void wait_for_ever(void *context, void *out)
{
    (void)context;
    (void)out;
    while (true) {
        (void)pause();
    }
}

static void die(void *context, void *out)
{
    (void)context;
    (void)out;
    (void)raise(SIGKILL);
}

static void crash(void *context, void *out)
{
    (void)context;
    (void)out;
    (void)raise(SIGTERM);
}

static void a_copy_that_takes_too_long_or_dies_gives_no_answer(void **state)
{
    struct result result = {0};
    struct sl_copy copy;
    struct sl_error err = {0};
    (void)state;
    assert_int_equal(sl_copy_begin(&copy, wait_for_ever, NULL, &result, sizeof(result), &err), 0);
    assert_int_equal(sl_copy_end(&copy, &result, sizeof(result), 10 * SL_MS_US, &err), -1);
    assert_int_equal(err.code, SL_ERR_SYSTEM);
    assert_int_equal(sl_copy_begin(&copy, die, NULL, &result, sizeof(result), &err), 0);
    assert_int_equal(sl_copy_end(&copy, &result, sizeof(result), SL_MINUTE_US, &err), -1);
    assert_int_equal(sl_copy_begin(&copy, crash, NULL, &result, sizeof(result), &err), 0);
    assert_int_equal(sl_copy_end(&copy, &result, sizeof(result), SL_MINUTE_US, &err), -1);
    assert_string_equal(err.message, "the copy died of signal 15");
}

/* A connection that a copy kept open would not end for its peer. */
static void look_at_file(void *context, void *out)
{
    struct result *result = out;
    result->number = fcntl(*(const int *)context, F_GETFD);
}

static void a_copy_keeps_nothing_open(void **state)
{
    struct result result = {0};
    struct sl_copy copy;
    struct sl_error err = {0};
    int fd[2] = {open("/dev/null", O_RDONLY), -1};
    (void)state;
    fd[1] = fcntl(fd[0], F_DUPFD, 100);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(fd[i] >= 0);
        assert_int_equal(sl_copy_begin(&copy, look_at_file, &fd[i], &result, sizeof(result), &err),
                         0);
        assert_int_equal(sl_copy_end(&copy, &result, sizeof(result), SL_MINUTE_US, &err), 0);
        assert_int_equal(result.number, -1);
        assert_true(fcntl(fd[i], F_GETFD) >= 0);
    }
    (void)close(fd[0]);
    (void)close(fd[1]);
}

static void a_result_beyond_a_pipe_is_refused(void **state)
{
    struct sl_copy copy;
    struct sl_error err = {0};
    (void)state;
    assert_int_equal(sl_copy_begin(&copy, die, NULL, NULL, SL_COPY_MAX + 1, &err), -1);
    assert_int_equal(err.code, SL_ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_copy_changes_stays_as_it_was),
        cmocka_unit_test(a_copy_that_takes_too_long_or_dies_gives_no_answer),
        cmocka_unit_test(a_copy_keeps_nothing_open),
        cmocka_unit_test(a_result_beyond_a_pipe_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
