/* The kinds of units that a resource can have. What the code asks of a kind is a column of its row,
 * so that nobody compares kinds. How units of a kind are placed: src/core/place/kind/kind.h. */
#ifndef SLICED_KIND_H
#define SLICED_KIND_H

#include <stdbool.h>
#include <stdint.h>

/* KIND(enumerator, name in API, metrics and configuration, what its units are, 1 where its asks
 * have weights of their own by default (sliced/score.h) else 0, row) */
#define SL_KINDS(KIND)                                                                             \
    /* a GPU of its own; on a MIG single node nvidia.com/gpu is an instance */                     \
    KIND(WHOLE, whole, "whole GPUs", 1, .rank = 1, .whole = true, .cut = true)                     \
    /* an instance of a profile */                                                                 \
    KIND(MIG, mig, "MIG instances", 0, .rank = 3, .instance = true, .cut = true)                   \
    /* a time-sliced or MPS replica of a GPU or of an instance, or nos' slice of a GPU's memory */ \
    KIND(REPLICA, replica, "replicas (time-slicing, MPS)", 0, .rank = 2, .replica = true,          \
         .shares = true)                                                                           \
    /* a share of one GPU's memory (aliyun.com/gpu-mem) */                                         \
    KIND(MEMORY, memory, "shares of a GPU's memory", 1, .rank = 0, .memory = true, .shares = true)

enum sl_kind {
#define KIND(kind, name, ...) SL_KIND_##kind,
    SL_KINDS(KIND)
#undef KIND
};

/* SL_KIND_COUNT is none, and so no case of a switch. */
enum {
#define KIND(kind, name, ...) SL_KIND_NUMBER_##kind,
    SL_KINDS(KIND)
#undef KIND
        SL_KIND_COUNT,
};

struct sl_kind_row {
    const char *name;
    uint8_t rank;  /* of an ask's items that with the lowest is placed first, and has the weights */
    bool whole;    /* a unit is a GPU of its own */
    bool instance; /* a unit is a MIG instance of its own */
    bool replica;  /* as many units share a device or an instance as the pool says */
    bool memory;   /* a unit is memory; a pod has any number of them on one GPU */
    bool shares;   /* units of several pods are on one GPU or instance */
    bool cut;      /* agents that cut GPUs make such units, so that one in no use may be cut */
};

extern const struct sl_kind_row sl_kinds[SL_KIND_COUNT];

/* whole, mig, replica, "memory". */
const char *sl_kind_name(enum sl_kind kind);

#endif
