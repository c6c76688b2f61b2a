/* Private to the decoder of bodies: its state, and its tables. */
#ifndef SLICED_CODEC_EXTENDER_BODY_H
#define SLICED_CODEC_EXTENDER_BODY_H

#include "codec/extender.h"
#include "codec/object/parts.h"
#include "codec/stream/json.h"

struct sl_body {
    struct sl_json *json;
    struct sl_arena *arena;
    enum sl_body_kind kind;
    struct sl_body_sink sink;
    struct sl_walker walker;
    struct sl_build build; /* the pod */
    struct sl_binding_args binding;
    struct sl_review review;
    struct sl_str api_version; /* of the review, as is kind_name */
    struct sl_str kind_name;
    int64_t pdb_violations; /* of the node whose victims are read */
    bool has_pod;
    bool by_nodes;
    bool by_names;
    bool by_victims;
    bool by_meta_victims;
    bool named; /* the current item or victim has said its name or UID */
    bool failed;
    struct sl_error error; /* when failed */
};

/* By kind, the field that a body is as a whole; its target is the struct sl_body. */
extern const struct sl_field sl_body_roots[];

#endif
