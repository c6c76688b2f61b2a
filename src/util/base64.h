/* Standard base64 (RFC 4648), in which JSON carries bytes. */
#ifndef SLICED_UTIL_BASE64_H
#define SLICED_UTIL_BASE64_H

#include "util/buf.h"
#include "util/data/arena.h"
#include "util/error.h"

/* Needs the padding; white space between is passed over. NUL-terminated. */
int sl_base64_decode(struct sl_str text, struct sl_arena *arena, struct sl_str *out,
                     struct sl_error *err);

/* Appends the base64 of data, with padding. */
void sl_base64_encode(struct sl_str data, struct sl_buf *out);

#endif
