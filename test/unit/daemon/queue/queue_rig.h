/* A queue at work without its thread: a store, pods, and somebody who takes what is released. */
#ifndef SLICED_TEST_QUEUE_RIG_H
#define SLICED_TEST_QUEUE_RIG_H

#include "unit/test.h"
#include <stdio.h>
#include <stdlib.h>

#include "daemon/queue/clock.h"
#include "daemon/queue/entry.h"
#include "daemon/queue/plan.h"
#include "daemon/queue/readers.h"
#include "daemon/queue/worker.h"
#include "util/log.h"

#define GPU    "nvidia.com/gpu"
#define SECOND INT64_C(1000000)
#define HOUR   (3600 * SECOND)

enum { RELEASES_MAX = 4096, NAME_BYTES = 64 };

struct released {
    char uid[NAME_BYTES];
    char node[NAME_BYTES];
    void *call; /* NULL: it has ended */
    sl_release_done done;
    int64_t deadline_s;
    uint64_t leadership;
    bool gated;
    bool queued;
    bool nominated;
};

struct queue_rig {
    struct sl_store *store;
    struct sl_config config;
    struct sl_namespaces *namespaces; /* NULL: none; freed by the test */
    struct sl_queue_worker *worker;
    struct sl_queue_reader queue;
    struct released released[RELEASES_MAX];
    unsigned n_released;
    unsigned n_withdrawn;
    char withdrawn[2 * NAME_BYTES]; /* "uid node" of the last */
    unsigned n_told;
    unsigned n_ahead;    /* of them: of those that go ahead of others */
    char told[1200];     /* "reason: note" of the last */
    char all_told[8192]; /* of all, as far as there is room */
    unsigned n_shown;    /* conditions written */
    char shown[1400];    /* "uid status reason: message" of the last */
    int64_t turned_us;   /* of the last */
    bool unwritten;      /* conditions fail */
    uint64_t leadership;
    int64_t now_us;
    bool deaf;    /* takes no note */
    bool refuses; /* a release fails before it has begun */
};

static inline uint64_t rig_term(void *context)
{
    const struct queue_rig *rig = context;
    return rig->leadership;
}

static inline void rig_copy(char *out, struct sl_str text)
{
    (void)snprintf(out, NAME_BYTES, "%.*s", (int)text.len, text.s);
}

static inline void rig_release(void *context, const struct sl_release *release,
                               sl_release_done done, void *call)
{
    struct queue_rig *rig = context;
    assert_true(rig->n_released < RELEASES_MAX);
    struct released *released = &rig->released[rig->n_released++];
    *released = (struct released){.call = call,
                                  .done = done,
                                  .deadline_s = release->deadline_s,
                                  .leadership = release->leadership,
                                  .gated = release->gated,
                                  .queued = release->queued,
                                  .nominated = release->nominated};
    rig_copy(released->uid, release->uid);
    rig_copy(released->node, release->node);
    if (rig->refuses) {
        struct sl_error err;
        released->call = NULL;
        (void)sl_error_set(&err, SL_ERR_SYSTEM, "no way");
        done(call, SL_RELEASE_FAILED, &err);
    }
}

static inline void rig_withdraw(void *context, const struct sl_release *release)
{
    struct queue_rig *rig = context;
    rig->n_withdrawn++;
    (void)snprintf(rig->withdrawn, sizeof(rig->withdrawn), "%.*s %.*s", (int)release->uid.len,
                   release->uid.s, (int)release->node.len, release->node.s);
}

static inline void rig_show(void *context, const struct sl_queued *queued, sl_release_done done,
                            void *call)
{
    static const char *const words[] = {"True", "False", "Unknown"};
    struct queue_rig *rig = context;
    struct sl_error err;
    assert_int_equal(queued->leadership, rig->leadership);
    rig->n_shown++;
    rig->turned_us = queued->turned_us;
    (void)snprintf(rig->shown, sizeof(rig->shown), "%.*s %s %.*s: %.*s", (int)queued->uid.len,
                   queued->uid.s, words[queued->status], (int)queued->reason.len, queued->reason.s,
                   (int)queued->message.len, queued->message.s);
    (void)sl_error_set(&err, SL_ERR_SYSTEM, "no way");
    done(call, rig->unwritten ? SL_RELEASE_FAILED : SL_RELEASE_RELEASED,
         rig->unwritten ? &err : NULL);
}

