/* One row a route: method, path, callers, longest body, handlers, help. */
#include "server/routes.h"

#include "server/api/handlers.h"
#include "server/app/workspace.h"
#include "server/page/page.h"
#include "server/verbs/handlers.h"
#include "server/visibility/handlers.h"

/* The longest bodies where few bytes are asked for, so that a small question cannot hold much. */
enum {
    NO_BODY = 4 << 10,           /* none is read, a stray one is swallowed */
    NAMES_BODY = 16 << 10,       /* four names */
    ESTIMATE_BODY = SL_HELD_MAX, /* a pod */
    REVIEW_BODY =
        32 << 20, /* an object of 3 MiB whose every '<' is escaped; little of it is kept */
};

/* clang-format off */
#define VERB(name, max_body) SL_CLASS_##name, SL_FOR_SCHEDULER, max_body, false
#define PROBE                SL_CLASS_PROBE, SL_FOR_KUBELET, NO_BODY, false
#define FOR_OPERATOR         SL_CLASS_API, SL_FOR_OPERATOR, NO_BODY, false
#define FORWARDED            SL_CLASS_API, SL_FOR_FORWARDED, NO_BODY, false
#define VERSION_PATH         "/apis/visibility.sliced.dev/v1alpha1"
static const struct sl_route routes[] = {
    {"POST", NULL, VERB(FILTER, 0), sl_filter_begin, sl_workspace_feed, sl_filter_finish,
     "extender: which of the nodes may take the pod, and why not the others"},
    {"POST", NULL, VERB(PRIORITIZE, 0), sl_prioritize_begin, sl_workspace_feed,
     sl_prioritize_finish, "extender: a score of 0..10 for each node"},
    {"POST", NULL, VERB(BIND, NAMES_BODY), sl_bind_begin, sl_workspace_feed, sl_bind_finish,
     "extender: choose the devices and bind the pod"},
    {"POST", NULL, VERB(PREEMPT, 0), sl_preempt_begin, sl_workspace_feed, sl_preempt_finish,
     "extender: which victims really make room"},
    {"POST", "/gpushare-scheduler/filter", VERB(FILTER, 0), sl_filter_begin, sl_workspace_feed,
     sl_filter_finish, "filter, where gpushare's extender has it"},
    {"POST", "/gpushare-scheduler/bind", VERB(BIND, NAMES_BODY), sl_bind_begin, sl_workspace_feed,
     sl_bind_finish, "bind, where gpushare's extender has it"},
    {"GET", "/gpushare-scheduler/inspect", FOR_OPERATOR, NULL, NULL, sl_gpushare_inspect,
     "shares of GPU memory, in the shape of gpushare's extender"},
    {"GET", "/gpushare-scheduler/inspect/{node}", FOR_OPERATOR, NULL, NULL,
     sl_gpushare_inspect_node, "the same of one node"},
    {"POST", "/admission/gate/{schedulerName}",
     SL_CLASS_ADMISSION, SL_FOR_API_SERVER, REVIEW_BODY, false,
     sl_gate_begin, sl_workspace_feed, sl_gate_finish,
     "webhook: the gate sliced.dev/queue for new pods of that scheduler that ask for GPUs"},
    {"POST", "/admission/assign/{schedulerName}",
     SL_CLASS_ADMISSION, SL_FOR_API_SERVER, REVIEW_BODY, false,
     sl_gate_begin, sl_workspace_feed, sl_assign_finish,
     "webhook: the gate, and that scheduler for pods that name default-scheduler or none"},
    {"GET", "/healthz", PROBE, NULL, NULL, sl_probe_live, "the process is alive"},
    {"GET", "/livez", PROBE, NULL, NULL, sl_probe_live, "the process is alive"},
    {"GET", "/readyz", PROBE, NULL, NULL, sl_probe_ready,
     "ready to schedule, or what is missing"},
    {"GET", "/syncz", PROBE, NULL, NULL, sl_probe_synced,
     "knows the whole cluster, whether it leads or stands by, or what is missing"},
    {"GET", "/version", SL_CLASS_PROBE, SL_FOR_OPERATOR, NO_BODY, false,
     NULL, NULL, sl_probe_version, "version and build"},
    {"GET", "/metrics", SL_CLASS_METRICS, SL_FOR_MONITORING, NO_BODY, false,
     NULL, NULL, sl_probe_metrics,
     "metrics in Prometheus' text format"},
    {"GET", "/api/v1/nodes", FOR_OPERATOR, NULL, NULL, sl_api_nodes,
     "nodes, devices and who uses them (?output=table, ?limit=, ?continue=, ?since=)"},
    {"GET", "/api/v1/nodes/{name}", FOR_OPERATOR, NULL, NULL, sl_api_node,
     "one node (?output=table)"},
    {"GET", "/api/v1/pods/{namespace}/{name}/explain", FOR_OPERATOR, NULL, NULL,
     sl_api_explain, "why a pod waits, or where it is (?output=table, ?limit=)"},
    {"GET", "/api/v1/queue", FOR_OPERATOR, NULL, NULL, sl_api_queue,
     "pods that wait, in their order (?output=table, ?limit=, ?skip=, ?find=, ?namespace=, ?resource=)"},
    {"GET", "/api/v1/tenants", FOR_OPERATOR, NULL, NULL, sl_api_tenants,
     "tenants, and what each has of the units (?output=table)"},
    {"POST", "/api/v1/estimates", SL_CLASS_API, SL_FOR_OPERATOR, ESTIMATE_BODY, false,
     NULL, sl_workspace_hold, sl_api_estimate,
     "when a pod would start that is not there (manifest as JSON or YAML, ?output=table)"},
    {"GET", "/api/v1/partitions", FOR_OPERATOR, NULL, NULL, sl_api_partitions,
     "nodes whose GPUs may be cut: how they are, what is under way (?output=table, ?limit=, ?node=)"},
    {"GET", "/api/v1/usage", FOR_OPERATOR, NULL, NULL, sl_api_usage,
     "what GPUs were measured to do (?by=device|pod, ?output=table, ?limit=, ?namespace=, ?node=)"},
    {"GET", "/api/v1/history", FOR_OPERATOR, NULL, NULL, sl_api_history,
     "how many pods waited and ran, and what was free, over the last hour (telemetry.url)"},
    {"GET", "/api/v1/state", FOR_OPERATOR, NULL, NULL, sl_api_state,
     "the daemon's own state"},
    {"GET", "/apis", FORWARDED, NULL, NULL, sl_vis_groups, "discovery: the API group"},
    {"GET", "/apis/visibility.sliced.dev", FORWARDED, NULL, NULL, sl_vis_group,
     "discovery: its versions"},
    {"GET", VERSION_PATH, FORWARDED, NULL, NULL, sl_vis_resources, "discovery: its kinds"},
    {"POST", VERSION_PATH "/namespaces/{namespace}/startestimates",
     SL_CLASS_API, SL_FOR_FORWARDED, ESTIMATE_BODY, false,
     NULL, sl_workspace_hold, sl_vis_estimate, "when a pod would start that is not there"},
    {"GET", "/openapi/v3", FORWARDED, NULL, NULL, sl_vis_openapi, "which descriptions there are"},
    {"GET", "/openapi/v3" VERSION_PATH, FORWARDED, NULL, NULL, sl_vis_openapi_version,
     "OpenAPI: what the members of the kinds mean, for kubectl explain"},
    {"GET", VERSION_PATH "/namespaces/{namespace}/{kind}", FORWARDED, NULL, NULL, sl_vis_list_in,
     "kubectl get queuedpods, runningpods (?watch=, ?labelSelector=, ?fieldSelector=, ?limit=)"},
    {"GET", VERSION_PATH "/namespaces/{namespace}/{kind}/{name}", FORWARDED, NULL, NULL,
     sl_vis_get_in, "one of them"},
    {"GET", VERSION_PATH "/{kind}", FORWARDED, NULL, NULL, sl_vis_list,
     "the same of all namespaces; slicenodes, partitions, usages"},
    {"GET", VERSION_PATH "/{kind}/{name}", FORWARDED, NULL, NULL, sl_vis_get, "one of these"},
    {"POST", "/api/v1/embedded/pods", SL_CLASS_EMBEDDED, SL_FOR_OPERATOR, 0, true,
     NULL, sl_workspace_hold,
     sl_embedded_post, "add a pod (manifest as JSON or YAML)"},
    {"DELETE", "/api/v1/embedded/pods/{namespace}/{name}", SL_CLASS_EMBEDDED, SL_FOR_OPERATOR, NO_BODY, true,
     NULL, NULL,
     sl_embedded_delete, "end a pod"},
    {"GET", "/ui/", FOR_OPERATOR, NULL, NULL, sl_page_index, "the page, for a browser"},
    {"GET", "/ui/{file}", FOR_OPERATOR, NULL, NULL, sl_page_file, "a file of the page"},
    {"GET", "/", SL_CLASS_OTHER, SL_FOR_OPERATOR, NO_BODY, false,
     NULL, NULL, sl_probe_index, "this list"},
};
/* clang-format on */

const struct sl_service sl_service = {
    .routes = {.row = routes, .n = sizeof(routes) / sizeof(routes[0])},
    .workspace_new = sl_workspace_new,
    .workspace_free = sl_workspace_free,
    .workspace_bytes = sl_workspace_bytes,
    .workspace_reset = sl_workspace_reset,
    .release = sl_app_release,
    .visibility_new = sl_visibility_new,
    .visibility_free = sl_visibility_free,
    .visibility_tick = sl_visibility_tick,
    .visibility_close = sl_visibility_close,
};
