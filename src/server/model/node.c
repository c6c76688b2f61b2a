/* Nodes, their resources, GPUs and instances. */
#include "server/model/node.h"
#include "server/model/row.h"

#include <stdio.h>

#include "server/model/pod.h"
#include "sliced/overcommit.h"

enum { USERS_TEXT = 320, CELL_TEXT = 512 };

/* ---- who uses a place ---- */

/* A GPU, or an instance on it (-1: none). */
struct place {
    const struct sl_view *view;
    int device;
    int instance;
};

/* Does the resident hold something of that place; of a GPU, without an instance of its own? */
static bool holds_part(const struct place *place, const struct sl_resident *resident)
{
    for (unsigned i = 0; i < resident->n_parts; i++) {
        const struct sl_assignment_part *part = &place->view->part[resident->first_part + i];
        if (part->device == place->device && part->instance == place->instance) {
            return true;
        }
    }
    return false;
}

struct user {
    const char *namespace;
    const char *name;
    bool set_aside;
};

static const struct sl_field user_fields[] = {
    OPERATORS("namespace", TEXT, SL_AT(struct user, namespace)),
    OPERATORS("name", TEXT, SL_AT(struct user, name)),
    OPERATORS("setAside", FLAG, SL_AT(struct user, set_aside)),
    SL_FIELDS_END,
};

static bool next_user(const void *record, unsigned *at, void *child)
{
    const struct place *place = record;
    const struct sl_view *view = place->view;
    while (*at < view->n_residents && !holds_part(place, &view->resident[*at])) {
        (*at)++;
    }
    if (*at == view->n_residents) {
        return false;
    }
    const struct sl_pod *pod = view->resident[(*at)++].pod;
    *(struct user *)child = (struct user){pod->namespace, pod->name, pod->set_aside};
    return true;
}

/* "ns/a, ns/b" */
static const char *users_text(const void *record, char *out)
{
    struct user user;
    unsigned at = 0;
    size_t len = 0;
    out[0] = '\0';
    while (len + 1 < USERS_TEXT && next_user(record, &at, &user)) {
        int n = snprintf(out + len, USERS_TEXT - len, "%s%s/%s%s", len == 0 ? "" : ", ",
                         user.namespace, user.name, user.set_aside ? " (set aside)" : "");
        len += n > 0 ? (size_t)n : 0;
        len = len >= USERS_TEXT ? USERS_TEXT - 1 : len;
    }
    return out;
}

/* ---- instances ---- */

struct instance {
    struct place place; /* the first */
    const char *profile;
    const char *resource;
    const char *label; /* what people call it: the profile, of slices the resource */
    int64_t start;     /* -1: not known */
    int64_t memory_slices;
    int64_t units;
    int64_t used;
    bool taken;
};

#define INSTANCE(member) SL_AT(struct instance, member)

static const struct sl_field instance_fields[] = {
    ALL("profile", TEXT, "Profile of the instance.", INSTANCE(profile)),
    CELL(TEXT, NULL, INSTANCE(label), COLUMN(4, "PROFILE")),
    OPERATORS("start", KNOWN, INSTANCE(start), COLUMN(5, "START")),
    USERS("start", NUMBER, "Slot in which it begins; -1: unknown.", INSTANCE(start)),
    USERS("taken", FLAG, "A pod has it, or it is set aside for one.", INSTANCE(taken)),
    OPERATORS("memorySlices", POSITIVE, INSTANCE(memory_slices)),
    OPERATORS("resource", TEXT, INSTANCE(resource)),
    OPERATORS("units", NUMBER, INSTANCE(units)),
    OPERATORS("used", NUMBER, INSTANCE(used)),
    OPERATORS("pods", LIST, LIST_OF(user_fields, next_user)),
    CELL(TEXT, NULL, TEXT_BY(users_text), COLUMN(6, "PODS")),
    SL_FIELDS_END,
};

static void instance_of(const struct sl_view *view, unsigned device, int instance,
                        struct instance *out)
{
    const struct sl_node *node = view->node;
    *out = (struct instance){.place = {view, (int)device, instance}, .start = -1};
    if (instance < 0) {
        return;
    }
    const struct sl_instance *own = &node->instance[instance];
    const struct sl_mig_profile *profile = own->profile;
    out->profile = profile == NULL ? NULL : profile->name;
    out->resource = node->pool[own->pool].resource;
    out->label = own->slices > 0 ? out->resource : out->profile;
    out->start = own->start < 0 ? -1 : own->start;
    out->memory_slices = profile == NULL ? 0 : profile->memory;
    out->units = sl_node_instance_units(node, (unsigned)instance);
    out->used = view->instance_used[instance];
    out->taken = view->instance_used[instance] > 0;
}

