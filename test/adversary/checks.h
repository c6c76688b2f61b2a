/* What must hold. */
#ifndef SLICED_ADVERSARY_CHECKS_H
#define SLICED_ADVERSARY_CHECKS_H

#include <stddef.h>

struct rig;

/* Prints what is wrong, the end of the log and how to repeat it, and ends the process. */
void check_failed(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Printed with it. */
void check_context(const char *text);
/* Where which check it was is told to, as a number that is the same in every run of this process's
 * children; -1: nowhere. */
void check_tell(int fd);

/* No control characters: what a terminal would obey. NULL is allowed. */
void check_words(const char *what, const char *text);
void check_lines(const char *what, const char *text, size_t len); /* '\n' is allowed */

/* The daemon has been told all, and has done all: what it answers agrees with the account. */
void check_all(struct rig *rig);

#endif
