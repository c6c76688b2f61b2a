/* Reads small files whole, and base64: certificates, keys and tokens come as these. */
#ifndef SLICED_KUBE_FILE_H
#define SLICED_KUBE_FILE_H

#include "util/buf.h"
#include "util/data/arena.h"
#include "util/error.h"

/* Reads a whole file of at most max bytes into the arena, NUL-terminated. SL_ERR_NOTFOUND when
 * there is none of that name. */
int sl_file_read(const char *path, size_t max, struct sl_arena *arena, struct sl_str *out,
                 struct sl_error *err);

/* Standard base64 (RFC 4648) with padding; white space between is passed over. */
int sl_base64_decode(struct sl_str text, struct sl_arena *arena, struct sl_str *out,
                     struct sl_error *err);

/* Appends the standard base64 of data, with padding. */
void sl_base64_encode(struct sl_str data, struct sl_buf *out);

#endif
