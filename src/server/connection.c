/* Connections: their begin and end, and the one account of what they hold. */
#include "server/connection.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "server/process.h"
#include "server/workspace.h"

/* So much each may hold in any case, or nobody could see what is wrong. */
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

/* Half of it is the scheduler's, whatever strangers send to a webhook. */
static int64_t max_buffered(const struct sl_request *request)
{
    int64_t max = request->live->config.server.max_buffered_bytes;
    return (request->audiences & SL_FOR_SCHEDULER) != 0 ? max : max / 2;
}

bool sl_connection_weigh(struct sl_connection *connection)
{
    struct sl_app *app = connection->listener->app;
    size_t now = sl_workspace_bytes(&connection->workspace) + connection->request.reply.cap;
    int64_t more = (int64_t)now - (int64_t)connection->held;
    connection->held = now;
    int64_t all = atomic_fetch_add(&app->metrics.buffered, more) + more;
    return more <= 0 || now <= OWN_BYTES || all <= max_buffered(&connection->request);
}

size_t sl_connection_room(const struct sl_request *request)
{
    int64_t room = max_buffered(request) - atomic_load(&request->app->metrics.buffered);
    return room > OWN_BYTES ? (size_t)room : OWN_BYTES;
}

void sl_connection_rest(struct sl_connection *connection)
{
    struct sl_request *request = &connection->request;
    sl_buf_free(&request->reply);
    if (sl_connection_room(request) < (size_t)max_buffered(request) / 2) {
        sl_workspace_free(&connection->workspace);
        sl_workspace_init(&connection->workspace);
    } else {
        sl_workspace_reset(&connection->workspace);
    }
    (void)sl_connection_weigh(connection);
}

/* ---- begin and end ---- */

/* What the peers of one address have in common; of IPv6 a network is one. */
static uint16_t address_of(struct MHD_Connection *http)
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

/* Only the verbs are for who has a certificate. */
static void prepare_tls(const struct sl_listener *listener, struct MHD_Connection *http)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info != NULL && (listener->audiences & SL_FOR_SCHEDULER) != 0) {
        sl_tls_prepare(listener->tls, info->tls_session);
    }
}

/* NULL when out of memory: its requests are then refused. */
static struct sl_connection *open_connection(struct sl_listener *listener,
                                             struct MHD_Connection *http)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sl_connection *fresh = info == NULL ? NULL : calloc(1, sizeof(*fresh));
    if (fresh == NULL) {
        return NULL;
    }
    fresh->listener = listener;
    sl_workspace_init(&fresh->workspace);
    sl_connection_wait(fresh, SL_LIMIT_HEADER_TIME, SL_WAIT_FACTOR);
    size_t n = sl_deadlines_add(&listener->deadlines, &fresh->deadline, info->connect_fd,
                                address_of(http));
    if (n > listener->max_connections) {
        (void)sl_deadlines_make_room(&listener->deadlines, &fresh->deadline);
        sl_metrics_limit(&listener->app->metrics, SL_LIMIT_CONNECTIONS);
    }
    return fresh;
}

/* The library closes the socket only after this. */
static void close_connection(struct sl_connection *old)
{
    if (old != NULL) {
        (void)atomic_fetch_sub(&old->listener->app->metrics.buffered, (int64_t)old->held);
        sl_deadlines_remove(&old->listener->deadlines, &old->deadline);
        sl_workspace_free(&old->workspace);
        free(old);
    }
}

void sl_request_connection(void *context, struct MHD_Connection *http, void **socket_context,
                           enum MHD_ConnectionNotificationCode what)
{
    struct sl_listener *listener = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        if (listener->tls != NULL) {
            prepare_tls(listener, http);
        }
        *socket_context = open_connection(listener, http);
        (void)atomic_fetch_add(&listener->app->metrics.connections, 1);
    } else {
        (void)atomic_fetch_sub(&listener->app->metrics.connections, 1);
        close_connection(*socket_context);
        *socket_context = NULL;
    }
}
