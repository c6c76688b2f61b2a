/* HTTP over a blocking socket. */
#include "client.h"

#include "bench.h"
#include "util/data/vec.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 4096 }; /* for what is received at once, at least */

void bench_request_init(struct bench_request *request, const char *path, const char *body,
                        size_t body_len)
{
    int n = snprintf(request->header, sizeof(request->header),
                     "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     path, body_len);
    request->header_len = (size_t)n;
    request->body = body;
    request->body_len = body_len;
}

void bench_client_open(struct bench_client *client, unsigned port)
{
    *client = (struct bench_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1;
    if (client->fd < 0 ||
        connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        bench_die("cannot connect to port %u: %s", port, strerror(errno)); // NOLINT
    }
    (void)setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void send_all(int fd, const char *data, size_t len, int flags)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL | flags);
        if (n <= 0) {
            bench_die("a server closed the connection within a request");
        }
        data += n;
        len -= (size_t)n;
    }
}

/* Receives some more; the reply stays NUL-terminated. */
static void receive_some(struct bench_client *client)
{
    if (sl_vec_reserve(&client->reply, &client->reply_cap, client->reply_len + ROOM, 1) < 0) {
        bench_die("out of memory");
    }
    ssize_t n = recv(client->fd, client->reply + client->reply_len,
                     client->reply_cap - client->reply_len - 1, 0);
    if (n <= 0) {
        bench_die("a server closed the connection before its reply was complete");
    }
    client->reply_len += (size_t)n;
    client->reply[client->reply_len] = '\0';
}

/* Length of the whole reply, from its headers. */
static size_t expected_len(const char *reply, const char *end_of_headers)
{
    for (const char *line = strstr(reply, "\r\n"); line != NULL && line < end_of_headers;
         line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, "Content-Length:", 15) == 0) {
            return (size_t)(end_of_headers + 4 - reply) + strtoul(line + 17, NULL, 10);
        }
    }
    bench_die("a reply has no Content-Length");
}

void bench_client_call(struct bench_client *client, const struct bench_request *request)
{
    const char *end = NULL;
    client->reply_len = 0;
    send_all(client->fd, request->header, request->header_len, MSG_MORE);
    send_all(client->fd, request->body, request->body_len, 0);
    while (end == NULL) {
        receive_some(client);
        end = strstr(client->reply, "\r\n\r\n");
    }
    if (strncmp(client->reply, "HTTP/1.1 200", 12) != 0) {
        bench_die("not answered with 200: %s", client->reply);
    }
    size_t total = expected_len(client->reply, end);
    while (client->reply_len < total) {
        receive_some(client);
    }
}

void bench_client_close(struct bench_client *client)
{
    (void)close(client->fd);
    free(client->reply);
}
