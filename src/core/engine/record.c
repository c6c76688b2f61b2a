/* The record: a line for each command, the same in the daemon and in the simulator. */
#include <stdio.h>

#include "core/engine/internal.h"

enum { LINE_MAX = 1024 };

void sl_engine_record(struct sl_engine *engine, sl_engine_record_fn record, void *context)
{
    engine->record = record;
    engine->record_context = context;
}

static void say_pod(const struct sl_engine_command *command, bool done, char *line, size_t size)
{
    static const char *const words[] = {
        [SL_DO_NOMINATE] = "nominate", [SL_DO_RELEASE] = "release",   [SL_DO_EXPIRE] = "expire",
        [SL_DO_REFUSE] = "refuse",     [SL_DO_WITHDRAW] = "withdraw",
    };
    bool placed = command->assignment != NULL;
    bool told = command->kind == SL_DO_REFUSE || command->kind == SL_DO_EXPIRE;
    (void)snprintf(line, size, "%s %s/%s%s%s%s%s%s%s%s", words[command->kind],
                   command->pod->namespace, command->pod->name, placed ? " " : "",
                   placed ? command->node : "", placed ? " " : "",
                   placed ? command->assignment : "", told ? " " : "",
                   told ? sl_hold_reason_name(command->reason) : "", done ? "" : " (refused)");
}

void sl_record_command(const struct sl_engine *engine, const struct sl_engine_command *command,
                       bool done, int64_t now_us)
{
    char line[LINE_MAX];
    const struct sl_cut_run *run = command->run;
    bool told = command->kind == SL_DO_RELEASE && !command->bare; /* as its nomination */
    if (engine->record == NULL || told) {
        return;
    }
    switch (command->kind) {
    case SL_DO_RELEASE:
    case SL_DO_NOMINATE:
    case SL_DO_EXPIRE:
    case SL_DO_REFUSE:
    case SL_DO_WITHDRAW:
        say_pod(command, done, line, sizeof(line));
        break;
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
                       : run->announces               ? "the file"
                                                      : "the order");
        break;
    case SL_DO_CUT_END:
        (void)snprintf(line, sizeof(line), "cut %s: %s", command->node,
                       sl_cut_outcome_name(run->outcome));
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
