/* The kinds in OpenAPI 3, by which kubectl explains them. The API server asks every replica for it,
 * and passes it on to whoever it lets read descriptions. */
#include "server/visibility/handlers.h"
#include "server/visibility/kinds.h"
#include "util/data/hash.h"

#include <inttypes.h>
#include <stdio.h>

#define DOCUMENT     "apis/" SL_VIS_GROUP "/" SL_VIS_VERSION
#define SCHEMA       "dev.sliced.visibility." SL_VIS_VERSION "."
#define SCHEMA_PLACE "#/components/schemas/" SCHEMA

enum { PATH_MAX_BYTES = 256 };

/* ---- schemas ---- */

static void write_type(struct sl_writer *w, const char *type, const char *help)
{
    sl_write_member_text(w, "type", type);
    if (help != NULL) {
        sl_write_member_text(w, "description", help);
    }
}

/* Writes the members from *at on that are of that depth, and what is in them. */
static void write_members(struct sl_writer *w, const struct sl_vis_kind *kind, unsigned *at,
                          unsigned depth) // NOLINT(misc-no-recursion): as deep as the table
{
    static const char *const types[] = {
        [SL_VIS_OF_MEMBERS] = "object", [SL_VIS_LIST] = "array",     [SL_VIS_TEXT] = "string",
        [SL_VIS_TIME] = "string",       [SL_VIS_NUMBER] = "integer", [SL_VIS_FLAG] = "boolean"};
    while (*at < kind->n_members && kind->member[*at].depth == depth) {
        const struct sl_vis_member *member = &kind->member[*at];
        bool list = member->type == SL_VIS_LIST;
        (*at)++;
        sl_write_member_object(w, member->name);
        write_type(w, types[member->type], member->help);
        if (member->type == SL_VIS_TIME) {
            sl_write_member_text(w, "format", "date-time");
        } else if (member->type == SL_VIS_NUMBER) {
            sl_write_member_text(w, "format", "int64");
        }
        if (list) {
            sl_write_member_object(w, "items");
            write_type(w, "object", NULL);
        }
        if (list || member->type == SL_VIS_OF_MEMBERS) {
            sl_write_member_object(w, "properties");
            write_members(w, kind, at, depth + 1);
            sl_write_object_end(w);
        }
        if (list) {
            sl_write_object_end(w);
        }
        sl_write_object_end(w);
    }
}

static void write_property(struct sl_writer *w, const char *name, const char *type,
                           const char *help)
{
    sl_write_member_object(w, name);
    write_type(w, type, help);
    sl_write_object_end(w);
}

static void write_versions(struct sl_writer *w)
{
    write_property(w, "apiVersion", "string", "Always " SL_VIS_GROUP "/" SL_VIS_VERSION ".");
    write_property(w, "kind", "string", "Name of the kind.");
}

static void write_kind_of(struct sl_writer *w, const char *kind)
{
    sl_write_member_text(w, "group", SL_VIS_GROUP);
    sl_write_member_text(w, "version", SL_VIS_VERSION);
    sl_write_member_text(w, "kind", kind);
}

static void begin_schema(struct sl_writer *w, const char *kind, const char *end, const char *help)
{
    char name[PATH_MAX_BYTES];
    (void)snprintf(name, sizeof(name), SCHEMA "%s%s", kind, end);
    sl_write_member_object(w, name);
    write_type(w, "object", help);
    (void)snprintf(name, sizeof(name), "%s%s", kind, end);
    sl_write_member_array(w, "x-kubernetes-group-version-kind");
    sl_write_object(w);
    write_kind_of(w, name);
    sl_write_object_end(w);
    sl_write_array_end(w);
    sl_write_member_object(w, "properties");
    write_versions(w);
}

static void end_schema(struct sl_writer *w)
{
    sl_write_object_end(w);
    sl_write_object_end(w);
}

static void write_reference(struct sl_writer *w, const char *kind, const char *end)
{
    char place[PATH_MAX_BYTES];
    (void)snprintf(place, sizeof(place), SCHEMA_PLACE "%s%s", kind, end);
    sl_write_member_text(w, "$ref", place);
}

