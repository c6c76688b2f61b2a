/* Cuts: which MIG instances, or slices of memory, a GPU shall have, decided by what waits. Pure.
 *
 * Words: a cut is the set of instances that one device shall have. A cut plan is the cuts of one
 * node that are made together, and the pods that it lets start. An actuator makes the cuts
 * (NVIDIA's mig-manager, nos' agents, nos' device plugin). A drain keeps a node's units from pods
 * that would run past a certain time, so that its free instances come together for a larger one.
 *
 * A device in use is never touched: on a node of the mig-manager, which destroys all instances of a
 * device, a device may be cut only if no pod on the node holds a unit of any pool that has units on
 * that device (the kubelet chooses the physical instance, and nobody tells which). On a node of a
 * nos agent, which deletes free instances only, the instances that the agent reports in use stay,
 * and free ones of a profile may go only while the agent reports as many in use as pods hold.
 *
 * Slices of memory (nos in MPS mode) follow the rule of nos' agents. They have no place: a device
 * may have any whose sizes sum up to its memory at most, for the 48 clients that MPS serves. */
#ifndef SLICED_CUT_H
#define SLICED_CUT_H

#include "sliced/demand.h"
#include "sliced/view.h"
#include "util/data/times.h"

/* Slices of one size, of nos in MPS mode. */
struct sl_cut_slices {
    uint16_t gb;
    uint16_t n;
};

/* Lists all that one device shall have, instances in use included. */
struct sl_cut {
    uint16_t device; /* index as nvidia-smi counts (struct sl_device.index) */
    bool whole;      /* MIG mode off: the GPU is given whole */
    uint8_t n;
    struct sl_mig_placement
        instance[SL_MIG_INSTANCES_MAX];                /* of the device's model; legal together */
    uint8_t n_sizes;                                   /* > 0: it has slices, and no instances */
    struct sl_cut_slices slices[SL_MIG_INSTANCES_MAX]; /* by size, the smallest first */
};

/* A waiting pod, as the queue's plan left it: nothing that is free now takes it. In order: the pod
 * to go first comes first. */
struct sl_cut_pod {
    const struct sl_pod *pod;
    bool has_room; /* it could start as things are, when kube-scheduler takes more pods: no cut is
                      for it, and what it needs is not cut for pods behind it */
    size_t made;   /* index + 1 of the node whose cut under way is for it, with has_room set; 0:
                      none */
    int64_t timeout_us; /* as the queue uses it */
    int64_t ready_us;   /* since when nothing of its own keeps it from starting */
    int64_t start_us;   /* estimated start without a cut; 0: unknown, or never */
    int64_t latest_us;  /* promised latest start (order bounded); 0: none */
};

/* Says whether the node of the view with the same index may be cut, and what came of that so far.
 */
struct sl_cut_site {
    bool out; /* may not be cut now: a cut is under way or failed lately, or not selected */
    const struct sl_cut *making; /* the cuts under way, which further pods may wait for; NULL: none,
                                    or not known */
    size_t n_making;
    int64_t made_us;    /* when these are expected to be done */
    int64_t seconds_us; /* how long a cut keeps its GPUs away, as learned */
    size_t
        drains_for; /* the pod for which it drains: its index in the input, + 1; 0: it does not */
    int64_t drains_until_us;
    uint64_t failed[4]; /* digests (sl_cut_digest) of plans that failed here lately; 0: none */
};

/* A pod, and since when this process has seen that it had started. */
struct sl_cut_seen {
    uint64_t pod; /* sl_hash of its UID */
    int64_t since_us;
};

/* Bounds of a cut. */
struct sl_cut_limits {
    bool mig_mode;       /* switch MIG mode on or off (mig-manager only) */
    int64_t reported_us; /* nos' agents report use from time to time: what they say now tells of
                            pods that were seen by then; 0: of all */
    const struct sl_cut_seen *seen; /* by pod; the others were not seen */
    size_t n_seen;
};

