/* What is shown of a node whose GPUs may be cut. */
#ifndef SLICED_SERVER_MODEL_PARTITION_H
#define SLICED_SERVER_MODEL_PARTITION_H

#include "server/app/partition_reader.h"
#include "server/model/field.h"

struct sl_model_partition {
    const struct sl_view *view;
    const char *node;
    struct sl_partition_status status;
    const char *actuator;
    const char *state;
    const char *why; /* NULL: nothing is to be told */
};
extern const struct sl_field sl_model_partition[];
void sl_model_partition_of(const struct sl_partition_reader *reader, const struct sl_view *view,
                           int64_t now_us, struct sl_model_partition *out);

/* Its GPUs, for tables of text: one that is not known where none is. What holds for the node stands
 * beside the first. */
extern const struct sl_field sl_model_cut_gpus;

#endif