static bool next_instance(const void *record, unsigned *at, void *child)
{
    const struct place *place = record;
    const struct sl_node *node = place->view->node;
    while (*at < node->n_instances && node->instance[*at].device != place->device) {
        (*at)++;
    }
    if (*at >= node->n_instances) {
        return false;
    }
    instance_of(place->view, (unsigned)place->device, (int)(*at)++, child);
    return true;
}

/* ---- GPUs ---- */

struct device {
    struct place place; /* the first */
    const struct sl_device *device;
    const struct sl_device_use *use;
    const struct sl_measured *measured; /* NULL: there is no telemetry */
    bool is_measured;
    const char *model;
    const char *state; /* of measured */
    int64_t memory_slices;
    int64_t declared_mib;
    int64_t over_mib;
};

#define DEVICE(member)      SL_AT(struct device, member)
#define OF_DEVICE(member)   SL_BEHIND(struct device, device, struct sl_device, member)
#define OF_USE(member)      SL_BEHIND(struct device, use, struct sl_device_use, member)
#define OF_MEASURED(member) SL_BEHIND(struct device, measured, struct sl_measured, member)

static const struct sl_field used_fields[] = {
    OPERATORS("whole", FLAG, OF_USE(whole)),
    OPERATORS("instances", NUMBER, OF_USE(instances)),
    OPERATORS("replicas", NUMBER, OF_USE(replicas)),
    OPERATORS("memoryUnits", NUMBER, OF_USE(memory_units)),
    OPERATORS("declaredMiB", NUMBER, DEVICE(declared_mib)),
    OPERATORS("overMiB", NUMBER, DEVICE(over_mib)),
    SL_FIELDS_END,
};

static const struct sl_field measured_fields[] = {
    OPERATORS("state", TEXT, DEVICE(state)),
    OPERATORS("usedMiB", KNOWN, OF_MEASURED(used_mib)),
    OPERATORS("busyPermille", KNOWN, OF_MEASURED(busy)),
    SL_FIELDS_END,
};

static const struct sl_field device_fields[] = {
    ALL("index", NUMBER, "Number of the GPU on its node.", OF_DEVICE(index), COLUMN(1, "DEVICE")),
    ALL("uuid", TEXT, "UUID of the GPU.", OF_DEVICE(uuid), COLUMN(2, "UUID")),
    OPERATORS("product", TEXT, OF_DEVICE(product)),
    OPERATORS("model", TEXT, DEVICE(model)),
    OPERATORS("memoryMiB", POSITIVE, OF_DEVICE(memory_mib)),
    USERS("memoryMiB", POSITIVE, "Its memory; absent where it is unknown.", OF_DEVICE(memory_mib),
          .absent = true),
    OPERATORS("memorySlices", POSITIVE, DEVICE(memory_slices)),
    ALL("healthy", FLAG, "Nothing says that it is broken.", OF_DEVICE(healthy),
        COLUMN(3, "HEALTHY")),
    ALL("mig", FLAG, "Its MIG mode is on.", OF_DEVICE(mig)),
    OPERATORS("used", OBJECT, OBJECT_OF(used_fields)),
    OPERATORS("measured", OBJECT, DEVICE(is_measured), OBJECT_OF(measured_fields)),
    OPERATORS("memoryUnits", NUMBER, OF_DEVICE(memory_units)),
    ALL("instances", LIST, "Its MIG instances.", LIST_OF(instance_fields, next_instance)),
    OPERATORS("pods", LIST, LIST_OF(user_fields, next_user)),
    SL_FIELDS_END,
};

static void device_of(const struct sl_view *view, unsigned device, struct device *out)
{
    const struct sl_device *own = &view->node->device[device];
    const struct sl_measured *measured = view->measured == NULL ? NULL : &view->measured[device];
    int64_t over_mib = measured == NULL ? 0 : measured->over_mib;
    *out = (struct device){
        .place = {view, (int)device, -1},
        .device = own,
        .use = &view->device[device],
        .measured = measured,
        .is_measured = measured != NULL && (measured->used_mib >= 0 || measured->busy >= 0),
        .model = own->model == NULL ? NULL : own->model->name,
        .state = measured == NULL ? NULL : sl_series_state_name(measured->state),
        .memory_slices = own->model == NULL ? 0 : own->model->memory_slices,
        .declared_mib = view->device[device].declared_mib - over_mib,
        .over_mib = over_mib,
    };
}

