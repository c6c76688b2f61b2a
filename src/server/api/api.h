/* Pieces of JSON and text that several replies of the debug API have in common. */
#ifndef SLICED_SERVER_API_H
#define SLICED_SERVER_API_H

#include "codec/object.h"
#include "codec/write.h"
#include "server/app/app.h"
#include "server/model/field.h"

/* Ends the request after the queue has answered -1: with 503, and who leads, when this replica does
 * not plan. */
void sl_api_queue_failed(struct sl_request *request);

/* Lists the queue's first max pods, and the tenants. -1 after sl_request_fail. The caller frees the
 * list in any case. */
int sl_api_queue_list(struct sl_request *request, size_t max, struct sl_queue_list *out);

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
/* Writes the members of an open object. */
void sl_api_what_if_members(struct sl_writer *w, const struct sl_queue_what_if *what_if);

/* Ends the request with 404: there is no such pod. */
void sl_api_unknown_pod(struct sl_request *request, struct sl_str ns, struct sl_str name);

#endif
