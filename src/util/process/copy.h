/* Work in a copy of the process: it may change all that it finds, and nothing changes. The copy has
 * the thread that made it and no other, so the work must take no lock that another thread may hold;
 * allocating memory is fine. Unlike a copy that code makes of its own structures this one is never
 * incomplete. */
#ifndef SLICED_UTIL_PROCESS_COPY_H
#define SLICED_UTIL_PROCESS_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"
#include "util/process/memory.h"

enum {
    SL_COPY_MAX = 32 << 10, /* bytes of a result: what a pipe holds */
    SL_COPY_OWN = 32 << 20, /* bytes that a copy may allocate */
};

struct sl_copy {
    pid_t pid;
    int fd;
    int64_t spent_us; /* of processor time, once it has ended */
};

/* Copies the process; the copy calls work, sends size bytes of out and ends. To be called while the
 * locks are held that guard what work reads; returns at once. Nothing is open in the copy but what
 * it sends by, and beyond SL_COPY_OWN allocations in it fail. -1: the system has no process to
 * give, or the container not the memory (sl_copy_fits). */
int sl_copy_begin(struct sl_copy *copy, void (*work)(void *context, void *out), void *context,
                  void *out, size_t size, struct sl_error *err);

/* Is left, what the container may still take, enough for a copy of a process that has so much? Its
 * pages become two when either side writes to them, so each may in the worst case, and what the
 * copy allocates comes on top. -1 with *err set: it is not. */
int sl_copy_fits(const struct sl_memory *has, int64_t left, struct sl_error *err);

/* Waits limit_us at most for the result, and ends the copy. Pointers in out are the copy's: those
 * to what was there before stay good. -1: the copy took longer, or died. */
int sl_copy_end(struct sl_copy *copy, void *out, size_t size, int64_t limit_us,
                struct sl_error *err);

#endif
