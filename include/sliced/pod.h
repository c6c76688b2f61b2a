/* A pod as sliced keeps it: immutable, one allocation, counted references. */
#ifndef SLICED_POD_H
#define SLICED_POD_H

#include "sliced/ask.h"
#include "util/error.h"

#include <stdatomic.h>

enum sl_pod_phase {
    SL_POD_PENDING,
    SL_POD_RUNNING,
    SL_POD_SUCCEEDED,
    SL_POD_FAILED,
    SL_POD_UNKNOWN,
};

/* An assignment names at most 128 places: a whole node of 64 GPUs, or 7 instances on each of 18. An
 * ask that would need more is refused (SL_REASON_EXCEEDS_NODE), never cut. The text is long enough
 * for that many parts and for the names of SL_ASK_ITEMS_MAX resources. */
enum { SL_ASSIGNMENT_MAX = 128, SL_ASSIGNMENT_TEXT_MAX = 3072 };

/* Where the units of an ask are on a node. device is an index in the node's list of devices,
 * instance one in its list of instances; -1 when only the kubelet knows. No two parts of an item
 * name the same place. */
struct sl_assignment_part {
    uint8_t item; /* index in the ask */
    int16_t device;
    int16_t instance;
    int64_t amount; /* units of the item's resource, > 0 */
};

struct sl_assignment {
    uint8_t n;
    struct sl_assignment_part part[SL_ASSIGNMENT_MAX];
};

/* The scheduling gate sliced.dev/queue on a waiting pod. */
enum sl_gate {
    SL_GATE_NONE,   /* kube-scheduler tries the pod */
    SL_GATE_OURS,   /* ours is the only one: opening it lets kube-scheduler try the pod */
    SL_GATE_OTHERS, /* others' gates hold the pod, ours may be among them: it is not planned for */
};

struct sl_constraints;

struct sl_pod {
    const char *namespace;
    const char *name;
    const char *uid;
    const char *node;       /* NULL: not bound */
    const char *malformed;  /* why the ask is malformed, NULL when it is not */
    const char *assignment; /* text of the assignment annotation, NULL when none */
    const char *problem;    /* an annotation that was passed over, and why; NULL when none was */
    const char *nominated;  /* status.nominatedNodeName, NULL when none */
    const char *after;      /* annotation sliced.dev/after, NULL when none */
    const struct sl_constraints *constraints; /* in the same allocation */
    const uint64_t *label; /* of each label two sl_hash: of "key" and of "key=value"; sorted */
    enum sl_pod_phase phase;
    enum sl_gate gate;
    int32_t priority;
    uint32_t gone_s; /* deleting: when its grace is over, in Unix seconds; 0: not told */
    int64_t created_us;
    int64_t started_us;         /* status.startTime, from which a deadline counts; 0: not started */
    int64_t gpu_memory_mib;     /* annotation sliced.dev/gpu-memory, of each replica; 0: none */
    int64_t min_gpu_memory_mib; /* annotation sliced.dev/min-gpu-memory; 0: none */
    int64_t timeout_s; /* activeDeadlineSeconds, else annotation sliced.dev/timeout; 0: none.
                          Never above 2^31 - 1, what activeDeadlineSeconds may be */
    /* In the same allocation. A malformed ask has none, but of a pod that stands on a node they are
     * what it may hold there: at most SL_POD_ITEMS_MAX. */
    struct sl_ask_item *items;
    uint64_t scheduler; /* sl_hash of spec.schedulerName; of "default-scheduler" without one */
    uint32_t n_items;
    uint32_t n_labels;     /* entries of label */
    _Atomic uint32_t refs; /* use sl_pod_ref and sl_pod_unref */
    bool deleting : 1;
    bool has_deadline : 1;   /* activeDeadlineSeconds is set: the kubelet keeps the timeout */
    bool never_preempts : 1; /* spec.preemptionPolicy is Never */
    bool plugin_took : 1;    /* gpushare's device plugin has given it its GPU (MEM_ASSIGNED) */
    bool tried : 1;          /* kube-scheduler could not place it, by its condition */
    bool daemon_set : 1;     /* a DaemonSet of apps is said to control it */
    bool gate_seen : 1;      /* the gate sliced.dev/queue is on it, or was when it was seen */
    bool released : 1;       /* annotation sliced.dev/released: the queue has let it go */
};

