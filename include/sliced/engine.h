/* The engine: the planner of pods and the cuts of GPUs, assembled once. The daemon and the
 * simulator tell it what changed, and carry out its commands. Pure: the time is an argument, equal
 * input gives equal commands. For one thread at a time. */
#ifndef SLICED_ENGINE_H
#define SLICED_ENGINE_H

#include "sliced/cut_run.h"
#include "sliced/plan.h"
#include "sliced/stage.h"

enum { SL_CUT_WORDS_MAX = 512 };

/* How GPUs are cut (partitioning.* of the configuration). */
struct sl_engine_cutting {
    bool enabled;
    bool drain;
    bool mig_mode;    /* the mig-manager may switch it */
    size_t max_nodes; /* cut at once */
    int64_t batch_us; /* see sl_cut_batch_is_due() */
    int64_t timeout_us;
    int64_t backoff_us;
    int64_t max_backoff_us;
    int64_t mig_file_us; /* until an agent has a file that was written; of the mig-manager */
    int64_t mps_file_us; /* and of nos' device plugin */
    int64_t report_us;   /* nos' agents report use that often, at least */
    /* Plans cuts in place of sl_cutter_plan, for comparisons: then a plan is made a batch_us after
     * the first change, and all of it is begun at once. NULL: sl_cutter_plan. */
    int (*plan)(void *state, const struct sl_cut_input *input, struct sl_cut_output *output,
                struct sl_error *err);
    void *state;
};

struct sl_engine_config {
    struct sl_plan_config plan;
    struct sl_engine_cutting cutting;
    size_t max_predecessors; /* as sl_stages_set_max */
    unsigned max_releases;   /* pods nominated and not bound */
    bool releases;           /* kube-scheduler binds them: there are as many as keep it busy */
};

/* ---- commands ---- */

enum sl_engine_do {
    SL_DO_NOMINATE,  /* set node and assignment aside for the pod */
    SL_DO_RELEASE,   /* have kube-scheduler try the pod, and call sl_engine_released at the end */
    SL_DO_EXPIRE,    /* its nomination is over, for reason: give back what was set aside */
    SL_DO_WITHDRAW,  /* take the pod's nomination back where it is written on it: to node; NULL: the
                        last one */
    SL_DO_REFUSE,    /* tell its owner that it never starts; reason says why */
    SL_DO_CUT_BEGIN, /* withhold the node, if these cuts may be made there now; else say why not */
    SL_DO_CUT_HOLD,  /* withhold the node: a cut is under way there that another process began */
    SL_DO_CUT_WRITE, /* write the step, and call sl_engine_wrote when that has ended */
    SL_DO_CUT_END,   /* the run has ended, its outcome says how: withhold the node no longer */
};

/* Its pointers are valid during the call. */
struct sl_engine_command {
    enum sl_engine_do kind;
    const char *node;           /* NOMINATE, EXPIRE, WITHDRAW, cuts */
    const struct sl_pod *pod;   /* but for cuts */
    const char *assignment;     /* NOMINATE, EXPIRE: text as in the annotation */
    enum sl_hold_reason reason; /* REFUSE: why. EXPIRE: SL_HOLD_EXPIRED when the pod did not take it
                                   in time, SL_HOLD_NO_ROOM when its node lost the room */
    int64_t due_us;             /* NOMINATE: since when it was due; 0: it was not */
    bool backfilled;            /* NOMINATE: ahead of a pod with a reserved start */
    bool *bound;                /* NOMINATE: set where the pod is being bound: it is not released */
    bool bare;                  /* RELEASE: it has no nomination (preemption, autoscaler) */
    uint64_t release;           /* its number */
    const struct sl_view *view; /* of cuts, as all that follows; NULL: the node is gone */
    const struct sl_cut_run *run; /* but for BEGIN */
    const struct sl_cut *cut;     /* BEGIN */
    size_t n_cuts;
    struct sl_cut_limits limits;
    char *why;             /* BEGIN: for the reason of a refusal, SL_PLAN_TEXT_MAX bytes */
    enum sl_cut_step step; /* WRITE */
    uint64_t write;        /* its number */
    const char *text;      /* BEGIN, END: the cuts in words */
    const char *pods;      /* BEGIN: for whom, in words */
    size_t n_pods;
    const char *trouble; /* END: why the last write failed; "" */
    int64_t took_us;     /* END */
};