/* Finds the pod; NULL: it was not seen. */
const struct sl_cut_seen *sl_cut_seen_find(const struct sl_cut_seen *seen, size_t n, uint64_t pod);

struct sl_cut_input {
    const struct sl_view *const *view; /* by node name, as in the snapshot */
    const struct sl_cut_site *site;    /* by view */
    size_t n_views;
    const struct sl_cut_pod *pod;
    size_t n_pods;
    const struct sl_demand *demand; /* fills what no pod needs; may be NULL */
    size_t max_plans;               /* nodes that may be cut at once, less those in flight */
    struct sl_cut_limits limits;
    bool drain;
    int64_t now_us;
};

struct sl_cut_plan {
    size_t view; /* index */
    uint64_t digest;
    uint16_t n_cuts;    /* 0: the cut of the site that is under way lets the pods start */
    struct sl_cut *cut; /* devices that change, by index */
    size_t n_pods;
    size_t *pod;      /* indexes in input->pod of the pods that it lets start, in order */
    int64_t start_us; /* when they can: now + site's seconds */
};

/* Has a pod that waits since ready_us been patient for long enough, if a drain for it lasts until
 * then? Long enough is an eighth of its timeout, and of all that it waits for the drain. */
static inline bool sl_cut_is_patient(int64_t ready_us, int64_t timeout_us, int64_t until_us,
                                     int64_t now_us)
{
    int64_t waited_us = now_us - ready_us;
    return waited_us > timeout_us / 8 && waited_us > (until_us - ready_us) / 8;
}

/* A drain lasts for so much longer, as the kubelet gives pods time to end. */
#define SL_CUT_DRAIN_GRACE_US (30 * INT64_C(1000000))

struct sl_cut_drain {
    size_t view;
    size_t pod;       /* the pod for which the node drains */
    int64_t until_us; /* when all that must go has ended, by enforced timeouts */
    /* the resources of which units come free for it, as struct sl_ask_item.key; none: those of the
     * node's earlier drain */
    uint64_t key[SL_NODE_POOLS_MAX];
    size_t n_keys;
    /* with keys: the first GPU that is to be cut, as nvidia-smi counts, and how many are */
    int device;
    uint16_t n_devices;
};

/* Valid until the next call or until the cutter is freed. */
struct sl_cut_output {
    const struct sl_cut_plan *plan;
    size_t n_plans;
    const struct sl_cut_drain *drain;
    size_t n_drains;
};

struct sl_cutter;                                      /* memory that is used again; no state */
struct sl_cutter *sl_cutter_new(struct sl_error *err); /* NULL: out of memory */
void sl_cutter_free(struct sl_cutter *cutter);         /* NULL is allowed */

/* Plans cuts. In this order it maximises: the pods that start, lexicographically in their order;
 * few changes (instances destroyed, devices, nodes); what is left for demand. Pods that would start
 * no later without a cut do not count. 0 with nothing to do; -1: out of memory. */
int sl_cutter_plan(struct sl_cutter *cutter, const struct sl_cut_input *input,
                   struct sl_cut_output *output, struct sl_error *err);

/* Cuts that are planned and not begun yet; zeroed: none. */
struct sl_cut_batch {
    SL_TIMES(int64_t since_us; /* 0: none */
             int64_t grown_us; /* when they served more pods for the first time */
    );
    size_t n_pods; /* that they serve, at most so far */
};

/* Is it time to begin the cuts of the plan? They wait for a window, or a fifth of it when they come
 * to serve no more pods. Else *due_us says when it will be; INT64_MAX: there are none. */
bool sl_cut_batch_is_due(struct sl_cut_batch *batch, const struct sl_cut_output *output,
                         int64_t window_us, int64_t now_us, int64_t *due_us);

/* May these cuts be made on the node as it is: known devices and profiles, legal placements, one
 * cut for all devices under strategy single, every instance in use kept where it is? The store asks
 * in the critical section in which it withholds the node. reason (may be NULL): a sentence. */
