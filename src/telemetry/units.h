/* The GPUs and MIG instances of which something was measured, by node. Not thread safe. */
#ifndef SLICED_TELEMETRY_UNITS_H
#define SLICED_TELEMETRY_UNITS_H

#include "sliced/energy.h"
#include "sliced/spell.h"
#include "sliced/usage.h"
#include "util/data/map.h"

enum {
    SL_UNIT_UUID_MAX = 64,
    SL_UNIT_PROFILE_MAX = 24,
    SL_UNITS_OF_NODE_MAX = 128, /* 16 GPUs in seven instances each, whatever the node is said to
                                   have: who tells of more takes none of the other nodes' places */
};

struct sl_unit_name {
    uint64_t pod;     /* sl_usage_pod_key() */
    int64_t at_us;    /* of the youngest sample that named it */
    int32_t used_mib; /* by it alone ... */
    int64_t used_us;  /* ... at that time; 0: nobody tells */
};

struct sl_unit {
    struct sl_unit *next; /* of the same node */
    char uuid[SL_UNIT_UUID_MAX];
    char profile[SL_UNIT_PROFILE_MAX]; /* of an instance, as the exporter says */
    int16_t gpu;                       /* index on the node */
    int16_t instance;                  /* GPU_I_ID; -1: the GPU itself */
    struct sl_series series;
    struct sl_usage_unit usage;
    struct sl_measured measured; /* as last judged */
    uint64_t taught;             /* the measured.pods that have taught whether they suffer */
    struct sl_spell spell;       /* in which nothing runs */
    struct sl_energy energy;     /* of a GPU */
    int64_t charged_mj;          /* of energy.mj, to those who held it */
    struct sl_unit_name name[SL_USAGE_NAMES_MAX];
    uint8_t n_names;
    int64_t crowded_us; /* of the youngest sample that named one more; 0: none did */
    struct sl_sample sample[];
};

struct sl_unit_node {
    struct sl_unit *first;
    bool given;     /* the store shows what was measured of it */
    uint32_t round; /* in which the cluster had it last */
    char name[];
};

struct sl_units {
    struct sl_map nodes; /* struct sl_unit_node by name */
    size_t n;            /* units */
    uint32_t round;      /* of judgements */
    size_t max;
    uint16_t window; /* samples of each */
    uint64_t over;   /* how often a unit was refused because there are too many */
};

void sl_units_free(struct sl_units *units); /* the units, not the struct */

/* Finds the node, or NULL. */
struct sl_unit_node *sl_units_node(const struct sl_units *units, struct sl_str name);

/* Finds a unit of the node by the GPU's index and the driver's number of the instance, -1: the GPU
 * itself. NULL is allowed for node. */
struct sl_unit *sl_units_find(const struct sl_unit_node *node, int64_t gpu, int64_t instance);

/* A unit of which somebody tells for the first time. */
struct sl_unit_claim {
    const struct sl_node *node;
    int64_t gpu;         /* as in sl_units_find() */
    int64_t instance;    /* likewise */
    const char *uuid;    /* of the GPU; may be empty */
    const char *profile; /* of the instance; may be empty */
    int64_t silent_us;   /* units whose samples are all older may lose their places */
};

/* Adds it: to a node's units no more than the node can have, by what labels and devices say of its
 * GPUs and by their models. A GPU that the node is known to have, or an instance of a profile that
 * it offers, takes the place of one of which that is not so; any takes that of a silent one. NULL:
 * it has no place there, or there are units->max already, the numbers are out of range, or out of
 * memory. */
struct sl_unit *sl_units_add(struct sl_units *units, const struct sl_unit_claim *claim);

/* The unit of a node's GPU: by UUID where both say one, else by index. NULL is allowed for node. */
struct sl_unit *sl_units_of_gpu(const struct sl_unit_node *node, int64_t gpu, const char *uuid);

/* A sample names the pod, 0: nobody. Returns its place; NULL: it has none. A name holds until
 * samples of the unit are younger by more than keep_us: an exporter that names one of several pods
 * names now this one, now that one. */
struct sl_unit_name *sl_unit_name(struct sl_unit *unit, uint64_t pod, int64_t at_us,
                                  int64_t keep_us);
/* A sample tells what the pod alone uses, and does not name it: anybody's process may serve such a
 * series. Of several at one time the highest counts. False: it is told of nobody, out of range, or
 * has no place. */
bool sl_unit_own(struct sl_unit *unit, uint64_t pod, int64_t at_us, int64_t mib, int64_t keep_us);

/* Writes the names that hold. */
void sl_unit_names(const struct sl_unit *unit, int64_t keep_us, struct sl_usage_names *out);

/* Writes the pods that other units of the node name than that one, at most max; returns how many.
 * NULL is allowed for node. */
size_t sl_units_named_beside(const struct sl_unit_node *node, int64_t gpu, int64_t instance,
                             int64_t keep_us, uint64_t *out, size_t max);

/* Writes the rows of the node's units, at most max, in no certain order; returns how many. */
size_t sl_units_rows(const struct sl_unit_node *node, const struct sl_usage_rule *rule,
                     struct sl_usage_row *out, size_t max);

/* The clock was set to now_us: forgets samples that are later than future_us from now, so that they
 * keep no younger ones out, and lets samples show pods, spells and energy anew. */
void sl_units_restart(struct sl_units *units, int64_t now_us, int64_t future_us);

/* Frees units whose last sample is older than that, and nodes that have none then. */
void sl_units_forget(struct sl_units *units, int64_t before_us);

/* Resident bytes of all. */
size_t sl_units_bytes(const struct sl_units *units);

#endif