/* False: it could not be done (NOMINATE, BEGIN: refused; RELEASE: not now; EXPIRE: there was
 * nothing to give back, as the pod is bound). It may call sl_engine_wrote and sl_engine_released,
 * and nothing else of the engine. */
typedef bool (*sl_engine_do_fn)(void *context, const struct sl_engine_command *command);

/* ---- life ---- */

struct sl_engine;

/* Copies the configuration. stages are borrowed: the caller tells them what there is, and reads
 * what they want; NULL: pods with sliced.dev/after never start. NULL: out of memory, or a value is
 * out of range (SL_ERR_FIELD). */
struct sl_engine *sl_engine_new(const struct sl_engine_config *config, struct sl_stages *stages,
                                struct sl_error *err);
void sl_engine_free(struct sl_engine *engine); /* nobody waits in the stages then; may be NULL */
/* -1: a value is out of range; nothing has changed. */
int sl_engine_configure(struct sl_engine *engine, const struct sl_engine_config *config,
                        struct sl_error *err);
/* For what the planner alone is told and asked. */
struct sl_planner *sl_engine_planner(struct sl_engine *engine);

/* Tells that the clock was put by by_us and shows now_us: what has begun takes as long as before.
 */
void sl_engine_rebase(struct sl_engine *engine, int64_t by_us, int64_t now_us);

/* Has each command told as a line of text, which is the same wherever the engine is used: "nominate
 * default/a n1 nvidia.com/gpu=0", "cut n2: GPU 0 into 7x 1g.5gb". NULL: nobody reads. */
typedef void (*sl_engine_record_fn)(void *context, int64_t now_us, const char *line);
void sl_engine_record(struct sl_engine *engine, sl_engine_record_fn record, void *context);

/* ---- pods ---- */

/* As sl_planner_put and sl_stages_put. */
int sl_engine_put(struct sl_engine *engine, struct sl_pod *pod, int64_t now_us,
                  struct sl_error *err);
/* As sl_planner_remove; bound: it was bound, which tells how busy kube-scheduler is. */
void sl_engine_remove(struct sl_engine *engine, struct sl_str uid, bool bound, int64_t now_us);

/* Looks which pods may go now, after what was told of others. staged (may be NULL) hears of each
 * change. True: more is left, for the next call, which should be soon. */
bool sl_engine_collect(struct sl_engine *engine, int64_t now_us,
                       void (*staged)(void *context, struct sl_str uid, enum sl_hold_reason stage),
                       void *context);

/* Plans as sl_planner_run, with as many nominations as there may be now, and has the plan carried
 * out. 1: nominations were refused, so that another plan is worth while once sl_engine_cluster has
 * told what there is; -1: out of memory, the next call goes on. */
int sl_engine_plan(struct sl_engine *engine, int64_t now_us, sl_engine_do_fn act, void *context,
                   struct sl_error *err);
/* How many that are; the window (sliced/pace.h); and how many there are. */
size_t sl_engine_room(const struct sl_engine *engine, int64_t now_us);
unsigned sl_engine_window(const struct sl_engine *engine);
unsigned sl_engine_outstanding(const struct sl_engine *engine);

