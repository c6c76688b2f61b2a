/* Maps node names to places in a snapshot. */
#ifndef SLICED_CLUSTER_PUBLISH_INDEX_H
#define SLICED_CLUSTER_PUBLISH_INDEX_H

#include <stddef.h>

struct sl_host_entry;
struct sl_node_index;

/* The names of the hosts, in their order; NULL: out of memory. All snapshots between two changes of
 * the set of nodes share one. */
struct sl_node_index *sl_index_new(struct sl_host_entry *const *order, size_t n);
struct sl_node_index *sl_index_ref(struct sl_node_index *index);
void sl_index_unref(struct sl_node_index *index);

#endif
