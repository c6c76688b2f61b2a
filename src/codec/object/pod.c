/* Pod: spec, status, and what its metadata adds. */
#include "codec/object/parts.h"
#include "sliced/ask.h"

/* More would change nothing: one gate of another kind holds the pod, however many there are, and
 * the core keeps fewer tolerations. */
enum { GATES_MAX = 64, TOLERATIONS_MAX = 1024 };

/* A pod may name thousands of resources, invented ones too. Plain resources of ours are kept
 * behind any number of them, and names with an amount of 0 push out no ask. */
static enum sl_walk_keep keep_resource(struct sl_str key)
{
    struct sl_resource resource;
    if (sl_str_eq(key, SL_STR("cpu")) || sl_str_eq(key, SL_STR("memory"))) {
        return SL_WALK_KEEP_ALWAYS;
    }
    if (!sl_resource_parse(key, &resource)) {
        return SL_WALK_PASS;
    }
    return resource.profile.len == 0 ? SL_WALK_KEEP_ALWAYS : SL_WALK_KEEP;
}

#define RESOURCES .kind = SL_FIELD_QUANTITIES, .keep = keep_resource, .drop_zero = true

static const struct sl_field resource_fields[] = {
    {SL_FIELD_NAME("requests"), RESOURCES, .offset = offsetof(struct sl_container_facts, requests)},
    {SL_FIELD_NAME("limits"), RESOURCES, .offset = offsetof(struct sl_container_facts, limits)},
};

static const struct sl_table resource_table = {SL_TABLE_FIELDS(resource_fields)};

static int set_restart_policy(struct sl_walker *walker, void *target, const struct sl_event *event,
                              struct sl_error *err)
{
    struct sl_container_facts *container = target;
    (void)walker;
    (void)err;
    container->restart_always = sl_str_eq(event->text, SL_STR("Always"));
    return SL_EVENT_GO;
}

static const struct sl_field container_fields[] = {
    {SL_FIELD_NAME("name"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_container_facts, name)},
    {SL_FIELD_NAME("image"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_container_facts, image)},
    {SL_FIELD_NAME("resources"), .kind = SL_FIELD_OBJECT, .table = &resource_table},
    {SL_FIELD_NAME("restartPolicy"), .kind = SL_FIELD_TEXT, .value = set_restart_policy},
};

static const struct sl_table container_table = {SL_TABLE_FIELDS(container_fields)};

static int check_gate(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    const struct sl_pair *gate = target;
    return gate->key.len > 0 ? SL_EVENT_GO : sl_walk_missing(walker, event, err, "name");
}

static const struct sl_field gate_fields[] = {
    {SL_FIELD_NAME("name"), .kind = SL_FIELD_STRING, .offset = offsetof(struct sl_pair, key)},
};

static const struct sl_table gate_table = {SL_TABLE_FIELDS(gate_fields), .end = check_gate};

