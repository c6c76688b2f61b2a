/* Checks of what the program itself guarantees, never of what users or servers send. Builds for
 * development, sanitizers and fuzzing stop where one fails; a release counts it, says so once in
 * the log, and goes on. */
#ifndef SLICED_UTIL_CHECK_H
#define SLICED_UTIL_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define SL_CHECK(holds) ((holds) ? (void)0 : sl_check_failed(#holds, __FILE__, __LINE__))

void sl_check_failed(const char *what, const char *file, int line);

/* How many have failed. Any thread. */
uint64_t sl_checks_failed(void);

/* Has failures told, the first of the process alone; before other threads are. tell must not fail a
 * check. NULL: nobody is told. */
void sl_checks_tell(void (*tell)(const char *what, const char *file, int line));

#endif
