/* Two walks: the outer one reads the list or the event, and hands each object's events to an inner
 * one, which may fail alone. */
#include "codec/watch.h"

#include "codec/object/parts.h"
#include "codec/stream/json.h"

#include <stdio.h>
#include <stdlib.h>

enum { ENVELOPE_BYTES_MAX = 64 << 10 /* resourceVersion and continue */ };

/* An object: a Node, Pod, Job, ConfigMap or Namespace, or the Status of an ERROR event, which is
 * known last.
 */
struct part {
    struct sl_build build;
    struct sl_job_build job;
    struct sl_watch_status status;
    struct sl_pair *data;
    struct sl_str kind;
};

struct envelope {
    struct sl_list_meta meta;
    bool has_kind;
    bool has_type;
    bool has_object;
    enum sl_watch_event type;
};

struct sl_watch {
    enum sl_watch_form form;
    enum sl_object_kind kind;
    sl_watch_fn receive;
    void *context;
    struct sl_json *json;
    struct sl_walker outer;
    struct sl_arena outer_arena;
    struct envelope envelope;
    /* the object */
    struct sl_walker inner;
    struct sl_arena arena;
    struct part part;
    bool object_next; /* the event that the outer walk has just seen begins it */
    unsigned open;    /* its containers whose end will be reported; 0: not within one */
    struct sl_error problem;
    bool lost;             /* passes over the rest of a line that could not be read */
    bool fresh;            /* at a line's first byte */
    bool refused;          /* by receive */
    struct sl_error error; /* of the whole */
    bool failed;
};

/* ---- kinds ---- */

/* Members of every object, and of a Status. Of a Namespace no others are read. */
static const struct sl_field plain_fields[] = {
    {SL_FIELD_NAME("kind"), .kind = SL_FIELD_STRING, .offset = offsetof(struct part, kind)},
    {SL_FIELD_NAME("metadata"), .kind = SL_FIELD_OBJECT, .vital = SL_VITAL_ITSELF,
     .table = &sl_meta_table, .offset = offsetof(struct part, build.meta)},
    {SL_FIELD_NAME("code"), .kind = SL_FIELD_I32, .offset = offsetof(struct part, status.code)},
    {SL_FIELD_NAME("reason"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct part, status.reason)},
    {SL_FIELD_NAME("message"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct part, status.message)},
};

static const struct sl_table plain_table = {SL_TABLE_FIELDS(plain_fields)};

static const struct sl_field object_fields[] = {
    {SL_FIELD_NAME("spec"), .kind = SL_FIELD_OBJECT, .vital = SL_VITAL_ITSELF,
     .table = &sl_pod_spec_table, .offset = offsetof(struct part, build)},
    /* a Status has a text here: as an object's status of the wrong type, which nobody reads
     * there */
    {SL_FIELD_NAME("status"), .kind = SL_FIELD_OBJECT, .vital = SL_VITAL_ITSELF,
     .table = &sl_pod_status_table, .offset = offsetof(struct part, build)},
};

static const struct sl_table object_table = {SL_TABLE_FIELDS(object_fields), .also = &plain_table};

static const struct sl_field job_fields[] = {
    {SL_FIELD_NAME("status"), .kind = SL_FIELD_OBJECT, .vital = SL_VITAL_DEEP,
     .table = &sl_job_status_table, .offset = offsetof(struct part, job)},
};

static const struct sl_table job_table = {SL_TABLE_FIELDS(job_fields), .also = &plain_table};

static int complete_node(struct sl_watch *watch, struct sl_object *object, struct sl_error *err)
{
    object->node = &watch->part.build.node;
    return sl_build_node(&watch->part.build, &watch->arena, err);
}

static int complete_pod(struct sl_watch *watch, struct sl_object *object, struct sl_error *err)
{
    (void)err;
    object->pod = &watch->part.build.pod;
    sl_build_pod(&watch->part.build);
    return 0;
}

static int complete_job(struct sl_watch *watch, struct sl_object *object, struct sl_error *err)
{
    const struct sl_meta *meta = &watch->part.build.meta;
    struct sl_job_facts *job = &watch->part.job.facts;
    (void)err;
    job->namespace = meta->namespace;
    job->name = meta->name;
    job->uid = meta->uid;
    object->job = job;
    return 0;
}

