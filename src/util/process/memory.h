/* What memory the process has, and what its container has left, as the kernel tells it. */
#ifndef SLICED_UTIL_PROCESS_MEMORY_H
#define SLICED_UTIL_PROCESS_MEMORY_H

#include <stdint.h>

#define SL_CGROUPS "/sys/fs/cgroup"

/* Bytes; 0: the kernel does not tell. */
struct sl_memory {
    int64_t virtual;
    int64_t resident;
    int64_t anonymous; /* resident, and no file's: what a copy of the process may come to double */
    int64_t data;      /* writable and private: what RLIMIT_DATA counts, and the stack */
};

void sl_memory_read(struct sl_memory *out);

/* Bytes that the container may still take, with what the kernel can drop of files in memory, by the
 * files of its control group in that folder, of version 2 or 1. INT64_MAX: no limit is known. */
int64_t sl_memory_left(const char *cgroups);

#endif
