/* The term contention: what neighbours on a shared GPU leave of its time, by what was measured. */
#include "core/score/contention.h"

#include <stdio.h>
#include <string.h>

#include "core/node/pool.h"
#include "core/place/choose.h"

enum { SAID_MAX = 3 };

/* The device of an ask for one replica of any memory, without a search; -1: it takes one. */
static int next_device(const struct sl_view *view, const struct sl_ask *ask)
{
    const struct sl_ask_item *item = &ask->item[0];
    int pool = sl_view_pool(view, item->key);
    bool plain = ask->n == 1 && item->count == 1 && pool >= 0 && !sl_item_has_memory(item) &&
                 sl_kinds[view->node->pool[pool].kind].replica &&
                 !sl_pool_on_instances(view->node, (unsigned)pool);
    return plain ? view->room[pool].next_device : -1;
}

/* The devices that the ask would share, as bits; 0: none, or nothing is measured of the node.
 * Instances and whole GPUs have no neighbours. */
static uint64_t devices_shared(const struct sl_view *view, const struct sl_ask *ask)
{
    struct sl_assignment given;
    uint64_t bits = 0;
    if (view->measured == NULL || ask->n == 0) {
        return 0;
    }
    int next = next_device(view, ask);
    if (next >= 0) {
        return UINT64_C(1) << next;
    }
    if (!sl_choose(view, ask, &given, NULL)) {
        return 0;
    }
    for (unsigned i = 0; i < given.n; i++) {
        const struct sl_assignment_part *part = &given.part[i];
        int pool = sl_view_pool(view, ask->item[part->item].key);
        bool shared = sl_kinds[view->node->pool[pool].kind].shares;
        if (shared && part->device >= 0 && part->instance < 0) {
            bits |= UINT64_C(1) << part->device;
        }
    }
    return bits;
}

/* Permille of the GPU's time that the ask gets or, where its workload is known to suffer, of its
 * speed alone. */
static int32_t left_for(const struct sl_view *view, const struct sl_ask *ask, unsigned device)
{
    const struct sl_measured *m = &view->measured[device];
    const struct sl_measured_suffer *suffer =
        sl_measured_suffers(m, sl_items_workload(ask->item, ask->n));
    return suffer == NULL ? sl_measured_left(m)
                          : sl_measured_speed(m, suffer, sl_view_takes_turns(view));
}

int32_t sl_contention_of(const struct sl_view *view, const struct sl_ask *ask)
{
    uint64_t bits = devices_shared(view, ask);
    int32_t least = 1000;
    for (unsigned i = 0; bits != 0 && i < view->node->n_devices; i++) {
        int32_t left = (bits >> i & 1) != 0 ? left_for(view, ask, i) : 1000;
        least = left < least ? left : least;
    }
    return bits == 0 || least < 0 ? SL_SCORE_UNKNOWN : least / 10;
}

static void say_device(const struct sl_device *device, const struct sl_measured *m, char *out,
                       size_t size)
{
    int gpu = device->index;
    unsigned n = m->n_pods;
    int left = (int)sl_measured_left(m) / 10;
    if (m->load < 0) {
        (void)snprintf(out, size, "neighbours on GPU %d: %s", gpu,
                       m->state == SL_SERIES_GOOD ? "not told how busy"
                                                  : sl_series_state_name(m->state));
    } else if (n == 0) {
        (void)snprintf(out, size, "neighbours on GPU %d: none", gpu);
    } else if (m->settled) {
        (void)snprintf(out, size, "neighbours on GPU %d: %u, busy %d %%, leave %d %%", gpu, n,
                       m->load / 10, left);
    } else {
        (void)snprintf(out, size, "neighbours on GPU %d: %u, new and taken as busy, leave %d %%",
                       gpu, n, left);
    }
}

/* "; its workload, busy 10 % alone, runs at 50 % beside them" */
static void say_suffering(const struct sl_view *view, const struct sl_ask *ask, unsigned device,
                          char *out, size_t size)
{
    const struct sl_measured *m = &view->measured[device];
    const struct sl_measured_suffer *suffer =
        sl_measured_suffers(m, sl_items_workload(ask->item, ask->n));
    size_t len = strlen(out);
    if (suffer != NULL && m->load >= 0 && m->n_pods > 0) {
        bool turns = sl_view_takes_turns(view);
        (void)snprintf(out + len, size - len,
                       ", but its workload, busy %d %% alone, runs at %d %% beside them%s",
                       suffer->alone / 10, (int)sl_measured_speed(m, suffer, turns) / 10,
                       turns ? "" : " (MPS)");
    }
}

void sl_contention_text(const struct sl_view *view, const struct sl_ask *ask, char *out,
                        size_t size)
{
    uint64_t bits = devices_shared(view, ask);
    size_t len = 0;
    unsigned said = 0;
    out[0] = '\0';
    for (unsigned i = 0; bits != 0 && i < view->node->n_devices && said < SAID_MAX; i++) {
        if ((bits >> i & 1) == 0) {
            continue;
        }
        char one[192];
        say_device(&view->node->device[i], &view->measured[i], one, sizeof(one));
        say_suffering(view, ask, i, one, sizeof(one));
        int wrote = snprintf(out + len, size - len, "%s%s", said > 0 ? "; " : "", one);
        len = wrote >= 0 && len + (size_t)wrote < size ? len + (size_t)wrote : size - 1;
        said++;
    }
}