/* gpushare's list of unhealthy GPUs; other ConfigMaps' data takes no memory. */
static enum sl_walk_keep keep_data(struct sl_str key)
{
    return sl_str_eq(key, SL_STR("gpus")) ? SL_WALK_KEEP_ALWAYS : SL_WALK_PASS;
}

static const struct sl_field config_map_fields[] = {
    {SL_FIELD_NAME("data"), .kind = SL_FIELD_STRINGS, .vital = SL_VITAL_DEEP,
     .offset = offsetof(struct part, data), .keep = keep_data},
};

static const struct sl_table config_map_table = {SL_TABLE_FIELDS(config_map_fields),
                                                 .also = &object_table};

static int complete_config_map(struct sl_watch *watch, struct sl_object *object,
                               struct sl_error *err)
{
    (void)err;
    object->data = watch->part.data;
    return 0;
}

static int complete_device_class(struct sl_watch *watch, struct sl_object *object,
                                 struct sl_error *err)
{
    (void)err;
    object->extended = watch->part.build.extended;
    return 0;
}

static int complete_namespace(struct sl_watch *watch, struct sl_object *object,
                              struct sl_error *err)
{
    (void)err;
    object->space = watch->part.build.meta.name;
    object->labels = watch->part.build.meta.labels;
    return 0;
}

struct kind_row {
    struct sl_field root; /* named as the kind is */
    int (*complete)(struct sl_watch *watch, struct sl_object *object, struct sl_error *err);
};

static const struct kind_row kinds[] = {
    [SL_OBJECT_NODE] = {{SL_FIELD_NAME("Node"), .kind = SL_FIELD_OBJECT, .table = &object_table},
                        complete_node},
    [SL_OBJECT_POD] = {{SL_FIELD_NAME("Pod"), .kind = SL_FIELD_OBJECT, .table = &object_table},
                       complete_pod},
    [SL_OBJECT_JOB] = {{SL_FIELD_NAME("Job"), .kind = SL_FIELD_OBJECT, .table = &job_table},
                       complete_job},
    [SL_OBJECT_CONFIG_MAP] = {{SL_FIELD_NAME("ConfigMap"), .kind = SL_FIELD_OBJECT,
                               .table = &config_map_table},
                              complete_config_map},
    [SL_OBJECT_DEVICE_CLASS] = {{SL_FIELD_NAME("DeviceClass"), .kind = SL_FIELD_OBJECT,
                                 .table = &object_table},
                                complete_device_class},
    [SL_OBJECT_NAMESPACE] = {{SL_FIELD_NAME("Namespace"), .kind = SL_FIELD_OBJECT,
                              .table = &plain_table},
                             complete_namespace},
};

static struct sl_str kind_name(const struct sl_watch *watch)
{
    const struct sl_field *root = &kinds[watch->kind].root;
    return (struct sl_str){root->name, root->name_len};
}

/* ---- an object ---- */

static void begin_object(struct sl_watch *watch)
{
    sl_arena_reset(&watch->arena);
    watch->part = (struct part){.kind = {NULL, 0}};
    watch->problem.code = SL_ERR_NONE;
    sl_walk_init(&watch->inner, &kinds[watch->kind].root, &watch->part, &watch->arena, watch);
    watch->inner.defer = true;
}

static int fail_object(struct sl_watch *watch, const char *field, const char *text)
{
    (void)sl_error_set(&watch->problem, SL_ERR_FIELD, "%s", text);
    (void)snprintf(watch->problem.field, sizeof(watch->problem.field), "%s.%s", kind_name(watch).s,
                   field);
    return -1;
}

/* -1 with watch->problem set when the object cannot be used. */
static int judge_object(struct sl_watch *watch, bool deleted, struct sl_object *object)
{
    const struct part *part = &watch->part;
    bool named = part->build.meta.name.len > 0;
    *object = (struct sl_object){.kind = watch->kind, .kind_name = kind_name(watch)};
    if (watch->inner.vital && !(deleted && named)) {
        watch->problem = watch->inner.deferred;
        return -1;
    }
    if (part->kind.len > 0 && !sl_str_eq(part->kind, kind_name(watch))) {
        return fail_object(watch, "kind", "is another kind");
    }
    if (!named) {
        return fail_object(watch, "metadata.name", "is missing");
    }
    if (watch->inner.deferred.code != SL_ERR_NONE &&
        sl_build_problem(&watch->part.build, &watch->inner.deferred, &watch->arena,
                         &watch->problem) < 0) {
        return -1;
    }
    return kinds[watch->kind].complete(watch, object, &watch->problem) < 0 && !deleted ? -1 : 0;
}

