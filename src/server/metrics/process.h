/* This process, as the operating system counts it. */
#ifndef SLICED_SERVER_METRICS_PROCESS_H
#define SLICED_SERVER_METRICS_PROCESS_H

#include <stdint.h>

struct sl_process {
    uint64_t resident_bytes;
    uint64_t virtual_bytes;
    uint64_t open_files;
    uint64_t max_files;
    int64_t cpu_us;
    uint64_t failed_checks; /* util/check.h */
    uint64_t lost_lines;    /* of the log */
    uint64_t lines_left_out;
};

/* Leaves 0 in what cannot be read. */
void sl_process_read(struct sl_process *out);

#endif
