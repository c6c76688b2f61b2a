/* The nodes of a simulation. */
#include "sim/input/fleet.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/input/become.h"
#include "sim/input/csv/record.h"
#include "sim/input/trace.h"
#include "util/data/vec.h"

enum {
    STRING_MAX = 1 << 20,
    DEPTH_MAX = 64,
    PODS_MAX = 1 << 20,
    NUMBER_TEXT = 24,
    OFFERS_MAX = 8,
};

void sl_fleet_init(struct sl_fleet *fleet)
{
    memset(fleet, 0, sizeof(*fleet));
}

void sl_fleet_free(struct sl_fleet *fleet)
{
    for (size_t i = 0; i < fleet->n; i++) {
        sl_node_unref(fleet->node[i]);
    }
    for (size_t i = 0; i < fleet->n_pods; i++) {
        sl_pod_unref(fleet->pod[i]);
    }
    free(fleet->node);
    free(fleet->pod);
    sl_map_free(&fleet->at);
    memset(fleet, 0, sizeof(*fleet));
}

/* ---- lists ---- */

static int take_node(struct sl_fleet *fleet, struct sl_node *node, struct sl_error *err)
{
    if (!sl_node_has_gpus(node)) {
        fleet->without++;
        sl_node_unref(node);
        return 0;
    }
    if (fleet->n == SL_FLEET_NODES_MAX) {
        sl_node_unref(node);
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d nodes", SL_FLEET_NODES_MAX);
    }
    if (sl_vec_reserve(&fleet->node, &fleet->cap, fleet->n + 1, sizeof(struct sl_node *)) < 0) {
        sl_node_unref(node);
        return sl_error_nomem(err);
    }
    fleet->node[fleet->n++] = node;
    return 0;
}

