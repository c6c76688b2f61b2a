/* Sees each cut through: the next step by what the node shows, its write, its end. */
#include <stdio.h>
#include <stdlib.h>

#include "core/engine/internal.h"
#include "util/data/hash.h"
#include "util/time.h"

static struct sl_cut_rules rules_of(const struct sl_engine *engine, const struct sl_cut_run *run)
{
    const struct sl_engine_cutting *cutting = &engine->config.cutting;
    bool mps = run->actuator == SL_ACTUATOR_NOS_MPS;
    return (struct sl_cut_rules){
        .timeout_us = cutting->timeout_us,
        .backoff_us = cutting->backoff_us,
        .max_backoff_us = cutting->max_backoff_us,
        .file_us = mps ? cutting->mps_file_us : cutting->mig_file_us,
    };
}

static uint64_t hash_node(const struct sl_node *node)
{
    return node->uid == NULL ? 0 : sl_hash(node->uid, strlen(node->uid));
}

static void book_open(struct sl_cut_book *book, struct sl_cut_run *run, const struct sl_node *node,
                      int64_t now_us)
{
    book->run = run;
    book->node = hash_node(node);
    book->trouble[0] = '\0';
    book->begun_us = now_us;
}

static int64_t earlier_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- writes ---- */

static void begin_write(struct sl_engine *engine, struct sl_cut_book *book,
                        const struct sl_view *view, enum sl_cut_step step, int64_t now_us)
{
    uint64_t number = ++engine->last_write;
    const struct sl_engine_command command = {
        .kind = SL_DO_CUT_WRITE,
        .node = book->name,
        .view = view,
        .run = book->run,
        .step = step,
        .write = number,
    };
    book->write = number;
    if (!sl_engine_do(engine, &command)) {
        sl_engine_wrote(engine, book->name, number, SL_CUT_WRITE_FAILED, NULL, now_us);
    }
}

void sl_engine_wrote(struct sl_engine *engine, const char *node, uint64_t write,
                     enum sl_cut_write_end end, const char *why, int64_t now_us)
{
    struct sl_cut_book *book = sl_book_find(engine, node);
    if (book != NULL && book->run != NULL && book->write == write) {
        book->write = 0;
        sl_cut_run_wrote(book->run, end, now_us);
        engine->follow_us = now_us;
    }
    if (book != NULL && end != SL_CUT_WRITTEN && why != NULL) {
        (void)snprintf(book->trouble, sizeof(book->trouble), "%s", why);
    }
}

/* ---- a run's end ---- */

static void note_end(struct sl_engine *engine, struct sl_cut_book *book, int64_t took_us,
                     int64_t now_us)
{
    const struct sl_cut_run *run = book->run;
    const struct sl_cut_rules rules = rules_of(engine, run);
    bool done = run->outcome == SL_CUT_DONE;
    sl_cut_record_note(&book->record, run, &rules, now_us);
    (void)snprintf(book->ended, sizeof(book->ended), "%s",
                   run->outcome == SL_CUT_GONE ? "" : run->name);
    book->why = done ? "" : sl_cut_outcome_name(run->outcome);
    if (done && !run->resumed) {
        int64_t *mean_us = &engine->seconds_us[run->actuator];
        *mean_us = sl_cut_mean_us(*mean_us, took_us);
    }
}

static void end_run(struct sl_engine *engine, struct sl_cut_book *book, const struct sl_view *view,
                    int64_t now_us)
{
    int64_t took_us = now_us - book->begun_us;
    const struct sl_engine_command command = {
        .kind = SL_DO_CUT_END,
        .node = book->name,
        .view = view,
        .run = book->run,
        .text = book->cut,
        .trouble = book->trouble,
        .took_us = took_us,
    };
    note_end(engine, book, took_us, now_us);
    (void)sl_engine_do(engine, &command);
    if (book->run->outcome == SL_CUT_DONE) {
        book->cut[0] = '\0';
        book->pods[0] = '\0';
    }
    sl_cuts_untell_pods(engine, book);
    sl_book_drop(engine, book);
    engine->ended = true;
}

/* ---- following ---- */

/* Takes steps until one has to be waited for, and returns until when. view is NULL when the node is
 * gone. */
static int64_t drive(struct sl_engine *engine, struct sl_cut_book *book, const struct sl_view *view,
                     int64_t now_us)
{
    const struct sl_cut_rules rules = rules_of(engine, book->run);
    const struct sl_node *node = view == NULL ? NULL : view->node;
    if (view != NULL) {
        sl_cut_run_look_at_pods(book->run, view);
    }
    for (;;) {
        enum sl_cut_step step = sl_cut_run_step(book->run, node, &rules, now_us);
        book->why = sl_cut_run_phase(book->run, node);
        if (step == SL_CUT_WAIT) {
            return book->run->wake_us;
        }
        if (step == SL_CUT_END) {
            end_run(engine, book, view, now_us);
            return INT64_MAX;
        }
        if (view == NULL) {
            return INT64_MAX; /* never: of a node that is gone, only the end is left */
        }
        begin_write(engine, book, view, step, now_us);
    }
}

