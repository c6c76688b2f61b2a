/* The order by tenants: each pod also runs virtually on its tenant's own share of each resource
 * that it asks for (core/share). From the time of its start there it is due, and goes before all
 * that are not; among those that are not, the configured order counts. */
#include "core/plan/tenant/account.h"
#include "sliced/admit.h"

#include <stdlib.h>

enum { NEEDS_MAX = 2 * SL_ASK_ITEMS_MAX };

static void tenants_adopt(struct sl_planner *planner, const struct sl_pod *pod);

static bool account_get(struct sl_planner *planner, struct sl_plan_lane *lane, const char *resource)
{
    if (lane->account != NULL) {
        return true;
    }
    bool opened = sl_plan_accounts_open(planner, lane, resource);
    if (opened) {
        sl_plan_each_resident(planner, tenants_adopt);
    }
    return opened;
}

/* ---- records ---- */

/* A pod counts on the model that it selects, and not on that on which it runs: one that could run
 * elsewhere is lent the model's units, and would else take from its own tenant's part of them. */
static unsigned needs_of(const struct sl_planner *planner, const struct sl_pod *pod,
                         struct sl_plan_need need[NEEDS_MAX])
{
    const char *selected = sl_constraints_only(pod->constraints, SL_MODEL_LABEL);
    unsigned items = pod->n_items < SL_ASK_ITEMS_MAX ? pod->n_items : SL_ASK_ITEMS_MAX;
    unsigned n = items;
    for (unsigned i = 0; i < items; i++) {
        need[i] = (struct sl_plan_need){.units = pod->items[i].count, .model = "", .item = i};
    }
    for (unsigned i = 0; i < items && selected != NULL; i++) {
        const char *model = sl_tenancy_model(planner->tenancy, pod->items[i].resource, selected);
        if (model != NULL) {
            need[n] = need[i];
            need[n].model = model;
            n++;
        }
    }
    return n;
}

bool sl_plan_needs_are(const struct sl_planner *planner, const struct sl_plan_account_pod *record,
                       const struct sl_pod *pod)
{
    struct sl_plan_need need[NEEDS_MAX];
    unsigned n = needs_of(planner, pod, need);
    return n == record->n && (n == 0 || need[n - 1].model == record->need[n - 1].model);
}

static struct sl_plan_account_pod *record_new(struct sl_planner *planner, const struct sl_pod *pod)
{
    struct sl_plan_need need[NEEDS_MAX];
    unsigned n = needs_of(planner, pod, need);
    struct sl_plan_account_pod *record = calloc(1, sizeof(*record) + n * sizeof(need[0]));
    int64_t most_us = sl_tenancy_config(planner->tenancy)->borrow_max_timeout_us;
    if (record != NULL) {
        record->number = sl_plan_number_of(pod->uid);
        record->tenant = sl_tenancy_of(planner->tenancy, pod->namespace);
        record->due_us = INT64_MAX;
        record->timeout_us = sl_plan_timeout(planner, pod);
        record->is_long = most_us > 0 && record->timeout_us > most_us;
        record->n = n;
        memcpy(record->need, need, n * sizeof(need[0]));
    }
    return record;
}

static int64_t due_of(const struct sl_plan_account_pod *record)
{
    int64_t due_us = INT64_MIN;
    for (unsigned i = 0; i < record->n; i++) {
        due_us = sl_plan_later(due_us, sl_plan_need_start(&record->need[i]));
    }
    return due_us;
}

/* A pod that waits for a model, maybe for long, comes to its tenant's share of all models with its
 * start on that of the model: it would keep others' units else. */
static bool comes_later(const struct sl_plan_account_pod *record, const struct sl_plan_need *need)
{
    bool later = false;
    for (unsigned i = 0; i < record->n && need->model[0] == '\0' && !record->holds; i++) {
        const struct sl_plan_need *other = &record->need[i];
        bool before = other->item == need->item && other->model[0] != '\0';
        later = later || (before && sl_plan_need_start(other) == INT64_MAX);
    }
    return later;
}

/* Queues change when a run begins, and at no other time. */
static void turn(struct sl_planner *planner, struct sl_plan_account_pod *record)
{
    if (!sl_list_has(&planner->account.turned, &record->turned)) {
        sl_list_add_last(&planner->account.turned, &record->turned);
    }
}

