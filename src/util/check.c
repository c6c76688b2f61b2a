/* Checks of what the program itself guarantees. */
#include "util/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic uint64_t failed;
static void (*teller)(const char *what, const char *file, int line);

void sl_check_failed(const char *what, const char *file, int line)
{
    bool first = atomic_fetch_add(&failed, 1) == 0;
#ifdef SL_CHECKS_STOP
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
#endif
    if (first && teller != NULL) {
        teller(what, file, line);
    }
}

uint64_t sl_checks_failed(void)
{
    return atomic_load(&failed);
}

void sl_checks_tell(void (*tell)(const char *what, const char *file, int line))
{
    teller = tell;
}
