/* Bodies and manifests as a cluster's tools print them: nodes with eight partitioned GPUs, their
 * labels from GPU feature discovery, 50 images and managedFields, about 16 KB each; pods, half of
 * them with an ask. The same number gives the same text. */
#ifndef SLICED_BENCH_BODIES_H
#define SLICED_BENCH_BODIES_H

#include "codec/write.h"

enum { BENCH_NAME_MAX = 64, BENCH_PODS_PER_NODE = 10 };

void bench_node_name(size_t i, char out[BENCH_NAME_MAX]);

/* ExtenderArgs for the first n nodes. */
void bench_body_names(struct sl_buf *out, size_t n);
void bench_body_nodes(struct sl_buf *out, size_t n);

/* Lists as kubectl prints them with -o json. */
void bench_manifest_nodes(struct sl_buf *out, size_t first, size_t n);
void bench_manifest_pods(struct sl_buf *out, size_t first, size_t n);

#endif
