/* Text as part of a URL. */
#ifndef SLICED_KUBE_URL_H
#define SLICED_KUBE_URL_H

#include "util/buf.h"

/* Appends text with all but RFC 3986's unreserved characters percent-encoded. */
void sl_url_put(struct sl_buf *out, struct sl_str text);

#endif
