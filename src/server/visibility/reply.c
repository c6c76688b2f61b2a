/* Objects, lists and tables. */
#include "server/visibility/reply.h"

#include <stdio.h>

enum { PAGE_BYTES = 8 << 20, REVISION_MAX = 24 };

static void write_revision(struct sl_writer *w, int64_t revision)
{
    char text[REVISION_MAX];
    (void)snprintf(text, sizeof(text), "%lld", (long long)revision);
    sl_write_member_text(w, "resourceVersion", text);
}

static void write_types(struct sl_writer *w, const char *kind)
{
    sl_write_member_text(w, "kind", kind);
    sl_write_member_text(w, "apiVersion", SL_VIS_GROUP "/" SL_VIS_VERSION);
}

static void write_metadata(struct sl_writer *w, const struct sl_vis_row *row)
{
    sl_write_member_object(w, "metadata");
    sl_write_member_str(w, "name", row->name);
    if (row->namespace.len > 0) {
        sl_write_member_str(w, "namespace", row->namespace);
    }
    if (row->uid.len > 0) {
        sl_write_member_str(w, "uid", row->uid);
    }
    sl_write_key(w, "creationTimestamp");
    sl_api_time(w, row->created_us / 1000000 * 1000000);
    write_revision(w, row->object->revision);
    sl_write_object_end(w);
}

static void write_object(struct sl_writer *w, const struct sl_vis_cache *cache,
                         const struct sl_vis_row *row)
{
    sl_write_object(w);
    write_types(w, cache->kind->kind);
    write_metadata(w, row);
    sl_vis_write_members(w, cache->kind, &cache->look, row);
    sl_write_object_end(w);
}

/* ---- tables ---- */

static void begin_table(struct sl_writer *w)
{
    sl_write_object(w);
    sl_write_member_text(w, "kind", "Table");
    sl_write_member_text(w, "apiVersion", "meta.k8s.io/v1");
}

static void write_column(struct sl_writer *w, const char *name, const char *type,
                         const char *format, const char *help, bool wide)
{
    sl_write_object(w);
    sl_write_member_text(w, "name", name);
    sl_write_member_text(w, "type", type);
    sl_write_member_text(w, "format", format);
    sl_write_member_text(w, "description", help);
    sl_write_member_i64(w, "priority", wide ? 1 : 0);
    sl_write_object_end(w);
}

static void write_columns(struct sl_writer *w, const struct sl_vis_kind *kind, bool head)
{
    const struct sl_field *column[SL_GRID_COLUMNS_MAX];
    unsigned n = head ? sl_fields_columns(kind->status, column) : 0;
    sl_write_member_array(w, "columnDefinitions");
    if (head) {
        write_column(w, "Name", "string", "name", kind->name_help, false);
    }
    for (unsigned i = 0; i < n; i++) {
        write_column(w, column[i]->shown.head, sl_field_cell_type(column[i]), "", column[i]->help,
                     column[i]->shown.wide);
    }
    sl_write_array_end(w);
}

static void begin_partial(struct sl_writer *w)
{
    sl_write_member_object(w, "object");
    sl_write_member_text(w, "kind", "PartialObjectMetadata");
    sl_write_member_text(w, "apiVersion", "meta.k8s.io/v1");
}

static void write_row(struct sl_writer *w, const struct sl_vis_cache *cache,
                      const struct sl_vis_query *query, const struct sl_vis_row *row)
{
    union sl_vis_record record;
    sl_write_object(w);
    sl_write_member_array(w, "cells");
    sl_write_str(w, row->name);
    sl_fields_shown(w, cache->kind->status, cache->kind->record(&cache->look, row, &record));
    sl_write_array_end(w);
    if (query->include == SL_VIS_OBJECT) {
        sl_write_key(w, "object");
        write_object(w, cache, row);
    } else if (query->include == SL_VIS_METADATA) {
        begin_partial(w);
        write_metadata(w, row);
        sl_write_object_end(w);
    }
    sl_write_object_end(w);
}

/* Begins a table of a single row. */
static void begin_single(struct sl_writer *w, const struct sl_vis_cache *cache, int64_t revision,
                         bool head)
{
    begin_table(w);
    sl_write_member_object(w, "metadata");
    write_revision(w, revision);
    sl_write_object_end(w);
    write_columns(w, cache->kind, head);
    sl_write_member_array(w, "rows");
}

static void end_table(struct sl_writer *w)
{
    sl_write_array_end(w);
    sl_write_object_end(w);
}

void sl_vis_write_as(struct sl_writer *w, const struct sl_vis_cache *cache,
                     const struct sl_vis_query *query, const struct sl_vis_row *row, bool head)
{
    if (!query->table) {
        write_object(w, cache, row);
        return;
    }
    begin_single(w, cache, row->object->revision, head);
    write_row(w, cache, query, row);
    end_table(w);
}

/* ---- what is there no more ---- */

