/* What is shown of a node: its resources, its GPUs, and who uses them. */
#ifndef SLICED_SERVER_MODEL_NODE_H
#define SLICED_SERVER_MODEL_NODE_H

#include "server/model/field.h"
#include "sliced/view.h"

/* Of a struct sl_view. Users see no pods. */
extern const struct sl_field sl_model_node[];

/* Lists of a view, for tables of text: its resources, and the pods that are there. */
extern const struct sl_field sl_model_pools;
extern const struct sl_field sl_model_residents;
/* Appends a table of the node's GPUs and instances. */
void sl_model_devices_table(const struct sl_view *view, size_t max_bytes, struct sl_buf *out);

/* Returns what is wrong with the node's labels and with what its pods hold: a text in out or in the
 * view; NULL: nothing is wrong. record: a struct sl_view. */
const char *sl_model_problem(const void *record, char out[SL_FIELD_TEXT_MAX]);

#endif
