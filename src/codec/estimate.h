/* The body of a StartEstimate of visibility.sliced.dev: a pod that is not there. Unlike a pod that
 * the API server sends this one has been through no admission: each part that matters and cannot be
 * read is an error. */
#ifndef SLICED_CODEC_ESTIMATE_H
#define SLICED_CODEC_ESTIMATE_H

#include "codec/stream/event.h"
#include "sliced/facts.h"
#include "util/data/arena.h"

/* Reads a whole text. -1 with *err set, which names the field, as in
 * "spec.pod.spec.containers[0].name". The facts' text lives in the arena. A pod needs no name. */
int sl_estimate_decode(struct sl_str text, const struct sl_text_limits *limits,
                       struct sl_arena *arena, struct sl_pod_facts *out, struct sl_error *err);

#endif
