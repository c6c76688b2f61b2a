/* Events on pods of a real cluster. */
#include "daemon/live/events.h"

#include <stdio.h>

#include "daemon/live/watch.h"
#include "util/log.h"
#include "util/time.h"

enum { EVENTS_QUEUED = 1024, EVENTS_REMEMBERED = 4096, TOLD_PER_ROUND = 50 };

static const int64_t grace_us = 2 * SL_SECOND_US;

static const char controller[] = "sliced.dev/scheduler";

/* A binding may end when the events are gone already. */
bool sl_cluster_tell(void *context, const struct sl_event_note *note)
{
    struct sl_cluster *cluster = context;
    (void)pthread_mutex_lock(&cluster->lock);
    bool taken = cluster->events == NULL || sl_events_tell(cluster->events, note);
    (void)pthread_mutex_unlock(&cluster->lock);
    return taken;
}

void sl_cluster_tell_bound(void *context, const struct sl_binding *binding)
{
    char text[SL_ASSIGNMENT_TEXT_MAX + 300];
    (void)snprintf(text, sizeof(text), "bound to node %.*s: %s", (int)binding->node.len,
                   binding->node.s, binding->assignment);
    const struct sl_event_note note = {
        .namespace = binding->namespace,
        .name = binding->name,
        .uid = binding->uid,
        .reason = "Bound",
        .action = "Binding",
        .note = text,
    };
    (void)sl_cluster_tell(context, &note);
}

static void end_pod(void *context, const struct sl_pod *pod, int64_t now_us)
{
    struct sl_cluster *cluster = context;
    if (sl_kube_end_early(cluster->binder, pod, now_us, atomic_load(&cluster->leaderships))) {
        sl_log(SL_LOG_WARN, "a pod that idles is ended", "namespace", pod->namespace, "pod",
               pod->name, (char *)NULL);
    }
}

static int make_idlers(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_idlers_options idlers = {
        .tell = sl_cluster_tell,
        .end = end_pod,
        .context = cluster,
        .idle_us = config->telemetry.idle_us,
        .deadline_us = config->telemetry.idle_deadline_us,
    };
    if (!sl_config_measures(config)) {
        return 0;
    }
    cluster->idlers = sl_idlers_new(&idlers);
    return cluster->idlers == NULL ? sl_error_nomem(err) : 0;
}

/* Only the leader tells. */
static void see_pod(void *context, const struct sl_view *view, const struct sl_resident *resident,
                    const struct sl_pod_use *use, int64_t now_us)
{
    struct sl_cluster *cluster = context;
    if (cluster->idlers != NULL && sl_cluster_missing(cluster) == NULL) {
        sl_idlers_see(cluster->idlers, view, resident, use, now_us);
    }
}

static bool knows_all(void *context)
{
    return sl_cluster_unsynced(context) == NULL;
}

struct sl_pod_watch sl_cluster_pod_watch(struct sl_cluster *cluster)
{
    return (struct sl_pod_watch){cluster, see_pod, knows_all};
}

int sl_cluster_make_events(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_events_options events = {
        .client = cluster->client,
        .controller = controller,
        .instance = cluster->identity,
        .per_second = (double)config->events.per_second,
        .burst = (unsigned)config->events.burst,
        .repeat_us = config->events.repeat_us,
        .max_queued = EVENTS_QUEUED,
        .max_remembered = EVENTS_REMEMBERED,
    };
    const struct sl_waiting_options waiting = {
        .store = cluster->options.store,
        .tell = sl_cluster_tell,
        .context = cluster,
        .grace_us = grace_us,
        .repeat_us = config->events.repeat_us,
        .max_told = config->events.per_second < TOLD_PER_ROUND ? (unsigned)config->events.per_second
                                                               : TOLD_PER_ROUND,
    };
    if (!config->events.enabled) {
        return 0;
    }
    cluster->events = sl_events_new(&events, err);
    if (cluster->events == NULL) {
        return -1;
    }
    if (make_idlers(cluster, err) < 0) {
        return -1;
    }
    if (config->queue.enabled) {
        return 0; /* the queue tells why a pod waits */
    }
    cluster->waiting = sl_waiting_new(&waiting, err);
    return cluster->waiting == NULL ? -1 : 0;
}
