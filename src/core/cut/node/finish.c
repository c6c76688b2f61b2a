/* From counts to placements. */
#include "core/cut/node/finish.h"

#include "core/cut/node/place.h"
#include "core/cut/node/shape.h"
#include "core/cut/node/slices.h"

static void device_counts(const struct sl_cut_node *node, const struct sl_cut_device *device,
                          unsigned variant, uint8_t counts[SL_MIG_PROFILES_MAX])
{
    /* Where nobody tells which GPU a pod is on, one pod holds all GPUs with its profile: these are
     * kept apart, so that they fall empty one kind at a time. */
    bool apart = !node->plain && !node->shares;
    bool keep = variant < 2;
    bool fill = variant % 2 == 0;
    (void)sl_cut_device_keep(device, counts);
    if (!keep) {
        memcpy(counts, device->need, sizeof(device->need));
    }
    if (fill && !device->need_whole) {
        sl_cut_device_fill(device, node->plain, apart, counts);
    }
}

/* Finds the start for one more instance that leaves most to what is in demand, with room for the
 * rest; among equals the highest, which keeps aligned room for larger ones. */
static bool start_find(const struct sl_cut_device *device, const struct sl_mig_layout *layout,
                       unsigned profile, const uint8_t rest[SL_MIG_PROFILES_MAX],
                       struct sl_mig_placement *out)
{
    static const int64_t alike[SL_MIG_PROFILES_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const struct sl_mig_model *model = device->model;
    int64_t least = INT64_MAX;
    for (unsigned start = 0; start < model->memory_slices; start++) {
        struct sl_mig_placement at = {(uint8_t)profile, (uint8_t)start};
        struct sl_mig_layout after = *layout;
        if (!sl_mig_can_place(model, layout, at)) {
            continue;
        }
        sl_mig_place(model, &after, at);
        int64_t cost =
            sl_mig_cost(model, layout, at, device->weight == NULL ? alike : device->weight);
        if (cost <= least && sl_mig_pack(model, &after, rest, NULL)) {
            least = cost;
            *out = at;
        }
    }
    return least < INT64_MAX;
}

static void write_instance(struct sl_cut *out, struct sl_mig_placement next)
{
    unsigned at = out->n;
    for (; at > 0 && out->instance[at - 1].start > next.start; at--) {
        out->instance[at] = out->instance[at - 1];
    }
    out->instance[at] = next;
    out->n++;
}

/* Writes instances sorted by start: those that stay, and counts more, the largest placed first. */
static void write_instances(const struct sl_cut_device *device,
                            const uint8_t counts[SL_MIG_PROFILES_MAX], struct sl_cut *out)
{
    struct sl_mig_layout layout = device->layout;
    uint8_t rest[SL_MIG_PROFILES_MAX];
    memcpy(rest, counts, sizeof(rest));
    for (unsigned i = 0; i < device->n_stay; i++) {
        write_instance(out, device->stay[i]);
    }
    for (unsigned p = device->model->n_profiles; p-- > 0;) {
        struct sl_mig_placement at;
        while (rest[p] > 0 && out->n < SL_MIG_INSTANCES_MAX) {
            rest[p]--;
            if (!start_find(device, &layout, p, rest, &at)) {
                return; /* cannot be: sl_cut_device_fits said that all fit */
            }
            sl_mig_place(device->model, &layout, at);
            write_instance(out, at);
        }
    }
}

static void write_device(const struct sl_cut_device *device,
                         const uint8_t counts[SL_MIG_PROFILES_MAX], struct sl_cut *out)
{
    *out = (struct sl_cut){.device = device->index, .whole = device->need_whole};
    if (device->sizes != NULL) {
        sl_cut_slices_write(device, counts, out);
    } else if (!device->need_whole) {
        write_instances(device, counts, out);
    }
}

static unsigned finish_single(const struct sl_cut_node *node, struct sl_cut *out)
{
    static const struct sl_mig_layout empty = {0};
    int unit = sl_cut_single_unit(node);
    bool changes = false;
    for (unsigned d = 0; unit >= 0 && d < node->n; d++) {
        struct sl_cut_device device = node->device[d];
        uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
        device.need_whole = unit == SL_CUT_WHOLE;
        if (!device.need_whole) {
            counts[unit] = (uint8_t)sl_mig_room(device.model, &empty, (unsigned)unit);
        }
        changes = changes || device.is_whole != device.need_whole ||
                  memcmp(counts, device.free, sizeof(counts)) != 0;
        write_device(&device, counts, &out[d]);
    }
    return changes ? node->n : 0;
}

unsigned sl_cut_node_finish(const struct sl_cut_node *node, unsigned variant, struct sl_cut *out)
{
    unsigned n = 0;
    bool changes = false;
    if (node->single) {
        return finish_single(node, out);
    }
    for (unsigned d = 0; d < node->n; d++) {
        changes = changes || sl_cut_device_changes(&node->device[d]);
    }
    for (unsigned d = 0; changes && d < node->n; d++) {
        const struct sl_cut_device *device = &node->device[d];
        uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
        if (sl_cut_device_changes(device)) {
            device_counts(node, device, variant, counts);
        } else if (node->all) {
            (void)sl_cut_device_keep(device, counts);
        } else {
            continue;
        }
        write_device(device, counts, &out[n]);
        /* A device that stays whole is named too where all are. */
        out[n].whole = out[n].whole || (device->is_whole && !sl_cut_device_changes(device));
        n++;
    }
    return n;
}