/* Judges the facts. A malformed ask makes a pod that fits nowhere and says why, and that holds,
 * where it stands on a node, all that can be read of it; a malformed timeout or assignment is as
 * good as none and leaves a text in pod->problem. Only a pod without a name, or with a name,
 * namespace, UID or node name that Kubernetes would not accept for its length or a NUL in it, is an
 * error. The assignment is the annotation sliced.dev/assignment, else what gpushare wrote
 * (ALIYUN_COM_GPU_MEM_IDX) for a pod that asks for aliyun.com/gpu-mem only. New reference; NULL on
 * error. */
struct sl_pod *sl_pod_new(const struct sl_pod_facts *facts, struct sl_error *err);

/* A copy that stands on node with that assignment text (may be NULL) in that phase. New reference;
 * NULL when out of memory. */
struct sl_pod *sl_pod_bound_to(const struct sl_pod *pod, const char *node, const char *assignment,
                               enum sl_pod_phase phase);

/* A copy of pod in that phase with what was given to it once, whatever its labels and annotations
 * say by now: given's node, ask and assignment, given's timeout where no deadline is enforced, and
 * that the plugin took it. NULL when out of memory. has_given: the copy would say the same as pod
 * does. */
struct sl_pod *sl_pod_given(const struct sl_pod *pod, const struct sl_pod *given,
                            enum sl_pod_phase phase);
bool sl_pod_has_given(const struct sl_pod *pod, const struct sl_pod *given);

/* Do both ask for the same units, of the same memory? */
bool sl_pod_same_ask(const struct sl_pod *a, const struct sl_pod *b);

struct sl_pod *sl_pod_ref(struct sl_pod *pod);
void sl_pod_unref(struct sl_pod *pod); /* NULL is allowed */

/* The pod's ask as the policy functions take it (borrows the pod's text); of a malformed one the
 * first SL_ASK_ITEMS_MAX items. */
void sl_pod_ask(const struct sl_pod *pod, struct sl_ask *out);

/* Bound and not finished: it holds its devices. A deleting pod does until it is gone. */
bool sl_pod_holds(const struct sl_pod *pod);

/* Not bound, not finished, not deleting, and asks for something of ours. */
bool sl_pod_waits(const struct sl_pod *pod);

/* A namespace in which only those make pods who are trusted with the owners that they name. */
struct sl_queue_trusted {
    char namespace[64]; /* with its NUL */
};

/* Whose pods the queue plans for. */
struct sl_queue_scope {
    struct sl_str scheduler; /* empty: of any */
    bool gated;              /* the API server puts the gate on every pod of the queue */
    const struct sl_queue_trusted *daemon_sets; /* whose DaemonSets are believed, */
    size_t n_daemon_sets;                       /* beside those of kube-system */
};

/* Does the queue plan for the pod, while it waits? It does for all that have its gate, or had it
 * when they were seen: only the queue opens it. Not for those of a DaemonSet in a namespace whose
 * owners are believed: each is for a certain node, and nobody may go in its place; who names a
 * DaemonSet elsewhere waits as others do. Nor for pods without a gate of another scheduler, or, in
 * a queue that is gated, that it has not let go. */
bool sl_pod_is_queued(const struct sl_pod *pod, const struct sl_queue_scope *scope);

/* Is it of a DaemonSet that is believed? */
bool sl_pod_is_exempt(struct sl_str namespace, bool daemon_set, const struct sl_queue_scope *scope);

const char *sl_pod_phase_name(enum sl_pod_phase phase); /* "Pending", ... */

#endif
