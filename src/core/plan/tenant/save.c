/* Writes the record of the shares, as record.c says. */
#include "core/plan/tenant/account.h"
#include "util/buf.h"

struct writing {
    struct sl_buf out;
    size_t max;
    int64_t now_us;
    size_t share; /* number of the present one */
    bool turns;   /* pods that have a turn to lose are written now */
};

/* Drops a line that is empty or beyond the room, and then all that follow: "e" counts lines "s". */
static void end_line(struct writing *writing, size_t before)
{
    bool empty = writing->out.len == before;
    sl_buf_putc(&writing->out, '\n');
    if (empty || writing->out.len > writing->max) {
        writing->out.len = before;
        writing->max = empty ? writing->max : before;
    }
}

static void put_ago(struct writing *writing, int64_t at_us)
{
    sl_buf_putc(&writing->out, ' ');
    if (at_us == INT64_MAX) {
        sl_buf_putc(&writing->out, '-');
    } else {
        sl_buf_i64(&writing->out, (writing->now_us - at_us) / SL_SECOND_US);
    }
}

static void put_number(struct writing *writing, int64_t value)
{
    sl_buf_putc(&writing->out, ' ');
    sl_buf_i64(&writing->out, value);
}

static void put_share(struct writing *writing, const struct sl_tenant *tenant,
                      const struct sl_plan_account_lane *account)
{
    size_t before = writing->out.len;
    const struct sl_share *share = account->part[tenant->index]->share;
    sl_buf_printf(&writing->out, "s %s %s", tenant->name, account->resource);
    put_number(writing, sl_share_longest(share) / SL_SECOND_US);
    sl_buf_printf(&writing->out, "%s%s", account->model[0] == '\0' ? "" : " ", account->model);
    end_line(writing, before);
}

static void put_ended(void *context, const struct sl_share_facts *facts, const char *user)
{
    struct writing *writing = context;
    size_t before = writing->out.len;
    if (facts->run_us < 0) {
        return;
    }
    sl_buf_printf(&writing->out, "e %zu %s", writing->share, user[0] == '\0' ? "-" : user);
    put_number(writing, facts->units);
    put_number(writing, facts->item.priority);
    put_number(writing, facts->item.timeout_us / SL_SECOND_US);
    put_ago(writing, facts->item.submit_us);
    put_ago(writing, facts->fifo_us);
    put_ago(writing, facts->user_us);
    put_ago(writing, facts->start_us);
    put_number(writing, facts->run_us / SL_SECOND_US);
    end_line(writing, before);
}

/* ended: the pods on them that have ended, instead of the shares themselves. */
static void put_shares(struct writing *writing, const struct sl_planner *planner, bool ended)
{
    for (const struct sl_plan_account_lane *account = sl_plan_account_first(planner->lane);
         account != NULL; account = sl_plan_account_next(account)) {
        for (size_t i = 0; i < account->n; i++) {
            const struct sl_plan_part *part = account->part[i];
            if (part != NULL && ended) {
                sl_share_visit(part->share, put_ended, writing);
                writing->share++;
            } else if (part != NULL) {
                put_share(writing, sl_tenancy_at(planner->tenancy, i), account);
            }
        }
    }
}

/* The pod on each of its shares: the number of the first is its own. */
static void put_pod(void *context, struct sl_plan_account_pod *record)
{
    struct writing *writing = context;
    bool waits = !record->holds;
    for (unsigned i = 0; i < record->n; i++) {
        const struct sl_share_pod *virtual = record->need[i].virtual;
        const struct sl_share_facts *facts = virtual == NULL ? NULL : sl_share_facts_of(virtual);
        size_t before = writing->out.len;
        bool turn =
            facts != NULL && waits && (facts->user_us != INT64_MAX || facts->start_us != INT64_MAX);
        if (facts != NULL && turn == writing->turns &&
            (!waits || turn || facts->fifo_us != INT64_MAX)) {
            sl_buf_printf(&writing->out, "p %llx",
                          (unsigned long long)sl_plan_need_number(record, i));
            put_ago(writing, facts->fifo_us);
            put_ago(writing, facts->user_us);
            put_ago(writing, facts->start_us);
            end_line(writing, before);
        }
    }
}

char *sl_planner_tenants_save(const struct sl_planner *planner, size_t max, size_t *len)
{
    struct writing writing = {.max = max, .now_us = planner->now_us, .turns = true};
    struct sl_str before = {NULL, 0};
    int64_t at_us = planner->account.fresh ? sl_plan_record_of(planner, &before) : planner->now_us;
    *len = 0;
    if (planner->tenancy == NULL) {
        return NULL;
    }
    sl_buf_init(&writing.out, max + 1024);
    sl_buf_printf(&writing.out, "tenants1 %lld", (long long)(at_us / SL_SECOND_US));
    end_line(&writing, 0);
    while (before.s != NULL) { /* nothing has been made of it yet */
        size_t start = writing.out.len;
        struct sl_str line = sl_str_cut(&before, '\n');
        sl_buf_append(&writing.out, line.len == 0 ? "" : line.s, line.len);
        end_line(&writing, start);
    }
    put_shares(&writing, planner, false);
    sl_plan_each_account(planner, put_pod, &writing);
    put_shares(&writing, planner, true);
    writing.turns = false;
    sl_plan_each_account(planner, put_pod, &writing);
    if (writing.out.failed != SL_BUF_OK) {
        sl_buf_free(&writing.out);
        return NULL;
    }
    return sl_buf_steal(&writing.out, len);
}
