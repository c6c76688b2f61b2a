/* The window of releases. */
#include "sliced/pace.h"

#include "util/time.h"

enum {
    SMOOTH = 8,
    PATIENCE = 4,         /* times the smoothed time */
    REST_ROUNDS = 8,      /* between two tries */
    GAIN_TENTHS = 11,     /* a larger window must bind a tenth more */
    LOSS_HUNDREDTHS = 95, /* of a hundred: a smaller one must bind as many */
};

static const int64_t patience_min_us = SL_SECOND_US;

static unsigned clamp(const struct sl_pace *pace, unsigned window)
{
    unsigned min = pace->max < SL_PACE_MIN ? pace->max : SL_PACE_MIN;
    window = window < min ? min : window;
    return window > pace->max ? pace->max : window;
}

void sl_pace_init(struct sl_pace *pace, unsigned max)
{
    *pace = (struct sl_pace){.max = max, .what = SL_PACE_UP, .full = true};
    pace->window = clamp(pace, SL_PACE_FIRST);
    pace->before = pace->window;
}

void sl_pace_set_max(struct sl_pace *pace, unsigned max)
{
    pace->max = max;
    pace->window = clamp(pace, pace->window);
}

/* Tries another window; false when the limits allow none. */
static bool change(struct sl_pace *pace, enum sl_pace_try what)
{
    unsigned other = what == SL_PACE_UP ? pace->window + pace->window / 2 : pace->window * 2 / 3;
    other = clamp(pace, other);
    if (other == pace->window) {
        return false;
    }
    pace->what = what;
    pace->before = pace->window;
    pace->window = other;
    pace->settling = true;
    return true;
}

static void rest(struct sl_pace *pace)
{
    pace->what = SL_PACE_REST;
    pace->rounds = 0;
}

/* Returns to the window before a try which did not pay. */
static void go_back(struct sl_pace *pace)
{
    pace->window = clamp(pace, pace->before);
    pace->settling = true;
    rest(pace);
}

static void judge(struct sl_pace *pace, int64_t rate)
{
    int64_t rate_before = pace->rate;
    switch (pace->what) {
    case SL_PACE_UP:
        pace->rate = rate;
        if (rate * 10 <= rate_before * GAIN_TENTHS) {
            pace->rate = rate_before;
            go_back(pace);
        } else if (!change(pace, SL_PACE_UP)) {
            rest(pace);
        }
        break;
    case SL_PACE_DOWN:
        if (rate * 100 < rate_before * LOSS_HUNDREDTHS) {
            go_back(pace);
        } else {
            rest(pace);
        }
        break;
    case SL_PACE_REST:
        pace->rate = rate;
        if (++pace->rounds >= REST_ROUNDS) {
            pace->down = !pace->down;
            if (!change(pace, pace->down ? SL_PACE_DOWN : SL_PACE_UP)) {
                rest(pace);
            }
        }
        break;
    }
}

void sl_pace_bound(struct sl_pace *pace, int64_t rtt_us, bool full, int64_t now_us)
{
    rtt_us = rtt_us < 1 ? 1 : rtt_us;
    pace->rtt_us += pace->rtt_us == 0 ? rtt_us : (rtt_us - pace->rtt_us) / SMOOTH;
    pace->begin_us = pace->begin_us == 0 ? now_us - rtt_us : pace->begin_us;
    pace->full = pace->full && full;
    if (++pace->n < pace->window) {
        return;
    }
    int64_t took_us = now_us > pace->begin_us ? now_us - pace->begin_us : 1;
    int64_t rate = (int64_t)pace->n * 1000000000 / took_us;
    if (pace->full && !pace->settling) {
        judge(pace, rate);
    } else {
        pace->settling = pace->settling && !pace->full;
    }
    pace->n = 0;
    pace->full = true;
    pace->begin_us = now_us;
}

void sl_pace_expiry(struct sl_pace *pace)
{
    pace->window = clamp(pace, pace->window / 2);
    pace->before = pace->window;
    pace->what = SL_PACE_UP;
    pace->rate = 0;
    pace->settling = true;
}

unsigned sl_pace_window(const struct sl_pace *pace)
{
    return pace->window;
}

int64_t sl_pace_patience_us(const struct sl_pace *pace)
{
    int64_t us = pace->rtt_us * PATIENCE;
    return us < patience_min_us ? patience_min_us : us;
}
