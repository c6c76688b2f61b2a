/* A connection: what lives as long as it does, and the memory that its requests hold. */
#ifndef SLICED_SERVER_CONNECTION_H
#define SLICED_SERVER_CONNECTION_H

#include "server/http/request.h"
#include "server/net/tls.h"

enum {
    SL_SLOW_FACTOR = 4, /* a body, and a reply's reading, may take that many idle timeouts in all */
    SL_WAIT_FACTOR = 2, /* so may the wait for a request and its headers: one for each */
};

/* One request at a time runs on a connection, so both live and die with it. */
struct sl_connection {
    struct sl_listener *listener;
    struct sl_request request;
    struct sl_workspace *workspace;
    struct sl_tls_peer peer;
    struct sl_deadline deadline; /* none while the server is at work */
    size_t held;                 /* bytes of metrics->buffered that are this connection's */
};

/* The callback of struct sl_server_calls; context is the struct sl_listener. */
void sl_connection_notify(void *context, struct MHD_Connection *http, void **socket_context,
                          enum MHD_ConnectionNotificationCode what);

/* NULL when there was no memory for it. */
struct sl_connection *sl_connection_of(struct MHD_Connection *http);

/* From now on waits for the peer, for factor idle timeouts at most; what is counted then. */
void sl_connection_wait(struct sl_connection *connection, enum sl_limit what, int factor);

/* Counts anew what the connection holds: its workspace and its reply. False when all connections
 * together hold more than server.maxBufferedBytes and this one has grown: it should let go. */
bool sl_connection_weigh(struct sl_connection *connection);

/* Bytes that a request may still take of server.maxBufferedBytes; a little in any case. */
size_t sl_connection_room(const struct sl_request *request);

/* Gives back all that the workspace holds. */
void sl_connection_shed(struct sl_connection *connection);

/* After a request's end: keeps little for the next, nothing while memory is short. */
void sl_connection_rest(struct sl_connection *connection);

/* May the request be asked, by this peer and in this form? Called before its body is read. -1 after
 * sl_request_fail, with request->err set. method, version: where the library has them, as in "GET"
 * and "HTTP/1.1"; matched: there is such a route. */
int sl_request_check(struct sl_connection *connection, const char *method, const char *version,
                     bool matched);
/* Do its headers leave no doubt where it ends? -1 after sl_request_fail; the connection then ends
 * with the answer. */
int sl_request_check_framing(struct sl_request *request, const char *method, const char *version);
/* The longest body that it may have. */
int64_t sl_request_max_body(const struct sl_request *request);

#endif
