/* Shao et al., GPU Scheduling for Short Tasks in Private Cloud, Table II: one queue of 20 tasks on
 * 2 GPUs. Draws the same over many seeds, and shows where the paper's queue lies among them. Its
 * "response" ends when a task starts: its "finish" is later by the mean run time. */
#include "evidence/experiments.h"
#include "evidence/shape/study.h"

static const char jobs[] = "tasks=20,gap=exp:25,runtime=loguniform:1:3,estimate=exact";
static const char policies[] = "fifo,sjf,p,hrrn,bounded";

static const struct published {
    const char *policy;
    double response; /* 0: not there */
    double finish;
} published[] = {
    {"fifo", 563.989, 771.633}, {"sjf", 252.187, 459.394}, {"p", 288.516, 496.586}, {"hrrn", 0, 0},
    {"bounded", 0, 0},
};

enum { CASES = sizeof(published) / sizeof(published[0]), FIFO = 0 };

enum { POLICY, RESPONSE, FINISH, OF_FIFO, HERE, HERE_FINISH, HERE_OF_FIFO, INSIDE };
static const struct sl_column columns[] = {
    [POLICY] = SL_COLUMN("", "policy", 0, 0),
    [RESPONSE] = SL_COLUMN("paper: response, s", "paperResponse", 3, 3),
    [FINISH] = SL_COLUMN("finish, s", "paperFinish", 3, 3),
    [OF_FIFO] = SL_COLUMN("of FIFO", "paperOfFifo", 3, 6),
    [HERE] = {"here: response, s", "response", 1, 6, SL_HOW_SPREAD, SL_TRIAL_WAIT, SL_OF_NONE},
    [HERE_FINISH] = {"finish, s", "finish", 1, 6, SL_HOW_SPREAD, SL_TRIAL_RESPONSE, SL_OF_NONE},
    [HERE_OF_FIFO] = {"of FIFO", "ofFifo", 3, 6, SL_HOW_SPREAD, SL_TRIAL_WAIT, FIFO},
    [INSIDE] = SL_COLUMN("paper inside", "paperInside", 0, 0),
};

static void fill(struct sl_study *study, struct sl_rows *rows)
{
    sl_buf_puts(&rows->about,
                "Short tasks (Shao et al., Table II): 20 tasks on 2 GPUs, gaps exponential of "
                "mean 25 s,\nlog10 of the run time even in 1..3, the timeout is the run "
                "time; response is until the start here,\nas in the paper: in slicesim run it "
                "is until the end, which is called finish here\n\n");
    for (size_t i = 0; i < CASES; i++) {
        const struct published *row = &published[i];
        sl_rows_add(rows, SL_ROW_EVERYWHERE);
        sl_rows_text(rows, POLICY, "%s", row->policy);
        sl_study_fill(study, i, rows);
        if (row->response > 0) {
            double ratio = row->response / published[FIFO].response;
            struct sl_band band = sl_study_band(study, i, SL_TRIAL_WAIT, FIFO);
            sl_rows_number(rows, RESPONSE, row->response);
            sl_rows_number(rows, FINISH, row->finish);
            sl_rows_number(rows, OF_FIFO, ratio);
            sl_rows_flag(rows, INSIDE, ratio >= band.p5 && ratio <= band.p95);
        }
    }
    sl_buf_printf(&rows->closing,
                  "\nresponse: from submission to start, finish: from submission to end; means "
                  "over the tasks.\nhere: medians over %u random queues, p5-p95 in parentheses; "
                  "of FIFO: response over FIFO's\non the same queue; paper inside: its one queue "
                  "lies in our p5-p95\n",
                  study->seeds);
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    struct sl_study study;
    int rc = sl_study_init(&study, CASES, CASES, SL_TRIAL_FIGURES, options, err);
    rc = rc < 0 ? rc : sl_study_try(&study, 0, jobs, "2", policies, options, "short tasks", err);
    if (rc == 0) {
        fill(&study, rows);
    }
    sl_study_free(&study);
    return rc;
}

const struct sl_reproduction sl_short_tasks = {
    .name = "short-tasks",
    .summary = "Shao et al., Table II: 20 short tasks on 2 GPUs under fifo, sjf, p",
    .seeds = 2000,
    SL_COLUMNS(columns),
    .run = play,
};
