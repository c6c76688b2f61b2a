/* What the tests of the client share: a fake API server, a client of it, and calls whose answers
 * are waited for. */
#ifndef SLICED_TEST_CALLS_H
#define SLICED_TEST_CALLS_H

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "fake_api.h"
#include "kube/client/client.h"

#define MS INT64_C(1000)

/* Waits, under the lock, for a signal. False: none came within a minute. */
static inline bool calls_wait(pthread_cond_t *changed, pthread_mutex_t *lock)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    return pthread_cond_timedwait(changed, lock, &until) == 0;
}

struct rig {
    struct fake_api *api;
    struct sl_kube_access access;
    struct sl_client_options options;
    struct sl_client *client;
};

static inline void rig_start_client(struct rig *rig)
{
    struct sl_error err;
    rig->client = sl_client_new(&rig->options, &err);
    assert_non_null(rig->client);
}

/* A client of that server, not started yet. */
static inline void rig_prepare(struct rig *rig, struct fake_api *api)
{
    *rig = (struct rig){.api = api};
    rig->access = fake_api_access(rig->api);
    rig->options = (struct sl_client_options){.access = &rig->access,
                                              .user_agent = "test",
                                              .burst = 1,
                                              .max_in_flight = 32,
                                              .max_queued = 10000,
                                              .connect_timeout_us = 5000 * MS,
                                              .max_reply = 1 << 20};
}

/* A server, and a client without a rate limit. */
static inline void rig_start(struct rig *rig)
{
    rig_prepare(rig, fake_api_start());
    rig_start_client(rig);
}

static inline void rig_end(struct rig *rig)
{
    sl_client_free(rig->client);
    fake_api_stop(rig->api);
}

static inline struct sl_call_options rig_get(const char *path)
{
    return (struct sl_call_options){.method = "GET",
                                    .path = path,
                                    .priority = SL_CALL_NORMAL,
                                    .repeatable = true,
                                    .timeout_us = 20000 * MS};
}

static inline struct sl_call_options rig_post(const char *path)
{
    return (struct sl_call_options){.method = "POST",
                                    .path = path,
                                    .body = SL_STR("{\"kind\":\"Binding\"}"),
                                    .priority = SL_CALL_BIND,
                                    .max_tries = 3,
                                    .timeout_us = 20000 * MS};
}

/* An answer that comes some time. */
struct pending {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned done; /* how often done was called */
    struct sl_reply reply;
    char body[256];
};

#define PENDING_INIT                                                                               \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

static inline void pending_done(void *context, const struct sl_reply *reply)
{
    struct pending *pending = context;
    (void)pthread_mutex_lock(&pending->lock);
    size_t len =
        reply->body.len < sizeof(pending->body) - 1 ? reply->body.len : sizeof(pending->body) - 1;
    pending->reply = *reply;
    pending->reply.body = (struct sl_str){pending->body, len};
    if (len > 0) {
        memcpy(pending->body, reply->body.s, len);
    }
    pending->body[len] = '\0';
    pending->done++;
    (void)pthread_cond_broadcast(&pending->changed);
    (void)pthread_mutex_unlock(&pending->lock);
}

/* Waits until done was called n times. */
static inline void pending_wait(struct pending *pending, unsigned n)
{
    (void)pthread_mutex_lock(&pending->lock);
    while (pending->done < n) {
        assert_true(calls_wait(&pending->changed, &pending->lock));
    }
    (void)pthread_mutex_unlock(&pending->lock);
}

static inline uint64_t rig_call(struct rig *rig, struct sl_call_options call,
                                struct pending *pending)
{
    uint64_t id = 0;
    struct sl_error err;
    call.done = pending_done;
    call.context = pending;
    assert_int_equal(sl_client_call(rig->client, &call, &id, &err), 0);
    return id;
}

/* Waits for the answer; its body is not kept. */
static inline struct sl_reply rig_wait(struct rig *rig, struct sl_call_options call)
{
    struct pending pending = PENDING_INIT;
    rig_call(rig, call, &pending);
    pending_wait(&pending, 1);
    pending.reply.body = (struct sl_str){NULL, 0};
    return pending.reply;
}

/* Keeps the client's thread from going on, as a machine that stands still does. */
struct block {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed; /* the thread stands there */
    bool open;
};

#define BLOCK_INIT                                                                                 \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

static inline void block_stand(void *context)
{
    struct block *block = context;
    (void)pthread_mutex_lock(&block->lock);
    block->closed = true;
    (void)pthread_cond_broadcast(&block->changed);
    while (!block->open) {
        (void)pthread_cond_wait(&block->changed, &block->lock);
    }
    (void)pthread_mutex_unlock(&block->lock);
}

/* Returns when a thread stands there. */
static inline void block_wait(struct block *block)
{
    (void)pthread_mutex_lock(&block->lock);
    while (!block->closed) {
        (void)pthread_cond_wait(&block->changed, &block->lock);
    }
    (void)pthread_mutex_unlock(&block->lock);
}

/* Returns when the client's thread stands still. */
static inline void block_close(struct block *block, struct sl_client *client)
{
    assert_int_equal(sl_client_after(client, 0, block_stand, block), 0);
    block_wait(block);
}

static inline void block_open(struct block *block)
{
    (void)pthread_mutex_lock(&block->lock);
    block->open = true;
    (void)pthread_cond_broadcast(&block->changed);
    (void)pthread_mutex_unlock(&block->lock);
}

#endif
