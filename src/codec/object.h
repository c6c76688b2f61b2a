/* Kubernetes objects from events: Node, Pod, and manifests (single objects, Lists, several
 * documents). Wrong types and duplicate keys of fields that matter are errors that name the field;
 * fields that do not matter are passed over. */
#ifndef SLICED_CODEC_OBJECT_H
#define SLICED_CODEC_OBJECT_H

#include "codec/event.h"
#include "sliced/facts.h"
#include "util/arena.h"

enum sl_object_kind { SL_OBJECT_NODE, SL_OBJECT_POD, SL_OBJECT_OTHER };

/* One decoded object; exactly one of node and pod is set (none for SL_OBJECT_OTHER). Valid during
 * the call: its text is in the decoder's arena, which is reset after each object. */
struct sl_object {
    enum sl_object_kind kind;
    struct sl_str kind_name; /* "ConfigMap" */
    struct sl_node_facts *node;
    struct sl_pod_facts *pod;
};

/* Returns 0 to go on, -1 with *err set to stop. */
typedef int (*sl_object_fn)(void *context, const struct sl_object *object, struct sl_error *err);

/* Reads a whole text, JSON (when its first byte is '{') or YAML: an object, a List (List, NodeList,
 * PodList with or without kinds on the items), or several documents. Calls receive for each object
 * as soon as it is complete; never holds more than one. Objects decoded before an error have been
 * received. */
int sl_manifest_decode(const char *text, size_t len, const struct sl_text_limits *limits,
                       sl_object_fn receive, void *context, struct sl_error *err);

/* RFC 3339 ("2026-11-21T12:38:09Z", fractions and offsets allowed) to Unix microseconds. */
bool sl_time_parse(struct sl_str text, int64_t *out_us);
/* Unix microseconds as "2026-11-21T12:38:09Z" (fraction only when there is one). */
void sl_time_format(int64_t us, char out[32]);

#endif