/* How a release ended. */
enum sl_release_end {
    SL_RELEASE_RELEASED, /* kube-scheduler has it, or it is bound already */
    SL_RELEASE_GONE,     /* gone, made anew, being deleted, or it has ended */
    SL_RELEASE_REFUSED,  /* surely not released: the API server takes no patch of this pod */
    SL_RELEASE_FAILED,   /* surely not released: no answer, or none that is about this pod */
    SL_RELEASE_UNKNOWN,  /* the gate's patch may have been carried out, or may yet */
    SL_RELEASE_ENDS,
};
/* What the caller is to do then. */
enum sl_release_after {
    SL_AFTER_NOTHING,
    SL_AFTER_PAUSE,   /* releases pause from now on */
    SL_AFTER_GONE,    /* sl_engine_remove */
    SL_AFTER_REFUSED, /* give back what was set aside; others go first */
};
enum sl_release_after sl_engine_released(struct sl_engine *engine, struct sl_str uid,
                                         struct sl_str namespace, uint64_t number,
                                         enum sl_release_end end, int64_t now_us);

/* ---- cuts ---- */

/* Tells of the cluster, as sl_planner_cluster; demand may be NULL. Both are borrowed until the next
 * call, or until the engine is freed. */
int sl_engine_cluster(struct sl_engine *engine, const struct sl_view *const *view, size_t n,
                      const struct sl_demand *demand, int64_t now_us, struct sl_error *err);

/* Tells that a write has ended. why: the trouble, or NULL. Ignores unknown numbers. */
void sl_engine_wrote(struct sl_engine *engine, const char *node, uint64_t write,
                     enum sl_cut_write_end end, const char *why, int64_t now_us);

/* Sees each cut through that is under way. True: one has ended, so that its node can be planned
 * for.
 */
bool sl_engine_follow(struct sl_engine *engine, int64_t now_us, sl_engine_do_fn act, void *context);

/* After the planner has run: plans cuts for the pods that wait, and begins those whose time has
 * come. After nominations it does so once sl_engine_cluster has told of them. 1: done; 0: it rests,
 * or cuts nothing; -1: out of memory, the next call goes on. */
int sl_engine_cut(struct sl_engine *engine, int64_t now_us, sl_engine_do_fn act, void *context,
                  struct sl_error *err);

/* Lets no plan of cuts be made before. */
void sl_engine_rest(struct sl_engine *engine, int64_t until_us);

/* Returns when to step again though nothing changes; INT64_MAX: never. */
int64_t sl_engine_wake(const struct sl_engine *engine);

/* Checks that all parts agree, as sl_planner_audit. */
void sl_engine_audit(const struct sl_engine *engine);

/* ---- how a node stands ---- */

enum sl_partition_phase {
    SL_PHASE_IDLE,     /* as it is cut, it stays for now */
    SL_PHASE_DRAINING, /* its units are kept for a cut to come */
    SL_PHASE_CUTTING,
    SL_PHASE_OUT, /* the last cut failed: left out for a while */
    SL_PHASES,
};
const char *sl_partition_phase_name(enum sl_partition_phase phase); /* "Idle", ... */

/* One node whose GPUs may be cut. */
struct sl_partition_status {
    enum sl_partition_phase phase;
    int64_t since_us;           /* Unix; 0: since ever */
    int64_t until_us;           /* when that is expected to end; 0: unknown */
    int64_t seconds_us;         /* how long a cut of this node takes, as learned */
    uint32_t failures;          /* in a row */
    enum sl_cut_bar bar;        /* what keeps its GPUs from being cut now */
    char cut[SL_CUT_WORDS_MAX]; /* "GPU 2 into 2x 3g.20gb": CUTTING, or planned; OUT: what failed */
    char pods[SL_CUT_WORDS_MAX]; /* for whom: "ns/a, ns/b, 3 more" */
    char text[SL_CUT_WORDS_MAX]; /* why, in a sentence without its subject, the node */
    const char *why; /* CUTTING: the step that it has reached; OUT: what failed; "Planned": pods are
                        waited for; else the name of the bar; "": there is none */
};

/* engine NULL: nobody cuts. */
void sl_engine_node(const struct sl_engine *engine, const struct sl_view *view, int64_t now_us,
                    struct sl_partition_status *out);
/* Its phase alone. */
enum sl_partition_phase sl_engine_phase(const struct sl_engine *engine, const char *node,
                                        int64_t now_us);

#endif
