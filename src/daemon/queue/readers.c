/* The readers' side of the queue. Readers at the same time share one making of all rows, and it is
 * rare enough to leave the planning thread its time. */
#include "daemon/queue/readers.h"

#include <stdlib.h>

#include "daemon/queue/clock.h"
#include "daemon/queue/mail.h"
#include "daemon/queue/worker.h"
#include "util/clock.h"
#include "util/process/copy.h"
#include "util/time.h"

enum { REST = 10 };

static const int64_t estimates_us = SL_SECOND_US;
static const int64_t ready_us = 5 * SL_MS_US; /* rows that took less are made at any time */
static const int64_t first_plan_us = SL_SECOND_US;
static const int64_t suppose_limit_us = 5 * SL_SECOND_US;

/* With plan held. */
static int estimates_refresh(struct sl_queue_worker *worker, int64_t now_us, struct sl_error *err)
{
    if (now_us - worker->estimated_us < estimates_us && now_us >= worker->estimated_us) {
        return 0;
    }
    if (sl_planner_estimate(worker->planner, now_us, err) < 0) {
        return -1;
    }
    worker->estimated_us = now_us;
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

static void copy_tenant(void *context, const struct sl_tenant_row *row)
{
    struct copy *copy = context;
    if (copy->result == 0) {
        copy->result = sl_queue_list_tenant(copy->list, row, copy->err);
    }
}

/* Waits for the first plan, which no other replica could make. */
static void await_plan(struct sl_queue_worker *worker)
{
    if (worker->options.leadership == NULL) {
        (void)sl_queue_settle(worker, first_plan_us);
    }
}

/* With plan held. Brings the estimates up to date; -1 also when there is no plan. */
static int plan_ready(struct sl_queue_worker *worker, int64_t now_us, struct sl_error *err)
{
    return worker->planner == NULL ? sl_error_set(err, SL_ERR_CONFLICT, "no plan is made here")
                                   : estimates_refresh(worker, now_us, err);
}

/* NULL is no text. */
static void text_copy(char *out, size_t size, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    len = len < size ? len : size - 1;
    if (len > 0) {
        memcpy(out, text, len);
    }
    out[len] = '\0';
}

/* ---- all rows ---- */

/* With listing held. Rows that took long to make stay good for longer than that, even past new
 * plans; others until the next plan, or as long as estimates do. */
static bool is_good(const struct sl_queue_worker *worker, int64_t now_us)
{
    int64_t age_us = now_us - worker->listed_us;
    bool same_leadership = worker->listed_leadership == atomic_load(&worker->leaderships);
    bool same_plan = worker->listed_round == atomic_load(&worker->rounds);
    int64_t rest_us = worker->listing_us > ready_us ? REST * worker->listing_us : 0;
    return worker->listed != NULL && same_leadership &&
           (age_us < rest_us || (same_plan && age_us < estimates_us));
}

/* With listing held. */
static int make_rows(struct sl_queue_worker *worker, struct sl_error *err)
{
    int64_t begin_us = sl_queue_cpu_us();
    struct sl_queue_shared *fresh = NULL;
    (void)pthread_mutex_lock(&worker->plan);
    int64_t now_us = sl_queue_now(worker, sl_clock_monotonic_ns());
    worker->listed_leadership = atomic_load(&worker->leaderships);
    worker->listed_round = atomic_load(&worker->rounds);
    int result = plan_ready(worker, now_us, err);
    if (result == 0) {
        fresh = sl_queue_shared_new(worker->entries.len, err);
        result = fresh == NULL ? -1 : 0;
    }
    if (result == 0) {
        struct copy copy = {.list = &fresh->list, .err = err};
        fresh->list.now_us = now_us;
        fresh->list.total =
            sl_planner_visit(worker->planner, now_us, worker->entries.len, copy_row, &copy);
        sl_planner_tenants(worker->planner, copy_tenant, &copy);
        result = copy.result;
    }
    (void)pthread_mutex_unlock(&worker->plan);
    if (result == 0 && fresh->list.n_tenants > 1) {
        qsort(fresh->list.tenant, fresh->list.n_tenants, sizeof(*fresh->list.tenant),
              sl_queue_compare_tenants);
    }
    sl_queue_shared_unref(worker->listed);
    worker->listed = result == 0 ? fresh : NULL;
    worker->listed_us = sl_clock_monotonic_us();
    worker->listing_us = sl_queue_cpu_us() - begin_us;
    if (result < 0) {
        sl_queue_shared_unref(fresh);
    } else {
        (void)atomic_fetch_add(&worker->listings, 1);
    }
    return result;
}

int sl_queue_rows_now(struct sl_queue_worker *worker, size_t max, struct sl_queue_list *out,
                      struct sl_error *err)
{
    int result = 0;
    *out = (struct sl_queue_list){.n = 0};
    (void)pthread_mutex_lock(&worker->listing);
    if (!is_good(worker, sl_clock_monotonic_us())) {
        result = make_rows(worker, err);
    }
    if (result == 0) {
        sl_queue_list_share(worker->listed, max, out);
    }
    (void)pthread_mutex_unlock(&worker->listing);
    return result;
}

int sl_queue_rows(void *context, size_t max, struct sl_queue_list *out, struct sl_error *err)
{
    await_plan(context);
    return sl_queue_rows_now(context, max, out, err);
}

void sl_queue_tenants_of(void *context, struct sl_queue_space *space, size_t n)
{
    struct sl_queue_worker *worker = context;
    (void)pthread_mutex_lock(&worker->plan);
    for (size_t i = 0; i < n; i++) {
        const char *tenant = worker->planner == NULL
                                 ? NULL
                                 : sl_planner_tenant_of(worker->planner, space[i].namespace);
        text_copy(space[i].tenant, sizeof(space[i].tenant), tenant);
    }
    (void)pthread_mutex_unlock(&worker->plan);
}

int64_t sl_queue_reclaim(void *context, struct sl_str uid, const char *node,
                         void (*visit)(void *to, const struct sl_pod *run), void *to)
{
    struct sl_queue_worker *worker = context;
    (void)pthread_mutex_lock(&worker->plan);
    int64_t n =
        worker->planner == NULL ? 0 : sl_planner_reclaim(worker->planner, uid, node, visit, to);
    (void)pthread_mutex_unlock(&worker->plan);
    return n;
}

/* ---- one row ---- */

int sl_queue_row_of(void *context, struct sl_str uid, struct sl_queue_list *out,
                    struct sl_error *err)
{
    struct sl_queue_worker *worker = context;
    struct sl_queue_row row;
    await_plan(worker);
    (void)pthread_mutex_lock(&worker->plan);
    int result = sl_queue_list_init(out, 1, err);
    out->now_us = sl_queue_now(worker, sl_clock_monotonic_ns());
    if (result == 0) {
        result = plan_ready(worker, out->now_us, err);
    }
    if (result == 0 && sl_planner_row(worker->planner, uid, out->now_us, &row)) {
        const struct sl_queue_entry *entry = sl_map_get(&worker->entries, uid.s, uid.len);
        result = sl_queue_list_add(out, &row, err);
        out->total = 1;
        if (result == 0 && entry != NULL) {
            result = sl_queue_list_tried(out, entry->tried, entry->n_tried, err);
        }
    }
    (void)pthread_mutex_unlock(&worker->plan);
    return result;
}

/* ---- a pod that is not there ---- */

/* A copy's question, and its answer in a form that leads nowhere into the copy's memory. */
struct question {
    struct sl_queue_worker *worker;
    struct sl_pod *pod;
    size_t max_nominations;
    int64_t now_us;
};

struct answer {
    int result;
    struct sl_error err;
    struct sl_plan_what_if what_if; /* its row's texts are those that follow, if it has them */
    char node[SL_PLAN_TEXT_MAX];
    char assignment[SL_ASSIGNMENT_TEXT_MAX];
    char why[SL_PLAN_TEXT_MAX];
    char tenant[SL_TENANT_NAME_MAX];
};
_Static_assert(sizeof(struct answer) <= SL_COPY_MAX, "an answer fits into a pipe");

/* In the copy. */
static void answer_work(void *context, void *out)
{
    const struct question *question = context;
    const struct sl_queue_worker *worker = question->worker;
    struct answer *answer = out;
    struct sl_plan_what_if *what_if = &answer->what_if;
    answer->result =
        sl_planner_what_if(worker->planner, question->pod, &worker->snapshot->demand,
                           question->max_nominations, question->now_us, what_if, &answer->err);
    text_copy(answer->node, sizeof(answer->node), what_if->row.node);
    text_copy(answer->assignment, sizeof(answer->assignment), what_if->row.assignment);
    text_copy(answer->why, sizeof(answer->why), what_if->row.why);
    text_copy(answer->tenant, sizeof(answer->tenant), what_if->row.tenant);
    what_if->row.first = NULL; /* may be gone by now, as this may: */
    what_if->row.cut_node = NULL;
}

/* Begins the copy, with which the plan goes on. */
static int copy_begin(struct question *question, struct sl_copy *copy, struct answer *answer,
                      struct sl_error *err)
{
    struct sl_queue_worker *worker = question->worker;
    int result = -1;
    (void)pthread_mutex_lock(&worker->plan);
    if (worker->planner == NULL || worker->snapshot == NULL) {
        (void)sl_error_set(err, SL_ERR_CONFLICT, "no plan is made here");
    } else {
        question->now_us = sl_queue_now(worker, sl_clock_monotonic_ns());
        question->max_nominations = sl_engine_room(worker->engine, question->now_us);
        result = sl_copy_begin(copy, answer_work, question, answer, sizeof(*answer), err);
    }
    (void)pthread_mutex_unlock(&worker->plan);
    return result;
}

static int suppose_pod(struct sl_queue_worker *worker, struct sl_pod *pod,
                       struct sl_queue_what_if *out, struct sl_error *err)
{
    struct question question = {.worker = worker, .pod = pod};
    struct answer answer = {.result = -1};
    struct sl_copy copy;
    struct sl_queue_row *row = &answer.what_if.row;
    if (copy_begin(&question, &copy, &answer, err) < 0) {
        return -1;
    }
    int result = sl_copy_end(&copy, &answer, sizeof(answer), suppose_limit_us, err);
    out->spent_us = copy.spent_us;
    if (result < 0) {
        return -1;
    }
    if (answer.result < 0) {
        *err = answer.err;
        return -1;
    }
    row->node = sl_text_or_null(answer.node);
    row->assignment = sl_text_or_null(answer.assignment);
    row->why = sl_text_or_null(answer.why);
    row->tenant = sl_text_or_null(answer.tenant);
    out->position = answer.what_if.position;
    out->delayed = answer.what_if.delayed;
    out->list.now_us = question.now_us;
    return sl_queue_list_add(&out->list, row, err);
}

int sl_queue_what_if(void *context, struct sl_pod *pod, struct sl_queue_what_if *out,
                     struct sl_error *err)
{
    struct sl_queue_worker *worker = context;
    *out = (struct sl_queue_what_if){.position = 0};
    await_plan(worker);
    if (sl_queue_list_init(&out->list, 1, err) < 0) {
        return -1;
    }
    return suppose_pod(worker, pod, out, err);
}

/* ---- the state of one pod ---- */

/* Said while a plan is being made, or before the first. */
static const char *short_text(enum sl_queue_state state, bool known)
{
    static const char *const texts[SL_QUEUE_STATES] = {
        [SL_QUEUE_HELD] = "held: others are ahead of it",
        [SL_QUEUE_NOMINATED] = "its turn has come",
        [SL_QUEUE_RELEASED] = "released to be tried",
        [SL_QUEUE_STAGED] = "held: it waits for others to succeed",
        [SL_QUEUE_GATED] = "held: other scheduling gates are shut",
        [SL_QUEUE_REFUSED] = "refused",
    };
    return known ? texts[state] : "held: the queue has not seen it yet";
}

static void put_short(struct sl_queue_status *out)
{
    const char *text = short_text(out->state, out->known);
    size_t len = strlen(text);
    memcpy(out->text, text, len + 1);
}

void sl_queue_status_of(void *context, struct sl_str uid, struct sl_queue_status *out)
{
    struct sl_queue_worker *worker = context;
    struct sl_queue_row row;
    *out = (struct sl_queue_status){.state = SL_QUEUE_HELD};
    (void)pthread_mutex_lock(&worker->status);
    const struct sl_queue_entry *entry = sl_map_get(&worker->entries, uid.s, uid.len);
    out->known = entry != NULL;
    out->state = entry != NULL ? entry->state : SL_QUEUE_HELD;
    (void)pthread_mutex_unlock(&worker->status);
    put_short(out);
    if (!out->known || pthread_mutex_trylock(&worker->plan) != 0) {
        return;
    }
    int64_t now_us = sl_queue_now(worker, sl_clock_monotonic_ns());
    if (worker->planner != NULL && sl_planner_row(worker->planner, uid, now_us, &row) &&
        (row.state == out->state || !sl_queue_may_go(out))) {
        (void)sl_queue_text(&row, now_us, out->text, sizeof(out->text));
        out->state = sl_queue_may_go(out) || row.state == SL_QUEUE_NOMINATED ||
                             row.state == SL_QUEUE_RELEASED
                         ? out->state
                         : row.state;
    }
    (void)pthread_mutex_unlock(&worker->plan);
}
