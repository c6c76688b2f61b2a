/* Lays out the MIG instances that pods use on a device; free instances may be made anew. */
#include "core/place/choose.h"

#include "util/data/search.h"

int sl_model_index(const struct sl_mig_model *model, const struct sl_mig_profile *profile)
{
    for (unsigned i = 0; i < model->n_profiles; i++) {
        if (&model->profiles[i] == profile) {
            return (int)i;
        }
    }
    return -1;
}

static bool instance_is_before(const void *item, const void *device)
{
    return ((const struct sl_instance *)item)->device < *(const unsigned *)device;
}

/* Returns the first instance of the device, or of a later one; instances are sorted by device. */
static unsigned first_instance(const struct sl_node *node, unsigned device)
{
    return (unsigned)sl_lower_bound(node->instance, node->n_instances, sizeof(node->instance[0]),
                                    &device, instance_is_before);
}

/* Puts instances of unknown start where they fit. When they do not fit, the layout is unknown. */
static bool place_unknown(const struct sl_mig_model *model, struct sl_mig_layout *layout,
                          const uint8_t counts[SL_MIG_PROFILES_MAX], unsigned n)
{
    struct sl_mig_placement placement[SL_MIG_INSTANCES_MAX];
    if (n > SL_MIG_INSTANCES_MAX || !sl_mig_pack(model, layout, counts, placement)) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        sl_mig_place(model, layout, placement[i]);
    }
    return true;
}

bool sl_layout_in_use(const struct sl_node *node, const int32_t *instance_used, unsigned device,
                      struct sl_mig_layout *out)
{
    const struct sl_mig_model *model = node->device[device].model;
    uint8_t unknown[SL_MIG_PROFILES_MAX] = {0};
    unsigned n_unknown = 0;
    *out = (struct sl_mig_layout){0};
    if (model == NULL) {
        return false;
    }
    for (unsigned i = first_instance(node, device); i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->device != device) {
            break;
        }
        if (instance_used[i] == 0) {
            continue;
        }
        int index = sl_model_index(model, instance->profile);
        if (index < 0) {
            return false;
        }
        if (instance->start < 0) {
            unknown[index]++;
            n_unknown++;
            continue;
        }
        sl_mig_place(model, out,
                     (struct sl_mig_placement){(uint8_t)index, (uint8_t)instance->start});
    }
    return n_unknown == 0 || place_unknown(model, out, unknown, n_unknown);
}

void sl_lost_room(const struct sl_node *node, const int32_t *before, const int32_t *after,
                  unsigned device, unsigned wanted, uint8_t lost[SL_MIG_PROFILES_MAX])
{
    const struct sl_mig_model *model = node->device[device].model;
    struct sl_mig_layout was;
    struct sl_mig_layout is;
    if (!sl_layout_in_use(node, before, device, &was) ||
        !sl_layout_in_use(node, after, device, &is)) {
        return;
    }
    for (unsigned i = 0; i < model->n_profiles; i++) {
        unsigned had = (wanted >> i & 1) == 0 ? 0 : sl_mig_room(model, &was, i);
        unsigned has = had == 0 ? 0 : sl_mig_room(model, &is, i);
        unsigned sum = lost[i] + (had > has ? had - has : 0);
        lost[i] = (uint8_t)(sum < UINT8_MAX ? sum : UINT8_MAX);
    }
}
