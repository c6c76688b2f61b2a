/* A lane that counts units against its specification, worked out anew for each answer from all that
 * has happened: W by the virtual FIFO, what it allows, and the layout that decides who may go.
 * Numbers are the same in every run. */
#include <string.h>

#include "core/forecast/learn.h"
#include "core/forecast/supply.h"
#include "sliced/promise.h"
#include "unit/test.h"

enum { PODS = 280, UNITS = 6, PRIORITIES = 3, C = 1150, RECENT = 256 };

/* The clock may stand anywhere. */
#define BEGIN_US (-INT64_C(1000000))

/* A pod, and its place in history: the index is the order in which the lane heard of it. */
struct job {
    struct sl_promise_pod pod;
    int64_t heard_us;
    int64_t run_us; /* once it has ended; -1 */
    int64_t started_us;
    int64_t ends_us; /* when it will really end */
    bool adopted;
    bool withdrawn;
    enum { ABSENT, WAITS, RUNS, OVER } is;
    bool placed;     /* in the FIFO that is being played */
    int64_t base_us; /* its start in the layout where no pod overtakes */
};

struct lane {
    struct sl_promise *promise;
    struct sl_learn learn;
    struct job job[PODS];
    size_t n;
    int64_t units;
    int64_t now_us;
    int64_t widths;               /* 1..widths */
    int64_t pace_us;              /* between events, at most */
    int64_t observed[PRIORITIES]; /* W that others have seen */
    int64_t longest[PRIORITIES];  /* W */
    int64_t fifo_us[UNITS];       /* when each unit is free after all pods of the FIFO, sorted */
    int64_t fifo_last_us;         /* its last start */
    int64_t estimates_us;         /* sum over recent arrivals, as estimated then */
    int64_t arrivals;
    uint64_t random;
};

static int64_t draw(struct lane *lane, int64_t n)
{
    lane->random = lane->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((lane->random >> 33) % (uint64_t)n);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void sort_times(int64_t *us, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        for (int64_t k = i; k > 0 && us[k - 1] > us[k]; k--) {
            const int64_t swap = us[k];
            us[k] = us[k - 1];
            us[k - 1] = swap;
        }
    }
}

/* Gives away, until then, the units that are free first. */
static void give(const struct lane *lane, int64_t *us, int64_t width, int64_t until_us)
{
    for (int64_t i = 0; i < width; i++) {
        us[i] = until_us;
    }
    sort_times(us, lane->units);
}

/* Starts a pod once it has its units. Returns when that is. */
static int64_t begin(const struct lane *lane, int64_t *us, int64_t width, int64_t from_us,
                     int64_t run_us)
{
    const int64_t at_us = most(from_us, us[width - 1]);
    give(lane, us, width, at_us + run_us);
    return at_us;
}

static bool goes_before(const struct sl_promise_pod *a, const struct sl_promise_pod *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority;
    }
    return a->submit_us != b->submit_us ? a->submit_us < b->submit_us : a->id < b->id;
}

static int64_t estimate_of(const struct lane *lane, const struct job *job)
{
    return sl_learn_estimate(&lane->learn, job->pod.timeout_us);
}

/* ---- the virtual FIFO ---- */

static bool is_in_fifo(const struct lane *lane, const struct job *job)
{
    return !job->withdrawn && (job->adopted || job->pod.width <= lane->units);
}

/* The next to start among those who have come by then, or who come first. */
static struct job *next_in_fifo(struct lane *lane, int64_t by_us)
{
    struct job *next = NULL;
    int64_t first_us = INT64_MAX;
    for (size_t i = 0; i < lane->n; i++) {
        const struct job *job = &lane->job[i];
        const bool open = is_in_fifo(lane, job) && !job->placed;
        first_us = open ? least(first_us, job->heard_us) : first_us;
    }
    for (size_t i = 0; i < lane->n; i++) {
        struct job *job = &lane->job[i];
        if (!is_in_fifo(lane, job) || job->placed || job->heard_us > most(by_us, first_us)) {
            continue;
        }
        const bool sooner = next != NULL && job->adopted != next->adopted;
        if (next == NULL || (sooner ? job->adopted : goes_before(&job->pod, &next->pod))) {
            next = job;
        }
    }
    return next;
}

