/* The bodies of requests as tables. */
#include "codec/extender_body.h"

static int fail_empty(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err)
{
    return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "is empty");
}

/* The sink's failure, with the place where it happened. */
static int take_answer(struct sl_walker *walker, const struct sl_event *event, int result,
                       struct sl_error *err)
{
    if (result == 0) {
        return SL_EVENT_GO;
    }
    sl_walk_place(walker, event, err);
    return SL_EVENT_FAIL;
}

/* One of two fields that exclude each other. */
static int open_either(struct sl_walker *walker, const struct sl_event *event, bool *this_one,
                       const bool *other, const char *other_name, struct sl_error *err)
{
    if (*other) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "is given beside %s", other_name);
    }
    *this_one = true;
    return SL_EVENT_GO;
}

/* ---- filter, prioritize ---- */

/* The pod is a user's text: the decoder skips the parts that it cannot read, and answers all the
 * same. */
static int open_pod(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    struct sl_body *body = walker->context;
    (void)target;
    (void)event;
    (void)err;
    body->has_pod = true;
    walker->defer = true;
    return SL_EVENT_GO;
}

static int end_pod(struct sl_walker *walker, void *target, const struct sl_event *event,
                   struct sl_error *err)
{
    struct sl_body *body = walker->context;
    (void)target;
    (void)event;
    walker->defer = false;
    if (walker->vital) {
        if (err != NULL) {
            *err = walker->deferred; /* an answer would be a guess */
        }
        return SL_EVENT_FAIL;
    }
    return walker->deferred.code == SL_ERR_NONE ||
                   sl_build_problem(&body->build, &walker->deferred, body->arena, err) == 0
               ? SL_EVENT_GO
               : SL_EVENT_FAIL;
}

static const struct sl_table pod_table = {.also = &sl_pod_table, .end = end_pod};

static int open_nodes(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_body *body = target;
    return open_either(walker, event, &body->by_nodes, &body->by_names, "NodeNames", err);
}

static int open_names(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_body *body = target;
    return open_either(walker, event, &body->by_names, &body->by_nodes, "Nodes", err);
}

static int take_name(struct sl_walker *walker, void *target, const struct sl_event *event,
                     struct sl_error *err)
{
    struct sl_body *body = target;
    body->named = true;
    if (event->text.len == 0) {
        return fail_empty(walker, event, err);
    }
    if (body->sink.node == NULL) {
        return SL_EVENT_GO;
    }
    return take_answer(walker, event, body->sink.node(body->sink.context, event->text, err), err);
}

static size_t take_names(struct sl_walker *walker, void *target, const struct sl_str *name,
                         size_t n)
{
    const struct sl_body *body = target;
    (void)walker;
    return body->sink.nodes == NULL ? 0 : body->sink.nodes(body->sink.context, name, n);
}

static int begin_named(struct sl_walker *walker, void *target, const struct sl_event *event,
                       struct sl_error *err)
{
    struct sl_body *body = target;
    (void)walker;
    (void)event;
    (void)err;
    body->named = false;
    return SL_EVENT_GO;
}

static int begin_node(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_body *body = target;
    if (body->sink.whole != NULL) {
        sl_json_keep(body->json, body->sink.whole);
    }
    return begin_named(walker, target, event, err);
}

static int end_node(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    const struct sl_body *body = target;
    if (!body->named) {
        return sl_walk_missing(walker, event, err, "metadata.name");
    }
    if (body->sink.whole == NULL) {
        return SL_EVENT_GO;
    }
    sl_json_keep_end(body->json);
    sl_buf_putc(body->sink.whole, ',');
    return take_answer(walker, event, body->sink.node_end(body->sink.context, err), err);
}

/* Go writes "items": null for an empty list; a list without the key is an error. */
static int end_node_list(struct sl_walker *walker, void *target, const struct sl_event *event,
                         struct sl_error *err)
{
    (void)target;
    bool has_items = walker->frame[walker->depth - 1].seen != 0;
    return has_items ? SL_EVENT_GO : sl_walk_missing(walker, event, err, "items");
}

static const struct sl_field node_meta_fields[] = {
    {SL_FIELD_NAME("name"), .kind = SL_FIELD_TEXT, .value = take_name},
};
static const struct sl_table node_meta_table = {SL_TABLE_FIELDS(node_meta_fields),
                                                .any_case = true};

static const struct sl_field node_fields[] = {
    {SL_FIELD_NAME("metadata"), .kind = SL_FIELD_OBJECT, .table = &node_meta_table},
};
static const struct sl_table node_table = {SL_TABLE_FIELDS(node_fields), .any_case = true,
                                           .begin = begin_node, .end = end_node};

static const struct sl_field node_list_fields[] = {
    {SL_FIELD_NAME("items"), .kind = SL_FIELD_OBJECTS, .table = &node_table},
};
static const struct sl_table node_list_table = {SL_TABLE_FIELDS(node_list_fields), .any_case = true,
                                                .end = end_node_list};

