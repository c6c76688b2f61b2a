/* An HTTP server: listening socket, thread pool, limits, quiet end. It knows nothing of requests; a
 * benchmark runs its null handler on the same options. */
#ifndef SLICED_SERVER_SERVER_H
#define SLICED_SERVER_SERVER_H

#include <microhttpd.h>

#include "server/net/tls.h"
#include "util/error.h"
#include "util/str.h"

struct sl_server;

struct sl_server_options {
    const char *listen;       /* "ADDRESS:PORT", "[V6]:PORT" or ":PORT"; port 0 picks a free one */
    unsigned threads;         /* 0: one per processor */
    unsigned max_connections; /* with slack more for each thread; the next waits in the backlog */
    unsigned slack;
    size_t connection_memory; /* bytes per connection for headers and one piece of a body */
    unsigned idle_timeout_s;  /* a connection idle that long is closed */
    int backlog;              /* of the listening socket */
    struct sl_tls *tls;       /* NULL: plain HTTP; must outlive the server */
};

/* Called from any of the server's threads. context is the first argument of all of them. */
struct sl_server_calls {
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback completed;  /* may be NULL */
    MHD_NotifyConnectionCallback connection; /* may be NULL */
    void *context;
};

/* How many threads that many asked for are; 0: one per processor. */
unsigned sl_server_threads(unsigned asked);

/* Checks an address without listening, as far as that can be. -1 with *err set. */
int sl_server_check_listen(const char *listen, struct sl_error *err);

/* Listens and starts the threads. NULL with *err set when it cannot. */
struct sl_server *sl_server_start(const struct sl_server_options *options,
                                  const struct sl_server_calls *calls, struct sl_error *err);

/* Where the server listens, "127.0.0.1:8080"; the text lives as long as the server. */
const char *sl_server_address(const struct sl_server *server);
unsigned sl_server_port(const struct sl_server *server);

/* Accepts no more connections; open ones are still served. */
void sl_server_quiesce(struct sl_server *server);

/* Closes what is open and ends the threads. NULL is allowed. */
void sl_server_stop(struct sl_server *server);

#endif
