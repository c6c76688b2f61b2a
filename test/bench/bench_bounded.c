/* The orders of the queue against each other: how long pods wait, and the longest, over random
 * workloads of one pod per GPU. And the time one question to the bounded order takes. */
#include "bench.h"
#include "core/order/order.h"
#include "sliced/promise.h"
#include "unit/core/plan/plan_defaults.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS_MAX = 1000, GPUS_MAX = 9, SEEDS_MAX = 10000, WAITING = 10000 };

static const struct setting {
    const char *name;
    double gap_s; /* mean time between two submissions */
    size_t tasks;
    size_t gpus;
} settings[] = {
    {"1,000 tasks, 9 GPUs, load 0.96", 214.976 / (9 * 0.96), 1000, 9},
    {"100 tasks, 2 GPUs (overload)", 25, 100, 2},
    {"1,000 tasks, 2 GPUs (overload)", 25, 1000, 2},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

static const struct policy {
    const char *name;
    enum sl_order_kind kind;
    int32_t c_permille;
} policies[] = {
    {"fifo", SL_ORDER_FIFO, 0},
    {"sjf", SL_ORDER_SJF, 0},
    {"p", SL_ORDER_P, 0},
    {"hrrn", SL_ORDER_HRRN, 0},
    {"bounded", SL_ORDER_BOUNDED, SL_PROMISE_C_DEFAULT},
    {"bounded 1.0", SL_ORDER_BOUNDED, 1000}, /* from here on the curve over c */
    {"bounded 1.05", SL_ORDER_BOUNDED, 1050},
    {"bounded 1.1", SL_ORDER_BOUNDED, 1100},
    {"bounded 1.2", SL_ORDER_BOUNDED, 1200},
    {"bounded 1.3", SL_ORDER_BOUNDED, 1300},
    {"bounded 1.5", SL_ORDER_BOUNDED, 1500},
    {"bounded 2.0", SL_ORDER_BOUNDED, 2000},
    {"bounded 3.0", SL_ORDER_BOUNDED, 3000},
};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]), CURVE = 5, FIFO = 0, SJF = 1 };

struct task {
    struct sl_order_item item;
    int64_t run_us;
    char uid[24];
};

struct result {
    double mean_s; /* wait from submission to start: the paper's response time */
    double longest_s;
};

/* SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static double next_uniform(uint64_t *state)
{
    return (double)(next_random(state) >> 11) / 9007199254740992.0;
}

static void make_tasks(struct task *tasks, const struct setting *setting, uint64_t seed,
                       bool overstated)
{
    uint64_t state = seed * UINT64_C(0xD1342543DE82EF95) + 1;
    double at_s = 0;
    for (size_t i = 0; i < setting->tasks; i++) {
        at_s -= setting->gap_s * log(1 - next_uniform(&state));
        const double run_s = pow(10, 1 + 2 * next_uniform(&state));
        const double factor = overstated ? 1 + 4 * next_uniform(&state) : 1;
        struct task *task = &tasks[i];
        (void)snprintf(task->uid, sizeof(task->uid), "%06zu", i);
        task->run_us = (int64_t)(run_s * 1e6);
        task->item = (struct sl_order_item){.timeout_us = (int64_t)((double)task->run_us * factor),
                                            .submit_us = (int64_t)(at_s * 1e6),
                                            .uid = sl_str_of(task->uid)};
    }
}

struct play {
    const struct setting *setting;
    const struct task *tasks;
    struct sl_order_config order;
    struct sl_promise *promise; /* of the bounded order */
    size_t waiting[TASKS_MAX];
    size_t n_waiting;
    size_t running[GPUS_MAX];
    int64_t end_us[GPUS_MAX];
    size_t n_running;
    int64_t now_us;
};

static void check(int rc, const struct sl_error *err)
{
    if (rc != 0) {
        bench_die("bounded: %s", err->message);
    }
}

static void submit(struct play *play, size_t index)
{
    const struct sl_order_item *item = &play->tasks[index].item;
    size_t i = play->n_waiting++;
    while (i > 0 &&
           sl_order_compare(&play->order, item, &play->tasks[play->waiting[i - 1]].item, 0) < 0) {
        play->waiting[i] = play->waiting[i - 1];
        i--;
    }
    play->waiting[i] = index;
    if (play->promise != NULL) {
        struct sl_error err;
        const struct sl_promise_pod pod = {
            .id = index, .width = 1, .submit_us = item->submit_us, .timeout_us = item->timeout_us};
        check(sl_promise_arrive(play->promise, &pod, play->now_us, &err), &err);
    }
}