/* The instances of a GPU, or the GPU itself where it has none. */
static bool next_place(const void *record, unsigned *at, void *child)
{
    const struct place *place = record;
    bool first = *at == 0;
    bool found = next_instance(record, at, child);
    if (first && !found) {
        *at = place->view->node->n_instances + 1U;
        instance_of(place->view, (unsigned)place->device, -1, child);
    }
    return first || found;
}

static bool next_device(const void *record, unsigned *at, void *child)
{
    const struct sl_view *view = record;
    if (*at >= view->node->n_devices) {
        return false;
    }
    device_of(view, (*at)++, child);
    return true;
}

/* ---- resources ---- */

struct pool {
    const struct sl_pool *pool;
    const char *kind;
    const char *profile;
    int64_t used;
    int64_t set_aside;
    int64_t free;
    int64_t declared_mib;
};

#define POOL(member)    SL_AT(struct pool, member)
#define OF_POOL(member) SL_BEHIND(struct pool, pool, struct sl_pool, member)

static const struct sl_field pool_fields[] = {
    ALL("resource", TEXT, "Name of the resource.", OF_POOL(resource), COLUMN(3, "RESOURCE")),
    ALL("kind", TEXT, "What a unit is: whole, mig, replica or memory.", POOL(kind),
        COLUMN(4, "KIND")),
    OPERATORS("profile", TEXT, POOL(profile)),
    ALL("capacity", NUMBER, "Units that there are.", OF_POOL(capacity), COLUMN(5, "CAPACITY")),
    ALL("used", NUMBER, "Units that pods have.", POOL(used), COLUMN(6, "USED")),
    ALL("setAside", NUMBER, "Units that are set aside for pods which still wait.", POOL(set_aside),
        COLUMN(7, "SET-ASIDE")),
    ALL("free", NUMBER, "Units that can be given.", POOL(free), COLUMN(8, "FREE")),
    OPERATORS("replicas", NUMBER, OF_POOL(replicas)),
    OPERATORS("memoryMiB", POSITIVE, OF_POOL(memory_mib)),
    OPERATORS("equalMemory", FLAG, OF_POOL(equal_memory)),
    OPERATORS("oneEach", FLAG, OF_POOL(one_each)),
    OPERATORS("declaredMiB", NUMBER, POOL(declared_mib)),
    OPERATORS("onDevices", FLAG, OF_POOL(on_devices)),
    SL_FIELDS_END,
};

static void pool_of(const struct sl_view *view, unsigned pool, struct pool *out)
{
    const struct sl_pool *own = &view->node->pool[pool];
    int64_t set_aside = sl_view_set_aside_units(view, pool);
    *out = (struct pool){
        .pool = own,
        .kind = sl_kind_name(own->kind),
        .profile = own->profile == NULL ? NULL : own->profile->name,
        .used = view->pool_used[pool] - set_aside,
        .set_aside = set_aside,
        .free = sl_view_free_units(view, pool),
        .declared_mib = view->pool_mib[pool],
    };
}

static bool next_pool(const void *record, unsigned *at, void *child)
{
    const struct sl_view *view = record;
    if (*at >= view->node->n_pools) {
        return false;
    }
    pool_of(view, (*at)++, child);
    return true;
}

enum units { USED, SET_ASIDE, FREE, CAPACITY };

/* "mig-1g.6gb=3,gpu=1": what is not 0. */
static const char *units_text(const struct sl_view *view, enum units which, char *out)
{
    size_t len = 0;
    (void)snprintf(out, CELL_TEXT, "0");
    for (unsigned i = 0; i < view->node->n_pools && len < CELL_TEXT; i++) {
        struct pool pool;
        pool_of(view, i, &pool);
        const int64_t units[] = {[USED] = pool.used,
                                 [SET_ASIDE] = pool.set_aside,
                                 [FREE] = pool.free,
                                 [CAPACITY] = pool.pool->capacity};
        const char *slash = strchr(pool.pool->resource, '/');
        if (units[which] != 0) {
            int n =
                snprintf(out + len, CELL_TEXT - len, "%s%s=%lld", len > 0 ? "," : "",
                         slash == NULL ? pool.pool->resource : slash + 1, (long long)units[which]);
            len += n > 0 ? (size_t)n : 0;
        }
    }
    return out;
}

static const char *used_text(const void *record, char *out)
{
    return units_text(record, USED, out);
}

static const char *set_aside_text(const void *record, char *out)
{
    return units_text(record, SET_ASIDE, out);
}

