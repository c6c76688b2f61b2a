/* Connections: their begin and end, and the one account of what they hold. */
#include "server/http/connection.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/data/hash.h"

/* Each may hold so much in any case, or nobody could see what is wrong. */
enum { OWN_BYTES = 128 << 10 };

struct sl_connection *sl_connection_of(struct MHD_Connection *http)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

void sl_connection_wait(struct sl_connection *connection, enum sl_limit what, int factor)
{
    sl_deadline_set(&connection->deadline, what, sl_clock_monotonic_ns(),
                    factor * connection->listener->patience_ns);
}

/* ---- what it holds ---- */

/* The scheduler's half stays its own, whatever strangers send to a webhook. */
static int64_t max_buffered(const struct sl_request *request)
{
    int64_t max = request->live->config.server.max_buffered_bytes;
    return (request->audiences & SL_FOR_SCHEDULER) != 0 ? max : max / 2;
}

bool sl_connection_weigh(struct sl_connection *connection)
{
    const struct sl_http *http = connection->listener->http;
    size_t now =
        http->service->workspace_bytes(connection->workspace) + connection->request.reply.cap;
    int64_t more = (int64_t)now - (int64_t)connection->held;
    connection->held = now;
    int64_t all = atomic_fetch_add(&http->metrics->buffered, more) + more;
    return more <= 0 || now <= OWN_BYTES || all <= max_buffered(&connection->request);
}

size_t sl_connection_room(const struct sl_request *request)
{
    int64_t room = max_buffered(request) - atomic_load(&request->metrics->buffered);
    return room > OWN_BYTES ? (size_t)room : OWN_BYTES;
}

static void reset_workspace(struct sl_connection *connection, bool all)
{
    connection->listener->http->service->workspace_reset(connection->workspace, all);
    (void)sl_connection_weigh(connection);
}

void sl_connection_shed(struct sl_connection *connection)
{
    reset_workspace(connection, true);
}

void sl_connection_rest(struct sl_connection *connection)
{
    struct sl_request *request = &connection->request;
    sl_buf_free(&request->reply);
    reset_workspace(connection, sl_connection_room(request) < (size_t)max_buffered(request) / 2);
}

/* ---- begin and end ---- */

/* The same for all peers of one address; an IPv6 network counts as one. */
static uint16_t hash_address(struct MHD_Connection *http)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    uint64_t hash = 0;
    if (info != NULL && info->client_addr->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)info->client_addr;
        hash = sl_hash((const char *)&v4->sin_addr, sizeof(v4->sin_addr));
    } else if (info != NULL && info->client_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 =
            (const struct sockaddr_in6 *)(const void *)info->client_addr;
        bool v4 = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
        hash = sl_hash((const char *)&v6->sin6_addr, v4 ? sizeof(v6->sin6_addr) : 8);
    }
    return (uint16_t)(hash % SL_ADDRESSES);
}

/* Asks for a certificate where the verbs are served, what the API server forwards, and where the
 * metrics have an address of their own: the others are for everybody. */
static void prepare_tls(const struct sl_listener *listener, struct MHD_Connection *http)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info != NULL && (listener->audiences & SL_FOR_SCHEDULER) != 0) {
        sl_tls_prepare(listener->tls, SL_TLS_SCHEDULER, info->tls_session);
    } else if (info != NULL && listener->audiences == SL_FOR_MONITORING) {
        sl_tls_prepare(listener->tls, SL_TLS_MONITORING, info->tls_session);
    } else if (info != NULL && (listener->audiences & SL_FOR_FORWARDED) != 0) {
        gnutls_certificate_server_set_request(info->tls_session, GNUTLS_CERT_REQUEST);
    }
}

/* NULL when out of memory: the connection's requests are then refused. */
static struct sl_connection *open_connection(struct sl_listener *listener,
                                             struct MHD_Connection *http)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sl_connection *fresh = info == NULL ? NULL : calloc(1, sizeof(*fresh));
    struct sl_workspace *workspace =
        fresh == NULL ? NULL : listener->http->service->workspace_new();
    if (workspace == NULL) {
        free(fresh);
        return NULL;
    }
    fresh->listener = listener;
    fresh->workspace = workspace;
    sl_connection_wait(fresh, SL_LIMIT_HEADER_TIME, SL_WAIT_FACTOR);
    size_t n = sl_deadlines_add(&listener->deadlines, &fresh->deadline, info->connect_fd,
                                hash_address(http));
    if (n > listener->max_connections) {
        (void)sl_deadlines_make_room(&listener->deadlines, &fresh->deadline);
        sl_metrics_limit(listener->http->metrics, SL_LIMIT_CONNECTIONS);
    }
    return fresh;
}

/* The library closes the socket only after this. */
static void close_connection(struct sl_connection *old)
{
    const struct sl_http *http = old->listener->http;
    (void)atomic_fetch_sub(&http->metrics->buffered, (int64_t)old->held);
    sl_deadlines_remove(&old->listener->deadlines, &old->deadline);
    http->service->workspace_free(old->workspace);
    free(old);
}

void sl_connection_notify(void *context, struct MHD_Connection *http, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct sl_listener *listener = context;
    _Atomic int64_t *open = &listener->http->metrics->connections;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        if (listener->tls != NULL) {
            prepare_tls(listener, http);
        }
        *socket_context = open_connection(listener, http);
        (void)atomic_fetch_add(open, 1);
        return;
    }
    (void)atomic_fetch_sub(open, 1);
    if (*socket_context != NULL) {
        close_connection(*socket_context);
        *socket_context = NULL;
    }
}
