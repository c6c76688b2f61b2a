/* The machine of a cut under way. It relies on this:
 *
 * - The mig-manager writes the label nvidia.com/mig.config.state: pending, rebooting, success or
 * failed. The order itself sets pending, so that success and failed are news. An entry that its
 * file does not show yet fails at once, for good under that name, and nothing has changed then: the
 * next attempt follows after a pause. So the file is written first, and the label set when it
 * should have arrived.
 * - It takes the device plugin away for its run, so that allocatable drops and comes back, after
 * the state says success.
 * - A failed run may have destroyed free instances.
 * - nos' agent repeats the plan's name when it has read it, and at the end, whatever came of it.
 * - nos' device plugin (MPS mode) says nothing: what is allocatable and what the agent reports tell
 * that it has ended. It takes up the file that the node's label names when the label changes; where
 * it lacks that file nothing happens, and the next attempt follows. Here, too, the file is first.
 */
#include "sliced/cut_run.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/data/hash.h"
#include "util/data/sat.h"
#include "util/time.h"

static const int64_t lag_us = 10 * SL_SECOND_US;    /* the watch shows an order by then */
static const int64_t follow_us = SL_MINUTE_US;      /* allocatable follows by then */
static const int64_t settle_us = 20 * SL_SECOND_US; /* and after a failure */
/* By then the kubelet has reported what the node has, after a cut whose instances are not known. */
static const int64_t calm_us = 10 * SL_SECOND_US;
static const int64_t again_us = 5 * SL_SECOND_US; /* until a failed write is tried again */
static const int64_t pauses_us[SL_CUT_ATTEMPTS] = {5 * SL_SECOND_US, SL_MINUTE_US, 0};

const char *sl_cut_outcome_name(enum sl_cut_outcome outcome)
{
    static const char *const name[SL_CUT_OUTCOMES] = {
        [SL_CUT_RUNNING] = "Running",
        [SL_CUT_DONE] = "Done",
        [SL_CUT_FAILED] = "Failed",
        [SL_CUT_WEDGED] = "Wedged",
        [SL_CUT_SILENT] = "Silent",
        [SL_CUT_NOT_FOLLOWED] = "NotFollowed",
        [SL_CUT_HALF_APPLIED] = "HalfApplied",
        [SL_CUT_REFUSED] = "Refused",
        [SL_CUT_BAD_FILE] = "BadFile",
        [SL_CUT_TAKEN] = "Taken",
        [SL_CUT_GONE] = "Gone",
        [SL_CUT_LEFT] = "Left",
    };
    return name[outcome];
}

/* ---- begin ---- */

static void note_units(struct sl_cut_run *run, const struct sl_node *node)
{
    run->n_had = node->n_pools;
    for (unsigned i = 0; i < node->n_pools; i++) {
        run->had[i].key = node->pool[i].key;
        run->had[i].units = node->pool[i].capacity;
    }
}

/* Is as much allocatable as before? Of a run that was resumed nobody knows what was. */
static bool has_same_units(const struct sl_cut_run *run, const struct sl_node *node)
{
    bool same = !run->resumed && node->n_pools == run->n_had;
    for (unsigned i = 0; i < node->n_pools && same; i++) {
        same = node->pool[i].key == run->had[i].key && node->pool[i].capacity == run->had[i].units;
    }
    return same;
}

static bool has_units(const struct sl_node *node)
{
    bool found = false;
    for (unsigned i = 0; i < node->n_pools; i++) {
        found = found || node->pool[i].capacity > 0;
    }
    return found;
}

/* Is more of some resource allocatable than before? */
static bool has_more(const struct sl_cut_run *run, const struct sl_node *node)
{
    bool more = false;
    for (unsigned i = 0; i < node->n_pools; i++) {
        int64_t before = 0;
        for (unsigned k = 0; k < run->n_had; k++) {
            before = run->had[k].key == node->pool[i].key ? run->had[k].units : before;
        }
        more = more || node->pool[i].capacity > before;
    }
    return more;
}

/* May the agent have changed anything? It takes the device plugin away, with all units, and makes
 * more of some resource. So do a plugin that starts anew, and the health of a node's only GPU. */