static const char *free_text(const void *record, char *out)
{
    return units_text(record, FREE, out);
}

static const char *capacity_text(const void *record, char *out)
{
    return units_text(record, CAPACITY, out);
}

/* ---- the node ---- */

const char *sl_model_problem(const void *record, char out[SL_FIELD_TEXT_MAX])
{
    const struct sl_view *view = record;
    const char *problem = view->node->problem;
    int n = problem == NULL ? 0 : snprintf(out, SL_FIELD_TEXT_MAX, "%s; ", problem);
    if (n < 0 || n >= SL_FIELD_TEXT_MAX) {
        return problem;
    }
    sl_overcommit_text(view, out + n, (size_t)(SL_FIELD_TEXT_MAX - n));
    return out[n] == '\0' ? problem : out;
}

// NOLINTNEXTLINE(readability-non-const-parameter): of a field
static const char *layout_text(const void *record, char *out)
{
    const struct sl_view *view = record;
    (void)out;
    return sl_layout_name(view->node->layout);
}

// NOLINTNEXTLINE(readability-non-const-parameter): of a field
static const char *model_text(const void *record, char *out)
{
    const struct sl_view *view = record;
    (void)out;
    return view->node->model == NULL ? NULL : view->node->model->name;
}

static bool next_resident(const void *record, unsigned *at, void *child)
{
    const struct sl_view *view = record;
    if (*at >= view->n_residents) {
        return false;
    }
    sl_model_resident_of(view, &view->resident[(*at)++], 0, child);
    return true;
}

#define VIEW(member)    SL_AT(struct sl_view, member)
#define OF_NODE(member) SL_BEHIND(struct sl_view, node, struct sl_node, member)

const struct sl_field sl_model_node[] = {
    OPERATORS("name", TEXT, OF_NODE(name), COLUMN(1, "NODE")),
    ALL("product", TEXT, "Of its GPUs.", OF_NODE(product), COLUMN(2, "PRODUCT"),
        SHOWN(1, "Product")),
    OPERATORS("model", TEXT, TEXT_BY(model_text)),
    ALL("layout", TEXT,
        "How its GPUs are known: annotated (one by one), inferred (from labels) or unknown.",
        TEXT_BY(layout_text), COLUMN(9, "LAYOUT"), WIDE(8, "Layout")),
    OPERATORS("dynamicMig", FLAG, OF_NODE(dynamic_mig)),
    OPERATORS("cutting", FLAG, VIEW(withheld)),
    ALL("problem", TEXT, "What is wrong with its labels or its pods' units.",
        TEXT_BY(sl_model_problem), COLUMN(10, "PROBLEM"), SHOWN(6, "Problem")),
    OPERATORS("pools", LIST, LIST_OF(pool_fields, next_pool)),
    USERS("resources", LIST, "Units of each resource.", LIST_OF(pool_fields, next_pool)),
    ALL("devices", LIST, "GPUs that are known one by one.", LIST_OF(device_fields, next_device)),
    OPERATORS("pods", LIST, LIST_OF(sl_model_resident, next_resident)),
    CELL(NUMBER, "Number of GPUs that are known one by one.", OF_NODE(n_devices), SHOWN(2, "GPUs")),
    CELL(TEXT, "Units that pods have.", TEXT_BY(used_text), SHOWN(3, "Used")),
    CELL(TEXT, "Units that are set aside for pods which still wait.", TEXT_BY(set_aside_text),
         SHOWN(4, "Set-Aside")),
    CELL(TEXT, "Units that can be given.", TEXT_BY(free_text), SHOWN(5, "Free")),
    CELL(TEXT, "Units of each resource.", TEXT_BY(capacity_text), WIDE(7, "Capacity")),
    SL_FIELDS_END,
};

/* ---- tables ---- */

const struct sl_field sl_model_pools = OPERATORS("pools", LIST, LIST_OF(pool_fields, next_pool));
const struct sl_field sl_model_residents =
    OPERATORS("pods", LIST, LIST_OF(sl_model_resident, next_resident));

void sl_model_devices_table(const struct sl_view *view, size_t max_bytes, struct sl_buf *out)
{
    static const struct sl_field places =
        OPERATORS("places", LIST, LIST_OF(instance_fields, next_place));
    struct sl_grid table;
    struct device device;
    unsigned at = 0;
    sl_fields_grid(&table, device_fields, instance_fields, max_bytes);
    while (next_device(view, &at, &device)) {
        sl_fields_rows(&table, device_fields, &places, &device);
    }
    sl_grid_write(&table, out);
    sl_grid_free(&table);
}
