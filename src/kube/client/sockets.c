/* Keeps the sockets that libcurl has open, and ends connections. */
#define _DEFAULT_SOURCE 1 /* TCP_USER_TIMEOUT */

#include <arpa/inet.h>
#include <asm/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kube/client/internal.h"

enum { UNACKED_MAX_MS = 20000 };

struct sl_socket *sl_sockets_find(struct sl_client *client, curl_socket_t fd)
{
    for (unsigned i = 0; i < client->n_sockets; i++) {
        if (client->sockets[i].fd == fd) {
            return &client->sockets[i];
        }
    }
    return NULL;
}

/* The kernel gives every socket a cookie that no other has, even when its number is used again.
 * False: no socket has that number. */
static bool socket_cookie(curl_socket_t fd, uint64_t *out)
{
    socklen_t size = sizeof(*out);
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, out, &size) == 0;
}

/* Drops sockets that libcurl has closed without a word, which it does with connections that are
 * still being made: their numbers may be other threads' files by now. */
static void sockets_sweep(struct sl_client *client)
{
    unsigned i = 0;
    while (i < client->n_sockets) {
        const struct sl_socket *socket = &client->sockets[i];
        uint64_t now = 0;
        if (socket_cookie(socket->fd, &now) && now == socket->cookie) {
            i++;
        } else {
            client->sockets[i] = client->sockets[--client->n_sockets];
        }
    }
}

void sl_sockets_shut_down(struct sl_client *client, long port)
{
    sockets_sweep(client);
    for (unsigned i = 0; i < client->n_sockets; i++) {
        struct sockaddr_in6 address; /* its port is where an IPv4 address has it */
        socklen_t len = sizeof(address);
        if (getsockname(client->sockets[i].fd, (struct sockaddr *)&address, &len) == 0 &&
            ntohs(address.sin6_port) == port) {
            (void)shutdown(client->sockets[i].fd, SHUT_RDWR);
        }
    }
}

/* ---- callbacks of libcurl ---- */

static void note_sockets(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    client->stats.sockets = client->n_sockets;
    (void)pthread_mutex_unlock(&client->lock);
}

/* A credential plugin does not inherit the socket. */
static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct sl_client *client = context;
    curl_socket_t fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    (void)purpose;
    if (fd == CURL_SOCKET_BAD) {
        return fd;
    }
    uint64_t cookie = 0;
    sockets_sweep(client);
    if (client->n_sockets == SL_SOCKETS_MAX || !socket_cookie(fd, &cookie)) {
        (void)close(fd);
        return CURL_SOCKET_BAD;
    }
    client->sockets[client->n_sockets++] = (struct sl_socket){.fd = fd, .cookie = cookie};
    note_sockets(client);
    return fd;
}

static int on_close(void *context, curl_socket_t fd)
{
    struct sl_client *client = context;
    struct sl_socket *known = sl_sockets_find(client, fd);
    if (known != NULL) {
        *known = client->sockets[--client->n_sockets];
        note_sockets(client);
    }
    return close(fd);
}

/* Bounds how long a peer may be gone without a word: the kernel's own patience is a quarter of an
 * hour, in which every call and watch of the connection would hang. */
static int on_made(void *context, curl_socket_t fd, curlsocktype purpose)
{
    const unsigned unacked_ms = UNACKED_MAX_MS;
    (void)context;
    (void)purpose;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof(unacked_ms));
    return CURL_SOCKOPT_OK;
}

void sl_sockets_use(struct sl_client *client, CURL *easy)
{
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, client);
    (void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    (void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, client);
    (void)curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_made);
}
