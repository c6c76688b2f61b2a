/* Chooses the next item to read. Namespaces take turns, none has more than its share of the
 * readings at a time, and an item that could not be read rests alone, so that no namespace can hold
 * up the others. */
#include "core/stage/internal.h"

#include "util/time.h"

static struct sl_stage_target *first_of(const struct sl_list *queue)
{
    return queue->first == NULL ? NULL : SL_CONTAINER(queue->first, struct sl_stage_target, turn);
}

static void wait_for_turn(struct sl_stages *stages, struct sl_stage_target *target)
{
    sl_turns_add(&stages->turns, &target->space->turn, &target->turn);
    target->queue = &target->space->turn.waiting;
}

void sl_stage_unread(struct sl_stages *stages, struct sl_stage_target *target)
{
    if (target->reading != 0) {
        target->stale = true;
    } else if (target->queue == NULL) {
        wait_for_turn(stages, target);
    }
}

void sl_stage_take_out(struct sl_stages *stages, struct sl_stage_target *target)
{
    struct sl_stage_space *space = target->space;
    if (target->queue == &space->turn.waiting) {
        sl_turns_remove(&stages->turns, &space->turn, &target->turn);
    } else if (target->queue != NULL) {
        sl_list_remove(target->queue, &target->turn);
    }
    target->queue = NULL;
}

/* Ends rests. Targets of one list rest equally long, so that the first one's rest ends first. */
static void end_rests(struct sl_stages *stages, int64_t now_us)
{
    for (int i = 0; i < SL_STAGE_RESTS; i++) {
        struct sl_stage_target *target = first_of(&stages->rest[i]);
        while (target != NULL && target->rest_us <= now_us) {
            sl_stage_take_out(stages, target);
            wait_for_turn(stages, target);
            target = first_of(&stages->rest[i]);
        }
    }
}

struct sl_stage_target *sl_stage_next(struct sl_stages *stages, int64_t now_us)
{
    end_rests(stages, now_us);
    struct sl_link *at = now_us < stages->rest_us ? NULL : stages->turns.ring.first;
    for (; at != NULL; at = at->next) {
        struct sl_stage_space *space = SL_CONTAINER(at, struct sl_stage_space, turn.ring);
        if (space->n_reading < SL_STAGE_SPACE_READS) {
            return first_of(&space->turn.waiting);
        }
    }
    return NULL;
}

void sl_stage_turn_begin(struct sl_stages *stages, struct sl_stage_target *target)
{
    struct sl_stage_space *space = target->space;
    sl_turns_take(&stages->turns, &space->turn, &target->turn);
    target->queue = NULL;
    space->n_reading++;
}

void sl_stage_turn_end(struct sl_stage_target *target)
{
    target->space->n_reading--;
}

void sl_stage_turn_failed(struct sl_stages *stages, struct sl_stage_target *target, int64_t now_us)
{
    uint32_t rest = target->failures < SL_STAGE_RESTS ? target->failures : SL_STAGE_RESTS - 1;
    target->failures++;
    target->rest_us = now_us + (SL_SECOND_US << rest);
    target->queue = &stages->rest[rest];
    sl_list_add_last(target->queue, &target->turn);
}

int64_t sl_stages_wake(const struct sl_stages *stages)
{
    int64_t wake_us = stages->turns.ring.first == NULL ? INT64_MAX : stages->rest_us;
    for (int i = 0; i < SL_STAGE_RESTS; i++) {
        const struct sl_stage_target *target = first_of(&stages->rest[i]);
        wake_us = target != NULL && target->rest_us < wake_us ? target->rest_us : wake_us;
    }
    return wake_us > stages->rest_us ? wake_us : stages->rest_us;
}
