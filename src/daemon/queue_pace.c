/* The window of releases. */
#include "daemon/queue_pace.h"

enum {
    ONE = 1000,        /* a pod, as the window counts */
    WAITING_LOW = 16,  /* pods that wait inside the scheduler: fewer, and the window grows */
    WAITING_HIGH = 32, /* more, and it shrinks */
    SMOOTH = 8,
    PATIENCE = 4, /* times the smoothed time */
};

static const int64_t epoch_us = 30000000;
static const int64_t patience_min_us = 1000000;

static void clamp(struct sl_pace *pace)
{
    uint64_t max = (uint64_t)pace->max * ONE;
    uint64_t min = (uint64_t)(pace->max < SL_PACE_MIN ? pace->max : SL_PACE_MIN) * ONE;
    pace->window = pace->window < min ? min : pace->window;
    pace->window = pace->window > max ? max : pace->window;
}

void sl_pace_init(struct sl_pace *pace, unsigned max)
{
    *pace = (struct sl_pace){.max = max, .window = (uint64_t)SL_PACE_FIRST * ONE, .fast = true};
    clamp(pace);
}

void sl_pace_set_max(struct sl_pace *pace, unsigned max)
{
    pace->max = max;
    clamp(pace);
}

/* The shortest time seen lately is what the work takes when nobody is in the way. */
static int64_t note_least(struct sl_pace *pace, int64_t rtt_us, int64_t now_us)
{
    if (now_us - pace->epoch_us >= epoch_us) {
        pace->epoch_us = now_us;
        pace->least_last_us = pace->least_us;
        pace->least_us = 0;
    }
    if (pace->least_us == 0 || rtt_us < pace->least_us) {
        pace->least_us = rtt_us;
    }
    return pace->least_last_us > 0 && pace->least_last_us < pace->least_us ? pace->least_last_us
                                                                           : pace->least_us;
}

void sl_pace_bound(struct sl_pace *pace, int64_t rtt_us, bool full, int64_t now_us)
{
    rtt_us = rtt_us < 1 ? 1 : rtt_us;
    pace->rtt_us += pace->rtt_us == 0 ? rtt_us : (rtt_us - pace->rtt_us) / SMOOTH;
    pace->rtt_us = pace->rtt_us < 1 ? 1 : pace->rtt_us;
    int64_t least_us = note_least(pace, rtt_us, now_us);
    int64_t over_us = pace->rtt_us > least_us ? pace->rtt_us - least_us : 0;
    /* Little's law: of those in the window the share that the excess is of the whole time waits */
    uint64_t waiting = pace->window / ONE * (uint64_t)over_us / (uint64_t)pace->rtt_us;
    if (waiting > WAITING_HIGH) {
        pace->fast = false;
        pace->window -= pace->window > ONE ? (uint64_t)ONE * ONE / pace->window : 0;
    } else if (full && pace->fast) {
        pace->window += ONE;
    } else if (full && waiting < WAITING_LOW) {
        pace->window += (uint64_t)ONE * ONE / pace->window;
    }
    clamp(pace);
}

void sl_pace_lapse(struct sl_pace *pace)
{
    pace->window /= 2;
    pace->fast = true;
    clamp(pace);
}

unsigned sl_pace_window(const struct sl_pace *pace)
{
    return (unsigned)(pace->window / ONE);
}

int64_t sl_pace_patience_us(const struct sl_pace *pace)
{
    int64_t us = pace->rtt_us * PATIENCE;
    return us < patience_min_us ? patience_min_us : us;
}
