/* Reads a pod that a bind names before the watch has told of it: the scheduler's watch may be ahead
 * of ours, and a refusal would cost the pod a backoff. */
#ifndef SLICED_KUBE_FETCH_H
#define SLICED_KUBE_FETCH_H

#include "cluster/binding.h"
#include "cluster/store.h"
#include "kube/client/client.h"

struct sl_fetcher;

struct sl_fetcher_options {
    struct sl_client *client;
    struct sl_store *store;
    int64_t timeout_us; /* of one reading, its waiting for the rate limit included */
    unsigned max;       /* readings at a time; what comes beyond is not read */
};

struct sl_fetcher *sl_fetcher_new(const struct sl_fetcher_options *options, struct sl_error *err);
/* All readings have ended, or the client was freed, which ends them. NULL is allowed. */
void sl_fetcher_free(struct sl_fetcher *fetcher);

/* Reads the pod of that name, and puts it into the store if it has that UID and the store does not
 * know it, unless the watch may know better: it told of the end of a pod of that name meanwhile, or
 * a list is being read. done is called exactly once, on the client's thread, or on the caller's
 * before this returns. Text is copied. Any thread. */
void sl_fetch_pod(struct sl_fetcher *fetcher, struct sl_str namespace, struct sl_str name,
                  struct sl_str uid, sl_fetch_done done, void *call);

/* Told by the watch of pods, on the client's thread. */
void sl_fetcher_deleted(struct sl_fetcher *fetcher, struct sl_str namespace, struct sl_str name);
void sl_fetcher_listing(struct sl_fetcher *fetcher, bool listing);

struct sl_fetcher_stats {
    uint64_t begun;
    uint64_t found; /* of them: put into the store */
};
void sl_fetcher_stats(struct sl_fetcher *fetcher, struct sl_fetcher_stats *out);

#endif
