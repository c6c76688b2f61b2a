/* Finds out which cuts are wanted: the pods that wait for them, the plan, and when it is time to
 * begin. */
#include <stdio.h>
#include <stdlib.h>

#include "codec/object/time.h"
#include "daemon/cut/internal.h"
#include "util/clock.h"
#include "util/data/hash.h"
#include "util/data/vec.h"
#include "util/log.h"
#include "util/time.h"

enum {
    REST = 20,       /* times as long as a plan of cuts took */
    NAMES_MAX = 3,   /* pods named one by one */
    PODS_MAX = 4096, /* that are told of one cut */
};

static const int64_t rest_min_us = 100 * SL_MS_US;
static const int64_t refused_us = 4 * SL_SECOND_US;
static const int64_t retry_us = 5 * SL_SECOND_US; /* when nothing came of the last plan */

/* ---- the pods ---- */

struct wish {
    struct sl_cut_pod *pod;
    size_t n;
    size_t cap;
    bool wants;  /* some pod is served by a cut alone */
    bool failed; /* out of memory */
    const struct sl_snapshot *snapshot;
    int64_t now_us;
};

/* A pod for which a cut is under way has what that makes, before those behind it. */
static bool has_cut(const struct wish *wish, const struct sl_queue_row *row, struct sl_cut_pod *pod)
{
    uint32_t at = row->cut_node == NULL
                      ? SL_NODE_NONE
                      : sl_snapshot_find(wish->snapshot, sl_str_of(row->cut_node), 0);
    pod->has_room = pod->has_room || at != SL_NODE_NONE;
    pod->made = at == SL_NODE_NONE ? 0 : (size_t)at + 1;
    return at != SL_NODE_NONE;
}

static void add_row(void *context, const struct sl_queue_row *row)
{
    struct wish *wish = context;
    struct sl_cut_pod pod;
    if (wish->failed ||
        (!sl_queue_wants_cut(row, wish->now_us, &pod) && !has_cut(wish, row, &pod))) {
        return;
    }
    if (sl_vec_reserve(&wish->pod, &wish->cap, wish->n + 1, sizeof(*wish->pod)) < 0) {
        wish->failed = true;
        return;
    }
    wish->pod[wish->n++] = pod;
    wish->wants = wish->wants || !pod.has_room;
}

/* ---- the nodes ---- */

static uint64_t hash_pod(const struct sl_pod *pod)
{
    return sl_hash(pod->uid, strlen(pod->uid));
}

/* Returns the index of the pod for which the node drains, + 1; 0: it does not, or the pod is gone.
 */
static size_t drains_for(const struct sl_cut_place *place, const struct wish *wish)
{
    for (size_t i = 0; place->drained_us > 0 && i < wish->n; i++) {
        if (hash_pod(wish->pod[i].pod) == place->drained_for) {
            return i + 1;
        }
    }
    return 0;
}

static struct sl_cut_site *make_sites(const struct sl_partitioner *partitioner,
                                      const struct sl_snapshot *snapshot, const struct wish *wish,
                                      int64_t now_us)
{
    struct sl_cut_site *site = calloc(snapshot->n_nodes + 1, sizeof(*site));
    for (size_t i = 0; site != NULL && i < snapshot->n_nodes; i++) {
        const struct sl_node *node = snapshot->view[i]->node;
        const struct sl_cut_place *place = NULL;
        if (node->partition.actuator == SL_ACTUATOR_NONE) {
            site[i].out = true;
            continue;
        }
        place = sl_cut_place_find(partitioner, node->name);
        const struct sl_cut_record none = {0};
        const struct sl_cut_record *record = place == NULL ? &none : &place->record;
        site[i].out = node->partition.cut != NULL || now_us < record->out_until_us ||
                      (place != NULL && (place->run != NULL || now_us < place->refused_us));
        if (place != NULL && place->run != NULL && place->run->outcome <= SL_CUT_DONE) {
            site[i].making = place->run->cut;
            site[i].n_making = place->n_made;
            site[i].made_us = place->expected_us;
        }
        site[i].drains_for = place == NULL ? 0 : drains_for(place, wish);
        site[i].drains_until_us = place == NULL ? 0 : place->drained_us;
        site[i].seconds_us = sl_cut_seconds_us(
            record, partitioner->seconds_us[node->partition.actuator], node->partition.actuator);
        memcpy(site[i].failed, sl_cut_record_failed(record, now_us), sizeof(site[i].failed));
    }
    return site;
}

