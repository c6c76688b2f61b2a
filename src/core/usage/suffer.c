/* Pods that take turns keep a GPU busy for less than each alone, summed up: two engines that are
 * busy for 11 % each, and for 11 % together, run at half their speed. */
#include "sliced/suffer.h"

#include <string.h>

#include "util/data/hash.h"

enum {
    FULL = 1000, /* permille */
    STEP = 10,   /* of what is told, so that it changes seldom */
    LITTLE = 20, /* who is busy for less says nothing by being a little less so */
};

static uint64_t key_alone(uint32_t workload)
{
    return (uint64_t)workload << 1;
}

static uint64_t key_cost(uint32_t workload)
{
    return key_alone(workload) | 1;
}

/* Mean of what was seen; -1: too little was. */
static int32_t mean_of(const struct sl_past *past, uint64_t key)
{
    unsigned n = 0;
    const int32_t *value = sl_past_values(past, key, &n);
    int32_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += value[i];
    }
    return n < SL_SUFFER_LEAST ? -1 : sum / (int32_t)n;
}

/* Permille by which each neighbour lengthens the run of n pods that are busy for `alone` each, when
 * together they keep the GPU busy for that load; -1: they had less to do than alone, for not even
 * taking turns explains so little. */
static int32_t cost_of(int32_t alone, int32_t n, int32_t load)
{
    int32_t all = alone * n < FULL ? alone * n : FULL;
    int32_t speed = load * FULL / all;
    if (speed * n < FULL * 9 / 10) {
        return -1;
    }
    int32_t cost = speed >= FULL ? 0 : (FULL * FULL / speed - FULL) / (n - 1);
    return cost < FULL ? cost : FULL;
}

/* Puts the namespace's entry first, or takes it away if it is of that workload, which suffers no
 * more (cost below SL_SUFFER_COSTS). */
static void list_put(struct sl_suffer *suffer, uint64_t namespace, struct sl_measured_suffer entry)
{
    bool suffers = entry.cost >= SL_SUFFER_COSTS;
    unsigned at = 0;
    while (at < SL_MEASURED_SUFFER - 1 && suffer->namespace[at] != namespace) {
        at++;
    }
    bool found = suffer->namespace[at] == namespace;
    struct sl_measured_suffer *old = &suffer->list[at];
    if (found && suffers && old->workload == entry.workload) {
        *old = entry; /* in its place: another order would change what all nodes show */
    } else if (suffers) {
        memmove(&suffer->list[1], &suffer->list[0], at * sizeof(suffer->list[0]));
        memmove(&suffer->namespace[1], &suffer -> namespace[0], at * sizeof(namespace));
        suffer->list[0] = entry;
        suffer->namespace[0] = namespace;
    } else if (found && old->workload == entry.workload) {
        *old = (struct sl_measured_suffer){.workload = 0};
        suffer->namespace[at] = 0;
    }
}

/* The pods of the device: their number and their namespace; 0 where they are not all of one
 * workload that is known. */
static int32_t kin_of(const struct sl_view *view, unsigned device, uint32_t *workload,
                      const char **namespace)
{
    int32_t n = 0;
    *workload = 0;
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        bool there = false;
        uint32_t own = 0;
        for (unsigned p = 0; p < resident->n_parts; p++) {
            const struct sl_assignment_part *part = &view->part[resident->first_part + p];
            there = there || part->device == (int16_t)device;
            own = part->device == (int16_t)device ? resident->pod->items[part->item].workload : own;
        }
        if (there && (own == 0 || (n > 0 && own != *workload))) {
            return 0;
        }
        n += there;
        *workload = there ? own : *workload;
        *namespace = there ? resident->pod->namespace : *namespace;
    }
    return n;
}

void sl_suffer_learn(struct sl_suffer *suffer, const struct sl_view *view, unsigned device,
                     int32_t load)
{
    const char *namespace = "";
    uint32_t workload = 0;
    int32_t n = kin_of(view, device, &workload, &namespace);
    int32_t alone = mean_of(suffer->past, key_alone(workload));
    if (n == 0 || !sl_view_takes_turns(view)) {
        return;
    }
    if (n == 1) {
        sl_past_add(suffer->past, key_alone(workload), load);
        return;
    }
    int32_t cost = alone >= LITTLE ? cost_of(alone, n, load) : -1;
    if (cost < 0) {
        return;
    }
    sl_past_add(suffer->past, key_cost(workload), cost);
    cost = mean_of(suffer->past, key_cost(workload));
    if (cost >= 0) {
        list_put(suffer, sl_hash(namespace, strlen(namespace)),
                 (struct sl_measured_suffer){workload, (int16_t)((alone + STEP - 1) / STEP * STEP),
                                             (int16_t)(cost / STEP * STEP)});
    }
}
