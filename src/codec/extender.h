/* The bodies of requests: the extender's (k8s.io/kube-scheduler/extender/v1; keys in any case,
 * exact names out) and a webhook's AdmissionReview (k8s.io/api/admission/v1). */
#ifndef SLICED_CODEC_EXTENDER_H
#define SLICED_CODEC_EXTENDER_H

#include "codec/stream/event.h"
#include "codec/write.h"
#include "sliced/facts.h"
#include "util/data/arena.h"

enum sl_body_kind {
    SL_BODY_ARGS,    /* ExtenderArgs: filter, prioritize */
    SL_BODY_BINDING, /* ExtenderBindingArgs */
    SL_BODY_PREEMPT, /* ExtenderPreemptionArgs */
    SL_BODY_REVIEW,  /* AdmissionReview: of a pod, or of something else */
};

struct sl_binding_args {
    struct sl_str pod_name;
    struct sl_str pod_namespace;
    struct sl_str pod_uid;
    struct sl_str node;
};

/* The object that an API server asks a webhook about. */
struct sl_review {
    struct sl_str uid;         /* of the request: the answer repeats it */
    struct sl_str operation;   /* "CREATE" */
    struct sl_str subresource; /* "status", ...; empty: the object itself */
    struct sl_str group;       /* of the object's kind, as are version and kind */
    struct sl_str version;
    struct sl_str kind;
    struct sl_str namespace;
    struct sl_str user; /* userInfo.username: who asks for it */
    bool has_object;
};

/* The functions that the decoder calls; those of no interest may be NULL. A refusal (-1 with
 * *err set) stops the body and gets the place. Names and UIDs are never empty; the sink itself
 * looks for duplicates, since the decoder keeps none of them. */
struct sl_body_sink {
    void *context;
    /* Each candidate node in order, from NodeNames or from Nodes.items[].metadata.name; name is
     * valid during the call. */
    int (*node)(void *context, struct sl_str name, struct sl_error *err);
    /* Beside node, for Nodes: each is appended to whole as it stands in the body, with a comma
     * behind, before the call of node_end. NULL: none is kept. */
    struct sl_buf *whole;
    int (*node_end)(void *context, struct sl_error *err);
    /* The short way for NodeNames, beside node. Takes as many of the first of these names as it
     * can without a complaint, none that is empty, and returns how many; the decoder calls node
     * for the next one. In the body the names stand one behind the other: quoted, without
     * escapes, and with nothing but a comma between. */
    size_t (*nodes)(void *context, const struct sl_str *name, size_t n);
    /* Preempt: a node with victims begins; then each victim's UID (Victims' pods and MetaVictims
     * alike); pdb_violations when the node ends. */
    int (*victims)(void *context, struct sl_str node, struct sl_error *err);
    int (*victim)(void *context, struct sl_str uid, struct sl_error *err);
    int (*victims_end)(void *context, int64_t pdb_violations, struct sl_error *err);
};

struct sl_body;

/* A decoder for one body at a time. It puts what it keeps of a body into the arena, which is
 * borrowed: the owner resets it between bodies, before sl_body_begin. NULL when out of memory. */
struct sl_body *sl_body_new(const struct sl_text_limits *limits, struct sl_arena *arena);
void sl_body_free(struct sl_body *body); /* NULL is allowed */
/* Bytes of the decoder itself, and of the token that a piece's end has cut. */
size_t sl_body_bytes(const struct sl_body *body);

/* Starts over for a body of that kind. */
void sl_body_begin(struct sl_body *body, enum sl_body_kind kind, const struct sl_body_sink *sink);

/* Takes a piece of the body, of any size. 0, or -1 with *err set: its field names the place, as
 * in "Pod.spec.containers[0].resources.limits". Fails the same way ever after. */
int sl_body_feed(struct sl_body *body, const char *data, size_t len, struct sl_error *err);

/* The body has ended. Checks what must be there: ARGS needs Pod and one of Nodes and NodeNames,
 * BINDING all four fields, PREEMPT Pod and one of the two maps, REVIEW that it is one of v1 and has
 * a request with a UID. */
int sl_body_finish(struct sl_body *body, struct sl_error *err);

/* After a successful finish. The pod's text lives in the arena. */
/* ARGS, PREEMPT; REVIEW: the object, read as a pod. One that is about to be created may have no
 * name yet. */
const struct sl_pod_facts *sl_body_pod(const struct sl_body *body);
const struct sl_binding_args *sl_body_binding(const struct sl_body *body); /* BINDING */
const struct sl_review *sl_body_review(const struct sl_body *body);        /* REVIEW */
bool sl_body_by_nodes(const struct sl_body *body); /* asked with Nodes: answer with Nodes */

#endif
