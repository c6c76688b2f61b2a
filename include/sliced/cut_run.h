/* A cut under way: what to write next, and how it ended. Pure: the node's state and the time are
 * arguments; the caller writes what a step asks for.
 *
 * A run is one cut plan on one node. Each attempt has a name of its own, "sliced-<hash>-<attempt>",
 * because the mig-manager acts only when the label's value changes and never tries a failed name
 * again. The node's annotation sliced.dev/cut holds the name from the first write to the last, so
 * that after a restart the node itself says that a run is under way. */
#ifndef SLICED_CUT_RUN_H
#define SLICED_CUT_RUN_H

#include "sliced/cut.h"

enum {
    SL_CUT_NAME_MAX = 48,    /* bytes, with the NUL */
    SL_CUT_ATTEMPTS = 3,     /* names under which one run is tried */
    SL_CUT_FAILED_KEPT = 4,  /* digests of failed plans, of one node */
    SL_CUT_STOOD_MAX = 1024, /* pods noted on a node's GPUs; further ones count as newcomers */
};

enum sl_cut_step {
    SL_CUT_WAIT,   /* for the node to change, or for run->wake_us */
    SL_CUT_ORDER,  /* write the order under run->name, and sliced.dev/cut; under run->announces
                      only what must be there before the agent is told */
    SL_CUT_FINISH, /* remove sliced.dev/cut; when run->outcome is DONE, write what the devices hold
                    */
    SL_CUT_END,    /* nothing is left to write: run->outcome is final */
};

enum sl_cut_outcome {
    SL_CUT_RUNNING,
    SL_CUT_DONE,
    SL_CUT_FAILED,       /* the actuator says so */
    SL_CUT_WEDGED,       /* the actuator has been at work on it for too long */
    SL_CUT_SILENT,       /* the actuator never took the order up */
    SL_CUT_NOT_FOLLOWED, /* the actuator reports success, allocatable lacks the instances */
    SL_CUT_HALF_APPLIED, /* the node shows other instances than before and than ordered */
    SL_CUT_REFUSED,      /* the API server did not take the order */
    SL_CUT_BAD_FILE,     /* the agent's file as it stands has no place for the order */
    SL_CUT_TAKEN,        /* a pod came to the node's GPUs before the agent had begun */
    SL_CUT_GONE,         /* the node is gone */
    SL_CUT_LEFT,         /* given up for reasons outside: switched off, taken over by somebody */
    SL_CUT_OUTCOMES,
};
const char *sl_cut_outcome_name(enum sl_cut_outcome outcome); /* "Running", "Done", "Failed", ... */

struct sl_cut_rules {
    int64_t timeout_us; /* of a run, from its first order */
    int64_t backoff_us; /* how long a node is left out after a failure; doubles each time */
    int64_t max_backoff_us;
    int64_t file_us; /* from the ConfigMap's write until the agent has the file; nos' MIG agent
                        reads none */
};

struct sl_cut_run {
    char name[SL_CUT_NAME_MAX]; /* of this attempt */
    enum sl_actuator actuator;
    enum sl_cut_outcome outcome;
    bool resumed;     /* the node said that it was under way: the cuts are not known */
    bool announces;   /* its file is written, and the agent is not told to read it yet */
    unsigned attempt; /* 0: it is announced */
    uint64_t digest;
    uint16_t n_cuts; /* 0: resumed */
    struct sl_cut cut[SL_NODE_DEVICES_MAX];
    SL_TIMES(int64_t begun_us;   /* the first order */
             int64_t wake_us;    /* look again then though nothing changes */
             int64_t ordered_us; /* of the machine alone, as the next two */
             int64_t pause_us;   /* until when */
             int64_t news_us;    /* when the actuator said that it had ended; 0: it has not */
    );
    bool taken; /* pods have come to the node's GPUs since it was decided */
    /* of the machine alone */
    enum {
        SL_CUT_AT_ORDER,
        SL_CUT_AT_WORK,
        SL_CUT_AT_PAUSE,
        SL_CUT_AT_FINISH,
        SL_CUT_AT_CLEAR,
    } at;
    bool writing;
    bool written;   /* the node may have the mark */
    bool unwritten; /* the last write failed */
    bool told;      /* the agent may be at work on this attempt */
    bool moved;     /* the agent may have begun since the first order, by what the node has shown */
    uint16_t n_had; /* resources */
    struct {
        uint64_t key; /* as struct sl_pool.key */
        int64_t units;
    } had[SL_NODE_POOLS_MAX]; /* allocatable as the cut was decided, or resumed */
    bool showed;              /* the node showed the cuts before they were ordered */
    uint64_t wanted;          /* node->partition.wanted as the cut was decided */
    int64_t file_us;          /* of the rules */
    uint16_t n_stood;
    uint64_t stood[SL_CUT_STOOD_MAX]; /* sl_hash of the UID of each pod that was there then */
};