static int take_pod(struct sl_fleet *fleet, struct sl_pod *pod, struct sl_error *err)
{
    if (!sl_pod_holds(pod) || pod->n_items == 0) {
        fleet->waiting += sl_pod_waits(pod) ? 1 : 0;
        sl_pod_unref(pod);
        return 0;
    }
    if (fleet->n_pods == PODS_MAX) {
        sl_pod_unref(pod);
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d pods", PODS_MAX);
    }
    if (sl_vec_reserve(&fleet->pod, &fleet->cap_pods, fleet->n_pods + 1, sizeof(struct sl_pod *)) <
        0) {
        sl_pod_unref(pod);
        return sl_error_nomem(err);
    }
    fleet->pod[fleet->n_pods++] = pod;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct sl_node *const *left = a;
    const struct sl_node *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

int sl_fleet_finish(struct sl_fleet *fleet, struct sl_error *err)
{
    if (fleet->n == 0) {
        return sl_error_set(err, SL_ERR_FIELD, "no node has GPUs");
    }
    qsort(fleet->node, fleet->n, sizeof(struct sl_node *), by_name);
    for (size_t i = 0; i < fleet->n; i++) {
        void *old = NULL;
        const char *name = fleet->node[i]->name;
        if (sl_map_put(&fleet->at, name, strlen(name), &fleet->node[i], &old) < 0) {
            return sl_error_nomem(err);
        }
        if (old != NULL) {
            return sl_error_set(err, SL_ERR_CONFLICT, "two nodes are called \"%s\"", name);
        }
    }
    return 0;
}

int sl_fleet_copy(const struct sl_fleet *from, struct sl_fleet *out, struct sl_error *err)
{
    for (size_t i = 0; i < from->n; i++) {
        if (take_node(out, sl_node_ref(from->node[i]), err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < from->n_pods; i++) {
        if (take_pod(out, sl_pod_ref(from->pod[i]), err) < 0) {
            return -1;
        }
    }
    return 0;
}

int sl_fleet_find(const struct sl_fleet *fleet, const char *name)
{
    struct sl_node **at = sl_map_get(&fleet->at, name, strlen(name));
    return at == NULL ? -1 : (int)(at - fleet->node);
}

/* ---- manifests ---- */

int sl_fleet_object(struct sl_fleet *fleet, const struct sl_object *object, struct sl_error *err)
{
    if (object->node != NULL) {
        object->node->actuator = sl_actuator_of(&fleet->actuator, object->node);
        object->node->mig_mode = fleet->actuator.mig_mode;
        struct sl_node *node = sl_node_new(object->node, err);
        return node == NULL ? -1 : take_node(fleet, node, err);
    }
    if (object->pod != NULL) {
        char uid[NUMBER_TEXT];
        struct sl_pod_facts facts = *object->pod;
        if (facts.uid.len == 0) {
            (void)snprintf(uid, sizeof(uid), "manifest-%zu", fleet->n_pods);
            facts.uid = sl_str_of(uid);
        }
        struct sl_pod *pod = sl_pod_new(&facts, err);
        return pod == NULL ? -1 : take_pod(fleet, pod, err);
    }
    return 0;
}

static int take_object(void *context, const struct sl_object *object, struct sl_error *err)
{
    return sl_fleet_object(context, object, err);
}

int sl_fleet_decode(const struct sl_buf *text, sl_object_fn receive, void *context,
                    struct sl_error *err)
{
    static const struct sl_text_limits limits = {
        .max_bytes = SL_MANIFEST_MAX, .max_string = STRING_MAX, .max_depth = DEPTH_MAX};
    return sl_manifest_decode(text->data, text->len, &limits, receive, context, err);
}

int sl_fleet_manifests(struct sl_fleet *fleet, const char *const *files, size_t n,
                       struct sl_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct sl_buf text;
        sl_buf_init(&text, (size_t)SL_MANIFEST_MAX + 1);
        int rc = sl_input_read(files[i], &text, err);
        if (rc == 0) {
            rc = sl_fleet_decode(&text, take_object, fleet, err);
        }
        sl_buf_free(&text);
        if (rc < 0) {
            return sl_error_locate(err, files[i]);
        }
    }
    return 0;
}

/* ---- generated nodes ---- */

/* The lists of a node's facts. */
struct made {
    struct sl_device_facts device[SL_NODE_DEVICES_MAX];
    struct sl_pair allocatable[OFFERS_MAX];
    char number[OFFERS_MAX][NUMBER_TEXT];
    unsigned n_allocatable;
};

static void resource_offer(struct made *made, const char *resource, int64_t units,
                           const char *suffix)
{
    unsigned i = made->n_allocatable++;
    (void)snprintf(made->number[i], NUMBER_TEXT, "%lld%s", (long long)units, suffix);
    made->allocatable[i] = (struct sl_pair){sl_str_of(resource), sl_str_of(made->number[i]),
                                            i > 0 ? &made->allocatable[i - 1] : NULL};
}

static void make_devices(struct made *made, const struct sl_fleet_node *node)
{
    for (int d = 0; d < node->gpus; d++) {
        made->device[d] = (struct sl_device_facts){
            .index = d,
            .memory_mib = node->share_units,
            .next = d + 1 < node->gpus ? &made->device[d + 1] : NULL,
        };
    }
}

static void make_allocatable(struct made *made, const struct sl_fleet_node *node)
{
    if (node->cpu_milli > 0) {
        resource_offer(made, "cpu", node->cpu_milli, "m");
    }
    if (node->memory_mib > 0) {
        resource_offer(made, "memory", node->memory_mib, "Mi");
    }
    resource_offer(made, "nvidia.com/gpu", node->gpus, "");
    if (node->share_units > 0) {
        resource_offer(made, "aliyun.com/gpu-mem", node->share_units * node->gpus, "");
        resource_offer(made, "aliyun.com/gpu-count", node->gpus, "");
    }
}

int sl_fleet_add(struct sl_fleet *fleet, const struct sl_fleet_node *node, struct sl_error *err)
{
    if (node->gpus < 0 || node->gpus > SL_NODE_DEVICES_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "a node has at most %d GPUs", SL_NODE_DEVICES_MAX);
    }
    struct made *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_error_nomem(err);
    }
    struct sl_pair strategy = {SL_STR("nvidia.com/mig.strategy"), SL_STR("mixed"), NULL};
    struct sl_pair product = {SL_STR("nvidia.com/gpu.product"), sl_str_of(node->product),
                              &strategy};
    make_devices(made, node);
    make_allocatable(made, node);
    struct sl_pair *last =
        made->n_allocatable > 0 ? &made->allocatable[made->n_allocatable - 1] : NULL;
    struct sl_node_facts facts = {
        .name = sl_str_of(node->name),
        .uid = sl_str_of(node->name),
        .labels = node->product != NULL ? &product : &strategy,
        .allocatable = last,
        .capacity = last,
        .devices = node->gpus > 0 ? &made->device[0] : NULL,
    };
    facts.actuator = sl_actuator_of(&fleet->actuator, &facts);
    facts.mig_mode = fleet->actuator.mig_mode;
    struct sl_node *fresh = sl_node_new(&facts, err);
    free(made);
    return fresh == NULL ? -1 : take_node(fleet, fresh, err);
}

