/* A node as the planner of cuts sees it: what must stay on each device, what may go, and what pods
 * of the plan need there. The placements are decided last (finish.c): until then only the multiset
 * of instances that a device must have is kept, and that it fits. */
#ifndef SLICED_CORE_CUT_NODE_H
#define SLICED_CORE_CUT_NODE_H

#include "sliced/cut.h"

/* Names of our cuts begin with it. */
#define SL_CUT_PREFIX "sliced-"

enum {
    SL_CUT_WHOLE = SL_MIG_PROFILES_MAX, /* a unit beside the profiles: the device, given whole */
    SL_CUT_UNITS,
    SL_CUT_SPOTS_MAX = 70,   /* ways to lie on 8 memory slices: 4 of 8 */
    SL_CUT_TABLE_MAX = 64,   /* kinds of devices with instances of unknown start */
    SL_CUT_CLIENTS_MAX = 48, /* that MPS serves on a GPU */
    SL_CUT_SLICES_MAX = 64,  /* slices of one size on a device; more are nobody's */
};

/* The sizes of slices on a node: its units, as profiles are a model's. */
struct sl_cut_sizes {
    uint8_t n;
    uint8_t n_own; /* the first ones are there already; pods of the plan need the others */
    uint16_t gb[SL_MIG_PROFILES_MAX];
};

/* The memory slices that the instances which stay may take, where nobody tells their starts. */
struct sl_cut_spots {
    const struct sl_mig_model *model;
    uint8_t stay[SL_MIG_PROFILES_MAX];
    uint8_t all[SL_MIG_PROFILES_MAX]; /* with those that may go */
    uint8_t n;                        /* 0: too many ways */
    uint16_t taken[SL_CUT_SPOTS_MAX];
};

struct sl_cut_table {
    struct sl_cut_spots spots[SL_CUT_TABLE_MAX];
    unsigned n;
    int64_t packed; /* calls of sl_mig_pack so far: a measure of work */
};

struct sl_cut_device {
    const struct sl_mig_model *model;
    int64_t *packed;                  /* of the table */
    const int64_t *weight;            /* demand for each profile; NULL: none */
    const int64_t *supply;            /* free instances of each, on all nodes; NULL: none */
    const struct sl_cut_spots *spots; /* NULL: the instances that stay are where layout says */
    struct sl_mig_layout layout;      /* of the instances that stay */
    struct sl_mig_placement stay[SL_MIG_INSTANCES_MAX];
    uint8_t n_stay;
    const struct sl_cut_sizes *sizes;  /* NULL: it is cut into instances, else into slices */
    uint16_t gb;                       /* with sizes: its memory, */
    uint8_t kept[SL_MIG_PROFILES_MAX]; /* and the slices that stay */
    uint8_t free[SL_MIG_PROFILES_MAX]; /* instances it has now that may go */
    uint8_t need[SL_MIG_PROFILES_MAX]; /* instances that pods of the plan need */
    uint16_t index;                    /* as nvidia-smi counts */
    bool may_change;
    bool is_whole;     /* MIG mode is off now */
    bool may_be_whole; /* it is, or MIG mode may be switched off */
    bool need_whole;   /* a pod of the plan needs it whole */
    bool made;         /* its cut is under way: it gives what is free, and nothing else */
};

struct sl_cut_node {
    const struct sl_view *view;
    struct sl_cut_device *device;
    uint16_t n;
    bool single;   /* strategy single: all devices are cut alike */
    bool all;      /* which index is which device is unknown: a cut names all of them */
    bool mig_mode; /* MIG mode may be switched */
    bool plain;    /* profiles with attributes cannot be ordered there */
    struct sl_cut_limits limits;
    bool shares; /* its GPUs are cut into slices of memory */
    struct sl_cut_sizes sizes;
    int32_t spare[SL_NODE_POOLS_MAX]; /* free units of what may not change */
    uint16_t room[SL_CUT_UNITS];      /* units of one kind at most, where all devices are alike */
    bool has_room;                    /* room is known */
    int32_t slices;                   /* memory slices of devices that may change (GB where it
                                         shares them), less those that stay */
    uint64_t alike;                   /* nodes of equal devices have equal ones, not 0 */
    /* strategy single: what pods of the plan need of the node */
    int64_t units;
    int64_t mib;
    bool board; /* one of them needs whole boards */
};