/* ---- what the plan wants ---- */

/* Notes the UIDs of pods for which the node is cut. */
static void add_pods(struct sl_cut_place *place, const struct sl_cut_pod *pod,
                     const struct sl_cut_plan *plan)
{
    for (size_t i = 0; i < plan->n_pods && place->uids.len < PODS_MAX; i++) {
        char *uid = strdup(pod[plan->pod[i]].pod->uid);
        void *old = NULL;
        if (uid != NULL &&
            (uid[0] == '\0' || sl_map_put(&place->uids, uid, strlen(uid), uid, &old) < 0)) {
            old = uid;
        }
        free(old);
    }
}

/* Sets the names and UIDs of the pods for which the node is cut. */
static void note_pods(struct sl_cut_place *place, const struct sl_cut_pod *pod,
                      const struct sl_cut_plan *plan)
{
    size_t len = 0;
    sl_cut_place_forget_pods(place);
    add_pods(place, pod, plan);
    place->pods[0] = '\0';
    for (size_t i = 0; i < plan->n_pods; i++) {
        const struct sl_pod *each = pod[plan->pod[i]].pod;
        if (i < NAMES_MAX && len < sizeof(place->pods)) {
            int n = snprintf(place->pods + len, sizeof(place->pods) - len, "%s%s/%s",
                             i == 0 ? "" : ", ", each->namespace, each->name);
            len += n > 0 ? (size_t)n : 0;
        }
    }
    if (plan->n_pods > NAMES_MAX && len < sizeof(place->pods)) {
        (void)snprintf(place->pods + len, sizeof(place->pods) - len, " and %zu more",
                       plan->n_pods - NAMES_MAX);
    }
}

/* "GPU 2 of node-7 is being cut into 2x 3g.20gb for it", or "is to be cut" */
static void say_cut(const struct sl_cut_place *place, char *out, size_t size)
{
    const char *into = strstr(place->cut, " into ");
    const char *being = place->planned ? "to be" : "being";
    if (place->n_made == 1 && into != NULL) {
        (void)snprintf(out, size, "%.*s of %s is %s cut%s for it", (int)(into - place->cut),
                       place->cut, place->name, being, into);
    } else {
        (void)snprintf(out, size, "GPUs of %s are %s cut for it: %s", place->name, being,
                       place->cut);
    }
}

/* Tells the queue for which pods the node is being cut. */
static void tell_pods(const struct sl_partitioner *partitioner, const struct sl_cut_place *place)
{
    char text[SL_PARTITION_WORDS_MAX + 300];
    size_t at = 0;
    say_cut(place, text, sizeof(text));
    for (const char *uid = sl_map_next(&place->uids, &at); uid != NULL;
         uid = sl_map_next(&place->uids, &at)) {
        sl_planner_set_cut(partitioner->planner, sl_str_of(uid), place->name, text,
                           place->expected_us);
    }
}

struct sl_cut_limits sl_cut_limits_now(const struct sl_partitioner *partitioner, int64_t now_us)
{
    const struct sl_config *config = &partitioner->config;
    return (struct sl_cut_limits){
        .mig_mode = config->partitioning.mig_mode,
        .reported_us = now_us - config->partitioning.nos_report_us,
        .seen = partitioner->seen,
        .n_seen = partitioner->n_seen,
    };
}

