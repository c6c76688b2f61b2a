/* Tells of tenants and their shares: rows, and starts on the own share. */
#include "core/plan/tenant/account.h"

#include <stdlib.h>

/* ---- starts on the own share ---- */

static void set_unknown(void *context, struct sl_plan_account_pod *record)
{
    (void)context;
    record->own_us = 0;
    record->unknown = 0;
    for (unsigned i = 0; i < record->n; i++) {
        const struct sl_plan_need *need = &record->need[i];
        int64_t start_us = sl_plan_need_start(need);
        bool later = need->account != NULL && need->virtual == NULL; /* with that on its model */
        record->unknown += start_us == INT64_MAX && !later;
        record->own_us = sl_plan_later(record->own_us, start_us == INT64_MAX ? 0 : start_us);
    }
}

static void on_told(void *context, void *owner, int64_t start_us)
{
    struct sl_plan_account_pod *record = owner;
    (void)context;
    record->own_us = sl_plan_later(record->own_us, start_us);
    record->unknown--;
}

bool sl_plan_tenants_foretell(struct sl_planner *planner)
{
    bool whole = true;
    if (planner->tenancy == NULL) {
        return true;
    }
    sl_plan_each_account(planner, set_unknown, NULL);
    for (const struct sl_plan_account_lane *account = sl_plan_account_first(planner->lane);
         account != NULL; account = sl_plan_account_next(account)) {
        for (size_t i = 0; i < account->n && whole; i++) {
            const struct sl_plan_part *part = account->part[i];
            whole = part == NULL || sl_share_foretell(part->share, on_told, NULL) == 0;
        }
    }
    return whole;
}

int64_t sl_plan_own_start(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    const struct sl_plan_account_pod *record = planner->tenancy == NULL ? NULL : pod->account;
    if (record == NULL || (record->due_us == INT64_MAX && record->unknown > 0)) {
        return 0;
    }
    return record->due_us == INT64_MAX ? record->own_us : record->due_us;
}

/* ---- rows ---- */

/* Among the runs of one tenant for a lane. */
struct runs {
    int64_t first_us; /* began; INT64_MAX: none runs */
    int64_t last_us;  /* ends, by their timeouts; 0: none runs */
};

/* The least of all tenants, whose it is, and the least of the others. */
struct least {
    int64_t us;
    size_t of;
    int64_t next_us;
};

static const struct least none = {INT64_MAX, SIZE_MAX, INT64_MAX};

static void note_least(struct least *least, size_t tenant, int64_t us)
{
    if (us < least->us) {
        *least = (struct least){us, tenant, least->us};
    } else {
        least->next_us = sl_plan_earlier(least->next_us, us);
    }
}

static int64_t least_of_others(const struct least *least, size_t tenant)
{
    return least->of == tenant ? least->next_us : least->us;
}

struct counting {
    const struct sl_planner *planner;
    const struct sl_plan_account_lane *account;
    struct least first; /* begin of runs */
    struct sl_tenant_row row[SL_TENANTS_MAX];
    struct runs runs[SL_TENANTS_MAX];
};

static const struct sl_plan_need *need_of(const struct sl_plan_account_pod *record,
                                          const struct sl_plan_account_lane *account)
{
    for (unsigned i = 0; i < record->n; i++) {
        if (record->need[i].account == account) {
            return &record->need[i];
        }
    }
    return NULL;
}

static void count_record(void *context, struct sl_plan_account_pod *record)
{
    struct counting *counting = context;
    const struct sl_plan_need *need = need_of(record, counting->account);
    if (need == NULL) {
        return;
    }
    struct sl_tenant_row *row = &counting->row[record->tenant->index];
    struct runs *runs = &counting->runs[record->tenant->index];
    if (record->holds) {
        row->pods_running++;
        runs->first_us = sl_plan_earlier(runs->first_us, record->since_us);
        runs->last_us =
            sl_plan_later(runs->last_us, sl_sat_add(record->since_us, record->timeout_us));
        return;
    }
    row->waiting += need->units;
    row->pods_waiting++;
    if (record->due_us != INT64_MAX) {
        row->pods_due++;
        row->due_us =
            row->pods_due == 1 ? record->due_us : sl_plan_earlier(row->due_us, record->due_us);
        row->late_us = counting->planner->now_us - row->due_us;
    }
}

/* Is it due, though no other tenant's run began before it was? */
static void count_overdue(void *context, struct sl_plan_account_pod *record)
{
    struct counting *counting = context;
    if (need_of(record, counting->account) == NULL || record->holds ||
        record->due_us == INT64_MAX) {
        return;
    }
    size_t tenant = record->tenant->index;
    counting->row[tenant].pods_overdue +=
        least_of_others(&counting->first, tenant) > record->due_us;
}

