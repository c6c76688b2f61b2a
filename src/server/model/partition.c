/* How GPUs are cut, and what is under way. */
#include "server/model/partition.h"
#include "server/model/row.h"

#include <stdio.h>

enum { CUT_TEXT = 256, CELL_TEXT = 512 };

/* ---- a GPU ---- */

struct gpu {
    const struct sl_view *view;
    const struct sl_model_partition *partition; /* NULL: another row tells of the node */
    unsigned device;
    int64_t index; /* -1: the node's GPUs are not known one by one */
    bool mig;
};

/* The instances of one profile on one device, or the slices of one size. */
struct group {
    const struct sl_mig_profile *profile;
    const char *name; /* "7g.80gb", "10gb", "unknown" */
    unsigned n;
    unsigned used;
};

#define GROUP(member) SL_AT(struct group, member)

static const struct sl_field group_fields[] = {
    OPERATORS("profile", TEXT, GROUP(name)),
    OPERATORS("count", NUMBER, GROUP(n)),
    OPERATORS("used", NUMBER, GROUP(used)),
    SL_FIELDS_END,
};

/* Counts the device's instances by profile, in their order; returns how many groups there are. */
static unsigned count_groups(const struct sl_view *view, unsigned device,
                             struct group group[SL_MIG_INSTANCES_MAX])
{
    const struct sl_node *node = view->node;
    unsigned n = 0;
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        const struct sl_mig_profile *profile = instance->profile;
        if (instance->device != device) {
            continue;
        }
        unsigned at = 0;
        if (instance->slices > 0) { /* the size ends the name: "nvidia.com/gpu-10gb" */
            group[n++] =
                (struct group){.name = strrchr(node->pool[instance->pool].resource, '-') + 1,
                               .n = instance->slices,
                               .used = (unsigned)view->instance_used[i]};
            continue;
        }
        while (at < n && group[at].profile != profile) {
            at++;
        }
        if (at == n) {
            group[n++] = (struct group){.profile = profile,
                                        .name = profile == NULL ? "unknown" : profile->name};
        }
        group[at].n++;
        group[at].used += view->instance_used[i] > 0 ? 1 : 0;
    }
    return n;
}

static bool next_group(const void *record, unsigned *at, void *child)
{
    const struct gpu *gpu = record;
    struct group group[SL_MIG_INSTANCES_MAX];
    unsigned n = count_groups(gpu->view, gpu->device, group);
    if (*at >= n) {
        return false;
    }
    *(struct group *)child = group[(*at)++];
    return true;
}

/* "7x 1g.10gb (2 used)", "whole", "no instance" */
static const char *gpu_text(const void *record, char *out)
{
    const struct gpu *gpu = record;
    struct group group[SL_MIG_INSTANCES_MAX];
    size_t len = 0;
    if (gpu->index < 0) {
        return "unknown";
    }
    unsigned n = count_groups(gpu->view, gpu->device, group);
    (void)snprintf(out, CUT_TEXT, "%s", gpu->mig ? "no instance" : "whole");
    for (unsigned i = 0; i < n && len < CUT_TEXT; i++) {
        int wrote = snprintf(out + len, CUT_TEXT - len, "%s%ux %s", i == 0 ? "" : ", ", group[i].n,
                             group[i].name);
        len += wrote > 0 ? (size_t)wrote : 0;
        if (group[i].used > 0 && len < CUT_TEXT) {
            wrote = snprintf(out + len, CUT_TEXT - len, " (%u used)", group[i].used);
            len += wrote > 0 ? (size_t)wrote : 0;
        }
    }
    return out;
}

#define GPU(member)     SL_AT(struct gpu, member)
#define OF_NODE(member) SL_BEHIND(struct gpu, partition, struct sl_model_partition, member)

static const struct sl_field gpu_fields[] = {
    OPERATORS("index", NUMBER, GPU(index)),
    CELL(KNOWN, NULL, GPU(index), COLUMN(3, "GPU")),
    OPERATORS("mig", FLAG, GPU(mig)),
    OPERATORS("instances", LIST, LIST_OF(group_fields, next_group)),
    CELL(TEXT, NULL, TEXT_BY(gpu_text), COLUMN(4, "INSTANCES")),
    CELL(TEXT, NULL, OF_NODE(status.cut), COLUMN(6, "CUT")),
    CELL(TEXT, NULL, OF_NODE(status.pods), COLUMN(7, "PODS")),
    CELL(TEXT, NULL, OF_NODE(why), COLUMN(8, "WHY")),
    CELL(TEXT, NULL, OF_NODE(status.text), COLUMN(9, "TEXT")),
    SL_FIELDS_END,
};

