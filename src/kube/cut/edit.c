/* An edit is a change (kube/write/change.c) that begins with reading. If a write's answer leaves
 * its outcome open, the next reading tells it: the edit then finds nothing left to do. */
#include "kube/cut/edit.h"

#include "codec/stream/json.h"
#include "codec/stream/walker.h"
#include "kube/client/object_call.h"
#include "kube/cut/keep.h"
#include "kube/cut/mig_file.h"

enum { PATCH_BYTES_MAX = 4 << 20, OBJECT_BYTES_MAX = 4 << 20, ABSENCES_MAX = 3 };

struct op {
    struct sl_change change; /* first: change.c frees it */
    struct sl_edit edit;
    struct sl_buf patch; /* from the last reading */
    bool make;           /* there is no such ConfigMap */
    bool wrote;
    unsigned
        absences; /* of the ConfigMap, when it was just to be written: its namespace is missing */
};

/* ---- patches ---- */

static void patch_begin(struct op *op, struct sl_writer *w, struct sl_str uid,
                        struct sl_str resource_version)
{
    op->patch.len = 0;
    *w = (struct sl_writer){.buf = &op->patch};
    sl_write_object(w);
    sl_write_member_object(w, "metadata");
    sl_write_member_str(w, "uid", uid);
    sl_write_member_str(w, "resourceVersion", resource_version);
}

/* Has the edit made in the object that is open, and ends the patch. */
static enum sl_change_turn patch_end(struct op *op, struct sl_writer *w,
                                     const struct sl_edit_now *now)
{
    int result = op->edit.edit(op->edit.context, now, w, &op->change.err);
    sl_write_object_end(w);
    sl_write_object_end(w);
    if (result <= 0) { /* an earlier write may land yet, unless it is seen to be there */
        return result == 0        ? SL_CHANGE_DONE
               : op->change.maybe ? SL_CHANGE_UNKNOWN
                                  : SL_CHANGE_REFUSED;
    }
    if (op->patch.failed != SL_BUF_OK) {
        (void)sl_error_nomem(&op->change.err);
        return sl_change_give_up(&op->change);
    }
    op->wrote = true;
    return SL_CHANGE_WRITE;
}

static enum sl_change_turn edit_judge(struct sl_change *change, const struct sl_object *object)
{
    struct op *op = (struct op *)change;
    struct sl_writer w;
    if (object->node->deleting) {
        (void)sl_error_set(&change->err, SL_ERR_CONFLICT, "the node is being deleted");
        return SL_CHANGE_GONE;
    }
    patch_begin(op, &w, object->node->uid, object->node->resource_version);
    return patch_end(op, &w, &(struct sl_edit_now){.node = object->node});
}

/* ---- ConfigMaps ---- */

struct config_map {
    struct sl_str uid;
    struct sl_str resource_version;
    struct sl_pair *data;
};

/* Other keys may be many and large. */
static enum sl_walk_keep keep_data(struct sl_str key)
{
    struct sl_str stem;
    bool ours =
        sl_str_eq(key, SL_STR(SL_MIG_FILE_KEY)) || sl_mig_entry_name(sl_cut_order_of(key), &stem);
    return ours ? SL_WALK_KEEP_ALWAYS : SL_WALK_PASS;
}

static const struct sl_field meta_fields[] = {
    {SL_FIELD_NAME("uid"), .kind = SL_FIELD_STRING, .offset = offsetof(struct config_map, uid)},
    {SL_FIELD_NAME("resourceVersion"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct config_map, resource_version)},
};
static const struct sl_table meta_table = {SL_TABLE_FIELDS(meta_fields)};
static const struct sl_field map_fields[] = {
    {SL_FIELD_NAME("metadata"), .kind = SL_FIELD_OBJECT, .table = &meta_table},
    {SL_FIELD_NAME("data"), .kind = SL_FIELD_STRINGS, .offset = offsetof(struct config_map, data),
     .keep = keep_data},
};
static const struct sl_table map_table = {SL_TABLE_FIELDS(map_fields)};
static const struct sl_field map_root = {SL_FIELD_NAME("ConfigMap"), .kind = SL_FIELD_OBJECT,
                                         .table = &map_table};

static int map_decode(struct sl_str text, struct sl_arena *arena, struct config_map *out,
                      struct sl_error *err)
{
    struct sl_walker walker;
    sl_walk_init(&walker, &map_root, out, arena, NULL);
    int result = sl_json_parse(text, &sl_kube_text_limits, sl_walk_receive, &walker, err);
    if (result == 0 && out->resource_version.len == 0) {
        result = sl_error_set(err, SL_ERR_FIELD, "the API server's answer was no ConfigMap");
    }
    return result;
}

