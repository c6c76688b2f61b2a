/* RLIMIT_NOFILE. */
#include "util/process/files.h"

#include <stdbool.h>
#include <sys/resource.h>

void sl_files_raise(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

int64_t sl_files_max(void)
{
    struct rlimit files;
    bool known = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY;
    return known && files.rlim_cur < INT64_MAX ? (int64_t)files.rlim_cur : INT64_MAX;
}
