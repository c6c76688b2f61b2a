/* Pieces of JSON and text that several replies of the debug API have in common. */
#ifndef SLICED_SERVER_API_H
#define SLICED_SERVER_API_H

#include "codec/write.h"
#include "server/app/app.h"

/* Writes a pod's members of an open object: namespace, name, uid, phase, node, createdAt, priority,
 * timeoutSeconds, ask, gpuMemoryMiB, minGpuMemoryMiB, malformed, problem. */
void sl_api_pod_members(struct sl_writer *w, const struct sl_pod *pod);

/* Writes the member "ask" of an open object, an array: of each resource its name, count and kind.
 * max: entries at most, for a reply of a bounded size (a malformed ask may have hundreds). */
void sl_api_ask(struct sl_writer *w, const struct sl_pod *pod, uint32_t max);

/* Writes "nvidia.com/gpu=2,..." into out, cut when it is longer. */
void sl_api_ask_text(const struct sl_pod *pod, char *out, size_t size);

/* Writes [{"resource":...,"device":0,"uuid":...,"profile":...,"start":4,"amount":1}] for a choice
 * on a node. */
void sl_api_parts(struct sl_writer *w, const struct sl_node *node, const struct sl_pod *pod,
                  const struct sl_assignment_part *part, unsigned n);

/* Writes "0/4 1/0*2": device/start, the amount when it is not 1; "?" where only the kubelet knows.
 */
void sl_api_parts_text(const struct sl_node *node, const struct sl_assignment_part *part,
                       unsigned n, char *out, size_t size);

/* Are the pod's devices a plan only, as the node's device plugin picks the units? */
bool sl_api_is_plan(const struct sl_pod *pod);

/* Writes the same of a pod on a node, never empty: " (assumed)" behind devices that are only
 * thought to be its own, " (set aside)" behind those of a pod that still waits, "unknown" and why
 * where there are none. */
void sl_api_resident_text(const struct sl_view *view, const struct sl_resident *resident, char *out,
                          size_t size);

/* Writes the queue's members of an open object: state, reason, text, since, waitedSeconds, ahead,
 * first, plannedTimeoutSeconds, usualRuntimeSeconds, P, estimatedStart, latestStart, nomination,
 * expires. */
void sl_api_queue_members(struct sl_writer *w, const struct sl_queue_row *row, int64_t now_us);

/* Ends the request after the queue has answered -1: with 503, and who leads, when this replica does
 * not plan. */
void sl_api_queue_failed(struct sl_request *request);

/* Writes a time as RFC 3339 text, null when it is 0. */
void sl_api_time(struct sl_writer *w, int64_t us);

enum { SL_API_PROBLEM_MAX = 1024, SL_API_PERCENT_MAX = 24 }; /* bytes, with the NUL */

/* Returns what is wrong with the node's labels and with what its pods hold: a text in out or in the
 * view; NULL: nothing is wrong. */
const char *sl_api_problem(const struct sl_view *view, char out[SL_API_PROBLEM_MAX]);

/* Writes thousandths as "37%", rounded, and nothing when they are below 0 (not known). Returns out.
 */
const char *sl_api_percent(int64_t permille, char out[SL_API_PERCENT_MAX]);

/* Ends the request with 404: there is no such pod. */
void sl_api_unknown_pod(struct sl_request *request, struct sl_str ns, struct sl_str name);

#endif
