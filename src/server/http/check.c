/* Checks a request before its body is read: who asks, from where, how much is to come. */
#include <gnutls/crypto.h>
#include <netdb.h>
#include <stdio.h>
#include <strings.h>

#include "server/http/connection.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum { PEER_WHY_MAX = 256, PEER_NAME_MAX = 64, TOKEN_MAX = 4096 };

static const char *get_header(const struct sl_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

int64_t sl_request_max_body(const struct sl_request *request)
{
    int64_t max = request->live->config.server.max_body_bytes;
    int64_t own = request->route == NULL ? 0 : request->route->max_body;
    return own == 0 || own > max ? max : own;
}

/* Refuses a declared length beyond the maximum before the first byte is read. */
static int check_length(struct sl_request *request)
{
    const char *text = get_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t length = 0;
    int64_t max = sl_request_max_body(request);
    if (text == NULL || !sl_str_to_i64(sl_str_of(text), &length) || length <= max) {
        return 0;
    }
    sl_metrics_limit(request->metrics, SL_LIMIT_BODY);
    (void)sl_error_set(
        &request->err, SL_ERR_LIMIT, "the body has %lld bytes, at most %lld are taken%s",
        (long long)length, (long long)max,
        max == request->live->config.server.max_body_bytes ? " (server.maxBodyBytes)" : "");
    return sl_request_fail(request, 413);
}

/* Refuses packed bodies: unpacking would need bounds of its own, and the scheduler packs nothing.
 */
static int check_encoding(struct sl_request *request)
{
    const char *text = get_header(request, MHD_HTTP_HEADER_CONTENT_ENCODING);
    if (text == NULL || text[0] == '\0' || strcasecmp(text, "identity") == 0) {
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD,
                       "found \"%.32s\", expected identity: a body is taken only as it is", text);
    (void)snprintf(request->err.field, sizeof(request->err.field), "%s",
                   MHD_HTTP_HEADER_CONTENT_ENCODING);
    return sl_request_fail(request, 415);
}

/* May everybody ask who reaches it? Probes, and the webhook: API servers show no certificate, and
 * its answer follows from the question alone. */
static bool is_public(enum sl_class class)
{
    return class == SL_CLASS_PROBE || class == SL_CLASS_ADMISSION;
}

/* Tells a caller that may not ask nothing of what else is wrong, and does not wait for it. */
static int forbid_request(struct sl_request *request)
{
    request->failed = false;
    request->allow = NULL;
    request->close = true;
    return sl_request_fail(request, 403);
}

/* Has the peer shown a certificate with one of these names? why (PEER_WHY_MAX) says what is wrong.
 */
static bool is_peer_ok(struct sl_connection *connection, enum sl_tls_callers who,
                       const struct sl_config_client *client, size_t n, char *why)
{
    const struct sl_tls_names names = {
        .client = client, .n = n, .serial = connection->request.live->serial};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection->request.connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    (void)snprintf(why, PEER_WHY_MAX, "no TLS session");
    if (info == NULL || !sl_tls_peer_ok(connection->listener->tls, who, info->tls_session, &names,
                                        &connection->peer, why, PEER_WHY_MAX)) {
        return false;
    }
    atomic_store(&connection->deadline.proven, true);
    return true;
}

/* Did the peer show a certificate, good or not? */
static bool has_shown(const struct sl_connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection->request.connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned n = 0;
    return info != NULL && gnutls_certificate_get_peers(info->tls_session, &n) != NULL && n > 0;
}

static const char *address_of(struct MHD_Connection *http, char out[PEER_NAME_MAX])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    bool v6 = info != NULL && info->client_addr->sa_family == AF_INET6;
    if (info == NULL || getnameinfo(info->client_addr,
                                    v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in),
                                    out, PEER_NAME_MAX, NULL, 0, NI_NUMERICHOST) != 0) {
        return "unknown";
    }
    return out;
}

/* It may be kube-scheduler, whose log has the status alone. Not more than once a minute, as anybody
 * may call; whoever shows no certificate does not keep out what is told of one that does. */
static void refused_tell(const struct sl_connection *connection, const char *why)
{
    _Atomic int64_t *silent = &connection->listener->http->silent_us[has_shown(connection)];
    int64_t now_us = sl_clock_monotonic_us();
    int64_t until_us = atomic_load(silent);
    char from[PEER_NAME_MAX];
    if (now_us >= until_us &&
        atomic_compare_exchange_strong(silent, &until_us, now_us + SL_MINUTE_US)) {
        sl_log(SL_LOG_WARN, "a caller of the verbs was refused", "reason", why, "from",
               address_of(connection->request.connection, from), (char *)NULL);
    }
}

/* Where clients have certificates, refuses the verbs, and what else is served beside them, to those
 * without an allowed name. */
static int check_peer(struct sl_connection *connection)
{
    struct sl_request *request = &connection->request;
    const struct sl_listener *listener = connection->listener;
    const struct sl_config *config = &request->live->config;
    char why[PEER_WHY_MAX];
    if (listener->tls == NULL || (listener->audiences & SL_FOR_SCHEDULER) == 0 ||
        is_public(request->class)) {
        return 0;
    }
    bool is_verb = request->class < SL_CLASS_VERBS;
    if (is_peer_ok(connection, SL_TLS_SCHEDULER, config->server.client, config->server.n_clients,
                   why)) {
        if (is_verb) {
            atomic_store(&request->metrics->client_not_after, connection->peer.until);
        }
        return 0;
    }
    if (is_verb) {
        refused_tell(connection, why);
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "%s", why);
    return forbid_request(request);
}

