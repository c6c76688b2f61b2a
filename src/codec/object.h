/* Kubernetes objects from events: Node, Pod, and manifests (single objects, Lists, several
 * documents). A field that matters and has a wrong type or a duplicate key is an error that
 * names it. With forgiving limits it is the object's problem instead, and counts as absent.
 * Fields that do not matter are skipped. */
#ifndef SLICED_CODEC_OBJECT_H
#define SLICED_CODEC_OBJECT_H

#include "codec/stream/event.h"
#include "sliced/facts.h"
#include "util/data/arena.h"

enum sl_object_kind {
    SL_OBJECT_NODE,
    SL_OBJECT_POD,
    SL_OBJECT_JOB,
    SL_OBJECT_CONFIG_MAP,
    SL_OBJECT_DEVICE_CLASS,
    SL_OBJECT_NAMESPACE,
    SL_OBJECT_OTHER,
};

/* One decoded object, with the one of node, pod and job set that is of its kind. Valid during
 * the call: its text is in the decoder's arena, which is reset after each object. In manifests
 * Jobs, ConfigMaps, DeviceClasses and Namespaces are OTHER. */
struct sl_object {
    enum sl_object_kind kind;
    struct sl_str kind_name; /* "ConfigMap" */
    struct sl_node_facts *node;
    struct sl_pod_facts *pod;
    struct sl_job_facts *job;
    const struct sl_pair *data;   /* a ConfigMap's key "gpus" alone */
    struct sl_str extended;       /* a DeviceClass' spec.extendedResourceName; empty: none */
    struct sl_str space;          /* a Namespace's name; empty: it is none */
    const struct sl_pair *labels; /* of a Namespace */
};

/* Returns 0 to go on, -1 with *err set to stop. */
typedef int (*sl_object_fn)(void *context, const struct sl_object *object, struct sl_error *err);

enum {
    /* Bytes kept of one object while it is read. No object that an API server takes (etcd allows
     * 1.5 MiB, a request 3 MiB) needs as much. */
    SL_OBJECT_BYTES_MAX = 16 << 20,
    SL_KIND_NAME_MAX = 64, /* of a kind, with its NUL */
};

/* ---- JSON that comes in pieces (a POST, a list) ---- */

struct sl_manifest;

/* Reads one JSON text: an object or a List. receive is called during feed. NULL when out of
 * memory. */
struct sl_manifest *sl_manifest_new(const struct sl_text_limits *limits, sl_object_fn receive,
                                    void *context);
void sl_manifest_free(struct sl_manifest *manifest); /* NULL is allowed */

/* Takes a piece of any size. 0, or -1 with *err set: line, column, and the field's path such as
 * "items[3].spec.containers[0].name". Fails the same way ever after. */
int sl_manifest_feed(struct sl_manifest *manifest, const char *data, size_t len,
                     struct sl_error *err);

/* The text has ended: -1 when it is not complete. */
int sl_manifest_finish(struct sl_manifest *manifest, struct sl_error *err);

/* ---- whole texts ---- */

/* Reads a whole text, JSON (when it begins with '{') or YAML: an object, a List (List, NodeList,
 * PodList with or without kinds on the items), or several documents. Calls receive for each object
 * as soon as it is complete; never holds more than one. Objects decoded before an error have been
 * received. */
int sl_manifest_decode(const char *text, size_t len, const struct sl_text_limits *limits,
                       sl_object_fn receive, void *context, struct sl_error *err);

#endif