static int64_t unstretched(int64_t wait_us)
{
    return (int64_t)((sl_work)wait_us * 1000 / C);
}

static void play_fifo(struct lane *lane)
{
    for (size_t u = 0; u < UNITS; u++) {
        lane->fifo_us[u] = BEGIN_US;
    }
    memcpy(lane->longest, lane->observed, sizeof(lane->longest));
    lane->fifo_last_us = BEGIN_US;
    for (size_t i = 0; i < lane->n; i++) {
        lane->job[i].placed = false;
    }
    int64_t by_us = lane->fifo_us[0];
    for (struct job *job = next_in_fifo(lane, by_us); job != NULL;
         job = next_in_fifo(lane, by_us)) {
        const int64_t run_us = job->run_us >= 0 ? job->run_us : estimate_of(lane, job);
        int64_t at_us = job->heard_us;
        if (job->adopted) { /* it runs, whatever the FIFO thinks of that */
            give(lane, lane->fifo_us, job->pod.width, at_us + run_us);
        } else {
            at_us =
                begin(lane, lane->fifo_us, job->pod.width, most(at_us, lane->fifo_last_us), run_us);
            lane->fifo_last_us = at_us;
        }
        const int64_t before_us = most(0, job->heard_us - job->pod.submit_us);
        int64_t *longest_us = &lane->longest[job->pod.priority];
        *longest_us = most(*longest_us, unstretched(before_us) + at_us - job->heard_us);
        job->placed = true;
        by_us = most(lane->fifo_last_us, lane->fifo_us[0]);
    }
}

/* ---- how late a pod may start ---- */

struct allowance {
    int64_t wait_us;
    int64_t lag_us;
    int64_t slip_us;
};

static int64_t part(int64_t us, int64_t permille)
{
    return us / 1000 * permille + us % 1000 * permille / 1000;
}

static struct allowance allowance_of(const struct lane *lane, int32_t priority)
{
    const int64_t w_us = lane->longest[priority];
    const int64_t mean_us = lane->arrivals == 0 ? 0 : lane->estimates_us / lane->arrivals;
    const int64_t full_us = mean_us / 2 * 6; /* W of which all of c counts */
    const int64_t error_us = sl_learn_error_us(&lane->learn);
    const int64_t unsure_us = least(26 * error_us, 3 * w_us);
    const int64_t discount = least(350, sl_learn_error_permille(&lane->learn) * 900 / 1000);
    int64_t beyond_us = part(w_us, C - 1000);
    if (w_us < full_us) {
        beyond_us = part(beyond_us, w_us / (full_us / 1000 + 1));
    }
    return (struct allowance){
        .wait_us = part(w_us + beyond_us, 1000 - discount) + unsure_us,
        .lag_us = beyond_us + unsure_us + (w_us <= mean_us / 2 * 2 ? 0 : w_us / 2),
        .slip_us = part(error_us, 400),
    };
}

/* ---- the layout ---- */

static int64_t units_running(const struct lane *lane)
{
    int64_t units = 0;
    for (size_t i = 0; i < lane->n; i++) {
        units += lane->job[i].is == RUNS ? lane->job[i].pod.width : 0;
    }
    return units;
}

/* When each unit is free of the pods that run. */
static void free_units(const struct lane *lane, int64_t us[UNITS])
{
    int64_t n = 0;
    for (size_t i = 0; i < lane->n; i++) {
        const struct job *job = &lane->job[i];
        for (int64_t u = 0; job->is == RUNS && u < job->pod.width; u++) {
            us[n++] = lane->now_us + sl_learn_rest(&lane->learn, job->pod.timeout_us,
                                                   lane->now_us - job->started_us);
        }
    }
    while (n < lane->units) {
        us[n++] = lane->now_us;
    }
    sort_times(us, n);
}

/* The waiting pod that goes next behind that one; NULL: the first. */
static struct job *next_waiting(struct lane *lane, const struct job *behind)
{
    struct job *next = NULL;
    for (size_t i = 0; i < lane->n; i++) {
        struct job *job = &lane->job[i];
        if (job->is == WAITS && job->pod.width <= lane->units &&
            (behind == NULL || goes_before(&behind->pod, &job->pod)) &&
            (next == NULL || goes_before(&job->pod, &next->pod))) {
            next = job;
        }
    }
    return next;
}

