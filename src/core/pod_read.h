/* What a pod's metadata, spec and status say, field by field. What is malformed is as good as not
 * there; problem then gets a sentence. */
#ifndef SLICED_CORE_POD_READ_H
#define SLICED_CORE_POD_READ_H

#include "core/text.h"
#include "sliced/pod.h"

/* How many labels of a pod are kept, and how long an annotation sliced.dev/after may be. */
enum { SL_POD_LABELS_MAX = 64, SL_POD_AFTER_MAX = 1024 };

enum sl_pod_phase sl_pod_read_phase(struct sl_str phase);
enum sl_gate sl_pod_read_gate(const struct sl_pair *gates);
int64_t sl_pod_read_timeout(const struct sl_pod_facts *facts, struct sl_text *problem);

/* text is scratch, of at least SL_ASSIGNMENT_TEXT_MAX + 1 bytes, that the answer may point to. */
struct sl_str sl_pod_read_assignment(const struct sl_pod_facts *facts, const struct sl_ask *ask,
                                     char *text, struct sl_text *problem);

struct sl_str sl_pod_read_after(const struct sl_pod_facts *facts, struct sl_text *problem);

/* The label aliyun.com/gpu-count of a pod that asks for so many units of aliyun.com/gpu-mem; 1 when
 * there is none, or none that divides them. */
uint8_t sl_pod_read_gpus(const struct sl_pod_facts *facts, int64_t units, struct sl_text *problem);

/* MiB, rounded up; 0 when there is none. */
int64_t sl_pod_read_gpu_memory(const struct sl_pod_facts *facts, struct sl_str annotation,
                               struct sl_text *problem);

/* Two hashes for each label, sorted; returns how many. */
uint32_t sl_pod_read_labels(const struct sl_pod_facts *facts, uint64_t out[2 * SL_POD_LABELS_MAX],
                            struct sl_text *problem);

#endif
