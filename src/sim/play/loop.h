/* The simulation: a virtual clock, the scheduler's planner, and nodes on which jobs run. The same
 * input gives the same run, to the bit. */
#ifndef SLICED_SIM_LOOP_H
#define SLICED_SIM_LOOP_H

#include "sim/input/fleet.h"
#include "sim/input/workload.h"
#include "sim/play/cuts.h"

/* A queue that waits already: jobs submitted before begin_us wait when the simulation begins, and
 * pods of the fleet end at their timeouts. */
struct sl_sim_live {
    int64_t begin_us; /* from the first submission, as all times */
    int64_t until_us; /* jobs that have not started by then never do */
};

struct sl_sim_input {
    const struct sl_workload *workload;
    const struct sl_fleet *fleet;
    const struct sl_engine_config *engine;
    const struct sl_sim_cutting *cutting; /* NULL: GPUs stay as they are */
    const struct sl_sim_live *live;       /* NULL: all begins at 0, and pods of the fleet stay */
    bool keep_places;                     /* remember on which devices jobs ran */
    bool audit;                           /* the engine, after each step */
    sl_engine_record_fn record;           /* hears the engine's commands as text; or NULL */
    void *recorder;
    /* Hears now and then how many of all jobs have been submitted; or NULL. */
    void (*part)(size_t done, size_t of);
};

enum sl_sim_outcome {
    SL_SIM_NEVER,  /* did not start: no node could take it, or it was refused */
    SL_SIM_DONE,   /* ended by itself */
    SL_SIM_KILLED, /* ran into its timeout */
};

struct sl_sim_job {
    int64_t start_us; /* from the first submission */
    int64_t end_us;
    int64_t due_us;    /* its start on its tenant's own share; -1: it started before that */
    const char *place; /* as the annotation sliced.dev/assignment has it; NULL unless kept */
    int32_t node;      /* index in the fleet; -1 when it never started */
    uint32_t order;    /* how many started before it */
    enum sl_sim_outcome outcome;
    bool staged;             /* waits for other jobs */
    bool refused;            /* the planner refused it for good */
    enum sl_hold_reason why; /* NEVER: why it waited in the end */
};

/* The outcome of a run. Integrals are in GPU-seconds. */
struct sl_sim_run {
    struct sl_sim_job *job; /* by workload->job */
    size_t n;
    size_t started;
    size_t killed;
    int64_t begin_us;
    int64_t end_us;      /* the last end */
    double capacity;     /* GPUs */
    double busy;         /* GPU share in use over time */
    double busy_waiting; /* the same over the time in which some job waited */
    double waiting_s;    /* how long some job waited */
    double fragmented;   /* GPU share that was idle and of no use for the usual job */
    uint64_t backfills;
    uint64_t cuts;          /* cut plans carried out */
    int64_t fifo_wait_us;   /* bounded: W of priority 0 in the end, see sl_planner_fifo_wait() */
    const char *never_text; /* the sentence for the first job that did not start; NULL: none */
    struct sl_arena places;
};

/* *run is made; sl_sim_run_free frees it, after a failure too. */
int sl_sim_run(const struct sl_sim_input *input, struct sl_sim_run *run, struct sl_error *err);
void sl_sim_run_free(struct sl_sim_run *run);

#endif
