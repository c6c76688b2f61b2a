/* Errors of the API in Kubernetes' Status form, so that clients that know that form understand. */
#ifndef SLICED_SERVER_STATUS_H
#define SLICED_SERVER_STATUS_H

#include "server/request.h"

/* The HTTP status that goes with an error. */
unsigned sl_status_code(enum sl_error_code code);

/* "BadRequest", "NotFound", ... as Kubernetes' metav1.StatusReason. */
const char *sl_status_reason(unsigned code);

/* "field: message (line 1, column 7)", what a person reads. */
void sl_status_text(const struct sl_error *err, char *out, size_t size);

/* A Status with the error's place as its one cause. With verb set also a key Error with the same
 * text, as the extender's results have it. */
void sl_status_write(struct sl_buf *out, unsigned code, const struct sl_error *err, bool verb);

#endif
