/* Reason codes: why a pod may not go to a node. A decision is data, not an error. The table in
 * src/core/place/reason.c holds names, kinds and texts, and makes docs/reasons.md. */
#ifndef SLICED_REASON_H
#define SLICED_REASON_H

#include "sliced/ask.h"
#include "sliced/dra.h"

enum sl_reason {
    SL_REASON_FITS,
    SL_REASON_NO_ASK,          /* asks for no resource that sliced schedules: fits everywhere */
    SL_REASON_INSUFFICIENT,    /* not now: fewer free than asked */
    SL_REASON_FRAGMENTED,      /* not now: enough in sum, but on no single device */
    SL_REASON_DEVICES_SHARED,  /* not now: asks for whole GPUs, of which pieces are in use */
    SL_REASON_UNHEALTHY,       /* not now: the free units are on devices marked unhealthy */
    SL_REASON_NOT_PARTITIONED, /* not now: the node, repartitioned on demand, could offer it */
    SL_REASON_MEMORY_TAKEN,    /* not now: too few free units have the GPU memory needed */
    SL_REASON_MEMORY_IN_USE,   /* not now: its pods use the GPU memory needed, beyond their asks */
    SL_REASON_CUTTING,         /* not now: the node's GPUs are being cut, sl_view.withheld */
    SL_REASON_OUT_OF_SERVICE,  /* not now: the node has the units, but does not offer them */
    SL_REASON_DEVICE_CLASS,    /* not now: no plugin of the node offers it, a DeviceClass does */
    SL_REASON_NOMINATED, /* not now: the room is kept for pods that kube-scheduler has nominated */
    SL_REASON_HOST_FULL, /* not now: the GPUs are free; CPU, memory or places for pods are not. In
                            explain alone: kube-scheduler judges it itself */
    SL_REASON_EXCLUDED,  /* never: the pod's constraints exclude the node. In explain alone */
    SL_REASON_NOT_OFFERED,    /* never: the node has no such resource */
    SL_REASON_EXCEEDS_NODE,   /* never: asks for more than the whole node has */
    SL_REASON_EXCEEDS_DEVICE, /* never: asks for more than any one device has */
    SL_REASON_LITTLE_MEMORY,  /* never: too few units of the node have the GPU memory needed */
    SL_REASON_ONE_EACH,       /* never: asks for several replicas where a request may be for one */
    SL_REASON_EXCEEDS_TOGETHER,   /* never: each item would fit alone, but not all together */
    SL_REASON_MALFORMED_ASK,      /* never: the pod's request is wrong, pod->malformed says how */
    SL_REASON_UNKNOWN_NODE,       /* not now: the node is not in the snapshot (yet) */
    SL_REASON_RESERVED_ELSEWHERE, /* not now: the pod is being bound to another node. In filter
                                     alone */
    SL_REASON_COUNT,
};

/* The outcome for one node. Numbers are units of the item's resource; 0 where they do not apply. Of
 * MEMORY_IN_USE free and capacity are MiB of the GPU with most left of those whose pods use more
 * than they ask for, and largest what they ask for. */
struct sl_verdict {
    enum sl_reason reason;
    uint8_t item; /* index in the ask of the item that does not fit */
    int64_t asked;
    int64_t free;     /* on the node now */
    int64_t capacity; /* of the node */
    int64_t largest;  /* free on the device with most (FRAGMENTED, EXCEEDS_DEVICE); MiB of the
                         largest unit (LITTLE_MEMORY) */
    /* NOT_PARTITIONED: the profile as the node would offer it, when the ask spells it differently
     * ("3g.39gb" for 3g.40gb) and so could never get it; else NULL. Points into the table of
     * profiles. */
    const struct sl_mig_profile *alias;
};

/* Makes DEVICE_CLASS of a verdict that the node does not offer a resource which dra offers. */
void sl_verdict_by_dra(struct sl_verdict *verdict, const struct sl_ask *ask,
                       const struct sl_dra *dra);

/* "Insufficient", "Fragmented", ... as in JSON and metric labels. */
const char *sl_reason_name(enum sl_reason reason);

/* True when no end of a pod on the node would help: kube-scheduler is told FailedAndUnresolvable,
 * the user "never on this node". */
bool sl_reason_is_never(enum sl_reason reason);

/* One line about the reason, for docs/reasons.md. */
const char *sl_reason_help(enum sl_reason reason);

/* Returns the remedy that the pod's owner has, as half a sentence; NULL: none. */
const char *sl_reason_remedy(enum sl_reason reason);

/* Writes a sentence with the numbers, such as "nvidia.com/mig-1g.6gb: 2 asked, 1 free of 8", into
 * out[0..size), cut between characters when longer and NUL-terminated unless size is 0. malformed
 * is pod->malformed (SL_REASON_MALFORMED_ASK); it and ask may be NULL. Returns the length. */
size_t sl_verdict_text(const struct sl_verdict *verdict, const struct sl_ask *ask,
                       const char *malformed, char *out, size_t size);

/* The same of all nodes of a cluster that have the reason, in one sentence for the pod's owner:
 * sum has what was asked, what is free and what there is on all of them (of EXCEEDS_NODE on the one
 * that has most), and the largest of any. */
size_t sl_verdicts_text(const struct sl_verdict *sum, size_t nodes, const struct sl_ask *ask,
                        const char *malformed, char *out, size_t size);

#endif
