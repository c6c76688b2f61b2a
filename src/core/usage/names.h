/* Questions about a resident that names.c and pod.c share. */
#ifndef SLICED_CORE_NAMES_H
#define SLICED_CORE_NAMES_H

#include "sliced/usage.h"

uint64_t sl_names_key(const struct sl_pod *pod); /* sl_usage_pod_key() */
/* The pool of the resident's i-th part: the view makes no others than of the node's. */
const struct sl_pool *sl_names_pool(const struct sl_view *view, const struct sl_resident *resident,
                                    unsigned i);
int64_t sl_names_held(const struct sl_view *view, const struct sl_resident *resident); /* units */
bool sl_names_shares(const struct sl_view *view, const struct sl_resident *resident);  /* GPUs */
bool sl_names_is_on(const struct sl_usage_row *row, uint64_t key);
/* Is the row one of an instance of that profile, as the driver rounds its name? */
bool sl_names_is_of(const struct sl_node *node, const struct sl_usage_row *row,
                    const struct sl_mig_profile *profile);

#endif
