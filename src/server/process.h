/* What the operating system says of this process, and the clocks. */
#ifndef SLICED_SERVER_PROCESS_H
#define SLICED_SERVER_PROCESS_H

#include <stdint.h>

struct sl_process {
    uint64_t resident_bytes;
    uint64_t virtual_bytes;
    uint64_t open_files;
    int64_t cpu_us;
};

/* What cannot be read stays 0. */
void sl_process_read(struct sl_process *out);

int64_t sl_clock_real_us(void);      /* Unix microseconds */
int64_t sl_clock_monotonic_ns(void); /* for durations */

#endif
