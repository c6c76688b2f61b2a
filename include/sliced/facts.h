/* A Kubernetes object as the codec read it, not judged yet: plain text in lists, owned by the arena
 * that the caller of the codec gave. Only the core reads facts; it makes struct sl_pod and struct
 * sl_node of them. */
#ifndef SLICED_FACTS_H
#define SLICED_FACTS_H

#include "util/str.h"

/* One entry of a map of strings (labels, annotations, quantities). Text is NUL-terminated too. */
struct sl_pair {
    struct sl_str key;
    struct sl_str value;
    struct sl_pair *next;
};

struct sl_container_facts {
    struct sl_str name;
    struct sl_str image;
    struct sl_pair *requests; /* resource -> quantity as text */
    struct sl_pair *limits;
    bool restart_always; /* an init container with restartPolicy Always: a sidecar */
    struct sl_container_facts *next;
};

struct sl_text_facts {
    struct sl_str text;
    struct sl_text_facts *next;
};

/* One entry of matchExpressions or matchFields. */
struct sl_expression_facts {
    struct sl_str key;
    struct sl_str op;             /* "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt" */
    struct sl_text_facts *values; /* in reverse; Kubernetes gives the order no meaning */
    struct sl_expression_facts *next;
};

/* One node selector term; a node must meet at least one of them. */
struct sl_term_facts {
    struct sl_expression_facts *expressions;
    struct sl_expression_facts *fields;
    struct sl_term_facts *next;
};

struct sl_toleration_facts {
    struct sl_str key;
    struct sl_str op; /* "Exists", "Equal", "Gt", "Lt"; empty: Equal */
    struct sl_str value;
    struct sl_str effect;
    struct sl_toleration_facts *next;
};

struct sl_taint_facts {
    struct sl_str key;
    struct sl_str value;
    struct sl_str effect;
    struct sl_taint_facts *next;
};

/* Fields of a pod's spec that are kept as they stand: FACT(type, member, name in spec, how the
 * watch reads it: SL_FIELD_kind). Absent, a text is empty and a number 0. */
#define SL_POD_SPEC_FACTS(FACT)                                                                    \
    FACT(struct sl_str, scheduler_name, schedulerName, STRING)                                     \
    FACT(struct sl_str, preemption_policy, preemptionPolicy, STRING)                               \
    FACT(int32_t, priority, priority, I32)                                                         \
    FACT(int64_t, deadline_s, activeDeadlineSeconds, I64)

struct sl_pod_facts {
#define FACT(type, member, name, kind) type member;
    SL_POD_SPEC_FACTS(FACT)
#undef FACT
    struct sl_str namespace; /* empty: "default" */
    struct sl_str name;
    struct sl_str uid;
    struct sl_str resource_version; /* opaque */
    struct sl_str node_name;        /* spec.nodeName, empty when not bound */
    struct sl_str phase;            /* status.phase, empty: Pending */
    struct sl_str nominated;        /* status.nominatedNodeName */
    int64_t started_us;             /* status.startTime, Unix microseconds; 0 when absent */
    int64_t created_us;  /* metadata.creationTimestamp, Unix microseconds; 0 when absent */
    int64_t deleting_us; /* metadata.deletionTimestamp, likewise */
    bool deleting;       /* metadata.deletionTimestamp is there */
    bool tried;          /* condition PodScheduled is False, for a reason other than gates */
    bool queued;         /* condition sliced.dev/Queued is True */
    bool daemon_set;     /* its controller reference names a DaemonSet of apps */
    struct sl_str owner; /* of its controller reference: "Job/train"; empty: none */
    bool affinity;       /* the pod requires node affinity; terms lists the alternatives */
    struct sl_pair *labels;
    struct sl_pair *annotations;
    struct sl_pair *overhead;
    struct sl_container_facts whole;            /* spec.resources (KEP-2837); no name, no image */
    struct sl_container_facts *containers;      /* in their order */
    struct sl_container_facts *init_containers; /* in order, which decides what runs together */
    struct sl_pair *gates;                      /* key = name of a scheduling gate */
    struct sl_pair *node_selector;
    struct sl_term_facts *terms; /* spec.affinity.nodeAffinity.required... */
    struct sl_toleration_facts *tolerations;
    struct sl_str problem; /* names the parts that were unreadable or too large; may be empty */
};

/* A Job of batch/v1. */
struct sl_job_facts {
    struct sl_str namespace;
    struct sl_str name;
    struct sl_str uid;
    bool complete; /* its condition Complete is true */
    bool failed;   /* its condition Failed is true */
};

/* One entry of the node annotation sliced.dev/devices (docs/devices.md). */
struct sl_instance_facts {
    struct sl_str profile;
    int start; /* memory slice, -1 when not said */
    struct sl_instance_facts *next;
};

struct sl_device_facts {
    int index; /* as nvidia-smi counts */
    struct sl_str uuid;
    struct sl_str product;
    int64_t memory_mib; /* 0: as the node's labels say */
    bool unhealthy;
    bool mig;    /* MIG mode is on */
    bool unsure; /* nobody knows which instances it has; it names none */
    struct sl_instance_facts *instances;
    struct sl_device_facts *next;
};

/* The agent that cuts a node's GPUs when sliced asks for it. */
enum sl_actuator {
    SL_ACTUATOR_NONE,        /* sliced has nothing cut on the node */
    SL_ACTUATOR_MIG_MANAGER, /* NVIDIA's, of the GPU operator */
    SL_ACTUATOR_NOS_MIG,
    SL_ACTUATOR_NOS_MPS, /* nos' device plugin, which cuts the memory of GPUs into slices */
};

/* One entry of a node's status.addresses. */
struct sl_address_facts {
    struct sl_str type; /* "InternalIP", "Hostname", ... */
    struct sl_str address;
    struct sl_address_facts *next;
};

struct sl_node_facts {
    struct sl_str name;
    struct sl_str uid;
    struct sl_str resource_version;
    struct sl_pair *labels;
    struct sl_pair *annotations;
    struct sl_pair *allocatable; /* resource -> quantity as text */
    struct sl_pair *capacity;
    struct sl_taint_facts *taints;
    struct sl_address_facts *addresses;
    struct sl_device_facts *devices; /* from sliced.dev/devices; NULL when absent or malformed */
    struct sl_device_facts *planned; /* from sliced.dev/cut-devices, likewise */
    struct sl_str problem;           /* names the parts that could not be read; empty: none */
    enum sl_actuator actuator;       /* sl_actuator_of, set by the caller of sl_node_new */
    bool mig_mode;                   /* that of the rule; likewise */
    bool unschedulable;
    bool deleting;
};

/* Returns the first pair of the list with that key, NULL when there is none. */
const struct sl_pair *sl_pair_find(const struct sl_pair *list, struct sl_str key);

#endif
