/* When what was written on a waiting pod is written anew. */
#include "sliced/notice.h"

#include "util/time.h"

enum { PART = 4 /* a move by that part is news */ };

static const int64_t changed_us = 10 * SL_SECOND_US; /* between two writings */
static const int64_t moved_us = SL_MINUTE_US;
static const int64_t start_moved_us = SL_MINUTE_US;

struct sl_notice sl_notice_of(const struct sl_queue_row *row, size_t position, int64_t now_us)
{
    return (struct sl_notice){
        .at_us = now_us,
        .start_us = row->estimate == SL_ESTIMATE_NONE ? 0 : row->start_us,
        .position = position,
        .ahead = row->ahead,
        .state = row->state,
        .reason = row->reason,
    };
}

bool sl_notice_waits(enum sl_queue_state state)
{
    return state != SL_QUEUE_NOMINATED && state != SL_QUEUE_RELEASED;
}

static bool place_moved(uint64_t told, uint64_t now)
{
    uint64_t by = told > now ? told - now : now - told;
    return by > 0 && by * PART >= told;
}

static bool start_moved(const struct sl_notice *written, const struct sl_notice *now)
{
    if (written->start_us == 0 || now->start_us == 0) {
        return written->start_us != now->start_us;
    }
    int64_t by_us = now->start_us - written->start_us;
    int64_t left_us = written->start_us - now->at_us;
    by_us = by_us < 0 ? -by_us : by_us;
    return by_us >= start_moved_us && by_us >= left_us / PART;
}

enum sl_notice_due sl_notice_due(const struct sl_notice *written, const struct sl_notice *now)
{
    int64_t age_us = now->at_us - written->at_us;
    if (written->at_us == 0) {
        return SL_NOTICE_CHANGED;
    }
    if (written->state == SL_QUEUE_STATES) {
        return age_us >= moved_us ? SL_NOTICE_CHANGED : SL_NOTICE_GOOD;
    }
    bool first =
        (written->ahead == 0) != (now->ahead == 0); /* it has become the first, or is not */
    if (written->state != now->state || written->reason != now->reason || first) {
        bool ends = sl_notice_waits(written->state) && !sl_notice_waits(now->state);
        return ends || age_us >= changed_us ? SL_NOTICE_CHANGED : SL_NOTICE_GOOD;
    }
    bool moved = sl_notice_waits(now->state) && age_us >= moved_us &&
                 (place_moved(written->position, now->position) ||
                  place_moved(written->ahead, now->ahead) || start_moved(written, now));
    return moved ? SL_NOTICE_MOVED : SL_NOTICE_GOOD;
}