/* ---- --gpus ---- */

static int wrong_gpus(const char *text, struct sl_error *err)
{
    return sl_error_set(err, SL_ERR_FIELD,
                        "\"%.80s\": expected N, NODESxGPUS, NODESxGPUS:MODEL or "
                        "NODESxGPUS:MODEL:PROFILE*COUNT+...; for example 9, 4x8, 2x2:A30:1g.6gb*4",
                        text);
}

/* The text before the first colon of --gpus. */
struct size {
    int64_t nodes;
    int64_t gpus; /* per node, or in all when nodes is 0 */
};

static bool parse_size(struct sl_str text, struct size *out)
{
    const char *x = text.len == 0 ? NULL : memchr(text.s, 'x', text.len);
    *out = (struct size){0, 0};
    if (x == NULL) {
        return sl_str_to_i64(text, &out->gpus) && out->gpus >= 1 &&
               out->gpus <= (int64_t)SL_FLEET_NODES_MAX * SL_FLEET_GPUS_PER_NODE;
    }
    size_t left = (size_t)(x - text.s);
    return sl_str_to_i64((struct sl_str){text.s, left}, &out->nodes) &&
           sl_str_to_i64((struct sl_str){x + 1, text.len - left - 1}, &out->gpus) &&
           out->nodes >= 1 && out->nodes <= SL_FLEET_NODES_MAX && out->gpus >= 1 &&
           out->gpus <= SL_NODE_DEVICES_MAX;
}

static int add_nodes(struct sl_fleet *fleet, struct size size, const struct sl_mig_model *model,
                     struct sl_error *err)
{
    bool spread = size.nodes == 0;
    int64_t left = spread ? size.gpus : size.nodes * size.gpus;
    int64_t each = spread ? SL_FLEET_GPUS_PER_NODE : size.gpus;
    for (int i = 0; left > 0; i++) {
        char name[NUMBER_TEXT];
        (void)snprintf(name, sizeof(name), "node-%05d", i);
        const struct sl_fleet_node node = {
            .name = name,
            .product = model != NULL ? model->products[0] : NULL,
            .gpus = (int)(left < each ? left : each),
        };
        if (sl_fleet_add(fleet, &node, err) < 0) {
            return -1;
        }
        left -= node.gpus;
    }
    return 0;
}

int sl_fleet_gpus(struct sl_fleet *fleet, const char *text, struct sl_error *err)
{
    struct size size;
    struct sl_str cut = sl_str_of(text);
    struct sl_str number = sl_str_cut(&cut, ':');
    struct sl_str name = sl_str_cut(&cut, ':');
    const struct sl_mig_model *model = sl_model_named(name);
    struct sl_counts counts;
    if (!parse_size(number, &size)) {
        return wrong_gpus(text, err);
    }
    if (name.len > 0 && model == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "\"%.*s\" is no known model; for example %s, %s",
                            (int)(name.len < 40 ? name.len : 40), name.s, sl_mig_model_at(0)->name,
                            sl_mig_model_at(1)->name);
    }
    if (cut.len > 0 && sl_counts_parse(cut, model, &counts, err) < 0) {
        return -1;
    }
    if (add_nodes(fleet, size, model, err) < 0) {
        return -1;
    }
    return cut.len > 0 ? sl_fleet_cut(fleet, &counts, NULL, err) : 0;
}

/* ---- lists of nodes ---- */

struct record {
    struct sl_str name;
    struct sl_str model;
    int64_t gpus;
    int64_t cpu_milli;
    int64_t memory_mib;
};

#define COUNT(member, most)                                                                        \
    .kind = SL_FIELD_INTEGER, .at = offsetof(struct record, member), .min = 0, .max = (most)