static int hand_over(struct sl_watch *watch, const struct sl_watch_item *item, struct sl_error *err)
{
    watch->refused = watch->receive(watch->context, item, err) < 0;
    return watch->refused ? SL_EVENT_FAIL : SL_EVENT_GO;
}

static int item_deliver(struct sl_watch *watch, enum sl_watch_event event, struct sl_error *err)
{
    const struct sl_meta *meta = &watch->part.build.meta;
    struct sl_object object;
    struct sl_watch_item item = {.event = event,
                                 .resource_version = meta->resource_version,
                                 .namespace = meta->namespace,
                                 .name = meta->name};
    if (event == SL_WATCH_ERROR) {
        item.status = &watch->part.status;
    } else if (event == SL_WATCH_BOOKMARK) {
        if (meta->resource_version.len == 0) {
            (void)fail_object(watch, "metadata.resourceVersion", "is missing");
            item.problem = &watch->problem;
        }
    } else if (judge_object(watch, event == SL_WATCH_DELETED, &object) == 0) {
        item.object = &object;
    } else if (watch->problem.code == SL_ERR_NOMEM) {
        *err = watch->problem; /* skipped, the object would be missing until the next list */
        return SL_EVENT_FAIL;
    } else {
        item.problem = &watch->problem;
    }
    return hand_over(watch, &item, err);
}

static int object_done(struct sl_watch *watch, struct sl_error *err)
{
    watch->envelope.has_object = true;
    return watch->form == SL_WATCH_LIST ? item_deliver(watch, SL_WATCH_ADDED, err) : SL_EVENT_GO;
}

/* Passes an event within the object on. */
static int object_event(struct sl_watch *watch, const struct sl_event *event, struct sl_error *err)
{
    int result = sl_walk_receive(&watch->inner, event, err);
    if (result == SL_EVENT_FAIL) {
        return result;
    }
    bool begins = event->type == SL_EVENT_OBJECT || event->type == SL_EVENT_ARRAY;
    bool ends = event->type == SL_EVENT_OBJECT_END || event->type == SL_EVENT_ARRAY_END;
    if (begins && result == SL_EVENT_GO) {
        watch->open++;
    } else if (ends) {
        watch->open--;
        if (watch->open == 0) {
            return object_done(watch, err);
        }
    }
    return result;
}

/* ---- the outer walk ---- */

/* The outer walk skips the object; receive_event gives it to the inner one. */
static int begin_item(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_watch *watch = walker->context;
    (void)target;
    (void)event;
    (void)err;
    watch->object_next = true;
    return SL_EVENT_SKIP;
}

static const struct sl_table item_table = {.begin = begin_item};

static int check_list_kind(struct sl_walker *walker, void *target, const struct sl_event *event,
                           struct sl_error *err)
{
    const struct sl_watch *watch = walker->context;
    struct envelope *envelope = target;
    struct sl_str name = kind_name(watch);
    envelope->has_kind = true;
    if (sl_str_starts(event->text, name) &&
        sl_str_eq((struct sl_str){event->text.s + name.len, event->text.len - name.len},
                  SL_STR("List"))) {
        return SL_EVENT_GO;
    }
    return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "expected %sList, found \"%.*s\"", name.s,
                        event->text.len < 40 ? (int)event->text.len : 40, event->text.s);
}

static int set_type(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    static const struct sl_str names[SL_WATCH_EVENTS] = {
        [SL_WATCH_ADDED] = {"ADDED", 5},     [SL_WATCH_MODIFIED] = {"MODIFIED", 8},
        [SL_WATCH_DELETED] = {"DELETED", 7}, [SL_WATCH_BOOKMARK] = {"BOOKMARK", 8},
        [SL_WATCH_ERROR] = {"ERROR", 5},
    };
    struct envelope *envelope = target;
    for (enum sl_watch_event type = SL_WATCH_ADDED; type < SL_WATCH_EVENTS; type++) {
        if (sl_str_eq(event->text, names[type])) {
            envelope->type = type;
            envelope->has_type = true;
            return SL_EVENT_GO;
        }
    }
    return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "\"%.*s\" is no event",
                        event->text.len < 40 ? (int)event->text.len : 40, event->text.s);
}

