/* Reads small files whole: certificates, keys and tokens come as these. */
#ifndef SLICED_KUBE_FILE_H
#define SLICED_KUBE_FILE_H

#include "util/buf.h"
#include "util/data/arena.h"
#include "util/error.h"

/* Reads a whole file of at most max bytes into the arena, NUL-terminated. SL_ERR_NOTFOUND when
 * there is none of that name. */
int sl_file_read(const char *path, size_t max, struct sl_arena *arena, struct sl_str *out,
                 struct sl_error *err);

#endif
