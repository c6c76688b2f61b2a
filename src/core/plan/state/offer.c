/* Resources that nodes offer. */
#include "core/plan/state/state.h"
#include "core/request/text.h"
#include "util/data/search.h"

static bool offer_is_below(const void *item, const void *key)
{
    return ((const struct sl_plan_offer *)item)->key < *(const uint64_t *)key;
}

static size_t offer_place(const struct sl_planner *planner, uint64_t key)
{
    return sl_lower_bound(planner->offers.at, planner->offers.n, sizeof(*planner->offers.at), &key,
                          offer_is_below);
}

/* Out of memory every resource counts as offered, until the next reset. */
static void offer_put(struct sl_planner *planner, uint64_t key, int64_t most, int64_t now)
{
    size_t at = offer_place(planner, key);
    if (at < planner->offers.n && planner->offers.at[at].key == key) {
        struct sl_plan_offer *offer = &planner->offers.at[at];
        offer->most = most > offer->most ? most : offer->most;
        offer->now = now > offer->now ? now : offer->now;
        return;
    }
    planner->offers.fresh = true;
    if (sl_vec_reserve(&planner->offers.at, &planner->offers.cap, planner->offers.n + 1,
                       sizeof(*planner->offers.at)) < 0) {
        planner->offers.all = true;
        return;
    }
    memmove(planner->offers.at + at + 1, planner->offers.at + at,
            (planner->offers.n - at) * sizeof(*planner->offers.at));
    planner->offers.at[at] = (struct sl_plan_offer){key, most, now};
    planner->offers.n++;
}

static const char gpu[] = "nvidia.com/gpu";

static void offer_cut(struct sl_planner *planner, const char *resource, int64_t units)
{
    offer_put(planner, sl_hash(resource, strlen(resource)), units, units);
}

/* A node that sliced may have cut offers every instance that its GPUs can be cut into, so that
 * pods which wait for one have a lane of their own whatever there is of it now. */
static void offer_cuts(struct sl_planner *planner, const struct sl_node *node)
{
    const struct sl_mig_model *model = NULL;
    if (node->partition.single || node->partition.mig_mode) {
        int64_t each = node->partition.single ? SL_MIG_INSTANCES_MAX : 1;
        offer_cut(planner, gpu, each * node->n_devices);
    }
    for (unsigned d = 0; d < node->n_devices; d++) {
        if (node->device[d].model == model) {
            continue;
        }
        model = node->device[d].model;
        for (unsigned i = 0; model != NULL && i < model->n_profiles; i++) {
            const struct sl_mig_profile *profile = &model->profiles[i];
            offer_cut(planner, profile->resource, (int64_t)profile->max_count * node->n_devices);
        }
    }
}

/* nos in MPS mode gives slices of every size up to a GPU's memory. */
static void offer_slices(struct sl_planner *planner, const struct sl_node *node)
{
    int64_t most = 0;
    for (unsigned d = 0; d < node->n_devices; d++) {
        int64_t gb = sl_slice_room_gb(node->device[d].memory_mib);
        most = gb > most ? gb : most;
    }
    most = most < SL_PLAN_SLICE_MAX ? most : SL_PLAN_SLICE_MAX;
    for (; planner->offers.gb < most; planner->offers.gb++) {
        char name[40];
        struct sl_text text;
        sl_text_init(&text, name, sizeof(name));
        sl_text_puts(&text, "nvidia.com/gpu-");
        sl_text_i64(&text, planner->offers.gb + 1);
        sl_text_puts(&text, "gb");
        offer_cut(planner, name, 1);
    }
}

void sl_plan_offer_add(struct sl_planner *planner, const struct sl_node *node)
{
    enum sl_actuator actuator = node->partition.actuator;
    for (unsigned i = 0; i < node->n_pools; i++) {
        offer_put(planner, node->pool[i].key, node->pool[i].capacity, node->pool[i].capacity);
    }
    for (unsigned i = 0; i < node->n_absent; i++) {
        offer_put(planner, node->absent[i].key, node->absent[i].units, 0);
    }
    if (actuator == SL_ACTUATOR_MIG_MANAGER || actuator == SL_ACTUATOR_NOS_MIG) {
        offer_cuts(planner, node);
    } else if (actuator == SL_ACTUATOR_NOS_MPS) {
        offer_slices(planner, node);
    }
}

void sl_plan_offer_renew(struct sl_planner *planner)
{
    planner->offers.gb = 0;
    for (size_t i = 0; i < planner->offers.n; i++) {
        planner->offers.at[i].now = 0;
    }
}

void sl_plan_offer_reset(struct sl_planner *planner)
{
    planner->offers.n = 0;
    planner->offers.gb = 0;
    planner->offers.all = false;
    planner->offers.fresh = true;
}

static struct sl_plan_offer offer_find(const struct sl_planner *planner, uint64_t key)
{
    size_t at = offer_place(planner, key);
    bool known = at < planner->offers.n && planner->offers.at[at].key == key;
    return planner->offers.all ? (struct sl_plan_offer){key, INT64_MAX, INT64_MAX}
           : known             ? planner->offers.at[at]
                               : (struct sl_plan_offer){.key = key};
}

int64_t sl_plan_offer_most(const struct sl_planner *planner, uint64_t key)
{
    return offer_find(planner, key).most;
}

int64_t sl_plan_offer_now(const struct sl_planner *planner, uint64_t key)
{
    return offer_find(planner, key).now;
}

bool sl_plan_offers_fresh(const struct sl_planner *planner)
{
    return planner->offers.fresh;
}

void sl_plan_offers_met(struct sl_planner *planner)
{
    planner->offers.fresh = false;
}

bool sl_plan_offers(const struct sl_planner *planner, uint64_t key)
{
    return sl_plan_offer_most(planner, key) > 0;
}
