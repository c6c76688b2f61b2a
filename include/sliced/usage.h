/* Judges what was measured of a GPU by the pods that a view places on it, and says how a pod uses
 * the devices that it holds. */
#ifndef SLICED_USAGE_H
#define SLICED_USAGE_H

#include "sliced/peaks.h"
#include "sliced/view.h"

enum {
    /* Contexts of CUDA that a pod's process has beside what it allocates: 630 to 694 MiB on an H100
     * (driver 580.159). A pod whose use exceeds its ask by no more is not told. */
    SL_USAGE_CONTEXT_MIB = 704,
    SL_USAGE_OVER_SAMPLES = 3, /* the last samples, which must all show that use has changed */
    SL_USAGE_LIFE_WINDOWS = 3, /* a pod judged less often teaches nothing when it ends */
};

struct sl_usage_rule {
    enum sl_sharing sharing;
    int64_t now_us;
    int64_t stale_us; /* as in sl_window_rule */
    int64_t gap_us;
    int64_t future_us;
    int64_t horizon_us;      /* PEAKS: how long memory is expected to grow on as in the window */
    int32_t margin_permille; /* PEAKS: added to the highest use of former lives */
    size_t least;            /* fewer samples decide nothing; at least SL_HARVEST_SAMPLES_MIN */
    bool apart;              /* as in struct sl_measured */
};

enum {
    SL_USAGE_LIVES_MAX = 16,
    SL_USAGE_STEP_MIB = 64, /* smaller changes of what a GPU uses do not count */
    SL_USAGE_YOUNG_S = 60,  /* a pod's first seconds, in which it is expected to grow */
};

/* A pod's life on the GPU. Only the sum of all pods' use is measured: the part that falls away when
 * a pod ends was its own. */
struct sl_usage_life {
    uint64_t pod; /* sl_hash of its UID */
    uint32_t workload;
    int32_t ask_mib;     /* of the pod on the GPU; 0: it does not say */
    int32_t back_mib;    /* given back since the most was used, by any pod */
    int32_t surely_mib;  /* used while it was alone, at most */
    int32_t told_mib;    /* used by it alone, at most, as a series told; 0: none did */
    int32_t most_mib;    /* used by all, at most */
    int32_t before_mib;  /* held when it came, by those that were there */
    int32_t count_mib;   /* PEAKS: what is expected of it */
    int32_t ups_mib;     /* by which the sum grew when that may have been this pod: it uses no more;
                            INT32_MAX: it may have been there before it was met */
    int32_t glimpse_mib; /* that was told to be its own while it lived, at most */
    int64_t grew_us;     /* of the sample that showed ups_mib to grow */
    int64_t since_us;    /* samples from then on show it; INT64_MAX: it does not run yet */
    bool shown;          /* there was a sample */
    bool seen;           /* there were as many samples as decide */
    bool settled;        /* and it uses more than a context of CUDA, and in half as many has not
                            grown */
    bool waits;          /* likewise, but it uses no more than that */
    uint8_t windows;     /* judgements in which that was measured, SL_USAGE_LIFE_WINDOWS at most */
    bool gone;           /* the next sample tells what it used: until then it stays */
    bool met;            /* by this judgement */
};

/* Remembers a GPU from one judgement to the next. Zeroed: nothing is remembered. */
struct sl_usage_unit {
    uint32_t node;       /* sl_peaks_node() */
    uint64_t pods;       /* sl_view_pods_of() last time */
    uint64_t doubted;    /* pods of which what was learned was forgotten last: once is enough */
    int64_t since_us;    /* samples from then on show these pods together */
    int64_t changed_us;  /* likewise; 0 when nobody has seen others there before */
    int64_t running_us;  /* likewise, and all of them run */
    int64_t measured_us; /* of the last sample by which lives were measured; 0: none was */
    int64_t ahead_us;    /* as sl_usage_ahead() has it; 0 and more */
    uint32_t told_round; /* in which ahead_us was told last */
    int32_t used_mib;    /* last time */
    int32_t held_mib;    /* in use: goes up and down only when several samples show it */
    int32_t gone_mib;    /* of it, those that went of late may have used, by their asks and by what
                            was seen of them */
    struct sl_usage_life life[SL_USAGE_LIVES_MAX]; /* in the order in which they came */
    uint32_t workload[SL_MEASURED_KNOWN]; /* of pods that came, the last first; 0: no more */
    uint8_t n;
    bool crowded; /* more pods are there than lives are kept */
};

/* Sets *out to the last sample, used_mib, busy and bandwidth, and says in out->state whether that
 * still counts; all else in *out is as in sl_measured_none. used: scratch for series->cap figures.
 * False: there is no sample that counts. */
