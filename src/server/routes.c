/* Routes. */
#include "server/routes.h"

#include "server/handlers.h"

/* clang-format off */
static const struct sl_route routes[] = {
    {"POST", NULL, SL_CLASS_FILTER, false, sl_filter_begin, sl_verb_feed, sl_filter_finish,
     "extender: which of the nodes may take the pod, and why not the others"},
    {"POST", NULL, SL_CLASS_PRIORITIZE, false, sl_prioritize_begin, sl_verb_feed,
     sl_prioritize_finish, "extender: a score of 0..10 for each node"},
    {"POST", NULL, SL_CLASS_BIND, false, sl_bind_begin, sl_verb_feed, sl_bind_finish,
     "extender: choose the devices and bind the pod"},
    {"POST", NULL, SL_CLASS_PREEMPT, false, sl_preempt_begin, sl_verb_feed, sl_preempt_finish,
     "extender: which victims really make room"},
    {"POST", "/gpushare-scheduler/filter", SL_CLASS_FILTER, false, sl_filter_begin, sl_verb_feed,
     sl_filter_finish, "filter, where gpushare's extender has it"},
    {"POST", "/gpushare-scheduler/bind", SL_CLASS_BIND, false, sl_bind_begin, sl_verb_feed,
     sl_bind_finish, "bind, where gpushare's extender has it"},
    {"GET", "/gpushare-scheduler/inspect", SL_CLASS_API, false, NULL, NULL, sl_gpushare_inspect,
     "shares of GPU memory, in the shape of gpushare's extender"},
    {"GET", "/gpushare-scheduler/inspect/{node}", SL_CLASS_API, false, NULL, NULL,
     sl_gpushare_inspect_node, "the same of one node"},
    {"POST", "/admission/gate/{schedulerName}", SL_CLASS_ADMISSION, false, sl_gate_begin,
     sl_verb_feed, sl_gate_finish,
     "webhook: the gate sliced.dev/queue for new pods of that scheduler that ask for GPUs"},
    {"GET", "/healthz", SL_CLASS_PROBE, false, NULL, NULL, sl_probe_live, "the process is alive"},
    {"GET", "/livez", SL_CLASS_PROBE, false, NULL, NULL, sl_probe_live, "the process is alive"},
    {"GET", "/readyz", SL_CLASS_PROBE, false, NULL, NULL, sl_probe_ready,
     "ready to schedule, or what is missing"},
    {"GET", "/version", SL_CLASS_PROBE, false, NULL, NULL, sl_probe_version, "version and build"},
    {"GET", "/metrics", SL_CLASS_METRICS, false, NULL, NULL, sl_probe_metrics,
     "metrics in Prometheus' text format"},
    {"GET", "/api/v1/nodes", SL_CLASS_API, false, NULL, NULL, sl_api_nodes,
     "nodes, devices and who uses them (?output=table, ?limit=, ?continue=)"},
    {"GET", "/api/v1/nodes/{name}", SL_CLASS_API, false, NULL, NULL, sl_api_node,
     "one node (?output=table)"},
    {"GET", "/api/v1/pods/{namespace}/{name}/explain", SL_CLASS_API, false, NULL, NULL,
     sl_api_explain, "why a pod waits, or where it is (?output=table, ?limit=)"},
    {"GET", "/api/v1/queue", SL_CLASS_API, false, NULL, NULL, sl_api_queue,
     "pods that wait, in their order (?output=table, ?limit=, ?namespace=, ?resource=)"},
    {"GET", "/api/v1/state", SL_CLASS_API, false, NULL, NULL, sl_api_state,
     "the daemon's own state"},
    {"POST", "/api/v1/embedded/pods", SL_CLASS_EMBEDDED, true, NULL, sl_embedded_feed,
     sl_embedded_post, "add a pod (manifest as JSON or YAML)"},
    {"DELETE", "/api/v1/embedded/pods/{namespace}/{name}", SL_CLASS_EMBEDDED, true, NULL, NULL,
     sl_embedded_delete, "end a pod"},
    {"GET", "/", SL_CLASS_OTHER, false, NULL, NULL, sl_probe_index, "this list"},
};
/* clang-format on */

enum { ROUTES = sizeof(routes) / sizeof(routes[0]) };

static const char *pattern_of(const struct sl_request *request, const struct sl_route *route)
{
    return route->pattern != NULL ? route->pattern : request->live->verb_path[route->class];
}

bool sl_routes_pattern(const char *pattern, struct sl_str path,
                       struct sl_str param[SL_ROUTE_PARAMS_MAX])
{
    size_t at = 0;
    unsigned n = 0;
    while (*pattern != '\0') {
        if (*pattern != '{' || n == SL_ROUTE_PARAMS_MAX) {
            if (at == path.len || path.s[at] != *pattern) {
                return false;
            }
            pattern++;
            at++;
            continue;
        }
        size_t from = at;
        while (at < path.len && path.s[at] != '/') {
            at++;
        }
        if (at == from) {
            return false;
        }
        param[n++] = (struct sl_str){path.s + from, at - from};
        pattern = strchr(pattern, '}') + 1;
    }
    return at == path.len;
}

static bool method_serves(const struct sl_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* Methods that a path takes, as the header Allow lists them. Each path of the table has one. */
static const char *allow_of(const struct sl_route *route)
{
    return strcmp(route->method, "GET") == 0 ? "GET, HEAD" : route->method;
}

int sl_routes_match(struct sl_request *request, const char *method)
{
    for (size_t i = 0; i < ROUTES; i++) {
        const struct sl_route *route = &routes[i];
        if ((route->embedded && !request->app->embedded) ||
            !sl_routes_pattern(pattern_of(request, route), request->path, request->param)) {
            continue;
        }
        request->class = route->class;
        if (method_serves(route, method)) {
            request->route = route;
            return 0;
        }
        request->allow = allow_of(route);
        (void)sl_error_set(&request->err, SL_ERR_FIELD, "%.16s is not served here, only %s", method,
                           request->allow);
        return sl_request_fail(request, 405);
    }
    (void)sl_error_set(&request->err, SL_ERR_NOTFOUND,
                       "there is nothing at \"%.*s\"; GET / lists what there is",
                       (int)(request->path.len > 200 ? 200 : request->path.len), request->path.s);
    return sl_request_fail(request, 404);
}

void sl_routes_index(const struct sl_request *request, struct sl_buf *out)
{
    for (size_t i = 0; i < ROUTES; i++) {
        const struct sl_route *route = &routes[i];
        if (!route->embedded || request->app->embedded) {
            sl_buf_printf(out, "%-6s %-42s %s\n", route->method, pattern_of(request, route),
                          route->help);
        }
    }
}
