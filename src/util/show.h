/* Users' text for people: what a terminal would obey or hide, or would set in another order than it
 * stands, is escaped, so that no label, reason or message can forge what is shown beside it. The
 * one place that says which characters these are; tables, logs, Events, errors and JSON all use it.
 */
#ifndef SLICED_UTIL_SHOW_H
#define SLICED_UTIL_SHOW_H

#include "util/str.h"

enum { SL_SHOWN_MAX = 12 };

/* Takes the first character off *rest (which is not empty) and writes how it is shown: itself; \u
 * and four hexadecimal digits, as in JSON (two of them beyond U+FFFF), for a control character, a
 * mark of direction, or one that takes no place; U+FFFD for a byte that is no UTF-8. Returns its
 * length. */
size_t sl_show_next(struct sl_str *rest, char out[SL_SHOWN_MAX]);

/* The whole text into out[0..size), NUL-terminated, cut between characters. Returns its length.
 * size is not 0. */
size_t sl_show(struct sl_str text, char *out, size_t size);

#endif