static bool has_begun(const struct sl_cut_run *run, const struct sl_node *node)
{
    bool had = false;
    for (unsigned k = 0; k < run->n_had; k++) {
        had = had || run->had[k].units > 0;
    }
    return has_more(run, node) || (had && !has_units(node));
}

static uint64_t digest_wanted(const struct sl_node *node)
{
    const char *wanted = node->partition.wanted == NULL ? "" : node->partition.wanted;
    return sl_rank_hash(wanted, strlen(wanted));
}

static void run_name(struct sl_cut_run *run)
{
    const uint64_t words[2] = {run->digest, (uint64_t)run->begun_us};
    char bytes[sizeof(words)];
    memcpy(bytes, words, sizeof(words));
    (void)snprintf(run->name, sizeof(run->name), "sliced-%016" PRIx64 "-%u",
                   sl_rank_hash(bytes, sizeof(bytes)), run->attempt);
}

/* The agent's file has the names of all attempts: they differ in their number alone. */
static void run_try_again(struct sl_cut_run *run)
{
    char *number = strrchr(run->name, '-') + 1;
    run->attempt++;
    (void)snprintf(number, sizeof(run->name) - (size_t)(number - run->name), "%u", run->attempt);
}

/* Does the agent read its orders in a file? */
static bool has_file(enum sl_actuator actuator)
{
    return actuator == SL_ACTUATOR_MIG_MANAGER || actuator == SL_ACTUATOR_NOS_MPS;
}

void sl_cut_run_begin(struct sl_cut_run *run, const struct sl_node *node, const struct sl_cut *cut,
                      size_t n, int64_t now_us)
{
    *run = (struct sl_cut_run){
        .actuator = node->partition.actuator,
        .attempt = 1,
        .announces = has_file(node->partition.actuator),
        .digest = sl_cut_digest(node, cut, n),
        .n_cuts = (uint16_t)n,
        .begun_us = now_us,
        .wake_us = now_us,
        .wanted = digest_wanted(node),
    };
    run->attempt -= run->announces;
    run->showed = sl_cut_shown(node, cut, n);
    memcpy(run->cut, cut, n * sizeof(cut[0]));
    note_units(run, node);
    run_name(run);
}

/* nos' label names the node, too. */
static bool ends_with(const char *text, const struct sl_cut_run *run)
{
    return text != NULL && sl_str_ends(sl_str_of(text), sl_str_of(run->name));
}

bool sl_cut_run_resume(struct sl_cut_run *run, const struct sl_node *node, int64_t now_us)
{
    const char *cut = node->partition.cut;
    if (cut == NULL) {
        return false;
    }
    *run = (struct sl_cut_run){
        .actuator = node->partition.actuator,
        .resumed = true,
        .attempt = SL_CUT_ATTEMPTS,
        .begun_us = now_us,
        .ordered_us = now_us,
        .wake_us = now_us,
        .at = SL_CUT_AT_WORK,
        .written = true,
        .told = true,
        .moved = node->partition.actuator != SL_ACTUATOR_MIG_MANAGER || !has_units(node),
    };
    note_units(run, node);
    if (strlen(cut) >= sizeof(run->name)) { /* not a name of ours: nothing can come of it */
        run->outcome = SL_CUT_LEFT;
        run->at = SL_CUT_AT_FINISH;
        return true;
    }
    (void)snprintf(run->name, sizeof(run->name), "%s", cut);
    if (has_file(run->actuator) && !ends_with(node->partition.wanted, run)) {
        run->outcome = SL_CUT_LEFT; /* it was announced, and the agent has not heard of it */
        run->at = SL_CUT_AT_FINISH;
    }
    return true;
}

/* ---- pods ---- */

static bool stood(const struct sl_cut_run *run, uint64_t pod)
{
    for (unsigned i = 0; i < run->n_stood; i++) {
        if (run->stood[i] == pod) {
            return true;
        }
    }
    return false;
}

