/* Reason codes: why a pod may not go to a node. A decision is data, not an error. The table in
 * src/core/reason.c holds names, kinds and texts, and makes docs/reasons.md. */
#ifndef SLICED_REASON_H
#define SLICED_REASON_H

#include "sliced/ask.h"

enum sl_reason {
    SL_REASON_FITS,
    SL_REASON_NO_ASK,          /* asks for nothing of ours: fits everywhere */
    SL_REASON_INSUFFICIENT,    /* not now: fewer free than asked */
    SL_REASON_FRAGMENTED,      /* not now: enough in sum, but on no single device */
    SL_REASON_DEVICES_SHARED,  /* not now: whole GPUs asked, pieces of them are in use */
    SL_REASON_UNHEALTHY,       /* not now: what is left is on devices marked unhealthy */
    SL_REASON_NOT_PARTITIONED, /* not now: the node is repartitioned by demand and could offer it */
    SL_REASON_MEMORY_TAKEN,    /* not now: units are free, with the GPU memory needed too few */
    SL_REASON_NOT_OFFERED,     /* never: the node has no such resource */
    SL_REASON_EXCEEDS_NODE,    /* never: more asked than the node has in all */
    SL_REASON_EXCEEDS_DEVICE,  /* never: more asked than any one device has */
    SL_REASON_LITTLE_MEMORY,   /* never: too few of its units have the GPU memory needed */
    SL_REASON_ONE_EACH,        /* never: several replicas, where a request may be for one */
    SL_REASON_EXCEEDS_TOGETHER, /* never: each item could be had alone, but not all at once */
    SL_REASON_MALFORMED_ASK,    /* never: the pod's own request is wrong, text in the pod */
    SL_REASON_UNKNOWN_NODE,     /* not now: the node is not in the snapshot (yet) */
    SL_REASON_COUNT,
};

/* The outcome for one node. Numbers are units of the item's resource; 0 where they say nothing. */
struct sl_verdict {
    enum sl_reason reason;
    uint8_t item; /* index in the ask of the item that does not fit */
    int64_t asked;
    int64_t free;     /* on the node now */
    int64_t capacity; /* of the node */
    int64_t largest;  /* free on the one device that has most (FRAGMENTED, EXCEEDS_DEVICE); MiB
                         of the largest unit (LITTLE_MEMORY) */
    /* NOT_PARTITIONED: the profile as the node would offer it, where the ask spells it otherwise
     * ("3g.39gb" for 3g.40gb) and so would never be given it; else NULL. In the table. */
    const struct sl_mig_profile *alias;
};

/* "Insufficient", "Fragmented", ... as in JSON and metric labels. */
const char *sl_reason_name(enum sl_reason reason);

/* True when nothing that ends on the node would help: the scheduler is told
 * FailedAndUnresolvable, the user "never on this node". */
bool sl_reason_is_never(enum sl_reason reason);

/* One line for documentation of the code. */
const char *sl_reason_help(enum sl_reason reason);

/* Writes a sentence with the numbers, such as
 * "nvidia.com/mig-1g.6gb: 2 asked, 1 free of 8", into out[0..size), cut between characters
 * when longer and NUL-terminated unless size is 0. malformed is the pod's own text
 * (SL_REASON_MALFORMED_ASK), may be NULL; so may ask. Returns the length written. */
size_t sl_verdict_text(const struct sl_verdict *verdict, const struct sl_ask *ask,
                       const char *malformed, char *out, size_t size);

#endif
