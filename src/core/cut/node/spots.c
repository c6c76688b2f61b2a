/* Where instances of unknown start may lie. An agent reports how many a device has of each profile,
 * and nobody tells their starts; a new instance must fit wherever they are. */
#include "core/cut/node/node.h"
#include "core/cut/node/slices.h"

struct walk {
    struct sl_cut_spots *spots;
    uint8_t go[SL_MIG_PROFILES_MAX]; /* instances that may go, which fit too as things are */
    bool overflow;
};

static void spots_add(struct walk *walk, const struct sl_mig_layout *layout)
{
    struct sl_cut_spots *spots = walk->spots;
    for (unsigned i = 0; i < spots->n; i++) {
        if (spots->taken[i] == layout->memory) {
            return;
        }
    }
    if (!sl_mig_pack(spots->model, layout, walk->go, NULL)) {
        return;
    }
    if (spots->n == SL_CUT_SPOTS_MAX) {
        walk->overflow = true;
        return;
    }
    spots->taken[spots->n] = layout->memory;
    spots->n++;
}

/* Puts left instances of the profile at starts from first on, then those of the next profiles. */
static void walk_profile(struct walk *walk, struct sl_mig_layout *layout, unsigned profile,
                         unsigned left, unsigned first)
{
    const struct sl_mig_model *model = walk->spots->model;
    if (left == 0) {
        profile++;
        while (profile < model->n_profiles && walk->spots->stay[profile] == 0) {
            profile++;
        }
        if (profile >= model->n_profiles) {
            spots_add(walk, layout);
            return;
        }
        left = walk->spots->stay[profile];
        first = 0;
    }
    for (unsigned start = first; start < model->memory_slices && !walk->overflow; start++) {
        struct sl_mig_placement at = {(uint8_t)profile, (uint8_t)start};
        if (sl_mig_can_place(model, layout, at)) {
            sl_mig_place(model, layout, at);
            walk_profile(walk, layout, profile, left - 1, start + 1);
            sl_mig_remove(model, layout, at);
        }
    }
}

static void spots_walk(struct sl_cut_spots *spots)
{
    struct walk walk = {.spots = spots};
    struct sl_mig_layout layout = {0};
    unsigned first = 0;
    for (unsigned p = 0; p < spots->model->n_profiles; p++) {
        walk.go[p] = (uint8_t)(spots->all[p] - spots->stay[p]);
    }
    while (first + 1 < spots->model->n_profiles && spots->stay[first] == 0) {
        first++;
    }
    walk_profile(&walk, &layout, first, spots->stay[first], 0);
    spots->n = walk.overflow ? 0 : spots->n;
}

const struct sl_cut_spots *sl_cut_spots_find(struct sl_cut_table *table,
                                             const struct sl_cut_spots *wanted)
{
    for (unsigned i = 0; i < table->n; i++) {
        const struct sl_cut_spots *known = &table->spots[i];
        if (known->model == wanted->model &&
            memcmp(known->stay, wanted->stay, sizeof(known->stay)) == 0 &&
            memcmp(known->all, wanted->all, sizeof(known->all)) == 0) {
            return known->n > 0 ? known : NULL;
        }
    }
    if (table->n == SL_CUT_TABLE_MAX) {
        return NULL;
    }
    struct sl_cut_spots *fresh = &table->spots[table->n];
    table->n++;
    *fresh = *wanted;
    fresh->n = 0;
    spots_walk(fresh);
    return fresh->n > 0 ? fresh : NULL;
}

bool sl_cut_device_fits(const struct sl_cut_device *device,
                        const uint8_t counts[SL_MIG_PROFILES_MAX])
{
    *device->packed += 1;
    if (device->sizes != NULL) {
        return sl_cut_slices_fit(device, counts);
    }
    if (device->spots == NULL) {
        return sl_mig_pack(device->model, &device->layout, counts, NULL);
    }
    struct sl_mig_layout layout = device->layout;
    for (unsigned i = 0; i < device->spots->n; i++) {
        layout.memory = device->spots->taken[i];
        *device->packed += 1;
        if (!sl_mig_pack(device->model, &layout, counts, NULL)) {
            return false;
        }
    }
    return true;
}
