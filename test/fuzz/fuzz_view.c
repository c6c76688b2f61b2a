/* Views of a node and any pods: all that stands there is accounted for, on places that there are,
 * nothing is given twice, and what is free is never more than what the units in use leave. */
#include "scene.h"

#include "core/place/choose.h"
#include "sliced/overcommit.h"
#include "sliced/score.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pod(const struct sl_pod *pod)
{
    scene_check(pod->n_items <= (pod->malformed != NULL ? SL_POD_ITEMS_MAX : SL_ASK_ITEMS_MAX));
    scene_check(pod->malformed == NULL || pod->node != NULL || pod->n_items == 0);
    for (unsigned i = 0; i < pod->n_items; i++) {
        const struct sl_ask_item *item = &pod->items[i];
        scene_check(item->count >= 1 && item->count <= SL_UNITS_MAX);
        scene_check(item->memory_mib >= 0 && item->least_mib >= 0);
        scene_check(item->gpus >= 1 && item->count % item->gpus == 0);
        scene_check(i == 0 || strcmp(pod->items[i - 1].resource, item->resource) < 0);
    }
}

static void check_pools(const struct sl_view *view)
{
    int64_t used[SL_NODE_POOLS_MAX] = {0};
    for (unsigned r = 0; r < view->n_residents; r++) {
        const struct sl_pod *pod = view->resident[r].pod;
        for (unsigned i = 0; i < pod->n_items; i++) {
            int pool = sl_view_pool(view, pod->items[i].key);
            if (pool >= 0) {
                used[pool] += pod->items[i].count;
            }
        }
    }
    for (unsigned i = 0; i < view->n_pools; i++) {
        const struct sl_pool_room *room = &view->room[i];
        int64_t left = room->capacity > used[i] ? room->capacity - used[i] : 0;
        scene_check(view->pool_used[i] == used[i]);
        scene_check(room->capacity >= 1 && room->capacity <= SL_UNITS_MAX);
        scene_check(room->free >= 0 && room->free <= left);
        scene_check(room->largest >= 0 && room->largest <= left);
        scene_check(room->most >= 0 && room->most <= room->capacity);
        scene_check(!view->withheld || (room->free == 0 && room->largest == 0));
    }
}

/* What the parts say of the devices is what the view says. */
static void check_devices(const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    struct sl_device_use use[SL_NODE_DEVICES_MAX] = {{0}};
    int64_t *instance = calloc((size_t)node->n_instances + 1, sizeof(*instance));
    unsigned next = 0;
    scene_check(instance != NULL);
    for (unsigned r = 0; r < view->n_residents; r++) {
        const struct sl_resident *resident = &view->resident[r];
        const struct sl_pod *pod = resident->pod;
        scene_check(resident->n_parts == 0 || resident->first_part < view->n_parts);
        scene_check_parts(node, pod->items, pod->n_items, view->part + resident->first_part,
                          resident->n_parts);
        next += resident->n_parts;
        for (unsigned p = 0; p < resident->n_parts; p++) {
            const struct sl_assignment_part *part = &view->part[resident->first_part + p];
            enum sl_kind kind = node->pool[sl_view_pool(view, pod->items[part->item].key)].kind;
            if (part->instance >= 0) {
                instance[part->instance] += part->amount;
            } else if (part->device >= 0 && kind == SL_KIND_WHOLE) {
                scene_check(!use[part->device].whole); /* given twice */
                use[part->device].whole = true;
            } else if (part->device >= 0 && kind == SL_KIND_REPLICA) {
                use[part->device].replicas += (int32_t)part->amount;
            } else if (part->device >= 0) {
                use[part->device].memory_units += part->amount;
            }
        }
    }
    scene_check(next == view->n_parts && view->n_parts <= view->parts_cap);
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_pool *pool = &node->pool[node->instance[i].pool];
        scene_check(instance[i] == view->instance_used[i]);
        scene_check(instance[i] <= (pool->kind == SL_KIND_REPLICA ? pool->replicas : 1));
        use[node->instance[i].device].instances += instance[i] > 0;
    }
    for (unsigned i = 0; i < node->n_devices; i++) {
        const struct sl_device_use *is = &view->device[i];
        scene_check(is->whole == use[i].whole && is->replicas == use[i].replicas &&
                    is->memory_units == use[i].memory_units && is->instances == use[i].instances);
        scene_check(!is->whole ||
                    (is->replicas == 0 && is->memory_units == 0 && is->instances == 0));
        scene_check(is->declared_mib >= 0);
    }
    free(instance);
}

