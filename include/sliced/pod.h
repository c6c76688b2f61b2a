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

/* The places of an ask's units on a node. device is an index in node->device, instance one in
 * node->instance; -1 when only the kubelet knows. No two parts of an item name the same place. */
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
    SL_GATE_OURS,   /* only ours: opening it lets kube-scheduler try the pod */
    SL_GATE_OTHERS, /* others' gates hold the pod, ours maybe too: it is not planned */
};

struct sl_constraints;

struct sl_pod {
    const char *namespace;
    const char *name;
    const char *uid;
    const char *node;       /* NULL: not bound */
    const char *malformed;  /* why the ask is malformed, NULL when it is not */
    const char *assignment; /* text of the assignment annotation, NULL when none */
    const char *problem;    /* annotations that were ignored, and why; NULL when none were */
    const char *nominated;  /* status.nominatedNodeName, NULL when none */
    const char *after;      /* annotation sliced.dev/after, NULL when none */
    const struct sl_constraints *constraints; /* in the same allocation */
    const uint64_t *label; /* two sl_hash of each label: of "key" and of "key=value"; sorted */
    enum sl_pod_phase phase;
    enum sl_gate gate;
    int32_t priority;
    uint32_t gone_s; /* deleting: end of its grace period, Unix seconds; 0: unknown */
    int64_t created_us;
    int64_t started_us;         /* status.startTime, from which a deadline counts; 0: not started */
    int32_t gpu_memory_mib;     /* annotation sliced.dev/gpu-memory, of each replica; 0: none */
    int32_t min_gpu_memory_mib; /* annotation sliced.dev/min-gpu-memory; 0: none */
    int64_t timeout_s; /* activeDeadlineSeconds, else annotation sliced.dev/timeout; 0: none. At
                          most 2^31 - 1, as activeDeadlineSeconds */
    /* In the same allocation. A malformed ask has none until the pod is bound; then they list what
     * it may hold on its node, at most SL_POD_ITEMS_MAX. */
    struct sl_ask_item *items;
    /* Tells apart, within this process, who makes such pods again and again: the namespace with the
     * kind and name of the controller reference; a Job that a CronJob has made counts as its
     * CronJob's. 0: none. */
    uint64_t owner;
    uint64_t scheduler; /* sl_hash of spec.schedulerName; of "default-scheduler" by default */
    uint32_t n_items;
    uint32_t n_labels;     /* entries of label */
    _Atomic uint32_t refs; /* use sl_pod_ref and sl_pod_unref */
    bool deleting : 1;
    bool has_deadline : 1;   /* activeDeadlineSeconds is set: the kubelet enforces the timeout */
    bool never_preempts : 1; /* spec.preemptionPolicy is Never */
    bool plugin_took : 1;    /* gpushare's device plugin has given it its GPU (MEM_ASSIGNED) */
    bool tried : 1;          /* its condition says that kube-scheduler could not place it */
    bool queued : 1;         /* its condition sliced.dev/Queued is True: decides nothing */
    bool daemon_set : 1;     /* its controller reference names a DaemonSet of apps */
    bool gate_seen : 1;      /* it has, or had when first seen, the gate sliced.dev/queue */
    bool released : 1;       /* annotation sliced.dev/released: the queue released it */
    bool poses : 1;          /* a label of it, copied to a series, may pass for a pod's name */
    bool set_aside : 1; /* a nominated pod's stand-in on its node: it waits, and holds there what
                           is set aside for it */
};

/* Judges the facts. Returns a new reference, or NULL with *err set: when out of memory, without a
 * name, or when Kubernetes would refuse the name, namespace, UID or node name for its length or a
 * NUL. A pod with a malformed ask fits nowhere and says why; once bound, it holds all units that
 * can be read. A malformed timeout or assignment counts as none, and pod->problem says so. The
 * assignment is the annotation sliced.dev/assignment, else gpushare's ALIYUN_COM_GPU_MEM_IDX for a
 * pod which asks for aliyun.com/gpu-mem only. */
struct sl_pod *sl_pod_new(const struct sl_pod_facts *facts, struct sl_error *err);

/* Returns a copy bound to node with that assignment text (may be NULL) in that phase: a new
 * reference, NULL when out of memory. */
struct sl_pod *sl_pod_bound_to(const struct sl_pod *pod, const char *node, const char *assignment,
                               enum sl_pod_phase phase);

/* Returns a copy of a pod whose UID another pod has too: without the UID, and its problem says why.
 * NULL when out of memory. */
struct sl_pod *sl_pod_without_uid(const struct sl_pod *pod);

/* Returns a copy of pod in that phase which keeps what the pod was given once, whatever its labels
 * and annotations say by now: given's node, ask, assignment and plugin_took, and given's timeout
 * unless a deadline is enforced. NULL when out of memory. sl_pod_has_given is true when the copy
 * would equal pod. */
struct sl_pod *sl_pod_given(const struct sl_pod *pod, const struct sl_pod *given,
                            enum sl_pod_phase phase);
bool sl_pod_has_given(const struct sl_pod *pod, const struct sl_pod *given);

/* True when both pods ask for the same units, with the same GPU memory. */
bool sl_pod_same_ask(const struct sl_pod *a, const struct sl_pod *b);

/* True when the pods are equal in all but queued, which is no news: this daemon writes it. */
bool sl_pod_same(const struct sl_pod *a, const struct sl_pod *b);

struct sl_pod *sl_pod_ref(struct sl_pod *pod);
void sl_pod_unref(struct sl_pod *pod); /* NULL is allowed */

/* Fills the pod's ask, which borrows the pod's text; with a malformed ask the first
 * SL_ASK_ITEMS_MAX items. */
void sl_pod_ask(const struct sl_pod *pod, struct sl_ask *out);

/* True when the pod holds its devices: bound and not finished. A pod that is being deleted holds
 * them until it is gone. */
bool sl_pod_holds(const struct sl_pod *pod);

/* True when the pod waits: it asks for a resource that sliced schedules, and is not bound, finished
 * or being deleted. */
bool sl_pod_waits(const struct sl_pod *pod);

/* A namespace whose pods' owner references are believed, because only trusted users create pods in
 * it. */
struct sl_queue_trusted {
    char namespace[64]; /* with its NUL */
};

/* Which pods the queue plans. */
struct sl_queue_scope {
    struct sl_str scheduler; /* spec.schedulerName of the queue's pods; empty: any */
    bool gated;              /* the API server puts the gate on every pod of the queue */
    const struct sl_queue_trusted *daemon_sets; /* whose DaemonSets are believed */
    size_t n_daemon_sets;                       /* besides kube-system */
};

/* True when the queue plans the pod while it waits. It plans every pod which has, or had when first
 * seen, the queue's gate, because only the queue opens that. Among the others it ignores DaemonSet
 * pods in namespaces whose owners are believed, as each is for one certain node; pods without gates
 * of another scheduler; and, when gated, pods without gates that neither it released nor a
 * DaemonSet made. */
bool sl_pod_is_queued(const struct sl_pod *pod, const struct sl_queue_scope *scope);

/* True when a pod of a DaemonSet is in a namespace whose owners the scope believes. */
bool sl_pod_is_exempt(struct sl_str namespace, bool daemon_set, const struct sl_queue_scope *scope);

const char *sl_pod_phase_name(enum sl_pod_phase phase); /* "Pending", ... */

#endif