static void unturn(struct sl_planner *planner, struct sl_plan_account_pod *record)
{
    if (sl_list_has(&planner->account.turned, &record->turned)) {
        sl_list_remove(&planner->account.turned, &record->turned);
    }
}

static void on_start(void *context, void *owner, int64_t start_us)
{
    (void)start_us;
    turn(context, owner);
}

static void play(struct sl_planner *planner, struct sl_plan_part *part)
{
    sl_share_play(part->share, planner->now_us, on_start, planner);
}

/* Plays what has been. What happens now happens together, and is played when all of it is told. */
static void catch_up(struct sl_planner *planner, struct sl_plan_part *part)
{
    if (sl_share_now(part->share) < planner->now_us) {
        play(planner, part);
    }
}

/* Returns the need's share, which counts it from now on; NULL: there is none. */
static struct sl_plan_part *count_need(struct sl_planner *planner,
                                       const struct sl_plan_account_pod *record,
                                       struct sl_plan_need *need, const struct sl_pod *pod)
{
    const struct sl_plan_lane *lane =
        need->item < pod->n_items ? sl_plan_lane_find(planner, pod->items[need->item].key) : NULL;
    struct sl_plan_account_lane *account = sl_plan_account_of(lane, need->model);
    struct sl_plan_part *part =
        account == NULL ? NULL : sl_plan_part_get(planner, account, record->tenant);
    if (part != NULL && need->account == NULL) {
        need->account = account;
        account->needs++;
        part->held += record->holds ? need->units : 0;
        part->held_long += record->holds && record->is_long ? need->units : 0;
        part->leaving += record->leaves ? need->units : 0;
    }
    return part;
}

/* Tells the pod to the shares that do not know it. start_us: when it started, or INT64_MAX. True:
 * there was one. */
static bool tell_needs(struct sl_planner *planner, struct sl_plan_account_pod *record,
                       const struct sl_pod *pod, int64_t ready_us, int64_t start_us)
{
    struct sl_share_facts facts = {
        .item = sl_plan_item_of(planner, pod, ready_us),
        .number = record->number,
        .run_us = -1,
        .owner = record,
    };
    bool any = false;
    for (unsigned i = record->n; i > 0; i--) { /* those of models before */
        struct sl_plan_need *need = &record->need[i - 1];
        struct sl_plan_part *part = need->virtual != NULL ? NULL
                                                          : count_need(planner, record, need, pod);
        if (part == NULL || comes_later(record, need)) {
            continue;
        }
        catch_up(planner, part);
        facts.units = need->units;
        facts.fifo_us = start_us;
        facts.user_us = start_us;
        facts.start_us = start_us;
        sl_plan_record_pod(planner, sl_plan_need_number(record, i - 1), &facts);
        need->virtual = sl_share_arrive(part->share, &facts, sl_str_of(pod->namespace),
                                        planner->now_us);
        any = any || need->virtual != NULL;
    }
    turn(planner, record);
    return any;
}

/* True: a share is told of it only now, and is to be played. */
static bool place_anew(struct sl_planner *planner, struct sl_plan_account_pod *record)
{
    struct sl_plan_pod *pod = record->pod;
    bool lacks = record->n > 1 && due_of(record) == INT64_MAX;
    bool told = lacks && pod != NULL && pod->class != NULL &&
                tell_needs(planner, record, pod->pod, pod->ready_us, INT64_MAX);
    unturn(planner, record);
    record->due_us = due_of(record);
    if (pod != NULL && sl_plan_is_queued(pod) && pod->item.due_us != record->due_us) {
        struct sl_plan_lane *lane = sl_plan_lane_of(pod);
        struct sl_plan_pod *preemptor = lane->preemptor;
        sl_plan_queue_remove(planner, pod);
        sl_plan_queue_add(planner, pod);
        lane->preemptor = preemptor; /* also where it is the pod */
    }
    return told;
}