/* Lays out all without a pod in front. Returns the last start. */
static int64_t lay_base(struct lane *lane, int64_t us[UNITS])
{
    int64_t last_us = lane->now_us;
    free_units(lane, us);
    for (struct job *job = next_waiting(lane, NULL); job != NULL; job = next_waiting(lane, job)) {
        last_us = begin(lane, us, job->pod.width, last_us, estimate_of(lane, job));
        job->base_us = last_us;
    }
    return last_us;
}

enum answer { NO, YES, EITHER };

/* May the pod go ahead of all others? That the last start is late matters only while a wide pod
 * waits: the lane may not have noticed yet that none does. */
static enum answer judge(struct lane *lane, const struct job *first)
{
    const struct allowance allowed = allowance_of(lane, first->pod.priority);
    int64_t base_us[UNITS];
    int64_t us[UNITS];
    const int64_t base_last_us = lay_base(lane, base_us);
    free_units(lane, us);
    give(lane, us, first->pod.width, lane->now_us + estimate_of(lane, first));
    int64_t last_us = lane->now_us;
    bool wide = first->pod.width > 1;
    for (struct job *job = next_waiting(lane, NULL); job != NULL; job = next_waiting(lane, job)) {
        wide = wide || job->pod.width > 1;
        if (job == first) {
            continue;
        }
        last_us = begin(lane, us, job->pod.width, last_us, estimate_of(lane, job));
        const bool higher = job->pod.priority > first->pod.priority;
        const bool equal = job->pod.priority == first->pod.priority;
        const bool in_time = last_us <= job->pod.submit_us + allowed.wait_us;
        const bool as_without = last_us <= job->base_us + allowed.slip_us;
        if ((higher && last_us > job->base_us) || (equal && !in_time && !as_without)) {
            return NO;
        }
    }
    for (int64_t u = 0; u < lane->units; u++) {
        if (us[u] > most(lane->fifo_us[u], lane->now_us) + allowed.lag_us &&
            us[u] > base_us[u] + allowed.slip_us) {
            return NO;
        }
    }
    const bool late = last_us > most(lane->fifo_last_us, lane->now_us) + allowed.lag_us &&
                      last_us > base_last_us + allowed.slip_us;
    return !late || lane->widths == 1 ? YES : wide ? NO : EITHER;
}

/* Do the pod and all before it have room now? */
static bool overtakes_none(struct lane *lane, const struct job *asked)
{
    int64_t units = units_running(lane) + asked->pod.width;
    for (struct job *job = next_waiting(lane, NULL); job != asked; job = next_waiting(lane, job)) {
        units += job->pod.width;
    }
    return units <= lane->units;
}

/* ---- the answers ---- */

/* The schedule is not played again while a pod outlives its estimate: W lags behind then. */
static bool is_settled(const struct lane *lane)
{
    for (size_t i = 0; i < lane->n; i++) {
        const struct job *job = &lane->job[i];
        if (job->is == RUNS && lane->now_us - job->started_us >= estimate_of(lane, job)) {
            return false;
        }
    }
    return true;
}

/* When a running pod reaches its timeout, or the time by which it was expected after that. */
static int64_t next_due(const struct lane *lane)
{
    int64_t due_us = INT64_MAX;
    for (size_t i = 0; i < lane->n; i++) {
        const struct job *job = &lane->job[i];
        const int64_t out_us = job->started_us + job->pod.timeout_us;
        const int64_t over_us = sl_learn_overdue(lane->now_us - out_us);
        if (job->is == RUNS) {
            due_us = least(due_us, out_us < lane->now_us ? lane->now_us + over_us : out_us);
        }
    }
    return due_us;
}

static void check_admission(struct lane *lane, const struct job *job)
{
    const bool admitted = sl_promise_admits(lane->promise, job->pod.id, lane->now_us);
    const struct job *due = next_waiting(lane, NULL);
    if (job->pod.width > lane->units) {
        assert_false(admitted);
    } else if (job == due || overtakes_none(lane, job)) {
        assert_true(admitted);
    } else {
        const enum answer answer = judge(lane, job);
        assert_int_equal(sl_promise_due_us(lane->promise), next_due(lane));
        if (answer != EITHER) {
            assert_int_equal(admitted, answer);
        }
    }
}