static int begin_watch_event(struct sl_walker *walker, void *target, const struct sl_event *event,
                             struct sl_error *err)
{
    struct sl_watch *watch = walker->context;
    struct envelope *envelope = target;
    (void)event;
    (void)err;
    *envelope = (struct envelope){.has_type = false};
    begin_object(watch);
    walker->defer = true;
    walker->deferred.code = SL_ERR_NONE;
    return SL_EVENT_GO;
}

static int end_watch_event(struct sl_walker *walker, void *target, const struct sl_event *event,
                           struct sl_error *err)
{
    struct sl_watch *watch = walker->context;
    const struct envelope *envelope = target;
    if (walker->deferred.code == SL_ERR_NONE && !(envelope->has_type && envelope->has_object)) {
        (void)sl_walk_missing(walker, event, err, envelope->has_type ? "object" : "type");
    }
    walker->defer = false;
    if (walker->deferred.code == SL_ERR_NONE) {
        return item_deliver(watch, envelope->type, err);
    }
    const struct sl_watch_item item = {.event = SL_WATCH_MODIFIED, .problem = &walker->deferred};
    return hand_over(watch, &item, err);
}

static const struct sl_field meta_fields[] = {
    {SL_FIELD_NAME("resourceVersion"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct envelope, meta.resource_version)},
    {SL_FIELD_NAME("continue"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct envelope, meta.next)},
    {SL_FIELD_NAME("remainingItemCount"), .kind = SL_FIELD_I64,
     .offset = offsetof(struct envelope, meta.remaining)},
};
static const struct sl_table meta_table = {SL_TABLE_FIELDS(meta_fields)};

static const struct sl_field list_fields[] = {
    {SL_FIELD_NAME("kind"), .kind = SL_FIELD_TEXT, .value = check_list_kind},
    {SL_FIELD_NAME("metadata"), .kind = SL_FIELD_OBJECT, .table = &meta_table},
    {SL_FIELD_NAME("items"), .kind = SL_FIELD_OBJECTS, .table = &item_table},
};
static const struct sl_table list_table = {SL_TABLE_FIELDS(list_fields)};

static const struct sl_field event_fields[] = {
    {SL_FIELD_NAME("type"), .kind = SL_FIELD_TEXT, .value = set_type},
    {SL_FIELD_NAME("object"), .kind = SL_FIELD_OBJECT, .table = &item_table},
};
static const struct sl_table event_table = {SL_TABLE_FIELDS(event_fields),
                                            .begin = begin_watch_event, .end = end_watch_event};

static const struct sl_field outer_roots[] = {
    [SL_WATCH_LIST] = {SL_FIELD_NAME("List"), .kind = SL_FIELD_OBJECT, .table = &list_table},
    [SL_WATCH_STREAM] = {SL_FIELD_NAME("Event"), .kind = SL_FIELD_OBJECT, .table = &event_table},
};

static int receive_event(void *context, const struct sl_event *event, struct sl_error *err)
{
    struct sl_watch *watch = context;
    if (watch->open > 0) {
        return object_event(watch, event, err);
    }
    int result = sl_walk_receive(&watch->outer, event, err);
    if (result != SL_EVENT_FAIL && watch->object_next) {
        watch->object_next = false;
        begin_object(watch);
        return object_event(watch, event, err);
    }
    return result;
}

/* ---- life ---- */

struct sl_watch *sl_watch_new(enum sl_watch_form form, enum sl_object_kind kind,
                              const struct sl_text_limits *limits, sl_watch_fn receive,
                              void *context)
{
    struct sl_watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL) {
        return NULL;
    }
    struct sl_text_limits forgiving = *limits;
    forgiving.forgiving = true;
    watch->form = form;
    watch->kind = kind;
    watch->receive = receive;
    watch->context = context;
    sl_arena_init(&watch->outer_arena, ENVELOPE_BYTES_MAX);
    sl_arena_init(&watch->arena, SL_OBJECT_BYTES_MAX);
    watch->json = sl_json_new(&forgiving, receive_event, watch);
    if (watch->json == NULL) {
        sl_watch_free(watch);
        return NULL;
    }
    sl_watch_reset(watch);
    return watch;
}

void sl_watch_free(struct sl_watch *watch)
{
    if (watch != NULL) {
        sl_json_free(watch->json);
        sl_arena_free(&watch->arena);
        sl_arena_free(&watch->outer_arena);
        free(watch);
    }
}

