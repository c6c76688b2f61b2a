/* Any text as the assignment of a pod on any node: what is believed names as many places as the ask
 * may have, all its units, and reads the same when it is written again. */
#include "scene.h"

#include "core/place/choose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No more places than the item may have. */
static void check_number(const struct sl_node *node, const struct sl_ask_item *item, unsigned parts)
{
    const struct sl_pool *pool = &node->pool[sl_node_pool(node, item->key)];
    int64_t most = item->count;
    if (!pool->on_devices) {
        most = 1;
    } else if (pool->kind == SL_KIND_MEMORY) {
        most = item->gpus > 1 ? item->gpus : 1;
    }
    scene_check(parts >= 1 && parts <= most);
}

static void check_believed(const struct sl_node *node, const struct sl_ask *ask,
                           const struct sl_assignment *assignment)
{
    char text[SL_ASSIGNMENT_TEXT_MAX + 1];
    struct sl_assignment again;
    scene_check_parts(node, ask->item, ask->n, assignment->part, assignment->n);
    for (unsigned i = 0; i < ask->n; i++) {
        unsigned parts = 0;
        int64_t units = 0;
        int64_t first = 0;
        for (unsigned p = 0; p < assignment->n; p++) {
            const struct sl_assignment_part *part = &assignment->part[p];
            if (part->item == i) {
                first = parts == 0 ? part->amount : first;
                scene_check(ask->item[i].kind != SL_KIND_MEMORY || part->amount == first);
                parts++;
                units += part->amount;
            }
        }
        scene_check(units == ask->item[i].count);
        check_number(node, &ask->item[i], parts);
    }
    size_t len = sl_assignment_format(node, ask, assignment, text, sizeof(text));
    scene_check(len > 0 && sl_assignment_parse(node, ask, (struct sl_str){text, len}, &again));
    scene_check(again.n == assignment->n);
    for (unsigned p = 0; p < again.n; p++) { /* items come in the order of the ask */
        unsigned found = 0;
        for (unsigned k = 0; k < again.n; k++) {
            const struct sl_assignment_part *a = &again.part[p];
            const struct sl_assignment_part *b = &assignment->part[k];
            found += a->item == b->item && a->device == b->device && a->instance == b->instance &&
                     a->amount == b->amount;
        }
        scene_check(found == 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene *scene = scene_new(data, size);
    for (unsigned i = 0; scene != NULL && i < scene->n_pods; i++) {
        const struct sl_pod *pod = scene->pod[i];
        struct sl_ask ask;
        struct sl_assignment assignment;
        sl_pod_ask(pod, &ask);
        bool believed = sl_assignment_read(scene->node, pod->items, pod->n_items,
                                           sl_str_of(pod->assignment), &assignment);
        scene_check(!believed || pod->n_items <= SL_ASK_ITEMS_MAX);
        if (believed) {
            check_believed(scene->node, &ask, &assignment);
        }
    }
    if (scene != NULL) {
        scene_free(scene);
    }
    return 0;
}
