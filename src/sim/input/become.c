/* Makes the facts of a node anew from the node, with other instances. */
#include "sim/input/become.h"

#include <stdio.h>
#include <stdlib.h>

#include "sliced/constraint.h"

enum {
    NUMBER_TEXT = 24,
    HOST_ROWS = 3, /* first in the offers */
    OFFERS_MAX = HOST_ROWS + SL_NODE_POOLS_MAX,
    ORDER_LABELS = 2,
    ANNOTATIONS = 3,
};

static const char *const config_label = "nvidia.com/mig.config";
static const char *const state_label = "nvidia.com/mig.config.state";

/* The lists of a node's facts. */
struct facts {
    struct sl_pair label[SL_NODE_LABELS_MAX + ORDER_LABELS];
    struct sl_taint_facts taint[SL_NODE_TAINTS_MAX];
    struct offer {
        const char *resource;
        int64_t units;
        char number[NUMBER_TEXT];
        struct sl_pair pair;
    } offer[OFFERS_MAX];
    unsigned n_offers;
    struct sl_pair annotation[ANNOTATIONS];
    struct sl_device_facts device[SL_NODE_DEVICES_MAX];
    struct sl_instance_facts instance[SL_NODE_DEVICES_MAX][SL_MIG_INSTANCES_MAX];
};

/* ---- what can be cut ---- */

static bool has_label(const struct sl_node *node, const char *key, const char *value)
{
    for (unsigned i = 0; i < node->n_labels; i++) {
        if (strcmp(node->label[i].key, key) == 0) {
            return strcmp(node->label[i].value, value) == 0;
        }
    }
    return false;
}

bool sl_node_can_be_cut(const struct sl_node *node)
{
    bool can = node->n_devices > 0 && !has_label(node, "nvidia.com/mig.strategy", "single");
    for (unsigned d = 0; can && d < node->n_devices; d++) {
        can = node->device[d].model != NULL;
    }
    for (unsigned i = 0; can && i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        can = pool->on_devices && sl_kinds[pool->kind].cut;
    }
    return can;
}

/* ---- devices ---- */

static const struct sl_cut *cut_of(const struct sl_cut *cut, size_t n, int index)
{
    for (size_t i = 0; i < n; i++) {
        if (cut[i].device == index) {
            return &cut[i];
        }
    }
    return NULL;
}

static void instance_add(struct facts *facts, unsigned d, const struct sl_mig_profile *profile,
                         int start)
{
    struct sl_instance_facts *last = facts->device[d].instances;
    unsigned at = last == NULL ? 0 : (unsigned)(last - facts->instance[d]) + 1;
    if (at == SL_MIG_INSTANCES_MAX || profile == NULL) {
        return;
    }
    facts->instance[d][at] = (struct sl_instance_facts){
        .profile = sl_str_of(profile->name), .start = start, .next = last};
    facts->device[d].instances = &facts->instance[d][at];
}

static void put_devices(struct facts *facts, const struct sl_node *node, const struct sl_cut *cut,
                        size_t n)
{
    for (unsigned d = 0; d < node->n_devices; d++) {
        const struct sl_device *device = &node->device[d];
        const struct sl_cut *fresh = cut_of(cut, n, device->index);
        facts->device[d] = (struct sl_device_facts){
            .index = device->index,
            .uuid = sl_str_of(device->uuid),
            .product = sl_str_of(device->product),
            .memory_mib = device->memory_mib,
            .unhealthy = !device->healthy,
            .mig = fresh == NULL ? device->mig : !fresh->whole,
            .next = d + 1 < node->n_devices ? &facts->device[d + 1] : NULL,
        };
        for (unsigned i = 0; fresh != NULL && i < fresh->n; i++) {
            instance_add(facts, d, &device->model->profiles[fresh->instance[i].profile],
                         fresh->instance[i].start);
        }
        for (unsigned i = 0; fresh == NULL && i < node->n_instances; i++) {
            if (node->instance[i].device == d) {
                instance_add(facts, d, node->instance[i].profile, node->instance[i].start);
            }
        }
    }
}

/* ---- allocatable ---- */

