/* Tells whether instances can be split over devices in one way, several or none. A depth-first
 * search over the devices, in which no device holds more (in the order of the profiles) than the
 * one before it, so that it meets each arrangement once, however its devices are numbered. It ends
 * at the second arrangement. */
#include "core/mig/split.h"

/* Vectors tried before giving up: some milliseconds at worst, usually some microseconds. */
enum { STEPS_MAX = 20000 };

struct search {
    const struct sl_mig_model *model;
    int64_t left[SL_MIG_PROFILES_MAX]; /* still to be put */
    unsigned n;                        /* devices */
    unsigned found;
    unsigned steps;
    uint8_t vector[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX];
    uint8_t (*out)[SL_MIG_PROFILES_MAX];
};

static bool is_over(const struct search *search)
{
    return search->found > 1 || search->steps >= STEPS_MAX;
}

/* True when the instances left could fit on that many devices, judged by slices alone. */
static bool left_fits(const struct search *search, unsigned devices)
{
    int64_t memory = 0;
    int64_t compute = 0;
    for (unsigned p = 0; p < search->model->n_profiles; p++) {
        const struct sl_mig_profile *profile = &search->model->profiles[p];
        if (search->left[p] > (int64_t)devices * profile->max_count) {
            return false;
        }
        memory += search->left[p] * profile->memory;
        compute += search->left[p] * profile->compute;
    }
    return memory <= (int64_t)devices * search->model->memory_slices &&
           compute <= (int64_t)devices * search->model->compute_slices;
}

static void put_device(struct search *search, unsigned device);

/* Chooses the number of instances of profile p on the device; bounded: at most as many as on the
 * device before. */
static void put_profile(struct search *search, unsigned device, unsigned p, bool bounded)
{
    static const struct sl_mig_layout empty = {0};
    search->steps++;
    if (p == search->model->n_profiles) {
        if (left_fits(search, search->n - device - 1) &&
            sl_mig_pack(search->model, &empty, search->vector[device], NULL)) {
            put_device(search, device + 1);
        }
        return;
    }
    int64_t most = search->model->profiles[p].max_count;
    if (bounded && search->vector[device - 1][p] < most) {
        most = search->vector[device - 1][p];
    }
    if (search->left[p] < most) {
        most = search->left[p];
    }
    for (int64_t k = most; k >= 0 && !is_over(search); k--) {
        search->vector[device][p] = (uint8_t)k;
        search->left[p] -= k;
        put_profile(search, device, p + 1, bounded && k == search->vector[device - 1][p]);
        search->left[p] += k;
    }
}

static void put_device(struct search *search, unsigned device)
{
    if (device < search->n) {
        put_profile(search, device, 0, device > 0);
        return;
    }
    search->found++;
    if (search->found == 1) {
        memcpy(search->out, search->vector, search->n * sizeof(search->vector[0]));
    }
}

enum sl_split sl_split_find(const struct sl_mig_model *model,
                            const int64_t counts[SL_MIG_PROFILES_MAX], unsigned n,
                            uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX])
{
    struct search search = {.model = model, .n = n, .out = split};
    memcpy(search.left, counts, sizeof(search.left));
    if (!left_fits(&search, n)) {
        return SL_SPLIT_NONE;
    }
    put_device(&search, 0);
    if (search.found > 1 || search.steps >= STEPS_MAX) {
        return SL_SPLIT_MANY;
    }
    return search.found == 1 ? SL_SPLIT_ONE : SL_SPLIT_NONE;
}