static void hold(const struct sl_planner *planner, struct sl_plan_account_pod *record, bool holds)
{
    int64_t sign = holds ? 1 : -1;
    if (record->holds == holds) {
        return;
    }
    record->holds = holds;
    record->since_us = planner->now_us;
    record->tenant->running += holds ? 1 : SIZE_MAX;
    for (unsigned i = 0; i < record->n; i++) {
        const struct sl_plan_need *need = &record->need[i];
        struct sl_plan_part *part = sl_plan_part_of(need->account, record->tenant);
        if (part != NULL) {
            part->held += sign * need->units;
            part->held_long += record->is_long ? sign * need->units : 0;
            part->leaving += record->leaves ? sign * need->units : 0;
        }
    }
    record->leaves = record->leaves && holds;
}

/* A run that holds units is being deleted, and soon gone. */
static void leave(struct sl_plan_account_pod *record)
{
    for (unsigned i = 0; i < record->n && !record->leaves; i++) {
        struct sl_plan_part *part = sl_plan_part_of(record->need[i].account, record->tenant);
        if (part != NULL) {
            part->leaving += record->need[i].units;
        }
    }
    record->leaves = true;
}

/* It waits again, and for its model perhaps. */
static void take_back(struct sl_planner *planner, struct sl_plan_account_pod *record)
{
    for (unsigned i = 0; i < record->n; i++) {
        struct sl_plan_need *need = &record->need[i];
        struct sl_plan_part *part = sl_plan_part_of(need->account, record->tenant);
        if (part != NULL && need->virtual != NULL && comes_later(record, need)) {
            catch_up(planner, part);
            sl_share_withdraw(part->share, need->virtual);
            need->virtual = NULL;
            turn(planner, record);
        }
    }
}

static void stop_coming(struct sl_planner *planner, struct sl_plan_account_pod *record)
{
    if (record->comes) {
        sl_list_remove(&planner->account.coming, &record->coming);
        planner->account.n_coming--;
        record->comes = false;
    }
}

/* run_us: how long it ran; -1: it never did. */
static void record_end(struct sl_planner *planner, struct sl_plan_account_pod *record,
                       int64_t run_us)
{
    stop_coming(planner, record);
    hold(planner, record, false);
    for (unsigned i = 0; i < record->n; i++) {
        const struct sl_plan_need *need = &record->need[i];
        struct sl_plan_part *part = sl_plan_part_of(need->account, record->tenant);
        if (part != NULL) {
            need->account->needs--;
        }
        if (part == NULL || need->virtual == NULL) {
            continue;
        }
        catch_up(planner, part);
        if (run_us >= 0) {
            sl_share_over(part->share, need->virtual, run_us, planner->now_us);
        } else {
            sl_share_withdraw(part->share, need->virtual);
        }
    }
    unturn(planner, record); /* the plays may have turned it */
    free(record);
}

/* ---- pods that others started ---- */

static void tenants_adopt(struct sl_planner *planner, const struct sl_pod *pod)
{
    bool counts = false;
    for (unsigned i = 0; i < pod->n_items && i < SL_ASK_ITEMS_MAX; i++) {
        const struct sl_plan_lane *lane = sl_plan_lane_find(planner, pod->items[i].key);
        counts = counts || (lane != NULL && lane->account != NULL);
    }
    planner->account.uncounted = planner->account.uncounted || !counts;
    if (!counts || pod->uid[0] == '\0' || sl_plan_find(planner, sl_str_of(pod->uid)) != NULL) {
        return;
    }
    struct sl_plan_ran *ran = sl_plan_ran_find(planner, pod->uid);
    if (ran == NULL) {
        ran = sl_plan_ran_new(planner, pod->uid);
        if (ran == NULL) {
            return;
        }
        ran->nominated_us = pod->started_us > 0 ? pod->started_us : planner->now_us;
        ran->lane = pod->items[0].key;
        ran->seen = true;
    }
    if (ran->account == NULL) {
        ran->account = record_new(planner, pod);
        if (ran->account == NULL) {
            return;
        }
        hold(planner, ran->account, true);
        ran->account->since_us = ran->nominated_us;
    }
    (void)tell_needs(planner, ran->account, pod, 0, ran->nominated_us);
    if (sl_plan_soon_gone(planner, pod)) {
        leave(ran->account);
    }
}

