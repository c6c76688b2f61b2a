/* GET /api/v1/tenants: who shares the cluster, and what each tenant has of it. */
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "server/model/tenant.h"

static void write_json(struct sl_request *request, const struct sl_queue_list *list)
{
    struct sl_writer w = {.buf = &request->reply};
    sl_write_object(&w);
    sl_write_key(&w, "at");
    sl_api_time(&w, list->now_us);
    sl_write_member_array(&w, "items");
    for (size_t i = 0; i < list->n_tenants; i++) {
        struct sl_model_tenant tenant;
        sl_model_tenant_of(&list->tenant[i], &tenant);
        sl_fields_item(&w, sl_model_tenant, SL_SEEN_IN_LISTS, &tenant);
    }
    sl_write_array_end(&w);
    sl_write_member_i64(&w, "omitted", (int64_t)list->tenants_omitted);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

static void write_table(struct sl_request *request, const struct sl_queue_list *list)
{
    struct sl_grid table;
    if (list->n_tenants == 0) {
        sl_buf_puts(&request->reply, "There are no tenants, or none has pods.\n");
        return;
    }
    sl_fields_grid(&table, sl_model_tenant, NULL, request->reply.max);
    for (size_t i = 0; i < list->n_tenants; i++) {
        struct sl_model_tenant tenant;
        sl_model_tenant_of(&list->tenant[i], &tenant);
        sl_fields_cells(&table, sl_model_tenant, &tenant, NULL, NULL);
    }
    sl_grid_write(&table, &request->reply);
    sl_grid_free(&table);
}

void sl_api_tenants(struct sl_request *request)
{
    struct sl_queue_list list;
    bool as_table = false;
    if (sl_request_only(request, "output") < 0 || sl_request_output(request, &as_table) < 0) {
        return;
    }
    if (sl_api_queue_list(request, 0, &list) == 0) {
        if (list.tenants_omitted > 0) {
            sl_metrics_limit(request->metrics, SL_LIMIT_TENANTS);
        }
        (as_table ? write_table : write_json)(request, &list);
    }
    sl_queue_list_free(&list);
}
