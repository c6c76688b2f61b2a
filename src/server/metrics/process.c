/* Reads /proc/self, and the process's own counts. */
#include "server/metrics/process.h"

#include <dirent.h>
#include <string.h>
#include <time.h>

#include "util/check.h"
#include "util/log.h"
#include "util/process/files.h"
#include "util/process/memory.h"
#include "util/time.h"

static void read_memory(struct sl_process *out)
{
    struct sl_memory memory;
    sl_memory_read(&memory);
    out->virtual_bytes = (uint64_t)memory.virtual;
    out->resident_bytes = (uint64_t)memory.resident;
}

static void read_files(struct sl_process *out)
{
    out->max_files = (uint64_t)sl_files_max();
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL) {
        return;
    }
    uint64_t n = 0;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        n += entry->d_name[0] != '.' ? 1 : 0;
    }
    out->open_files = n > 0 ? n - 1 : 0; /* without the folder itself */
    (void)closedir(dir);
}

void sl_process_read(struct sl_process *out)
{
    memset(out, 0, sizeof(*out));
    read_memory(out);
    read_files(out);
    out->failed_checks = sl_checks_failed();
    out->lost_lines = sl_log_lost();
    out->lines_left_out = sl_log_left_out();
    struct timespec cpu;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0) {
        out->cpu_us = cpu.tv_sec * SL_SECOND_US + cpu.tv_nsec / SL_US_NS;
    }
}
