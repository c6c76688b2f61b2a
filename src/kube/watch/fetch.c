/* Readings under way. Both the watch and the end of a reading run on the client's thread, so
 * neither overtakes the other. */
#include "kube/watch/fetch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "codec/object.h"
#include "kube/client/object_call.h"
#include "util/log.h"

enum { NAME_MAX_BYTES = 253 };

struct fetch {
    struct fetch *next;
    struct sl_fetcher *fetcher;
    sl_fetch_done done;
    void *call;
    bool outdated;                      /* the watch may know better than this reading */
    struct sl_str namespace, name, uid; /* their text stands behind */
};

struct sl_fetcher {
    struct sl_fetcher_options options;
    atomic_uint_least64_t begun;
    atomic_uint_least64_t found;
    pthread_mutex_t lock; /* guards what follows */
    struct fetch *first;
    unsigned n;
    bool listing;
};

/* ---- the list ---- */

static struct fetch *fetch_new(struct sl_fetcher *fetcher, struct sl_str namespace,
                               struct sl_str name, struct sl_str uid)
{
    struct sl_str *const text[] = {&namespace, &name, &uid};
    struct fetch *fetch = sl_alloc_with_texts(sizeof(*fetch), text, 3);
    if (fetch != NULL) {
        fetch->fetcher = fetcher;
        fetch->namespace = namespace;
        fetch->name = name;
        fetch->uid = uid;
    }
    return fetch;
}

/* False when there are too many. */
static bool fetch_enter(struct sl_fetcher *fetcher, struct fetch *fetch)
{
    (void)pthread_mutex_lock(&fetcher->lock);
    bool room = fetcher->n < fetcher->options.max;
    if (room) {
        fetch->outdated = fetcher->listing;
        fetch->next = fetcher->first;
        fetcher->first = fetch;
        fetcher->n++;
    }
    (void)pthread_mutex_unlock(&fetcher->lock);
    return room;
}

/* True when what was read may be told. */
static bool fetch_leave(struct sl_fetcher *fetcher, struct fetch *fetch)
{
    (void)pthread_mutex_lock(&fetcher->lock);
    struct fetch **at = &fetcher->first;
    while (*at != fetch) {
        at = &(*at)->next;
    }
    *at = fetch->next;
    fetcher->n--;
    (void)pthread_mutex_unlock(&fetcher->lock);
    return !fetch->outdated;
}

void sl_fetcher_deleted(struct sl_fetcher *fetcher, struct sl_str namespace, struct sl_str name)
{
    (void)pthread_mutex_lock(&fetcher->lock);
    for (struct fetch *fetch = fetcher->first; fetch != NULL; fetch = fetch->next) {
        fetch->outdated = fetch->outdated ||
                          (sl_str_eq(fetch->name, name) && sl_str_eq(fetch->namespace, namespace));
    }
    (void)pthread_mutex_unlock(&fetcher->lock);
}

/* Outdates all readings: a pod that the list does not name is gone without an event, and must not
 * come back by a reading that was answered before. */
void sl_fetcher_listing(struct sl_fetcher *fetcher, bool listing)
{
    (void)pthread_mutex_lock(&fetcher->lock);
    fetcher->listing = listing;
    for (struct fetch *fetch = fetcher->first; fetch != NULL; fetch = fetch->next) {
        fetch->outdated = true;
    }
    (void)pthread_mutex_unlock(&fetcher->lock);
}

/* ---- the reading ---- */

/* True when the watch has told of the pod meanwhile, as it was read or newer. */
static bool is_known(const struct fetch *fetch)
{
    struct sl_pod *known =
        sl_store_pod(fetch->fetcher->options.store, fetch->namespace, fetch->name);
    bool same = known != NULL && sl_str_eq(sl_str_of(known->uid), fetch->uid);
    sl_pod_unref(known);
    return same;
}