static enum sl_change_turn edit_read(struct sl_change *change, struct sl_str text,
                                     struct sl_error *err)
{
    struct op *op = (struct op *)change;
    enum sl_change_turn turn = SL_CHANGE_READ_LATER;
    struct config_map map = {.data = NULL};
    struct sl_arena arena;
    struct sl_writer w;
    sl_arena_init(&arena, OBJECT_BYTES_MAX);
    op->make = false;
    if (map_decode(text, &arena, &map, err) == 0) {
        patch_begin(op, &w, map.uid, map.resource_version);
        sl_write_object_end(&w);
        sl_write_member_object(&w, "data");
        turn = patch_end(op, &w, &(struct sl_edit_now){.data = map.data});
    }
    sl_arena_free(&arena);
    return turn;
}

static enum sl_change_turn edit_absent(struct sl_change *change)
{
    struct op *op = (struct op *)change;
    struct sl_writer w = {.buf = &op->patch};
    op->make = true;
    op->patch.len = 0;
    sl_write_object(&w);
    sl_write_member_text(&w, "apiVersion", "v1");
    sl_write_member_text(&w, "kind", "ConfigMap");
    sl_write_member_object(&w, "metadata");
    sl_write_member_str(&w, "namespace", change->namespace);
    sl_write_member_str(&w, "name", change->name);
    sl_write_object_end(&w);
    sl_write_member_object(&w, "data");
    return patch_end(op, &w, &(struct sl_edit_now){.data = NULL});
}

/* ---- writing ---- */

static const char *edit_write(struct sl_change *change, struct sl_call_options *call,
                              struct sl_buf *body)
{
    const struct op *op = (const struct op *)change;
    sl_buf_append(body, op->patch.data, op->patch.len);
    call->form = SL_FORM_METADATA;
    if (op->make) {
        call->method = "POST";
        return NULL;
    }
    call->content_type = "application/merge-patch+json";
    return "";
}

/* Reads again wherever the answer leaves open how the object stands. */
static enum sl_change_turn edit_answered(struct sl_change *change, const struct sl_reply *reply)
{
    struct op *op = (struct op *)change;
    int status = reply->status;
    if (status == 200 || status == 201) {
        return SL_CHANGE_DONE;
    }
    change->maybe = change->maybe || reply->maybe_done || status >= 500;
    if (status == 404 && ++op->absences >= ABSENCES_MAX) {
        return sl_change_give_up(change);
    }
    if (status == 0 || status == 404 || status == 408 || status == 409 || status == 429 ||
        status >= 500) {
        return SL_CHANGE_READ_LATER;
    }
    return change->maybe ? SL_CHANGE_UNKNOWN : SL_CHANGE_REFUSED;
}

static void edit_ended(struct sl_change *change, enum sl_change_turn end)
{
    struct op *op = (struct op *)change;
    sl_buf_free(&op->patch);
    op->edit.ended(op->edit.context, end, op->wrote, end == SL_CHANGE_DONE ? NULL : &change->err);
}

static const struct sl_change_kind node_kind = {
    .priority = SL_CALL_NORMAL,
    .object = SL_OBJECT_NODE,
    .waits_for_place = true,
    .write = edit_write,
    .answered = edit_answered,
    .judge = edit_judge,
    .ended = edit_ended,
};

static const struct sl_change_kind map_kind = {
    .priority = SL_CALL_NORMAL,
    .object = SL_OBJECT_CONFIG_MAP,
    .waits_for_place = true,
    .write = edit_write,
    .answered = edit_answered,
    .read = edit_read,
    .absent = edit_absent,
    .ended = edit_ended,
};

void sl_edit_begin(struct sl_changes *changes, const struct sl_edit *edit)
{
    struct sl_edit copy = *edit;
    struct sl_str *const text[] = {&copy.namespace, &copy.name, &copy.uid};
    struct op *op =
        sl_change_new(sizeof(*op), changes, edit->kind == SL_OBJECT_NODE ? &node_kind : &map_kind,
                      text, 3, copy.leadership);
    if (op == NULL) {
        struct sl_error err;
        (void)sl_error_nomem(&err);
        (void)atomic_fetch_add(&changes->ends[SL_CHANGE_FAILED], 1);
        edit->ended(edit->context, SL_CHANGE_FAILED, false, &err);
        return;
    }
    op->edit = copy;
    sl_buf_init(&op->patch, PATCH_BYTES_MAX);
    sl_change_begin(&op->change, SL_CHANGE_READ);
}
