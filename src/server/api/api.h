/* Pieces of JSON and text that several replies of the debug API have in common. */
#ifndef SLICED_SERVER_API_H
#define SLICED_SERVER_API_H

#include "codec/object.h"
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

/* The limits of a body that is held whole. */
struct sl_text_limits sl_api_text_limits(const struct sl_request *request);
/* Reads the one Pod of the body that is held, a manifest as JSON or YAML; make makes it of its
 * facts. NULL with request->err set, also when it asks for no GPUs. */
struct sl_pod *sl_api_read_pod(struct sl_request *request,
                               struct sl_pod *(*make)(void *context,
                                                      const struct sl_pod_facts *facts,
                                                      struct sl_error *err),
                               void *context);
/* Does the pod ask for GPUs? false with *err set, whose field is within what is called place. */
bool sl_api_asks(const struct sl_pod *pod, const char *place, struct sl_error *err);

/* Makes a pod that is not there, as if it came now, in that namespace (empty: its own). NULL with
 * *err set. */
struct sl_pod *sl_api_suppose(const struct sl_pod_facts *facts, struct sl_str namespace,
                              struct sl_error *err);
/* Takes the pod over and asks the queue what would become of it, when its user's turn comes: the
 * request is suspended until then, and answer writes the reply. Or it ends with sl_request_fail. */
void sl_api_what_if(struct sl_request *request, struct sl_pod *pod,
                    void (*answer)(struct sl_request *request,
                                   const struct sl_queue_what_if *what_if));
/* Writes the members of an open object: position, ahead, startsInSeconds, estimatedStart,
 * estimateKind, state, reason, node, devices, message, delayed. */
void sl_api_what_if_members(struct sl_writer *w, const struct sl_queue_what_if *what_if);

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
