/* Manifests: single objects, Lists and several documents, with kind and apiVersion anywhere among
 * an object's keys. */
#include "codec/object/parts.h"
#include "codec/stream/json.h"
#include "codec/stream/yaml.h"

#include <stdlib.h>

/* The kind and API version that an object states. */
struct head {
    bool has_kind;
    bool has_api;
    bool v1;  /* apiVersion */
    bool dra; /* it is one of resource.k8s.io */
    size_t kind_len;
    char kind[SL_KIND_NAME_MAX];
    struct sl_event at; /* where the object begins */
};

enum head_class {
    CLASS_UNKNOWN, /* not said yet */
    CLASS_NODE,
    CLASS_POD,
    CLASS_LIST,
    CLASS_DEVICE, /* a DeviceClass */
    CLASS_SPACE,  /* a Namespace */
    CLASS_OTHER,
};

struct sl_manifest {
    struct sl_json *json; /* NULL while YAML is read */
    sl_object_fn receive;
    void *context;
    struct sl_arena arena;
    struct sl_walker walker;
    struct sl_build build; /* the object being read: the text's own, or an item */
    struct head head;      /* of that object */
    struct head list;      /* of the list whose items are read */
    bool forgiving;        /* as the limits say */
    bool in_list;          /* items were opened: the text's own object is a list */
    bool failed;
    struct sl_error error; /* when failed */
};

static struct sl_str head_kind(const struct head *head)
{
    return (struct sl_str){head->kind, head->kind_len};
}

static enum head_class head_classify(const struct head *head)
{
    struct sl_str kind = head_kind(head);
    bool node = sl_str_eq(kind, SL_STR("Node"));
    if (!head->has_kind) {
        return CLASS_UNKNOWN;
    }
    if (node || sl_str_eq(kind, SL_STR("Pod"))) {
        if (!head->has_api) {
            return CLASS_UNKNOWN;
        }
        if (!head->v1) {
            return CLASS_OTHER;
        }
        return node ? CLASS_NODE : CLASS_POD;
    }
    if (sl_str_eq(kind, SL_STR("DeviceClass"))) {
        return !head->has_api ? CLASS_UNKNOWN : head->dra ? CLASS_DEVICE : CLASS_OTHER;
    }
    if (sl_str_eq(kind, SL_STR("Namespace"))) {
        return !head->has_api ? CLASS_UNKNOWN : head->v1 ? CLASS_SPACE : CLASS_OTHER;
    }
    return sl_str_ends(kind, SL_STR("List")) ? CLASS_LIST : CLASS_OTHER;
}

/* A list whose items were opened, not one of the items. */
static bool at_list(const struct sl_manifest *manifest)
{
    return manifest->in_list && manifest->walker.depth == 1;
}

/* Defers the faults of an object until it is known whether the object matters; those of one that
 * does not are never told. */
static void update_defer(struct sl_manifest *manifest)
{
    enum head_class found = head_classify(&manifest->head);
    manifest->walker.defer = !at_list(manifest) && (manifest->forgiving || found == CLASS_UNKNOWN ||
                                                    found == CLASS_DEVICE || found == CLASS_SPACE ||
                                                    found == CLASS_OTHER);
}

static void begin_object(struct sl_manifest *manifest, const struct sl_event *event)
{
    sl_arena_reset(&manifest->arena);
    manifest->build = (struct sl_build){0};
    manifest->head = (struct head){.at = *event};
    manifest->head.at.text = (struct sl_str){0};
    manifest->walker.deferred.code = SL_ERR_NONE;
    manifest->walker.vital = false;
    update_defer(manifest);
}

/* ---- an object's end ---- */

static int hand_over(struct sl_manifest *manifest, const struct sl_object *object,
                     struct sl_error *err)
{
    if (manifest->receive(manifest->context, object, err) != 0) {
        sl_walk_place(&manifest->walker, &manifest->head.at, err);
        return SL_EVENT_FAIL;
    }
    return SL_EVENT_GO;
}

static int end_known(struct sl_manifest *manifest, enum head_class found, struct sl_error *err)
{
    struct sl_build *build = &manifest->build;
    struct sl_object object = {.kind = SL_OBJECT_POD, .kind_name = head_kind(&manifest->head)};
    const struct sl_error *deferred = &manifest->walker.deferred;
    if (deferred->code != SL_ERR_NONE && (!manifest->forgiving || manifest->walker.vital)) {
        if (err != NULL) {
            *err = *deferred;
        }
        return SL_EVENT_FAIL;
    }
    if (deferred->code != SL_ERR_NONE &&
        sl_build_problem(build, deferred, &manifest->arena, err) < 0) {
        return SL_EVENT_FAIL;
    }
    manifest->walker.defer = false;
    if (build->meta.name.len == 0) {
        return sl_walk_missing(&manifest->walker, &manifest->head.at, err, "metadata.name");
    }
    if (found == CLASS_POD) {
        sl_build_pod(build);
        object.pod = &build->pod;
        return hand_over(manifest, &object, err);
    }
    if (sl_build_node(build, &manifest->arena, err) != 0) {
        sl_walk_place(&manifest->walker, &manifest->head.at, err);
        return SL_EVENT_FAIL;
    }
    object.kind = SL_OBJECT_NODE;
    object.node = &build->node;
    return hand_over(manifest, &object, err);
}