void sl_cuts_begin(struct sl_engine *engine, struct sl_cut_book *book, struct sl_cut_run *run,
                   const struct sl_view *view, int64_t now_us)
{
    sl_cut_run_note_pods(run, view);
    book_open(book, run, view->node, now_us);
    engine->under_way++;
    engine->follow_us = earlier_of(engine->follow_us, drive(engine, book, view, now_us));
}

/* A cut of an earlier leader, or of this process before its restart. */
static void resume(struct sl_engine *engine, struct sl_cut_book *book, const struct sl_view *view,
                   int64_t now_us)
{
    const struct sl_node *node = view->node;
    struct sl_cut_run *run = calloc(1, sizeof(*run));
    if (run == NULL || !sl_cut_run_resume(run, node, now_us)) {
        free(run);
        return;
    }
    book_open(book, run, node, now_us);
    (void)snprintf(book->cut, sizeof(book->cut), "%s",
                   node->partition.cut_text == NULL ? run->name : node->partition.cut_text);
    book->pods[0] = '\0';
    /* for pods that wait for it, and for nothing else: the run itself does not know its cuts */
    book->n_made = sl_cut_text_read(node, book->cut, run->cut, SL_NODE_DEVICES_MAX);
    book->expected_us =
        now_us + sl_cut_seconds_us(&book->record, engine->seconds_us[run->actuator], run->actuator);
    const struct sl_engine_command command = {
        .kind = SL_DO_CUT_HOLD, .node = book->name, .view = view, .run = run};
    (void)sl_engine_do(engine, &command);
}

/* A cut that takes twice as long as expected, and at least a minute more, may be stuck: its pods
 * wait no longer for it, so that another can serve them. Returns when that is; INT64_MAX: nobody
 * waits for it. */
static int64_t wait_for_stuck(struct sl_engine *engine, struct sl_cut_book *book, int64_t now_us)
{
    int64_t usual_us = book->expected_us - book->begun_us;
    int64_t stuck_us = book->expected_us + (usual_us > SL_MINUTE_US ? usual_us : SL_MINUTE_US);
    if (book->run == NULL || book->n_made == 0) {
        return INT64_MAX;
    }
    if (now_us >= stuck_us) {
        sl_cuts_untell_pods(engine, book);
        book->n_made = 0;
        return INT64_MAX;
    }
    return stuck_us;
}

static bool has_foreign_cut(const struct sl_cut_book *book, const struct sl_node *node)
{
    const char *cut = node->partition.cut;
    return cut != NULL && (book == NULL || strcmp(cut, book->ended) != 0);
}

/* NULL: nothing is known of the node, and it is not being cut. */
static struct sl_cut_book *book_to_follow(struct sl_engine *engine, const struct sl_node *node)
{
    struct sl_cut_book *book = sl_book_find(engine, node->name);
    bool cuttable = node->partition.actuator != SL_ACTUATOR_NONE;
    bool fresh = book == NULL && cuttable && node->partition.cut != NULL;
    return fresh ? sl_book_of(engine, node->name) : book;
}

static int64_t follow_node(struct sl_engine *engine, const struct sl_view *view, int64_t now_us)
{
    const struct sl_node *node = view->node;
    struct sl_cut_book *book = book_to_follow(engine, node);
    if (book == NULL) {
        return INT64_MAX;
    }
    book->round = engine->round;
    if (node->partition.cut == NULL) {
        book->ended[0] = '\0'; /* a write that lands late would else withhold the node for ever */
    }
    if (book->run == NULL && has_foreign_cut(book, node)) {
        resume(engine, book, view, now_us);
    }
    if (book->run == NULL) {
        return INT64_MAX;
    }
    bool same = book->node == hash_node(node);
    int64_t wake_us = drive(engine, book, same ? view : NULL, now_us);
    return earlier_of(wake_us, wait_for_stuck(engine, book, now_us));
}

bool sl_cuts_follow(struct sl_engine *engine, int64_t now_us)
{
    int64_t wake_us = INT64_MAX;
    size_t at = 0;
    engine->ended = false;
    for (size_t i = 0; i < engine->n_views; i++) {
        wake_us = earlier_of(wake_us, follow_node(engine, engine->view[i], now_us));
    }
    for (struct sl_cut_book *book = sl_map_next(&engine->books, &at); book != NULL;
         book = sl_map_next(&engine->books, &at)) {
        if (book->run != NULL && book->round != engine->round) {
            wake_us = earlier_of(wake_us, drive(engine, book, NULL, now_us));
        }
    }
    engine->follow_us = wake_us;
    return engine->ended;
}