bool sl_usage_last(const struct sl_series *series, const struct sl_usage_rule *rule, int32_t *used,
                   struct sl_measured *out);

/* Judges any device. Only a device whose replicas share its memory gets room; over_mib also counts
 * where pods have shares of its memory. Residents that have gone teach peaks what they used. used:
 * scratch for series->cap figures. */
void sl_usage_judge(const struct sl_view *view, unsigned device, const struct sl_series *series,
                    const struct sl_usage_rule *rule, struct sl_usage_unit *unit,
                    struct sl_past *peaks, int32_t *used, struct sl_measured *out);

/* A sample of at_us was told at now_us, between that judgement and the next, whether it counts or
 * not. A clock that is behind that of the samples takes them late: one that comes next may be of
 * before now. The newest one says by how much, but its exporter may lie: most_us at most, which is
 * as far back as is asked for, since where clocks are further apart no sample counts. */
void sl_usage_ahead(struct sl_usage_unit *unit, uint32_t round, int64_t at_us, int64_t now_us,
                    int64_t most_us);

/* The clock of from_us was set: what was remembered by it says nothing of samples to come. Those
 * from from_us on show the pods that are there; what these use, and hold, stays known. */
void sl_usage_restart(struct sl_usage_unit *unit, int64_t from_us);

/* ---- what a node can have ---- */

/* How many GPUs at most, 1 to SL_NODE_DEVICES_MAX: as many as the label tells, are listed or are
 * allocatable, since labels may lag. */
unsigned sl_usage_gpus(const struct sl_node *node);

/* How many instances at most that GPU can be cut into. gpu: its index; uuid: may be empty: by UUID
 * where both say one. */
unsigned sl_usage_instances(const struct sl_node *node, int64_t gpu, const char *uuid);

/* Does the cluster know of that GPU, 0 or above, and the node offer instances of that profile?
 * instance: the driver's number of it, below 0: the GPU itself, whose profile does not count. */
bool sl_usage_expects(const struct sl_node *node, int64_t gpu, const char *uuid, int64_t instance,
                      const char *profile);

/* May its GPUs have instances? Otherwise a series' label GPU_I_ID is a pod's, and would hide the
 * GPU. */
bool sl_usage_has_instances(const struct sl_node *node);

/* ---- pods ---- */

enum { SL_USAGE_NAMES_MAX = 32 }; /* of pods on one GPU or MIG instance */

/* The pods that an exporter names on a unit: one of those that share it, or each. */
struct sl_usage_names {
    uint64_t pod[SL_USAGE_NAMES_MAX];     /* sl_usage_pod_key() */
    int32_t used_mib[SL_USAGE_NAMES_MAX]; /* by that pod alone; -1: nobody tells */
    bool unnamed[SL_USAGE_NAMES_MAX];     /* only that is told of it: it need not be there */
    uint8_t n;
    bool crowded; /* it names more: then nobody knows who is missing */
};

/* The measurements of one GPU or MIG instance. Figures that are not known are -1. */
struct sl_usage_row {
    int32_t gpu;      /* index on the node */
    int32_t instance; /* the driver's number of it; -1: the GPU itself */
    char uuid[64];    /* of the GPU; may be empty */
    char profile[24]; /* of the instance; may be empty */
    struct sl_usage_names names;
    struct sl_measured measured;
    int64_t sampled_us; /* Unix, of the last sample; 0: none */
    int64_t idle_us;    /* for how long nothing has run on it, as sl_spell_length() */
    int64_t since_us;   /* Unix: since when */
    int32_t watts;      /* that the GPU draws; not known of instances alone */
    int64_t joules;     /* that it drew since its power was first measured; likewise */
};

enum { SL_USAGE_ROWS_MAX = 128 }; /* of one node */

enum { SL_USAGE_SAID_MAX = 6 };

/* All that the labels of a series say which may name a pod; empty ones say nothing. */
struct sl_usage_said {
    struct sl_str pod[SL_USAGE_SAID_MAX];
    struct sl_str namespace[SL_USAGE_SAID_MAX];
    unsigned others;           /* so many names may be of something that is no pod on a GPU */
    const uint64_t *elsewhere; /* n_elsewhere pods that other units of the node name for sure, one
                                  time for each: who has all its units there is not meant here */
    size_t n_elsewhere;
    bool more; /* labels say more than there is place for here: nobody is named for sure */
};

/* Returns the sl_usage_pod_key() of the pod that a series of the view's node names; 0: nobody for
 * sure. The exporter has written the name of the pod that has the GPU, and may have copied that
 * pod's own labels: any pod of the node may be said, but whoever has such labels is the one that
 * has the GPU. *doubt: several are said, and nothing tells which it is. */
uint64_t sl_usage_named(const struct sl_view *view, const struct sl_usage_said *said, bool *doubt);

