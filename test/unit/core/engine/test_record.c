/* The line of each command: two programs are compared by them, and people read them in the log. */
#include <stdio.h>

#include "core/engine/internal.h"
#include "unit/test.h"

static char last[256];

static void keep(void *context, int64_t now_us, const char *line)
{
    (void)context;
    assert_int_equal(now_us, 5);
    (void)snprintf(last, sizeof(last), "%s", line);
}

static const struct sl_pod pod = {.namespace = "ns", .name = "a"};
static struct sl_cut_run run = {.outcome = SL_CUT_DONE};

static const struct row {
    const char *name;
    const char *line;
    struct sl_engine_command command;
    bool refused;
} rows[] = {
    {"nominated",
     "nominate ns/a n1 gpu=0",
     {.kind = SL_DO_NOMINATE, .pod = &pod, .node = "n1", .assignment = "gpu=0"},
     false},
    {"refused",
     "nominate ns/a n1 gpu=0 (refused)",
     {.kind = SL_DO_NOMINATE, .pod = &pod, .node = "n1", .assignment = "gpu=0"},
     true},
    {"released with its nomination", "", {.kind = SL_DO_RELEASE, .pod = &pod}, false},
    {"released bare", "release ns/a", {.kind = SL_DO_RELEASE, .pod = &pod, .bare = true}, false},
    {"expired",
     "expire ns/a n1 gpu=0 NoRoom",
     {.kind = SL_DO_EXPIRE,
      .pod = &pod,
      .node = "n1",
      .assignment = "gpu=0",
      .reason = SL_HOLD_NO_ROOM},
     false},
    {"refused for good",
     "refuse ns/a NoRoom",
     {.kind = SL_DO_REFUSE, .pod = &pod, .reason = SL_HOLD_NO_ROOM},
     false},
    {"withdrawn",
     "withdraw ns/a",
     {.kind = SL_DO_WITHDRAW, .pod = &pod, .reason = SL_HOLD_NO_ROOM},
     false},
    {"cut", "cut n1: words", {.kind = SL_DO_CUT_BEGIN, .node = "n1", .text = "words"}, false},
    {"not cut",
     "cut n1: words (refused)",
     {.kind = SL_DO_CUT_BEGIN, .node = "n1", .text = "words"},
     true},
    {"found", "cut n1: found", {.kind = SL_DO_CUT_HOLD, .node = "n1", .run = &run}, false},
    {"order",
     "cut n1: write the order",
     {.kind = SL_DO_CUT_WRITE, .node = "n1", .run = &run, .step = SL_CUT_ORDER},
     false},
    {"end",
     "cut n1: write the end",
     {.kind = SL_DO_CUT_WRITE, .node = "n1", .run = &run, .step = SL_CUT_FINISH},
     false},
    {"ended", "cut n1: Done", {.kind = SL_DO_CUT_END, .node = "n1", .run = &run}, false},
};

TEST_EACH(a_command_has_its_line, rows)
{
    struct sl_engine engine = {.record = NULL};
    last[0] = '\0';
    sl_record_command(&engine, &row->command, !row->refused, 5);
    assert_string_equal(last, "");
    sl_engine_record(&engine, keep, NULL);
    sl_record_command(&engine, &row->command, !row->refused, 5);
    assert_string_equal(last, row->line);
}

TEST_THAT(a_drain_has_its_line)
{
    struct sl_engine engine = {.record = NULL};
    sl_record_drain(&engine, "n1", NULL, 5); /* nobody reads */
    sl_engine_record(&engine, keep, NULL);
    sl_record_drain(&engine, "n1", NULL, 5);
    assert_string_equal(last, "drain n1: ends");
    sl_record_drain(&engine, "n1", &pod, 5);
    assert_string_equal(last, "drain n1: for ns/a");
}