static void offer_add(struct facts *facts, const char *resource, int64_t units)
{
    unsigned i = 0;
    while (i < facts->n_offers && strcmp(facts->offer[i].resource, resource) != 0) {
        i++;
    }
    if (i < OFFERS_MAX) {
        facts->n_offers = i < facts->n_offers ? facts->n_offers : i + 1;
        facts->offer[i].resource = resource;
        facts->offer[i].units += units;
    }
}

static struct sl_pair *put_allocatable(struct facts *facts, const struct sl_node *node)
{
    static const char *const host[HOST_ROWS][2] = {{"cpu", "m"}, {"memory", ""}, {"pods", ""}};
    const int64_t amount[HOST_ROWS] = {node->host.cpu_milli, node->host.memory_bytes,
                                       node->host.pods};
    struct sl_pair *last = NULL;
    for (unsigned i = 0; i < HOST_ROWS; i++) {
        offer_add(facts, host[i][0], amount[i]);
    }
    for (unsigned d = 0; d < node->n_devices; d++) {
        if (!facts->device[d].mig) {
            offer_add(facts, "nvidia.com/gpu", 1);
        }
        for (const struct sl_instance_facts *i = facts->device[d].instances; i != NULL;
             i = i->next) {
            offer_add(facts, sl_mig_profile_find(node->device[d].model, i->profile)->resource, 1);
        }
    }
    for (unsigned i = 0; i < facts->n_offers; i++) {
        struct offer *offer = &facts->offer[i];
        if (offer->units >= 0) { /* -1: the node does not say */
            (void)snprintf(offer->number, sizeof(offer->number), "%lld%s", (long long)offer->units,
                           i < HOST_ROWS ? host[i][1] : "");
            offer->pair =
                (struct sl_pair){sl_str_of(offer->resource), sl_str_of(offer->number), last};
            last = &offer->pair;
        }
    }
    return last;
}

/* ---- the rest ---- */

static struct sl_pair *pair_add(struct sl_pair *list, struct sl_pair *pair, const char *key,
                                const char *value)
{
    *pair = (struct sl_pair){sl_str_of(key), sl_str_of(value), list};
    return pair;
}

static bool is_order(const char *key)
{
    return strcmp(key, config_label) == 0 || strcmp(key, state_label) == 0;
}

/* The mig-manager reads its order from a label, and says in another how far it is. */
static struct sl_pair *put_labels(struct facts *facts, const struct sl_node *node,
                                  const struct sl_become *become)
{
    bool ordered = become->order != NULL && node->partition.actuator == SL_ACTUATOR_MIG_MANAGER;
    struct sl_pair *last = NULL;
    unsigned n = 0;
    for (unsigned i = 0; i < node->n_labels; i++) {
        const struct sl_label *label = &node->label[i];
        if (!ordered || !is_order(label->key)) {
            last = pair_add(last, &facts->label[n++], label->key, label->value);
        }
    }
    if (ordered) {
        last = pair_add(last, &facts->label[n++], config_label, become->order);
        last = pair_add(last, &facts->label[n], state_label, become->done ? "success" : "pending");
    }
    return last;
}

/* nos' agent reads its order from an annotation, and repeats its name at the end. */
static struct sl_pair *put_annotations(struct facts *facts, const struct sl_node *node,
                                       const struct sl_become *become)
{
    const struct sl_partition *partition = &node->partition;
    const char *wanted = become->order == NULL ? partition->wanted : become->order;
    const char *applied =
        become->order != NULL && become->done ? become->order : partition->applied;
    struct sl_pair *last = NULL;
    if (become->under_way != NULL) {
        last = pair_add(last, &facts->annotation[0], "sliced.dev/cut", become->under_way);
    }
    if (partition->actuator == SL_ACTUATOR_NOS_MIG && wanted != NULL) {
        last =
            pair_add(last, &facts->annotation[1], "nos.nebuly.com/spec-partitioning-plan", wanted);
    }
    if (partition->actuator == SL_ACTUATOR_NOS_MIG && applied != NULL) {
        last = pair_add(last, &facts->annotation[2], "nos.nebuly.com/status-partitioning-plan",
                        applied);
    }
    return last;
}

