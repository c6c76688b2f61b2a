/* A node while it is being judged: fixed room for everything, text borrowed from the facts. The
 * steps, in order: read labels and allocatable (read.c), read who cuts the GPUs (partition.c), read
 * devices from annotations (devices.c) or infer them (infer.c), tie pools to devices (tie.c), find
 * the memory of a unit (memory.c), make one allocation (node.c). */
#ifndef SLICED_CORE_DRAFT_H
#define SLICED_CORE_DRAFT_H

#include "core/request/text.h"
#include "sliced/node.h"

enum {
    SL_DRAFT_SLICES_MAX = 256, /* of one size on one device; MPS serves 48 clients */
    SL_DRAFT_INSTANCES_MAX = SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX,
    SL_DRAFT_NO_POOL = UINT8_MAX,
    SL_DRAFT_KEY_MAX = 128,
    SL_DRAFT_GPUS_MAX = 16,            /* no machine has more */
    SL_DRAFT_MEMORY_MIB_MAX = 1 << 20, /* 1 TiB: more than any GPU has */
};

struct sl_draft_labels {
    struct sl_str product;     /* without -SHARED and -MIG-<profile> */
    struct sl_str mig_profile; /* of -MIG-<profile>: strategy single, all instances have it */
    int64_t count;             /* nvidia.com/gpu.count; 0: absent */
    int64_t memory_mib;        /* of a full GPU; 0: absent, or the label tells an instance's */
    int64_t instance_mib;      /* strategy single: of an instance; 0: absent */
    int64_t replicas;          /* nvidia.com/gpu.replicas; 0: absent */
    bool exact;                /* count is the cloud's: the machine has no more GPUs */
    bool sharing;              /* a sharing strategy is set, or replicas exceed 1 */
    bool mps;                  /* the sharing strategy is mps */
    bool spans;                /* gpushare's plugin can give a pod parts of several GPUs */
    int one_each;              /* the plugin refuses a container more than one replica: 1 it is said
                                  so, -1 it is said that it gives them, 0 nothing is said */
    bool slices;               /* nos shares this node's GPUs by slices of memory */
    bool single;               /* nvidia.com/mig.strategy=single */
    bool present;              /* nvidia.com/gpu.present=true, of node feature discovery */
};

struct sl_draft_partition {
    struct sl_partition known; /* without its texts */
    struct sl_str wanted;
    struct sl_str applied;
    struct sl_str cut;
    struct sl_str cut_text;
};

struct sl_draft_pool {
    struct sl_pool pool; /* resource points to text of the facts */
    struct sl_str resource;
    struct sl_str profile; /* "1g.6gb.me", "10gb"; empty: not of instances, or unknown */
    int64_t label_count;   /* devices or instances, by the labels; 0: absent */
    int64_t label_replicas;
    int64_t label_mib; /* memory of an instance, by the labels; 0: absent */
    bool on_instances; /* its units are MIG instances, replicas of them, or slices */
    bool vague;        /* more units than GPUs: shared or cut, nobody tells how */
};

struct sl_draft_device {
    struct sl_device device; /* uuid and product not set */
    struct sl_str uuid;
    struct sl_str product; /* empty: the node's, unless unnamed */
    bool unnamed;          /* the node's labels tell nothing of it */
};

struct sl_draft_instance {
    struct sl_instance instance;
    struct sl_str profile; /* as the annotation or model spells it */
};

struct sl_draft {
    const struct sl_node_facts *facts;
    struct sl_draft_labels labels;
    struct sl_draft_partition partition;
    const struct sl_mig_model *model; /* of the node's product label; may be NULL */
    int64_t gpu_count;                /* aliyun.com/gpu-count; 0: absent */
    enum sl_layout layout;
    bool dynamic_mig;
    unsigned n_pools;
    unsigned n_devices;
    unsigned n_instances;
    unsigned n_absent;
    struct sl_absent absent[SL_NODE_POOLS_MAX];
    struct sl_draft_pool pool[SL_NODE_POOLS_MAX];
    struct sl_draft_device device[SL_NODE_DEVICES_MAX];
    struct sl_draft_instance instance[SL_DRAFT_INSTANCES_MAX];
    struct sl_text problem;
    char problem_text[SL_NODE_PROBLEM_MAX];
    unsigned n_labels; /* the first n labels of the facts are kept */
    unsigned n_taints;
    struct sl_host host;
};

