/* What the handlers of the debug API share: pieces of JSON that occur in several replies. */
#ifndef SLICED_SERVER_API_H
#define SLICED_SERVER_API_H

#include "codec/write.h"
#include "server/queue.h"
#include "server/request.h"
#include "server/status.h"

/* Members namespace, name, uid, phase, node, createdAt, priority, ask, malformed of an open object.
 */
void sl_api_pod_members(struct sl_writer *w, const struct sl_pod *pod);

/* Writes "nvidia.com/gpu=2,..." into out, cut when longer. */
void sl_api_ask_text(const struct sl_pod *pod, char *out, size_t size);

/* [{"resource":...,"device":0,"uuid":...,"profile":...,"start":4,"amount":1}] for a choice on a
 * node. */
void sl_api_parts(struct sl_writer *w, const struct sl_node *node, const struct sl_pod *pod,
                  const struct sl_assignment_part *part, unsigned n);

/* "0/4 1/0*2": device/start, amount when not 1; "?" where only the kubelet knows. */
void sl_api_parts_text(const struct sl_node *node, const struct sl_assignment_part *part,
                       unsigned n, char *out, size_t size);

/* The same of a pod on a node, never empty: " (assumed)" stands behind devices that are only
 * thought to be its own; where none can be thought of "unknown" and why. */
void sl_api_resident_text(const struct sl_view *view, const struct sl_resident *resident, char *out,
                          size_t size);

/* What the queue knows of a pod that waits, as members of an open object: state, reason, text,
 * since, waitedSeconds, ahead, first, plannedTimeoutSeconds, P, estimatedStart, latestStart, claim,
 * lapses. */
void sl_api_queue_members(struct sl_writer *w, const struct sl_queue_row *row, int64_t now_us);

/* Ends the request after the queue has answered -1: 503 and who leads when this replica does not
 * plan. */
void sl_api_queue_failed(struct sl_request *request);

/* A time as RFC 3339 text, null when 0. */
void sl_api_time(struct sl_writer *w, int64_t us);

/* Ends the request with 404. */
void sl_api_unknown_pod(struct sl_request *request, struct sl_str ns, struct sl_str name);

#endif