static void check(struct lane *lane)
{
    uint64_t due = 0;
    const struct job *first = next_waiting(lane, NULL);
    assert_int_equal(sl_promise_due(lane->promise, &due), first != NULL);
    assert_int_equal(due, first == NULL ? 0 : first->pod.id);
    assert_int_equal(sl_promise_ratio_permille(lane->promise),
                     1000 - ((lane->learn.all.share * 1000) >> SL_LEARN_SHIFT));
    if (!is_settled(lane)) {
        return;
    }
    play_fifo(lane);
    for (int32_t p = 0; p < PRIORITIES; p++) {
        assert_int_equal(sl_promise_longest_us(lane->promise, p, lane->now_us), lane->longest[p]);
    }
    for (size_t i = 0; i < lane->n; i++) {
        const struct job *job = &lane->job[i];
        if (job->is == WAITS) {
            assert_int_equal(sl_promise_latest_start(lane->promise, job->pod.id, lane->now_us),
                             job->pod.submit_us + allowance_of(lane, job->pod.priority).wait_us);
            check_admission(lane, job);
        }
    }
}

/* ---- what happens ---- */

static struct job *hear_of(struct lane *lane)
{
    struct job *job = &lane->job[lane->n++];
    *job = (struct job){
        .pod = {.id = lane->n,
                .width = 1 + draw(lane, lane->widths),
                .submit_us = lane->now_us - (draw(lane, 4) == 0 ? draw(lane, 100000) : 0),
                .timeout_us = 1000 + draw(lane, draw(lane, 2) == 0 ? 50000 : 300000),
                .priority = draw(lane, 6) == 0 ? 1 + (int32_t)draw(lane, 2) : 0},
        .heard_us = lane->now_us,
        .run_us = -1,
        .is = WAITS,
    };
    return job;
}

static void arrive(struct lane *lane, bool early)
{
    struct job *job = hear_of(lane);
    job->pod.width += early && draw(lane, 30) == 0 ? UNITS : 0; /* more than the lane has */
    if (lane->arrivals == RECENT) {                             /* older ones count half */
        lane->estimates_us /= 2;
        lane->arrivals /= 2;
    }
    lane->estimates_us += estimate_of(lane, job);
    lane->arrivals++;
    assert_int_equal(sl_promise_arrive(lane->promise, &job->pod, lane->now_us, NULL), 0);
}

/* Only while no pod waits in the FIFO: behind those that do, it is played anew later. */
static bool may_adopt(struct lane *lane)
{
    play_fifo(lane);
    return units_running(lane) < lane->units && lane->fifo_last_us <= lane->now_us;
}

static void adopt(struct lane *lane)
{
    struct job *job = hear_of(lane);
    const int64_t wait_us = draw(lane, 400000);
    job->pod.width = 1;
    job->started_us = lane->now_us;
    job->pod.submit_us = lane->now_us - wait_us;
    job->ends_us = job->started_us + job->pod.timeout_us;
    job->adopted = true;
    job->is = RUNS;
    int64_t *observed_us = &lane->observed[job->pod.priority];
    *observed_us = most(*observed_us, unstretched(wait_us));
    assert_int_equal(
        sl_promise_adopt(lane->promise, &job->pod, job->started_us, lane->now_us, NULL), 0);
}

static void start(struct lane *lane, struct job *job, bool early)
{
    const int64_t timeout_us = job->pod.timeout_us;
    job->is = RUNS;
    job->started_us = lane->now_us;
    job->ends_us =
        lane->now_us + (early ? timeout_us / 4 + draw(lane, timeout_us / 2) : timeout_us);
    assert_int_equal(sl_promise_start(lane->promise, job->pod.id, lane->now_us, NULL), 0);
}

static void try_to_start(struct lane *lane, struct job *job, bool early)
{
    if (job->pod.width + units_running(lane) <= lane->units &&
        sl_promise_admits(lane->promise, job->pod.id, lane->now_us)) {
        start(lane, job, early);
    }
}