/* Begins a sentence of the problem; callers complete it by sl_text_...(&draft->problem, ...). */
void sl_draft_problem(struct sl_draft *draft, const char *start);
/* Adds "<what>: <have><text>" to the problem as a sentence. */
void sl_draft_problem_count(struct sl_draft *draft, struct sl_str what, int64_t have,
                            const char *text);

/* Returns the label's number, 0 when it is absent, malformed, below 1 or beyond SL_UNITS_MAX. */
int64_t sl_draft_number(const struct sl_pair *list, struct sl_str key);

/* Returns the units of an extended resource, at most SL_UNITS_MAX; 0, with a problem added, when
 * the text is no whole number. list: "allocatable" or "capacity". */
int64_t sl_draft_units(struct sl_draft *draft, const char *list, const struct sl_pair *pair);

/* Writes "nvidia.com/mig-<profile><end>", cut when longer. Feature discovery's labels have no
 * ".shared" before their end. */
struct sl_str sl_draft_key(char out[SL_DRAFT_KEY_MAX], struct sl_str profile, const char *end);

/* Takes the pool's units for GPUs or instances of their own: nobody shares them. */
void sl_draft_unshare(struct sl_draft_pool *pool);

/* Reads labels and pools. -1 with *err set beyond SL_NODE_POOLS_MAX. */
int sl_draft_read(struct sl_draft *draft, struct sl_error *err);

/* Reads what the cloud's labels tell where feature discovery's do not (cloud.c); these are read. */
void sl_draft_cloud(struct sl_draft *draft);

/* Finds what the node has and does not offer now (absent.c); pools are read. */
void sl_draft_absent(struct sl_draft *draft);

/* Reads who cuts the GPUs, and how far the agent is. */
void sl_draft_partition(struct sl_draft *draft);
/* Notes whether the node is as sliced.dev/cut-devices says. */
void sl_draft_follows(struct sl_draft *draft, bool follows);

/* Labels, taints and allocatable beside GPUs (site.c): counts the parts to keep, and packs them for
 * the node. */
void sl_draft_site(struct sl_draft *draft);
struct sl_pack;
void sl_draft_site_pack(const struct sl_draft *draft, struct sl_node *node, struct sl_pack *at);

/* Reads devices from annotations, if any; rest: as sl_draft_split_rest() found it, NULL: it did
 * not. -1 with *err set beyond SL_NODE_DEVICES_MAX. */
int sl_draft_annotated(struct sl_draft *draft, uint8_t (*rest)[SL_MIG_PROFILES_MAX],
                       struct sl_error *err);

/* Finds what those annotated devices hold of which nobody knows it, in the annotation's order: what
 * is allocatable beside the others. False where that leaves none, or several ways. */
bool sl_draft_split_rest(struct sl_draft *draft,
                         uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX]);

/* Infers devices from labels and allocatable, if these allow only one arrangement. */
void sl_draft_infer(struct sl_draft *draft);

/* Appends a device as the node's labels describe it; its index is its position. The caller keeps
 * the number within SL_NODE_DEVICES_MAX. */
struct sl_draft_device *sl_draft_add_device(struct sl_draft *draft, bool mig);

/* Appends an instance to the device at that index in the draft; a slice joins those of its size.
 * Returns it, NULL beyond SL_MIG_INSTANCES_MAX on the device, or SL_DRAFT_SLICES_MAX of a size.
 * Callers add instances device by device. */
struct sl_instance *sl_draft_add_instance(struct sl_draft *draft, unsigned device,
                                          struct sl_str profile, int start);

/* Appends instances of the node's model, so many of each profile, named as there. */
void sl_draft_add_counts(struct sl_draft *draft, unsigned device,
                         const uint8_t counts[SL_MIG_PROFILES_MAX]);

/* Finds starts for the instances without one, device by device, when the model is known. */
void sl_draft_place(struct sl_draft *draft);

/* Sets pool.on_devices, pool.replicas, instance.pool and memory_units; drops the instances of pools
 * which do not agree with the devices. */
void sl_draft_tie(struct sl_draft *draft);

/* Returns MiB for a number of MiB, or of bytes where it can be nothing else; 0: no GPU has that. */
int64_t sl_draft_mib(int64_t number);

/* Returns the memory in MiB that the label tells; 0: it is absent, or, with a problem added, it
 * tells what no GPU has. */
int64_t sl_draft_memory_label(struct sl_draft *draft, struct sl_str key);

/* Forgets the memory by the label, with a problem added, when the model cannot have it. */
void sl_draft_memory_check(struct sl_draft *draft);

/* Sets the GPU memory of a unit of each pool, and how replicas share it (memory.c). */
void sl_draft_memory(struct sl_draft *draft);

#endif
