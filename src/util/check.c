/* Checks of what the program itself guarantees. */
#include "util/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

static _Atomic uint64_t failed;

#ifndef SL_CHECKS_STOP
/* The path in the repository, wherever it was when it was compiled. */
static const char *without_checkout(const char *file)
{
    const char *from = file;
    for (const char *at = strstr(file, "src/"); at != NULL; at = strstr(at + 1, "src/")) {
        from = at;
    }
    return from;
}
#endif

void sl_check_failed(const char *what, const char *file, int line)
{
#ifdef SL_CHECKS_STOP
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
#else
    if (atomic_fetch_add(&failed, 1) == 0) {
        sl_log(SL_LOG_ERROR, "a check of the program itself failed", "condition", what, "file",
               without_checkout(file), "#line", SL_LOG_NUMBER(line), (char *)NULL);
    }
#endif
}

uint64_t sl_checks_failed(void)
{
    return atomic_load(&failed);
}