/* Reads the file's only line; empty when there is none. */
static void read_token(const char *path, char out[TOKEN_MAX])
{
    FILE *file = fopen(path, "re");
    size_t len = file == NULL ? 0 : fread(out, 1, TOKEN_MAX - 1, file);
    if (file != NULL) {
        (void)fclose(file);
    }
    out[len] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
}

/* Takes as long wherever they differ. */
static bool same_token(const char *ours, const char *given)
{
    size_t len = strlen(ours);
    return strlen(given) == len && gnutls_memcmp(ours, given, len) == 0;
}

/* Has the caller sent the token of that file? *why says what is wrong. */
static bool is_token_ok(const struct sl_request *request, const char *path, const char **why)
{
    const char *given = get_header(request, MHD_HTTP_HEADER_AUTHORIZATION);
    char token[TOKEN_MAX];
    read_token(path, token);
    *why = token[0] == '\0' ? "the file of server.metricsTokenFile has no token"
                            : "expected the bearer token of server.metricsTokenFile";
    return token[0] != '\0' && given != NULL && strncasecmp(given, "Bearer ", 7) == 0 &&
           same_token(token, given + 7);
}

/* The metrics' own address may ask for a certificate, or a token: where it knows both, either does.
 */
static int check_monitor(struct sl_connection *connection)
{
    struct sl_request *request = &connection->request;
    const struct sl_config *config = &request->live->config;
    bool by_cert = config->server.metrics_ca_file[0] != '\0';
    bool by_token = config->server.metrics_token_file[0] != '\0';
    const char *no_token = "";
    char no_cert[PEER_WHY_MAX] = "";
    if (connection->listener->audiences != SL_FOR_MONITORING || (!by_cert && !by_token) ||
        (by_cert && is_peer_ok(connection, SL_TLS_MONITORING, config->server.metrics_client,
                               config->server.n_metrics_clients, no_cert)) ||
        (by_token && is_token_ok(request, config->server.metrics_token_file, &no_token))) {
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "%s%s%s", no_cert,
                       by_cert && by_token ? "; or: " : "", no_token);
    return forbid_request(request);
}

/* Where the API server forwards its users' requests, refuses what did not come from it. */
static int check_proxy(struct sl_connection *connection)
{
    struct sl_request *request = &connection->request;
    const struct sl_listener *listener = connection->listener;
    char why[PEER_WHY_MAX] = "no TLS session";
    bool known = true;
    if (listener->audiences != SL_FOR_FORWARDED) {
        return 0;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info != NULL && listener->http->proxy != NULL &&
        sl_front_proxy_ok(listener->http->proxy, info->tls_session, &connection->peer, &known, why,
                          sizeof(why))) {
        atomic_store(&connection->deadline.proven, true);
        return 0;
    }
    if (!known) {
        (void)sl_error_set(&request->err, SL_ERR_SYSTEM,
                           "whom the API server lets forward requests is not known yet (ConfigMap "
                           "kube-system/extension-apiserver-authentication)");
        request->failed = false;
        request->close = true;
        return sl_request_fail(request, 503);
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "%s", why);
    return forbid_request(request);
}

/* "127.0.0.1:8888", "[::1]", "localhost": a page's own name is none of these. */
static bool is_literal(const char *host)
{
    struct sl_str text = sl_str_of(host);
    bool named = sl_str_starts(text, SL_STR("localhost"));
    const char *rest = named ? host + 9 : host + strspn(host, "0123456789.");
    return host[0] == '[' || ((named || rest > host) && (rest[0] == '\0' || rest[0] == ':'));
}

/* Is that where our own page comes from? Its name must be an address: another page could have its
 * own name resolve to 127.0.0.1. */
static bool is_own_page(const char *origin, const char *host)
{
    const char *behind = strstr(origin, "://");
    return host != NULL && is_literal(host) && behind != NULL && strcmp(behind + 3, host) == 0;
}

/* Refuses pages in the browser of an operator who forwards a port, except our own. Routes that name
 * tenants' pods must be called by address, too. */
static int check_page(struct sl_request *request)
{
    const char *origin = get_header(request, MHD_HTTP_HEADER_ORIGIN);
    const char *host = get_header(request, MHD_HTTP_HEADER_HOST);
    bool tells = request->route != NULL &&
                 (request->route->audience & (SL_FOR_OPERATOR | SL_FOR_FORWARDED)) != 0;
    if (request->audiences == SL_FOR_FORWARDED) { /* the API server has judged its user */
        return 0;
    }
    if (origin == NULL ? !tells || host == NULL || is_literal(host) : is_own_page(origin, host)) {
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD,
                       origin != NULL ? "found \"%.64s\": other pages may not ask"
                                      : "found \"%.64s\", expected localhost or an IP address",
                       origin != NULL ? origin : host);
    (void)snprintf(request->err.field, sizeof(request->err.field), "%s",
                   origin != NULL ? MHD_HTTP_HEADER_ORIGIN : MHD_HTTP_HEADER_HOST);
    return forbid_request(request);
}

int sl_request_check(struct sl_connection *connection, const char *method, const char *version,
                     bool matched)
{
    struct sl_request *request = &connection->request;
    if (sl_request_check_framing(request, method, version) < 0 || check_peer(connection) < 0 ||
        check_monitor(connection) < 0 || check_proxy(connection) < 0 || check_page(request) < 0 ||
        !matched || check_length(request) < 0) {
        return -1;
    }
    return request->route->feed == NULL ? 0 : check_encoding(request);
}