static void write_gone_metadata(struct sl_writer *w, const struct sl_vis_object *object)
{
    const char *name = object->key + object->namespace_len + 1;
    const char *uid = name + object->name_len + 1;
    sl_write_member_object(w, "metadata");
    sl_write_member_str(w, "name", (struct sl_str){name, object->name_len});
    if (object->namespace_len > 0) {
        sl_write_member_str(w, "namespace", (struct sl_str){object->key, object->namespace_len});
    }
    if (*uid != '\0') {
        sl_write_member_text(w, "uid", uid);
    }
    write_revision(w, object->revision);
    sl_write_object_end(w);
}

void sl_vis_write_gone(struct sl_writer *w, const struct sl_vis_cache *cache,
                       const struct sl_vis_query *query, const struct sl_vis_object *object,
                       bool head)
{
    if (!query->table) {
        sl_write_object(w);
        write_types(w, cache->kind->kind);
        write_gone_metadata(w, object);
        sl_write_object_end(w);
        return;
    }
    const struct sl_field *column[SL_GRID_COLUMNS_MAX];
    unsigned n = sl_fields_columns(cache->kind->status, column);
    begin_single(w, cache, object->revision, head);
    sl_write_object(w);
    sl_write_member_array(w, "cells");
    sl_write_str(w, (struct sl_str){object->key + object->namespace_len + 1, object->name_len});
    for (unsigned i = 0; i < n; i++) {
        bool state = strcmp(column[i]->shown.head, "State") == 0 ||
                     strcmp(column[i]->shown.head, "Phase") == 0;
        if (state) {
            sl_write_text(w, "Gone");
        } else {
            sl_write_null(w);
        }
    }
    sl_write_array_end(w);
    if (query->include != SL_VIS_NOTHING) {
        begin_partial(w);
        write_gone_metadata(w, object);
        sl_write_object_end(w);
    }
    sl_write_object_end(w);
    end_table(w);
}

void sl_vis_write_bookmark(struct sl_writer *w, const struct sl_vis_cache *cache,
                           const struct sl_vis_query *query, int64_t revision, bool ends_initial)
{
    if (query->table) {
        begin_single(w, cache, revision, false);
        sl_write_object(w);
        sl_write_member_array(w, "cells");
        sl_write_array_end(w);
        begin_partial(w);
    } else {
        sl_write_object(w);
        write_types(w, cache->kind->kind);
    }
    sl_write_member_object(w, "metadata");
    write_revision(w, revision);
    if (ends_initial) {
        sl_write_member_object(w, "annotations");
        sl_write_member_text(w, "k8s.io/initial-events-end", "true");
        sl_write_object_end(w);
    }
    sl_write_object_end(w);
    sl_write_object_end(w);
    if (query->table) {
        sl_write_object_end(w);
        end_table(w);
    }
}

/* ---- lists ---- */

/* Where the list ends: the row behind the last that is in it. */
static size_t write_items(struct sl_writer *w, const struct sl_vis_cache *cache,
                          const struct sl_vis_query *query)
{
    const struct sl_vis_look *look = &cache->look;
    size_t i = query->offset;
    size_t shown = 0;
    for (; i < look->n && shown < query->limit && w->buf->len < PAGE_BYTES &&
           w->buf->failed == SL_BUF_OK;
         i++) {
        if (!sl_vis_query_matches(query, cache->kind, look, &look->row[i])) {
            continue;
        }
        shown++;
        if (query->table) {
            write_row(w, cache, query, &look->row[i]);
        } else {
            write_object(w, cache, &look->row[i]);
        }
    }
    while (i < look->n && !sl_vis_query_matches(query, cache->kind, look, &look->row[i])) {
        i++; /* a list whose rest matches nothing is complete */
    }
    return i;
}

static void write_list_metadata(struct sl_writer *w, const struct sl_vis_cache *cache, size_t end)
{
    sl_write_member_object(w, "metadata");
    write_revision(w, cache->revision);
    if (end < cache->look.n) {
        char text[REVISION_MAX];
        (void)snprintf(text, sizeof(text), "%zu", end);
        sl_write_member_text(w, "continue", text);
    }
    sl_write_object_end(w);
}

void sl_vis_write_list(struct sl_writer *w, const struct sl_vis_cache *cache,
                       const struct sl_vis_query *query)
{
    char kind[64];
    if (query->table) {
        begin_table(w);
        write_columns(w, cache->kind, true);
        sl_write_member_array(w, "rows");
    } else {
        (void)snprintf(kind, sizeof(kind), "%sList", cache->kind->kind);
        sl_write_object(w);
        write_types(w, kind);
        sl_write_member_array(w, "items");
    }
    size_t end = write_items(w, cache, query);
    sl_write_array_end(w);
    write_list_metadata(w, cache, end);
    sl_write_object_end(w);
    sl_buf_putc(w->buf, '\n');
}
