/* Days of changing demand on A100 40GB: long ones, of small slices in the morning, large ones in
 * the evening, and bursts of one kind; and short ones of short jobs, whose mix changes twice. */
#ifndef SLICED_EVIDENCE_DAY_H
#define SLICED_EVIDENCE_DAY_H

#include "sim/input/workload.h"

enum { SL_DAY_PROFILES = 5, SL_DAY_PHASES = 3 };

/* A kind of job. */
struct sl_day_kind {
    const char *profile; /* "1g.5gb" */
    int slices;          /* of the seven of a GPU, for which its work counts */
    int memory;          /* of the eight of a GPU */
    double morning;      /* share of the work asked for until 8:00 */
    double evening;      /* the same from 18:00 on; in between it changes evenly */
    double median_s;     /* run time: log-normal, sigma 0.8 */
};
extern const struct sl_day_kind sl_day_kinds[SL_DAY_PROFILES];
/* Returns the kind of the resource "nvidia.com/mig-1g.5gb"; NULL: none. */
const struct sl_day_kind *sl_day_kind_of(const char *resource);

struct sl_day {
    const char *title;
    int nodes;
    int gpus;      /* of each node */
    int max_nodes; /* that are cut at once */
    int cut_s;     /* that a cut takes; 0: as usual for its actuator */
    int length_s;
    bool turned;                                /* it begins with its evening's shares */
    int of_100[SL_DAY_PHASES][SL_DAY_PROFILES]; /* a short one: jobs by kind, a third of it each */
};
enum { SL_DAYS_LONG = 2, SL_DAYS = 7 };
extern const struct sl_day sl_days[SL_DAYS]; /* the long ones first */

static inline bool sl_day_is_short(const struct sl_day *day)
{
    return day->cut_s > 0;
}

/* A long day: the work asked for, as a share of what the GPUs can do, without bursts; and the
 * bursts, each of jobs of one kind which together fill SL_DAY_BURST_GPUS GPUs and are submitted
 * within ten minutes. */
#define SL_DAY_LOAD 0.95
enum { SL_DAY_BURSTS = 8, SL_DAY_BURST_GPUS = 30, SL_DAY_BURST_S = 600 };
/* A short one: that many jobs, one after the other, in so many seconds. */
enum { SL_DAY_SHORT_JOBS = 200, SL_DAY_SHORT_S = 480 };

/* Fills an initialised, empty workload. whole: every job asks for a whole GPU instead. */
int sl_day_generate(const struct sl_day *day, uint64_t seed, bool whole, struct sl_workload *out,
                    struct sl_error *err);

/* Sets *wait to a mean wait, in seconds, below which no way of placing the jobs of a short day on
 * so many GPUs comes that never moves a running one, however it cuts and whatever it foresees. */
int sl_day_bound(int gpus, const struct sl_workload *jobs, double *wait, struct sl_error *err);

#endif