/* Notes what the plan makes of the node, for whom, and when that is expected to be done. */
static void note_plan(struct sl_partitioner *partitioner, struct sl_cut_place *place,
                      const struct sl_view *view, const struct sl_cut_pod *pod,
                      const struct sl_cut_plan *plan, int64_t begin_us, int64_t now_us)
{
    (void)pthread_mutex_lock(&partitioner->status);
    note_pods(place, pod, plan);
    (void)sl_cut_text(view->node, plan->cut, plan->n_cuts, place->cut, sizeof(place->cut));
    place->n_made = plan->n_cuts;
    place->expected_us = plan->start_us + begin_us - now_us;
    place->planned = begin_us > now_us;
    place->round = partitioner->round;
    (void)pthread_mutex_unlock(&partitioner->status);
}

static void begin_plan(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                       const struct sl_cut_pod *pod, const struct sl_cut_plan *plan, int64_t now_us)
{
    const struct sl_view *view = snapshot->view[plan->view];
    struct sl_cut_place *place = sl_cut_place_of(partitioner, view->node->name);
    char reason[SL_PLAN_TEXT_MAX] = "";
    if (place == NULL) {
        return;
    }
    if (!sl_store_cut_begin(partitioner->options.store, sl_str_of(view->node->name), plan->cut,
                            plan->n_cuts, sl_cut_limits_now(partitioner, now_us), reason,
                            sizeof(reason))) {
        sl_log(SL_LOG_DEBUG, "a node cannot be cut as planned any more", "node", view->node->name,
               "reason", reason, (char *)NULL);
        (void)pthread_mutex_lock(&partitioner->status);
        partitioner->counts.refused++;
        (void)pthread_mutex_unlock(&partitioner->status);
        place->refused_us = now_us + refused_us; /* another node may do */
        place->round = partitioner->round;
        return;
    }
    note_plan(partitioner, place, view, pod, plan, now_us, now_us);
    sl_cut_begin(partitioner, place, view, plan, now_us);
    if (place->run != NULL) {
        tell_pods(partitioner, place);
    }
}

/* ---- drains ---- */

/* Readers look at it. */
static void set_drained(struct sl_partitioner *partitioner, struct sl_cut_place *place,
                        int64_t until_us)
{
    (void)pthread_mutex_lock(&partitioner->status);
    place->drained_us = until_us;
    (void)pthread_mutex_unlock(&partitioner->status);
}

/* "default/a, default/b and 2 pods of others": those of other namespaces are not named. */
static void say_pods(struct sl_buf *text, const struct sl_cut_wait *wait)
{
    uint32_t named = wait->n_own < SL_CUT_WAIT_NAMES ? wait->n_own : SL_CUT_WAIT_NAMES;
    for (uint32_t i = 0; i < named; i++) {
        sl_buf_printf(text, "%s%s/%s", i == 0 ? "" : ", ", wait->own[i]->namespace,
                      wait->own[i]->name);
    }
    if (wait->n_own > named) {
        sl_buf_printf(text, " and %u more of its namespace", wait->n_own - named);
    }
    if (wait->n_others > 0) {
        sl_buf_printf(text, "%s%u pod%s of others", named > 0 ? " and " : "", wait->n_others,
                      wait->n_others == 1 ? "" : "s");
    }
}

/* Tells the pod for which a node drains what must end, and by when: "node-7 drains for it: GPU 2 is
 * to be cut by 2026-11-26T14:30:00Z, after at most default/a and 2 pods of others". */
