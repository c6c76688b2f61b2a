/* Checks of what the program itself guarantees, never of what users or servers send. Builds for
 * development, sanitizers and fuzzing stop where one fails; a release counts it, says so in the
 * log, the first time alone, and goes on. */
#ifndef SLICED_UTIL_CHECK_H
#define SLICED_UTIL_CHECK_H

#include <stdint.h>

#define SL_CHECK(holds) ((holds) ? (void)0 : sl_check_failed(#holds, __FILE__, __LINE__))

/* Members and statements that checks alone need: a release build leaves them out. */
#ifdef SL_CHECKS_STOP
#define SL_CHECKED(...) __VA_ARGS__
#else
#define SL_CHECKED(...)
#endif

void sl_check_failed(const char *what, const char *file, int line);

/* How many have failed in this process. Any thread. */
uint64_t sl_checks_failed(void);

#endif