static inline bool rig_tell(void *context, const struct sl_event_note *note)
{
    struct queue_rig *rig = context;
    if (rig->deaf) {
        return false;
    }
    rig->n_told++;
    rig->n_ahead += note->warning || note->ahead ? 1 : 0;
    (void)snprintf(rig->told, sizeof(rig->told), "%s: %s", note->reason, note->note);
    size_t at = strlen(rig->all_told);
    (void)snprintf(rig->all_told + at, sizeof(rig->all_told) - at, "%s\n", rig->told);
    return true;
}

static inline void rig_begin(struct queue_rig *rig)
{
    static const struct sl_store_limits limits = {1000, 10000, 1000, 30000000};
    memset(rig, 0, sizeof(*rig));
    sl_log_configure(SL_LOG_ERROR, false);
    sl_config_defaults(&rig->config);
    rig->config.queue.enabled = true;
    rig->config.plan.order.kind = SL_ORDER_FIFO;
    rig->config.queue.nominate_from = 0; /* what is released shows where */
    rig->store = sl_store_new(&limits, NULL);
    assert_non_null(rig->store);
    rig->leadership = 1;
    rig->now_us = 1000 * HOUR;
}

static inline void rig_start(struct queue_rig *rig)
{
    const struct sl_queue_worker_options options = {.store = rig->store,
                                                    .config = &rig->config,
                                                    .namespaces = rig->namespaces,
                                                    .leadership = rig_term,
                                                    .release = rig_release,
                                                    .withdraw = rig_withdraw,
                                                    .tell = rig_tell,
                                                    .show = rig_show,
                                                    .releaser = rig,
                                                    .context = rig};
    rig->worker = sl_queue_worker_new(&options, NULL);
    assert_non_null(rig->worker);
    rig->queue = sl_queue_worker_reader(rig->worker);
    sl_store_set_published(rig->store, sl_queue_published, rig->worker);
}

static inline void rig_answer(struct queue_rig *rig, unsigned i, enum sl_release_end end)
{
    struct released *released = &rig->released[i];
    struct sl_error err;
    (void)sl_error_set(&err, SL_ERR_SYSTEM, "no answer");
    assert_true(i < rig->n_released);
    assert_non_null(released->call);
    released->done(released->call, end, end == SL_RELEASE_RELEASED ? NULL : &err);
    released->call = NULL;
}

static inline void rig_end(struct queue_rig *rig)
{
    for (unsigned i = 0; i < rig->n_released; i++) {
        if (rig->released[i].call != NULL) {
            rig_answer(rig, i, SL_RELEASE_UNKNOWN);
        }
    }
    sl_queue_worker_stop(rig->worker);
    sl_queue_worker_free(rig->worker);
    (void)sl_store_withdraw_all(rig->store);
    sl_store_free(rig->store);
}

/* A round at the rig's time. */
static inline int64_t rig_round(struct queue_rig *rig)
{
    return sl_queue_round(rig->worker, rig->now_us);
}

static inline int64_t rig_later(struct queue_rig *rig, int64_t us)
{
    rig->now_us += us;
    return rig_round(rig);
}

static inline void rig_node_as(struct queue_rig *rig, const char *name, int gpus, bool cordoned)
{
    char count[16];
    (void)snprintf(count, sizeof(count), "%d", gpus);
    struct sl_pair label[4] = {
        {SL_STR("nvidia.com/gpu.product"), SL_STR("Tesla-T4"), NULL},
        {SL_STR("nvidia.com/gpu.count"), sl_str_of(count), &label[0]},
        {SL_STR("nvidia.com/gpu.memory"), SL_STR("15360"), &label[1]},
        {SL_STR("nvidia.com/gpu.replicas"), SL_STR("1"), &label[2]},
    };
    struct sl_pair allocatable = {SL_STR(GPU), sl_str_of(count), NULL};
    const struct sl_node_facts facts = {.name = sl_str_of(name),
                                        .labels = &label[3],
                                        .allocatable = &allocatable,
                                        .capacity = &allocatable,
                                        .unschedulable = cordoned};
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    assert_int_equal(sl_store_put_node(rig->store, node, NULL), 0);
}

static inline void rig_node(struct queue_rig *rig, const char *name, int gpus)
{
    rig_node_as(rig, name, gpus, false);
}