/* Those who borrow get the idle parts of shares: each tenant lends in proportion to what it leaves.
 */
static void settle_loans(struct counting *counting)
{
    struct least last = none; /* ends of borrowed runs, below 0 */
    double borrowed = 0;
    double left = 0;
    for (size_t i = 0; i < counting->account->n; i++) {
        struct sl_tenant_row *row = &counting->row[i];
        int64_t held = sl_sat_mul(row->held, SL_SHARE_ONE);
        row->borrowed = held > row->share ? held - row->share : 0;
        row->lent = held > row->share ? 0 : row->share - held;
        borrowed += (double)row->borrowed;
        if (row->borrowed > 0) {
            note_least(&last, i, -counting->runs[i].last_us);
        }
        left += (double)row->lent;
    }
    for (size_t i = 0; i < counting->account->n; i++) {
        struct sl_tenant_row *row = &counting->row[i];
        double part = left > borrowed ? borrowed / left : 1;
        row->lent = (int64_t)((double)row->lent * part);
        int64_t last_us = least_of_others(&last, i);
        row->bound_us = last_us == INT64_MAX ? 0 : -last_us;
    }
}

static void tell_account(struct counting *counting,
                         void (*visit)(void *context, const struct sl_tenant_row *row),
                         void *context)
{
    const struct sl_planner *planner = counting->planner;
    const struct sl_plan_account_lane *account = counting->account;
    for (size_t i = 0; i < account->n; i++) {
        const struct sl_tenant *tenant = sl_tenancy_at(planner->tenancy, i);
        const struct sl_plan_part *part = account->part[i];
        int64_t cap = sl_tenancy_cap(planner->tenancy, tenant, account->resource);
        counting->runs[i] = (struct runs){.first_us = INT64_MAX};
        counting->row[i] = (struct sl_tenant_row){
            .tenant = tenant->name,
            .resource = account->resource,
            .model = account->model,
            .share = part == NULL ? 0 : sl_share_size(part->share),
            .guaranteed =
                sl_tenancy_guarantee(planner->tenancy, tenant, account->resource, account->model),
            .cap = cap == INT64_MAX ? 0 : cap,
            .held = part == NULL ? 0 : part->held,
        };
    }
    sl_plan_each_account(planner, count_record, counting);
    counting->first = none;
    for (size_t i = 0; i < account->n; i++) {
        note_least(&counting->first, i, counting->runs[i].first_us);
    }
    sl_plan_each_account(planner, count_overdue, counting);
    settle_loans(counting);
    for (size_t i = 0; i < account->n; i++) {
        if (account->part[i] != NULL) {
            visit(context, &counting->row[i]);
        }
    }
}

static int64_t units_of(const void *context, const char *resource, const char *model)
{
    const struct sl_planner *planner = context;
    uint64_t key = sl_hash(resource, strlen(resource));
    int64_t units = 0;
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        const struct sl_view *view = sl_plan_node_at(planner, i)->base;
        bool is = view != NULL && sl_node_is_of(view->node, model);
        int pool = is ? sl_view_pool(view, key) : -1;
        units = sl_sat_add(units, pool < 0 ? 0 : view->node->pool[pool].capacity);
    }
    return units;
}

int sl_planner_tenants_check(const struct sl_planner *planner, struct sl_error *err)
{
    return planner->tenancy == NULL || !planner->ready
               ? 0
               : sl_tenants_check(sl_tenancy_config(planner->tenancy), units_of, planner, err);
}

void sl_planner_tenants(const struct sl_planner *planner,
                        void (*visit)(void *context, const struct sl_tenant_row *row),
                        void *context)
{
    struct counting *counting = planner->tenancy == NULL ? NULL : calloc(1, sizeof(*counting));
    const struct sl_plan_account_lane *account =
        counting == NULL ? NULL : sl_plan_account_first(planner->lane);
    for (; account != NULL; account = sl_plan_account_next(account)) {
        counting->planner = planner;
        counting->account = account;
        tell_account(counting, visit, context);
    }
    free(counting);
}

const char *sl_planner_tenant_of(const struct sl_planner *planner, const char *namespace)
{
    const struct sl_tenant *tenant =
        planner->tenancy == NULL ? NULL : sl_tenancy_find(planner->tenancy, namespace);
    return tenant == NULL ? NULL : tenant->name;
}
