/* Finds the route of a path in a table. */
#include "server/http/route.h"

#include <stdio.h>
#include <string.h>

static const char *verb_of(const struct sl_config *config, enum sl_class class)
{
    const char *const verbs[SL_CLASS_VERBS] = {config->extender.filter, config->extender.prioritize,
                                               config->extender.bind, config->extender.preempt};
    return verbs[class];
}

bool sl_route_matches(const char *pattern, struct sl_str path,
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

/* Is the path the prefix, a slash and the verb? */
static bool is_verb(struct sl_str path, const struct sl_config *config, enum sl_class class)
{
    struct sl_str prefix = sl_str_of(config->extender.prefix);
    struct sl_str verb = sl_str_of(verb_of(config, class));
    return path.len == prefix.len + 1 + verb.len && sl_str_starts(path, prefix) &&
           path.s[prefix.len] == '/' && memcmp(path.s + prefix.len + 1, verb.s, verb.len) == 0;
}

static bool is_served(const struct sl_route *route, const struct sl_route_scope *scope)
{
    return (route->audience & scope->audiences) != 0 && (!route->embedded || scope->embedded);
}

const struct sl_route *sl_route_find(const struct sl_route_table *table,
                                     const struct sl_route_scope *scope, struct sl_str path,
                                     struct sl_str param[SL_ROUTE_PARAMS_MAX])
{
    for (size_t i = 0; i < table->n; i++) {
        const struct sl_route *route = &table->row[i];
        if (is_served(route, scope) &&
            (route->pattern == NULL ? is_verb(path, scope->config, route->class)
                                    : sl_route_matches(route->pattern, path, param))) {
            return route;
        }
    }
    return NULL;
}

bool sl_route_takes(const struct sl_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

const char *sl_route_allow(const struct sl_route *route)
{
    return strcmp(route->method, "GET") == 0 ? "GET, HEAD" : route->method;
}

void sl_route_list(const struct sl_route_table *table, const struct sl_route_scope *scope,
                   struct sl_buf *out)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct sl_route *route = &table->row[i];
        char path[2 * SL_CONFIG_TEXT_MAX + 2];
        if (!is_served(route, scope)) {
            continue;
        }
        if (route->pattern == NULL) {
            (void)snprintf(path, sizeof(path), "%s/%s", scope->config->extender.prefix,
                           verb_of(scope->config, route->class));
        }
        sl_buf_printf(out, "%-6s %-42s %s\n", route->method,
                      route->pattern == NULL ? path : route->pattern, route->help);
    }
}
