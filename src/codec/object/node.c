/* Node: spec, status, and what its metadata adds. */
#include "codec/object/parts.h"

static const struct sl_field taint_fields[] = {
    {SL_FIELD_NAME("key"), .kind = SL_FIELD_STRING, .offset = offsetof(struct sl_taint_facts, key)},
    {SL_FIELD_NAME("value"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_taint_facts, value)},
    {SL_FIELD_NAME("effect"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_taint_facts, effect)},
};

static const struct sl_table taint_table = {SL_TABLE_FIELDS(taint_fields)};

static const struct sl_field spec_fields[] = {
    {SL_FIELD_NAME("unschedulable"), .kind = SL_FIELD_BOOL,
     .offset = offsetof(struct sl_build, node.unschedulable)},
    {SL_FIELD_NAME("taints"), .kind = SL_FIELD_OBJECTS, .table = &taint_table,
     .offset = offsetof(struct sl_build, node.taints), .size = sizeof(struct sl_taint_facts),
     .next = offsetof(struct sl_taint_facts, next)},
};

const struct sl_table sl_node_spec_table = {SL_TABLE_FIELDS(spec_fields)};

static const struct sl_field address_fields[] = {
    {SL_FIELD_NAME("type"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_address_facts, type)},
    {SL_FIELD_NAME("address"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_address_facts, address)},
};

static const struct sl_table address_table = {SL_TABLE_FIELDS(address_fields)};

static const struct sl_field status_fields[] = {
    {SL_FIELD_NAME("addresses"), .kind = SL_FIELD_OBJECTS, .table = &address_table,
     .offset = offsetof(struct sl_build, node.addresses), .size = sizeof(struct sl_address_facts),
     .next = offsetof(struct sl_address_facts, next)},
    {SL_FIELD_NAME("allocatable"), .kind = SL_FIELD_QUANTITIES, .vital = SL_VITAL_DEEP,
     .offset = offsetof(struct sl_build, node.allocatable)},
    {SL_FIELD_NAME("capacity"), .kind = SL_FIELD_QUANTITIES, .vital = SL_VITAL_DEEP,
     .offset = offsetof(struct sl_build, node.capacity)},
};

const struct sl_table sl_node_status_table = {SL_TABLE_FIELDS(status_fields)};

int sl_build_node(struct sl_build *build, struct sl_arena *arena, struct sl_error *err)
{
    const struct sl_meta *meta = &build->meta;
    struct sl_node_facts *node = &build->node;
    node->name = meta->name;
    node->uid = meta->uid;
    node->resource_version = meta->resource_version;
    node->labels = meta->labels;
    node->annotations = meta->annotations;
    node->deleting = meta->deleting;
    node->problem = build->problem;
    const struct sl_pair *devices = sl_pair_find(meta->annotations, SL_STR("sliced.dev/devices"));
    const struct sl_pair *planned =
        sl_pair_find(meta->annotations, SL_STR("sliced.dev/cut-devices"));
    struct sl_str ignored = {NULL, 0}; /* it is our own text, or nothing is expected of it */
    if (planned != NULL &&
        sl_devices_decode(planned->value, arena, &node->planned, &ignored, err) < 0) {
        return -1;
    }
    return devices == NULL
               ? 0
               : sl_devices_decode(devices->value, arena, &node->devices, &node->problem, err);
}
