/* Work in a copy of the process. */
#define _GNU_SOURCE 1 /* MAP_ANONYMOUS, syscall numbers */
#include <stdio.h>
#include <stdlib.h>

#include "unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/process/copy.h"
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

TEST_THAT(what_a_copy_changes_stays_as_it_was)
{
    char text[] = "seen";
    struct result result = {0};
    struct sl_copy copy;
    struct sl_error err = {0};
    assert_int_equal(sl_copy_begin(&copy, change_number, text, &result, sizeof(result), &err), 0);
    text[0] = 'x';
    assert_int_equal(sl_copy_end(&copy, &result, sizeof(result), SL_MINUTE_US, &err), 0);
    assert_int_equal(result.number, 42);
    assert_string_equal(result.text, "seen");
    assert_int_equal(number, 1);
}

static void work_for_long(void *context, void *out)
{
    (void)context;
    (void)out;
    while (clock() < CLOCKS_PER_SEC / 20) {
    }
}

TEST_THAT(a_copy_is_told_to_have_spent_what_it_worked)
{
    struct result result = {0};
    struct sl_copy copy;
    struct sl_error err = {0};
    assert_int_equal(sl_copy_begin(&copy, work_for_long, NULL, &result, sizeof(result), &err), 0);
    assert_int_equal(sl_copy_end(&copy, &result, sizeof(result), SL_MINUTE_US, &err), 0);
    assert_true(copy.spent_us >= 30 * SL_MS_US); /* by ticks, at the worst */
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

TEST_THAT(a_copy_that_takes_too_long_or_dies_gives_no_answer)
{
    struct result result = {0};
    struct sl_copy copy;
    struct sl_error err = {0};
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

static void keeps_nothing_open(void)
{
    struct result result = {0};
    struct sl_copy copy;
    struct sl_error err = {0};
    int fd[2] = {open("/dev/null", O_RDONLY), -1};
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

TEST_THAT(a_copy_keeps_nothing_open)
{
    keeps_nothing_open();
}

/* Straight from the kernel, as an allocator's own reserves are not counted here. */
static void take_memory(void *context, void *out)
{
    struct result *result = out;
    (void)context;
    while (result->number < 4096 && mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
        result->number++;
    }
}

TEST_THAT(a_copy_gets_no_more_memory_than_it_may)
{
    struct result result = {0};
    struct sl_copy copy;
    struct sl_error err = {0};
    assert_int_equal(sl_copy_begin(&copy, take_memory, NULL, &result, sizeof(result), &err), 0);
    assert_int_equal(sl_copy_end(&copy, &result, sizeof(result), SL_MINUTE_US, &err), 0);
    assert_true(result.number > 0);
    assert_true(result.number <= (SL_COPY_OWN >> 20));
}

TEST_THAT(no_copy_is_made_for_which_the_container_has_no_memory)
{
    const struct sl_memory has = {.anonymous = 40 << 20};
    struct sl_error err = {0};
    assert_int_equal(sl_copy_fits(&has, INT64_MAX, &err), 0);
    assert_int_equal(sl_copy_fits(&has, 72 << 20, &err), 0);
    assert_int_equal(sl_copy_fits(&has, (72 << 20) - 1, &err), -1);
    assert_int_equal(err.code, SL_ERR_SYSTEM);
    assert_string_equal(err.message, "a copy of the process may take 72 MiB, its container has 71 "
                                     "MiB left: raise its memory limit");
}

TEST_THAT(a_result_beyond_a_pipe_is_refused)
{
    struct sl_copy copy;
    struct sl_error err = {0};
    assert_int_equal(sl_copy_begin(&copy, die, NULL, NULL, SL_COPY_MAX + 1, &err), -1);
    assert_int_equal(err.code, SL_ERR_INTERNAL);
}

static void close_range_take_away(void)
{
#ifdef SYS_close_range
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        print_message("this system takes no filter of system calls\n");
        skip();
    }
#endif
}

/* For the rest of this program, which is why it is the last test. */
TEST_THAT(an_older_kernel_lets_it_keep_nothing_open_either)
{
    close_range_take_away();
    keeps_nothing_open();
}
