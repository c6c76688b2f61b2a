/* Listening socket and libmicrohttpd daemon. */
#include "server/net/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/log.h"

/* GnuTLS' own choice without what RFC 8996 has deprecated */
#define PRIORITIES "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1:-VERS-DTLS-ALL:%SERVER_PRECEDENCE"

enum { THREADS_MAX = 64, HOST_MAX = 256, PORT_MAX = 16, BACKLOG_DEFAULT = 4096 };

struct sl_server {
    struct MHD_Daemon *daemon;
    MHD_socket quiesced; /* the listening socket once nobody accepts from it any more */
    unsigned port;
    char address[HOST_MAX + PORT_MAX + 4];
};

/* getaddrinfo() would take 99999 for 34463. */
static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 5 && text[digits] == '\0' && strtoul(text, NULL, 10) <= 65535;
}

/* Takes "host:port" apart and drops the brackets around a v6 address. */
static int split_listen(const char *listen, char host[HOST_MAX], char port[PORT_MAX],
                        struct sl_error *err)
{
    const char *colon = strrchr(listen, ':');
    if (colon == NULL || colon[1] == '\0' || strlen(colon + 1) >= PORT_MAX) {
        return sl_error_set(err, SL_ERR_FIELD, "\"%s\" is not ADDRESS:PORT", listen);
    }
    if (!is_port(colon + 1)) {
        return sl_error_set(err, SL_ERR_FIELD, "\"%s\" is no port: a number from 0 to 65535 is",
                            colon + 1);
    }
    const char *from = listen;
    size_t len = (size_t)(colon - listen);
    if (len >= 2 && from[0] == '[' && from[len - 1] == ']') {
        from++;
        len -= 2;
    }
    if (len >= HOST_MAX) {
        return sl_error_set(err, SL_ERR_FIELD, "the address in \"%s\" is too long", listen);
    }
    memcpy(host, from, len);
    host[len] = '\0';
    (void)snprintf(port, PORT_MAX, "%s", colon + 1);
    return 0;
}

/* Opens a socket that listens; it does not block because the pool's threads share it. */
static int open_socket(const struct addrinfo *info, int backlog)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 &&
        listen(fd, backlog > 0 ? backlog : BACKLOG_DEFAULT) == 0) {
        return fd;
    }
    int kept = errno;
    (void)close(fd);
    errno = kept;
    return -1;
}

/* The addresses that listen stands for: freeaddrinfo. NULL with *err set. */
static struct addrinfo *resolve_listen(const char *listen, struct sl_error *err)
{
    char host[HOST_MAX] = "";
    char port[PORT_MAX] = "";
    if (split_listen(listen, host, port, err) < 0) {
        return NULL;
    }
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host[0] == '\0' ? NULL : host, port, &hints, &list);
    if (rc != 0) {
        (void)sl_error_set(err, SL_ERR_SYSTEM, "cannot listen on %s: %s", listen, gai_strerror(rc));
        return NULL;
    }
    return list;
}

int sl_server_check_listen(const char *listen, struct sl_error *err)
{
    struct addrinfo *list = resolve_listen(listen, err);
    if (list == NULL) {
        return -1;
    }
    freeaddrinfo(list);
    return 0;
}

static int listen_on(const char *listen, int backlog, struct sl_error *err)
{
    struct addrinfo *list = resolve_listen(listen, err);
    if (list == NULL) {
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next) {
        fd = open_socket(at, backlog);
    }
    int kept = errno;
    freeaddrinfo(list);
    if (fd < 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "cannot listen on %s: %s", listen,
                            strerror(kept)); // NOLINT(concurrency-mt-unsafe)
    }
    return fd;
}

/* Asks the socket, because port 0 has become a real port. */
static void read_address(struct sl_server *server, int fd)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    char host[HOST_MAX];
    char port[PORT_MAX];
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0 ||
        getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return;
    }
    server->port = (unsigned)strtoul(port, NULL, 10);
    (void)snprintf(server->address, sizeof(server->address),
                   strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
}

