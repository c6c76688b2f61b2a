/* Everything that is served beside the verbs, as routes have it. */
#ifndef SLICED_SERVER_API_HANDLERS_H
#define SLICED_SERVER_API_HANDLERS_H

#include <stddef.h>

struct sl_request;

/* The webhook that sets the gate, and which in its second form also gives pods our scheduler. */
int sl_gate_begin(struct sl_request *request);
void sl_gate_finish(struct sl_request *request);
void sl_assign_finish(struct sl_request *request);

/* gpushare's own inspection */
void sl_gpushare_inspect(struct sl_request *request);
void sl_gpushare_inspect_node(struct sl_request *request);

/* debug API */
void sl_api_nodes(struct sl_request *request);
void sl_api_node(struct sl_request *request);
void sl_api_explain(struct sl_request *request);
void sl_api_queue(struct sl_request *request);
void sl_api_tenants(struct sl_request *request);
void sl_api_partitions(struct sl_request *request);
void sl_api_usage(struct sl_request *request);
void sl_api_history(struct sl_request *request);
void sl_api_state(struct sl_request *request);
void sl_api_estimate(struct sl_request *request);

/* embedded cluster */
void sl_embedded_post(struct sl_request *request);
void sl_embedded_delete(struct sl_request *request);

/* probes and the rest */
void sl_probe_live(struct sl_request *request);
void sl_probe_ready(struct sl_request *request);
void sl_probe_synced(struct sl_request *request);
void sl_probe_version(struct sl_request *request);
void sl_probe_metrics(struct sl_request *request);
void sl_probe_index(struct sl_request *request);

#endif
