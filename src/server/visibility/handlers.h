/* The functions of this room that routes call. */
#ifndef SLICED_SERVER_VISIBILITY_HANDLERS_H
#define SLICED_SERVER_VISIBILITY_HANDLERS_H

struct sl_app;
struct sl_request;
struct sl_visibility;

/* discovery */
void sl_vis_groups(struct sl_request *request);
void sl_vis_group(struct sl_request *request);
void sl_vis_resources(struct sl_request *request);
void sl_vis_openapi(struct sl_request *request);         /* /openapi/v3 */
void sl_vis_openapi_version(struct sl_request *request); /* its one document */

/* KIND; KIND/NAME; namespaces/NAMESPACE/KIND; namespaces/NAMESPACE/KIND/NAME */
void sl_vis_list(struct sl_request *request);
void sl_vis_get(struct sl_request *request);
void sl_vis_list_in(struct sl_request *request);
void sl_vis_get_in(struct sl_request *request);

/* namespaces/NAMESPACE/startestimates */
void sl_vis_estimate(struct sl_request *request);

/* For struct sl_service. */
struct sl_visibility *sl_visibility_new(struct sl_app *app);
void sl_visibility_free(struct sl_visibility *visibility);
void sl_visibility_tick(struct sl_visibility *visibility);
void sl_visibility_close(struct sl_visibility *visibility);

#endif
