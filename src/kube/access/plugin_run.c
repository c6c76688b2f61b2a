/* Runs a credential plugin: a child that inherits nothing but its environment, with bounds on its
 * output and its time. */
#define _GNU_SOURCE 1 /* pipe2, posix_spawn_file_actions_addclosefrom_np */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kube/access/plugin.h"
#include "util/clock.h"
#include "util/time.h"

enum { OUT, ERR, STREAMS };
/* A plugin may leave a child behind which keeps the pipes open, so its own end is looked for too */
enum { LOOK_MS = 20, WORDS_MAX = 4096, WORDS_SHOWN = 200 };

struct run {
    pid_t pid;
    int fd[STREAMS]; /* -1: at its end */
    struct sl_buf *out;
    char words[WORDS_MAX]; /* the end of its standard error */
    size_t n_words;
    int status;
    bool ended;
};

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

/* ---- starting ---- */

static int add_actions(posix_spawn_file_actions_t *actions, const int fd[STREAMS])
{
    int code = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (code == 0) {
        code = posix_spawn_file_actions_adddup2(actions, fd[OUT], STDOUT_FILENO);
    }
    if (code == 0) {
        code = posix_spawn_file_actions_adddup2(actions, fd[ERR], STDERR_FILENO);
    }
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    if (code == 0) { /* libraries may hold sockets that are not close-on-exec */
        code = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    }
#endif
#endif
    return code;
}

/* Signals as a program expects them, and a process group of its own, to be killed as a whole. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all;
    sigset_t none;
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGKILL);
    (void)sigdelset(&all, SIGSTOP);
    (void)sigemptyset(&none);
    (void)posix_spawnattr_setsigdefault(attributes, &all);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setpgroup(attributes, 0);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETPGROUP);
}

static int spawn_plugin(const struct sl_plugin *plugin, const int fd[STREAMS], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) {
        return code;
    }
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        code = add_actions(&actions, fd);
        code = code == 0 ? set_attributes(&attributes) : code;
        /* posix_spawnp does not change the text, whatever its prototype says */
        code = code == 0 ? posix_spawnp(pid, plugin->command, &actions, &attributes,
                                        (char *const *)plugin->argv, (char *const *)plugin->envp)
                         : code;
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

static int run_start(struct run *run, const struct sl_plugin *plugin, struct sl_error *err)
{
    int out[2] = {-1, -1};
    int words[2] = {-1, -1};
    int code = pipe2(out, O_CLOEXEC) < 0 || pipe2(words, O_CLOEXEC) < 0 ? errno : 0;
    if (code == 0) {
        const int fd[STREAMS] = {[OUT] = out[1], [ERR] = words[1]};
        code = spawn_plugin(plugin, fd, &run->pid);
    }
    close_fd(&out[1]);
    close_fd(&words[1]);
    run->fd[OUT] = out[0];
    run->fd[ERR] = words[0];
    if (code != 0) {
        close_fd(&run->fd[OUT]);
        close_fd(&run->fd[ERR]);
        return sl_error_set(err, SL_ERR_SYSTEM, "%s", strerror(code));
    }
    (void)fcntl(run->fd[OUT], F_SETFL, O_NONBLOCK);
    (void)fcntl(run->fd[ERR], F_SETFL, O_NONBLOCK);
    return 0;
}

/* ---- reading ---- */

static void keep_words(struct run *run, const char *data, size_t len)
{
    size_t keep = len < WORDS_MAX ? len : WORDS_MAX;
    size_t old = run->n_words + keep > WORDS_MAX ? WORDS_MAX - keep : run->n_words;
    memmove(run->words, run->words + run->n_words - old, old);
    memcpy(run->words + old, data + len - keep, keep);
    run->n_words = old + keep;
}

