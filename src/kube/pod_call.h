/* What calls about one pod share: its path, its copied name, and an end to the time of a call. */
#ifndef SLICED_KUBE_POD_CALL_H
#define SLICED_KUBE_POD_CALL_H

#include "kube/client.h"

/* "/api/v1/namespaces/NS/pods/NAME" and end, NUL-terminated. The caller frees the buffer. */
void sl_pod_path(struct sl_buf *path, struct sl_str ns, struct sl_str name, const char *end);

/* A NUL-terminated copy of text at *at, which moves behind it. */
struct sl_str sl_pod_put_text(char **at, struct sl_str text);

/* Starts a call that ends within timeout_us (> 0), its time in the queue and its waiting for the
 * rate limit included: after that it is cancelled, and not sent any more. As sl_client_call. */
int sl_call_within(struct sl_client *client, struct sl_call_options *call, int64_t timeout_us,
                   struct sl_error *err);

#endif
