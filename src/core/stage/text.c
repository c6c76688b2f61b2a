/* Texts that tell people why a pod waits for others. */
#include "core/stage/internal.h"

#include "core/request/text.h"

enum { NAMED_MAX = 3 };

static bool is_done(const struct sl_stage_target *target)
{
    size_t n = sl_stage_records(target);
    return target->known && !target->full && n == target->count[SL_POD_SUCCEEDED] &&
           (n > 0 || target->past);
}

static void put_target(struct sl_text *text, const struct sl_stage_target *target)
{
    static const char *const starts[SL_STAGE_KINDS] = {
        [SL_STAGE_POD] = "pod/", [SL_STAGE_JOB] = "job/", [SL_STAGE_SELECTOR] = "pods ("};
    sl_text_puts(text, starts[target->kind]);
    sl_text_shown(text, target->text);
    sl_text_puts(text, target->kind == SL_STAGE_SELECTOR ? ")" : "");
}

/* Appends "(running)", "(not there)", "(2 of 5 have succeeded)". */
static void put_state(struct sl_text *text, const struct sl_stage_target *target)
{
    static const char *const phases[SL_POD_UNKNOWN + 1] = {
        [SL_POD_PENDING] = " (pending)",     [SL_POD_RUNNING] = " (running)",
        [SL_POD_SUCCEEDED] = " (succeeded)", [SL_POD_FAILED] = " (failed)",
        [SL_POD_UNKNOWN] = " (unknown)",
    };
    size_t n = sl_stage_records(target);
    if (!target->known) {
        sl_text_puts(text, " (not read yet)");
    } else if (target->full) {
        sl_text_puts(text, " (more than queue.maxPredecessors leaves its namespace room for)");
    } else if (n == 0) {
        sl_text_puts(text, target->kind == SL_STAGE_SELECTOR ? " (none is there)" : " (not there)");
    } else if (target->kind == SL_STAGE_SELECTOR) {
        sl_text_puts(text, " (");
        sl_text_i64(text, (int64_t)target->count[SL_POD_SUCCEEDED]);
        sl_text_puts(text, " of ");
        sl_text_i64(text, (int64_t)n);
        sl_text_puts(text, " have succeeded)");
    } else {
        sl_text_puts(text, phases[target->only->phase]);
    }
}

/* Names the first failed pod in the order of names, so that equal states have equal texts. */
static void put_failed_pod(struct sl_text *text, const struct sl_stage_target *target)
{
    size_t at = 0;
    const struct sl_stage_record *first = NULL;
    for (const struct sl_stage_record *record = sl_map_next(&target->records, &at); record != NULL;
         record = sl_map_next(&target->records, &at)) {
        bool failed = record->phase == SL_POD_FAILED;
        first = failed && (first == NULL || strcmp(record->name, first->name) < 0) ? record : first;
    }
    sl_text_puts(text, "pod/");
    sl_text_puts(text, first->name);
    sl_text_puts(text, " of ");
}

static enum sl_hold_reason tell_failed(struct sl_text *text, const struct sl_stage_target *target)
{
    if (target->kind == SL_STAGE_SELECTOR) {
        put_failed_pod(text, target);
    }
    put_target(text, target);
    sl_text_puts(text, " has failed, and sliced.dev/after names it");
    return SL_HOLD_STAGE_FAILED;
}

static enum sl_hold_reason tell_waiting(struct sl_text *text, const struct sl_stage_waiter *waiter)
{
    unsigned named = 0;
    unsigned more = 0;
    for (uint32_t i = 0; i < waiter->n_links; i++) {
        const struct sl_stage_target *target = waiter->link[i].target;
        if (is_done(target)) {
            continue;
        }
        if (named == NAMED_MAX) {
            more++;
            continue;
        }
        sl_text_puts(text, named == 0 ? "it waits for " : ", ");
        put_target(text, target);
        put_state(text, target);
        named++;
    }
    if (more > 0) {
        sl_text_puts(text, " and ");
        sl_text_i64(text, more);
        sl_text_puts(text, " more");
    }
    return named > 0 ? SL_HOLD_STAGE : SL_HOLD_NONE;
}

enum sl_hold_reason sl_stage_verdict(const struct sl_stage_waiter *waiter, char *out, size_t size)
{
    struct sl_text text;
    sl_text_init(&text, out, size);
    if (waiter->malformed) {
        sl_text_puts(&text,
                     waiter->why != NULL ? waiter->why : "annotation sliced.dev/after: malformed");
        return SL_HOLD_STAGE_FAILED;
    }
    if (waiter->cyclic) {
        sl_text_puts(&text, waiter->why != NULL ? waiter->why
                                                : "annotations sliced.dev/after form a cycle");
        return SL_HOLD_STAGE_CYCLE;
    }
    for (uint32_t i = 0; i < waiter->n_links; i++) {
        if (waiter->link[i].target->count[SL_POD_FAILED] > 0) {
            return tell_failed(&text, waiter->link[i].target);
        }
    }
    if (waiter->starved) {
        sl_text_puts(&text, "it waits for what sliced.dev/after names, for which "
                            "queue.maxPredecessors leaves its namespace no room");
        return SL_HOLD_STAGE;
    }
    return tell_waiting(&text, waiter);
}
