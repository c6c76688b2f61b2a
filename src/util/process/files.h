/* How many files and sockets the process may have open. */
#ifndef SLICED_UTIL_PROCESS_FILES_H
#define SLICED_UTIL_PROCESS_FILES_H

#include <stdint.h>

/* Raises the limit as far as the process itself may: from the soft one to the hard one. */
void sl_files_raise(void);

/* INT64_MAX: there is no limit, or the kernel does not tell it. */
int64_t sl_files_max(void);

#endif