static struct sl_taint_facts *put_taints(struct facts *facts, const struct sl_node *node)
{
    static const char *const effects[] = {
        [SL_TAINT_NO_SCHEDULE] = "NoSchedule",
        [SL_TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
        [SL_TAINT_NO_EXECUTE] = "NoExecute",
    };
    for (unsigned i = 0; i < node->n_taints; i++) {
        const struct sl_taint *taint = &node->taint[i];
        facts->taint[i] = (struct sl_taint_facts){sl_str_of(taint->key), sl_str_of(taint->value),
                                                  sl_str_of(effects[taint->effect]),
                                                  i > 0 ? &facts->taint[i - 1] : NULL};
    }
    return node->n_taints > 0 ? &facts->taint[node->n_taints - 1] : NULL;
}

struct sl_node *sl_node_become(const struct sl_node *node, const struct sl_become *become,
                               struct sl_error *err)
{
    struct facts *facts = calloc(1, sizeof(*facts));
    if (facts == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    put_devices(facts, node, become->cut, become->n);
    struct sl_pair *allocatable = put_allocatable(facts, node);
    const struct sl_node_facts made = {
        .name = sl_str_of(node->name),
        .uid = sl_str_of(node->name),
        .labels = put_labels(facts, node, become),
        .annotations = put_annotations(facts, node, become),
        .allocatable = allocatable,
        .capacity = allocatable,
        .taints = put_taints(facts, node),
        .devices = &facts->device[0],
        .actuator = node->partition.actuator,
        .unschedulable = node->unschedulable,
    };
    struct sl_node *fresh = sl_node_new(&made, err);
    free(facts);
    return fresh;
}

/* ---- fleets ---- */

bool sl_cut_of_counts(const struct sl_node *node, unsigned d, const struct sl_counts *counts,
                      struct sl_cut *out)
{
    const struct sl_mig_layout empty = {0};
    struct sl_mig_placement placed[SL_MIG_SLICES_MAX];
    unsigned n = sl_counts_instances(counts);
    *out = (struct sl_cut){.device = (uint16_t)node->device[d].index, .whole = n == 0};
    if (n > SL_MIG_INSTANCES_MAX ||
        !sl_mig_pack(node->device[d].model, &empty, counts->of, placed)) {
        return false;
    }
    out->n = (uint8_t)n;
    memcpy(out->instance, placed, n * sizeof(placed[0]));
    return true;
}

size_t sl_fleet_cuttable(const struct sl_fleet *fleet, const struct sl_mig_model **model)
{
    size_t n = 0;
    bool alike = true;
    *model = NULL;
    for (size_t i = 0; i < fleet->n; i++) {
        const struct sl_node *node = fleet->node[i];
        for (unsigned d = 0; sl_node_can_be_cut(node) && d < node->n_devices; d++, n++) {
            alike = alike && (*model == NULL || *model == node->device[d].model);
            *model = node->device[d].model;
        }
    }
    *model = alike ? *model : NULL;
    return n;
}

/* The node with the cuts of its GPUs, of which the first is the at-th of the fleet. */
static struct sl_node *node_statically(const struct sl_node *node, const struct sl_counts *counts,
                                       const uint16_t *of, size_t at, struct sl_error *err)
{
    struct sl_cut cut[SL_NODE_DEVICES_MAX];
    for (unsigned d = 0; d < node->n_devices; d++) {
        if (!sl_cut_of_counts(node, d, &counts[of == NULL ? 0 : of[at + d]], &cut[d])) {
            (void)sl_error_set(err, SL_ERR_FIELD, "%s cannot be cut so: node %s",
                               node->device[d].model->name, node->name);
            return NULL;
        }
    }
    const struct sl_become become = {.cut = cut, .n = node->n_devices};
    return sl_node_become(node, &become, err);
}

int sl_fleet_cut(struct sl_fleet *fleet, const struct sl_counts *counts, const uint16_t *of,
                 struct sl_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < fleet->n; i++) {
        struct sl_node *node = fleet->node[i];
        if (!sl_node_can_be_cut(node)) {
            continue;
        }
        struct sl_node *fresh = node_statically(node, counts, of, at, err);
        if (fresh == NULL) {
            return -1;
        }
        at += node->n_devices;
        sl_node_unref(node);
        fleet->node[i] = fresh;
    }
    return 0;
}
