/* Where a pod may go for reasons other than GPUs, as far as that is cheap to tell: node selector,
 * required node affinity, taints, CPU, memory and the number of pods of the node. kube-scheduler
 * has the last word; this keeps nominations from being wrong. */
#ifndef SLICED_CONSTRAINT_H
#define SLICED_CONSTRAINT_H

#include "sliced/node.h"

struct sl_view;

enum sl_match_op {
    SL_MATCH_IN,
    SL_MATCH_NOT_IN,
    SL_MATCH_EXISTS,
    SL_MATCH_DOES_NOT_EXIST,
    SL_MATCH_GT,
    SL_MATCH_LT,
};

/* One expression of a node selector term. */
struct sl_match {
    const char *key; /* of a label; "metadata.name" with field set. What Kubernetes would not take
                        for an expression is kept as In without a value: it never holds */
    const char *const *value;
    uint16_t n_values;
    uint8_t op; /* enum sl_match_op */
    bool field; /* matchFields */
};

/* The expressions of a term must all hold, of the terms one must. */
struct sl_match_term {
    const struct sl_match *match;
    uint16_t n;
};

struct sl_toleration {
    const char *key;   /* NULL: every key (operator Exists) */
    const char *value; /* NULL: every value (operator Exists) */
    uint8_t effect;    /* enum sl_taint_effect; SL_TAINT_ANY: all */
};

/* How much of a pod's is kept; where it has more, that constraint is left out, and pod->problem
 * says so. Matches and values are of all expressions together, text is of all keys and values. */
enum {
    SL_CONSTRAINT_TERMS_MAX = 32,
    SL_CONSTRAINT_MATCHES_MAX = 128,
    SL_CONSTRAINT_VALUES_MAX = 512,
    SL_CONSTRAINT_TOLERATIONS_MAX = 64,
    SL_CONSTRAINT_TEXT_MAX = 8192,
};

/* A pod's; immutable, in the pod's own allocation. */
struct sl_constraints {
    const struct sl_match *selector;  /* spec.nodeSelector, all of them */
    const struct sl_match_term *term; /* required node affinity */
    const struct sl_toleration *toleration;
    uint16_t n_selector;
    uint16_t n_terms;
    uint16_t n_tolerations;
    bool affinity;     /* required node affinity is there: without a term it admits no node */
    bool by_name;      /* asks for what site_digest leaves out, such as the node's name: only the
                          node itself can tell, another one's answer does not stand for it */
    int64_t cpu_milli; /* requests, counted as Kubernetes counts them; saturated */
    int64_t memory_bytes;
    uint64_t digest; /* equal constraints, equal digests; of all of the above */
};

enum sl_constraint {
    SL_CONSTRAINT_NONE, /* the node is admitted */
    SL_CONSTRAINT_UNSCHEDULABLE,
    SL_CONSTRAINT_SELECTOR,
    SL_CONSTRAINT_AFFINITY,
    SL_CONSTRAINT_TAINT,
    SL_CONSTRAINT_CPU, /* this one and those below: not now */
    SL_CONSTRAINT_MEMORY,
    SL_CONSTRAINT_PODS,
    SL_CONSTRAINT_COUNT,
};

/* "None", "Unschedulable", "NodeSelector", "NodeAffinity", "Taint", "CPU", "Memory", "Pods". */
const char *sl_constraint_name(enum sl_constraint constraint);

/* Tells whether the toleration is good for the taint. */
bool sl_toleration_covers(const struct sl_toleration *toleration, const struct sl_taint *taint);

/* What of the node does not change with the pods on it: SL_CONSTRAINT_NONE or what is against it.
 * constraints may be NULL (a pod that only has to tolerate the taints). */
enum sl_constraint sl_constraints_admit(const struct sl_constraints *constraints,
                                        const struct sl_node *node);

/* The same with what is in use on the node now. */
enum sl_constraint sl_constraints_admit_now(const struct sl_constraints *constraints,
                                            const struct sl_view *view);

#endif
