/* An API server that does what a real one cannot be told to: scripted answers, bodies in pieces of
 * any size, cut anywhere, connections that hang. HTTP or HTTPS on loopback, a thread a connection.
 */
#ifndef SLICED_TEST_FAKE_API_H
#define SLICED_TEST_FAKE_API_H

#include "kube/access/kubeconfig.h"
#include "unit/test.h"

struct fake_api;

/* A request as it came; text is the fake's, for as long as it lives. */
struct fake_request {
    const char *method;
    const char *path; /* with its query */
    const char *authorization;
    const char *content_type;
    const char *host;
    const char *server_name; /* HTTPS: the one that was asked for (SNI), NULL: none */
    const char *peer;        /* HTTPS: of the client's certificate, if client_ca signed it */
    const char *body;        /* NUL-terminated */
    size_t body_len;
    unsigned connection; /* counted from 1 */
    int64_t at_us;       /* monotonic */
};

enum fake_kind {
    FAKE_REPLY,
    FAKE_HANG,  /* takes the request and never answers (until the end, or fake_api_release) */
    FAKE_CLOSE, /* takes the request and closes the connection without an answer */
};

struct fake_answer {
    const char *method; /* NULL: any */
    const char *path;   /* what the path begins with; NULL: any */
    const char *body;   /* must outlive the fake unless free_body is set; NULL: "{}" */
    size_t body_len;    /* 0: strlen(body) */
    const char *retry_after;
    size_t piece; /* bytes at a time, chunked as a watch is; 0: at once, with its length */
    size_t cut_at;
    /* Makes the answer when not NULL: *reply is a copy of this entry; a body that it allocates with
     * malloc is freed when free_body is set. Under the fake's lock: one at a time. */
    void (*fn)(void *context, const struct fake_request *request, struct fake_answer *reply);
    void *context;
    unsigned times; /* then it is used up, and the next that fits is taken; 0: always */
    enum fake_kind kind;
    unsigned status;   /* 0: 200 */
    unsigned pause_ms; /* before each piece */
    bool cut;          /* the connection is closed after cut_at bytes of the body */
    bool hang;         /* after cut_at bytes nothing more comes, the connection stays */
    bool free_body;
};

struct fake_api *fake_api_start(void);

/* PEM, which must outlive the fake. */
struct fake_tls {
    const char *cert;
    const char *key;
    const char *client_ca; /* NULL: clients are asked for no certificate */
};
struct fake_api *fake_api_start_tls(const struct fake_tls *tls);

void fake_api_stop(struct fake_api *api);

/* Where it listens, "http://127.0.0.1:PORT", "https:..." */
const char *fake_api_url(const struct fake_api *api);
/* Access with nothing but the server's name. */
struct sl_kube_access fake_api_access(const struct fake_api *api);

/* Adds an answer at the end of the script; what nothing fits gets 404. Copied. */
void fake_api_add(struct fake_api *api, struct fake_answer answer);
/* Forgets the script; requests that were taken keep what they got. */
void fake_api_clear(struct fake_api *api);
/* Lets everything that hangs go: the connections are closed. */
void fake_api_release(struct fake_api *api);

unsigned fake_api_requests(struct fake_api *api);
unsigned fake_api_connections(struct fake_api *api);
/* Request number at (from 0); fails the test when there is none. */
const struct fake_request *fake_api_request(struct fake_api *api, unsigned at);
/* How many requests have that method (NULL: any) and a path that begins so. */
unsigned fake_api_count(struct fake_api *api, const char *method, const char *path);
/* Waits until there were n requests in all; fails the test after a minute. */
void fake_api_wait(struct fake_api *api, unsigned n);

#endif
