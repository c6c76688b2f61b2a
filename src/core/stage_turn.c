/* What is read next. Namespaces take turns, none has more than its share of the readings at a time,
 * and what could not be read rests by itself: whatever one namespace names, others go on. */
#include "core/stage_internal.h"

static const int64_t rest_first_us = 1000000;

static void put_last(struct sl_stage_turns *turns, struct sl_stage_target *target)
{
    target->turns = turns;
    target->turn_next = NULL;
    target->turn_prev = turns->last;
    if (turns->last != NULL) {
        turns->last->turn_next = target;
    } else {
        turns->first = target;
    }
    turns->last = target;
}

/* The last of all to have a turn. */
static void join_ring(struct sl_stages *stages, struct sl_stage_space *space)
{
    struct sl_stage_space *first = stages->ring;
    if (space->ring_next != NULL) {
        return;
    }
    if (first == NULL) {
        space->ring_next = space;
        space->ring_prev = space;
        stages->ring = space;
        return;
    }
    space->ring_next = first;
    space->ring_prev = first->ring_prev;
    first->ring_prev->ring_next = space;
    first->ring_prev = space;
}

static void leave_ring(struct sl_stages *stages, struct sl_stage_space *space)
{
    if (stages->ring == space) {
        stages->ring = space->ring_next == space ? NULL : space->ring_next;
    }
    space->ring_prev->ring_next = space->ring_next;
    space->ring_next->ring_prev = space->ring_prev;
    space->ring_next = NULL;
    space->ring_prev = NULL;
}

static void wait_for_turn(struct sl_stages *stages, struct sl_stage_target *target)
{
    put_last(&target->space->unread, target);
    join_ring(stages, target->space);
}

void sl_stage_unread(struct sl_stages *stages, struct sl_stage_target *target)
{
    if (target->reading != 0) {
        target->stale = true;
    } else if (target->turns == NULL) {
        wait_for_turn(stages, target);
    }
}

void sl_stage_take_out(struct sl_stages *stages, struct sl_stage_target *target)
{
    struct sl_stage_turns *turns = target->turns;
    struct sl_stage_space *space = target->space;
    if (turns == NULL) {
        return;
    }
    *(target->turn_prev != NULL ? &target->turn_prev->turn_next : &turns->first) =
        target->turn_next;
    *(target->turn_next != NULL ? &target->turn_next->turn_prev : &turns->last) = target->turn_prev;
    target->turns = NULL;
    if (turns == &space->unread && turns->first == NULL) {
        leave_ring(stages, space);
    }
}

/* Each rest lasts as long for all who are in it: the first is the first to have rested. */
static void end_rests(struct sl_stages *stages, int64_t now_us)
{
    for (int i = 0; i < SL_STAGE_RESTS; i++) {
        struct sl_stage_target *target = stages->rest[i].first;
        while (target != NULL && target->rest_us <= now_us) {
            sl_stage_take_out(stages, target);
            wait_for_turn(stages, target);
            target = stages->rest[i].first;
        }
    }
}

struct sl_stage_target *sl_stage_next(struct sl_stages *stages, int64_t now_us)
{
    end_rests(stages, now_us);
    struct sl_stage_space *space = stages->ring;
    if (space == NULL || now_us < stages->rest_us) {
        return NULL;
    }
    while (space->n_reading >= SL_STAGE_SPACE_READS) { /* as many as may be have so much */
        space = space->ring_next;
        if (space == stages->ring) {
            return NULL;
        }
    }
    return space->unread.first;
}

void sl_stage_turn_begin(struct sl_stages *stages, struct sl_stage_target *target)
{
    struct sl_stage_space *space = target->space;
    sl_stage_take_out(stages, target);
    space->n_reading++;
    if (space->ring_next != NULL) { /* behind all others */
        leave_ring(stages, space);
        join_ring(stages, space);
    }
}

void sl_stage_turn_end(struct sl_stage_target *target)
{
    target->space->n_reading--;
}

void sl_stage_turn_failed(struct sl_stages *stages, struct sl_stage_target *target, int64_t now_us)
{
    uint32_t rest = target->failures < SL_STAGE_RESTS ? target->failures : SL_STAGE_RESTS - 1;
    target->failures++;
    target->rest_us = now_us + (rest_first_us << rest);
    put_last(&stages->rest[rest], target);
}

int64_t sl_stages_wake(const struct sl_stages *stages)
{
    int64_t wake_us = stages->ring == NULL ? INT64_MAX : stages->rest_us;
    for (int i = 0; i < SL_STAGE_RESTS; i++) {
        const struct sl_stage_target *target = stages->rest[i].first;
        wake_us = target != NULL && target->rest_us < wake_us ? target->rest_us : wake_us;
    }
    return wake_us > stages->rest_us ? wake_us : stages->rest_us;
}
