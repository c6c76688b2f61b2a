/* Checks the tenants' accounts against the pods: for tests, as sl_planner_audit(). */
#include "core/plan/tenant/account.h"
#include "util/check.h"

/* Sums over a tenant's pods, and over those on its share of the account. */
struct sum {
    size_t waiting;
    size_t capped;
    size_t running;
    size_t owners; /* pods on the share that have not ended */
    struct sl_plan_part part;
};

struct audit {
    const struct sl_planner *planner;
    size_t coming;
    const struct sl_plan_account_lane *account;
    size_t needs; /* of the account */
    struct sum tenant[SL_TENANTS_MAX];
};

static void add_record(struct audit *audit, const struct sl_plan_account_pod *record)
{
    int64_t due_us = INT64_MIN;
    audit->tenant[record->tenant->index].running += record->holds;
    audit->coming += record->comes;
    for (unsigned i = 0; i < record->n; i++) {
        const struct sl_plan_need *need = &record->need[i];
        SL_CHECK(need->virtual == NULL || sl_share_facts_of(need->virtual)->owner == record);
        SL_CHECK(need->virtual == NULL || need->account != NULL);
        SL_CHECK(need->account == NULL || strcmp(need->account->model, need->model) == 0);
        due_us = sl_plan_later(due_us, sl_plan_need_start(need));
    }
    SL_CHECK(record->due_us == due_us ||
             sl_list_has(&audit->planner->account.turned, &record->turned));
}

static void add_pod(struct audit *audit, const struct sl_plan_pod *pod)
{
    struct sum *sum = &audit->tenant[pod->space->tenant->index];
    sum->waiting += sl_plan_is_queued(pod);
    sum->capped += pod->stand == SL_STAND_CAPPED;
    if (pod->account != NULL) {
        SL_CHECK(pod->account->pod == pod);
        SL_CHECK(pod->account->holds == (pod->stand == SL_STAND_NOMINATED));
        /* one that comes keeps its place until it is told, as when the clock was put */
        SL_CHECK(pod->account->holds || pod->account->comes ||
                 pod->item.due_us == pod->account->due_us);
        SL_CHECK(pod->account->holds || sl_plan_needs_are(audit->planner, pod->account, pod->pod));
        add_record(audit, pod->account);
    }
}

static void add_needs(void *context, struct sl_plan_account_pod *record)
{
    struct audit *audit = context;
    for (unsigned i = 0; i < record->n; i++) {
        const struct sl_plan_need *need = &record->need[i];
        if (need->account == audit->account) {
            struct sum *sum = &audit->tenant[record->tenant->index];
            audit->needs++;
            sum->owners += need->virtual != NULL;
            sum->part.held += record->holds ? need->units : 0;
            sum->part.held_long += record->holds && record->is_long ? need->units : 0;
            sum->part.leaving += record->leaves ? need->units : 0;
        }
    }
}

static void take_owner(void *context, const struct sl_share_facts *facts, const char *user)
{
    struct sum *sum = context;
    (void)user;
    sum->owners -= facts->owner != NULL;
}

static void audit_account(struct audit *audit, const struct sl_plan_account_lane *account)
{
    bool sized = account->lane->leaves > 0 && account->of == account->lane->capacity &&
                 account->kinds == audit->planner->seq.kinds;
    SL_CHECK(!sized || account->capacity == sl_plan_account_capacity(audit->planner, account));
    audit->account = account;
    audit->needs = 0;
    for (size_t i = 0; i < account->n; i++) {
        audit->tenant[i].owners = 0;
        audit->tenant[i].part = (struct sl_plan_part){.share = NULL};
    }
    sl_plan_each_account(audit->planner, add_needs, audit);
    for (size_t i = 0; i < account->n; i++) {
        const struct sl_plan_part *part = account->part[i];
        struct sum *sum = &audit->tenant[i];
        if (part != NULL) {
            SL_CHECK(part->held == sum->part.held && part->held_long == sum->part.held_long);
            SL_CHECK(part->leaving == sum->part.leaving && part->given == 0);
            sl_share_visit(part->share, take_owner, sum);
        }
        SL_CHECK(sum->owners == 0);
    }
    SL_CHECK(audit->needs == account->needs);
}

void sl_plan_tenants_audit(const struct sl_planner *planner)
{
    struct audit audit = {.planner = planner};
    size_t at = 0;
    if (planner->tenancy == NULL) {
        return;
    }
    for (const struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        add_pod(&audit, pod);
    }
    for (const struct sl_plan_ran *ran = sl_plan_ran_first(planner); ran != NULL;
         ran = sl_plan_ran_next(ran)) {
        if (ran->account != NULL) {
            SL_CHECK(ran->account->pod == NULL && ran->account->holds);
            add_record(&audit, ran->account);
        }
    }
    for (size_t i = 0; i < sl_tenancy_count(planner->tenancy); i++) {
        const struct sl_tenant *tenant = sl_tenancy_at(planner->tenancy, i);
        const struct sum *sum = &audit.tenant[i];
        SL_CHECK(tenant->waiting == sum->waiting && tenant->capped == sum->capped);
        SL_CHECK(tenant->running == sum->running);
    }
    SL_CHECK(audit.coming == planner->account.n_coming);
    for (const struct sl_plan_account_lane *account = sl_plan_account_first(planner->lane);
         account != NULL; account = sl_plan_account_next(account)) {
        audit_account(&audit, account);
    }
}