/* Returns the next pod from *at on that holds units, 0 where there is none. */
static uint64_t next_pod(const struct sl_view *view, uint32_t *at)
{
    while (*at < view->n_residents) {
        const struct sl_pod *pod = view->resident[(*at)++].pod;
        if (pod->n_items > 0) {
            return sl_hash(pod->uid, strlen(pod->uid)) | 1;
        }
    }
    return 0;
}

void sl_cut_run_note_pods(struct sl_cut_run *run, const struct sl_view *view)
{
    uint32_t at = 0;
    run->n_stood = 0;
    for (uint64_t pod = next_pod(view, &at); pod != 0 && run->n_stood < SL_CUT_STOOD_MAX;
         pod = next_pod(view, &at)) {
        run->stood[run->n_stood++] = pod;
    }
}

void sl_cut_run_look_at_pods(struct sl_cut_run *run, const struct sl_view *view)
{
    uint32_t at = 0;
    uint64_t pod = next_pod(view, &at);
    while (pod != 0 && stood(run, pod)) {
        pod = next_pod(view, &at);
    }
    run->taken = pod != 0;
}

/* ---- what the node shows ---- */

static bool says(const char *text, const struct sl_cut_run *run)
{
    return text != NULL && strcmp(text, run->name) == 0;
}

/* Not selected any more, or another agent's. */
static bool is_deselected(const struct sl_cut_run *run, const struct sl_node *node)
{
    return node->partition.actuator != run->actuator;
}

static void run_finish(struct sl_cut_run *run, enum sl_cut_outcome outcome)
{
    run->outcome = outcome;
    run->at = SL_CUT_AT_FINISH;
    run->pause_us = 0;
}

static void wait_until(struct sl_cut_run *run, int64_t us)
{
    run->wake_us = us < run->wake_us ? us : run->wake_us;
}

/* Nothing is waited for longer than for the cut itself. */
static int64_t at_most(const struct sl_cut_rules *rules, int64_t us)
{
    return us < rules->timeout_us ? us : rules->timeout_us;
}

/* Does the node show what was ordered? Where that is not known: what sliced.dev/cut-devices says.
 * Beside GPUs that are unsure it may have shown that before, by what they hold: then only more
 * units tell that the agent made it. */
static bool is_shown(const struct sl_cut_run *run, const struct sl_node *node)
{
    if (run->n_cuts == 0) {
        return node->partition.follows;
    }
    return sl_cut_shown(node, run->cut, run->n_cuts) && (!run->showed || has_more(run, node));
}

/* Has the actuator ended, with the instances that were ordered? Else this waits for allocatable to
 * follow, and gives up with that outcome. */
static void judge_end(struct sl_cut_run *run, const struct sl_node *node,
                      const struct sl_cut_rules *rules, enum sl_cut_outcome otherwise,
                      int64_t now_us)
{
    int64_t patience_us = at_most(rules, follow_us);
    bool shown = is_shown(run, node);
    bool unknown = run->n_cuts == 0 && node->n_pools > 0 && !node->partition.at_work &&
                   !node->partition.planned;
    int64_t calm_for_us = at_most(rules, calm_us);
    bool calm = unknown && now_us - run->news_us >= calm_for_us;
    if (shown || calm) {
        run_finish(run, SL_CUT_DONE);
    } else if (now_us - run->news_us >= patience_us) {
        run_finish(run, otherwise);
    } else {
        wait_until(run, run->news_us + (unknown ? calm_for_us : patience_us));
    }
}

/* The mig-manager says that it failed. */
static void judge_failure(struct sl_cut_run *run, const struct sl_node *node,
                          const struct sl_cut_rules *rules, int64_t now_us)
{
    int64_t patience_us = at_most(rules, settle_us);
    bool same = has_same_units(run, node);
    if (same && !run->moved && run->attempt < SL_CUT_ATTEMPTS) {
        run->at = SL_CUT_AT_PAUSE;
        run->told = false;
        run->pause_us = now_us + pauses_us[run->attempt - 1];
        run_try_again(run);
    } else if (same || run->resumed) {
        run_finish(run, SL_CUT_FAILED);
    } else if (now_us - run->news_us >= patience_us) {
        run_finish(run, SL_CUT_HALF_APPLIED);
    } else {
        wait_until(run, run->news_us + patience_us);
    }
}