/* One that is not known where the node has none. */
static bool next_row(const void *record, unsigned *at, void *child)
{
    const struct sl_model_partition *partition = record;
    const struct sl_view *view = partition->view;
    unsigned d = (*at)++;
    bool known = d < view->node->n_devices;
    *(struct gpu *)child = (struct gpu){
        .view = view,
        .partition = d == 0 ? partition : NULL,
        .device = d,
        .index = known ? view->node->device[d].index : -1,
        .mig = known && view->node->device[d].mig,
    };
    return known || d == 0;
}

static bool next_gpu(const void *record, unsigned *at, void *child)
{
    const struct sl_view *view = ((const struct sl_model_partition *)record)->view;
    return *at < view->node->n_devices && next_row(record, at, child);
}

const struct sl_field sl_model_cut_gpus = OPERATORS("devices", LIST, LIST_OF(gpu_fields, next_row));

/* ---- the node ---- */

#define PARTITION(member) SL_AT(struct sl_model_partition, member)

/* Instances of a profile over all GPUs of the node: "4x 1g.6gb, 2x 2g.12gb". */
static const char *profiles_text(const void *record, char *out)
{
    const struct sl_node *node = ((const struct sl_model_partition *)record)->view->node;
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < node->n_instances && len < CELL_TEXT; i++) {
        const struct sl_mig_profile *profile = node->instance[i].profile;
        unsigned n = 0;
        bool first = profile != NULL;
        for (unsigned j = 0; j < node->n_instances; j++) {
            bool same = node->instance[j].profile == profile;
            first = first && !(same && j < i);
            n += same ? 1 : 0;
        }
        if (first) {
            int wrote = snprintf(out + len, CELL_TEXT - len, "%s%ux %s", len > 0 ? ", " : "", n,
                                 profile->name);
            len += wrote > 0 ? (size_t)wrote : 0;
        }
    }
    return out;
}

const struct sl_field sl_model_partition[] = {
    OPERATORS("node", TEXT, PARTITION(node), COLUMN(1, "NODE")),
    ALL("actuator", TEXT, "Which agent cuts them.", PARTITION(actuator), COLUMN(2, "ACTUATOR"),
        SHOWN(1, "Actuator")),
    ALL("state", TEXT, "Idle, Draining, Cutting or LeftOut.", PARTITION(state), COLUMN(5, "STATE"),
        SHOWN(2, "State")),
    USERS("instances", TEXT, "MIG instances by profile, over all its GPUs.", TEXT_BY(profiles_text),
          SHOWN(3, "Instances")),
    ALL("since", TIME, "Since when it has been in that state.", PARTITION(status.since_us)),
    OPERATORS("until", TIME, PARTITION(status.until_us)),
    USERS("until", SECOND,
          "When the cut or the drain is expected to end, or the node may be cut again; null: not "
          "known, as of a cut that takes longer than expected.",
          PARTITION(status.until_us)),
    OPERATORS("cutSeconds", SECONDS, PARTITION(status.seconds_us)),
    ALL("failures", NUMBER, "Cuts of it that failed in a row.", PARTITION(status.failures)),
    ALL("cut", TEXT, "What is being cut, or is planned, or what failed.", PARTITION(status.cut),
        SHOWN(4, "Cut")),
    OPERATORS("pods", TEXT, PARTITION(status.pods)),
    OPERATORS("why", TEXT, PARTITION(why)),
    USERS("why", TEXT,
          "The step that it has reached, Planned, what failed, or what keeps its GPUs from being "
          "cut now, in one word.",
          PARTITION(status.why), SHOWN(5, "Why")),
    ALL("text", TEXT, "The same in a sentence.", PARTITION(status.text), WIDE(6, "Text")),
    OPERATORS("devices", LIST, LIST_OF(gpu_fields, next_gpu)),
    SL_FIELDS_END,
};

void sl_model_partition_of(const struct sl_partition_reader *reader, const struct sl_view *view,
                           int64_t now_us, struct sl_model_partition *out)
{
    out->view = view;
    out->node = view->node->name;
    out->status = (struct sl_partition_status){.phase = SL_PHASE_IDLE};
    if (reader->status != NULL) {
        reader->status(reader->context, view, now_us, &out->status);
    }
    const char *why = out->status.why;
    out->actuator = sl_actuator_name(view->node->partition.actuator);
    out->state = sl_partition_phase_name(out->status.phase);
    out->why = why == NULL || why[0] == '\0' ? NULL : why;
}
