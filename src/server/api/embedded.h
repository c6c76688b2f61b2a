/* Pods of an embedded cluster: filled in as by an API server, and the summary that is answered. */
#ifndef SLICED_SERVER_EMBEDDED_H
#define SLICED_SERVER_EMBEDDED_H

#include "codec/object.h"
#include "codec/write.h"
#include "sliced/pod.h"

enum { SL_UID_TEXT = 37 };

/* A random UUID (version 4). -1 with *err set when the system has no randomness to give. */
int sl_uid_new(char out[SL_UID_TEXT], struct sl_error *err);

/* Makes a pod for an embedded cluster, with a UID and a creation time where the manifest has none.
 * New reference; NULL with *err set. */
struct sl_pod *sl_embedded_pod_new(const struct sl_pod_facts *facts, struct sl_error *err);

#endif
