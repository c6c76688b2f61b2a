/* What all changes have in common; bindings and releases show the rest. */
#include "unit/kube/calls.h"

#include <sched.h>
#include <stdatomic.h>

#include "kube/client/object_call.h"
#include "kube/write/change.h"

enum { NOT_OVER = -1 };

struct op {
    struct sl_change change;
    atomic_int *end;
};

static const char *write_nothing(struct sl_change *change, struct sl_call_options *call,
                                 struct sl_buf *body)
{
    (void)change;
    (void)call;
    (void)body;
    return "";
}

static enum sl_change_turn fail_always(struct sl_change *change, const struct sl_reply *reply)
{
    (void)reply;
    return sl_change_give_up(change);
}

static void note_end(struct sl_change *change, enum sl_change_turn end)
{
    atomic_store(((struct op *)change)->end, (int)end);
}

static bool leads_never(void *context, uint64_t leadership)
{
    (void)context;
    (void)leadership;
    return false;
}

/* Begins a change that may have been carried out already, if maybe says so. */
static void begin(struct sl_changes *changes, const struct sl_change_kind *kind, bool maybe,
                  atomic_int *end)
{
    struct sl_str name = SL_STR("p");
    struct op *op = sl_alloc_with_texts(sizeof(*op), (struct sl_str *[]){&name}, 1);
    assert_non_null(op);
    atomic_store(end, NOT_OVER);
    op->end = end;
    op->change = (struct sl_change){.changes = changes,
                                    .kind = kind,
                                    .namespace = name,
                                    .name = name,
                                    .uid = name,
                                    .maybe = maybe};
    sl_change_begin(&op->change, SL_CHANGE_WRITE);
}

static const struct sl_change_kind plain = {.priority = SL_CALL_NORMAL,
                                            .object = SL_OBJECT_POD,
                                            .write = write_nothing,
                                            .answered = fail_always,
                                            .ended = note_end};

TEST_THAT(a_change_that_may_not_be_written_ends_by_what_was_written_before)
{
    struct rig rig;
    struct sl_changes changes;
    atomic_int end;
    rig_start(&rig);
    sl_changes_init(&changes, &(struct sl_change_options){.client = rig.client,
                                                          .leads = leads_never,
                                                          .timeout_us = 1000 * MS,
                                                          .try_us = 1000 * MS});
    begin(&changes, &plain, false, &end);
    assert_int_equal(atomic_load(&end), SL_CHANGE_FAILED);
    begin(&changes, &plain, true, &end);
    assert_int_equal(atomic_load(&end), SL_CHANGE_UNKNOWN);
    assert_int_equal(atomic_load(&changes.writes), 0);
    rig_end(&rig);
}

TEST_THAT(a_full_queue_ends_a_change_unless_its_kind_waits_for_a_place)
{
    struct sl_change_kind waits = plain;
    struct rig rig;
    struct sl_changes changes;
    atomic_int end;
    waits.waits_for_place = true;
    rig_prepare(&rig, fake_api_start());
    rig.options.max_queued = 0;
    rig_start_client(&rig);
    sl_changes_init(&changes, &(struct sl_change_options){.client = rig.client,
                                                          .timeout_us = 60000 * MS,
                                                          .try_us = 60000 * MS,
                                                          .backoff_us = 1 * MS,
                                                          .backoff_max_us = 1 * MS});
    begin(&changes, &plain, false, &end);
    assert_int_equal(atomic_load(&end), SL_CHANGE_FAILED);
    assert_int_equal(atomic_load(&changes.repeats), 0);

    begin(&changes, &waits, false, &end);
    while (atomic_load(&changes.repeats) < 3) {
        (void)sched_yield();
    }
    assert_int_equal(atomic_load(&end), NOT_OVER);
    rig_end(&rig); /* which ends it */
    assert_int_equal(atomic_load(&end), SL_CHANGE_FAILED);
    assert_int_equal(atomic_load(&changes.ends[SL_CHANGE_FAILED]), 2);
    assert_int_equal(atomic_load(&changes.in_flight), 0);
}