static const struct sl_field args_fields[] = {
    {SL_FIELD_NAME("Pod"), .kind = SL_FIELD_OBJECT, .table = &pod_table,
     .offset = offsetof(struct sl_body, build), .open = open_pod},
    {SL_FIELD_NAME("Nodes"), .kind = SL_FIELD_OBJECT, .table = &node_list_table,
     .open = open_nodes},
    {SL_FIELD_NAME("NodeNames"), .kind = SL_FIELD_TEXTS, .open = open_names, .value = take_name,
     .run = take_names},
};
static const struct sl_table args_table = {SL_TABLE_FIELDS(args_fields), .any_case = true};

/* ---- bind ---- */

static const struct sl_field binding_fields[] = {
    {SL_FIELD_NAME("PodName"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, binding.pod_name)},
    {SL_FIELD_NAME("PodNamespace"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, binding.pod_namespace)},
    {SL_FIELD_NAME("PodUID"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, binding.pod_uid)},
    {SL_FIELD_NAME("Node"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, binding.node)},
};
static const struct sl_table binding_table = {SL_TABLE_FIELDS(binding_fields), .any_case = true};

/* ---- preempt ---- */

static int open_victims(struct sl_walker *walker, void *target, const struct sl_event *event,
                        struct sl_error *err)
{
    struct sl_body *body = target;
    return open_either(walker, event, &body->by_victims, &body->by_meta_victims,
                       "NodeNameToMetaVictims", err);
}

static int open_meta_victims(struct sl_walker *walker, void *target, const struct sl_event *event,
                             struct sl_error *err)
{
    struct sl_body *body = target;
    return open_either(walker, event, &body->by_meta_victims, &body->by_victims,
                       "NodeNameToVictims", err);
}

/* A key of either map: a node with victims begins. */
static int take_victims_node(struct sl_walker *walker, void *target, const struct sl_event *event,
                             struct sl_error *err)
{
    struct sl_body *body = target;
    body->pdb_violations = 0;
    if (event->text.len == 0) {
        return fail_empty(walker, event, err);
    }
    if (body->sink.victims == NULL) {
        return SL_EVENT_GO;
    }
    return take_answer(walker, event, body->sink.victims(body->sink.context, event->text, err),
                       err);
}

static int end_victims(struct sl_walker *walker, void *target, const struct sl_event *event,
                       struct sl_error *err)
{
    struct sl_body *body = target;
    if (body->sink.victims_end == NULL) {
        return SL_EVENT_GO;
    }
    int result = body->sink.victims_end(body->sink.context, body->pdb_violations, err);
    return take_answer(walker, event, result, err);
}

static int take_uid(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    struct sl_body *body = target;
    body->named = true;
    if (event->text.len == 0) {
        return fail_empty(walker, event, err);
    }
    if (body->sink.victim == NULL) {
        return SL_EVENT_GO;
    }
    return take_answer(walker, event, body->sink.victim(body->sink.context, event->text, err), err);
}

static int end_victim(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    const struct sl_body *body = target;
    return body->named ? SL_EVENT_GO : sl_walk_missing(walker, event, err, "metadata.uid");
}

static int end_meta_victim(struct sl_walker *walker, void *target, const struct sl_event *event,
                           struct sl_error *err)
{
    const struct sl_body *body = target;
    return body->named ? SL_EVENT_GO : sl_walk_missing(walker, event, err, "UID");
}

static const struct sl_field victim_meta_fields[] = {
    {SL_FIELD_NAME("uid"), .kind = SL_FIELD_TEXT, .value = take_uid},
};
static const struct sl_table victim_meta_table = {SL_TABLE_FIELDS(victim_meta_fields),
                                                  .any_case = true};

static const struct sl_field victim_fields[] = {
    {SL_FIELD_NAME("metadata"), .kind = SL_FIELD_OBJECT, .table = &victim_meta_table},
};
static const struct sl_table victim_table = {SL_TABLE_FIELDS(victim_fields), .any_case = true,
                                             .begin = begin_named, .end = end_victim};

static const struct sl_field meta_victim_fields[] = {
    {SL_FIELD_NAME("UID"), .kind = SL_FIELD_TEXT, .value = take_uid},
};
static const struct sl_table meta_victim_table = {SL_TABLE_FIELDS(meta_victim_fields),
                                                  .any_case = true, .begin = begin_named,
                                                  .end = end_meta_victim};

static const struct sl_field victims_fields[] = {
    {SL_FIELD_NAME("Pods"), .kind = SL_FIELD_OBJECTS, .table = &victim_table},
    {SL_FIELD_NAME("NumPDBViolations"), .kind = SL_FIELD_I64,
     .offset = offsetof(struct sl_body, pdb_violations)},
};
static const struct sl_table victims_table = {SL_TABLE_FIELDS(victims_fields), .any_case = true,
                                              .end = end_victims};

