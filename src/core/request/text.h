/* Sentences built by appends into the caller's memory. Text that does not fit is cut between
 * characters, never inside one. No allocation, no locale. */
#ifndef SLICED_CORE_TEXT_H
#define SLICED_CORE_TEXT_H

#include "util/str.h"

struct sl_text {
    char *out;
    size_t size; /* of out, with the closing NUL */
    size_t len;
    bool cut; /* something did not fit; later appends do nothing */
};

/* Begins an empty text in out[0..size), and keeps it NUL-terminated when size > 0. */
void sl_text_init(struct sl_text *text, char *out, size_t size);
void sl_text_add(struct sl_text *text, struct sl_str piece);
void sl_text_puts(struct sl_text *text, const char *piece);
void sl_text_i64(struct sl_text *text, int64_t value);
/* Begins the next sentence, behind "; " when there is one. */
void sl_text_next(struct sl_text *text, const char *start);

/* Appends "4m10s", "2h5m", "3d4h": two units at most, rounded up to what they show. */
void sl_text_duration(struct sl_text *text, int64_t us);

/* Appends text that users wrote, escaped by sl_show(). */
void sl_text_shown(struct sl_text *text, struct sl_str piece);

/* Appends text that users wrote in double quotes; beyond SL_TEXT_QUOTED_MAX bytes it ends in "...".
 */
enum { SL_TEXT_QUOTED_MAX = 64 };
void sl_text_quoted(struct sl_text *text, struct sl_str piece);

#endif
