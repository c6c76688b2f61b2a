/* Errors in the form of Kubernetes' Status, which its clients understand. */
#ifndef SLICED_CODEC_STATUS_H
#define SLICED_CODEC_STATUS_H

#include "codec/write.h"
#include "util/error.h"

/* The HTTP status that goes with an error. */
unsigned sl_status_code(enum sl_error_code code);

/* The metav1.StatusReason of an HTTP status: "BadRequest", "NotFound", ... */
const char *sl_status_reason(unsigned code);

/* Writes a Status whose one cause is the error's place. verb adds the key Error with the same text,
 * where the extender's results have it. */
void sl_status_write(struct sl_buf *out, unsigned code, const struct sl_error *err, bool verb);

#endif