/* The node's label names something else: the watch is behind, or somebody has set it. */
static void await_label(struct sl_cut_run *run, int64_t now_us)
{
    if (now_us - run->ordered_us >= lag_us) {
        run_finish(run, SL_CUT_LEFT);
    } else {
        wait_until(run, run->ordered_us + lag_us);
    }
}

/* Has the mig-manager begun, which has not ended? Then it brings units back only as it says how it
 * has ended: while it is pending, units that come back were away for another reason. */
static bool is_begun(const struct sl_cut_run *run, const struct sl_node *node)
{
    bool idle = node->partition.state == SL_PARTITION_PENDING && has_units(node);
    return is_shown(run, node) || (run->moved && !idle);
}

/* The order sets another state, and so does a mig-manager that begins. */
static bool has_ended(const struct sl_node *node)
{
    return node->partition.state == SL_PARTITION_SUCCESS ||
           node->partition.state == SL_PARTITION_FAILED;
}

static void watch_mig_manager(struct sl_cut_run *run, const struct sl_node *node,
                              const struct sl_cut_rules *rules, int64_t now_us)
{
    const struct sl_partition *partition = &node->partition;
    if (!says(partition->wanted, run)) {
        run->news_us = 0;
        await_label(run, now_us);
        return;
    }
    run->moved = run->moved || partition->state == SL_PARTITION_REBOOTING;
    run->news_us = !has_ended(node) ? 0 : run->news_us == 0 ? now_us : run->news_us;
    if (partition->state == SL_PARTITION_SUCCESS) {
        judge_end(run, node, rules, SL_CUT_NOT_FOLLOWED, now_us);
    } else if (partition->state == SL_PARTITION_FAILED) {
        judge_failure(run, node, rules, now_us);
    } else if (run->taken && !is_begun(run, node)) { /* it shall not begin */
        run_finish(run, SL_CUT_TAKEN);
    } else if (now_us - run->begun_us >= rules->timeout_us) {
        run_finish(run, SL_CUT_WEDGED);
    } else {
        wait_until(run, run->begun_us + rules->timeout_us);
    }
}

static void watch_nos(struct sl_cut_run *run, const struct sl_node *node,
                      const struct sl_cut_rules *rules, int64_t now_us)
{
    const struct sl_partition *partition = &node->partition;
    if (!says(partition->wanted, run) && now_us - run->ordered_us >= lag_us) {
        run_finish(run, SL_CUT_LEFT);
    } else if (says(partition->applied, run)) {
        run->news_us = run->news_us == 0 ? now_us : run->news_us;
        judge_end(run, node, rules, SL_CUT_HALF_APPLIED, now_us);
    } else if (now_us - run->begun_us >= rules->timeout_us) {
        run_finish(run, SL_CUT_SILENT);
    } else {
        wait_until(run, run->begun_us + rules->timeout_us);
        if (!says(partition->wanted, run)) {
            wait_until(run, run->ordered_us + lag_us);
        }
    }
}

/* The plugin that does not take up what the label names lacks the file: the label is set anew. */
static void watch_mps(struct sl_cut_run *run, const struct sl_node *node,
                      const struct sl_cut_rules *rules, int64_t now_us)
{
    int64_t again_at_us = sl_sat_add(run->ordered_us, SL_MINUTE_US);
    if (!ends_with(node->partition.wanted, run)) {
        await_label(run, now_us);
    } else if (is_shown(run, node)) {
        run_finish(run, SL_CUT_DONE);
    } else if (now_us - run->begun_us >= rules->timeout_us) {
        run_finish(run, run->moved ? SL_CUT_NOT_FOLLOWED : SL_CUT_SILENT);
    } else if (run->moved || run->attempt >= SL_CUT_ATTEMPTS) {
        wait_until(run, run->begun_us + rules->timeout_us);
    } else if (now_us < again_at_us) {
        wait_until(run, again_at_us);
        wait_until(run, run->begun_us + rules->timeout_us);
    } else {
        run->at = SL_CUT_AT_ORDER;
        run_try_again(run);
    }
}

