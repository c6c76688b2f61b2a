/* A server as a child process: started, asked by the system what it takes, stopped. */
#ifndef SLICED_BENCH_SERVER_PROCESS_H
#define SLICED_BENCH_SERVER_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct bench_server {
    pid_t pid;
    int in;  /* its standard input: a server that reads it ends when this is closed */
    int out; /* its standard output */
    unsigned port;
};

/* Starts argv[0] and waits for the line with the address where it listens. Ends the program when
 * that does not come within five minutes. */
void bench_server_start(struct bench_server *server, char *const argv[]);
void bench_server_stop(struct bench_server *server);

/* CPU time of all its threads so far. */
uint64_t bench_server_cpu_ns(const struct bench_server *server);

/* A line of /proc/PID/status in KiB ("VmRSS", "VmHWM"); 0 when there is none. */
long bench_server_memory_kib(const struct bench_server *server, const char *name);

/* Begins VmHWM anew; -1 when the system cannot. */
int bench_server_reset_peak(const struct bench_server *server);

#endif
