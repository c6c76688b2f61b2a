/* How a request fails, and its query. */
#include "server/http/request.h"

#include <stdio.h>

#include "codec/status.h"

int sl_request_fail(struct sl_request *request, unsigned code)
{
    if (!request->failed) {
        request->failed = true;
        request->code = code;
        request->outcome = SL_OUTCOME_ERROR;
    }
    return -1;
}

int sl_request_fail_err(struct sl_request *request)
{
    return sl_request_fail(request, sl_status_code(request->err.code));
}

struct sl_str sl_request_query(const struct sl_request *request, const char *name)
{
    return sl_str_of(MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name));
}

struct sl_str sl_request_user(const struct sl_request *request)
{
    const char *user = NULL;
    if (request->audiences == SL_FOR_FORWARDED) { /* the front proxy takes out what users send */
        user = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "X-Remote-User");
    }
    return sl_str_of(user);
}

int sl_request_fail_query(struct sl_request *request, const char *name)
{
    (void)snprintf(request->err.field, sizeof(request->err.field), "%s", name);
    return sl_request_fail(request, 400);
}

/* The check of a query's parameters. */
struct known {
    struct sl_request *request;
    const char *names;
    bool all;
};

/* Is it one of "a, b, c"? */
static bool is_named(const char *names, struct sl_str name)
{
    struct sl_str rest = sl_str_of(names);
    bool found = false;
    while (rest.s != NULL && !found) {
        struct sl_str each = sl_str_cut(&rest, ',');
        if (each.len > 0 && each.s[0] == ' ') {
            each = (struct sl_str){each.s + 1, each.len - 1};
        }
        found = sl_str_eq(name, each);
    }
    return found && name.len > 0;
}

static enum MHD_Result check_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                       const char *value)
{
    struct known *known = context;
    struct sl_request *request = known->request;
    (void)kind;
    (void)value;
    if (is_named(known->names, sl_str_of(name))) {
        return MHD_YES;
    }
    known->all = false;
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "found an unknown parameter, expected %s%s",
                       strchr(known->names, ',') != NULL ? "one of " : "",
                       known->names[0] != '\0' ? known->names : "none");
    (void)sl_request_fail_query(request, name);
    return MHD_NO;
}

int sl_request_only(struct sl_request *request, const char *names)
{
    struct known known = {.request = request, .names = names, .all = true};
    (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, check_parameter,
                                    &known);
    return known.all ? 0 : -1;
}

int sl_request_output(struct sl_request *request, bool *table)
{
    struct sl_str text = sl_request_query(request, "output");
    *table = sl_str_eq(text, SL_STR("table"));
    if (!*table && text.len > 0 && !sl_str_eq(text, SL_STR("json"))) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD, "found \"%.*s\", expected json or table",
                           (int)(text.len > 32 ? 32 : text.len), text.s);
        return sl_request_fail_query(request, "output");
    }
    request->content_type = *table ? "text/plain; charset=utf-8" : "application/json";
    return 0;
}

int sl_request_number(struct sl_request *request, const char *name, int64_t fallback, int64_t max,
                      int64_t *out)
{
    struct sl_str text = sl_request_query(request, name);
    *out = fallback;
    if (text.len == 0) {
        return 0;
    }
    if (!sl_str_to_i64(text, out) || *out < 1 || *out > max) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD, "\"%.*s\" is not a number of 1..%lld",
                           (int)(text.len > 32 ? 32 : text.len), text.s, (long long)max);
        return sl_request_fail_query(request, name);
    }
    return 0;
}

struct sl_route_scope sl_request_scope(const struct sl_request *request)
{
    return (struct sl_route_scope){.config = &request->live->config,
                                   .audiences = request->audiences,
                                   .embedded = request->http->embedded};
}
