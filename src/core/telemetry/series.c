/* The ring of samples. */
#include "sliced/series.h"

const char *sl_series_state_name(enum sl_series_state state)
{
    static const char *const names[] = {[SL_SERIES_GOOD] = "Good",
                                        [SL_SERIES_ABSENT] = "Absent",
                                        [SL_SERIES_STALE] = "Stale",
                                        [SL_SERIES_SHORT] = "Short",
                                        [SL_SERIES_GAPPY] = "Gappy"};
    return names[state];
}

static struct sl_sample *sample_at(const struct sl_series *series, size_t i)
{
    size_t at = (size_t)series->first + i;
    return &series->sample[at < series->cap ? at : at - series->cap];
}

const struct sl_sample *sl_series_at(const struct sl_series *series, size_t i)
{
    return sample_at(series, i);
}

static int64_t figure_of(const struct sl_sample *sample, enum sl_figure_of figure)
{
    return figure == SL_FIGURE_USED   ? sample->used_mib
           : figure == SL_FIGURE_BUSY ? sample->busy
                                      : sample->bandwidth;
}

static void set_figure(struct sl_sample *sample, enum sl_figure_of figure, int64_t value)
{
    switch (figure) {
    case SL_FIGURE_USED:
        sample->used_mib = (int32_t)value;
        break;
    case SL_FIGURE_BUSY:
        sample->busy = (int16_t)value;
        break;
    case SL_FIGURE_BANDWIDTH:
        sample->bandwidth = (int16_t)value;
        break;
    case SL_FIGURE_POD_USED:
    case SL_FIGURE_POWER:
        break;
    }
}

/* Makes room for one sample at place i of n, forgetting the oldest when the ring is full. Returns
 * its place. */
static size_t open_place(struct sl_series *series, size_t i)
{
    if (series->n < series->cap) {
        series->n++;
    } else {
        series->first = (uint16_t)((series->first + 1U) % series->cap);
        i--;
    }
    for (size_t k = series->n - 1U; k > i; k--) {
        *sample_at(series, k) = *sample_at(series, k - 1);
    }
    return i;
}

/* The sample of that time, new or not; NULL when a full ring has only younger ones. */
static struct sl_sample *sample_for(struct sl_series *series, int64_t at_us)
{
    size_t i = series->n;
    while (i > 0 && sample_at(series, i - 1)->at_us > at_us) {
        i--;
    }
    if (i > 0 && sample_at(series, i - 1)->at_us == at_us) {
        return sample_at(series, i - 1);
    }
    if (i == 0 && series->n == series->cap) {
        return NULL;
    }
    struct sl_sample *sample = sample_at(series, open_place(series, i));
    *sample = (struct sl_sample){at_us, SL_SERIES_UNKNOWN, SL_SERIES_UNKNOWN, SL_SERIES_UNKNOWN};
    return sample;
}

bool sl_series_put(struct sl_series *series, int64_t at_us, enum sl_figure_of figure, int64_t value)
{
    int64_t most = figure == SL_FIGURE_USED ? INT32_MAX : 1000;
    if (series->cap == 0 || figure >= SL_FIGURE_POD_USED || value < 0 || value > most) {
        return false;
    }
    struct sl_sample *sample = sample_for(series, at_us);
    if (sample == NULL || figure_of(sample, figure) != SL_SERIES_UNKNOWN) {
        return false;
    }
    set_figure(sample, figure, value);
    return true;
}

void sl_series_cut(struct sl_series *series, int64_t until_us)
{
    while (series->n > 0 && sample_at(series, series->n - 1U)->at_us > until_us) {
        series->n--;
    }
}

/* Index of the first sample that counts. */
static size_t window_start(const struct sl_series *series, const struct sl_window_rule *rule)
{
    size_t start = series->n;
    size_t known = 0;
    while (start > 0) {
        const struct sl_sample *sample = sample_at(series, start - 1);
        bool counts = sample->at_us >= rule->since_us || (rule->back && known < rule->least);
        if (!counts) {
            break;
        }
        known += sample->used_mib != SL_SERIES_UNKNOWN;
        start--;
    }
    return start;
}

static enum sl_series_state state_of_last(const struct sl_series *series,
                                          const struct sl_window_rule *rule)
{
    for (size_t i = series->n; i > 0; i--) {
        const struct sl_sample *sample = sample_at(series, i - 1);
        if (sample->used_mib != SL_SERIES_UNKNOWN) {
            bool fresh = sample->at_us > rule->now_us - rule->stale_us &&
                         sample->at_us <= rule->now_us + rule->future_us;
            return fresh ? SL_SERIES_GOOD : SL_SERIES_STALE;
        }
    }
    return SL_SERIES_ABSENT;
}

enum sl_series_state sl_series_window(const struct sl_series *series,
                                      const struct sl_window_rule *rule, int32_t *used, size_t *n)
{
    enum sl_series_state state = state_of_last(series, rule);
    int64_t before_us = 0;
    size_t count = 0;
    *n = 0;
    if (state != SL_SERIES_GOOD) {
        return state;
    }
    for (size_t i = window_start(series, rule); i < series->n; i++) {
        const struct sl_sample *sample = sample_at(series, i);
        if (sample->used_mib == SL_SERIES_UNKNOWN) {
            continue;
        }
        if (count > 0 && sample->at_us - before_us > rule->gap_us) {
            state = SL_SERIES_GAPPY;
        }
        before_us = sample->at_us;
        used[count++] = sample->used_mib;
    }
    if (count < rule->least) {
        return SL_SERIES_SHORT;
    }
    *n = state == SL_SERIES_GOOD ? count : 0;
    return state;
}

int64_t sl_series_mean(const struct sl_series *series, enum sl_figure_of figure, int64_t since_us)
{
    int64_t sum = 0;
    int64_t n = 0;
    for (size_t i = series->n; i > 0 && sample_at(series, i - 1)->at_us >= since_us; i--) {
        int64_t value = figure_of(sample_at(series, i - 1), figure);
        sum += value != SL_SERIES_UNKNOWN ? value : 0;
        n += value != SL_SERIES_UNKNOWN;
    }
    return n == 0 ? SL_SERIES_UNKNOWN : sum / n;
}

struct sl_extent sl_series_extent(const struct sl_series *series, int64_t since_us, size_t most)
{
    struct sl_extent extent = {.lowest_mib = INT32_MAX};
    for (size_t i = series->n; i > 0 && extent.n < most; i--) {
        const struct sl_sample *sample = sample_at(series, i - 1);
        if (sample->at_us < since_us) {
            break;
        }
        if (sample->used_mib != SL_SERIES_UNKNOWN) {
            extent.lowest_mib =
                sample->used_mib < extent.lowest_mib ? sample->used_mib : extent.lowest_mib;
            extent.highest_mib =
                sample->used_mib > extent.highest_mib ? sample->used_mib : extent.highest_mib;
            extent.last_us = extent.n == 0 ? sample->at_us : extent.last_us;
            extent.n++;
        }
    }
    return extent;
}

int64_t sl_series_last(const struct sl_series *series, enum sl_figure_of figure)
{
    for (size_t i = series->n; i > 0; i--) {
        int64_t value = figure_of(sample_at(series, i - 1), figure);
        if (value != SL_SERIES_UNKNOWN) {
            return value;
        }
    }
    return SL_SERIES_UNKNOWN;
}
