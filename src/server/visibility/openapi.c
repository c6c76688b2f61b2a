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

/* How OpenAPI calls a form, and which format it says; NULL: none. */
static const char *type_of(enum sl_field_form form, const char **format)
{
    *format = NULL;
    switch (form) {
    case SL_AS_OBJECT:
        return "object";
    case SL_AS_LIST:
        return "array";
    case SL_AS_FLAG:
        return "boolean";
    case SL_AS_TEXT:
        return "string";
    case SL_AS_TIME:
    case SL_AS_SECOND:
        *format = "date-time";
        return "string";
    default:
        *format = "int64";
        return "integer";
    }
}

static void write_members(struct sl_writer *w, const struct sl_field *fields);

static void write_member(struct sl_writer *w,
                         const struct sl_field *field) // NOLINT(misc-no-recursion): as the tables
{
    const char *format = NULL;
    bool list = field->form == SL_AS_LIST;
    sl_write_member_object(w, field->name);
    write_type(w, type_of(field->form, &format), field->help);
    if (format != NULL) {
        sl_write_member_text(w, "format", format);
    }
    if (list) {
        sl_write_member_object(w, "items");
        write_type(w, "object", NULL);
    }
    if (list || field->form == SL_AS_OBJECT) {
        sl_write_member_object(w, "properties");
        if (field->sub != NULL) {
            write_members(w, field->sub);
        }
        sl_write_object_end(w);
    }
    if (list) {
        sl_write_object_end(w);
    }
    sl_write_object_end(w);
}

static void write_members(struct sl_writer *w,
                          const struct sl_field *fields) // NOLINT(misc-no-recursion)
{
    for (const struct sl_field *field = fields; field->form != SL_AS_END; field++) {
        if ((field->seen & SL_SEEN_BY_USERS) != 0 && field->form == SL_AS_MEMBERS) {
            if (field->sub != NULL) {
                write_members(w, field->sub);
            }
        } else if ((field->seen & SL_SEEN_BY_USERS) != 0) {
            write_member(w, field);
        }
    }
}

static void write_property(struct sl_writer *w, const char *name, const char *type,
                           const char *help)
{
    sl_write_member_object(w, name);
    write_type(w, type, help);
    sl_write_object_end(w);
}

#define KIND_OF "'group':'" SL_VIS_GROUP "','version':'" SL_VIS_VERSION "','kind':'%%'"

static void begin_schema(struct sl_writer *w, const char *kind, const char *end, const char *help,
                         const char *metadata)
{
    sl_vis_say(w, "'" SCHEMA "%%':{", kind, end);
    write_type(w, "object", help);
    sl_vis_say(w, "'x-kubernetes-group-version-kind':[{" KIND_OF "}],'properties':{", kind, end);
    write_property(w, "apiVersion", "string", "Always " SL_VIS_GROUP "/" SL_VIS_VERSION ".");
    write_property(w, "kind", "string", "Name of the kind.");
    if (metadata != NULL) {
        write_property(w, "metadata", "object", metadata);
    }
}

static void write_object(struct sl_writer *w, const char *name, const char *help,
                         const struct sl_field *fields)
{
    write_member(
        w, &(struct sl_field){.name = name, .form = SL_AS_OBJECT, .help = help, .sub = fields});
}

static void write_schema(struct sl_writer *w, const struct sl_vis_kind *kind)
{
    static const struct sl_field pod[] = {/* a Pod has a description of its own */
                                          {.name = "pod",
                                           .seen = SL_SEEN_BY_USERS,
                                           .form = SL_AS_OBJECT,
                                           .help = "The Pod, as it would be created."},
                                          SL_FIELDS_END};
    bool is_kept = kind->collect != NULL; /* else it is only created, and has no name */
    begin_schema(w, kind->kind, "", kind->help,
                 !is_kept           ? NULL
                 : kind->namespaced ? "Name, namespace, UID and creation of the pod."
                                    : "The name; with labels and creation where these are known.");
    if (!is_kept) {
        write_object(w, "spec", "The question.", pod);
    } else if (kind->namespaced) {
        write_object(w, "spec", "What the pod asks for.", sl_model_pod);
    }
    write_object(w, "status", kind->status_help, kind->status);
    sl_vis_say(w, "}}");
    if (is_kept) {
        begin_schema(w, kind->kind, "List", "A list of objects of the kind.",
                     "Version of the list, and where it goes on.");
        sl_vis_say(w,
                   "'items':{'type':'array','description':'The objects.',"
                   "'items':{'$ref':'" SCHEMA_PLACE "%'}}}}",
                   kind->kind);
    }
}

/* ---- paths ---- */

static void write_path(struct sl_writer *w, const struct sl_vis_kind *kind, const char *method,
                       const char *action, const char *end, const char *answer)
{
    sl_vis_say(w, "'/" DOCUMENT "/%%%':{'%':{'x-kubernetes-action':'%'",
               kind->namespaced ? "namespaces/{namespace}/" : "", kind->plural, end, method,
               action);
    sl_vis_say(w, "'x-kubernetes-group-version-kind':{" KIND_OF "},'responses':{'%':{", kind->kind,
               "", kind->collect == NULL ? "201" : "200");
    sl_vis_say(w,
               "'description':'OK','content':{'application/json':{'schema':{'$ref':'" SCHEMA_PLACE
               "%%'}}}}}}}",
               kind->kind, answer);
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
    sl_vis_say(&w, "{'openapi':'3.0.0','info':{'title':'" SL_VIS_GROUP
                   "','version':'" SL_VIS_VERSION "'},'paths':{");
    sl_vis_visit(request, &w, write_paths);
    sl_vis_say(&w, "},'components':{'schemas':{");
    sl_vis_visit(request, &w, write_schema);
    sl_vis_say(&w, "}}}\n");
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
    sl_vis_say(&w, "{'paths':{'" DOCUMENT "':{'serverRelativeURL':'%'}}}\n", url);
}

void sl_vis_openapi_version(struct sl_request *request)
{
    write_document(request, &request->reply);
}