static const struct sl_field meta_victims_fields[] = {
    {SL_FIELD_NAME("Pods"), .kind = SL_FIELD_OBJECTS, .table = &meta_victim_table},
    {SL_FIELD_NAME("NumPDBViolations"), .kind = SL_FIELD_I64,
     .offset = offsetof(struct sl_body, pdb_violations)},
};
static const struct sl_table meta_victims_table = {SL_TABLE_FIELDS(meta_victims_fields),
                                                   .any_case = true, .end = end_victims};

static const struct sl_field preempt_fields[] = {
    {SL_FIELD_NAME("Pod"), .kind = SL_FIELD_OBJECT, .table = &pod_table,
     .offset = offsetof(struct sl_body, build), .open = open_pod},
    {SL_FIELD_NAME("NodeNameToVictims"), .kind = SL_FIELD_OBJECT_MAP, .table = &victims_table,
     .open = open_victims, .value = take_victims_node},
    {SL_FIELD_NAME("NodeNameToMetaVictims"), .kind = SL_FIELD_OBJECT_MAP,
     .table = &meta_victims_table, .open = open_meta_victims, .value = take_victims_node},
};
static const struct sl_table preempt_table = {SL_TABLE_FIELDS(preempt_fields), .any_case = true};

/* ---- admission ---- */

static int open_object(struct sl_walker *walker, void *target, const struct sl_event *event,
                       struct sl_error *err)
{
    struct sl_body *body = target;
    (void)event;
    (void)err;
    body->review.has_object = true;
    walker->defer = true;
    return SL_EVENT_GO;
}

static const struct sl_field review_pod_fields[] = {
    {SL_FIELD_NAME("metadata"), .kind = SL_FIELD_OBJECT, .table = &sl_meta_table,
     .offset = offsetof(struct sl_build, meta)},
    {SL_FIELD_NAME("spec"), .kind = SL_FIELD_OBJECT, .table = &sl_pod_spec_table},
};
static const struct sl_table review_pod_table = {SL_TABLE_FIELDS(review_pod_fields),
                                                 .end = end_pod};

static const struct sl_field review_kind_fields[] = {
    {SL_FIELD_NAME("group"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, review.group)},
    {SL_FIELD_NAME("version"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, review.version)},
    {SL_FIELD_NAME("kind"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, review.kind)},
};
static const struct sl_table review_kind_table = {SL_TABLE_FIELDS(review_kind_fields)};

static const struct sl_field review_user_fields[] = {
    {SL_FIELD_NAME("username"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, review.user)},
};
static const struct sl_table review_user_table = {SL_TABLE_FIELDS(review_user_fields)};

static const struct sl_field review_request_fields[] = {
    {SL_FIELD_NAME("uid"), .kind = SL_FIELD_STRING, .offset = offsetof(struct sl_body, review.uid)},
    {SL_FIELD_NAME("operation"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, review.operation)},
    {SL_FIELD_NAME("namespace"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, review.namespace)},
    {SL_FIELD_NAME("subResource"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, review.subresource)},
    {SL_FIELD_NAME("kind"), .kind = SL_FIELD_OBJECT, .table = &review_kind_table},
    {SL_FIELD_NAME("userInfo"), .kind = SL_FIELD_OBJECT, .table = &review_user_table},
    {SL_FIELD_NAME("object"), .kind = SL_FIELD_OBJECT, .table = &review_pod_table,
     .offset = offsetof(struct sl_body, build), .open = open_object},
};
static const struct sl_table review_request_table = {SL_TABLE_FIELDS(review_request_fields)};

static const struct sl_field review_fields[] = {
    {SL_FIELD_NAME("apiVersion"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_body, api_version)},
    {SL_FIELD_NAME("kind"), .kind = SL_FIELD_STRING, .offset = offsetof(struct sl_body, kind_name)},
    {SL_FIELD_NAME("request"), .kind = SL_FIELD_OBJECT, .table = &review_request_table},
};
static const struct sl_table review_table = {SL_TABLE_FIELDS(review_fields)};

const struct sl_field sl_body_roots[] = {
    [SL_BODY_ARGS] = {SL_FIELD_NAME(""), .kind = SL_FIELD_OBJECT, .table = &args_table},
    [SL_BODY_BINDING] = {SL_FIELD_NAME(""), .kind = SL_FIELD_OBJECT, .table = &binding_table},
    [SL_BODY_PREEMPT] = {SL_FIELD_NAME(""), .kind = SL_FIELD_OBJECT, .table = &preempt_table},
    [SL_BODY_REVIEW] = {SL_FIELD_NAME(""), .kind = SL_FIELD_OBJECT, .table = &review_table},
};
