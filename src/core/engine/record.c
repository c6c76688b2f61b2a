/* The record: a line for each command, the same in the daemon and in the simulator. */
#include <stdio.h>

#include "core/engine/internal.h"

enum { LINE_MAX = 1024 };

void sl_engine_record(struct sl_engine *engine, sl_engine_record_fn record, void *context)
{
    engine->record = record;
    engine->record_context = context;
}

void sl_record_action(const struct sl_engine *engine, const struct sl_plan_action *action,
                      int64_t now_us)
{
    static const char *const words[] = {
        [SL_PLAN_NOMINATE] = "nominate",
        [SL_PLAN_RELEASE] = "release",
        [SL_PLAN_EXPIRE] = "expire",
        [SL_PLAN_REFUSE] = "refuse",
    };
    char line[LINE_MAX];
    bool placed = action->kind == SL_PLAN_NOMINATE || action->kind == SL_PLAN_EXPIRE;
    bool told = action->kind == SL_PLAN_REFUSE || action->kind == SL_PLAN_EXPIRE;
    if (engine->record == NULL) {
        return;
    }
    (void)snprintf(line, sizeof(line), "%s %s/%s%s%s%s%s%s%s", words[action->kind],
                   action->pod->namespace, action->pod->name, placed ? " " : "",
                   placed ? action->node : "", placed ? " " : "", placed ? action->assignment : "",
                   told ? " " : "", told ? sl_hold_reason_name(action->reason) : "");
    engine->record(engine->record_context, now_us, line);
}

void sl_record_command(const struct sl_engine *engine, const struct sl_engine_command *command,
                       bool done, int64_t now_us)
{
    char line[LINE_MAX];
    const char *outcome = command->run == NULL ? "" : sl_cut_outcome_name(command->run->outcome);
    if (engine->record == NULL) {
        return;
    }
    switch (command->kind) {
    case SL_DO_CUT_BEGIN:
        (void)snprintf(line, sizeof(line), "cut %s: %s%s", command->node, command->text,
                       done ? "" : " (refused)");
        break;
    case SL_DO_CUT_HOLD:
        (void)snprintf(line, sizeof(line), "cut %s: found", command->node);
        break;
    case SL_DO_CUT_WRITE:
        (void)snprintf(line, sizeof(line), "cut %s: write %s", command->node,
                       command->step == SL_CUT_FINISH ? "the end"
                       : command->run->announces      ? "the file"
                                                      : "the order");
        break;
    case SL_DO_CUT_END:
        (void)snprintf(line, sizeof(line), "cut %s: %s", command->node, outcome);
        break;
    }
    engine->record(engine->record_context, now_us, line);
}

void sl_record_drain(const struct sl_engine *engine, const char *node, const struct sl_pod *pod,
                     int64_t now_us)
{
    char line[LINE_MAX];
    if (engine->record == NULL) {
        return;
    }
    if (pod == NULL) {
        (void)snprintf(line, sizeof(line), "drain %s: ends", node);
    } else {
        (void)snprintf(line, sizeof(line), "drain %s: for %s/%s", node, pod->namespace, pod->name);
    }
    engine->record(engine->record_context, now_us, line);
}
