/* What calls about one pod share: its path and its copied name. */
#ifndef SLICED_KUBE_POD_CALL_H
#define SLICED_KUBE_POD_CALL_H

#include "util/buf.h"
#include "util/str.h"

/* "/api/v1/namespaces/NS/pods/NAME" and end, NUL-terminated. The caller frees the buffer. */
void sl_pod_path(struct sl_buf *path, struct sl_str ns, struct sl_str name, const char *end);

/* A NUL-terminated copy of text at *at, which moves behind it. */
struct sl_str sl_pod_put_text(char **at, struct sl_str text);

#endif