static void say_drain(const struct sl_partitioner *partitioner, const struct sl_view *view,
                      const struct sl_pod *pod, const struct sl_cut_drain *drain, int64_t now_us)
{
    struct sl_cut_wait wait;
    struct sl_buf text;
    char until[32];
    sl_cut_wait_find(view, pod, drain, now_us, &wait);
    sl_time_format((drain->until_us + SL_SECOND_US - 1) / SL_SECOND_US * SL_SECOND_US, until);
    sl_buf_init(&text, 8 * (size_t)SL_PARTITION_WORDS_MAX);
    sl_buf_printf(&text, "%s drains for it: ", view->node->name);
    if (drain->n_devices == 1) {
        sl_buf_printf(&text, "GPU %d is to be cut by %s", drain->device, until);
    } else {
        sl_buf_printf(&text, "GPUs are to be cut by %s", until);
    }
    sl_buf_puts(&text, wait.n_own + wait.n_others > 0 ? ", after at most " : "");
    say_pods(&text, &wait);
    sl_buf_putc(&text, '\0');
    if (text.failed == SL_BUF_OK) {
        sl_planner_set_drain_text(partitioner->planner, view->node->name, text.data);
    }
    sl_buf_free(&text);
}

/* Begins the drains of the plan, and ends those that it does not want any more. */
static void set_drains(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                       const struct wish *wish, const struct sl_cut_output *output)
{
    size_t at = 0;
    for (size_t i = 0; i < output->n_drains; i++) {
        const struct sl_cut_drain *drain = &output->drain[i];
        const struct sl_view *view = snapshot->view[drain->view];
        const struct sl_pod *pod = wish->pod[drain->pod].pod;
        struct sl_cut_place *place = sl_cut_place_of(partitioner, view->node->name);
        if (place != NULL) {
            place->draining = true;
            place->round = partitioner->round;
            set_drained(partitioner, place, drain->until_us);
            place->drained_for = hash_pod(pod);
            place->drain = drain->n_keys > 0 ? *drain : place->drain;
            place->drain.until_us = drain->until_us;
            sl_planner_drain(partitioner->planner, sl_str_of(place->name), sl_str_of(pod->uid),
                             drain->until_us + SL_CUT_DRAIN_GRACE_US, drain->key, drain->n_keys);
            say_drain(partitioner, view, pod, &place->drain, wish->now_us);
        }
    }
    for (struct sl_cut_place *place = sl_map_next(&partitioner->places, &at); place != NULL;
         place = sl_map_next(&partitioner->places, &at)) {
        if (!place->draining && place->drained_us != 0) {
            set_drained(partitioner, place, 0);
            sl_planner_drain(partitioner->planner, sl_str_of(place->name), SL_STR(""), 0, NULL, 0);
        }
        place->draining = false;
    }
}

/* ---- when ---- */

/* Tells pods that came later, or found no place in the plan, of the cut which makes room for them.
 */
static void join_plan(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                      const struct sl_cut_pod *pod, const struct sl_cut_plan *plan)
{
    const char *node = snapshot->view[plan->view]->node->name;
    struct sl_cut_place *place = sl_cut_place_find(partitioner, node);
    if (place != NULL && place->run != NULL) {
        add_pods(place, pod, plan);
        tell_pods(partitioner, place);
    }
}

/* Tells the pods of a cut that begins at begin_us. */
static void announce_plan(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                          const struct wish *wish, const struct sl_cut_plan *plan, int64_t begin_us)
{
    const struct sl_view *view = snapshot->view[plan->view];
    struct sl_cut_place *place = sl_cut_place_of(partitioner, view->node->name);
    if (place != NULL) {
        note_plan(partitioner, place, view, wish->pod, plan, begin_us, wish->now_us);
        tell_pods(partitioner, place);
    }
}

/* The next plan is made as if nothing had been said of this one. */
static void withdraw_plans(struct sl_partitioner *partitioner)
{
    size_t at = 0;
    for (struct sl_cut_place *place = sl_map_next(&partitioner->places, &at); place != NULL;
         place = sl_map_next(&partitioner->places, &at)) {
        if (place->planned) {
            sl_cut_untell_pods(partitioner, place);
            (void)pthread_mutex_lock(&partitioner->status);
            place->planned = false;
            (void)pthread_mutex_unlock(&partitioner->status);
        }
    }
}

