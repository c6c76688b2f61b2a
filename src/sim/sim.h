/* slicesim: replays a trace or a generated workload through the scheduler's own policy, on a
 * virtual clock, and prints the outcome. */
#ifndef SLICED_SIM_SIM_H
#define SLICED_SIM_SIM_H

#include "util/buf.h"
#include "util/error.h"

enum { SL_SIM_REPORT_MAX = 1 << 30 }; /* bytes */

/* Returns the exit status: 0 done, 1 the system refused something, 2 wrong option or input. */
int sl_sim_main(int argc, char **argv);

/* The end of a program: prints the report when rc is 0, the error when it is not or when printing
 * fails. Frees out. Returns the exit status, as above. */
int sl_sim_end(const char *program, int rc, struct sl_buf *out, struct sl_error *err);

#endif