static const struct sl_field spec_fields[] = {
    {SL_FIELD_NAME("nodeName"), .kind = SL_FIELD_STRING, .vital = SL_VITAL_ITSELF,
     .offset = offsetof(struct sl_build, pod.node_name)},
    {SL_FIELD_NAME("overhead"), RESOURCES, .vital = SL_VITAL_DEEP,
     .offset = offsetof(struct sl_build, pod.overhead)},
    {SL_FIELD_NAME("resources"), .kind = SL_FIELD_OBJECT, .table = &resource_table,
     .offset = offsetof(struct sl_build, pod.whole)},
    {SL_FIELD_NAME("containers"), .kind = SL_FIELD_OBJECTS, .vital = SL_VITAL_DEEP,
     .table = &container_table, .offset = offsetof(struct sl_build, pod.containers),
     .size = sizeof(struct sl_container_facts), .next = offsetof(struct sl_container_facts, next)},
    {SL_FIELD_NAME("initContainers"), .kind = SL_FIELD_OBJECTS, .vital = SL_VITAL_DEEP,
     .table = &container_table, .offset = offsetof(struct sl_build, pod.init_containers),
     .size = sizeof(struct sl_container_facts), .next = offsetof(struct sl_container_facts, next)},
    {SL_FIELD_NAME("schedulingGates"), .kind = SL_FIELD_OBJECTS, .table = &gate_table,
     .offset = offsetof(struct sl_build, pod.gates), .size = sizeof(struct sl_pair),
     .next = offsetof(struct sl_pair, next), .max = GATES_MAX},
    {SL_FIELD_NAME("extendedResourceName"), .kind = SL_FIELD_STRING, /* a DeviceClass' */
     .offset = offsetof(struct sl_build, extended)},
    {SL_FIELD_NAME("nodeSelector"), .kind = SL_FIELD_STRINGS,
     .offset = offsetof(struct sl_build, pod.node_selector)},
    {SL_FIELD_NAME("affinity"), .kind = SL_FIELD_OBJECT, .table = &sl_affinity_table,
     .offset = offsetof(struct sl_build, pod)},
    {SL_FIELD_NAME("tolerations"), .kind = SL_FIELD_OBJECTS, .table = &sl_toleration_table,
     .offset = offsetof(struct sl_build, pod.tolerations),
     .size = sizeof(struct sl_toleration_facts), .next = offsetof(struct sl_toleration_facts, next),
     .max = TOLERATIONS_MAX},
#define FACT(type, member, name, form)                                                             \
    {SL_FIELD_NAME(#name), .kind = SL_FIELD_##form,                                                \
     .offset = offsetof(struct sl_build, pod.member)},
    SL_POD_SPEC_FACTS(FACT)
#undef FACT
};

const struct sl_table sl_pod_spec_table = {SL_TABLE_FIELDS(spec_fields),
                                           .also = &sl_node_spec_table};

static int set_started(struct sl_walker *walker, void *target, const struct sl_event *event,
                       struct sl_error *err)
{
    struct sl_build *build = target;
    return sl_meta_read_time(walker, event, &build->pod.started_us, err);
}

static int begin_condition(struct sl_walker *walker, void *target, const struct sl_event *event,
                           struct sl_error *err)
{
    struct sl_build *build = target;
    (void)walker;
    (void)event;
    (void)err;
    build->scheduled_type = false;
    build->queued_type = false;
    build->is_true = false;
    build->is_false = false;
    build->is_gated = false;
    return SL_EVENT_GO;
}

static int set_type(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    struct sl_build *build = target;
    (void)walker;
    (void)err;
    build->scheduled_type = sl_str_eq(event->text, SL_STR("PodScheduled"));
    build->queued_type = sl_str_eq(event->text, SL_STR("sliced.dev/Queued"));
    return SL_EVENT_GO;
}

static int set_status(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_build *build = target;
    (void)walker;
    (void)err;
    build->is_true = sl_str_eq(event->text, SL_STR("True"));
    build->is_false = sl_str_eq(event->text, SL_STR("False"));
    return SL_EVENT_GO;
}

static int set_reason(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_build *build = target;
    (void)walker;
    (void)err;
    build->is_gated = sl_str_eq(event->text, SL_STR("SchedulingGated"));
    return SL_EVENT_GO;
}

static int end_condition(struct sl_walker *walker, void *target, const struct sl_event *event,
                         struct sl_error *err)
{
    struct sl_build *build = target;
    (void)walker;
    (void)event;
    (void)err;
    build->pod.tried =
        build->pod.tried || (build->scheduled_type && build->is_false && !build->is_gated);
    build->pod.queued = build->pod.queued || (build->queued_type && build->is_true);
    return SL_EVENT_GO;
}

static const struct sl_field condition_fields[] = {
    {SL_FIELD_NAME("type"), .kind = SL_FIELD_TEXT, .value = set_type},
    {SL_FIELD_NAME("status"), .kind = SL_FIELD_TEXT, .value = set_status},
    {SL_FIELD_NAME("reason"), .kind = SL_FIELD_TEXT, .value = set_reason},
};

static const struct sl_table condition_table = {SL_TABLE_FIELDS(condition_fields),
                                                .begin = begin_condition, .end = end_condition};

static const struct sl_field status_fields[] = {
    {SL_FIELD_NAME("nominatedNodeName"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_build, pod.nominated)},
    {SL_FIELD_NAME("startTime"), .kind = SL_FIELD_TEXT, .value = set_started},
    {SL_FIELD_NAME("phase"), .kind = SL_FIELD_STRING, .vital = SL_VITAL_ITSELF,
     .offset = offsetof(struct sl_build, pod.phase)},
    {SL_FIELD_NAME("conditions"), .kind = SL_FIELD_OBJECTS, .table = &condition_table},
};

const struct sl_table sl_pod_status_table = {SL_TABLE_FIELDS(status_fields),
                                             .also = &sl_node_status_table};

static const struct sl_field pod_fields[] = {
    {SL_FIELD_NAME("metadata"), .kind = SL_FIELD_OBJECT, .table = &sl_meta_table,
     .offset = offsetof(struct sl_build, meta)},
    {SL_FIELD_NAME("spec"), .kind = SL_FIELD_OBJECT, .table = &sl_pod_spec_table},
    {SL_FIELD_NAME("status"), .kind = SL_FIELD_OBJECT, .table = &sl_pod_status_table},
};

const struct sl_table sl_pod_table = {SL_TABLE_FIELDS(pod_fields)};

void sl_build_pod(struct sl_build *build)
{
    const struct sl_meta *meta = &build->meta;
    struct sl_pod_facts *pod = &build->pod;
    pod->namespace = meta->namespace;
    pod->name = meta->name;
    pod->uid = meta->uid;
    pod->resource_version = meta->resource_version;
    pod->created_us = meta->created_us;
    pod->deleting = meta->deleting;
    pod->deleting_us = meta->deleting_us;
    pod->daemon_set = meta->daemon_set;
    pod->owner = meta->owner;
    pod->labels = meta->labels;
    pod->annotations = meta->annotations;
    pod->problem = build->problem;
}
