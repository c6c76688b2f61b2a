/* Copies a node with other marks of health. The copy owns its devices and shares the rest with the
 * judged node. */
#include "sliced/node.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* judged: the device without marks. */
static bool device_is_healthy(const struct sl_device *judged, const int16_t *index, size_t n)
{
    bool healthy = judged->healthy;
    for (size_t i = 0; i < n; i++) {
        healthy = healthy && judged->index != index[i];
    }
    return healthy;
}

struct sl_node *sl_node_marked(struct sl_node *node, const int16_t *index, size_t n)
{
    struct sl_node *judged = node->judged == NULL ? node : node->judged;
    bool same = true;
    for (unsigned i = 0; i < node->n_devices; i++) {
        bool healthy = device_is_healthy(&judged->device[i], index, n);
        same = same && node->device[i].healthy == healthy;
    }
    if (same) {
        return sl_node_ref(node);
    }
    struct sl_node *copy = malloc(sizeof(*copy) + node->n_devices * sizeof(copy->device[0]));
    if (copy == NULL) {
        return NULL;
    }
    /* Leave out the count of references, which other threads may change now. */
    memcpy((void *)copy, (const void *)judged, offsetof(struct sl_node, refs));
    atomic_init(&copy->refs, 1);
    copy->judged = sl_node_ref(judged);
    copy->device = (struct sl_device *)(copy + 1);
    for (unsigned i = 0; i < node->n_devices; i++) {
        copy->device[i] = judged->device[i];
        copy->device[i].healthy = device_is_healthy(&judged->device[i], index, n);
    }
    return copy;
}