/* Counts what runs of the pod's resources, though none may wait for them. */
static void account_for(struct sl_planner *planner, const struct sl_pod *pod)
{
    for (unsigned i = 0; i < pod->n_items && i < SL_ASK_ITEMS_MAX; i++) {
        struct sl_plan_lane *lane = sl_plan_lane_find(planner, pod->items[i].key);
        if (lane == NULL || lane->account == NULL) {
            lane = sl_plan_lane_get(planner, &pod->items[i]);
            if (lane != NULL) {
                bool known = lane->leaves > 0 || sl_plan_room_build(planner, lane);
                (void)(known && !lane->nowhere &&
                       account_get(planner, lane, pod->items[i].resource));
                lane->refs--;
            }
        }
    }
}

/* ---- pods of ours ---- */

static void come(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_account_pod *record = pod->account;
    if (record == NULL && pod->class != NULL) {
        record = record_new(planner, pod->pod);
        if (record != NULL) {
            record->pod = pod;
            record->comes = true;
            pod->account = record;
            sl_list_add_last(&planner->account.coming, &record->coming);
            planner->account.n_coming++;
        }
    }
}

static void tenants_settle(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_account_pod *record = pod->account;
    bool nominated = pod->stand == SL_STAND_NOMINATED;
    bool stays = nominated || (sl_plan_is_queued(pod) && !pod->class->ask->never);
    bool returns = record != NULL && record->holds && !nominated;
    if (record != NULL && (!stays || (returns && !sl_plan_needs_are(planner, record, pod->pod)))) {
        record_end(planner, record, -1);
        pod->account = NULL;
    }
    if (!stays) {
        return;
    }
    come(planner, pod);
    record = pod->account;
    if (record != NULL) {
        hold(planner, record, nominated);
        take_back(planner, record);
    }
    if (record != NULL && nominated && !record->comes && record->n > 1) {
        (void)tell_needs(planner, record, pod->pod, pod->ready_us, INT64_MAX);
    }
}

static void tell_of(struct sl_planner *planner, struct sl_plan_account_pod *record)
{
    const struct sl_plan_pod *pod = record->pod;
    stop_coming(planner, record);
    if (pod == NULL || pod->class == NULL) {
        return; /* bound already: told once a node shows it */
    }
    const struct sl_plan_ask *ask = pod->class->ask;
    for (unsigned i = 0; i < ask->ask.n; i++) {
        struct sl_plan_lane *lane = ask->lane[i];
        bool counts = !lane->nowhere && account_get(planner, lane, ask->ask.item[i].resource);
        struct sl_plan_account_lane *account = counts ? lane->account : NULL;
        for (; account != NULL; account = account->next) {
            sl_plan_parts_size(planner, account);
        }
    }
    (void)tell_needs(planner, record, pod->pod, pod->ready_us, INT64_MAX);
}

/* True: pods have come to further shares. */
static bool play_all(struct sl_planner *planner)
{
    bool again = false;
    for (struct sl_plan_account_lane *account = sl_plan_account_first(planner->lane);
         account != NULL; account = sl_plan_account_next(account)) {
        for (size_t i = 0; i < account->n; i++) {
            if (account->part[i] != NULL) {
                play(planner, account->part[i]);
            }
        }
        /* Only now: what has been up to now was on the shares as they were. */
        sl_plan_parts_size(planner, account);
    }
    struct sl_link *turned = planner->account.turned.first;
    for (; turned != NULL; turned = planner->account.turned.first) {
        again =
            place_anew(planner, SL_CONTAINER(turned, struct sl_plan_account_pod, turned)) || again;
    }
    return again;
}

static void tenants_tell(struct sl_planner *planner)
{
    struct sl_list *coming = &planner->account.coming;
    if ((planner->account.fresh || planner->account.uncounted) && planner->ready) {
        planner->account.fresh = false;
        sl_plan_each_resident(planner, account_for);
        planner->account.uncounted = false;
    }
    while (coming->first != NULL) {
        tell_of(planner, SL_CONTAINER(coming->first, struct sl_plan_account_pod, coming));
    }
    while (play_all(planner)) {
    }
}

static void tenants_bound(struct sl_plan_pod *pod, struct sl_plan_ran *ran)
{
    ran->account = pod->account;
    pod->account = NULL;
    if (ran->account != NULL) {
        ran->account->pod = NULL;
    }
}

static void tenants_ended(struct sl_planner *planner, struct sl_plan_ran *ran)
{
    if (ran->account != NULL) {
        record_end(planner, ran->account, ran->seen ? planner->now_us - ran->nominated_us : -1);
        ran->account = NULL;
    }
}