/* Reads until the pipe has no more for now. */
static void read_stream(struct run *run, int stream)
{
    char data[4096];
    ssize_t n = 1;
    while (run->fd[stream] >= 0 && n > 0) {
        n = read(run->fd[stream], data, sizeof(data));
        if (n > 0 && stream == OUT) {
            sl_buf_append(run->out, data, (size_t)n);
        } else if (n > 0) {
            keep_words(run, data, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close_fd(&run->fd[stream]);
        }
    }
}

static void look_for_end(struct run *run)
{
    pid_t pid = waitpid(run->pid, &run->status, WNOHANG);
    if (pid < 0) {
        run->status = 0; /* SIGCHLD is ignored in this process: nobody can know */
    }
    run->ended = pid != 0;
}

/* Reads until the plugin has ended, even if its pipes are still open. */
static int run_watch(struct run *run, int64_t timeout_us, int stop_fd, struct sl_error *err)
{
    int64_t until_us = sl_clock_monotonic_us() + timeout_us;
    while (!run->ended) {
        struct pollfd fds[] = {{.fd = stop_fd, .events = POLLIN},
                               {.fd = run->fd[OUT], .events = POLLIN},
                               {.fd = run->fd[ERR], .events = POLLIN}};
        (void)poll(fds, sizeof(fds) / sizeof(fds[0]), LOOK_MS);
        look_for_end(run); /* before reading: then all that it wrote before its end is read */
        read_stream(run, OUT);
        read_stream(run, ERR);
        if (run->out->failed != SL_BUF_OK) {
            return sl_error_set(err, SL_ERR_LIMIT, "its answer is longer than %zu bytes",
                                run->out->max);
        }
        if (fds[0].revents != 0) {
            return sl_error_set(err, SL_ERR_CONFLICT, "stopped");
        }
        if (!run->ended && sl_clock_monotonic_us() >= until_us) {
            return sl_error_set(err, SL_ERR_SYSTEM, "no answer within %lld s",
                                (long long)(timeout_us / SL_SECOND_US));
        }
    }
    return 0;
}

static void run_end(struct run *run)
{
    close_fd(&run->fd[OUT]);
    close_fd(&run->fd[ERR]);
    if (!run->ended) {
        (void)kill(-run->pid, SIGKILL);
        while (waitpid(run->pid, &run->status, 0) < 0 && errno == EINTR) {
        }
    }
}

/* Adds the end of its standard error to the message, in one line. */
static void add_words(struct run *run, struct sl_error *err)
{
    size_t n = run->n_words < WORDS_SHOWN ? run->n_words : WORDS_SHOWN;
    char *text = run->words + run->n_words - n;
    for (size_t i = 0; i < n; i++) {
        text[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    }
    while (n > 0 && text[n - 1] == ' ') {
        n--;
    }
    if (n > 0) {
        struct sl_error before = *err;
        (void)sl_error_set(err, before.code, "%s: %.*s", before.message, (int)n, text);
    }
}

int sl_plugin_run(const struct sl_plugin *plugin, int64_t timeout_us, int stop_fd,
                  struct sl_buf *out, struct sl_error *err)
{
    struct run run = {.fd = {-1, -1}, .out = out};
    struct sl_error why = {.code = SL_ERR_NONE};
    int result = run_start(&run, plugin, &why);
    if (result == 0) {
        result = run_watch(&run, timeout_us, stop_fd, &why);
        run_end(&run);
        if (result == 0 && WIFSIGNALED(run.status)) {
            result = sl_error_set(&why, SL_ERR_SYSTEM, "ended by signal %d", WTERMSIG(run.status));
        } else if (result == 0 && WEXITSTATUS(run.status) != 0) {
            result = sl_error_set(&why, SL_ERR_SYSTEM, "exit status %d", WEXITSTATUS(run.status));
        }
        if (result < 0) {
            add_words(&run, &why);
        }
    }
    if (result < 0) {
        (void)sl_error_set(err, why.code, "%s", why.message);
    }
    return result;
}