/* The place in the list of the pod that goes next. */
static size_t choose(struct play *play)
{
    if (sl_order_is_static(play->order.kind) && play->promise == NULL) {
        return 0;
    }
    size_t best = 0;
    for (size_t i = 0; i < play->n_waiting; i++) {
        if (play->promise != NULL) {
            if (sl_promise_admits(play->promise, play->waiting[i], play->now_us)) {
                return i;
            }
        } else if (sl_order_compare(&play->order, &play->tasks[play->waiting[i]].item,
                                    &play->tasks[play->waiting[best]].item, play->now_us) < 0) {
            best = i;
        }
    }
    if (play->promise != NULL) {
        bench_die("bounded: nobody may go though a GPU is free");
    }
    return best;
}

static void start(struct play *play, size_t place, struct result *result)
{
    const size_t index = play->waiting[place];
    const struct task *task = &play->tasks[index];
    const double wait_s = (double)(play->now_us - task->item.submit_us) / 1e6;
    play->n_waiting--;
    memmove(&play->waiting[place], &play->waiting[place + 1],
            (play->n_waiting - place) * sizeof(play->waiting[0]));
    play->running[play->n_running] = index;
    play->end_us[play->n_running++] = play->now_us + task->run_us;
    result->mean_s += wait_s / (double)play->setting->tasks;
    result->longest_s = fmax(result->longest_s, wait_s);
    if (play->promise != NULL) {
        struct sl_error err;
        check(sl_promise_start(play->promise, index, play->now_us, &err), &err);
    }
}

static void end_due(struct play *play)
{
    for (size_t i = 0; i < play->n_running;) {
        if (play->end_us[i] > play->now_us) {
            i++;
            continue;
        }
        if (play->promise != NULL) {
            struct sl_error err;
            check(sl_promise_end(play->promise, play->running[i], play->now_us, &err), &err);
        }
        play->n_running--;
        play->running[i] = play->running[play->n_running];
        play->end_us[i] = play->end_us[play->n_running];
    }
}

static struct result simulate(const struct setting *setting, const struct task *tasks,
                              const struct policy *policy)
{
    static struct play play;
    struct result result = {0, 0};
    struct sl_error err;
    play = (struct play){.setting = setting, .tasks = tasks};
    play.order = order_defaults;
    play.order.kind = policy->kind;
    if (policy->kind == SL_ORDER_BOUNDED) {
        struct sl_promise_config config;
        sl_promise_defaults(&config);
        config.c_permille = policy->c_permille;
        play.promise = sl_promise_new(&config);
        if (play.promise == NULL) {
            bench_die("out of memory");
        }
        check(sl_promise_set_capacity(play.promise, (int64_t)setting->gpus, 0, &err), &err);
    }
    size_t next = 0;
    while (next < setting->tasks || play.n_waiting + play.n_running > 0) {
        int64_t now_us = next < setting->tasks ? tasks[next].item.submit_us : INT64_MAX;
        for (size_t i = 0; i < play.n_running; i++) {
            now_us = play.end_us[i] < now_us ? play.end_us[i] : now_us;
        }
        play.now_us = now_us;
        end_due(&play);
        while (next < setting->tasks && tasks[next].item.submit_us <= now_us) {
            submit(&play, next++);
        }
        while (play.n_running < setting->gpus && play.n_waiting > 0) {
            start(&play, choose(&play), &result);
        }
    }
    sl_promise_free(play.promise);
    return result;
}

static void print_row(const char *name, double *mean, double *longest, size_t n)
{
    (void)printf("  %-12s %7.3f (%.3f-%.3f)   %7.3f (%.3f-%.3f, at most %.4f)\n", name,
                 bench_quantile(mean, n, 0.5), bench_quantile(mean, n, 0.05),
                 bench_quantile(mean, n, 0.95), bench_quantile(longest, n, 0.5),
                 bench_quantile(longest, n, 0.05), bench_quantile(longest, n, 0.95),
                 bench_quantile(longest, n, 1));
}

static void compare(const struct setting *setting, bool overstated, size_t seeds, size_t n_policies)
{
    static struct task tasks[TASKS_MAX];
    static double mean[POLICIES][SEEDS_MAX];
    static double longest[POLICIES][SEEDS_MAX];
    for (size_t s = 0; s < seeds; s++) {
        struct result result[POLICIES];
        make_tasks(tasks, setting, s + 1, overstated);
        for (size_t p = 0; p < n_policies; p++) {
            result[p] = simulate(setting, tasks, &policies[p]);
        }
        for (size_t p = 0; p < n_policies; p++) {
            mean[p][s] = result[p].mean_s / result[SJF].mean_s;
            longest[p][s] = result[p].longest_s / result[FIFO].longest_s;
        }
    }
    (void)printf("\n%s; timeouts %s; %zu seeds\n", setting->name,
                 overstated ? "1 to 5 times the run times" : "exact", seeds);
    (void)printf("  %-12s mean wait / sjf's          longest wait / fifo's\n", "");
    (void)printf("  %-12s median  (p5-p95)           median  (p5-p95)\n", "");
    for (size_t p = 0; p < n_policies; p++) {
        print_row(policies[p].name, mean[p], longest[p], seeds);
    }
    (void)fflush(stdout);
}

