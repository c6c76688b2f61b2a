/* The heaviest of what others want. */
#include <stdio.h>

#include "sliced/constraint.h"
#include "sliced/demand.h"
#include "unit/test.h"

enum { PODS = 128 };

/* A pod that asks for count units of the resource, and for CPU. */
static struct sl_pod *pod_with_cpu(const char *resource, unsigned count, const char *cpu)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", count);
    struct sl_pair request = {SL_STR("cpu"), sl_str_of(cpu), NULL};
    struct sl_pair limit = {sl_str_of(resource), sl_str_of(text), NULL};
    struct sl_container_facts container = {
        .name = SL_STR("main"), .limits = &limit, .requests = &request};
    struct sl_pod_facts facts = {.namespace = SL_STR("default"),
                                 .name = SL_STR("pod"),
                                 .uid = SL_STR("pod"),
                                 .containers = &container};
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    assert_non_null(pod);
    return pod;
}

static struct sl_pod *pod_new(const char *resource, unsigned count)
{
    return pod_with_cpu(resource, count, "0");
}

static void wait_for(struct sl_wants *wants, const struct sl_pod *pod, int32_t pods)
{
    assert_int_equal(sl_wants_pin(wants, pod), 0);
    sl_wants_waiting(wants, pod, pods);
}

