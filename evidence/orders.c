/* Compares the orders of the queue on queues long enough for starving: mean response (until a job
 * starts, as in Shao et al.) with that of the shortest job first, longest wait with FIFO's, and
 * both over c of the bounded order. */
#include <stdio.h>

#include "evidence/experiments.h"
#include "evidence/shape/study.h"

enum { SETTINGS = 3, ESTIMATES = 2, ORDERS = 6, POLICIES = 13 };

static const struct setting {
    const char *title;
    const char *jobs;
    const char *gpus;
} settings[SETTINGS] = {
    {"1,000 tasks, 9 GPUs (load 0.96)", "tasks=1000", "9"},
    {"100 tasks, 2 GPUs (overload)", "tasks=100", "2"},
    {"1,000 tasks, 2 GPUs (overload)", "tasks=1000", "2"},
};

/* The curve over c is played with exact timeouts alone. */
static const struct estimate {
    const char *title;
    const char *value;
    size_t policies;
} estimates[ESTIMATES] = {
    {"exact timeouts", "exact", POLICIES},
    {"timeouts 1-5 times the run time", "factor:1:5", ORDERS},
};

enum { FIFO = 0, SJF = 1 };
static const char *const names[POLICIES] = {
    "fifo",
    "sjf",
    "p",
    "p:gamma=0.25",
    "hrrn",
    "bounded",
    "bounded:c=1",
    "bounded:c=1.05",
    "bounded:c=1.1",
    "bounded:c=1.3",
    "bounded:c=1.5",
    "bounded:c=2",
    "bounded:c=3",
};

enum { SETTING, TIMEOUTS, POLICY };
static const struct sl_column columns[] = {
    [SETTING] = SL_COLUMN(NULL, "setting", 0, 0),
    [TIMEOUTS] = SL_COLUMN(NULL, "timeouts", 0, 0),
    [POLICY] = SL_COLUMN("", "policy", 0, 0),
    {"mean response, s", "response", 0, 6, SL_HOW_MEDIAN, SL_TRIAL_WAIT, SL_OF_NONE},
    {"longest wait, s", "longestWait", 0, 6, SL_HOW_MEDIAN, SL_TRIAL_LONGEST, SL_OF_NONE},
    {"mean / sjf's", "responseOfSjf", 3, 6, SL_HOW_MEDIAN, SL_TRIAL_WAIT, SJF},
    {"longest / fifo's", "longestOfFifo", 3, 6, SL_HOW_MEDIAN, SL_TRIAL_LONGEST, FIFO},
    {"in the worst seed", "longestOfFifoMax", 3, 6, SL_HOW_MOST, SL_TRIAL_LONGEST, FIFO},
};

static int setting_play(struct sl_study *study, size_t s, size_t e,
                        const struct sl_reproduce_options *options, struct sl_error *err)
{
    char jobs[128];
    char doing[128];
    char list[256];
    int len = 0;
    for (size_t p = 0; p < estimates[e].policies; p++) {
        len += snprintf(list + len, sizeof(list) - (size_t)len, "%s%s", p > 0 ? "," : "", names[p]);
    }
    (void)snprintf(jobs, sizeof(jobs), "%s,estimate=%s", settings[s].jobs, estimates[e].value);
    (void)snprintf(doing, sizeof(doing), "%zu/%d %s, %s", s * ESTIMATES + e + 1,
                   SETTINGS * ESTIMATES, settings[s].title, estimates[e].title);
    return sl_study_try(study, 0, jobs, settings[s].gpus, list, options, doing, err);
}

static void setting_fill(struct sl_study *study, size_t s, size_t e, struct sl_rows *rows)
{
    sl_buf_printf(&rows->heading, "%s, %s\n", settings[s].title, estimates[e].title);
    for (size_t p = 0; p < estimates[e].policies; p++) {
        sl_rows_add(rows, SL_ROW_EVERYWHERE);
        sl_rows_text(rows, SETTING, "%s", settings[s].title);
        sl_rows_text(rows, TIMEOUTS, "%s", estimates[e].value);
        sl_rows_text(rows, POLICY, "%s", names[p]);
        sl_study_fill(study, p, rows);
    }
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    struct sl_study study;
    int rc = sl_study_init(&study, POLICIES, POLICIES, SL_TRIAL_FIGURES, options, err);
    sl_buf_puts(&rows->about, "Orders of the queue: gaps exponential of mean 25 s, log10 of the "
                              "run time even in 1..3\n\n");
    for (size_t i = 0; i < (size_t)SETTINGS * ESTIMATES && rc == 0; i++) {
        rc = setting_play(&study, i / ESTIMATES, i % ESTIMATES, options, err);
        if (rc == 0) {
            setting_fill(&study, i / ESTIMATES, i % ESTIMATES, rows);
        }
    }
    sl_buf_printf(&rows->closing,
                  "\nmedians over %u seeds; response: from submission to start; ratios are taken "
                  "seed by seed.\nbounded is c=%.2f\n",
                  options->seeds, SL_PROMISE_C_DEFAULT / 1000.0);
    sl_study_free(&study);
    return rc;
}

const struct sl_reproduction sl_orders = {
    .name = "orders",
    .summary = "mean response and longest wait of all orders on long queues, and over c",
    .seeds = 100,
    SL_COLUMNS(columns),
    .run = play,
};
