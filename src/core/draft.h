/* A node while it is being judged: fixed room for everything, text borrowed from the facts. The
 * steps, in their order: labels and allocatable (node_read.c), devices that annotations describe
 * (node_devices.c) or that can be inferred (node_infer.c), pools tied to devices (node_tie.c), the
 * memory of a unit (node_memory.c), one allocation (node.c). */
#ifndef SLICED_CORE_DRAFT_H
#define SLICED_CORE_DRAFT_H

#include "core/text.h"
#include "sliced/node.h"

enum {
    SL_DRAFT_INSTANCES_MAX = SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX,
    SL_DRAFT_NO_POOL = UINT8_MAX,
};

struct sl_draft_labels {
    struct sl_str product;     /* without -SHARED and -MIG-<profile> */
    struct sl_str mig_profile; /* of -MIG-<profile>: strategy single, every instance is one */
    int64_t count;             /* nvidia.com/gpu.count; 0: absent */
    int64_t memory_mib;        /* of a full GPU; 0: absent, or an instance's */
    int64_t instance_mib;      /* strategy single: of an instance; 0: absent */
    int64_t replicas;          /* nvidia.com/gpu.replicas; 0: absent */
    bool sharing;              /* some sharing strategy, or replicas above 1 */
    bool mps;                  /* the sharing strategy is mps */
    bool spans;                /* gpushare's plugin gives a pod parts of several GPUs */
    bool one_each;             /* the plugin refuses requests for more than one replica */
    bool single;               /* nvidia.com/mig.strategy=single */
};

struct sl_draft_pool {
    struct sl_pool pool; /* resource points to text of the facts */
    struct sl_str resource;
    struct sl_str profile; /* "1g.6gb.me"; empty when not of instances or not known */
    int64_t label_count;   /* devices or instances, by the labels; 0: absent */
    int64_t label_replicas;
    int64_t label_mib; /* memory of an instance, by the labels; 0: absent */
    bool on_instances; /* its units are (replicas of) MIG instances */
};

struct sl_draft_device {
    struct sl_device device; /* uuid and product not set */
    struct sl_str uuid;
    struct sl_str product; /* empty: the node's */
};

struct sl_draft_instance {
    struct sl_instance instance;
    struct sl_str profile; /* as its source spells it */
};

struct sl_draft {
    const struct sl_node_facts *facts;
    struct sl_draft_labels labels;
    const struct sl_mig_model *model; /* by the node's product label; may be NULL */
    int64_t gpu_count;                /* aliyun.com/gpu-count; 0: absent */
    enum sl_layout layout;
    bool dynamic_mig;
    unsigned n_pools;
    unsigned n_devices;
    unsigned n_instances;
    struct sl_draft_pool pool[SL_NODE_POOLS_MAX];
    struct sl_draft_device device[SL_NODE_DEVICES_MAX];
    struct sl_draft_instance instance[SL_DRAFT_INSTANCES_MAX];
    struct sl_text problem;
    char problem_text[SL_NODE_PROBLEM_MAX];
    unsigned n_labels; /* of the facts', from the first on */
    unsigned n_taints;
    size_t site_text; /* bytes of them that have to be copied */
    struct sl_host host;
};

/* Begins a sentence of the problem, to be completed with sl_text_...(&draft->problem, ...). */
void sl_draft_problem(struct sl_draft *draft, const char *start);
/* "<what>: <have><text>" as a sentence of the problem. */
void sl_draft_problem_count(struct sl_draft *draft, struct sl_str what, int64_t have,
                            const char *text);

/* Labels and pools. -1 with *err set beyond SL_NODE_POOLS_MAX. */
int sl_draft_read(struct sl_draft *draft, struct sl_error *err);

/* Labels, taints and what is allocatable beside GPUs (node_site.c): counts what is kept; and once
 * there is memory of that size behind the node, fills it in. */
void sl_draft_site(struct sl_draft *draft);
size_t sl_draft_site_words(const struct sl_draft *draft);
struct sl_pack;
void sl_draft_site_pack(const struct sl_draft *draft, struct sl_node *node, struct sl_pack *at);

/* Devices from annotations, if there are any. -1 with *err set beyond SL_NODE_DEVICES_MAX. */
int sl_draft_annotated(struct sl_draft *draft, struct sl_error *err);

/* Devices from labels and allocatable, if they leave one possibility. */
void sl_draft_infer(struct sl_draft *draft);

/* Appends a device with what the node's labels say of it; its index is its place. The caller keeps
 * to SL_NODE_DEVICES_MAX. */
struct sl_draft_device *sl_draft_add_device(struct sl_draft *draft, bool mig);

/* Appends an instance to the last device of that index in the draft. False beyond
 * SL_MIG_INSTANCES_MAX on it. Instances are added device by device. */
bool sl_draft_add_instance(struct sl_draft *draft, unsigned device, struct sl_str profile,
                           int start);

/* Finds starts for the instances that have none, device by device, where the model is known. */
void sl_draft_place(struct sl_draft *draft);

/* How many devices or instances the units of the pool are made of, from allocatable and labels; 0
 * when that cannot be told. Says so in the problem where labels contradict. */
int64_t sl_draft_things(struct sl_draft *draft, struct sl_draft_pool *pool);

/* Fills pool.on_devices, pool.replicas, instance.pool and memory_units; drops instances of pools
 * that do not tie. */
void sl_draft_tie(struct sl_draft *draft);

/* What GPU memory a unit of each pool has, and how replicas are given (node_memory.c). */
void sl_draft_memory(struct sl_draft *draft);

/* Ways to put counts[i] instances of profile i of the model on n devices, leaving aside which
 * device is which. */
enum sl_split { SL_SPLIT_NONE, SL_SPLIT_ONE, SL_SPLIT_MANY };

/* MANY also when the search would take too long. On ONE, split[d] is what device d holds. */
enum sl_split sl_split_find(const struct sl_mig_model *model,
                            const int64_t counts[SL_MIG_PROFILES_MAX], unsigned n,
                            uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX]);

#endif
