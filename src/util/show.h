/* Users' text for people. Escapes every character that a terminal would obey, hide, or set in
 * another order, so that no label, reason or message can forge its surroundings. Tables, logs,
 * Events, errors and JSON all use this one list of characters. */
#ifndef SLICED_UTIL_SHOW_H
#define SLICED_UTIL_SHOW_H

#include "util/str.h"

enum { SL_SHOWN_MAX = 12 };

/* Takes the first character off *rest, which is not empty, and writes how it is shown: as itself;
 * as \u and four hexadecimal digits, twice beyond U+FFFF, when it is a control character, a mark of
 * direction, or has no width; as U+FFFD when it is no UTF-8. Returns the length written. */
size_t sl_show_next(struct sl_str *rest, char out[SL_SHOWN_MAX]);

/* Writes the whole text into out[0..size), NUL-terminated, cut between characters. Returns its
 * length. size is not 0. */
size_t sl_show(struct sl_str text, char *out, size_t size);

#endif