static int64_t tenants_due(const struct sl_plan_pod *pod)
{
    return pod->account == NULL ? INT64_MAX : pod->account->due_us;
}

/* ---- the whole account ---- */

static void tenants_capacity(struct sl_planner *planner)
{
    (void)planner; /* when a run begins */
}

static bool tenants_forget(struct sl_plan_lane *lane, bool crowded)
{
    bool needed = lane->account != NULL && !crowded;
    for (const struct sl_plan_account_lane *account = lane->account; account != NULL && !needed;
         account = account->next) {
        needed = account->needs > 0;
    }
    if (needed) {
        return false;
    }
    sl_plan_accounts_close(lane);
    return true;
}

static int64_t tenants_wake(const struct sl_plan_lane *lane)
{
    int64_t wake_us = INT64_MAX;
    const struct sl_plan_account_lane *account = lane->n_queue > 0 ? lane->account : NULL;
    for (; account != NULL; account = account->next) {
        for (size_t i = 0; i < account->n; i++) {
            const struct sl_plan_part *part = account->part[i];
            if (part != NULL) {
                wake_us = sl_plan_earlier(wake_us, sl_share_next(part->share));
            }
        }
    }
    return wake_us;
}

static int64_t tenants_latest(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    (void)planner;
    (void)pod;
    return 0; /* its own start is told beside the estimate */
}

static void tenants_end(struct sl_planner *planner)
{
    sl_plan_records_free(planner);
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        sl_plan_accounts_close(lane);
    }
    for (size_t i = 0; i < sl_tenancy_count(planner->tenancy); i++) {
        sl_tenancy_at(planner->tenancy, i)->running = 0;
    }
    planner->account = (struct sl_plan_account){.n_coming = 0};
}

static void tenants_begin(struct sl_planner *planner)
{
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        if (pod->nomination != NULL) {
            tenants_settle(planner, pod);
        }
    }
}

int sl_plan_tenants_set(struct sl_planner *planner, const struct sl_tenants *tenants,
                        struct sl_error *err)
{
    struct sl_tenancy *tenancy = NULL;
    if (sl_tenants_on(tenants)) {
        tenancy = sl_tenancy_new(tenants);
        if (tenancy == NULL ||
            (planner->tenancy != NULL && sl_tenancy_relabel(tenancy, planner->tenancy) < 0)) {
            sl_tenancy_free(tenancy);
            return sl_error_nomem(err);
        }
    }
    sl_tenancy_free(planner->tenancy);
    planner->tenancy = tenancy;
    return 0;
}

enum sl_hold_reason sl_plan_tenants_hold(const struct sl_planner *planner,
                                         const struct sl_plan_pod *pod)
{
    const struct sl_plan_account_pod *record = planner->tenancy == NULL ? NULL : pod->account;
    enum sl_hold_reason reason = SL_HOLD_NONE;
    if (record == NULL) {
        return reason;
    }
    const struct sl_tenant *tenant = record->tenant;
    bool full =
        tenant->share->max_running > 0 && tenant->running >= (size_t)tenant->share->max_running;
    bool borrows = record->is_long && record->due_us == INT64_MAX;
    for (unsigned i = 0; i < record->n; i++) {
        const struct sl_plan_need *need = &record->need[i];
        const struct sl_plan_part *part = sl_plan_part_of(need->account, tenant);
        if (part == NULL) {
            continue;
        }
        int64_t cap = sl_tenancy_cap(planner->tenancy, tenant, need->account->resource);
        int64_t long_units = sl_sat_mul(part->held_long + need->units, SL_SHARE_ONE);
        full = full || part->held + need->units > cap;
        reason = borrows && long_units > sl_share_size(part->share) ? SL_HOLD_BORROW : reason;
    }
    return full ? SL_HOLD_CAP : reason;
}

const struct sl_plan_order sl_plan_tenants = {
    .begin = tenants_begin,
    .end = tenants_end,
    .settle = tenants_settle,
    .bound = tenants_bound,
    .adopt = tenants_adopt,
    .ended = tenants_ended,
    .capacity = tenants_capacity,
    .forget = tenants_forget,
    .tell = tenants_tell,
    .wake = tenants_wake,
    .latest = tenants_latest,
    .due = tenants_due,
};
