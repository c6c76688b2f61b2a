/* metadata: the same for every Kubernetes object. */
#include "codec/object/parts.h"
#include "util/timestamp.h"

#include <stdio.h>

/* Users choose how many annotations and labels there are. These decide over a pod and are kept,
 * however many others stand before them. */
static const struct sl_str always[] = {
#define NAME(text)                                                                                 \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }
    NAME("sliced.dev/after"),
    NAME("sliced.dev/assignment"),
    NAME("sliced.dev/cut"),
    NAME("sliced.dev/cut-devices"),
    NAME("sliced.dev/cut-text"),
    NAME("sliced.dev/cut-unsure"),
    NAME("sliced.dev/devices"),
    NAME("sliced.dev/gpu-memory"),
    NAME("sliced.dev/min-gpu-memory"),
    NAME("sliced.dev/partitioning"),
    NAME("sliced.dev/released"),
    NAME("sliced.dev/timeout"),
    NAME("ALIYUN_COM_GPU_MEM_ASSIGNED"),
    NAME("ALIYUN_COM_GPU_MEM_IDX"),
    NAME("aliyun.com/gpu-count"), /* a label */
};

/* Annotations of the GPU stack, those of rivals that sliced honours, and its own. Others may be
 * long and never take memory. */
static const struct sl_str prefixes[] = {
    NAME("sliced.dev/"),     NAME("nvidia.com/"), NAME("aliyun.com/"),
    NAME("nos.nebuly.com/"), NAME("ALIYUN_COM_"),
#undef NAME
};

static bool is_always(struct sl_str key)
{
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
        if (sl_str_eq(key, always[i])) {
            return true;
        }
    }
    return false;
}

/* docs/devices.md lists the annotations that are kept. */
static enum sl_walk_keep keep_annotation(struct sl_str key)
{
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (sl_str_starts(key, prefixes[i])) {
            return is_always(key) ? SL_WALK_KEEP_ALWAYS : SL_WALK_KEEP;
        }
    }
    return SL_WALK_PASS;
}

/* Pods select by any label. */
static enum sl_walk_keep keep_label(struct sl_str key)
{
    return is_always(key) ? SL_WALK_KEEP_ALWAYS : SL_WALK_KEEP;
}

int sl_meta_read_time(struct sl_walker *walker, const struct sl_event *event, int64_t *out_us,
                      struct sl_error *err)
{
    if (!sl_time_parse(event->text, out_us)) {
        return sl_walk_fail(walker, event, err, SL_ERR_FIELD,
                            "\"%.*s\" is not a time such as 2026-11-21T12:38:09Z",
                            event->text.len < 40 ? (int)event->text.len : 40, event->text.s);
    }
    return SL_EVENT_GO;
}

static int set_created(struct sl_walker *walker, void *target, const struct sl_event *event,
                       struct sl_error *err)
{
    struct sl_meta *meta = target;
    return sl_meta_read_time(walker, event, &meta->created_us, err);
}

static int set_deleting(struct sl_walker *walker, void *target, const struct sl_event *event,
                        struct sl_error *err)
{
    struct sl_meta *meta = target;
    meta->deleting = true;
    return sl_meta_read_time(walker, event, &meta->deleting_us, err);
}

static int begin_owner(struct sl_walker *walker, void *target, const struct sl_event *event,
                       struct sl_error *err)
{
    struct sl_meta *meta = target;
    (void)walker;
    (void)event;
    (void)err;
    meta->owner_of_apps = false;
    meta->owner_daemon_set = false;
    meta->owner_controls = false;
    meta->owner_kind[0] = '\0';
    meta->owner_name[0] = '\0';
    return SL_EVENT_GO;
}

static int set_owner_api(struct sl_walker *walker, void *target, const struct sl_event *event,
                         struct sl_error *err)
{
    struct sl_meta *meta = target;
    (void)walker;
    (void)err;
    meta->owner_of_apps = sl_str_starts(event->text, SL_STR("apps/"));
    return SL_EVENT_GO;
}

static void copy_word(char out[SL_META_OWNER_MAX], struct sl_str text)
{
    bool fits = text.len < SL_META_OWNER_MAX && memchr(text.s, '\0', text.len) == NULL;
    (void)snprintf(out, SL_META_OWNER_MAX, "%.*s", fits ? (int)text.len : 0, text.s);
}

static int set_owner_kind(struct sl_walker *walker, void *target, const struct sl_event *event,
                          struct sl_error *err)
{
    struct sl_meta *meta = target;
    (void)walker;
    (void)err;
    meta->owner_daemon_set = sl_str_eq(event->text, SL_STR("DaemonSet"));
    copy_word(meta->owner_kind, event->text);
    return SL_EVENT_GO;
}

