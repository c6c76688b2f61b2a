/* From a pod's containers to its ask. */
#ifndef SLICED_CORE_COUNT_H
#define SLICED_CORE_COUNT_H

#include "sliced/ask.h"

/* Bytes of the text that tells why an ask is malformed, with its NUL; longer text is cut. */
enum { SL_ASK_WHY_MAX = 320 };

/* Counts what the pod asks for, as Kubernetes does. The items borrow the names in facts. False when
 * the ask is malformed: why then holds one line that names the container and the resource, and out
 * no items. */
bool sl_ask_count(const struct sl_pod_facts *facts, struct sl_ask *out, char why[SL_ASK_WHY_MAX]);

/* Counts what a bound pod with a malformed ask may hold on its node, sorted by name: the larger of
 * request and limit, fractions rounded up, one unit for a text that is no quantity, SL_UNITS_MAX
 * for one too large. Beyond SL_POD_ITEMS_MAX resources, leaves out those that a node is least
 * likely to offer. Returns the number of items. */
unsigned sl_ask_count_all(const struct sl_pod_facts *facts,
                          struct sl_ask_item out[SL_POD_ITEMS_MAX]);

/* CPU and memory of one pod are cut to this: more than any machine has, and 8,192 such pods can be
 * added up. */
#define SL_HOST_MAX (INT64_C(1) << 50)

struct sl_host_ask {
    int64_t cpu_milli;
    int64_t memory_bytes;
};

/* Counts CPU and memory that the pod requests, in the same way, or as its spec.resources say. A
 * limit replaces a request which is absent, as in the API server, or cannot be read. A value that
 * cannot be read either way counts as 0. */
struct sl_host_ask sl_host_count(const struct sl_pod_facts *facts);

#endif