static int take_pod(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct fetch *fetch = context;
    const struct sl_pod_facts *facts = object->pod;
    if (facts == NULL || !sl_str_eq(facts->uid, fetch->uid) ||
        !sl_str_eq(facts->name, fetch->name) || !sl_str_eq(facts->namespace, fetch->namespace) ||
        is_known(fetch)) {
        return 0;
    }
    struct sl_pod *pod = sl_pod_new(facts, err);
    if (pod == NULL || sl_store_put_pod_ahead(fetch->fetcher->options.store, pod, err) < 0) {
        return -1;
    }
    (void)atomic_fetch_add(&fetch->fetcher->found, 1);
    return 0;
}

/* Called by the client; the reading ends with it. */
static void on_read(void *context, const struct sl_reply *reply)
{
    struct fetch *fetch = context;
    struct sl_error err = reply->err;
    int result = reply->status == 404 ? 0 : -1;
    bool current = fetch_leave(fetch->fetcher, fetch);
    if (reply->status == 200) {
        result = current ? sl_manifest_decode(reply->body.s, reply->body.len, &sl_kube_text_limits,
                                              take_pod, fetch, &err)
                         : 0;
    }
    if (result < 0) {
        sl_log(SL_LOG_WARN, "a pod to be bound could not be read", "problem", err.message,
               (char *)NULL);
    }
    fetch->done(fetch->call);
    free(fetch);
}

/* Checks a name that comes from outside, in a request to bind: it must stay one segment of the
 * path. */
static bool is_name(struct sl_str text)
{
    bool good = text.len > 0 && text.len <= NAME_MAX_BYTES && text.s[0] != '.';
    for (size_t i = 0; i < text.len && good; i++) {
        char c = text.s[i];
        good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    }
    return good;
}

static int begin_reading(struct fetch *fetch)
{
    const struct sl_fetcher_options *options = &fetch->fetcher->options;
    struct sl_call_options call = {
        .method = "GET",
        .priority = SL_CALL_BIND, /* the scheduler waits */
        .max_tries = 1,
        .within_us = options->timeout_us,
        .done = on_read,
        .context = fetch,
    };
    const struct sl_object_ref pod = {SL_OBJECT_POD, fetch->namespace, fetch->name};
    return sl_object_call(options->client, &pod, "", NULL, &call, NULL);
}

void sl_fetch_pod(struct sl_fetcher *fetcher, struct sl_str namespace, struct sl_str name,
                  struct sl_str uid, sl_fetch_done done, void *call)
{
    struct fetch *fetch = NULL;
    if (is_name(namespace) && is_name(name) && uid.len > 0) {
        fetch = fetch_new(fetcher, namespace, name, uid);
    }
    if (fetch == NULL || !fetch_enter(fetcher, fetch)) {
        free(fetch);
        done(call);
        return;
    }
    fetch->done = done;
    fetch->call = call;
    (void)atomic_fetch_add(&fetcher->begun, 1);
    if (begin_reading(fetch) < 0) {
        (void)fetch_leave(fetcher, fetch);
        free(fetch);
        done(call);
    }
}

/* ---- life ---- */

struct sl_fetcher *sl_fetcher_new(const struct sl_fetcher_options *options, struct sl_error *err)
{
    struct sl_fetcher *fetcher = calloc(1, sizeof(*fetcher));
    if (fetcher == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    fetcher->options = *options;
    (void)pthread_mutex_init(&fetcher->lock, NULL);
    return fetcher;
}

void sl_fetcher_free(struct sl_fetcher *fetcher)
{
    if (fetcher != NULL) {
        (void)pthread_mutex_destroy(&fetcher->lock);
        free(fetcher);
    }
}

void sl_fetcher_stats(struct sl_fetcher *fetcher, struct sl_fetcher_stats *out)
{
    out->begun = atomic_load(&fetcher->begun);
    out->found = atomic_load(&fetcher->found);
}