bool sl_cut_allowed(const struct sl_view *view, const struct sl_cut *cut, size_t n,
                    struct sl_cut_limits limits, char *reason, size_t size);

/* Why no GPU of a node may be cut now, whoever waits. The table in src/core/cut/bar.c holds names
 * and texts; docs/reasons.md is made from it. */
enum sl_cut_bar {
    SL_CUT_BAR_NONE,          /* some may be */
    SL_CUT_BAR_NOT_SELECTED,  /* nothing cuts them */
    SL_CUT_BAR_CUTTING,       /* they are being cut */
    SL_CUT_BAR_LEFT_OUT,      /* set by the daemon: after failures, for a while */
    SL_CUT_BAR_FAILED_BEFORE, /* set by the daemon: some cuts of it failed, and are not tried now */
    SL_CUT_BAR_MAX_NODES,     /* set by the daemon: as many nodes are being cut as may be at once */
    SL_CUT_BAR_AT_WORK,       /* the agent is, for somebody else */
    SL_CUT_BAR_HIDDEN_USE,    /* pods hold resources that the node does not show now */
    SL_CUT_BAR_STARTING,      /* pods have yet to get their units from the kubelet */
    SL_CUT_BAR_UNKNOWN,       /* nobody tells what they hold; also: out of memory */
    SL_CUT_BAR_NO_MODEL,      /* of which instances are known */
    SL_CUT_BAR_MIG_OFF,       /* and may not be switched */
    SL_CUT_BAR_MIXED,         /* of several models, where all are cut together */
    SL_CUT_BAR_TOGETHER,      /* only all together, and some are in use */
    SL_CUT_BAR_NOT_REPORTED,  /* by nos' agent */
    SL_CUT_BAR_DIFFERS,       /* nos' agent reports others than are allocatable */
    SL_CUT_BAR_SHARED,        /* in other ways, too */
    SL_CUT_BAR_UNHEALTHY,
    SL_CUT_BAR_IN_USE, /* all of them, or they may not be cut */
    SL_CUT_BARS,
};
const char *sl_cut_bar_name(enum sl_cut_bar bar); /* "None", "NotSelected", ... */
/* Returns a sentence without its subject, the node. */
const char *sl_cut_bar_text(enum sl_cut_bar bar);

/* Returns what keeps all GPUs of the node as they are, as far as the view tells. */
enum sl_cut_bar sl_cut_bar_of(const struct sl_view *view, struct sl_cut_limits limits);

enum { SL_CUT_WAIT_NAMES = 3 };

/* Tells how many pods must end first for a pod whose node drains, at most. Of other namespaces it
 * says that alone. */
struct sl_cut_wait {
    uint32_t n_own;                              /* of its own namespace, */
    uint32_t n_others;                           /* and of others */
    const struct sl_pod *own[SL_CUT_WAIT_NAMES]; /* the first of its own; of the view */
};
/* The drain has its keys. */
void sl_cut_wait_find(const struct sl_view *view, const struct sl_pod *pod,
                      const struct sl_cut_drain *drain, int64_t now_us, struct sl_cut_wait *out);

/* Does the node show these cuts (devices and allocatable agree with them)? */
bool sl_cut_shown(const struct sl_node *node, const struct sl_cut *cut, size_t n);

/* Tells apart the nodes and what their devices shall have, never 0: by it a plan that failed is
 * known again. */
uint64_t sl_cut_digest(const struct sl_node *node, const struct sl_cut *cut, size_t n);

/* Writes "GPU 2 into 2x 3g.20gb; GPU 3 into 7x 1g.5gb" into out[0..size), cut when it is longer.
 * Returns the length. */
size_t sl_cut_text(const struct sl_node *node, const struct sl_cut *cut, size_t n, char *out,
                   size_t size);

/* Reads such a text again: counts alone, all instances begin at 0. Returns how many cuts there are;
 * 0: more than max, or it is no such text. */
size_t sl_cut_text_read(const struct sl_node *node, const char *text, struct sl_cut *cut,
                        size_t max);

#endif
