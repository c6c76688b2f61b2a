/* Log lines on standard error, as text or JSON, one write() each up to PIPE_BUF bytes. Thread safe.
 * A line waits up to a second for a reader that is slow. After a wait in vain no line waits until
 * there was room for a minute: what finds none is lost. */
#ifndef SLICED_UTIL_LOG_H
#define SLICED_UTIL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/str.h"

enum { SL_LOG_POD_BYTES = 320 }; /* a namespace of 63, '/', a name of 253 */

enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARN, SL_LOG_INFO, SL_LOG_DEBUG };

/* Sets the least important level that is written, and the form. May be called again (SIGHUP). */
void sl_log_configure(enum sl_log_level level, bool json);

/* Sets the pod, "namespace/name", whose lines are all written, whatever their level; empty: none.
 * May be called again. */
void sl_log_trace(const char *pod);

/* message is a short constant sentence; the rest is pairs of (const char *key, const char *value)
 * closed by NULL. A key that begins with '#' has a number: sl_log(SL_LOG_INFO, "node cut", "node",
 * name, "#seconds", SL_LOG_NUMBER(seconds), (char *)NULL). */
#define SL_LOG_NUMBER(number) ((int64_t)(number))
void sl_log(enum sl_log_level level, const char *message, ...) __attribute__((sentinel));

/* The same of one pod: pod="namespace/name" is the first pair. */
void sl_log_pod(enum sl_log_level level, struct sl_str namespace, struct sl_str name,
                const char *message, ...) __attribute__((sentinel));

/* The same of what a pod's owner can bring about as often as he likes. In a minute a namespace has
 * SL_LOG_SHARE such lines, and those that come when 64 others have lines have as many together. The
 * next line of the namespace has the number of those left out before it (leftOut). The pod whose
 * lines are all written has no share. */
enum { SL_LOG_SHARE = 20 };
void sl_log_pod_share(enum sl_log_level level, struct sl_str namespace, struct sl_str name,
                      const char *message, ...) __attribute__((sentinel));

/* Lines left out so far because a namespace had its share. */
uint64_t sl_log_left_out(void);

/* Lines that could not be written so far, wholly or in part: nobody read standard error, or the
 * write failed. */
uint64_t sl_log_lost(void);

/* Would sl_log_pod write? For callers who must do work for what they say. */
bool sl_log_pod_on(enum sl_log_level level, struct sl_str namespace, struct sl_str name);

#endif