unsigned sl_server_threads(unsigned asked)
{
    long n = asked != 0 ? (long)asked : sysconf(_SC_NPROCESSORS_ONLN);
    if (n < 1) {
        n = 1;
    }
    return n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

__attribute__((format(printf, 2, 0))) static void log_library(void *context, const char *format,
                                                              va_list args)
{
    (void)context;
    char text[256];
    int n = vsnprintf(text, sizeof(text), format, args);
    size_t len = n < 0 ? 0 : strlen(text);
    while (len > 0 && text[len - 1] == '\n') {
        text[--len] = '\0';
    }
    sl_log(SL_LOG_DEBUG, "http library", "text", text, (char *)NULL);
}

/* Leaves a path with an escaped NUL as it is, so that no route has it: the NUL would cut it. */
static size_t unescape_path(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strstr(text, "%00") != NULL ? strlen(text) : MHD_http_unescape(text);
}

static struct MHD_Daemon *start_daemon(const struct sl_server_options *options,
                                       const struct sl_server_calls *calls, int fd)
{
    unsigned threads = sl_server_threads(options->threads);
    unsigned connections = options->max_connections;
    if (connections < threads) {
        threads = connections > 0 ? connections : 1;
        connections = threads;
    }
    connections += threads * options->slack;
    struct MHD_OptionItem items[] = {
        {MHD_OPTION_LISTEN_SOCKET, fd, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)options->idle_timeout_s, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)options->connection_memory, NULL},
        /* the read buffer grows in these steps: few steps mean few system calls on a big body */
        {MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (intptr_t)(options->connection_memory / 4), NULL},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)calls->completed, calls->context},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)calls->connection, calls->context},
        /* last: it is left out for one thread, which needs no pool */
        {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    /* Not epoll: the library (0.9.75) uses it edge-triggered and forgets the edge after a read that
     * did not fill its buffer. A client's end that arrives with its last bytes would be seen only
     * at the timeout. poll costs some microseconds more a call. */
    unsigned flags = MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | (options->tls != NULL ? MHD_USE_TLS : 0);
    return MHD_start_daemon(
        flags, 0, NULL, NULL, calls->handle, calls->context, MHD_OPTION_EXTERNAL_LOGGER,
        log_library, (void *)NULL, MHD_OPTION_UNESCAPE_CALLBACK, unescape_path, (void *)NULL,
        MHD_OPTION_ARRAY, items,
        options->tls != NULL ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, PRIORITIES,
        MHD_OPTION_HTTPS_CERT_CALLBACK2, sl_tls_retrieve, MHD_OPTION_END);
}

struct sl_server *sl_server_start(const struct sl_server_options *options,
                                  const struct sl_server_calls *calls, struct sl_error *err)
{
    struct sl_server *server = calloc(1, sizeof(*server));
    if (server == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    int fd = listen_on(options->listen, options->backlog, err);
    if (fd < 0) {
        free(server);
        return NULL;
    }
    server->quiesced = MHD_INVALID_SOCKET;
    read_address(server, fd);
    server->daemon = start_daemon(options, calls, fd);
    if (server->daemon == NULL) {
        (void)sl_error_set(err, SL_ERR_SYSTEM, "cannot start the HTTP server's threads");
        (void)close(fd);
        free(server);
        return NULL;
    }
    return server;
}

const char *sl_server_address(const struct sl_server *server)
{
    return server->address;
}

unsigned sl_server_port(const struct sl_server *server)
{
    return server->port;
}

void sl_server_quiesce(struct sl_server *server)
{
    if (server->quiesced == MHD_INVALID_SOCKET) {
        server->quiesced = MHD_quiesce_daemon(server->daemon);
        if (server->quiesced != MHD_INVALID_SOCKET) {
            /* newcomers are refused at once; in the backlog they would wait for nothing */
            (void)shutdown(server->quiesced, SHUT_RDWR);
        }
    }
}

void sl_server_stop(struct sl_server *server)
{
    if (server != NULL) {
        MHD_stop_daemon(server->daemon);
        /* not earlier: the pool's threads let go of it with some delay */
        if (server->quiesced != MHD_INVALID_SOCKET) {
            (void)close(server->quiesced);
        }
        free(server);
    }
}
