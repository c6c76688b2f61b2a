/* The HTTP library as far as the server's handlers use it, without sockets: a request is played to
 * them in this process, its body in pieces, and suspended requests wait to be carried on. */
#ifndef SLICED_ADVERSARY_FAKE_HTTP_H
#define SLICED_ADVERSARY_FAKE_HTTP_H

#include "adversary/random.h"
#include "server/app/app.h"

struct http_call; /* one request under way */

struct http_reply {
    unsigned status; /* 0: the connection was closed without an answer */
    char *text;      /* NUL-terminated; http_reply_free */
    size_t len;
};

/* Plays a request to its end, or until it is suspended: then *call is set and http_go_on is to be
 * called until it says true. path with its query. True: there is a reply. */
bool http_begin(struct sl_app *app, struct rng *rng, const char *method, const char *path,
                const char *body, struct http_reply *reply, struct http_call **call);
/* The same of a request that the API server forwards for that user, whose name stays as long as the
 * request does. A stream, of status 200, counts as suspended: it is http_read, and ended. */
bool http_begin_as(struct sl_app *app, struct rng *rng, const char *user, const char *method,
                   const char *path, const char *body, struct http_reply *reply,
                   struct http_call **call);
/* Reads what the stream has to say now. */
size_t http_read(struct http_call *call, char *out, size_t size);
void http_end(struct http_call *call);
/* Carries a suspended request on, if it may; true: it is over, and *call freed. */
bool http_go_on(struct http_call *call, struct http_reply *reply);
void http_reply_free(struct http_reply *reply);

#endif
