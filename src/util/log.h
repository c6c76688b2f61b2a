/* Log lines on standard error, as text or JSON, one write() each. Thread safe. */
#ifndef SLICED_UTIL_LOG_H
#define SLICED_UTIL_LOG_H

#include <stdbool.h>

enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARN, SL_LOG_INFO, SL_LOG_DEBUG };

/* Sets the least important level that is written, and the form. May be called again (SIGHUP). */
void sl_log_configure(enum sl_log_level level, bool json);

/* message is a short constant sentence; the rest is pairs of (const char *key, const char *value)
 * closed by NULL: sl_log(SL_LOG_INFO, "pod bound", "pod", name, "node", node, (char *)NULL). */
void sl_log(enum sl_log_level level, const char *message, ...) __attribute__((sentinel));

#endif
