/* Finds the place where a MIG instance leaves most to other asks. */
#include "sliced/mig.h"

static int64_t worth(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                     const int64_t weight[SL_MIG_PROFILES_MAX])
{
    int64_t sum = 0;
    for (unsigned i = 0; i < model->n_profiles; i++) {
        if (weight[i] > 0) {
            sum += weight[i] * model->profiles[i].memory * sl_mig_room(model, layout, i);
        }
    }
    return sum;
}

static int64_t worth_after(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                           struct sl_mig_placement placement,
                           const int64_t weight[SL_MIG_PROFILES_MAX])
{
    struct sl_mig_layout after = *layout;
    sl_mig_place(model, &after, placement);
    return worth(model, &after, weight);
}

int64_t sl_mig_cost(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                    struct sl_mig_placement placement, const int64_t weight[SL_MIG_PROFILES_MAX])
{
    return worth(model, layout, weight) - worth_after(model, layout, placement, weight);
}

bool sl_mig_best_start(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                       unsigned profile, const int64_t weight[SL_MIG_PROFILES_MAX],
                       struct sl_mig_placement *out, int64_t *cost)
{
    bool found = false;
    int64_t most = 0;
    for (unsigned start = 0; start < model->memory_slices; start++) {
        struct sl_mig_placement at = {(uint8_t)profile, (uint8_t)start};
        if (!sl_mig_can_place(model, layout, at)) {
            continue;
        }
        int64_t left = worth_after(model, layout, at, weight);
        if (!found || left >= most) {
            found = true;
            most = left;
            *out = at;
        }
    }
    *cost = found ? worth(model, layout, weight) - most : 0;
    return found;
}

int sl_mig_best_device(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                       size_t n, unsigned profile, const int64_t weight[SL_MIG_PROFILES_MAX],
                       struct sl_mig_placement *out)
{
    int best = -1;
    int64_t least = 0;
    int in_use = 0;
    for (size_t i = 0; i < n; i++) {
        struct sl_mig_placement at;
        int64_t cost = 0;
        int used = __builtin_popcount(layout[i].memory);
        if (!sl_mig_best_start(model, &layout[i], profile, weight, &at, &cost)) {
            continue;
        }
        if (best < 0 || cost < least || (cost == least && used > in_use)) {
            best = (int)i;
            least = cost;
            in_use = used;
            *out = at;
        }
    }
    return best;
}