static void write_schema(struct sl_writer *w, const struct sl_vis_kind *kind)
{
    unsigned at = 0;
    begin_schema(w, kind->kind, "", kind->help);
    if (kind->collect == NULL) { /* it is only created, and has no name */
        write_members(w, kind, &at, 0);
        end_schema(w);
        return;
    }
    write_property(w, "metadata", "object",
                   kind->namespaced ? "Name, namespace, UID and creation of the pod."
                                    : "The name; with labels and creation where these are known.");
    write_members(w, kind, &at, 0);
    end_schema(w);
    begin_schema(w, kind->kind, "List", "A list of objects of the kind.");
    write_property(w, "metadata", "object", "Version of the list, and where it goes on.");
    sl_write_member_object(w, "items");
    write_type(w, "array", "The objects.");
    sl_write_member_object(w, "items");
    write_reference(w, kind->kind, "");
    sl_write_object_end(w);
    sl_write_object_end(w);
    end_schema(w);
}

/* ---- paths ---- */

static void write_path(struct sl_writer *w, const struct sl_vis_kind *kind, const char *method,
                       const char *action, const char *end, const char *answer)
{
    char path[PATH_MAX_BYTES];
    (void)snprintf(path, sizeof(path), "/" DOCUMENT "/%s%s%s",
                   kind->namespaced ? "namespaces/{namespace}/" : "", kind->plural, end);
    sl_write_member_object(w, path);
    sl_write_member_object(w, method);
    sl_write_member_text(w, "x-kubernetes-action", action);
    sl_write_member_object(w, "x-kubernetes-group-version-kind");
    write_kind_of(w, kind->kind);
    sl_write_object_end(w);
    sl_write_member_object(w, "responses");
    sl_write_member_object(w, kind->collect == NULL ? "201" : "200");
    sl_write_member_text(w, "description", "OK");
    sl_write_member_object(w, "content");
    sl_write_member_object(w, "application/json");
    sl_write_member_object(w, "schema");
    write_reference(w, kind->kind, answer);
    for (int i = 0; i < 7; i++) {
        sl_write_object_end(w);
    }
}

static void write_paths(struct sl_writer *w, const struct sl_vis_kind *kind)
{
    if (kind->collect == NULL) {
        write_path(w, kind, "post", "post", "", "");
        return;
    }
    write_path(w, kind, "get", "list", "", "List");
    write_path(w, kind, "get", "get", "/{name}", "");
}

/* ---- documents ---- */

static void write_document(struct sl_request *request, struct sl_buf *out)
{
    struct sl_writer w = {.buf = out};
    sl_write_object(&w);
    sl_write_member_text(&w, "openapi", "3.0.0");
    sl_write_member_object(&w, "info");
    sl_write_member_text(&w, "title", SL_VIS_GROUP);
    sl_write_member_text(&w, "version", SL_VIS_VERSION);
    sl_write_object_end(&w);
    sl_write_member_object(&w, "paths");
    sl_vis_visit(request, &w, write_paths);
    sl_write_object_end(&w);
    sl_write_member_object(&w, "components");
    sl_write_member_object(&w, "schemas");
    sl_vis_visit(request, &w, write_schema);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_buf_putc(out, '\n');
}

/* Names the document with a hash of what is in it: whoever has one of that name asks no more. */
void sl_vis_openapi(struct sl_request *request)
{
    char url[PATH_MAX_BYTES];
    struct sl_writer w = {.buf = &request->reply};
    write_document(request, &request->reply);
    uint64_t hash = sl_rank_hash(request->reply.data, request->reply.len);
    (void)snprintf(url, sizeof(url), "/openapi/v3/" DOCUMENT "?hash=%016" PRIX64, hash);
    request->reply.len = 0;
    sl_write_object(&w);
    sl_write_member_object(&w, "paths");
    sl_write_member_object(&w, DOCUMENT);
    sl_write_member_text(&w, "serverRelativeURL", url);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

void sl_vis_openapi_version(struct sl_request *request)
{
    write_document(request, &request->reply);
}