/* An agent goes on with what it was told, whoever selects the node now: until it has ended nothing
 * may be given there. */
static bool is_at_work(const struct sl_cut_run *run, const struct sl_node *node,
                       const struct sl_cut_rules *rules, int64_t now_us)
{
    return node->partition.at_work && now_us - run->begun_us < rules->timeout_us;
}

static void watch_node(struct sl_cut_run *run, const struct sl_node *node,
                       const struct sl_cut_rules *rules, int64_t now_us)
{
    run->moved = run->moved || has_begun(run, node);
    if (is_deselected(run, node) && is_at_work(run, node, rules, now_us)) {
        wait_until(run, run->begun_us + rules->timeout_us);
    } else if (is_deselected(run, node)) {
        run_finish(run, SL_CUT_LEFT);
    } else if (run->actuator == SL_ACTUATOR_MIG_MANAGER) {
        watch_mig_manager(run, node, rules, now_us);
    } else if (run->actuator == SL_ACTUATOR_NOS_MPS) {
        watch_mps(run, node, rules, now_us);
    } else {
        watch_nos(run, node, rules, now_us);
    }
}

/* ---- steps ---- */

/* Is nothing left to wait for once the mark is off? The watch may be late; and an agent may have
 * begun in the moment in which its order was taken back or given up. Its clients' pods end within
 * 30 s and the kubelet reports within 10 s more: only then does the node show it. A mig-manager
 * that is there and has not begun, or has ended, fails at the label that takes the order back; then
 * the kubelet's next report tells what is there. */
static bool is_clear(struct sl_cut_run *run, const struct sl_node *node,
                     const struct sl_cut_rules *rules, int64_t now_us)
{
    bool taken = run->outcome == SL_CUT_TAKEN;
    bool may_work = run->outcome != SL_CUT_DONE && node->partition.at_work && has_units(node);
    bool told = run->told && (taken || may_work);
    bool answered = has_ended(node);
    run->moved = run->moved || (told && has_begun(run, node));
    bool works = told && taken && run->moved && node->partition.at_work;
    run->news_us = !told || !answered ? 0 : run->news_us == 0 ? now_us : run->news_us;
    int64_t patience_us = works ? rules->timeout_us : told && !answered ? follow_us : lag_us;
    int64_t since_us = run->news_us == 0 ? run->ordered_us : run->news_us;
    wait_until(run, since_us + patience_us);
    return (node->partition.cut == NULL && !told) || now_us - since_us >= patience_us;
}

static enum sl_cut_step begin_write(struct sl_cut_run *run, enum sl_cut_step step)
{
    run->writing = true;
    run->wake_us = INT64_MAX;
    return step;
}

/* Has somebody else told the agent what to make since the cut was decided? Earlier attempts of ours
 * have the same name but for its number. */
static bool is_overruled(const struct sl_cut_run *run, const struct sl_node *node)
{
    const char *wanted = node->partition.wanted;
    char stem[SL_CUT_NAME_MAX];
    (void)snprintf(stem, sizeof(stem), "%.*s", (int)(strrchr(run->name, '-') + 1 - run->name),
                   run->name);
    return digest_wanted(node) != run->wanted && (wanted == NULL || strstr(wanted, stem) == NULL);
}

/* The order, or the end, was not written: later again. */
static bool is_paused(struct sl_cut_run *run, int64_t now_us)
{
    if (now_us < run->pause_us) {
        wait_until(run, run->pause_us);
        return true;
    }
    return false;
}