static void begin_text(struct sl_watch *watch)
{
    sl_arena_reset(&watch->outer_arena);
    watch->envelope = (struct envelope){.has_kind = false};
    sl_walk_init(&watch->outer, &outer_roots[watch->form], &watch->envelope, &watch->outer_arena,
                 watch);
    watch->object_next = false;
    watch->open = 0;
    if (watch->form == SL_WATCH_STREAM) {
        sl_json_reset_stream(watch->json, receive_event, watch);
    } else {
        sl_json_reset(watch->json, receive_event, watch);
    }
}

void sl_watch_reset(struct sl_watch *watch)
{
    begin_text(watch);
    watch->failed = false;
    watch->refused = false;
    watch->lost = false;
    watch->fresh = true;
}

static int watch_settle(struct sl_watch *watch, int result, struct sl_error *err)
{
    if (result == 0) {
        return 0;
    }
    watch->failed = true;
    if (err != NULL) {
        *err = watch->error;
    }
    return -1;
}

/* An event that cannot be read costs itself alone: the API server ends each with a line feed,
 * which JSON has in no string. The item names no object, since the lost line may have been of
 * any. */
static int lose_line(struct sl_watch *watch)
{
    if (watch->refused || watch->error.code == SL_ERR_NOMEM) {
        return -1;
    }
    const struct sl_error why = watch->error;
    const struct sl_watch_item item = {.event = SL_WATCH_MODIFIED, .problem = &why, .lost = true};
    watch->lost = true;
    begin_text(watch);
    return hand_over(watch, &item, &watch->error) == SL_EVENT_FAIL ? -1 : 0;
}

/* A brace at a line's beginning begins an event, even when the one before has not ended. -1 as
 * lose_line(). */
static int begin_line(struct sl_watch *watch)
{
    if (!watch->lost && !sl_json_between(watch->json)) {
        (void)sl_error_set(&watch->error, SL_ERR_SYNTAX, "an event is cut off");
        if (lose_line(watch) < 0) {
            return -1;
        }
    }
    watch->lost = false;
    return 0;
}

/* Takes a piece that has a line feed at its end or none. */
static int feed_line(struct sl_watch *watch, const char *data, size_t len)
{
    if (watch->fresh && data[0] == '{' && begin_line(watch) < 0) {
        return -1;
    }
    watch->fresh = data[len - 1] == '\n';
    if (watch->lost || sl_json_feed(watch->json, data, len, &watch->error) == 0) {
        return 0;
    }
    return lose_line(watch);
}

static int feed_lines(struct sl_watch *watch, const char *data, size_t len)
{
    while (len > 0) {
        const char *feed = memchr(data, '\n', len);
        size_t n = feed == NULL ? len : (size_t)(feed - data) + 1;
        if (feed_line(watch, data, n) < 0) {
            return -1;
        }
        data += n;
        len -= n;
    }
    return 0;
}

int sl_watch_feed(struct sl_watch *watch, const char *data, size_t len, struct sl_error *err)
{
    int result = -1;
    if (!watch->failed) {
        result = watch->form == SL_WATCH_STREAM
                     ? feed_lines(watch, data, len)
                     : sl_json_feed(watch->json, data, len, &watch->error);
    }
    return watch_settle(watch, result, err);
}

/* Refuses JSON that is no list, which would pass for an empty one. items may be null. */
static int check_list(const struct sl_watch *watch, struct sl_error *err)
{
    const struct envelope *envelope = &watch->envelope;
    if (envelope->has_kind && envelope->meta.resource_version.len > 0) {
        return 0;
    }
    (void)sl_error_set(err, SL_ERR_FIELD, "is missing");
    (void)snprintf(err->field, sizeof(err->field), "List.%s",
                   envelope->has_kind ? "metadata.resourceVersion" : "kind");
    return -1;
}

int sl_watch_finish(struct sl_watch *watch, struct sl_list_meta *meta, struct sl_error *err)
{
    int result = watch->failed ? -1 : sl_json_finish(watch->json, &watch->error);
    if (result == 0 && watch->form == SL_WATCH_LIST) {
        result = check_list(watch, &watch->error);
    }
    if (watch_settle(watch, result, err) < 0) {
        return -1;
    }
    if (meta != NULL) {
        *meta = watch->envelope.meta;
    }
    return 0;
}