/* Begins a run; the first step is to order. */
void sl_cut_run_begin(struct sl_cut_run *run, const struct sl_node *node, const struct sl_cut *cut,
                      size_t n, int64_t now_us);

/* Goes on with the run that the node says is under way (node->partition.cut), as after a restart:
 * it is finished or given up, but not ordered a second time. The mig-manager has begun when the
 * node shows no units or what was planned, or reboots. False: the node names no run. */
bool sl_cut_run_resume(struct sl_cut_run *run, const struct sl_node *node, int64_t now_us);

/* Notes the pods on the node's GPUs as the cut is decided. */
void sl_cut_run_note_pods(struct sl_cut_run *run, const struct sl_view *view);

/* Sets run->taken: are there pods on the node's GPUs that were not noted? Another scheduler may
 * place them. UIDs tell, since clocks of two machines do not. Of a run that was resumed nobody
 * knows which pods were there: all count. */
void sl_cut_run_look_at_pods(struct sl_cut_run *run, const struct sl_view *view);

/* Says what to do now. node is as the watch shows it, NULL when it is gone. After ORDER and FINISH
 * the machine waits until sl_cut_run_wrote. */
enum sl_cut_step sl_cut_run_step(struct sl_cut_run *run, const struct sl_node *node,
                                 const struct sl_cut_rules *rules, int64_t now_us);

enum sl_cut_write_end {
    SL_CUT_WRITTEN,
    SL_CUT_WRITE_REFUSED,  /* surely not written; the API server would refuse it again */
    SL_CUT_WRITE_BAD_FILE, /* surely not written; the agent's file as it stands has no place for it
                            */
    SL_CUT_WRITE_MOOT,     /* surely not written; the node as it is by now takes no such order */
    SL_CUT_WRITE_FAILED,   /* surely not written; it may be tried again */
    SL_CUT_WRITE_UNKNOWN,  /* maybe written; the node will tell */
};
void sl_cut_run_wrote(struct sl_cut_run *run, enum sl_cut_write_end end, int64_t now_us);

/* "ordered", "pending", "rebooting", "waiting for allocatable": for people. */
const char *sl_cut_run_phase(const struct sl_cut_run *run, const struct sl_node *node);

/* Remembers how the cuts of a node went. Zeroed: it had none. */
struct sl_cut_record {
    uint32_t failures; /* in a row */
    SL_TIMES(int64_t out_until_us;
             int64_t failed_until_us; /* until then those of failed are not tried again */
    );
    int64_t seconds_us; /* mean of the last ones that were done; 0: none was */
    uint64_t suspect;   /* digest of the last that failed while it was applied; 0: none */
    uint64_t failed[SL_CUT_FAILED_KEPT]; /* of those that did so twice running */
};
/* Notes how a run of that node ended. */
void sl_cut_record_note(struct sl_cut_record *record, const struct sl_cut_run *run,
                        const struct sl_cut_rules *rules, int64_t now_us);
/* Returns the digests of the plans that are not tried again now, SL_CUT_FAILED_KEPT of them; 0:
 * none. */
const uint64_t *sl_cut_record_failed(const struct sl_cut_record *record, int64_t now_us);
/* Returns the mean of the last cuts that were done, with one more that took so long. mean_us 0:
 * there was none before. */
int64_t sl_cut_mean_us(int64_t mean_us, int64_t took_us);
/* Returns the time that a cut of the node is expected to take: as learned there, else on other
 * nodes of the actuator (others_us; 0: on none), else by actuator (mig-manager 60 s, nos in either
 * mode 10 s). record may be NULL: the node was never cut. */
int64_t sl_cut_seconds_us(const struct sl_cut_record *record, int64_t others_us,
                          enum sl_actuator actuator);

#endif
