/* Checks of the program itself, as a release has them, whatever this build is: its check.c is
 * compiled here and takes the place of the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#undef SL_CHECKS_STOP
#include "util/check.c" // NOLINT(bugprone-suspicious-include)

static void fail_checks(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        SL_CHECK(n < i);
        SL_CHECK(i < n); /* holds */
    }
}

/* What is written to standard error meanwhile. */
static const char *said_while_failing(size_t n, char *text, size_t size)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    assert_true(file != NULL && saved >= 0);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    fail_checks(n);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    ssize_t len = pread(fileno(file), text, size - 1, 0);
    assert_true(len >= 0);
    text[len] = '\0';
    (void)close(saved);
    (void)fclose(file);
    return text;
}

static void test_a_failed_check_goes_on_is_counted_and_said_once(void **state)
{
    (void)state;
    char text[1024];
    assert_int_equal(sl_checks_failed(), 0);
    (void)said_while_failing(3, text, sizeof(text));
    assert_int_equal(sl_checks_failed(), 3);
    assert_non_null(
        strstr(text, " error \"a check of the program itself failed\" condition=\"n < i\""));
    assert_non_null(strstr(text, "test_check.c\" line="));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_string_equal(said_while_failing(2, text, sizeof(text)), "");
    assert_int_equal(sl_checks_failed(), 5);
}

static void test_a_file_is_named_as_in_the_repository(void **state)
{
    (void)state;
    assert_string_equal(without_checkout("/usr/src/sliced/src/core/plan/audit.c"),
                        "src/core/plan/audit.c");
    assert_string_equal(without_checkout("../../src/util/log.c"), "src/util/log.c");
    assert_string_equal(without_checkout("audit.c"), "audit.c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_check_goes_on_is_counted_and_said_once),
        cmocka_unit_test(test_a_file_is_named_as_in_the_repository),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
