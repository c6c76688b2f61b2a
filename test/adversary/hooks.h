/* What the linker sends here instead of to the C library or to a part of the daemon: memory is
 * counted, the log is read, and nothing depends on addresses or on chance. */
#ifndef SLICED_ADVERSARY_HOOKS_H
#define SLICED_ADVERSARY_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_queue_worker;

void hooks_begin(uint64_t seed, bool threads);
bool hooks_threads(void);
/* Lets other threads go on. */
void hooks_nap(void);
struct sl_queue_worker *hooks_worker(void); /* that was started last */
/* What was logged last, for a failure. */
void hooks_print_log(void);
void hooks_print(const char *text); /* to the real standard error */

#endif
