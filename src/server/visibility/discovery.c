/* Which kinds there are: asked for by the API server and by kubectl, answered by every replica. */
#include "server/visibility/handlers.h"
#include "server/visibility/kinds.h"

static const char aggregated_type[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

static void write_version(struct sl_writer *w)
{
    sl_write_object(w);
    sl_write_member_text(w, "groupVersion", SL_VIS_GROUP "/" SL_VIS_VERSION);
    sl_write_member_text(w, "version", SL_VIS_VERSION);
    sl_write_object_end(w);
}

static void write_group(struct sl_writer *w)
{
    sl_write_object(w);
    sl_write_member_text(w, "kind", "APIGroup");
    sl_write_member_text(w, "apiVersion", "v1");
    sl_write_member_text(w, "name", SL_VIS_GROUP);
    sl_write_member_array(w, "versions");
    write_version(w);
    sl_write_array_end(w);
    sl_write_key(w, "preferredVersion");
    write_version(w);
    sl_write_object_end(w);
}

static void write_names(struct sl_writer *w, const struct sl_vis_kind *kind)
{
    static const char *const kept[] = {"get", "list", "watch"};
    static const char *const asked[] = {"create"};
    bool is_kept = kind->collect != NULL;
    sl_write_member_array(w, "verbs");
    for (size_t i = 0; i < (is_kept ? sizeof(kept) / sizeof(kept[0]) : 1); i++) {
        sl_write_text(w, is_kept ? kept[i] : asked[i]);
    }
    sl_write_array_end(w);
    sl_write_member_array(w, "shortNames");
    if (kind->alias != NULL) {
        sl_write_text(w, kind->alias);
    }
    sl_write_array_end(w);
    sl_write_member_array(w, "categories");
    if (is_kept) { /* kubectl get sliced lists all that is in it */
        sl_write_text(w, "sliced");
    }
    sl_write_array_end(w);
}

static void write_resource(struct sl_writer *w, const struct sl_vis_kind *kind)
{
    sl_write_object(w);
    sl_write_member_text(w, "name", kind->plural);
    sl_write_member_text(w, "singularName", kind->singular);
    sl_write_member_bool(w, "namespaced", kind->namespaced);
    sl_write_member_text(w, "kind", kind->kind);
    write_names(w, kind);
    sl_write_object_end(w);
}

/* The same in the form of the aggregated discovery (apidiscovery.k8s.io/v2). */
static void write_resource_v2(struct sl_writer *w, const struct sl_vis_kind *kind)
{
    sl_write_object(w);
    sl_write_member_text(w, "resource", kind->plural);
    sl_write_member_object(w, "responseKind");
    sl_write_member_text(w, "group", SL_VIS_GROUP);
    sl_write_member_text(w, "version", SL_VIS_VERSION);
    sl_write_member_text(w, "kind", kind->kind);
    sl_write_object_end(w);
    sl_write_member_text(w, "scope", kind->namespaced ? "Namespaced" : "Cluster");
    sl_write_member_text(w, "singularResource", kind->singular);
    write_names(w, kind);
    sl_write_object_end(w);
}

void sl_vis_visit(struct sl_request *request, struct sl_writer *w,
                  void (*write)(struct sl_writer *w, const struct sl_vis_kind *kind))
{
    for (unsigned i = 0; i < SL_VIS_KINDS; i++) {
        if (sl_vis_kinds[i].is_there(request->app, &request->live->config)) {
            write(w, &sl_vis_kinds[i]);
        }
    }
    if (sl_vis_estimate_kind.is_there(request->app, &request->live->config)) {
        write(w, &sl_vis_estimate_kind);
    }
}

static void write_aggregated(struct sl_request *request, struct sl_writer *w)
{
    sl_write_object(w);
    sl_write_member_text(w, "kind", "APIGroupDiscoveryList");
    sl_write_member_text(w, "apiVersion", "apidiscovery.k8s.io/v2");
    sl_write_member_object(w, "metadata");
    sl_write_object_end(w);
    sl_write_member_array(w, "items");
    sl_write_object(w);
    sl_write_member_object(w, "metadata");
    sl_write_member_text(w, "name", SL_VIS_GROUP);
    sl_write_object_end(w);
    sl_write_member_array(w, "versions");
    sl_write_object(w);
    sl_write_member_text(w, "version", SL_VIS_VERSION);
    sl_write_member_text(w, "freshness", "Current");
    sl_write_member_array(w, "resources");
    sl_vis_visit(request, w, write_resource_v2);
    sl_write_array_end(w);
    sl_write_object_end(w);
    sl_write_array_end(w);
    sl_write_object_end(w);
    sl_write_array_end(w);
    sl_write_object_end(w);
}

static bool wants_aggregated(const struct sl_request *request)
{
    const char *accept =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    return accept != NULL && strstr(accept, "v=v2;") != NULL &&
           strstr(accept, "as=APIGroupDiscoveryList") != NULL;
}

void sl_vis_groups(struct sl_request *request)
{
    struct sl_writer w = {.buf = &request->reply};
    if (wants_aggregated(request)) {
        request->content_type = aggregated_type;
        write_aggregated(request, &w);
    } else {
        sl_write_object(&w);
        sl_write_member_text(&w, "kind", "APIGroupList");
        sl_write_member_text(&w, "apiVersion", "v1");
        sl_write_member_array(&w, "groups");
        write_group(&w);
        sl_write_array_end(&w);
        sl_write_object_end(&w);
    }
    sl_buf_putc(&request->reply, '\n');
}

void sl_vis_group(struct sl_request *request)
{
    struct sl_writer w = {.buf = &request->reply};
    write_group(&w);
    sl_buf_putc(&request->reply, '\n');
}

void sl_vis_resources(struct sl_request *request)
{
    struct sl_writer w = {.buf = &request->reply};
    sl_write_object(&w);
    sl_write_member_text(&w, "kind", "APIResourceList");
    sl_write_member_text(&w, "apiVersion", "v1");
    sl_write_member_text(&w, "groupVersion", SL_VIS_GROUP "/" SL_VIS_VERSION);
    sl_write_member_array(&w, "resources");
    sl_vis_visit(request, &w, write_resource);
    sl_write_array_end(&w);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}