enum sl_cut_step sl_cut_run_step(struct sl_cut_run *run, const struct sl_node *node,
                                 const struct sl_cut_rules *rules, int64_t now_us)
{
    run->wake_us = INT64_MAX;
    if (node == NULL) {
        run->outcome = run->outcome == SL_CUT_RUNNING ? SL_CUT_GONE : run->outcome;
        return SL_CUT_END;
    }
    if (run->writing) {
        return SL_CUT_WAIT;
    }
    run->file_us = rules->file_us;
    if (run->at == SL_CUT_AT_WORK) {
        watch_node(run, node, rules, now_us);
    }
    bool to_order = run->at == SL_CUT_AT_ORDER || run->at == SL_CUT_AT_PAUSE;
    if (to_order && (is_deselected(run, node) || is_overruled(run, node))) {
        run_finish(run, SL_CUT_LEFT);
    } else if (to_order && run->taken) {
        run_finish(run, SL_CUT_TAKEN);
    } else if (to_order && run->unwritten && now_us - run->begun_us >= rules->timeout_us) {
        run_finish(run, SL_CUT_REFUSED);
    }
    switch (run->at) {
    case SL_CUT_AT_PAUSE:
    case SL_CUT_AT_ORDER:
        if (is_paused(run, now_us)) {
            return SL_CUT_WAIT;
        }
        run->at = SL_CUT_AT_ORDER;
        run->ordered_us = now_us;
        return begin_write(run, SL_CUT_ORDER);
    case SL_CUT_AT_WORK:
        return SL_CUT_WAIT;
    case SL_CUT_AT_FINISH:
        if (!run->written && node->partition.cut == NULL) {
            return SL_CUT_END; /* the node was never told */
        }
        return is_paused(run, now_us) ? SL_CUT_WAIT : begin_write(run, SL_CUT_FINISH);
    case SL_CUT_AT_CLEAR:
        break;
    }
    return is_clear(run, node, rules, now_us) ? SL_CUT_END : SL_CUT_WAIT;
}

static void order_wrote(struct sl_cut_run *run, enum sl_cut_write_end end, int64_t now_us)
{
    run->written = run->written || end == SL_CUT_WRITTEN || end == SL_CUT_WRITE_UNKNOWN;
    run->unwritten = end == SL_CUT_WRITE_FAILED;
    run->ordered_us = now_us;
    run->news_us = 0;
    if (end == SL_CUT_WRITE_REFUSED) {
        run_finish(run, SL_CUT_REFUSED);
    } else if (end == SL_CUT_WRITE_BAD_FILE) {
        run_finish(run, SL_CUT_BAD_FILE);
    } else if (end == SL_CUT_WRITE_MOOT) {
        run_finish(run, SL_CUT_LEFT);
    } else if (end == SL_CUT_WRITE_FAILED) { /* the same again: surely nobody has seen it */
        run->at = SL_CUT_AT_PAUSE;
        run->pause_us = now_us + again_us;
    } else if (run->announces) {
        run->at = SL_CUT_AT_PAUSE;
        run->pause_us = sl_sat_add(now_us, run->file_us);
        run->announces = false;
        run_try_again(run);
    } else {
        run->at = SL_CUT_AT_WORK;
        run->told = true;
    }
}

void sl_cut_run_wrote(struct sl_cut_run *run, enum sl_cut_write_end end, int64_t now_us)
{
    run->writing = false;
    run->wake_us = now_us;
    if (run->at == SL_CUT_AT_ORDER) {
        order_wrote(run, end, now_us);
    } else if (end == SL_CUT_WRITTEN) {
        run->at = SL_CUT_AT_CLEAR;
        run->ordered_us = now_us;
    } else { /* the node stays withheld until the mark is off */
        run->pause_us = now_us + again_us;
    }
}

const char *sl_cut_run_phase(const struct sl_cut_run *run, const struct sl_node *node)
{
    static const char *const phases[] = {
        [SL_CUT_AT_ORDER] = "being ordered",
        [SL_CUT_AT_WORK] = "ordered",
        [SL_CUT_AT_PAUSE] = "to be ordered again",
        [SL_CUT_AT_FINISH] = "ending",
        [SL_CUT_AT_CLEAR] = "ending",
    };
    if (run->at != SL_CUT_AT_WORK || node == NULL) {
        return phases[run->at];
    }
    if (run->news_us != 0) {
        return "waiting for allocatable";
    }
    return node->partition.state == SL_PARTITION_PENDING     ? "pending"
           : node->partition.state == SL_PARTITION_REBOOTING ? "rebooting"
                                                             : phases[run->at];
}