/* The object ended before it said what it is. */
static int end_unknown(struct sl_manifest *manifest, struct sl_error *err)
{
    struct sl_walker *walker = &manifest->walker;
    walker->defer = false;
    if (walker->deferred.code != SL_ERR_NONE) {
        if (err != NULL) {
            *err = walker->deferred;
        }
        return SL_EVENT_FAIL;
    }
    return sl_walk_missing(walker, &manifest->head.at, err,
                           manifest->head.has_kind ? "apiVersion" : "kind");
}

static int end_object(struct sl_manifest *manifest, struct sl_error *err)
{
    enum head_class found = head_classify(&manifest->head);
    if (found == CLASS_UNKNOWN) {
        return end_unknown(manifest, err);
    }
    if (found == CLASS_NODE || found == CLASS_POD) {
        return end_known(manifest, found, err);
    }
    struct sl_object object = {.kind = SL_OBJECT_OTHER, .kind_name = head_kind(&manifest->head)};
    if (found == CLASS_DEVICE) {
        object.extended = manifest->build.extended;
    } else if (found == CLASS_SPACE) {
        object.space = manifest->build.meta.name;
        object.labels = manifest->build.meta.labels;
    }
    return hand_over(manifest, &object, err);
}

/* ---- hooks ---- */

static int set_kind(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    struct sl_manifest *manifest = walker->context;
    struct head *head = &manifest->head;
    (void)target;
    if (event->text.len == 0 || event->text.len >= sizeof(head->kind)) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "expected 1 to %d bytes, found %zu",
                            SL_KIND_NAME_MAX - 1, event->text.len);
    }
    memcpy(head->kind, event->text.s, event->text.len);
    head->kind[event->text.len] = '\0';
    head->kind_len = event->text.len;
    head->has_kind = true;
    update_defer(manifest);
    return SL_EVENT_GO;
}

static int set_api(struct sl_walker *walker, void *target, const struct sl_event *event,
                   struct sl_error *err)
{
    struct sl_manifest *manifest = walker->context;
    (void)target;
    (void)err;
    manifest->head.has_api = true;
    manifest->head.v1 = sl_str_eq(event->text, SL_STR("v1"));
    manifest->head.dra = sl_str_starts(event->text, SL_STR("resource.k8s.io/"));
    update_defer(manifest);
    return SL_EVENT_GO;
}

/* Skips all but the kind of an object that is neither Node nor Pod. */
static int open_part(struct sl_walker *walker, void *target, const struct sl_event *event,
                     struct sl_error *err)
{
    const struct sl_manifest *manifest = walker->context;
    (void)target;
    (void)event;
    (void)err;
    bool list_itself = manifest->in_list && walker->depth == 1;
    enum head_class found = head_classify(&manifest->head);
    return list_itself || found == CLASS_LIST || found == CLASS_OTHER ? SL_EVENT_SKIP : SL_EVENT_GO;
}

static int open_items(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_manifest *manifest = walker->context;
    enum head_class found = head_classify(&manifest->head);
    bool foreign = manifest->head.has_api && !manifest->head.v1;
    (void)target;
    (void)event;
    (void)err;
    if (foreign || (manifest->head.has_kind && found != CLASS_LIST)) {
        return SL_EVENT_SKIP;
    }
    manifest->list = manifest->head;
    manifest->in_list = true;
    walker->defer = false;
    walker->deferred.code = SL_ERR_NONE;
    return SL_EVENT_GO;
}

static int begin_root(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_manifest *manifest = walker->context;
    (void)target;
    (void)err;
    manifest->in_list = false;
    begin_object(manifest, event);
    return SL_EVENT_GO;
}

static int end_root(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    struct sl_manifest *manifest = walker->context;
    (void)target;
    (void)event;
    if (manifest->in_list) {
        return SL_EVENT_GO;
    }
    if (head_classify(&manifest->head) == CLASS_LIST) {
        if (walker->deferred.code == SL_ERR_NONE) {
            return SL_EVENT_GO;
        }
        return end_unknown(manifest, err);
    }
    return end_object(manifest, err);
}

/* Items of a NodeList or PodList need not say what they are; those of a List do. */
static int begin_item(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_manifest *manifest = walker->context;
    const struct head *list = &manifest->list;
    (void)target;
    (void)err;
    begin_object(manifest, event);
    size_t suffix = sizeof("List") - 1;
    if (list->has_kind && list->kind_len > suffix) {
        struct head *head = &manifest->head;
        head->kind_len = list->kind_len - suffix;
        memcpy(head->kind, list->kind, head->kind_len);
        head->kind[head->kind_len] = '\0';
        head->has_kind = true;
        head->has_api = list->has_api;
        head->v1 = list->v1;
        update_defer(manifest);
    }
    return SL_EVENT_GO;
}