/* A lane with 10,000 waiting pods, and gpus running ones. */
struct crowd {
    struct sl_promise *promise;
    uint64_t *running; /* ids, the next to end first */
    uint64_t state;
    uint64_t next_id;
    int64_t now_us;
};

static uint64_t add_pod(struct crowd *crowd)
{
    struct sl_error err;
    const double run_s = pow(10, 1 + 2 * next_uniform(&crowd->state));
    const struct sl_promise_pod pod = {.id = crowd->next_id++,
                                       .width = 1,
                                       .submit_us = crowd->now_us,
                                       .timeout_us = (int64_t)(run_s * 1e6)};
    check(sl_promise_arrive(crowd->promise, &pod, crowd->now_us, &err), &err);
    return pod.id;
}

static void fill(struct crowd *crowd, size_t gpus)
{
    struct sl_error err;
    for (size_t i = 0; i < gpus; i++) {
        crowd->running[i] = add_pod(crowd);
        check(sl_promise_start(crowd->promise, crowd->running[i], crowd->now_us, &err), &err);
    }
    for (size_t i = 0; i < WAITING; i++) {
        crowd->now_us += 1000;
        (void)add_pod(crowd);
    }
}

static void time_questions(size_t gpus)
{
    enum { EVENTS = 200, ASKED = 50 };
    static double event_us[EVENTS];
    static double question_ns[EVENTS];
    struct sl_error err;
    struct sl_promise_config config;
    struct crowd crowd = {.state = 1, .running = calloc(gpus, sizeof(uint64_t))};
    size_t admitted = 0;
    sl_promise_defaults(&config);
    crowd.promise = sl_promise_new(&config);
    if (crowd.promise == NULL || crowd.running == NULL) {
        bench_die("out of memory");
    }
    check(sl_promise_set_capacity(crowd.promise, (int64_t)gpus, 0, &err), &err);
    const uint64_t begun = bench_now_ns();
    fill(&crowd, gpus);
    const double arrival_us = (double)(bench_now_ns() - begun) / 1000 / (double)(gpus + WAITING);
    for (size_t e = 0; e < EVENTS; e++) {
        uint64_t next = 0;
        crowd.now_us += 1000000;
        const uint64_t end_ns = bench_now_ns();
        check(sl_promise_end(crowd.promise, crowd.running[e % gpus], crowd.now_us, &err), &err);
        (void)sl_promise_due(crowd.promise, &next);
        (void)sl_promise_admits(crowd.promise, crowd.next_id - 1, crowd.now_us);
        const uint64_t asked_ns = bench_now_ns();
        for (uint64_t id = crowd.next_id - ASKED; id < crowd.next_id; id++) {
            if (sl_promise_admits(crowd.promise, id, crowd.now_us)) {
                next = id;
                admitted++;
            }
        }
        event_us[e] = (double)(asked_ns - end_ns) / 1000;
        question_ns[e] = (double)(bench_now_ns() - asked_ns) / ASKED;
        check(sl_promise_start(crowd.promise, next, crowd.now_us, &err), &err);
        crowd.running[e % gpus] = next;
        (void)add_pod(&crowd);
    }
    (void)printf(
        "  %5zu GPUs: arrival %.1f us; an end and the first question %.0f us (p95 %.0f); each "
        "further question %.0f ns (p95 %.0f); %.0f %% admitted\n",
        gpus, arrival_us, bench_median(event_us, EVENTS), bench_quantile(event_us, EVENTS, 0.95),
        bench_median(question_ns, EVENTS), bench_quantile(question_ns, EVENTS, 0.95),
        100.0 * (double)admitted / ((double)EVENTS * ASKED));
    sl_promise_free(crowd.promise);
    free(crowd.running);
}

int main(int argc, char **argv)
{
    size_t seeds = 100;
    size_t only = SETTINGS;
    bool curve = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) {
            seeds = (size_t)strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--setting") == 0 && i + 1 < argc) {
            only = (size_t)strtoul(argv[++i], NULL, 10) - 1;
        } else if (strcmp(argv[i], "--curve") == 0) {
            curve = true;
        } else {
            bench_die("usage: bench_bounded [--seeds N] [--setting 1|2|3] [--curve]");
        }
    }
    if (seeds < 1 || seeds > SEEDS_MAX) {
        bench_die("--seeds: 1 to %d", SEEDS_MAX);
    }
    bench_print_environment();
    for (size_t i = 0; i < SETTINGS; i++) {
        if (only >= SETTINGS || only == i) {
            compare(&settings[i], false, seeds, curve ? POLICIES : CURVE);
            compare(&settings[i], true, seeds, curve ? POLICIES : CURVE);
        }
    }
    (void)printf("\nOne question with 10,000 waiting\n");
    for (size_t gpus = 8; gpus <= 8000; gpus *= 10) {
        time_questions(gpus);
    }
    return 0;
}
