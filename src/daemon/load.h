/* Reads the manifests of an embedded cluster into a store. */
#ifndef SLICED_DAEMON_LOAD_H
#define SLICED_DAEMON_LOAD_H

#include "cluster/store.h"
#include "config/config.h"
#include "kube/tenants/namespaces.h"

struct sl_load_counts {
    size_t nodes;
    size_t pods;
    size_t others; /* ignored objects of other kinds */
};

/* namespaces: where Namespaces are put; NULL: they are ignored. Loads files, folders (their *.yaml,
 * *.yml and *.json in order of name) and "-" (standard input). -1 with *err set; its message begins
 * with "file:line:column: ". */
int sl_load_cluster(struct sl_store *store, struct sl_namespaces *namespaces,
                    const struct sl_config *config, const char *const *paths, size_t n,
                    struct sl_load_counts *counts, struct sl_error *err);

#endif
