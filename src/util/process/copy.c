/* Forks, and reads what the child has found out. */
#define _GNU_SOURCE 1 /* pipe2, close_range, dirfd */

#include "util/process/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/time.h"

enum { CPU_SECONDS = 30 /* of a copy whose parent died before it could end it */ };

/* ---- in the copy ---- */

/* False: the kernel (before 5.9) or the C library cannot. */
static bool close_ranges(int fd)
{
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    return (fd == 0 || close_range(0, (unsigned)fd - 1, 0) == 0) &&
           close_range((unsigned)fd + 1, ~0U, 0) == 0;
#endif
#endif
    (void)fd;
    return false;
}

/* Lets go of connections, which would else stay open as long as the copy lives. */
static void close_others(int fd)
{
    DIR *dir = close_ranges(fd) ? NULL : opendir("/proc/self/fd");
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        long each = strtol(entry->d_name, NULL, 10); /* "." reads as 0 */
        if (each != fd && each != dirfd(dir)) {
            (void)close((int)each);
        }
    }
    (void)closedir(dir);
}

_Noreturn static void copy_work(int fd, const struct sl_memory *has,
                                void (*work)(void *context, void *out), void *context, void *out,
                                size_t size)
{
    const struct rlimit cpu = {.rlim_cur = CPU_SECONDS, .rlim_max = CPU_SECONDS};
    const rlim_t most = (rlim_t)has->data + SL_COPY_OWN;
    const struct rlimit data = {.rlim_cur = most, .rlim_max = most};
    (void)setrlimit(RLIMIT_CPU, &cpu);
    (void)setrlimit(RLIMIT_DATA, &data);
    close_others(fd);
    work(context, out);
    /* no exit handlers: they are the daemon's */
    _exit(write(fd, out, size) == (ssize_t)size ? 0 : 1);
}

/* ---- in the process ---- */

int sl_copy_fits(const struct sl_memory *has, int64_t left, struct sl_error *err)
{
    int64_t most = has->anonymous + SL_COPY_OWN;
    return most <= left
               ? 0
               : sl_error_set(err, SL_ERR_SYSTEM,
                              "a copy of the process may take %lld MiB, its container has %lld MiB "
                              "left: raise its memory limit",
                              (long long)(most >> 20), (long long)(left >> 20));
}

int sl_copy_begin(struct sl_copy *copy, void (*work)(void *context, void *out), void *context,
                  void *out, size_t size, struct sl_error *err)
{
    int fd[2] = {-1, -1};
    struct sl_memory has;
    if (size > SL_COPY_MAX) {
        return sl_error_set(err, SL_ERR_INTERNAL, "a result of %zu bytes", size);
    }
    sl_memory_read(&has);
    if (sl_copy_fits(&has, sl_memory_left(SL_CGROUPS), err) < 0) {
        return -1;
    }
    if (pipe2(fd, O_CLOEXEC) < 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "no pipe for a copy: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        copy_work(fd[1], &has, work, context, out, size);
    }
    int code = errno;
    (void)close(fd[1]);
    if (pid < 0) {
        (void)close(fd[0]);
        return sl_error_set(err, SL_ERR_SYSTEM, "no process for a copy: %s", strerror(code));
    }
    *copy = (struct sl_copy){.pid = pid, .fd = fd[0]};
    return 0;
}

/* Reads the whole result. False: it did not come in time, or not as a whole. */
static bool read_result(int fd, char *out, size_t size, int64_t until_us)
{
    size_t len = 0;
    while (len < size) {
        int64_t left_ms = (until_us - sl_clock_monotonic_us()) / SL_MS_US;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int ready = left_ms > 0 ? poll(&wait, 1, (int)left_ms) : 0;
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        ssize_t n = ready > 0 ? read(fd, out + len, size - len) : 0;
        if (n <= 0) {
            return false;
        }
        len += (size_t)n;
    }
    return true;
}

int sl_copy_end(struct sl_copy *copy, void *out, size_t size, int64_t limit_us,
                struct sl_error *err)
{
    int status = 0;
    struct rusage usage = {0};
    bool whole = read_result(copy->fd, out, size, sl_clock_monotonic_us() + limit_us);
    (void)close(copy->fd);
    (void)kill(copy->pid, SIGKILL); /* it has nothing more to do */
    while (wait4(copy->pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    copy->spent_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SL_SECOND_US +
                     usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    if (!whole && WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
        return sl_error_set(err, SL_ERR_INTERNAL, "the copy died of signal %d", WTERMSIG(status));
    }
    return whole ? 0
                 : sl_error_set(err, SL_ERR_SYSTEM, "the copy gave no answer within %lld ms",
                                (long long)(limit_us / SL_MS_US));
}
