/* What the tests of leader election share: a server that keeps one Lease, and a candidate. */
#ifndef SLICED_TEST_LEASE_RIG_H
#define SLICED_TEST_LEASE_RIG_H

#include "unit/kube/calls.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>

#include "kube/lease/lease.h"
#include "unit/kube/fake_clock.h"
#include "util/timestamp.h"

#define PATH "/apis/coordination.k8s.io/v1/namespaces/gpu/leases"

/* The server's Lease. */
struct store {
    char *object; /* NULL: there is none */
    unsigned version;
    bool touched; /* renewed by its holder with each look */
    atomic_bool leader_at_release;
    atomic_bool leader;
};

struct election {
    struct rig rig;
    struct store store;
    struct sl_lease_options options;
    struct sl_lease *lease;
    struct pending changes; /* done: how often changed() was called */
};

/* ---- the server ---- */

static inline char *copy(const char *text)
{
    size_t len = strlen(text) + 1;
    char *out = malloc(len);
    assert_non_null(out);
    return memcpy(out, text, len);
}

static inline void put(struct store *store, const char *text)
{
    char version[32];
    char now[32];
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    (void)snprintf(version, sizeof(version), "v%u", ++store->version);
    json_t *metadata = json_object_get(object, "metadata");
    (void)json_object_set_new(metadata, "resourceVersion", json_string(version));
    if (store->touched) {
        sl_time_format(store->version, now);
        (void)json_object_set_new(json_object_get(object, "spec"), "renewTime", json_string(now));
    }
    free(store->object);
    store->object = json_dumps(object, JSON_COMPACT);
    json_decref(object);
}

static inline bool is_current(const struct store *store, const char *body)
{
    char version[32];
    json_t *object = json_loads(body, 0, NULL);
    const char *said =
        json_string_value(json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
    (void)snprintf(version, sizeof(version), "v%u", store->version);
    bool current = said != NULL && strcmp(said, version) == 0;
    json_decref(object);
    return current;
}

static inline void refuse(struct fake_answer *reply, unsigned status)
{
    reply->status = status;
    reply->body = "{\"kind\":\"Status\"}";
}

/* Under the fake's lock. */
static inline void serve(void *context, const struct fake_request *request,
                         struct fake_answer *reply)
{
    struct store *store = context;
    bool post = strcmp(request->method, "POST") == 0;
    bool write = post || strcmp(request->method, "PUT") == 0;
    if (strstr(request->body, "\"holderIdentity\":\"\"") != NULL) {
        atomic_store(&store->leader_at_release, atomic_load(&store->leader));
    }
    if (post ? store->object != NULL : store->object == NULL) {
        refuse(reply, post ? 409 : 404);
        return;
    }
    if (write && !post && !is_current(store, request->body)) {
        refuse(reply, 409);
        return;
    }
    if (write || store->touched) {
        put(store, write ? request->body : store->object);
    }
    reply->status = post ? 201 : 200;
    reply->body = copy(store->object);
    reply->free_body = true;
}

static inline void serve_well(struct election *e)
{
    fake_api_add(e->rig.api, (struct fake_answer){.fn = serve, .context = &e->store});
}

/* What the server does from now on. */
static inline void turn(struct election *e, struct fake_answer answer)
{
    fake_api_clear(e->rig.api);
    fake_api_add(e->rig.api, answer);
}

/* ---- the candidate ---- */

static inline void on_changed(void *context, bool leader)
{
    struct election *e = context;
    const struct sl_reply reply = {.status = leader};
    atomic_store(&e->store.leader, leader);
    pending_done(&e->changes, &reply);
}

static inline void start(struct election *e, const char *object)
{
    *e = (struct election){.changes = PENDING_INIT};
    rig_start(&e->rig);
    if (object != NULL) {
        put(&e->store, object);
    }
    e->options = (struct sl_lease_options){.client = e->rig.client,
                                           .namespace = "gpu",
                                           .name = "sliced",
                                           .identity = "me",
                                           .lease_duration_us = 3000000 * MS,
                                           .renew_deadline_us = 2000000 * MS,
                                           .retry_period_us = 40 * MS,
                                           .changed = on_changed,
                                           .context = e};
}

/* Ends every lease that is not renewed from now on. */
static inline void lease_runs_out(struct election *e)
{
    fake_clock_advance(e->rig.client, e->options.lease_duration_us);
}

static inline void run(struct election *e)
{
    struct sl_error err;
    e->lease = sl_lease_start(&e->options, &err);
    assert_non_null(e->lease);
}

static inline void end(struct election *e)
{
    sl_lease_stop(e->lease, 5000 * MS);
    rig_end(&e->rig);
    free(e->store.object);
}

static inline void become_leader(struct election *e)
{
    serve_well(e);
    run(e);
    pending_wait(&e->changes, 1);
    assert_true(sl_lease_held(e->lease));
}

#define HELD_BY(who, more)                                                                         \
    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"        \
    "\"sliced\",\"namespace\":\"gpu\"},\"spec\":{\"holderIdentity\":\"" who "\"" more "}}"
#define OTHER HELD_BY("other", ",\"leaseDurationSeconds\":3600,\"leaseTransitions\":7")

/* The spec of request number at; the caller frees object. */
static inline json_t *spec_of(struct election *e, unsigned at, json_t **object)
{
    *object = json_loads(fake_api_request(e->rig.api, at)->body, 0, NULL);
    json_t *spec = json_object_get(*object, "spec");
    assert_non_null(spec);
    return spec;
}

static inline const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    assert_non_null(value);
    return value;
}

static inline int64_t number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* The first request of that method. */
static inline unsigned first(struct election *e, const char *method)
{
    for (unsigned i = 0; i < fake_api_requests(e->rig.api); i++) {
        if (strcmp(fake_api_request(e->rig.api, i)->method, method) == 0) {
            return i;
        }
    }
    fail_msg("no %s", method);
    return 0;
}

#endif
