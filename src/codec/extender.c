/* Reading a body: its life, and what must be in it when it has ended. */
#include "codec/extender_body.h"

#include <stdlib.h>

struct sl_body *sl_body_new(const struct sl_text_limits *limits, struct sl_arena *arena)
{
    struct sl_body *body = calloc(1, sizeof(*body));
    if (body == NULL) {
        return NULL;
    }
    body->arena = arena;
    struct sl_text_limits forgiving = *limits;
    forgiving.forgiving = true;
    body->json = sl_json_new(&forgiving, sl_walk_receive, &body->walker);
    if (body->json == NULL) {
        sl_body_free(body);
        return NULL;
    }
    sl_body_begin(body, SL_BODY_ARGS, &(struct sl_body_sink){0});
    return body;
}

void sl_body_free(struct sl_body *body)
{
    if (body == NULL) {
        return;
    }
    sl_json_free(body->json);
    free(body);
}

size_t sl_body_bytes(const struct sl_body *body)
{
    return sizeof(*body) + sl_json_bytes(body->json);
}

void sl_body_begin(struct sl_body *body, enum sl_body_kind kind, const struct sl_body_sink *sink)
{
    body->kind = kind;
    body->sink = *sink;
    body->build = (struct sl_build){0};
    body->binding = (struct sl_binding_args){0};
    body->review = (struct sl_review){0};
    body->api_version = (struct sl_str){0};
    body->kind_name = (struct sl_str){0};
    body->has_pod = false;
    body->by_nodes = false;
    body->by_names = false;
    body->by_victims = false;
    body->by_meta_victims = false;
    body->failed = false;
    body->error.code = SL_ERR_NONE;
    sl_walk_init(&body->walker, &sl_body_roots[kind], body, body->arena, body);
    sl_json_reset(body->json, sl_walk_receive, &body->walker);
}

static int body_settle(struct sl_body *body, int result, struct sl_error *err)
{
    if (result == 0) {
        return 0;
    }
    body->failed = true;
    if (err != NULL) {
        *err = body->error;
    }
    return -1;
}

int sl_body_feed(struct sl_body *body, const char *data, size_t len, struct sl_error *err)
{
    int result = -1;
    if (!body->failed) {
        result = sl_json_feed(body->json, data, len, &body->error);
        if (result != 0) {
            sl_walk_place(&body->walker, NULL, &body->error);
        }
    }
    return body_settle(body, result, err);
}

/* ---- what must be there ---- */

static int fail_missing(struct sl_body *body, const char *field, const char *message)
{
    (void)sl_error_set(&body->error, SL_ERR_FIELD, "%s", message);
    size_t len = strlen(field);
    memcpy(body->error.field, field, len + 1);
    return -1;
}

static int check_pod(struct sl_body *body)
{
    if (!body->has_pod) {
        return fail_missing(body, "Pod", "is missing");
    }
    if (body->build.meta.name.len == 0) {
        return fail_missing(body, "Pod.metadata.name", "is missing");
    }
    sl_build_pod(&body->build);
    return 0;
}

static int check_args(struct sl_body *body)
{
    if (check_pod(body) != 0) {
        return -1;
    }
    return body->by_nodes || body->by_names
               ? 0
               : fail_missing(body, "NodeNames", "is missing, and so is Nodes");
}

static int check_preempt(struct sl_body *body)
{
    if (check_pod(body) != 0) {
        return -1;
    }
    return body->by_victims || body->by_meta_victims
               ? 0
               : fail_missing(body, "NodeNameToMetaVictims",
                              "is missing, and so is NodeNameToVictims");
}

static int check_binding(struct sl_body *body)
{
    const struct {
        const char *name;
        struct sl_str value;
    } fields[] = {
        {"PodName", body->binding.pod_name},
        {"PodNamespace", body->binding.pod_namespace},
        {"PodUID", body->binding.pod_uid},
        {"Node", body->binding.node},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].value.len == 0) {
            return fail_missing(body, fields[i].name, "is missing or empty");
        }
    }
    return 0;
}

static int check_review(struct sl_body *body)
{
    if (!sl_str_eq(body->api_version, SL_STR("admission.k8s.io/v1"))) {
        return fail_missing(body, "apiVersion", "is not admission.k8s.io/v1");
    }
    if (!sl_str_eq(body->kind_name, SL_STR("AdmissionReview"))) {
        return fail_missing(body, "kind", "is not AdmissionReview");
    }
    if (body->review.uid.len == 0) {
        return fail_missing(body, "request.uid", "is missing or empty");
    }
    sl_build_pod(&body->build);
    return 0;
}

int sl_body_finish(struct sl_body *body, struct sl_error *err)
{
    static int (*const checks[])(struct sl_body *) = {
        [SL_BODY_ARGS] = check_args,
        [SL_BODY_BINDING] = check_binding,
        [SL_BODY_PREEMPT] = check_preempt,
        [SL_BODY_REVIEW] = check_review,
    };
    int result = -1;
    if (!body->failed) {
        result = sl_json_finish(body->json, &body->error);
        if (result != 0) {
            sl_walk_place(&body->walker, NULL, &body->error);
        } else {
            result = checks[body->kind](body);
        }
    }
    return body_settle(body, result, err);
}

const struct sl_pod_facts *sl_body_pod(const struct sl_body *body)
{
    return &body->build.pod;
}

const struct sl_binding_args *sl_body_binding(const struct sl_body *body)
{
    return &body->binding;
}

const struct sl_review *sl_body_review(const struct sl_body *body)
{
    return &body->review;
}

bool sl_body_by_nodes(const struct sl_body *body)
{
    return body->by_nodes;
}
