/* The words of a refusal. */
#ifndef SLICED_CLUSTER_BIND_REFUSE_H
#define SLICED_CLUSTER_BIND_REFUSE_H

#include "cluster/state/entry.h"
#include "cluster/store.h"

/* A call to reserve or nominate: the pod and the node that it names. */
struct sl_bind {
    struct sl_str ns;
    struct sl_str name;
    struct sl_str uid;
    struct sl_str node;
    int64_t now_us;
};

/* "pod NS/NAME " and the problem. */
void sl_refuse_pod(struct sl_bind_result *result, enum sl_bind_code code,
                   const struct sl_bind *bind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* "node NAME" and the problem. */
void sl_refuse_node(struct sl_bind_result *result, enum sl_bind_code code,
                    const struct sl_bind *bind, const char *why);
void sl_refuse_memory(struct sl_bind_result *result);
/* The pod is bound or reserved: success, or a refusal that changes nothing. */
void sl_refuse_standing(const struct sl_entry *entry, const struct sl_bind *bind,
                        struct sl_bind_result *result);

#endif
