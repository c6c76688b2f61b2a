/* A node with other marks of health: a copy of its one piece of memory, its pointers moved along.
 */
#include "sliced/node.h"

#include <stddef.h>
#include <stdlib.h>

struct move {
    const struct sl_node *from;
    struct sl_node *to;
};

/* Where in the copy the array stands that is there in the node. */
static void *moved(struct move move, const void *array)
{
    return (char *)move.to + ((const char *)array - (const char *)move.from);
}

/* The same of a text; one outside of the node stays where it is. */
static const char *moved_text(struct move move, const char *text)
{
    const char *base = (const char *)move.from;
    bool inside = text != NULL && text >= base && text < base + move.from->size;
    return inside ? moved(move, text) : text;
}

static void move_site(struct move move)
{
    struct sl_node *node = move.to;
    struct sl_label *label = moved(move, node->label);
    struct sl_taint *taint = moved(move, node->taint);
    for (unsigned i = 0; i < node->n_labels; i++) {
        label[i].key = moved_text(move, label[i].key);
        label[i].value = moved_text(move, label[i].value);
    }
    for (unsigned i = 0; i < node->n_taints; i++) {
        taint[i].key = moved_text(move, taint[i].key);
        taint[i].value = moved_text(move, taint[i].value);
    }
    node->label = label;
    node->taint = taint;
}

static struct sl_node *copy_of(const struct sl_node *node)
{
    struct sl_node *copy = malloc(node->size);
    if (copy == NULL) {
        return NULL;
    }
    const struct move move = {node, copy};
    /* all but the count of references, which others change meanwhile */
    const size_t refs = offsetof(struct sl_node, refs);
    const size_t behind = refs + sizeof(node->refs);
    memcpy((void *)copy, (const void *)node, refs);
    memcpy((char *)copy + behind, (const char *)node + behind, node->size - behind);
    atomic_init(&copy->refs, 1);
    copy->name = moved_text(move, node->name);
    copy->product = moved_text(move, node->product);
    copy->problem = moved_text(move, node->problem);
    copy->device = moved(move, node->device);
    copy->instance = moved(move, node->instance);
    copy->pool = moved(move, node->pool);
    for (unsigned i = 0; i < copy->n_devices; i++) {
        copy->device[i].uuid = moved_text(move, copy->device[i].uuid);
        copy->device[i].product = moved_text(move, copy->device[i].product);
    }
    for (unsigned i = 0; i < copy->n_pools; i++) {
        copy->pool[i].resource = moved_text(move, copy->pool[i].resource);
    }
    move_site(move);
    return copy;
}

static bool healthy_beside(const struct sl_device *device, const int16_t *index, size_t n)
{
    bool healthy = device->sound;
    for (size_t i = 0; i < n; i++) {
        healthy = healthy && device->index != index[i];
    }
    return healthy;
}

struct sl_node *sl_node_marked(struct sl_node *node, const int16_t *index, size_t n)
{
    bool same = true;
    for (unsigned i = 0; i < node->n_devices; i++) {
        same = same && node->device[i].healthy == healthy_beside(&node->device[i], index, n);
    }
    if (same) {
        return sl_node_ref(node);
    }
    struct sl_node *copy = copy_of(node);
    for (unsigned i = 0; copy != NULL && i < copy->n_devices; i++) {
        copy->device[i].healthy = healthy_beside(&copy->device[i], index, n);
    }
    return copy;
}
