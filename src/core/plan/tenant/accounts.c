/* The accounts of a lane, of all its units and of each model that is guaranteed, and in each the
 * tenants' parts: their shares (core/share) and their sizes. */
#include "core/plan/tenant/account.h"

#include <stdlib.h>

static void size_part(const struct sl_planner *planner, const struct sl_plan_account_lane *account,
                      const struct sl_tenant *tenant)
{
    struct sl_plan_part *part = sl_plan_part_of(account, tenant);
    int64_t size = sl_tenancy_part(planner->tenancy, tenant, account->resource, account->model,
                                   account->capacity);
    if (part != NULL && size != sl_share_size(part->share)) {
        sl_share_resize(part->share, size);
    }
}

int64_t sl_plan_account_capacity(const struct sl_planner *planner,
                                 const struct sl_plan_account_lane *account)
{
    int64_t units = 0;
    for (size_t i = 0; account->model[0] != '\0' && i < sl_plan_nodes(planner); i++) {
        bool is = sl_node_is_of(sl_plan_node_at(planner, i)->node, account->model);
        units += is ? account->lane->node_capacity[i] : 0;
    }
    return account->model[0] == '\0' ? account->lane->capacity : units;
}

void sl_plan_parts_size(const struct sl_planner *planner, struct sl_plan_account_lane *account)
{
    const struct sl_plan_lane *lane = account->lane;
    size_t tenants = sl_tenancy_count(planner->tenancy);
    bool same = account->of == lane->capacity && account->tenants == tenants &&
                (account->model[0] == '\0' || account->kinds == planner->seq.kinds);
    if (lane->leaves == 0 || same) {
        return;
    }
    account->of = lane->capacity;
    account->capacity = sl_plan_account_capacity(planner, account);
    account->kinds = planner->seq.kinds;
    account->tenants = tenants;
    for (size_t i = 0; i < tenants; i++) {
        size_part(planner, account, sl_tenancy_at(planner->tenancy, i));
    }
}

/* A pod that is late on a share still waits for room there: so it is at a third of what c allows.
 */
static int32_t late_permille(const struct sl_planner *planner)
{
    return 1000 + (planner->config.promise.c_permille - 1000) / 3;
}

struct sl_plan_part *sl_plan_part_get(struct sl_planner *planner,
                                      struct sl_plan_account_lane *account,
                                      const struct sl_tenant *tenant)
{
    struct sl_plan_part *part = sl_plan_part_of(account, tenant);
    if (part != NULL) {
        return part;
    }
    const struct sl_share_config config = {.order = planner->config.order,
                                           .c_permille = late_permille(planner),
                                           .users = tenant->share->users};
    part = calloc(1, sizeof(*part));
    if (part != NULL) {
        part->share = sl_share_new(&config);
    }
    if (part == NULL || part->share == NULL) {
        free(part);
        return NULL;
    }
    account->part[tenant->index] = part;
    account->n = tenant->index < account->n ? account->n : tenant->index + 1;
    size_part(planner, account, tenant);
    sl_plan_record_share(planner, account->resource, account->model, tenant->name, part->share);
    return part;
}

/* False: out of memory. */
static bool account_add(struct sl_planner *planner, struct sl_plan_lane *lane, const char *resource,
                        const char *model)
{
    size_t size = strlen(resource) + 1;
    struct sl_plan_account_lane **at = &lane->account;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    struct sl_plan_account_lane *account = calloc(1, sizeof(*account) + size);
    if (account == NULL) {
        return false;
    }
    account->lane = lane;
    account->model = model;
    memcpy(account->resource, resource, size);
    sl_plan_parts_size(planner, account);
    *at = account;
    return true;
}

void sl_plan_accounts_close(struct sl_plan_lane *lane)
{
    while (lane->account != NULL) {
        struct sl_plan_account_lane *account = lane->account;
        lane->account = account->next;
        for (size_t i = 0; i < account->n; i++) {
            if (account->part[i] != NULL) {
                sl_share_free(account->part[i]->share);
                free(account->part[i]);
            }
        }
        free(account);
    }
}

bool sl_plan_accounts_open(struct sl_planner *planner, struct sl_plan_lane *lane,
                           const char *resource)
{
    const struct sl_tenants *config = sl_tenancy_config(planner->tenancy);
    bool whole = account_add(planner, lane, resource, "");
    for (unsigned i = 0; whole && i < config->n_guarantees; i++) {
        const char *model =
            sl_tenancy_model(planner->tenancy, resource, config->guarantee[i].model);
        whole = model == NULL || sl_plan_account_of(lane, model) != NULL ||
                account_add(planner, lane, resource, model);
    }
    if (!whole) {
        sl_plan_accounts_close(lane);
    }
    return whole;
}
