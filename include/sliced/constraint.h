/* A pod's constraints beside GPUs, as far as they are cheap to check: node selector, required node
 * affinity, tolerations, CPU and memory. They keep sliced from nominating a node which
 * kube-scheduler would reject; kube-scheduler has the last word. */
#ifndef SLICED_CONSTRAINT_H
#define SLICED_CONSTRAINT_H

#include "sliced/facts.h"

enum sl_taint_effect {
    SL_TAINT_ANY,
    SL_TAINT_NO_SCHEDULE,
    SL_TAINT_NO_EXECUTE,
    SL_TAINT_PREFER_NO_SCHEDULE, /* keeps no pod away */
};

enum sl_match_op {
    SL_MATCH_IN,
    SL_MATCH_NOT_IN,
    SL_MATCH_EXISTS,
    SL_MATCH_DOES_NOT_EXIST,
    SL_MATCH_GT,
    SL_MATCH_LT,
    SL_MATCH_UNKNOWN, /* a later Kubernetes' operator: holds, so that kube-scheduler decides */
};

/* One expression of a node selector term. */
struct sl_match {
    const char *key; /* of a label; "metadata.name" with field set. An expression that Kubernetes
                        would refuse is kept as In without a value: it never holds */
    const char *const *value;
    uint16_t n_values;
    uint8_t op; /* enum sl_match_op */
    bool field; /* matchFields */
};

/* A term holds when all its expressions hold; node affinity needs one term that holds. */
struct sl_match_term {
    const struct sl_match *match;
    uint16_t n;
};

struct sl_toleration {
    const char *key;   /* NULL: every key */
    const char *value; /* NULL: every value (operator Exists, or one that sliced does not know) */
    uint8_t effect;    /* enum sl_taint_effect; SL_TAINT_ANY: all */
    uint8_t op;        /* SL_MATCH_IN: equal; SL_MATCH_GT, SL_MATCH_LT: the taint's is more, less */
};

/* How much is kept of one pod; a constraint beyond that is left out, and pod->problem says so.
 * Matches and values count over all expressions, text over all keys and values. */
enum {
    SL_CONSTRAINT_TERMS_MAX = 32,
    SL_CONSTRAINT_MATCHES_MAX = 128,
    SL_CONSTRAINT_VALUES_MAX = 512,
    SL_CONSTRAINT_TOLERATIONS_MAX = 64,
    SL_CONSTRAINT_TEXT_MAX = 8192,
    SL_CONSTRAINTS_OF_A_LOOK = 4, /* expressions and values that cost as much as a look at a node */
};

/* The constraints of one pod; immutable, in the pod's own allocation. */
struct sl_constraints {
    const struct sl_match *selector;  /* spec.nodeSelector, all of them */
    const struct sl_match_term *term; /* required node affinity */
    const struct sl_toleration *toleration;
    uint16_t n_selector;
    uint8_t n_terms;
    uint8_t n_tolerations;
    uint16_t weight;   /* expressions, values and tolerations: how much a check may compare */
    bool affinity;     /* required node affinity is there: without a term it admits no node */
    bool by_name;      /* reads what site_digest leaves out, such as the node's name, so that nodes
                          of equal digest may answer differently */
    int64_t cpu_milli; /* requests, counted as Kubernetes counts them; saturated */
    int64_t memory_bytes;
    uint64_t digest; /* of all members above: equal constraints have equal digests */
};

/* Returns what a check of the constraints costs beside the look at the node, in such looks. NULL is
 * allowed. */
static inline uint32_t sl_constraints_looks(const struct sl_constraints *constraints)
{
    return constraints == NULL ? 0 : constraints->weight / SL_CONSTRAINTS_OF_A_LOOK;
}

#endif
