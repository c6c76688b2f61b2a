/* Private to the walk: one value, by the kind of its field. */
#ifndef SLICED_CODEC_WALKER_KINDS_H
#define SLICED_CODEC_WALKER_KINDS_H

#include "codec/stream/walker.h"

/* Takes a field's value into target + offset, or opens a frame for it. */
int sl_walk_take(struct sl_walker *walker, const struct sl_field *field, char *target,
                 const struct sl_event *event, struct sl_error *err);

/* The same for an element of the array, or a value of the map, that the frame is. */
int sl_walk_take_element(struct sl_walker *walker, struct sl_walk_frame *frame,
                         const struct sl_event *event, struct sl_error *err);

#endif
