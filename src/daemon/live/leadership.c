/* Leadership: which replica may decide, by the lease. */
#include "daemon/live/leadership.h"

#include "util/log.h"
#include "util/time.h"

/* How long a wrong label may stand, at the cost of a list of one pod. */
static const int64_t label_period_us = 5 * SL_SECOND_US;

bool sl_cluster_leads(struct sl_cluster *cluster)
{
    return !atomic_load(&cluster->stopping) &&
           (cluster->lease == NULL ||
            (atomic_load(&cluster->elected) && sl_lease_held(cluster->lease)));
}

uint64_t sl_cluster_leadership(struct sl_cluster *cluster)
{
    bool leads = sl_cluster_leads(cluster); /* first, so that no later leadership is missed */
    uint64_t leadership = atomic_load(&cluster->leaderships) + 1;
    return leads ? leadership : 0;
}

static void leader_changed(void *context, bool leader)
{
    struct sl_cluster *cluster = context;
    if (leader) {
        (void)atomic_fetch_add(&cluster->leaderships, 1);
    }
    atomic_store(&cluster->elected, leader);
    sl_log(SL_LOG_INFO, leader ? "this replica leads" : "this replica does not lead any more",
           "identity", cluster->identity, (char *)NULL);
    if (leader) {
        sl_leader_label_look(cluster->label);
    }
    sl_queue_worker_wake(cluster->worker);
    cluster->options.wake(cluster->options.context);
}

const char *sl_cluster_missing_leader(struct sl_cluster *cluster)
{
    char holder[SL_IDENTITY_MAX];
    if (sl_cluster_leads(cluster)) {
        return NULL;
    }
    sl_lease_holder(cluster->lease, holder, sizeof(holder));
    if (holder[0] == '\0' || strcmp(holder, cluster->identity) == 0) {
        return "no replica leads, it tries to take the lease";
    }
    return "another replica leads";
}

void sl_cluster_leader(void *context, char *out, size_t size)
{
    struct sl_cluster *cluster = context;
    out[0] = '\0';
    if (cluster->lease != NULL && !sl_cluster_leads(cluster)) {
        sl_lease_holder(cluster->lease, out, size);
    }
    if (strcmp(out, cluster->identity) == 0) {
        out[0] = '\0'; /* it has just lost it */
    }
}

void sl_cluster_name_leadership(const struct sl_cluster *cluster, char out[SL_LEADERSHIP_MAX])
{
    out[0] = '\0';
    if (cluster->lease != NULL && atomic_load(&cluster->elected)) {
        sl_lease_leadership(cluster->lease, out, SL_LEADERSHIP_MAX);
    }
}

/* ---- the record of the tenants' shares ---- */

static void copy_text(struct sl_buf *to, struct sl_str text)
{
    to->len = 0;
    to->failed = SL_BUF_OK;
    sl_buf_append(to, text.s, text.len);
}

void sl_cluster_keep_record(void *context, uint64_t leadership, struct sl_str text)
{
    struct sl_cluster *cluster = context;
    (void)pthread_mutex_lock(&cluster->lock);
    copy_text(&cluster->kept, text);
    cluster->kept_in = cluster->kept.failed == SL_BUF_OK ? leadership : 0;
    (void)pthread_mutex_unlock(&cluster->lock);
}

void sl_cluster_find_record(void *context, struct sl_buf *out)
{
    struct sl_cluster *cluster = context;
    (void)pthread_mutex_lock(&cluster->lock);
    sl_buf_append(out, cluster->found.data, cluster->found.len);
    (void)pthread_mutex_unlock(&cluster->lock);
}

static void record_found(void *context, struct sl_str note)
{
    struct sl_cluster *cluster = context;
    (void)pthread_mutex_lock(&cluster->lock);
    copy_text(&cluster->found, note);
    (void)pthread_mutex_unlock(&cluster->lock);
}

/* The queue's thread may be in a leadership before, or not have planned in this one. */
static bool record_write(void *context, struct sl_buf *out)
{
    struct sl_cluster *cluster = context;
    (void)pthread_mutex_lock(&cluster->lock);
    bool said =
        cluster->worker == NULL || cluster->kept_in == atomic_load(&cluster->leaderships) + 1;
    if (said) {
        sl_buf_append(out, cluster->kept.data, cluster->kept.len);
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    return said;
}

/* ---- the lease and the label ---- */

static const char *lease_namespace(const struct sl_cluster *cluster)
{
    const char *own = cluster->options.access->namespace;
    if (cluster->config.election.namespace[0] != '\0') {
        return cluster->config.election.namespace;
    }
    return own != NULL && own[0] != '\0' ? own : "default";
}

/* As the lease told last, on the client's thread as this: cluster->lease may not be there yet. */
static bool label_leads(void *context)
{
    struct sl_cluster *cluster = context;
    return !atomic_load(&cluster->stopping) &&
           (!cluster->config.election.enabled || atomic_load(&cluster->elected));
}

static int start_label(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_leader_label_options options = {
        .client = cluster->client,
        .namespace = lease_namespace(cluster),
        .pod = cluster->options.pod,
        .leads = label_leads,
        .context = cluster,
        .period_us = label_period_us,
    };
    if (options.pod == NULL) {
        return 0;
    }
    cluster->label = sl_leader_label_start(&options, err);
    return cluster->label == NULL ? -1 : 0;
}

int sl_cluster_start_lease(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_lease_options options = {
        .client = cluster->client,
        .namespace = lease_namespace(cluster),
        .name = config->election.name,
        .identity = cluster->identity,
        .lease_duration_us = config->election.lease_duration_us,
        .renew_deadline_us = config->election.renew_deadline_us,
        .retry_period_us = config->election.retry_period_us,
        .changed = leader_changed,
        .note_key = "sliced.dev/tenants",
        .note = record_write,
        .note_found = record_found,
        .context = cluster,
    };
    if (start_label(cluster, err) < 0) {
        return -1;
    }
    if (!config->election.enabled) {
        return 0;
    }
    cluster->lease = sl_lease_start(&options, err);
    return cluster->lease == NULL ? -1 : 0;
}
