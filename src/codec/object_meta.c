/* metadata: the same for every Kubernetes object. */
#include "codec/object_parts.h"

/* What the core reads of the annotations: the GPU stack's, its rivals' that sliced honours, and its
 * own. The others, which may be long, never take memory. Labels are kept all: pods select by them.
 */
bool sl_meta_keep(struct sl_str key)
{
    static const struct {
        const char *text;
        size_t len;
    } prefixes[] = {
        {"sliced.dev/", 11},     {"nvidia.com/", 11}, {"aliyun.com/", 11},
        {"nos.nebuly.com/", 15}, {"ALIYUN_COM_", 11}, {"scheduling.", 11},
    };
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (key.len >= prefixes[i].len && memcmp(key.s, prefixes[i].text, prefixes[i].len) == 0) {
            return true;
        }
    }
    return false;
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

static int take_owner(struct sl_walker *walker, void *target, const struct sl_event *event,
                      struct sl_error *err)
{
    struct sl_meta *meta = target;
    (void)walker;
    (void)err;
    meta->daemon_set = meta->daemon_set || sl_str_eq(event->text, SL_STR("DaemonSet"));
    return SL_EVENT_GO;
}

static const struct sl_field owner_fields[] = {
    {SL_FIELD_NAME("kind"), .kind = SL_FIELD_TEXT, .value = take_owner},
};

static const struct sl_table owner_table = {SL_TABLE_FIELDS(owner_fields)};

static const struct sl_field meta_fields[] = {
    {SL_FIELD_NAME("name"), .kind = SL_FIELD_STRING, .offset = offsetof(struct sl_meta, name)},
    {SL_FIELD_NAME("namespace"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_meta, namespace)},
    {SL_FIELD_NAME("uid"), .kind = SL_FIELD_STRING, .offset = offsetof(struct sl_meta, uid)},
    {SL_FIELD_NAME("resourceVersion"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct sl_meta, resource_version)},
    {SL_FIELD_NAME("creationTimestamp"), .kind = SL_FIELD_TEXT, .value = set_created},
    {SL_FIELD_NAME("deletionTimestamp"), .kind = SL_FIELD_TEXT, .value = set_deleting},
    {SL_FIELD_NAME("labels"), .kind = SL_FIELD_STRINGS, .offset = offsetof(struct sl_meta, labels)},
    {SL_FIELD_NAME("annotations"), .kind = SL_FIELD_STRINGS,
     .offset = offsetof(struct sl_meta, annotations), .keep = sl_meta_keep},
    {SL_FIELD_NAME("ownerReferences"), .kind = SL_FIELD_OBJECTS, .table = &owner_table},
};

const struct sl_table sl_meta_table = {SL_TABLE_FIELDS(meta_fields)};
