/* Many independent tasks on a few threads, with progress on a terminal. Results do not depend on
 * the number of threads. */
#ifndef SLICED_SIM_CREW_H
#define SLICED_SIM_CREW_H

#include <stdbool.h>

#include "util/error.h"

enum { SL_CREW_THREADS_MAX = 256 };

struct sl_crew {
    unsigned threads;  /* 0: one per processor */
    bool progress;     /* show progress on standard error, if that is a terminal */
    const char *doing; /* "simulating", in the progress line */
};

/* Calls task for 0..n-1, each once, from several threads; an index is a place in the caller's array
 * of results. After a failure no further task begins; reports the failed task with the lowest
 * index. */
int sl_crew_run(const struct sl_crew *crew, size_t n,
                int (*task)(void *context, size_t index, struct sl_error *err), void *context,
                struct sl_error *err);

/* A task reports its own progress. Does nothing outside of a task. */
void sl_crew_part(size_t done, size_t of);

#endif
