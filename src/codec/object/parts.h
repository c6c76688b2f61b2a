/* The tables of Kubernetes' own objects, of which bodies, manifests, lists and watches are made.
 * Private to the decoders. */
#ifndef SLICED_CODEC_OBJECT_PARTS_H
#define SLICED_CODEC_OBJECT_PARTS_H

#include "codec/object.h"
#include "codec/stream/walker.h"

enum { SL_META_OWNER_MAX = 256 /* of its kind or name, with NUL; a longer one is as none */ };

struct sl_meta {
    struct sl_str name;
    struct sl_str namespace;
    struct sl_str uid;
    struct sl_str resource_version;
    int64_t created_us;
    int64_t deleting_us;
    bool deleting;
    bool daemon_set;       /* a DaemonSet of apps controls it */
    bool owner_of_apps;    /* of the owner that is read: its apiVersion is of apps, */
    bool owner_daemon_set; /* its kind DaemonSet, */
    bool owner_controls;   /* and controller true */
    char owner_kind[SL_META_OWNER_MAX];
    char owner_name[SL_META_OWNER_MAX];
    struct sl_str owner; /* "Job/train": the first that controls it; empty: none */
    struct sl_pair *labels;
    struct sl_pair *annotations;
};

/* The target of all tables below. It has both Node and Pod, because an object's kind may come
 * behind its fields; their keys do not clash. */
struct sl_build {
    struct sl_meta meta;
    struct sl_node_facts node; /* spec and status */
    struct sl_pod_facts pod;   /* spec and status */
    struct sl_str problem;     /* see sl_build_problem */
    struct sl_str extended;    /* of a DeviceClass */
    bool scheduled_type;       /* of the pod's condition that is read: it is PodScheduled, */
    bool queued_type;          /* or sliced.dev/Queued, */
    bool is_true;              /* its status is True, */
    bool is_false;             /* or False, */
    bool is_gated;             /* and its reason SchedulingGated */
};

/* The target of a Job's status. */
struct sl_job_build {
    struct sl_job_facts facts;
    struct sl_str type; /* of the condition that is read */
    struct sl_str status;
};

extern const struct sl_table sl_meta_table;
extern const struct sl_table sl_node_spec_table;
extern const struct sl_table sl_node_status_table;
extern const struct sl_table sl_pod_spec_table;   /* also: the node's */
extern const struct sl_table sl_pod_status_table; /* also: the node's */
extern const struct sl_table sl_pod_table;        /* metadata, spec, status of a pod */
extern const struct sl_table sl_job_status_table; /* target: sl_job_build */
extern const struct sl_table sl_affinity_table;   /* of a pod's spec; target: sl_pod_facts */
extern const struct sl_table sl_toleration_table; /* target: sl_toleration_facts */

/* Sets the problem of the pod or node: the first thing in it that could not be read and was
 * skipped. -1 with *err when out of memory. */
int sl_build_problem(struct sl_build *build, const struct sl_error *why, struct sl_arena *arena,
                     struct sl_error *err);

/* A value hook: checks that a string is a time. */
int sl_meta_read_time(struct sl_walker *walker, const struct sl_event *event, int64_t *out_us,
                      struct sl_error *err);

/* Puts metadata into the facts; of a node also reads the annotation sliced.dev/devices. -1 with
 * *err when out of memory or past the arena's maximum. */
void sl_build_pod(struct sl_build *build);
int sl_build_node(struct sl_build *build, struct sl_arena *arena, struct sl_error *err);

/* Reads the text of the annotation sliced.dev/devices (docs/devices.md) into *out. When it is
 * malformed, *out is NULL and *problem says why. -1 with *err as above. */
int sl_devices_decode(struct sl_str text, struct sl_arena *arena, struct sl_device_facts **out,
                      struct sl_str *problem, struct sl_error *err);

#endif
