/* The manifests of a benchmark's cluster, in a folder of their own that is removed again. */
#ifndef SLICED_BENCH_CLUSTER_FILES_H
#define SLICED_BENCH_CLUSTER_FILES_H

#include <stddef.h>

struct bench_cluster {
    char folder[128];
    size_t files;
};

/* Nodes and ten pods for each. Many files of a few megabytes: what a daemon holds while it reads
 * one is not what it holds afterwards. */
void bench_cluster_write(struct bench_cluster *cluster, size_t nodes);
void bench_cluster_remove(const struct bench_cluster *cluster);

#endif
