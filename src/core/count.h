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

struct sl_host_ask {
    int64_t cpu_milli;
    int64_t memory_bytes;
};

/* CPU and memory that the pod requests, counted in the same way; limits stand for requests that are
 * not there, as the API server has it. What cannot be read counts as nothing, what is too large as
 * INT64_MAX. */
struct sl_host_ask sl_host_count(const struct sl_pod_facts *facts);

#endif
