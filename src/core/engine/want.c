/* Finds out which cuts are wanted: the pods that wait for them, the plan, and when it is time to
 * begin. */
#include <stdio.h>
#include <stdlib.h>

#include "core/engine/internal.h"
#include "util/data/hash.h"
#include "util/data/vec.h"
#include "util/time.h"

static const int64_t refused_us = 4 * SL_SECOND_US;
static const int64_t retry_us = 5 * SL_SECOND_US; /* when nothing came of the last plan */

/* The pods that wait, for one plan. */
struct wish {
    const struct sl_engine *engine;
    int64_t now_us;
    struct sl_cut_pod *pod;
    size_t n;
    size_t cap;
    bool wants;  /* some pod is served by a cut alone */
    bool failed; /* out of memory */
};

/* ---- the pods ---- */

/* Returns the index of the node's view + 1; 0: there is none. */
static size_t find_view(const struct sl_engine *engine, const char *node)
{
    size_t begin = 0;
    size_t end = engine->n_views;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        int order = strcmp(engine->view[middle]->node->name, node);
        if (order == 0) {
            return middle + 1;
        }
        begin = order < 0 ? middle + 1 : begin;
        end = order < 0 ? end : middle;
    }
    return 0;
}

/* A pod for which a cut is under way has what that makes, before those behind it. */
static bool has_cut(const struct wish *wish, const struct sl_queue_row *row, struct sl_cut_pod *pod)
{
    bool known = row->cut_node != NULL && wish->engine->config.cutting.plan == NULL;
    pod->made = known ? find_view(wish->engine, row->cut_node) : 0;
    pod->has_room = pod->has_room || pod->made > 0;
    return pod->made > 0;
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
static size_t drains_for(const struct sl_cut_book *book, const struct wish *wish)
{
    for (size_t i = 0; book->drained_us > 0 && i < wish->n; i++) {
        if (hash_pod(wish->pod[i].pod) == book->drained_for) {
            return i + 1;
        }
    }
    return 0;
}

static void read_book(struct sl_cut_site *site, const struct sl_cut_book *book,
                      const struct wish *wish)
{
    const struct sl_cut_run *run = book->run;
    site->out = site->out || wish->now_us < book->record.out_until_us || run != NULL ||
                wish->now_us < book->refused_us;
    if (run != NULL && run->outcome <= SL_CUT_DONE) {
        site->making = run->cut;
        site->n_making = book->n_made;
        site->made_us = book->expected_us;
    }
    site->drains_for = drains_for(book, wish);
    site->drains_until_us = book->drained_us;
    memcpy(site->failed, sl_cut_record_failed(&book->record, wish->now_us), sizeof(site->failed));
}

static struct sl_cut_site *make_sites(const struct wish *wish)
{
    const struct sl_engine *engine = wish->engine;
    struct sl_cut_site *site = calloc(engine->n_views + 1, sizeof(*site));
    for (size_t i = 0; site != NULL && i < engine->n_views; i++) {
        const struct sl_node *node = engine->view[i]->node;
        enum sl_actuator actuator = node->partition.actuator;
        site[i].out = actuator == SL_ACTUATOR_NONE || node->partition.cut != NULL;
        if (actuator == SL_ACTUATOR_NONE) {
            continue;
        }
        const struct sl_cut_book *book = sl_book_find(engine, node->name);
        site[i].seconds_us = sl_cut_seconds_us(book == NULL ? NULL : &book->record,
                                               engine->seconds_us[actuator], actuator);
        if (book != NULL) {
            read_book(&site[i], book, wish);
        }
    }
    return site;
}

/* ---- cuts ---- */

struct sl_cut_limits sl_cuts_limits(const struct sl_engine *engine, int64_t now_us)
{
    return (struct sl_cut_limits){
        .mig_mode = engine->config.cutting.mig_mode,
        .reported_us = now_us - engine->config.cutting.report_us,
        .seen = engine->seen,
        .n_seen = engine->n_seen,
    };
}

/* Notes what the plan makes of the node, for whom, and when that is expected to be done. */
static void note_plan(struct sl_engine *engine, struct sl_cut_book *book, const struct wish *wish,
                      const struct sl_cut_plan *plan, int64_t begin_us)
{
    const struct sl_node *node = engine->view[plan->view]->node;
    sl_book_note_pods(book, wish->pod, plan);
    (void)sl_cut_text(node, plan->cut, plan->n_cuts, book->cut, sizeof(book->cut));
    book->n_made = plan->n_cuts;
    book->expected_us = plan->start_us + begin_us - wish->now_us;
    book->planned = begin_us > wish->now_us;
    book->round = engine->round;
}

/* Has the node withheld. NULL: refused, or out of memory. */
static struct sl_cut_run *run_new(struct sl_engine *engine, struct sl_cut_book *book,
                                  const struct sl_cut_plan *plan, int64_t now_us)
{
    const struct sl_view *view = engine->view[plan->view];
    char why[SL_PLAN_TEXT_MAX] = "";
    struct sl_cut_run *run = calloc(1, sizeof(*run));
    if (run == NULL) {
        return NULL;
    }
    sl_cut_run_begin(run, view->node, plan->cut, plan->n_cuts, now_us);
    const struct sl_engine_command command = {
        .kind = SL_DO_CUT_BEGIN,
        .node = book->name,
        .view = view,
        .run = run,
        .cut = plan->cut,
        .n_cuts = plan->n_cuts,
        .limits = sl_cuts_limits(engine, now_us),
        .why = why,
        .text = book->cut,
        .pods = book->pods,
        .n_pods = plan->n_pods,
    };
    if (!sl_engine_do(engine, &command)) {
        book->refused_us = now_us + refused_us; /* another node may do */
        free(run);
        return NULL;
    }
    return run;
}

static void begin_plan(struct sl_engine *engine, const struct wish *wish,
                       const struct sl_cut_plan *plan)
{
    const struct sl_view *view = engine->view[plan->view];
    struct sl_cut_book *book = sl_book_of(engine, view->node->name);
    if (book == NULL) {
        return;
    }
    note_plan(engine, book, wish, plan, wish->now_us);
    struct sl_cut_run *run = run_new(engine, book, plan, wish->now_us);
    if (run == NULL) {
        sl_book_forget_pods(book);
        return;
    }
    sl_cuts_tell_pods(engine, book);
    sl_cuts_begin(engine, book, run, view, wish->now_us);
}

/* Tells pods that came later, or found no place in the plan, of the cut which makes room for them.
 */
static void join_plan(struct sl_engine *engine, const struct wish *wish,
                      const struct sl_cut_plan *plan)
{
    struct sl_cut_book *book = sl_book_find(engine, engine->view[plan->view]->node->name);
    if (book != NULL && book->run != NULL) {
        sl_book_add_pods(book, wish->pod, plan);
        sl_cuts_tell_pods(engine, book);
    }
}

/* Tells the pods of a cut that begins at begin_us. */
static void announce_plan(struct sl_engine *engine, const struct wish *wish,
                          const struct sl_cut_plan *plan, int64_t begin_us)
{
    struct sl_cut_book *book = sl_book_of(engine, engine->view[plan->view]->node->name);
    if (book != NULL) {
        note_plan(engine, book, wish, plan, begin_us);
        sl_cuts_tell_pods(engine, book);
    }
}

/* The next plan is made as if nothing had been said of this one. */
static void withdraw_plans(struct sl_engine *engine)
{
    size_t at = 0;
    for (struct sl_cut_book *book = sl_map_next(&engine->books, &at); book != NULL;
         book = sl_map_next(&engine->books, &at)) {
        if (book->planned) {
            sl_cuts_untell_pods(engine, book);
            book->planned = false;
        }
    }
}

/* Returns when cuts are to be planned again. */
static int64_t begin_plans(struct sl_engine *engine, const struct wish *wish,
                           const struct sl_cut_output *output)
{
    int64_t due_us = INT64_MAX;
    bool due = engine->config.cutting.plan != NULL ||
               sl_cut_batch_is_due(&engine->batch, output, engine->config.cutting.batch_us,
                                   wish->now_us, &due_us);
    for (size_t i = 0; i < output->n_plans; i++) {
        const struct sl_cut_plan *plan = &output->plan[i];
        if (plan->n_cuts == 0) {
            join_plan(engine, wish, plan);
        } else if (due) {
            begin_plan(engine, wish, plan);
        } else if (plan->n_pods > 0) {
            announce_plan(engine, wish, plan, due_us);
        }
    }
    return due ? INT64_MAX : due_us;
}

/* ---- drains ---- */

static void begin_drain(struct sl_engine *engine, const struct wish *wish,
                        const struct sl_cut_drain *drain)
{
    const struct sl_view *view = engine->view[drain->view];
    const struct sl_pod *pod = wish->pod[drain->pod].pod;
    struct sl_cut_book *book = sl_book_of(engine, view->node->name);
    if (book == NULL) {
        return;
    }
    if (book->drained_us == 0 || book->drained_for != hash_pod(pod)) {
        sl_record_drain(engine, book->name, pod, wish->now_us);
    }
    book->draining = true;
    book->round = engine->round;
    book->drained_us = drain->until_us;
    book->drained_for = hash_pod(pod);
    book->drain = drain->n_keys > 0 ? *drain : book->drain;
    book->drain.until_us = drain->until_us;
    sl_planner_drain(engine->planner, sl_str_of(book->name), sl_str_of(pod->uid),
                     drain->until_us + SL_CUT_DRAIN_GRACE_US, drain->key, drain->n_keys);
    sl_cuts_tell_drain(engine, view, pod, &book->drain, wish->now_us);
}

/* Begins the drains of the plan, and ends those that it does not want any more. */
static void set_drains(struct sl_engine *engine, const struct wish *wish,
                       const struct sl_cut_output *output)
{
    size_t at = 0;
    for (size_t i = 0; i < output->n_drains; i++) {
        begin_drain(engine, wish, &output->drain[i]);
    }
    for (struct sl_cut_book *book = sl_map_next(&engine->books, &at); book != NULL;
         book = sl_map_next(&engine->books, &at)) {
        if (!book->draining && book->drained_us != 0) {
            book->drained_us = 0;
            sl_record_drain(engine, book->name, NULL, wish->now_us);
            sl_planner_drain(engine->planner, sl_str_of(book->name), SL_STR(""), 0, NULL, 0);
        }
        book->draining = false;
    }
}

/* ---- the plan ---- */

static int plan_cuts(struct sl_engine *engine, const struct wish *wish, struct sl_error *err)
{
    const struct sl_engine_cutting *cutting = &engine->config.cutting;
    struct sl_cut_output output = {.n_plans = 0};
    struct sl_cut_site *site = make_sites(wish);
    if (site == NULL) {
        return sl_error_nomem(err);
    }
    const struct sl_cut_input input = {
        .view = engine->view,
        .site = site,
        .n_views = engine->n_views,
        .pod = wish->pod,
        .n_pods = wish->n,
        .demand = engine->demand,
        .max_plans =
            cutting->max_nodes > engine->under_way ? cutting->max_nodes - engine->under_way : 0,
        .limits = sl_cuts_limits(engine, wish->now_us),
        .drain = cutting->drain,
        .now_us = wish->now_us,
    };
    int result = cutting->plan != NULL ? cutting->plan(cutting->state, &input, &output, err)
                                       : sl_cutter_plan(engine->cutter, &input, &output, err);
    if (result == 0) {
        set_drains(engine, wish, &output);
        int64_t due_us = begin_plans(engine, wish, &output);
        engine->want_us = due_us < engine->want_us ? due_us : engine->want_us;
    }
    free(site);
    return result;
}

static bool may_cut(const struct sl_engine *engine)
{
    for (size_t i = 0; i < engine->n_views; i++) {
        if (engine->view[i]->node->partition.actuator != SL_ACTUATOR_NONE) {
            return true;
        }
    }
    return false;
}

int sl_cuts_want(struct sl_engine *engine, int64_t now_us, struct sl_error *err)
{
    struct wish wish = {.engine = engine, .now_us = now_us};
    int result = 0;
    withdraw_plans(engine);
    sl_cuts_see(engine, now_us);
    engine->want_us = INT64_MAX;
    if (may_cut(engine)) {
        result = sl_planner_estimate(engine->planner, now_us, err);
        (void)(result < 0 ? 0
                          : sl_planner_visit(engine->planner, now_us, SIZE_MAX, add_row, &wish));
        result = wish.failed ? sl_error_nomem(err) : result;
    }
    if (result == 0 && wish.wants) {
        engine->want_us = engine->config.cutting.plan == NULL ? now_us + retry_us : INT64_MAX;
        result = plan_cuts(engine, &wish, err);
    } else {
        const struct sl_cut_output nothing = {.n_plans = 0};
        set_drains(engine, &wish, &nothing);
        engine->batch = (struct sl_cut_batch){0};
    }
    free(wish.pod);
    engine->want_us = result < 0 ? now_us + retry_us : engine->want_us;
    return result;
}