/* A node that a label of a series names, and whom the series names there, sl_usage_named(). */
struct sl_usage_home {
    const struct sl_view *view;
    uint64_t pod; /* 0: nobody for sure */
};

/* Returns the home of a series, of n that its labels say, which may name a node more than once;
 * NULL: nobody knows, or n is 0. A label may be a copy of a pod's: of several nodes it is the one
 * that has the pod. */
const struct sl_usage_home *sl_usage_home(const struct sl_usage_home *home, size_t n);

/* Takes from n rows of the view's node the names that do not count: of pods that cannot have that
 * GPU or instance, and, where pods share GPUs, all of theirs until each of them that is not set
 * aside is named. Before sl_usage_pod() and sl_usage_charge(). */
void sl_usage_agree(const struct sl_view *view, struct sl_usage_row *row, size_t n);

/* MiB that the pod of that key uses, where somebody tells it; else -1. */
int32_t sl_usage_told(const struct sl_usage_names *names, uint64_t key);

/* Before sl_usage_judge(): tells what the GPU's pods use, each alone, to those that it remembers.
 */
void sl_usage_tell(const struct sl_view *view, const struct sl_usage_names *names,
                   struct sl_usage_unit *unit);

/* Tells pods apart within this process. 0 when one of both is empty. */
uint64_t sl_usage_pod_key(struct sl_str namespace, struct sl_str name);

/* The row of a GPU: by UUID where both say one, else by index. NULL: nothing was measured. */
const struct sl_usage_row *sl_usage_row_of(const struct sl_usage_row *row, size_t n,
                                           const struct sl_device *device);

/* How a pod uses the devices that it holds. Figures that are not known are -1. */
struct sl_pod_use {
    int64_t declared_mib; /* on all its GPUs */
    int64_t used_mib;     /* of its GPUs' memory, where it is alone on them or somebody tells it */
    int64_t over_mib;     /* used beyond what it declared, if that is more than a context of CUDA; 0
                             also where that is not known */
    int64_t idle_us;      /* for how long the pod has run and nothing on any of its GPUs */
    int64_t since_us;     /* Unix: since when */
    int64_t sure_us;      /* as idle_us; of a pod that shares GPUs whatever their names say */
    int64_t share;        /* of GPUs that it holds, in thousandths of one */
    uint64_t held;        /* bit i: it holds units of node->device[i], as far as is known */
    uint64_t gpus;        /* bit i: idle_us is about the GPU of index i */
    uint64_t row[SL_USAGE_ROWS_MAX / 64]; /* bit i: row[i] is of a GPU or instance that it has; none
                                             is set where one of these is not known, or no sample of
                                             one says now how busy it is */
};

/* The kubelet, not the assignment, says which of a node's GPUs a pod has, except for shares of
 * memory. So the pod's GPUs are those for which the exporter names it, if these are as many as it
 * holds; else all that its resource could mean, so that a pod is never taken for another: one idles
 * for sure where all of them do. A name only ever adds a GPU on which something may run. row: n
 * rows of the view's node. */
void sl_usage_pod(const struct sl_view *view, const struct sl_resident *resident,
                  const struct sl_usage_row *row, size_t n, int64_t now_us, struct sl_pod_use *out);

/* The energy that a resident is charged with. */
struct sl_usage_charge {
    int64_t mj;     /* millijoules */
    int64_t weight; /* scratch */
};

/* Divides what the GPU row[gpu] drew, mj millijoules, among those who hold it: adds to charge[i].mj
 * of view->resident[i], and returns what is nobody's. Pods on one GPU are charged alike, whatever
 * they ask for, but those on instances by the size of these and by how busy they were, where the
 * exporter says whose they are. */
int64_t sl_usage_charge(const struct sl_view *view, const struct sl_usage_row *row, size_t n,
                        size_t gpu, int64_t mj, struct sl_usage_charge *charge);

/* Writes "nothing has run for 35m on what it holds of node n1, GPU 0", or "..., 1 of GPUs 0, 1".
 * Cut to size bytes, with the NUL. */
void sl_usage_idle_text(const struct sl_view *view, const struct sl_pod_use *use, char *out,
                        size_t size);

/* ---- the ask ---- */

/* Tells the pod's owner what was measured of the GPUs that the view shares by use, or of which more
 * is used than asked: "GPU 0: 4000 of 15360 MiB used, room for 11360 by cbp; GPU 1: 300 of 15360
 * MiB used, Short: 7 of 20 samples for cbp". Empty when the ask declares no memory of replicas, or
 * the node has no such GPU. Cut to size bytes, with the NUL. */
void sl_usage_text(const struct sl_view *view, const struct sl_ask *ask, char *out, size_t size);

#endif
