/* gpushare's device plugin gives the annotations their names and meanings. Among the Pending pods
 * of its node with an ASSUME_TIME and ASSIGNED "false" it takes the oldest whose containers' limits
 * add up to what the kubelet asks for, and gives it the GPU of its IDX. */
#include "kube/write/gpushare.h"

#include <stdio.h>

#include "sliced/fit.h"
#include "util/time.h"

static const char *const resource = "aliyun.com/gpu-mem";

int64_t sl_gpushare_next_ns(_Atomic int64_t *last_ns, int64_t now_us)
{
    int64_t last = atomic_load(last_ns);
    int64_t next = 0;
    do {
        next = now_us * SL_US_NS > last ? now_us * SL_US_NS : last + 1;
    } while (!atomic_compare_exchange_weak(last_ns, &last, next));
    return next;
}

static int find_item(const struct sl_ask *ask)
{
    for (unsigned i = 0; i < ask->n; i++) {
        if (strcmp(ask->item[i].resource, resource) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* False when a part is on no device that is known, or the list is too long. */
static bool put_devices(const struct sl_node *node, const struct sl_assignment *assignment,
                        unsigned item, struct sl_gpushare_marks *out)
{
    size_t len = 0;
    for (unsigned i = 0; i < assignment->n; i++) {
        const struct sl_assignment_part *part = &assignment->part[i];
        if (part->item != item) {
            continue;
        }
        if (part->device < 0) {
            return false;
        }
        const struct sl_device *device = &node->device[part->device];
        int n = snprintf(out->index + len, sizeof(out->index) - len, "%s%d", len == 0 ? "" : ",",
                         (int)device->index);
        if (n < 0 || (size_t)n >= sizeof(out->index) - len) {
            return false;
        }
        out->device_units = len == 0 ? device->memory_units : out->device_units;
        out->pod_units += part->amount;
        len += (size_t)n;
    }
    return len > 0;
}

static bool read_assignment(const struct sl_node *node, const struct sl_pod *pod,
                            const char *assignment, struct sl_gpushare_marks *out)
{
    struct sl_ask ask;
    struct sl_assignment places;
    sl_pod_ask(pod, &ask);
    int item = find_item(&ask);
    return item >= 0 && sl_assignment_parse(node, &ask, sl_str_of(assignment), &places) &&
           put_devices(node, &places, (unsigned)item, out);
}

void sl_gpushare_marks_of(struct sl_store *store, const struct sl_binding *binding,
                          _Atomic int64_t *last_ns, int64_t now_us, struct sl_gpushare_marks *out)
{
    *out = (struct sl_gpushare_marks){.pod_units = 0};
    if (strstr(binding->assignment, resource) == NULL) {
        return;
    }
    bool known = false;
    struct sl_pod *pod = sl_store_pod(store, binding->namespace, binding->name);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    uint32_t place = sl_snapshot_find(snapshot, binding->node, 0);
    if (pod != NULL && place != SL_NODE_NONE && sl_str_eq(sl_str_of(pod->uid), binding->uid)) {
        known = read_assignment(snapshot->view[place]->node, pod, binding->assignment, out);
    }
    sl_store_release(store, snapshot);
    sl_pod_unref(pod);
    if (!known) {
        out->index[0] = '\0';
        return;
    }
    out->assume_ns = sl_gpushare_next_ns(last_ns, now_us);
}
