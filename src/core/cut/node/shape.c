/* Counts on one device; starts are found last, by sl_mig_pack. */
#include "core/cut/node/shape.h"

enum { WANTED_WORTH = 4 }; /* of an instance in demand, over one that nobody wants */

static bool needs_some(const struct sl_cut_device *device)
{
    for (unsigned p = 0; p < sl_cut_units(device); p++) {
        if (device->need[p] > 0) {
            return true;
        }
    }
    return false;
}

bool sl_cut_device_changes(const struct sl_cut_device *device)
{
    if (device->need_whole) {
        return !device->is_whole;
    }
    bool known = device->model != NULL || device->sizes != NULL;
    for (unsigned p = 0; known && p < sl_cut_units(device); p++) {
        if (device->need[p] > device->free[p]) {
            return true;
        }
    }
    return false;
}

bool sl_cut_device_can_give(const struct sl_cut_device *device, unsigned unit)
{
    if (!device->may_change || device->need_whole) {
        return false;
    }
    if (device->made) {
        return unit == SL_CUT_WHOLE ? device->is_whole : device->need[unit] < device->free[unit];
    }
    if (unit == SL_CUT_WHOLE) {
        return device->may_be_whole && device->n_stay == 0 && !needs_some(device);
    }
    uint8_t counts[SL_MIG_PROFILES_MAX];
    memcpy(counts, device->need, sizeof(counts));
    counts[unit]++;
    return sl_cut_device_fits(device, counts);
}

void sl_cut_device_need(struct sl_cut_device *device, unsigned unit, int by)
{
    if (unit == SL_CUT_WHOLE) {
        device->need_whole = by > 0;
    } else {
        device->need[unit] = (uint8_t)(device->need[unit] + by);
    }
}

/* Lists the device's units, the largest first. */
static unsigned by_size(const struct sl_cut_device *device, uint8_t order[SL_MIG_PROFILES_MAX])
{
    unsigned n = sl_cut_units(device);
    for (unsigned p = 0; p < n; p++) {
        unsigned at = p;
        for (; at > 0 && sl_cut_unit_size(device, order[at - 1]) <= sl_cut_unit_size(device, p);
             at--) {
            order[at] = order[at - 1];
        }
        order[at] = (uint8_t)p;
    }
    return n;
}

int64_t sl_cut_device_keep(const struct sl_cut_device *device, uint8_t counts[SL_MIG_PROFILES_MAX])
{
    uint8_t order[SL_MIG_PROFILES_MAX] = {0};
    unsigned n = by_size(device, order);
    int32_t all = device->sizes != NULL ? device->gb : device->model->memory_slices;
    int64_t lost = 0;
    memcpy(counts, device->need, SL_MIG_PROFILES_MAX);
    for (unsigned k = 0; k < n; k++) {
        unsigned p = order[k];
        while (!device->need_whole && counts[p] < device->free[p]) {
            counts[p]++;
            if (!sl_cut_device_fits(device, counts)) {
                counts[p]--;
                break;
            }
        }
        bool wanted = device->weight != NULL && device->weight[p] > 0;
        int64_t gone = device->free[p] > counts[p] ? device->free[p] - counts[p] : 0;
        lost += gone * sl_cut_unit_size(device, p) * (wanted ? WANTED_WORTH : 1);
    }
    return lost + (device->is_whole ? all : 0);
}

/* Returns how many pods of the profile one more instance, counts and what is free elsewhere serve.
 */
static int64_t served(const struct sl_cut_device *device, unsigned p,
                      const uint8_t counts[SL_MIG_PROFILES_MAX])
{
    int64_t elsewhere = device->supply == NULL ? 0 : device->supply[p] - device->free[p];
    return counts[p] + 1 + (elsewhere > 0 ? elsewhere : 0);
}

/* Returns the profile in demand that has least of its share yet, -1: none fits. */
static int next_to_fill(const struct sl_cut_device *device, bool plain, const int64_t *weight,
                        uint8_t counts[SL_MIG_PROFILES_MAX])
{
    int best = -1;
    for (unsigned p = 0; p < sl_cut_units(device); p++) {
        if (weight[p] <= 0 ||
            (plain && device->sizes == NULL && device->model->profiles[p].attributes != 0)) {
            continue;
        }
        /* weight / served, compared crosswise; among equals the larger profile */
        if (best >= 0 && weight[p] * served(device, (unsigned)best, counts) <
                             weight[best] * served(device, p, counts)) {
            continue;
        }
        counts[p]++;
        best = sl_cut_device_fits(device, counts) ? (int)p : best;
        counts[p]--;
    }
    return best;
}

/* Fills with the profiles in demand; with own only those that pods need of the device. */
static void fill(const struct sl_cut_device *device, bool plain, bool own,
                 uint8_t counts[SL_MIG_PROFILES_MAX])
{
    int64_t weight[SL_MIG_PROFILES_MAX] = {0};
    for (unsigned p = 0; p < sl_cut_units(device); p++) {
        /* Pods that wait are demand, too, whether it was counted or not. */
        int64_t wanted = device->weight != NULL ? device->weight[p] : 0;
        wanted = wanted > device->need[p] ? wanted : device->need[p];
        weight[p] = own && device->need[p] == 0 ? 0 : wanted;
    }
    for (int p = next_to_fill(device, plain, weight, counts); p >= 0;
         p = next_to_fill(device, plain, weight, counts)) {
        counts[p]++;
    }
}

void sl_cut_device_fill(const struct sl_cut_device *device, bool plain, bool apart,
                        uint8_t counts[SL_MIG_PROFILES_MAX])
{
    if (apart) {
        fill(device, plain, true, counts);
    }
    fill(device, plain, false, counts);
}
