/* Child processes and what /proc says of them. */
#include "server_process.h"

#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READY_MS = 300000, LINE_MAX_BYTES = 512 };

/* The port in the first "http://HOST:PORT" that the server prints. */
static unsigned read_port(struct bench_server *server)
{
    char line[LINE_MAX_BYTES] = "";
    size_t len = 0;
    while (len + 1 < sizeof(line) && strchr(line, '\n') == NULL) {
        struct pollfd ready = {.fd = server->out, .events = POLLIN};
        if (poll(&ready, 1, READY_MS) <= 0) {
            return 0;
        }
        ssize_t n = read(server->out, line + len, sizeof(line) - 1 - len);
        if (n <= 0) {
            return 0;
        }
        len += (size_t)n;
        line[len] = '\0';
    }
    const char *url = strstr(line, "http://");
    const char *colon = url == NULL ? NULL : strchr(url + strlen("http://"), ':');
    return colon == NULL ? 0 : (unsigned)strtoul(colon + 1, NULL, 10);
}

static void run_child(char *const argv[], int in, int out)
{
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) {
        _exit(126);
    }
    (void)execv(argv[0], argv);
    _exit(127);
}

void bench_server_start(struct bench_server *server, char *const argv[])
{
    int in[2];
    int out[2];
    if (pipe(in) != 0 || pipe(out) != 0) {
        bench_die("cannot make a pipe");
    }
    /* the parent's ends must not live on in children */
    (void)fcntl(in[1], F_SETFD, FD_CLOEXEC);
    (void)fcntl(out[0], F_SETFD, FD_CLOEXEC);
    (void)fflush(stdout);
    server->pid = fork();
    if (server->pid < 0) {
        bench_die("cannot start %s", argv[0]);
    }
    if (server->pid == 0) {
        run_child(argv, in[0], out[1]);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    server->in = in[1];
    server->out = out[0];
    server->port = read_port(server);
    if (server->port == 0) {
        bench_server_stop(server);
        bench_die("%s did not say where it listens", argv[0]);
    }
}

void bench_server_stop(struct bench_server *server)
{
    (void)close(server->in);
    (void)kill(server->pid, SIGTERM);
    (void)waitpid(server->pid, NULL, 0);
    (void)close(server->out);
}

static uint64_t task_cpu_ns(pid_t pid, const char *task)
{
    char path[320];
    uint64_t ns = 0;
    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%s/schedstat", (long)pid, task);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%" SCNu64, &ns) != 1) { // NOLINT(cert-err34-c)
            ns = 0;
        }
        (void)fclose(file);
    }
    return ns;
}

uint64_t bench_server_cpu_ns(const struct bench_server *server)
{
    char path[64];
    uint64_t sum = 0;
    (void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)server->pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL) {
        return 0;
    }
    for (const struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
        if (entry->d_name[0] != '.') {
            sum += task_cpu_ns(server->pid, entry->d_name);
        }
    }
    (void)closedir(tasks);
    return sum;
}

long bench_server_memory_kib(const struct bench_server *server, const char *name)
{
    char path[64];
    char line[256];
    long kib = 0;
    size_t len = strlen(name);
    (void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)server->pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, len) == 0 && line[len] == ':') {
            kib = strtol(line + len + 1, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

int bench_server_reset_peak(const struct bench_server *server)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%ld/clear_refs", (long)server->pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t n = write(fd, "5", 1); /* proc(5): resets the peak resident set size */
    (void)close(fd);
    return n == 1 ? 0 : -1;
}
