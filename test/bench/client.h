/* A client on one kept-alive connection; as little as HTTP/1.1 needs, so that the servers are what
 * is measured. Ends the program when a call fails. */
#ifndef SLICED_BENCH_CLIENT_H
#define SLICED_BENCH_CLIENT_H

#include <stddef.h>

struct bench_request {
    char header[256];
    size_t header_len;
    const char *body; /* borrowed */
    size_t body_len;
};

struct bench_client {
    int fd;
    char *reply; /* headers and body of the last reply */
    size_t reply_len;
    size_t reply_cap;
};

void bench_request_init(struct bench_request *request, const char *path, const char *body,
                        size_t body_len);

void bench_client_open(struct bench_client *client, unsigned port);
void bench_client_call(struct bench_client *client, const struct bench_request *request);
void bench_client_close(struct bench_client *client);

#endif
