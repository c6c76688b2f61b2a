/* The node annotation sliced.dev/devices: JSON text that says which GPU holds what. Described in
 * docs/devices.md. */
#include "codec/object/parts.h"
#include "codec/stream/json.h"
#include "sliced/mig.h"
#include "sliced/node.h"
#include "sliced/quantity.h"

#include <stdio.h>

_Static_assert(sizeof(int) == sizeof(int32_t), "index and start are read as 32 bits");

enum { MIB = 1 << 20, START_MAX = 127, TEXT_MAX = 1024, NESTING_MAX = 16 };

/* A device while it is read. facts comes first: a pointer to it is a pointer to the element. */
struct reading {
    struct sl_device_facts facts;
    bool healthy;
};

static int begin_instance(struct sl_walker *walker, void *target, const struct sl_event *event,
                          struct sl_error *err)
{
    struct sl_instance_facts *instance = target;
    (void)walker;
    (void)event;
    (void)err;
    instance->start = -1;
    return SL_EVENT_GO;
}

static int end_instance(struct sl_walker *walker, void *target, const struct sl_event *event,
                        struct sl_error *err)
{
    const struct sl_instance_facts *instance = target;
    if (instance->profile.len == 0) {
        return sl_walk_missing(walker, event, err, "profile");
    }
    if (instance->start < -1 || instance->start > START_MAX) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "start is %d, expected 0 to %d",
                            instance->start, (int)START_MAX);
    }
    return SL_EVENT_GO;
}

static const struct sl_field instance_fields[] = {
    {SL_FIELD_NAME("profile"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_instance_facts, profile)},
    {SL_FIELD_NAME("start"), .kind = SL_FIELD_I32,
     .offset = offsetof(struct sl_instance_facts, start)},
};

static const struct sl_table instance_table = {SL_TABLE_FIELDS(instance_fields),
                                               .begin = begin_instance, .end = end_instance};

/* A number counts MiB; a string is a quantity of bytes. */
static int set_memory(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct reading *device = target;
    int shown = event->text.len < 40 ? (int)event->text.len : 40;
    if (event->type == SL_EVENT_NUMBER) {
        if (!sl_str_to_i64(event->text, &device->facts.memory_mib) ||
            device->facts.memory_mib < 1) {
            return sl_walk_fail(walker, event, err, SL_ERR_FIELD,
                                "expected MiB as a whole number above 0, found %.*s", shown,
                                event->text.s);
        }
        return SL_EVENT_GO;
    }
    struct sl_quantity bytes;
    if (sl_quantity_parse(event->text.s, event->text.len, &bytes) != SL_QUANTITY_OK ||
        bytes.whole < MIB) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD,
                            "expected a quantity of at least 1Mi (or a number: MiB), "
                            "found \"%.*s\"",
                            shown, event->text.s);
    }
    device->facts.memory_mib = bytes.whole / MIB;
    return SL_EVENT_GO;
}

static int begin_device(struct sl_walker *walker, void *target, const struct sl_event *event,
                        struct sl_error *err)
{
    struct reading *device = target;
    (void)walker;
    (void)event;
    (void)err;
    device->healthy = true;
    device->facts.index = -1;
    return SL_EVENT_GO;
}

static int end_device(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct reading *device = target;
    struct sl_device_facts *facts = &device->facts;
    if (facts->index == -1) {
        return sl_walk_missing(walker, event, err, "index");
    }
    if (facts->index < 0 || facts->index > INT16_MAX) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "index is %d, expected 0 to %d",
                            facts->index, INT16_MAX);
    }
    struct sl_device_facts *const *list = walker->target;
    for (const struct sl_device_facts *other = *list; other != facts; other = other->next) {
        if (other->index == facts->index) {
            return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "a second device with index %d",
                                facts->index);
        }
    }
    facts->unhealthy = !device->healthy;
    facts->mig = facts->mig || facts->instances != NULL;
    facts->unsure = facts->unsure && facts->instances == NULL;
    return SL_EVENT_GO;
}

static const struct sl_field device_fields[] = {
    {SL_FIELD_NAME("index"), .kind = SL_FIELD_I32, .offset = offsetof(struct reading, facts.index)},
    {SL_FIELD_NAME("uuid"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct reading, facts.uuid)},
    {SL_FIELD_NAME("product"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct reading, facts.product)},
    {SL_FIELD_NAME("memory"), .kind = SL_FIELD_SCALAR, .value = set_memory},
    {SL_FIELD_NAME("healthy"), .kind = SL_FIELD_BOOL, .offset = offsetof(struct reading, healthy)},
    {SL_FIELD_NAME("mig"), .kind = SL_FIELD_BOOL, .offset = offsetof(struct reading, facts.mig)},
    {SL_FIELD_NAME("unsure"), .kind = SL_FIELD_BOOL,
     .offset = offsetof(struct reading, facts.unsure)},
    {SL_FIELD_NAME("instances"), .kind = SL_FIELD_OBJECTS, .table = &instance_table,
     .offset = offsetof(struct reading, facts.instances), .size = sizeof(struct sl_instance_facts),
     .next = offsetof(struct sl_instance_facts, next), .max = SL_MIG_INSTANCES_MAX},
};

static const struct sl_table device_table = {SL_TABLE_FIELDS(device_fields), .begin = begin_device,
                                             .end = end_device};

static const struct sl_field root_field = {SL_FIELD_NAME(""),
                                           .kind = SL_FIELD_OBJECTS,
                                           .table = &device_table,
                                           .size = sizeof(struct reading),
                                           .next = offsetof(struct reading, facts.next),
                                           .max = SL_NODE_DEVICES_MAX};

/* "annotation sliced.dev/devices: [1].memory: expected ... (line 1, column 40)" in the arena. */
static int keep_problem(const struct sl_error *why, struct sl_arena *arena, struct sl_str *problem)
{
    char text[SL_NODE_PROBLEM_MAX];
    int n = snprintf(text, sizeof(text),
                     "annotation sliced.dev/devices: %s%s%s (line %u, column %u)", why->field,
                     why->field[0] == '\0' ? "" : ": ", why->message, why->line, why->column);
    size_t len = n < 0 ? 0 : (size_t)n;
    len = len < sizeof(text) ? len : sizeof(text) - 1;
    const char *copy = sl_arena_strdup(arena, text, len);
    if (copy == NULL) {
        return -1;
    }
    *problem = (struct sl_str){copy, len};
    return 0;
}

int sl_devices_decode(struct sl_str text, struct sl_arena *arena, struct sl_device_facts **out,
                      struct sl_str *problem, struct sl_error *err)
{
    const struct sl_text_limits limits = {
        .max_bytes = text.len, .max_string = TEXT_MAX, .max_depth = NESTING_MAX};
    struct sl_device_facts *list = NULL;
    struct sl_walker walker;
    struct sl_error why = {0};
    sl_walk_init(&walker, &root_field, &list, arena, NULL);
    *out = NULL;
    if (sl_json_parse(text, &limits, sl_walk_receive, &walker, &why) == 0) {
        *out = list;
        return 0;
    }
    if (why.code == SL_ERR_NOMEM) {
        return sl_error_nomem(err);
    }
    sl_walk_place(&walker, NULL, &why);
    if (arena->full || keep_problem(&why, arena, problem) != 0) {
        return sl_walk_nomem(&walker, NULL, err);
    }
    return 0;
}