static void happen(struct lane *lane, struct job *job, bool early)
{
    if (job->is == WAITS && early && draw(lane, 12) == 0) {
        job->is = OVER;
        job->withdrawn = true;
        assert_int_equal(sl_promise_withdraw(lane->promise, job->pod.id, lane->now_us, NULL), 0);
    } else if (job->is == WAITS) {
        try_to_start(lane, job, early);
    } else if (job->is == RUNS && !job->adopted && draw(lane, 10) == 0) {
        job->is = WAITS;
        assert_int_equal(sl_promise_unstart(lane->promise, job->pod.id, lane->now_us, NULL), 0);
    }
}

/* One that is not over, or any when all are. */
static struct job *some_job(struct lane *lane)
{
    size_t at = (size_t)draw(lane, (int64_t)lane->n + 1);
    for (size_t tries = 0; lane->job[at].is == OVER && tries < lane->n; tries++) {
        at = (at + 1) % lane->n;
    }
    return &lane->job[at];
}

/* Time passes, until the next end at most. */
static void pass_time(struct lane *lane)
{
    int64_t to_us = lane->now_us + 1 + draw(lane, lane->pace_us);
    for (size_t i = 0; i < lane->n; i++) {
        to_us = lane->job[i].is == RUNS ? least(to_us, lane->job[i].ends_us) : to_us;
    }
    lane->now_us = to_us;
    for (size_t i = 0; i < lane->n; i++) {
        struct job *job = &lane->job[i];
        if (job->is == RUNS && job->ends_us == to_us) {
            job->is = OVER;
            job->run_us = to_us - job->started_us;
            sl_learn_ended(&lane->learn, job->pod.timeout_us, job->run_us);
            assert_int_equal(sl_promise_end(lane->promise, job->pod.id, to_us, NULL), 0);
        }
    }
}

static struct lane *lane_of(uint64_t seed)
{
    static struct lane lane;
    struct sl_promise_config config;
    sl_promise_defaults(&config);
    assert_int_equal(config.c_permille, C);
    lane = (struct lane){
        .promise = sl_promise_new(&config), .now_us = BEGIN_US, .random = seed * 7919};
    assert_non_null(lane.promise);
    lane.units = 1 + draw(&lane, UNITS);
    lane.widths = 1 + draw(&lane, lane.units);
    lane.pace_us = INT64_C(10000) << draw(&lane, 4);
    assert_int_equal(sl_promise_set_capacity(lane.promise, lane.units, BEGIN_US, NULL), 0);
    const int64_t known_us =
        draw(&lane, 3) == 0 ? 0 : draw(&lane, INT64_C(300000) << 2 * draw(&lane, 3));
    lane.observed[0] = unstretched(known_us);
    sl_promise_observe(lane.promise, 0, known_us);
    return &lane;
}

static void play(uint64_t seed, size_t pods, bool early)
{
    struct lane *lane = lane_of(seed);
    const uint32_t waiting = 2 + (uint32_t)draw(lane, 11);
    while (lane->n < pods) {
        pass_time(lane);
        if (draw(lane, 3) == 0 && sl_promise_waiting(lane->promise) < waiting) {
            arrive(lane, early);
        } else if (early && draw(lane, 30) == 0 && may_adopt(lane)) {
            adopt(lane);
        } else {
            happen(lane, some_job(lane), early);
        }
        if (early || draw(lane, 10) == 0) {
            check(lane);
        }
    }
    sl_promise_free(lane->promise);
}

/* Some pods have started, in any order, and others have just come: who may go next? */
static void look_once(uint64_t seed)
{
    struct lane *lane = lane_of(seed);
    for (int64_t n = 2 + draw(lane, 8); n > 0; n--) {
        lane->now_us += 1 + draw(lane, 1000);
        arrive(lane, false);
    }
    for (int64_t n = 1 + draw(lane, 6); n > 0; n--) {
        struct job *job = &lane->job[draw(lane, (int64_t)lane->n)];
        if (job->is == WAITS && job->pod.width + units_running(lane) <= lane->units) {
            start(lane, job, false);
        }
    }
    lane->now_us += 1 + draw(lane, 1000);
    check(lane);
    sl_promise_free(lane->promise);
}

TEST_THAT(answers_in_a_fresh_lane_are_those_of_the_specification)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        look_once(seed);
    }
}

TEST_THAT(answers_are_those_of_the_specification)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        play(seed, 50, true);
    }
}

TEST_THAT(answers_stay_those_of_the_specification_for_long)
{
    play(1, PODS, false);
}
