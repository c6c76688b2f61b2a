/* The server of the benchmarks' stand-ins: the daemon's own, with the same options. */
#ifndef SLICED_BENCH_SERVE_H
#define SLICED_BENCH_SERVE_H

#include "server/net/server.h"

/* Serves on a free port, which it prints, until the input ends. Returns the program's exit status.
 */
int bench_serve(const char *program, const struct sl_server_calls *calls);

#endif
