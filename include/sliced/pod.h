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

/* The fields of a pod, one a row, from which struct sl_pod, its copies and its comparisons are
 * made. The last column tells what sl_pod_given() leaves of a field: NOW, what the pod has; GIVEN,
 * what it was given (texts and numbers); TIMEOUT, that too unless a deadline is enforced (numbers);
 * EVER, whether either has it. QUIET is as NOW, but no difference to sl_pod_same(); NEVER goes into
 * no copy (flags). */
/* TEXT(name, what an empty one is, kept) */
#define SL_POD_TEXTS(TEXT)                                                                         \
    TEXT(namespace, "", NOW)                                                                       \
    TEXT(name, "", NOW)                                                                            \
    TEXT(uid, "", NOW)                                                                             \
    TEXT(node, NULL, GIVEN)       /* NULL: not bound */                                            \
    TEXT(malformed, NULL, GIVEN)  /* why the ask is malformed, NULL when it is not */              \
    TEXT(assignment, NULL, GIVEN) /* of the assignment annotation, NULL when there is none */      \
    TEXT(problem, NULL, NOW)      /* annotations that were ignored, and why; NULL: none */         \
    TEXT(nominated, NULL, NOW)    /* status.nominatedNodeName, NULL when there is none */          \
    TEXT(after, NULL, NOW)        /* annotation sliced.dev/after, NULL when there is none */
/* NUMBER(type, name, kept) */
#define SL_POD_NUMBERS(NUMBER)                                                                     \
    NUMBER(enum sl_pod_phase, phase, NOW)                                                          \
    NUMBER(enum sl_gate, gate, NOW)                                                                \
    NUMBER(int32_t, priority, NOW)                                                                 \
    NUMBER(uint32_t, gone_s, NOW) /* deleting: end of its grace period, Unix s; 0: unknown */      \
    NUMBER(int64_t, created_us, NOW)                                                               \
    NUMBER(int64_t, started_us, NOW) /* status.startTime: a deadline counts from it; 0: none */    \
    /* annotation sliced.dev/gpu-memory, of each replica, and min-gpu-memory; 0: none */           \
    NUMBER(int32_t, gpu_memory_mib, GIVEN)                                                         \
    NUMBER(int32_t, min_gpu_memory_mib, GIVEN)                                                     \
    /* activeDeadlineSeconds, else annotation sliced.dev/timeout; 0: none. At most 2^31 - 1, as    \
     * activeDeadlineSeconds */                                                                    \
    NUMBER(int64_t, timeout_s, TIMEOUT)                                                            \
    /* Tells apart, within this process, who makes such pods again and again: the namespace with   \
     * the kind and name of the controller reference; a Job that a CronJob has made counts as its  \
     * CronJob's. 0: none. */                                                                      \
    NUMBER(uint64_t, owner, NOW)                                                                   \
    /* sl_hash of spec.schedulerName; of "default-scheduler" by default */                         \
    NUMBER(uint64_t, scheduler, NOW)
/* FLAG(name, kept) */
#define SL_POD_FLAGS(FLAG)                                                                         \
    FLAG(deleting, NOW)                                                                            \
    FLAG(has_deadline, NOW)   /* activeDeadlineSeconds is set: the kubelet enforces the timeout */ \
    FLAG(never_preempts, NOW) /* spec.preemptionPolicy is Never */                                 \
    FLAG(plugin_took, EVER)   /* gpushare's plugin has given it its GPU (MEM_ASSIGNED) */          \
    FLAG(tried, NOW)          /* its condition says that kube-scheduler could not place it */      \
    FLAG(queued, QUIET)       /* its condition sliced.dev/Queued is True, which sliced writes */   \
    FLAG(daemon_set, NOW)     /* its controller reference names a DaemonSet of apps */             \
    FLAG(gate_seen, EVER)     /* it has, or had when first seen, the gate sliced.dev/queue */      \
    FLAG(released, NOW)       /* annotation sliced.dev/released: the queue released it */          \
    FLAG(poses, NOW)          /* a label of it, copied to a series, may pass for a pod's name */   \
    /* a nominated pod's stand-in on its node: it waits, and holds there what is set aside for it  \
     */                                                                                            \
    FLAG(set_aside, NEVER)

struct sl_pod {
#define SL_POD_TEXT(name, none, kept)   const char *name;
#define SL_POD_NUMBER(type, name, kept) type name;
#define SL_POD_FLAG(name, kept)         bool name : 1;
    SL_POD_TEXTS(SL_POD_TEXT)
    const struct sl_constraints *constraints; /* in the same allocation */
    const uint64_t *label; /* two sl_hash of each label: of "key" and of "key=value"; sorted */
    SL_POD_NUMBERS(SL_POD_NUMBER)
    /* In the same allocation. A malformed ask has none until the pod is bound; then they list what
     * it may hold on its node, at most SL_POD_ITEMS_MAX. */
    struct sl_ask_item *items;
    uint32_t n_items;
    uint32_t n_labels; /* entries of label */
    SL_POD_FLAGS(SL_POD_FLAG)
    _Atomic uint32_t refs; /* use sl_pod_ref and sl_pod_unref; the last member */
#undef SL_POD_TEXT
#undef SL_POD_NUMBER
#undef SL_POD_FLAG
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
 * and annotations say by now: given's ask, and of its fields what their rows say. NULL when out of
 * memory. sl_pod_has_given is true when the copy would ask for and keep nothing else than pod. */
struct sl_pod *sl_pod_given(const struct sl_pod *pod, const struct sl_pod *given,
                            enum sl_pod_phase phase);
bool sl_pod_has_given(const struct sl_pod *pod, const struct sl_pod *given);

/* True when both pods ask for the same units, with the same GPU memory. */
bool sl_pod_same_ask(const struct sl_pod *a, const struct sl_pod *b);

/* True when the pods differ in no field but QUIET ones. */
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
