/* Reads files whole. */
#ifndef SLICED_UTIL_PROCESS_FILE_H
#define SLICED_UTIL_PROCESS_FILE_H

#include "util/buf.h"
#include "util/error.h"

/* Appends a file, NULL: standard input, to an empty buffer, whose maximum is one byte more than the
 * file may have. SL_ERR_NOTFOUND when there is none of that name. The message does not name it. */
int sl_file_load(const char *path, struct sl_buf *out, struct sl_error *err);

#endif
