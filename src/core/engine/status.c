/* How the cuts of a node stand. */
#include <stdio.h>

#include "core/engine/internal.h"
#include "util/time.h"
#include "util/timestamp.h"

const char *sl_partition_phase_name(enum sl_partition_phase phase)
{
    static const char *const name[SL_PHASES] = {
        [SL_PHASE_IDLE] = "Idle",
        [SL_PHASE_DRAINING] = "Draining",
        [SL_PHASE_CUTTING] = "Cutting",
        [SL_PHASE_OUT] = "LeftOut",
    };
    return name[phase];
}

static enum sl_partition_phase phase_of(const struct sl_cut_book *book, int64_t now_us)
{
    if (book == NULL) {
        return SL_PHASE_IDLE;
    }
    if (book->run != NULL) {
        return SL_PHASE_CUTTING;
    }
    if (now_us < book->record.out_until_us) {
        return SL_PHASE_OUT;
    }
    return book->drained_us > 0 ? SL_PHASE_DRAINING : SL_PHASE_IDLE;
}

enum sl_partition_phase sl_engine_phase(const struct sl_engine *engine, const char *node,
                                        int64_t now_us)
{
    return phase_of(sl_book_find(engine, node), now_us);
}

/* The engine itself may have something against a cut of the node. */
static enum sl_cut_bar own_bar(const struct sl_engine *engine, const struct sl_cut_book *book,
                               int64_t now_us)
{
    enum sl_partition_phase phase = phase_of(book, now_us);
    bool full = engine->under_way >= engine->config.cutting.max_nodes;
    bool failed = book != NULL && sl_cut_record_failed(&book->record, now_us)[0] != 0;
    return phase == SL_PHASE_CUTTING ? SL_CUT_BAR_CUTTING
           : phase == SL_PHASE_OUT   ? SL_CUT_BAR_LEFT_OUT
           : full                    ? SL_CUT_BAR_MAX_NODES
           : failed                  ? SL_CUT_BAR_FAILED_BEFORE
                                     : SL_CUT_BAR_NONE;
}

static void copy_text(char out[SL_CUT_WORDS_MAX], const char *text)
{
    (void)snprintf(out, SL_CUT_WORDS_MAX, "%s", text);
}

/* True when its cut is planned. */
static bool read_book(const struct sl_cut_book *book, int64_t now_us,
                      struct sl_partition_status *out)
{
    out->phase = phase_of(book, now_us);
    bool planned = book->planned && out->phase != SL_PHASE_CUTTING;
    out->failures = book->record.failures;
    out->seconds_us = book->record.seconds_us;
    if (out->phase == SL_PHASE_CUTTING) {
        out->since_us = book->begun_us;
        out->until_us = book->expected_us > now_us ? book->expected_us : 0;
    } else if (out->phase == SL_PHASE_OUT) {
        out->until_us = book->record.out_until_us;
    } else if (out->phase == SL_PHASE_DRAINING) {
        out->until_us = book->drained_us;
    }
    if (out->phase == SL_PHASE_CUTTING || out->phase == SL_PHASE_OUT || planned) {
        copy_text(out->cut, book->cut);
        copy_text(out->pods, book->pods);
        out->why = planned ? "Planned" : book->why;
        copy_text(out->text, planned ? "a cut of it is planned, and waits for more pods" : "");
    }
    return planned;
}

static void say_bar(struct sl_partition_status *out)
{
    char until[32];
    bool overdue = out->phase == SL_PHASE_CUTTING && out->until_us == 0;
    (void)snprintf(out->text, sizeof(out->text), "%s%s", sl_cut_bar_text(out->bar),
                   overdue ? ", which takes longer than expected" : "");
    if (out->phase == SL_PHASE_OUT) {
        sl_time_format(out->until_us / SL_SECOND_US * SL_SECOND_US, until);
        (void)snprintf(out->text, sizeof(out->text),
                       "its last cut ended (%.64s), and it is left out until %s", out->why, until);
    } else if (out->why[0] == '\0') {
        out->why = sl_cut_bar_name(out->bar);
    }
}

void sl_engine_node(const struct sl_engine *engine, const struct sl_view *view, int64_t now_us,
                    struct sl_partition_status *out)
{
    *out = (struct sl_partition_status){.phase = SL_PHASE_IDLE, .why = ""};
    if (engine == NULL) {
        return;
    }
    const struct sl_cut_book *book = sl_book_find(engine, view->node->name);
    enum sl_cut_bar own = own_bar(engine, book, now_us);
    bool acts = own == SL_CUT_BAR_CUTTING || own == SL_CUT_BAR_LEFT_OUT;
    bool planned = book != NULL && read_book(book, now_us, out);
    out->bar = acts ? own : sl_cut_bar_of(view, sl_cuts_limits(engine, now_us));
    out->bar = out->bar == SL_CUT_BAR_NONE ? own : out->bar;
    if (out->bar != SL_CUT_BAR_NONE && !planned) {
        say_bar(out);
    }
}
