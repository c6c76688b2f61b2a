/* Takes the place of libmicrohttpd. */
#include "adversary/fake_http.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/connection.h"
#include "server/http/serve.h"

enum { ARGUMENTS_MAX = 8, TEXT_MAX = 512 };

struct MHD_Response {
    char *data;
    size_t len;
    bool owned;
    MHD_ContentReaderCallback read; /* NULL: it is whole */
    void *context;
};

struct MHD_Connection {
    struct sl_listener *listener;
    void *socket_context;
    void *request;
    union MHD_ConnectionInfo info;
    struct sockaddr_in address;
    char method[16];
    char path[TEXT_MAX];
    char query[TEXT_MAX];
    const char *argument[ARGUMENTS_MAX][2];
    unsigned n_arguments;
    char length[24];
    const char *user; /* for whom the API server forwards it; NULL: it comes by itself */
    bool begun;
    struct MHD_Response stream;
    _Atomic int suspended;
    unsigned status;
    char *data;
    size_t len;
};

struct http_call {
    struct MHD_Connection connection;
};

/* ---- the library's functions ---- */

/* One that leaves no bytes of a head behind to be judged. */
const char *MHD_get_version(void)
{
    return "1.0";
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType type, ...)
{
    switch (type) {
    case MHD_CONNECTION_INFO_SOCKET_CONTEXT:
        connection->info.socket_context = connection->socket_context;
        break;
    case MHD_CONNECTION_INFO_CONNECTION_FD:
        connection->info.connect_fd = -1;
        break;
    case MHD_CONNECTION_INFO_CLIENT_ADDRESS:
        connection->info.client_addr = (struct sockaddr *)&connection->address;
        break;
    case MHD_CONNECTION_INFO_GNUTLS_SESSION:
        connection->info.tls_session = NULL; /* nobody looks into it: hooks.c believes all */
        return connection->user != NULL && connection->begun ? &connection->info : NULL;
    default:
        return NULL;
    }
    return &connection->info;
}

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *key)
{
    if (kind == MHD_HEADER_KIND && strcmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
        return connection->length;
    }
    if (kind == MHD_HEADER_KIND && strcmp(key, "X-Remote-User") == 0) {
        return connection->user;
    }
    for (unsigned i = 0; kind == MHD_GET_ARGUMENT_KIND && i < connection->n_arguments; i++) {
        if (strcmp(connection->argument[i][0], key) == 0) {
            return connection->argument[i][1];
        }
    }
    return NULL;
}

int MHD_get_connection_values(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                              MHD_KeyValueIterator iterator, void *context)
{
    for (unsigned i = 0; kind == MHD_GET_ARGUMENT_KIND && i < connection->n_arguments; i++) {
        if (iterator(context, kind, connection->argument[i][0], connection->argument[i][1]) ==
            MHD_NO) {
            break;
        }
    }
    return (int)connection->n_arguments;
}

struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *buffer,
                                                     enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = malloc(sizeof(*response));
    if (response == NULL) {
        abort();
    }
    *response =
        (struct MHD_Response){.data = buffer, .len = size, .owned = mode == MHD_RESPMEM_MUST_FREE};
    return response;
}

struct MHD_Response *MHD_create_response_from_callback(uint64_t size, size_t block,
                                                       MHD_ContentReaderCallback read,
                                                       void *context,
                                                       MHD_ContentReaderFreeCallback free_context)
{
    struct MHD_Response *response = malloc(sizeof(*response));
    (void)size;
    (void)block;
    (void)free_context;
    if (response == NULL) {
        abort();
    }
    *response = (struct MHD_Response){.read = read, .context = context};
    return response;
}

void MHD_destroy_response(struct MHD_Response *response)
{
    if (response->owned) {
        free(response->data);
    }
    free(response);
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *response, const char *header,
                                        const char *content)
{
    (void)response;
    (void)header;
    (void)content;
    return MHD_YES;
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response)
{
    connection->status = status;
    if (response->read != NULL) {
        connection->stream = *response;
        return MHD_YES;
    }
    connection->len = response->len;
    connection->data = malloc(response->len + 1);
    if (connection->data == NULL) {
        abort();
    }
    memcpy(connection->data, response->data, response->len);
    connection->data[response->len] = '\0';
    return MHD_YES;
}

void MHD_suspend_connection(struct MHD_Connection *connection)
{
    atomic_store(&connection->suspended, 1);
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
    atomic_store(&connection->suspended, 0);
}

/* ---- playing ---- */