static void check_scratch_is_empty(const struct sl_scratch *scratch)
{
    const struct sl_node *node = scratch->view->node;
    for (unsigned i = 0; i < node->n_pools; i++) {
        scene_check(scratch->pool_used[i] == 0 && scratch->pool_mib[i] == 0);
    }
    for (unsigned i = 0; i < node->n_devices; i++) {
        const struct sl_device_use *use = &scratch->device[i];
        scene_check(!use->whole && use->replicas == 0 && use->memory_units == 0 &&
                    use->instances == 0 && use->declared_mib == 0);
    }
}

/* Everybody goes, and comes back. */
static void check_leaving(const struct sl_view *view)
{
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    for (unsigned r = 0; r < view->n_residents; r++) {
        sl_scratch_remove(&scratch, r);
    }
    check_scratch_is_empty(&scratch);
    for (unsigned r = 0; r < view->n_residents; r++) {
        sl_scratch_restore(&scratch, r);
    }
    scene_check(memcmp(scratch.pool_used, view->pool_used,
                       view->node->n_pools * sizeof(scratch.pool_used[0])) == 0);
}

static void check_waiting(const struct sl_view *view, const struct sl_pod *pod)
{
    struct sl_ask ask;
    struct sl_assignment given;
    struct sl_verdict verdict;
    struct sl_scratch scratch;
    struct sl_score score;
    static const struct sl_score_config config = {.weight = {1, 1, 1, 1, 1}};
    sl_pod_ask(pod, &ask);
    bool fits = sl_choose(view, &ask, &given, &verdict);
    scene_check(fits == sl_fit(view, &ask, NULL));
    scene_check(!fits || !ask.malformed);
    scene_check(!view->withheld || !fits || ask.n == 0);
    sl_score(view, &ask, NULL, &config, &score);
    scene_check(score.total >= 0 && score.total <= 100);
    for (unsigned i = 0; fits && i < ask.n; i++) {
        int pool = sl_view_pool(view, ask.item[i].key);
        int64_t units = 0;
        scene_check(pool >= 0);
        for (unsigned p = 0; p < given.n; p++) {
            units += given.part[p].item == i ? given.part[p].amount : 0;
        }
        scene_check(units == ask.item[i].count);
        scene_check(units <= view->room[pool].capacity - view->pool_used[pool]);
    }
    if (fits) {
        scene_check_parts(view->node, ask.item, ask.n, given.part, given.n);
        sl_scratch_init(&scratch, view);
        scene_check(sl_scratch_take_exactly(&scratch, &ask, &given));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[512];
    struct scene *scene = scene_new(data, size);
    struct sl_view *view = NULL;
    if (scene == NULL) {
        return 0;
    }
    view = sl_view_new(scene->node, scene->pod, scene->n_pods);
    scene_check(view != NULL);
    check_pools(view);
    check_devices(view);
    check_leaving(view);
    sl_overcommit_text(view, text, sizeof(text));
    scene_check((text[0] != '\0') == sl_view_overcommitted(view));
    for (unsigned i = 0; i < scene->n_pods; i++) {
        check_pod(scene->pod[i]);
        check_waiting(view, scene->pod[i]);
    }
    sl_view_free(view);
    scene_free(scene);
    return 0;
}