static int set_owner_name(struct sl_walker *walker, void *target, const struct sl_event *event,
                          struct sl_error *err)
{
    struct sl_meta *meta = target;
    (void)walker;
    (void)err;
    copy_word(meta->owner_name, event->text);
    return SL_EVENT_GO;
}

/* Copies once, however many owners say that they control the object. */
static int keep_owner(struct sl_walker *walker, struct sl_meta *meta, const struct sl_event *event,
                      struct sl_error *err)
{
    char text[2 * SL_META_OWNER_MAX];
    int n = snprintf(text, sizeof(text), "%s/%s", meta->owner_kind, meta->owner_name);
    const char *copy = sl_arena_strdup(walker->arena, text, (size_t)n);
    if (copy == NULL) {
        return sl_walk_nomem(walker, event, err);
    }
    meta->owner = (struct sl_str){copy, (size_t)n};
    return SL_EVENT_GO;
}

/* The owner must be as the DaemonSet controller writes it, since everybody may name any owner. */
static int end_owner(struct sl_walker *walker, void *target, const struct sl_event *event,
                     struct sl_error *err)
{
    struct sl_meta *meta = target;
    meta->daemon_set =
        meta->daemon_set || (meta->owner_of_apps && meta->owner_daemon_set && meta->owner_controls);
    bool named = meta->owner_kind[0] != '\0' && meta->owner_name[0] != '\0';
    return meta->owner_controls && named && meta->owner.len == 0
               ? keep_owner(walker, meta, event, err)
               : SL_EVENT_GO;
}

static const struct sl_field owner_fields[] = {
    {SL_FIELD_NAME("apiVersion"), .kind = SL_FIELD_TEXT, .value = set_owner_api},
    {SL_FIELD_NAME("kind"), .kind = SL_FIELD_TEXT, .value = set_owner_kind},
    {SL_FIELD_NAME("name"), .kind = SL_FIELD_TEXT, .value = set_owner_name},
    {SL_FIELD_NAME("controller"), .kind = SL_FIELD_BOOL,
     .offset = offsetof(struct sl_meta, owner_controls)},
};

static const struct sl_table owner_table = {SL_TABLE_FIELDS(owner_fields), .begin = begin_owner,
                                            .end = end_owner};

static const struct sl_field meta_fields[] = {
    {SL_FIELD_NAME("name"), .kind = SL_FIELD_STRING, .vital = SL_VITAL_ITSELF,
     .offset = offsetof(struct sl_meta, name)},
    {SL_FIELD_NAME("namespace"), .kind = SL_FIELD_STRING, .vital = SL_VITAL_ITSELF,
     .offset = offsetof(struct sl_meta, namespace)},
    {SL_FIELD_NAME("uid"), .kind = SL_FIELD_STRING, .vital = SL_VITAL_ITSELF,
     .offset = offsetof(struct sl_meta, uid)},
    {SL_FIELD_NAME("resourceVersion"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_meta, resource_version)},
    {SL_FIELD_NAME("creationTimestamp"), .kind = SL_FIELD_TEXT, .value = set_created},
    {SL_FIELD_NAME("deletionTimestamp"), .kind = SL_FIELD_TEXT, .value = set_deleting},
    {SL_FIELD_NAME("labels"), .kind = SL_FIELD_STRINGS, .offset = offsetof(struct sl_meta, labels),
     .keep = keep_label},
    {SL_FIELD_NAME("annotations"), .kind = SL_FIELD_STRINGS,
     .offset = offsetof(struct sl_meta, annotations), .keep = keep_annotation},
    {SL_FIELD_NAME("ownerReferences"), .kind = SL_FIELD_OBJECTS, .table = &owner_table},
};

const struct sl_table sl_meta_table = {SL_TABLE_FIELDS(meta_fields)};

int sl_build_problem(struct sl_build *build, const struct sl_error *why, struct sl_arena *arena,
                     struct sl_error *err)
{
    char text[sizeof(why->field) + sizeof(why->message) + 32];
    int n = snprintf(text, sizeof(text), "%s%s%s: passed over", why->field,
                     why->field[0] == '\0' ? "" : " ", why->message);
    size_t len = n < 0 ? 0 : (size_t)n;
    const char *copy = sl_arena_strdup(arena, text, len);
    if (copy == NULL) {
        return arena->full ? 0 : sl_error_nomem(err);
    }
    build->problem = (struct sl_str){copy, len};
    return 0;
}