static void cut_query(struct MHD_Connection *connection, const char *path)
{
    (void)snprintf(connection->path, sizeof(connection->path), "%s", path);
    char *rest = strchr(connection->path, '?');
    if (rest != NULL) {
        (void)snprintf(connection->query, sizeof(connection->query), "%s", rest + 1);
        *rest = '\0';
        rest = connection->query;
    }
    while (rest != NULL && connection->n_arguments < ARGUMENTS_MAX) {
        char *next = strchr(rest, '&');
        char *value = strchr(rest, '=');
        connection->argument[connection->n_arguments][0] = rest;
        connection->argument[connection->n_arguments++][1] = value == NULL ? NULL : value + 1;
        if (next != NULL) {
            *next++ = '\0';
        }
        if (value != NULL) {
            *value = '\0';
        }
        rest = next;
    }
}

static enum MHD_Result handle(struct MHD_Connection *connection, const char *data, size_t *len)
{
    return sl_serve_request(connection->listener, connection, connection->path, connection->method,
                            "HTTP/1.1", data, len, &connection->request);
}

/* The end of the request and of its connection. */
static bool end(struct http_call *call, struct http_reply *reply)
{
    struct MHD_Connection *connection = &call->connection;
    sl_serve_completed(connection->listener, connection, &connection->request,
                       MHD_REQUEST_TERMINATED_COMPLETED_OK);
    sl_connection_notify(connection->listener, connection, &connection->socket_context,
                         MHD_CONNECTION_NOTIFY_CLOSED);
    *reply = (struct http_reply){connection->status, connection->data, connection->len};
    free(call);
    return true;
}

static bool send_body(struct MHD_Connection *connection, struct rng *rng, const char *body)
{
    size_t left = strlen(body);
    while (left > 0 && connection->status == 0) {
        size_t piece = rng_chance(rng, 50) ? left : 1 + rng_next(rng) % left;
        size_t len = piece;
        if (handle(connection, body, &len) == MHD_NO) {
            return false;
        }
        body += piece - len;
        left -= piece - len;
    }
    return true;
}

bool http_go_on(struct http_call *call, struct http_reply *reply)
{
    struct MHD_Connection *connection = &call->connection;
    size_t none = 0;
    if (atomic_load(&connection->suspended) != 0) {
        return false;
    }
    if (handle(connection, NULL, &none) == MHD_YES && connection->status == 0) {
        if (atomic_load(&connection->suspended) != 0) {
            return false;
        }
        return http_go_on(call, reply); /* it was woken before it had slept */
    }
    return connection->stream.read == NULL && end(call, reply);
}

size_t http_read(struct http_call *call, char *out, size_t size)
{
    struct MHD_Connection *connection = &call->connection;
    size_t len = 0;
    ssize_t n = 1;
    while (n > 0 && len < size && atomic_load(&connection->suspended) == 0) {
        n = connection->stream.read(connection->stream.context, len, out + len, size - len);
        len += n > 0 ? (size_t)n : 0;
    }
    return len;
}

void http_end(struct http_call *call)
{
    struct http_reply reply;
    (void)end(call, &reply);
    http_reply_free(&reply);
}

bool http_begin(struct sl_app *app, struct rng *rng, const char *method, const char *path,
                const char *body, struct http_reply *reply, struct http_call **call)
{
    return http_begin_as(app, rng, NULL, method, path, body, reply, call);
}

bool http_begin_as(struct sl_app *app, struct rng *rng, const char *user, const char *method,
                   const char *path, const char *body, struct http_reply *reply,
                   struct http_call **call)
{
    struct http_call *fresh = calloc(1, sizeof(*fresh));
    if (fresh == NULL) {
        abort();
    }
    struct MHD_Connection *connection = &fresh->connection;
    connection->listener =
        &app->http.listener[user == NULL ? SL_LISTENER_MAIN : SL_LISTENER_VISIBILITY];
    connection->user = user;
    connection->address.sin_family = AF_INET;
    connection->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)snprintf(connection->method, sizeof(connection->method), "%s", method);
    (void)snprintf(connection->length, sizeof(connection->length), "%zu",
                   body == NULL ? (size_t)0 : strlen(body));
    cut_query(connection, path);
    sl_connection_notify(connection->listener, connection, &connection->socket_context,
                         MHD_CONNECTION_NOTIFY_STARTED);
    connection->begun = true;
    size_t none = 0;
    *call = NULL;
    if (handle(connection, NULL, &none) == MHD_NO || connection->status != 0 ||
        !send_body(connection, rng, body == NULL ? "" : body) || connection->status != 0) {
        return end(fresh, reply);
    }
    if (http_go_on(fresh, reply)) {
        return true;
    }
    *call = fresh;
    return false;
}

void http_reply_free(struct http_reply *reply)
{
    free(reply->text);
    *reply = (struct http_reply){.status = 0};
}
