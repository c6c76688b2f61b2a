/* Reads a pod's metadata, spec and status, field by field. A malformed field counts as absent, and
 * problem gets a sentence. */
#ifndef SLICED_CORE_POD_READ_H
#define SLICED_CORE_POD_READ_H

#include "core/request/text.h"
#include "sliced/pod.h"

/* Labels of a pod that are kept, and bytes of an annotation sliced.dev/after, at most. */
enum { SL_POD_LABELS_MAX = 64, SL_POD_AFTER_MAX = 1024 };

enum sl_pod_phase sl_pod_read_phase(struct sl_str phase);
enum sl_gate sl_pod_read_gate(const struct sl_pair *gates);
int64_t sl_pod_read_timeout(const struct sl_pod_facts *facts, struct sl_text *problem);

/* text is scratch of at least SL_ASSIGNMENT_TEXT_MAX + 1 bytes; the result may point into it. */
struct sl_str sl_pod_read_assignment(const struct sl_pod_facts *facts, const struct sl_ask *ask,
                                     char *text, struct sl_text *problem);

struct sl_str sl_pod_read_after(const struct sl_pod_facts *facts, struct sl_text *problem);

/* Returns the label aliyun.com/gpu-count of a pod which asks for that many units of
 * aliyun.com/gpu-mem; 1 when it is absent or does not divide the units. */
uint8_t sl_pod_read_gpus(const struct sl_pod_facts *facts, int64_t units, struct sl_text *problem);

/* Returns the annotation's MiB, rounded up; 0 when absent. */
int64_t sl_pod_read_gpu_memory(const struct sl_pod_facts *facts, struct sl_str annotation,
                               struct sl_text *problem);

/* Writes two hashes for each label, sorted; returns how many. */
uint32_t sl_pod_read_labels(const struct sl_pod_facts *facts, uint64_t out[2 * SL_POD_LABELS_MAX],
                            struct sl_text *problem);

/* May a label of the pod pass for an exporter's name of a pod, once the exporter has copied it?
 * dcgm-exporter writes '_' for what a label's name may not have (SanitizeLabelName() of its
 * internal/pkg/utils), and Prometheus puts "exported_" before it. */
bool sl_pod_read_poses(const struct sl_pod_facts *facts);

#endif
