/* Rows of the queue for readers. They are made once for all who read at the same time, and seldom
 * enough that readers, however many, take little of the time that plans are made in. */
#include "daemon/queue_internal.h"
#include "server/process.h"

enum { REST = 10, READY_US = 5000 };

static const int64_t estimates_us = 1000000;
static const int64_t first_plan_us = 1000000;

/* With plan held. */
static int estimate(struct sl_queuer *queuer, int64_t now_us, struct sl_error *err)
{
    if (now_us - queuer->estimated_us < estimates_us && now_us >= queuer->estimated_us) {
        return 0;
    }
    if (sl_planner_estimate(queuer->planner, now_us, err) < 0) {
        return -1;
    }
    queuer->estimated_us = now_us;
    return 0;
}

struct copy {
    struct sl_queue_list *list;
    struct sl_error *err;
    int result;
};

static void copy_row(void *context, const struct sl_queue_row *row)
{
    struct copy *copy = context;
    if (copy->result == 0) {
        copy->result = sl_queue_list_add(copy->list, row, copy->err);
    }
}

/* With nobody else who could plan the first plan is worth waiting for. */
static void await_plan(struct sl_queuer *queuer)
{
    if (queuer->options.term == NULL) {
        (void)sl_queue_settle(queuer, first_plan_us);
    }
}

/* With plan held. Brings the estimates up to date; -1 also when there is no plan. */
static int look_up(struct sl_queuer *queuer, int64_t now_us, struct sl_error *err)
{
    return queuer->planner == NULL ? sl_error_set(err, SL_ERR_CONFLICT, "no plan is made here")
                                   : estimate(queuer, now_us, err);
}

/* ---- all rows ---- */

/* With listing held. Rows that took long to make stay good for longer than it took, whatever is
 * planned meanwhile; others until the next plan, or as long as estimates do. */
static bool is_good(const struct sl_queuer *queuer, int64_t now_us)
{
    int64_t age_us = now_us - queuer->listed_us;
    bool same_term = queuer->listed_term == atomic_load(&queuer->terms);
    bool same_plan = queuer->listed_round == atomic_load(&queuer->rounds);
    int64_t rest_us = queuer->listing_us > READY_US ? REST * queuer->listing_us : 0;
    return queuer->listed != NULL && same_term &&
           (age_us < rest_us || (same_plan && age_us < estimates_us));
}

/* With listing held. */
static int make_rows(struct sl_queuer *queuer, int64_t begin_us, struct sl_error *err)
{
    struct sl_queue_shared *fresh = NULL;
    (void)pthread_mutex_lock(&queuer->plan);
    int64_t now_us = sl_queue_now(queuer, sl_clock_monotonic_ns());
    queuer->listed_term = atomic_load(&queuer->terms);
    queuer->listed_round = atomic_load(&queuer->rounds);
    int result = look_up(queuer, now_us, err);
    if (result == 0) {
        fresh = sl_queue_shared_new(queuer->entries.len, err);
        result = fresh == NULL ? -1 : 0;
    }
    if (result == 0) {
        struct copy copy = {.list = &fresh->list, .err = err};
        fresh->list.now_us = now_us;
        fresh->list.total =
            sl_planner_visit(queuer->planner, now_us, queuer->entries.len, copy_row, &copy);
        result = copy.result;
    }
    (void)pthread_mutex_unlock(&queuer->plan);
    sl_queue_shared_unref(queuer->listed);
    queuer->listed = result == 0 ? fresh : NULL;
    queuer->listed_us = sl_clock_monotonic_ns() / 1000;
    queuer->listing_us = queuer->listed_us - begin_us;
    if (result < 0) {
        sl_queue_shared_unref(fresh);
    } else {
        (void)atomic_fetch_add(&queuer->listings, 1);
    }
    return result;
}

int sl_queue_rows_now(struct sl_queuer *queuer, size_t max, struct sl_queue_list *out,
                      struct sl_error *err)
{
    int result = 0;
    *out = (struct sl_queue_list){.n = 0};
    (void)pthread_mutex_lock(&queuer->listing);
    int64_t now_us = sl_clock_monotonic_ns() / 1000;
    if (!is_good(queuer, now_us)) {
        result = make_rows(queuer, now_us, err);
    }
    if (result == 0) {
        sl_queue_list_share(queuer->listed, max, out);
    }
    (void)pthread_mutex_unlock(&queuer->listing);
    return result;
}

int sl_queue_rows(void *context, size_t max, struct sl_queue_list *out, struct sl_error *err)
{
    await_plan(context);
    return sl_queue_rows_now(context, max, out, err);
}

/* ---- one row ---- */

int sl_queue_row_of(void *context, struct sl_str uid, struct sl_queue_list *out,
                    struct sl_error *err)
{
    struct sl_queuer *queuer = context;
    struct sl_queue_row row;
    await_plan(queuer);
    (void)pthread_mutex_lock(&queuer->plan);
    int result = sl_queue_list_init(out, 1, err);
    out->now_us = sl_queue_now(queuer, sl_clock_monotonic_ns());
    if (result == 0) {
        result = look_up(queuer, out->now_us, err);
    }
    if (result == 0 && sl_planner_row(queuer->planner, uid, out->now_us, &row)) {
        result = sl_queue_list_add(out, &row, err);
        out->total = 1;
    }
    (void)pthread_mutex_unlock(&queuer->plan);
    return result;
}