#define TEXT(member) .kind = SL_FIELD_TEXT, .at = offsetof(struct record, member)

enum { FIELDS = 5 };

static const struct list {
    const char *name;
    int64_t share_units;
    struct sl_field field[FIELDS];
} lists[] = {
    {"openb",
     1000,
     {{"sn", TEXT(name)},
      {"gpu", COUNT(gpus, SL_NODE_DEVICES_MAX)},
      {"model", TEXT(model), .need = SL_FIELD_OPTIONAL},
      {"cpu_milli", COUNT(cpu_milli, INT32_MAX), .need = SL_FIELD_OPTIONAL},
      {"memory_mib", COUNT(memory_mib, INT32_MAX), .need = SL_FIELD_OPTIONAL}}},
    {"csv",
     0,
     {{"name", TEXT(name)},
      {"gpus", COUNT(gpus, SL_NODE_DEVICES_MAX)},
      {"model", TEXT(model), .need = SL_FIELD_OPTIONAL},
      {"cpu_milli", COUNT(cpu_milli, INT32_MAX), .need = SL_FIELD_OPTIONAL},
      {"memory_mib", COUNT(memory_mib, INT32_MAX), .need = SL_FIELD_OPTIONAL}}},
};

struct listing {
    struct sl_fleet *fleet;
    const struct list *list;
};

static int node_read(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    const struct listing *listing = context;
    const struct record *record = taken;
    char name[256];
    char model[64];
    if (record->name.len == 0 || record->name.len >= sizeof(name)) {
        return sl_record_wrong(csv, listing->list->field[0].column, "a node's name", err);
    }
    if (record->gpus == 0) {
        listing->fleet->without++;
        return 0;
    }
    int shown = (int)(record->model.len < sizeof(model) ? record->model.len : sizeof(model) - 1);
    (void)snprintf(name, sizeof(name), "%.*s", (int)record->name.len, record->name.s);
    (void)snprintf(model, sizeof(model), "%.*s", shown, shown > 0 ? record->model.s : "");
    const struct sl_fleet_node node = {
        .name = name,
        .product = shown > 0 ? model : NULL,
        .gpus = (int)record->gpus,
        .cpu_milli = record->cpu_milli,
        .memory_mib = record->memory_mib,
        .share_units = listing->list->share_units,
    };
    return sl_fleet_add(listing->fleet, &node, err);
}

int sl_fleet_list(struct sl_fleet *fleet, const char *format_and_file, struct sl_error *err)
{
    struct sl_str format = {NULL, 0};
    const char *file = NULL;
    struct listing listing = {.fleet = fleet};
    struct record record = {.gpus = 0};
    if (sl_trace_split(format_and_file, &format, &file)) {
        for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
            listing.list = sl_str_eq(format, sl_str_of(lists[i].name)) ? &lists[i] : listing.list;
        }
    }
    if (listing.list == NULL) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "\"%s\": expected FORMAT:FILE with a format of openb, csv",
                            format_and_file);
    }
    const struct sl_records records = SL_RECORDS(listing.list->field, node_read, record, &listing);
    return sl_records_read(&records, file, err);
}

int64_t sl_fleet_units(const struct sl_fleet *fleet, const char *resource, const char *model)
{
    int64_t units = 0;
    for (size_t i = 0; i < fleet->n; i++) {
        const struct sl_node *node = fleet->node[i];
        bool is = sl_node_is_of(node, model);
        for (unsigned k = 0; k < node->n_pools && is; k++) {
            bool same = strcmp(node->pool[k].resource, resource) == 0;
            units += same ? node->pool[k].capacity : 0;
        }
    }
    return units;
}

int64_t sl_fleet_widest(const struct sl_fleet *fleet, struct sl_str resource)
{
    int64_t widest = 0;
    for (size_t i = 0; i < fleet->n; i++) {
        const struct sl_node *node = fleet->node[i];
        for (unsigned k = 0; k < node->n_pools; k++) {
            const struct sl_pool *pool = &node->pool[k];
            bool more = pool->capacity > widest;
            widest =
                more && sl_str_eq(resource, sl_str_of(pool->resource)) ? pool->capacity : widest;
        }
    }
    return widest;
}
