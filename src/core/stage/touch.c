/* Notes the waiters whose change the caller must be told of, and the room that namespaces have
 * left. */
#include "core/stage/internal.h"

#include "util/data/share.h"

bool sl_stage_has_room(const struct sl_stages *stages, const struct sl_stage_space *space,
                       size_t spare)
{
    size_t all = stages->targets.len + stages->n_records;
    return sl_share_allows(space->used + spare, all + spare, stages->max);
}

void sl_stage_give_back(struct sl_stages *stages, struct sl_stage_space *space)
{
    space->used--;
    stages->feeds = true;
    stages->refills = true;
}

void sl_stage_touch(struct sl_stages *stages, struct sl_stage_waiter *waiter)
{
    if (!sl_list_has(&stages->changed, &waiter->changed)) {
        sl_list_add_first(&stages->changed, &waiter->changed);
    }
}

void sl_stage_untouch(struct sl_stages *stages, struct sl_stage_waiter *waiter)
{
    if (sl_list_has(&stages->changed, &waiter->changed)) {
        sl_list_remove(&stages->changed, &waiter->changed);
    }
}

void sl_stage_touch_all(struct sl_stages *stages, const struct sl_stage_target *target)
{
    for (struct sl_link *at = target->links.first; at != NULL; at = at->next) {
        sl_stage_touch(stages, SL_CONTAINER(at, struct sl_stage_link, in_target)->waiter);
    }
}
