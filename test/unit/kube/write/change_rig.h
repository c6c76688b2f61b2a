/* What the tests of bindings, releases and cuts share: who leads, how a change ended, and single
 * answers of the API server. */
#ifndef SLICED_TEST_CHANGE_RIG_H
#define SLICED_TEST_CHANGE_RIG_H

#include "unit/kube/calls.h"

#include <stdatomic.h>
#include <stdio.h>

#include "kube/write/change.h"
#include "unit/kube/fake_clock.h"
#include "util/log.h"

#define SAYS(reason, code)                                                                         \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no " reason                         \
    "\",\"reason\":\"" reason "\",\"code\":" code "}"

/* no machine is as slow as that: only the fake clock ends it */
static const int64_t long_us = INT64_C(1000000000);

/* The leadership under which changes may be written. */
struct reign {
    atomic_int leads; /* how often still; negative: always */
    uint64_t leadership;
};

static inline bool leads(void *context, uint64_t leadership)
{
    struct reign *reign = context;
    int left = atomic_load(&reign->leads);
    if (left > 0) {
        (void)atomic_fetch_sub(&reign->leads, 1);
    }
    return left != 0 && leadership == reign->leadership;
}

/* Begins a reign without an end. */
static inline struct sl_change_options change_options(struct rig *rig, struct reign *reign)
{
    atomic_init(&reign->leads, -1);
    reign->leadership = 7;
    return (struct sl_change_options){
        .client = rig->client,
        .leads = leads,
        .context = reign,
        .timeout_us = long_us,
        .try_us = long_us,
        .backoff_us = 1 * MS,
        .backoff_max_us = 4 * MS,
    };
}

/* How a change ended. */
struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned done; /* how often that was told */
    int end;
    char text[384];
};

static inline struct outcome outcome_none(void)
{
    return (struct outcome){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
}

static inline void outcome_note(struct outcome *outcome, int end, const struct sl_error *err)
{
    (void)pthread_mutex_lock(&outcome->lock);
    outcome->done++;
    outcome->end = end;
    (void)snprintf(outcome->text, sizeof(outcome->text), "%s", err == NULL ? "" : err->message);
    (void)pthread_cond_broadcast(&outcome->changed);
    (void)pthread_mutex_unlock(&outcome->lock);
}

static inline void outcome_wait(struct outcome *outcome)
{
    (void)pthread_mutex_lock(&outcome->lock);
    while (outcome->done == 0) {
        assert_true(calls_wait(&outcome->changed, &outcome->lock));
    }
    (void)pthread_mutex_unlock(&outcome->lock);
}

/* The next request of that kind is answered so. */
static inline void add(struct rig *rig, const char *method, const char *path, unsigned status,
                       const char *body)
{
    fake_api_add(rig->api,
                 (struct fake_answer){
                     .method = method, .path = path, .times = 1, .status = status, .body = body});
}

/* Ends the client first: it may still tell of changes. */
static inline void rig_end_client(struct rig *rig)
{
    fake_api_release(rig->api);
    sl_client_free(rig->client);
    rig->client = NULL;
}

#endif