/* Reads a view. device has room for SL_NODE_DEVICES_MAX. Returns what keeps all
 * of the node's devices from being cut now, else SL_CUT_BAR_NONE. table keeps spots, and must
 * outlive the node. */
enum sl_cut_bar sl_cut_node_read(struct sl_cut_node *node, struct sl_cut_device *device,
                                 struct sl_cut_table *table, const struct sl_view *view,
                                 struct sl_cut_limits limits);

/* Reads a view as if the pods that end by until_us had ended, to find out whether a drain would
 * help; an estimate, for nobody tells which instance a pod holds. False: the node is not for that.
 */
bool sl_cut_node_read_later(struct sl_cut_node *node, struct sl_cut_device *device,
                            struct sl_cut_table *table, const struct sl_view *view, bool mig_mode,
                            int64_t until_us, int64_t now_us);

/* Reads a node whose cut is under way, which n > 0 cuts[] say: what it makes that no pod has.
 * device has room for n. False: the node is not for that. */
bool sl_cut_node_read_made(struct sl_cut_node *node, struct sl_cut_device *device,
                           const struct sl_view *view, const struct sl_cut *cut, size_t n);

/* Returns when the resident has ended, by an enforced timeout; INT64_MAX: nobody knows. */
int64_t sl_cut_end_of(const struct sl_pod *pod, int64_t now_us);

/* Is the agent at work for somebody else than sliced? A cut of ours that was given up may have left
 * it at work for ever; the next one wakes it. */
bool sl_cut_agent_is_busy(const struct sl_partition *partition);

/* Returns the number of units beside SL_CUT_WHOLE into which the device can be cut, and the memory
 * of one: in memory slices, or in GB where it is shared. */
static inline unsigned sl_cut_units(const struct sl_cut_device *device)
{
    return device->sizes != NULL ? device->sizes->n : device->model->n_profiles;
}
static inline int32_t sl_cut_unit_size(const struct sl_cut_device *device, unsigned unit)
{
    return device->sizes != NULL ? device->sizes->gb[unit] : device->model->profiles[unit].memory;
}

/* Does the node's layout account for all that is allocatable? */
bool sl_cut_devices_are_known(const struct sl_node *node);
/* Does the agent report fewer instances or slices of the pool in use than pods hold, or may a pod
 * that holds one have started since? Then some that it calls free are not, or will not be soon: as
 * one pod ends and another starts, the sum agrees with an old report that calls the wrong one free.
 */
bool sl_cut_report_lags(const struct sl_cut_node *node, unsigned pool);

/* Does a pod hold units of a resource that the node does not have now, as while its device plugin
 * is away? Then nobody can tell what is in use. */
bool sl_cut_use_is_hidden(const struct sl_view *view);

/* Returns the device's unit that the pool's are, -1: none. */
int sl_cut_unit_of_pool(const struct sl_cut_device *device, const struct sl_pool *pool);

/* Sets node->room, has_room and slices by the devices. */
void sl_cut_node_sum(struct sl_cut_node *node);

/* Forgets what pods of the plan need of the node. */
void sl_cut_node_reset(struct sl_cut_node *node);

/* Do counts more instances fit on the device beside those that stay, wherever these are? */
bool sl_cut_device_fits(const struct sl_cut_device *device,
                        const uint8_t counts[SL_MIG_PROFILES_MAX]);

/* Finds the spots of a device, in the table or anew; NULL: there are too many. */
const struct sl_cut_spots *sl_cut_spots_find(struct sl_cut_table *table,
                                             const struct sl_cut_spots *wanted);

/* Returns the GPU memory of an instance, in MiB, as a pod may count on it: as the node's labels
 * tell, else by the profile. */
int64_t sl_cut_memory_of(const struct sl_node *node, const struct sl_mig_profile *profile);

#endif