/* What a pod of the tests is; its UID is "u-" and its name. */
struct rig_pod {
    const char *name;
    const char *node;      /* NULL: waits */
    const char *nominated; /* NULL: not */
    const char *timeout;   /* annotation; NULL: none */
    const char *after;     /* annotation; NULL: none */
    int gpus;              /* 0: 1 */
    bool gated;
    bool ended;
    bool tried;            /* kube-scheduler could not place it */
    bool daemon_set;       /* said to be of one */
    bool queued;           /* its condition says so */
    const char *namespace; /* NULL: default */
    const char *resource;  /* NULL: GPU */
    int64_t started_us;    /* as its kubelet tells; 0: not started */
    int64_t deadline_s;    /* activeDeadlineSeconds; 0: none */
};

static inline struct sl_pod *rig_pod_new(const struct queue_rig *rig, const struct rig_pod *spec)
{
    char uid[NAME_BYTES + 2];
    char count[16];
    (void)snprintf(uid, sizeof(uid), "u-%s", spec->name);
    (void)snprintf(count, sizeof(count), "%d", spec->gpus == 0 ? 1 : spec->gpus);
    struct sl_pair gate = {SL_STR(SL_QUEUE_GATE), SL_STR(""), NULL};
    struct sl_pair timeout = {SL_STR("sliced.dev/timeout"), sl_str_of(spec->timeout), NULL};
    struct sl_pair after = {SL_STR("sliced.dev/after"), sl_str_of(spec->after),
                            spec->timeout == NULL ? NULL : &timeout};
    struct sl_pair limit = {sl_str_of(spec->resource == NULL ? GPU : spec->resource),
                            sl_str_of(count), NULL};
    struct sl_container_facts container = {
        .name = SL_STR("c"), .limits = &limit, .requests = &limit};
    const struct sl_pod_facts facts = {
        .namespace = sl_str_of(spec->namespace == NULL ? "default" : spec->namespace),
        .name = sl_str_of(spec->name),
        .uid = sl_str_of(uid),
        .node_name = sl_str_of(spec->node),
        .nominated = sl_str_of(spec->nominated),
        .phase = spec->ended ? SL_STR("Succeeded") : SL_STR("Pending"),
        .created_us = rig->now_us,
        .started_us = spec->started_us,
        .deadline_s = spec->deadline_s,
        .annotations = spec->after != NULL ? &after : after.next,
        .containers = &container,
        .gates = spec->gated ? &gate : NULL,
        .tried = spec->tried,
        .daemon_set = spec->daemon_set,
        .queued = spec->queued,
    };
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    return pod;
}

static inline void rig_put(struct queue_rig *rig, struct rig_pod spec)
{
    assert_int_equal(sl_store_put_pod(rig->store, rig_pod_new(rig, &spec), NULL), 0);
}

/* It waits behind the gate, and states no timeout. */
static inline void rig_gated(struct queue_rig *rig, const char *name)
{
    rig_put(rig, (struct rig_pod){.name = name, .gated = true});
}

/* A queue at work for one node, n1. */
static inline void rig_start_on(struct queue_rig *rig, int gpus)
{
    rig_node(rig, "n1", gpus);
    rig_start(rig);
}

/* A pod comes that waits behind the gate, and the queue has its round. */
static inline void rig_come(struct queue_rig *rig, const char *name)
{
    rig_gated(rig, name);
    (void)rig_round(rig);
}

static inline void rig_delete(struct queue_rig *rig, const char *name)
{
    assert_int_equal(
        sl_store_delete_pod(rig->store, SL_STR("default"), sl_str_of(name), SL_STR(""), NULL), 0);
}

static inline enum sl_queue_state rig_state(struct queue_rig *rig, const char *name)
{
    struct sl_queue_status status;
    char uid[NAME_BYTES];
    (void)snprintf(uid, sizeof(uid), "u-%.*s", NAME_BYTES - 3, name);
    rig->queue.status(rig->queue.context, sl_str_of(uid), &status);
    assert_true(status.text[0] != '\0');
    return status.state;
}

/* The node on which the store has a nomination for it; "" when it has none. */
static inline const char *rig_nominate(struct queue_rig *rig, const char *name)
{
    static char node[300];
    char uid[NAME_BYTES];
    (void)snprintf(uid, sizeof(uid), "u-%.*s", NAME_BYTES - 3, name);
    if (!sl_store_nominated_node(rig->store, sl_str_of(uid), node, sizeof(node))) {
        node[0] = '\0';
    }
    return node;
}

/* Appends the metrics. usage NULL: nothing is measured. */
static inline void rig_metrics(struct queue_rig *rig, const struct sl_usage_reader *usage,
                               struct sl_buf *out)
{
    const struct sl_usage_reader none = {.context = NULL};
    rig->queue.metrics(rig->queue.context, usage == NULL ? &none : usage, out);
}

#endif
