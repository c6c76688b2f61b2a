/* What is looked at before a request's body is read: who asks, from where, and how much is to come.
 */
#include <stdio.h>
#include <strings.h>

#include "server/connection.h"

enum { PEER_WHY_MAX = 256 };

static const char *header(const struct sl_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

int64_t sl_request_max_body(const struct sl_request *request)
{
    int64_t max = request->live->config.server.max_body_bytes;
    int64_t own = request->route == NULL ? 0 : request->route->max_body;
    return own == 0 || own > max ? max : own;
}

/* A declared length beyond the maximum is refused before the first byte is read. */
static int check_length(struct sl_request *request)
{
    const char *text = header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t length = 0;
    int64_t max = sl_request_max_body(request);
    if (text == NULL || !sl_str_to_i64(sl_str_of(text), &length) || length <= max) {
        return 0;
    }
    sl_metrics_limit(&request->app->metrics, SL_LIMIT_BODY);
    (void)sl_error_set(
        &request->err, SL_ERR_LIMIT, "the body has %lld bytes, at most %lld are taken%s",
        (long long)length, (long long)max,
        max == request->live->config.server.max_body_bytes ? " (server.maxBodyBytes)" : "");
    return sl_request_fail(request, 413);
}

/* Nothing is unpacked here: that would need bounds of its own, and the scheduler packs nothing. */
static int check_encoding(struct sl_request *request)
{
    const char *text = header(request, MHD_HTTP_HEADER_CONTENT_ENCODING);
    if (text == NULL || text[0] == '\0' || strcasecmp(text, "identity") == 0) {
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD,
                       "found \"%.32s\", expected identity: a body is taken only as it is", text);
    (void)snprintf(request->err.field, sizeof(request->err.field), "%s",
                   MHD_HTTP_HEADER_CONTENT_ENCODING);
    return sl_request_fail(request, 415);
}

/* For everybody who reaches them: probes, and the webhook, to which API servers come without a
 * certificate; what it answers follows from the question alone. */
static bool is_public(enum sl_class class)
{
    return class == SL_CLASS_PROBE || class == SL_CLASS_ADMISSION;
}

/* Who may not ask learns nothing of what else is wrong, and is not waited for. */
static int forbid(struct sl_request *request)
{
    request->failed = false;
    request->allow = NULL;
    request->close = true;
    return sl_request_fail(request, 403);
}

/* Where there are client certificates the verbs, and what else is served beside them, are for those
 * that have one with an allowed name. */
static int check_peer(struct sl_connection *connection)
{
    struct sl_request *request = &connection->request;
    const struct sl_listener *listener = connection->listener;
    const struct sl_config *config = &request->live->config;
    const struct sl_tls_names names = {config->server.client, config->server.n_clients,
                                       request->live->serial};
    char why[PEER_WHY_MAX] = "no TLS session";
    if (listener->tls == NULL || (listener->audiences & SL_FOR_SCHEDULER) == 0 ||
        is_public(request->class)) {
        return 0;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info != NULL && sl_tls_peer_ok(listener->tls, info->tls_session, &names, &connection->peer,
                                       why, sizeof(why))) {
        atomic_store(&connection->deadline.proven, true);
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "%s", why);
    return forbid(request);
}

/* "127.0.0.1:8888", "[::1]", "localhost": what no name server can make of a page's own name. */
static bool is_literal(const char *host)
{
    struct sl_str text = sl_str_of(host);
    bool named = sl_str_starts(text, SL_STR("localhost"));
    const char *rest = named ? host + 9 : host + strspn(host, "0123456789.");
    return host[0] == '[' || ((named || rest > host) && (rest[0] == '\0' || rest[0] == ':'));
}

/* A page in the browser of somebody who forwards a port to himself must not ask in his place: no
 * page is served, so none may ask, and what tells of tenants is told to who calls it by its address
 * (else a page's own name, turned to 127.0.0.1, would do). */
static int check_page(struct sl_request *request)
{
    const char *origin = header(request, MHD_HTTP_HEADER_ORIGIN);
    const char *host = header(request, MHD_HTTP_HEADER_HOST);
    bool tells = request->route != NULL && request->route->audience == SL_FOR_OPERATOR;
    if (origin == NULL && (!tells || host == NULL || is_literal(host))) {
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD,
                       origin != NULL ? "found \"%.64s\": pages may not ask"
                                      : "found \"%.64s\", expected localhost or an IP address",
                       origin != NULL ? origin : host);
    (void)snprintf(request->err.field, sizeof(request->err.field), "%s",
                   origin != NULL ? MHD_HTTP_HEADER_ORIGIN : MHD_HTTP_HEADER_HOST);
    return forbid(request);
}

static enum MHD_Result count_lengths(void *context, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    unsigned *n = context;
    (void)kind;
    (void)value;
    *n += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 ||
                  strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0
              ? 1
              : 0;
    return MHD_YES;
}

/* Where a body ends is said once: whoever stands between may have read it otherwise. */
static int check_framing(struct sl_request *request)
{
    unsigned n = 0;
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_lengths, &n);
    if (n <= 1) {
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD,
                       "the length of the body is given %u times, expected once", n);
    request->failed = false;
    request->close = true;
    return sl_request_fail(request, 400);
}

int sl_request_check(struct sl_connection *connection, bool matched)
{
    struct sl_request *request = &connection->request;
    if (check_peer(connection) < 0 || check_page(request) < 0 || check_framing(request) < 0 ||
        !matched || check_length(request) < 0) {
        return -1;
    }
    return request->route->feed == NULL ? 0 : check_encoding(request);
}
