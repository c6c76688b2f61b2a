/* Demand: the resources that waiting and recently bound pods ask for. Scores depend on it. */
#ifndef SLICED_DEMAND_H
#define SLICED_DEMAND_H

#include "sliced/pod.h"
#include "util/data/map.h"

enum { SL_DEMAND_MAX = 32, SL_TYPICAL_MAX = 64, SL_DEMAND_RECENT = 1024 };

/* A resource that pods wait for or were recently bound with. */
struct sl_demand_row {
    uint64_t key;
    enum sl_kind kind;
    struct sl_mig_shape shape;
    int32_t weight; /* > 0; waiting pods plus recent binds */
    uint64_t rank;  /* sl_rank_hash of the name */
};

/* A typical ask: one resource and how much of it a pod asks for. */
struct sl_typical {
    uint64_t key;
    int64_t count;     /* units in one pod, > 0 */
    int64_t cpu_milli; /* CPU that the pod requests; 0: none stated */
    int32_t weight;    /* > 0; as in the rows */
    enum sl_kind kind;
    uint64_t rank; /* as in the rows */
};

/* Both lists: the heaviest first, then by rank, count and CPU. Only row has MIG instances, because
 * they leave no gaps on a device. */
struct sl_demand {
    uint8_t n;
    uint8_t n_typical;
    struct sl_demand_row row[SL_DEMAND_MAX];
    struct sl_typical typical[SL_TYPICAL_MAX];
};

/* Returns the weight of all rows that name the profile; 0 without demand. */
int64_t sl_demand_weight(const struct sl_demand *demand, const struct sl_mig_profile *profile);

/* ---- counting it ---- */

/* One counted want: a resource, or a resource together with the size of the ask. */
struct sl_want {
    struct sl_want_key {
        uint64_t resource;
        int64_t count;     /* units in one pod; 0: any size */
        int64_t cpu_milli; /* CPU that the pod requests; 0: any */
    } key;
    uint64_t rank; /* sl_rank_hash of the resource */
    enum sl_kind kind;
    struct sl_mig_shape shape;
    uint32_t at;   /* index in its heap */
    uint32_t pins; /* held by pods, and by binds in the ring of recent ones */
    int32_t weight;
};

/* The heaviest first, so that the top rows are found without visiting all wants. */
struct sl_want_heap {
    struct sl_want **want;
    size_t n;
    size_t cap;
};

enum sl_want_size { SL_WANT_ANY, SL_WANT_SIZED, SL_WANT_SIZES };

/* Zeroed: nothing is wanted. */
struct sl_wants {
    struct sl_map map; /* by key */
    struct sl_want_heap heap[SL_WANT_SIZES];
    uint64_t looks; /* wants visited to build top, so that a test can count work */
    struct {
        uint32_t n;
        struct sl_want *want[2 * SL_ASK_ITEMS_MAX]; /* for each item: any size, sized */
    } recent[SL_DEMAND_RECENT];
    unsigned next; /* slot of the oldest bind, overwritten next */
    bool dirty;    /* top is not up to date */
    struct sl_demand top;
};

void sl_wants_free(struct sl_wants *wants);
/* Makes a row for each want of the pod, so that sl_wants_waiting() and sl_wants_record() cannot
 * fail while the pod is pinned. -1: out of memory, nothing changed. Existing rows need none. */
int sl_wants_pin(struct sl_wants *wants, const struct sl_pod *pod);
void sl_wants_unpin(struct sl_wants *wants, const struct sl_pod *pod);
/* Counts the pinned pod as waiting (by 1) or as waiting no more (by -1). */
void sl_wants_waiting(struct sl_wants *wants, const struct sl_pod *pod, int32_t by);
/* Counts the pinned pod as bound, and drops the oldest of SL_DEMAND_RECENT binds. */
void sl_wants_record(struct sl_wants *wants, const struct sl_pod *pod);
/* The heaviest wants. Valid until the next call. O(log n) for each row. */
const struct sl_demand *sl_wants_top(struct sl_wants *wants);

#endif
