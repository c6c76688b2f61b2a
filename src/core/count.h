/* From a pod's containers to its ask. */
#ifndef SLICED_CORE_COUNT_H
#define SLICED_CORE_COUNT_H

#include "sliced/ask.h"

/* Text that says why an ask is malformed is cut to this, with its NUL. */
enum { SL_ASK_WHY_MAX = 320 };

/* Counts what the pod asks for, as Kubernetes does. The items borrow the names in facts. True when
 * the ask can be had; false when it is malformed: why then holds one line that names the container
 * and the resource, and out no items. */
bool sl_ask_count(const struct sl_pod_facts *facts, struct sl_ask *out, char why[SL_ASK_WHY_MAX]);

/* What a pod that stands on a node may hold there though its ask is malformed, sorted by name: the
 * larger of request and limit, a fraction rounded up, one unit where the text is no quantity,
 * SL_UNITS_MAX where it is too large. Beyond SL_POD_ITEMS_MAX resources those are left out that a
 * node is least likely to offer. Returns how many there are. */
unsigned sl_ask_count_all(const struct sl_pod_facts *facts,
                          struct sl_ask_item out[SL_POD_ITEMS_MAX]);

/* CPU and memory of one pod are cut to this: more than any machine has, and 8,192 of them can be
 * added up. */
#define SL_HOST_MAX (INT64_C(1) << 50)

struct sl_host_ask {
    int64_t cpu_milli;
    int64_t memory_bytes;
};

/* CPU and memory that the pod requests, counted in the same way; limits stand for requests that are
 * not there, as the API server has it, or cannot be read. What cannot be read at all counts as
 * nothing. */
struct sl_host_ask sl_host_count(const struct sl_pod_facts *facts);

#endif
