/* Which kinds there are: asked for by the API server and by kubectl, answered by every replica. */
#include "server/visibility/handlers.h"
#include "server/visibility/kinds.h"

static const char aggregated_type[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

#define VERSION                                                                                    \
    "{'groupVersion':'" SL_VIS_GROUP "/" SL_VIS_VERSION "','version':'" SL_VIS_VERSION "'}"

#define GROUP                                                                                      \
    "{'kind':'APIGroup','apiVersion':'v1','name':'" SL_VIS_GROUP "',"                              \
    "'versions':[" VERSION "],'preferredVersion':" VERSION "}"

/* Both forms end alike. What is only created is in no category: kubectl get sliced lists all. */
static void write_names(struct sl_writer *w, const struct sl_vis_kind *kind)
{
    bool is_kept = kind->collect != NULL;
    sl_vis_say(w, is_kept ? "'verbs':['get','list','watch'],'shortNames':["
                          : "'verbs':['create'],'shortNames':[");
    if (kind->alias != NULL) {
        sl_write_text(w, kind->alias);
    }
    sl_vis_say(w, is_kept ? "],'categories':['sliced']}" : "],'categories':[]}");
}

static void write_resource(struct sl_writer *w, const struct sl_vis_kind *kind)
{
    sl_vis_say(w, "{'name':'%','singularName':'%','namespaced':%,'kind':'%'", kind->plural,
               kind->singular, kind->namespaced ? "true" : "false", kind->kind);
    write_names(w, kind);
}

/* The same in the form of the aggregated discovery (apidiscovery.k8s.io/v2). */
static void write_resource_v2(struct sl_writer *w, const struct sl_vis_kind *kind)
{
    sl_vis_say(w,
               "{'resource':'%','responseKind':{'group':'" SL_VIS_GROUP
               "','version':'" SL_VIS_VERSION "','kind':'%'},'scope':'%','singularResource':'%'",
               kind->plural, kind->kind, kind->namespaced ? "Namespaced" : "Cluster",
               kind->singular);
    write_names(w, kind);
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
        sl_vis_say(&w, "{'kind':'APIGroupDiscoveryList','apiVersion':'apidiscovery.k8s.io/v2',"
                       "'metadata':{},'items':[{'metadata':{'name':'" SL_VIS_GROUP "'},'versions':["
                       "{'version':'" SL_VIS_VERSION "','freshness':'Current','resources':[");
        sl_vis_visit(request, &w, write_resource_v2);
        sl_vis_say(&w, "]}]}]}\n");
    } else {
        sl_vis_say(&w, "{'kind':'APIGroupList','apiVersion':'v1','groups':[" GROUP "]}\n");
    }
}

void sl_vis_group(struct sl_request *request)
{
    struct sl_writer w = {.buf = &request->reply};
    sl_vis_say(&w, GROUP "\n");
}

void sl_vis_resources(struct sl_request *request)
{
    struct sl_writer w = {.buf = &request->reply};
    sl_vis_say(&w, "{'kind':'APIResourceList','apiVersion':'v1','groupVersion':'" SL_VIS_GROUP
                   "/" SL_VIS_VERSION "','resources':[");
    sl_vis_visit(request, &w, write_resource);
    sl_vis_say(&w, "]}\n");
}