static int64_t begin_plans(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                           const struct wish *wish, const struct sl_cut_output *output,
                           int64_t now_us)
{
    int64_t wake_us = INT64_MAX;
    bool due = sl_cut_batch_is_due(&partitioner->batch, output,
                                   partitioner->config.partitioning.batch_us, now_us, &wake_us);
    for (size_t i = 0; i < output->n_plans; i++) {
        const struct sl_cut_plan *plan = &output->plan[i];
        if (plan->n_cuts == 0) {
            join_plan(partitioner, snapshot, wish->pod, plan);
        } else if (due) {
            begin_plan(partitioner, snapshot, wish->pod, plan, now_us);
        } else if (plan->n_pods > 0) {
            announce_plan(partitioner, snapshot, wish, plan, wake_us);
        }
    }
    return due ? now_us + rest_min_us : wake_us; /* the first steps of the runs */
}

static int64_t plan_cuts(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                         const struct wish *wish, int64_t now_us)
{
    const struct sl_config *config = &partitioner->config;
    struct sl_cut_output output = {.n_plans = 0};
    size_t max = (size_t)config->partitioning.max_nodes;
    struct sl_cut_site *site = make_sites(partitioner, snapshot, wish, now_us);
    const struct sl_cut_input input = {
        .view = snapshot->view,
        .site = site,
        .n_views = snapshot->n_nodes,
        .pod = wish->pod,
        .n_pods = wish->n,
        .demand = &snapshot->demand,
        .max_plans = max > partitioner->under_way ? max - partitioner->under_way : 0,
        .limits = sl_cut_limits_now(partitioner, now_us),
        .drain = config->partitioning.drain,
        .now_us = now_us,
    };
    int64_t wake_us = now_us + retry_us;
    if (site != NULL && sl_cutter_plan(partitioner->cutter, &input, &output, NULL) == 0) {
        set_drains(partitioner, snapshot, wish, &output);
        int64_t begin_us = begin_plans(partitioner, snapshot, wish, &output, now_us);
        wake_us = begin_us < wake_us ? begin_us : wake_us;
    }
    free(site);
    return wake_us;
}

static bool may_cut(const struct sl_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        if (snapshot->view[i]->node->partition.actuator != SL_ACTUATOR_NONE) {
            return true;
        }
    }
    return false;
}

int64_t sl_cut_want(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                    int64_t now_us)
{
    struct wish wish = {.snapshot = snapshot, .now_us = now_us};
    if (now_us < partitioner->next_ask_us) {
        return partitioner->next_ask_us;
    }
    int64_t begin_us = sl_clock_monotonic_us();
    withdraw_plans(partitioner);
    sl_cut_see(partitioner, snapshot, now_us);
    if (may_cut(snapshot) && sl_planner_estimate(partitioner->planner, now_us, NULL) == 0) {
        (void)sl_planner_visit(partitioner->planner, now_us, SIZE_MAX, add_row, &wish);
    }
    int64_t wake_us = INT64_MAX;
    if (wish.wants && !wish.failed) {
        wake_us = plan_cuts(partitioner, snapshot, &wish, now_us);
    } else {
        const struct sl_cut_output nothing = {.n_plans = 0};
        set_drains(partitioner, snapshot, &wish, &nothing);
        partitioner->batch = (struct sl_cut_batch){0};
    }
    free(wish.pod);
    int64_t took_us = sl_clock_monotonic_us() - begin_us;
    int64_t rest_us = took_us * REST > rest_min_us ? took_us * REST : rest_min_us;
    (void)pthread_mutex_lock(&partitioner->status);
    partitioner->counts.plans++;
    partitioner->counts.plan_us += (uint64_t)took_us;
    (void)pthread_mutex_unlock(&partitioner->status);
    partitioner->next_ask_us = now_us + rest_us;
    return wake_us < partitioner->next_ask_us ? partitioner->next_ask_us : wake_us;
}