TEST_THAT(the_heaviest_rows_are_kept_in_order_however_they_come)
{
    for (unsigned step = 1; step <= 7; step += 2) { /* odd: each is met once in 64 */
        static struct sl_wants wants;
        struct sl_pod *pod[64];
        for (unsigned i = 0; i < 64; i++) {
            unsigned id = i * step % 64;
            char resource[32];
            (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-%ug.5gb", id + 1);
            pod[id] = pod_new(resource, 1);
            wait_for(&wants, pod[id], (int32_t)(id / 2));
        }
        const struct sl_demand *demand = sl_wants_top(&wants);
        assert_int_equal(demand->n, SL_DEMAND_MAX);
        for (unsigned i = 0; i < SL_DEMAND_MAX; i++) {
            assert_int_equal(demand->row[i].weight, 31 - i / 2);
            assert_true(i % 2 == 0 || demand->row[i - 1].rank < demand->row[i].rank);
        }
        for (unsigned i = 0; i < 64; i++) {
            sl_wants_unpin(&wants, pod[i]);
            sl_pod_unref(pod[i]);
        }
        sl_wants_free(&wants);
        wants = (struct sl_wants){.next = 0};
    }
}

TEST_THAT(the_heaviest_typical_asks_are_kept_in_order_however_they_come)
{
    for (unsigned step = 1; step <= 7; step += 2) {
        static struct sl_wants wants;
        struct sl_pod *pod[PODS];
        for (unsigned i = 0; i < PODS; i++) {
            unsigned id = i * step % PODS;
            pod[id] = pod_new("nvidia.com/gpu", id + 1);
            wait_for(&wants, pod[id], (int32_t)(id / 2));
        }
        const struct sl_demand *demand = sl_wants_top(&wants);
        assert_int_equal(demand->n, 1);
        assert_int_equal(demand->n_typical, SL_TYPICAL_MAX);
        for (unsigned i = 0; i < SL_TYPICAL_MAX; i++) {
            assert_int_equal(demand->typical[i].weight, 63 - i / 2);
            assert_int_equal(demand->typical[i].count, 127 - i / 2 * 2 + i % 2);
        }
        for (unsigned i = 0; i < PODS; i++) {
            sl_wants_unpin(&wants, pod[i]);
            sl_pod_unref(pod[i]);
        }
        sl_wants_free(&wants);
        wants = (struct sl_wants){.next = 0};
    }
}

TEST_THAT(what_nobody_wants_and_instances_among_typical_asks_are_left_out)
{
    static struct sl_wants wants;
    struct sl_pod *whole = pod_new("nvidia.com/gpu", 1);
    struct sl_pod *instance = pod_new("nvidia.com/mig-1g.5gb", 1);
    wait_for(&wants, whole, 0);
    wait_for(&wants, instance, 9);
    const struct sl_demand *demand = sl_wants_top(&wants);
    assert_int_equal(demand->n, 1);
    assert_int_equal(demand->row[0].kind, SL_KIND_MIG);
    assert_int_equal(demand->n_typical, 0);
    sl_pod_unref(whole);
    sl_pod_unref(instance);
    sl_wants_free(&wants);
}

/* ---- against a plain account of waiting pods and recent binds ---- */

enum { KINDS = 24, STEPS = 6000 };

struct account {
    struct sl_pod *pod[KINDS];
    int32_t waiting[KINDS];
    bool pinned[KINDS];
    unsigned bound[STEPS]; /* every bind, by its pod */
    unsigned binds;
};

static void account_begin(struct account *account)
{
    static const char *const resources[] = {"nvidia.com/gpu", "nvidia.com/mig-1g.5gb",
                                            "aliyun.com/gpu-mem", "nvidia.com/gpu.shared"};
    for (unsigned i = 0; i < KINDS; i++) {
        account->pod[i] =
            pod_with_cpu(resources[i % 4], 1 + i / 4 % 3, i / 12 % 2 == 0 ? "500m" : "2");
    }
}

static int32_t weight_of(const struct account *account, unsigned pod)
{
    int32_t weight = account->waiting[pod];
    for (unsigned i = 0; i < account->binds && i < SL_DEMAND_RECENT; i++) {
        weight += account->bound[account->binds - 1 - i] == pod;
    }
    return weight;
}

static bool is_sorted(const struct sl_demand *demand)
{
    for (unsigned i = 1; i < demand->n; i++) {
        const struct sl_demand_row *a = &demand->row[i - 1];
        const struct sl_demand_row *b = &demand->row[i];
        if (a->weight < b->weight || (a->weight == b->weight && a->rank >= b->rank)) {
            return false;
        }
    }
    for (unsigned i = 1; i < demand->n_typical; i++) {
        const struct sl_typical *a = &demand->typical[i - 1];
        const struct sl_typical *b = &demand->typical[i];
        int order = (a->weight < b->weight) - (a->weight > b->weight);
        order = order == 0 ? (a->rank > b->rank) - (a->rank < b->rank) : order;
        order = order == 0 ? (a->count > b->count) - (a->count < b->count) : order;
        if (order > 0 || (order == 0 && a->cpu_milli >= b->cpu_milli)) {
            return false;
        }
    }
    return true;
}

static void assert_top(struct sl_wants *wants, const struct account *account)
{
    const struct sl_demand *top = sl_wants_top(wants);
    int32_t weight[KINDS];
    int32_t sum = 0;
    int32_t sized = 0;
    for (unsigned p = 0; p < KINDS; p++) {
        weight[p] = weight_of(account, p);
        sum += weight[p];
        sized += account->pod[p]->items[0].kind == SL_KIND_MIG ? 0 : weight[p];
    }
    for (unsigned i = 0; i < top->n; i++) {
        assert_true(top->row[i].weight > 0);
        sum -= top->row[i].weight;
        int32_t rest = top->row[i].weight;
        for (unsigned p = 0; p < KINDS; p++) {
            rest -= account->pod[p]->items[0].key == top->row[i].key ? weight[p] : 0;
        }
        assert_int_equal(rest, 0);
    }
    for (unsigned i = 0; i < top->n_typical; i++) {
        const struct sl_typical *ask = &top->typical[i];
        assert_true(ask->weight > 0);
        sized -= ask->weight;
        int32_t rest = ask->weight;
        for (unsigned p = 0; p < KINDS; p++) {
            const struct sl_pod *pod = account->pod[p];
            bool same = pod->items[0].key == ask->key && pod->items[0].count == ask->count &&
                        pod->constraints->cpu_milli == ask->cpu_milli;
            rest -= same ? weight[p] : 0;
        }
        assert_int_equal(rest, 0);
    }
    assert_int_equal(sum, 0);
    assert_int_equal(sized, 0);
    assert_true(is_sorted(top));
}

static void account_step(struct account *account, struct sl_wants *wants, unsigned draw)
{
    unsigned p = draw % KINDS;
    unsigned move = draw / KINDS % 8;
    if (!account->pinned[p]) {
        assert_int_equal(sl_wants_pin(wants, account->pod[p]), 0);
        account->pinned[p] = true;
    } else if (move == 0) {
        sl_wants_waiting(wants, account->pod[p], -account->waiting[p]);
        account->waiting[p] = 0;
        sl_wants_unpin(wants, account->pod[p]);
        account->pinned[p] = false;
    } else if (move < 4) {
        sl_wants_waiting(wants, account->pod[p], 1);
        account->waiting[p]++;
    } else {
        sl_wants_record(wants, account->pod[p]);
        account->bound[account->binds++] = p;
    }
}

TEST_THAT(demand_is_who_waits_and_the_last_binds)
{
    static struct sl_wants wants;
    static struct account account;
    uint64_t seed = 7;
    account_begin(&account);
    for (unsigned step = 0; step < STEPS; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        account_step(&account, &wants, (unsigned)(seed >> 33));
        if (step % 7 == 0) {
            assert_top(&wants, &account);
        }
    }
    assert_true(account.binds > 2 * SL_DEMAND_RECENT);
    /* Later binds drive out all others. */
    for (unsigned i = 0; i < SL_DEMAND_RECENT; i++) {
        assert_int_equal(sl_wants_pin(&wants, account.pod[0]), 0);
        sl_wants_record(&wants, account.pod[0]);
        sl_wants_unpin(&wants, account.pod[0]);
    }
    for (unsigned p = 0; p < KINDS; p++) {
        if (account.pinned[p]) {
            sl_wants_waiting(&wants, account.pod[p], -account.waiting[p]);
            sl_wants_unpin(&wants, account.pod[p]);
        }
    }
    assert_int_equal(wants.map.len, 2); /* its resource, of any size and of its own */
    assert_int_equal(sl_wants_top(&wants)->row[0].weight, SL_DEMAND_RECENT);
    sl_wants_free(&wants);
    wants = (struct sl_wants){.next = 0}; /* so that sanitizers see what is not freed */
    for (unsigned p = 0; p < KINDS; p++) {
        sl_pod_unref(account.pod[p]);
    }
}

TEST_THAT(pods_that_are_gone_leave_nothing_behind)
{
    static struct sl_wants wants;
    struct sl_pod *pod[] = {pod_new("nvidia.com/gpu", 1), pod_new("nvidia.com/gpu", 2),
                            pod_new("nvidia.com/mig-1g.5gb", 1)};
    for (unsigned i = 0; i < 3; i++) {
        wait_for(&wants, pod[i], 1);
    }
    assert_int_equal(sl_wants_top(&wants)->n, 2);
    assert_int_equal(wants.looks, 4);
    for (unsigned i = 0; i < 3; i++) {
        sl_wants_waiting(&wants, pod[i], -1);
        sl_wants_unpin(&wants, pod[i]);
        sl_pod_unref(pod[i]);
    }
    assert_int_equal(sl_wants_top(&wants)->n, 0);
    assert_int_equal(wants.looks, 4);
    assert_int_equal(wants.map.cap, 0);
    assert_null(wants.heap[SL_WANT_ANY].want);
    assert_null(wants.heap[SL_WANT_SIZED].want);
}