static int end_item(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    struct sl_manifest *manifest = walker->context;
    (void)target;
    (void)event;
    int result = end_object(manifest, err);
    /* The list itself goes on; its own faults are not deferred. */
    walker->defer = false;
    walker->deferred.code = SL_ERR_NONE;
    return result;
}

/* ---- tables ---- */

static const struct sl_field object_fields[] = {
    {SL_FIELD_NAME("apiVersion"), .kind = SL_FIELD_TEXT, .value = set_api},
    {SL_FIELD_NAME("kind"), .kind = SL_FIELD_TEXT, .value = set_kind},
    {SL_FIELD_NAME("metadata"), .kind = SL_FIELD_OBJECT, .vital = SL_VITAL_ITSELF,
     .table = &sl_meta_table, .offset = offsetof(struct sl_build, meta), .open = open_part},
    {SL_FIELD_NAME("spec"), .kind = SL_FIELD_OBJECT, .vital = SL_VITAL_ITSELF,
     .table = &sl_pod_spec_table, .open = open_part},
    {SL_FIELD_NAME("status"), .kind = SL_FIELD_OBJECT, .vital = SL_VITAL_ITSELF,
     .table = &sl_pod_status_table, .open = open_part},
};

static const struct sl_table item_table = {SL_TABLE_FIELDS(object_fields), .begin = begin_item,
                                           .end = end_item};

static const struct sl_field list_fields[] = {
    {SL_FIELD_NAME("items"), .kind = SL_FIELD_OBJECTS, .table = &item_table, .open = open_items},
};

static const struct sl_table root_table = {SL_TABLE_FIELDS(list_fields), .begin = begin_root,
                                           .end = end_root, .also = &item_table};

static const struct sl_field root_field = {SL_FIELD_NAME(""), .kind = SL_FIELD_OBJECT,
                                           .table = &root_table};

/* ---- lifecycle ---- */

static struct sl_manifest *manifest_new(sl_object_fn receive, void *context)
{
    struct sl_manifest *manifest = calloc(1, sizeof(*manifest));
    if (manifest == NULL) {
        return NULL;
    }
    manifest->receive = receive;
    manifest->context = context;
    sl_arena_init(&manifest->arena, SL_OBJECT_BYTES_MAX);
    sl_walk_init(&manifest->walker, &root_field, &manifest->build, &manifest->arena, manifest);
    return manifest;
}

struct sl_manifest *sl_manifest_new(const struct sl_text_limits *limits, sl_object_fn receive,
                                    void *context)
{
    struct sl_manifest *manifest = manifest_new(receive, context);
    if (manifest == NULL) {
        return NULL;
    }
    manifest->forgiving = limits->forgiving;
    manifest->json = sl_json_new(limits, sl_walk_receive, &manifest->walker);
    if (manifest->json == NULL) {
        sl_manifest_free(manifest);
        return NULL;
    }
    return manifest;
}

void sl_manifest_free(struct sl_manifest *manifest)
{
    if (manifest == NULL) {
        return;
    }
    sl_json_free(manifest->json);
    sl_arena_free(&manifest->arena);
    free(manifest);
}

static int manifest_settle(struct sl_manifest *manifest, int result, struct sl_error *err)
{
    if (result != 0) {
        manifest->failed = true;
        sl_walk_place(&manifest->walker, NULL, &manifest->error);
        if (err != NULL) {
            *err = manifest->error;
        }
        return -1;
    }
    return 0;
}

int sl_manifest_feed(struct sl_manifest *manifest, const char *data, size_t len,
                     struct sl_error *err)
{
    int result = manifest->failed ? -1 : sl_json_feed(manifest->json, data, len, &manifest->error);
    return manifest_settle(manifest, result, err);
}

int sl_manifest_finish(struct sl_manifest *manifest, struct sl_error *err)
{
    int result = manifest->failed ? -1 : sl_json_finish(manifest->json, &manifest->error);
    return manifest_settle(manifest, result, err);
}

static bool looks_like_json(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')) {
        i++;
    }
    return i < len && text[i] == '{';
}

static int decode_json(const char *text, size_t len, const struct sl_text_limits *limits,
                       sl_object_fn receive, void *context, struct sl_error *err)
{
    struct sl_manifest *manifest = sl_manifest_new(limits, receive, context);
    if (manifest == NULL) {
        return sl_error_nomem(err);
    }
    int result = sl_manifest_feed(manifest, text, len, err);
    if (result == 0) {
        result = sl_manifest_finish(manifest, err);
    }
    sl_manifest_free(manifest);
    return result;
}

int sl_manifest_decode(const char *text, size_t len, const struct sl_text_limits *limits,
                       sl_object_fn receive, void *context, struct sl_error *err)
{
    if (looks_like_json(text, len)) {
        return decode_json(text, len, limits, receive, context, err);
    }
    struct sl_manifest *manifest = manifest_new(receive, context);
    if (manifest == NULL) {
        return sl_error_nomem(err);
    }
    manifest->walker.null_root = true;
    int result =
        sl_yaml_parse(text, len, limits, sl_walk_receive, &manifest->walker, &manifest->error);
    result = manifest_settle(manifest, result, err);
    sl_manifest_free(manifest);
    return result;
}
