/* The order by tenants: pods that are due go first, caps hold, and a restart changes neither. */
#include "tenant_rig.h"

static void begin(struct tenant_rig *rig)
{
    rig->plan = plan_rig_new();
    rig->plan->config.preemption = false;
    plan_rig_node(rig->plan, "n1", 4);
    tenant_rig_add(rig, "a", 1);
    tenant_rig_add(rig, "b", 1);
    tenant_rig_configure(rig);
}

static void end(struct tenant_rig *rig)
{
    plan_rig_free(rig->plan);
}

TEST_FIXTURE_OF(struct tenant_rig, begin, end)

TEST_ON(struct tenant_rig *rig, one_tenant_borrows_all_and_due_pods_get_it_back)
{
    rig->plan->config.order.kind = SL_ORDER_SJF;
    tenant_rig_configure(rig);
    wait_all(rig, "a1 a2 a3 a4 a5", 1000);
    assert_string_equal(started(rig), "a1 a2 a3 a4");
    pass(rig, 1);
    wait_all(rig, "b1 b2 b3", 2000);
    assert_string_equal(started(rig), "");
    pass(rig, 1);
    wait_all(rig, "a6", 10); /* the shortest, but its tenant has more than its share */
    end_all(rig, "a1");
    assert_string_equal(started(rig), "b1");
    end_all(rig, "a2");
    assert_string_equal(started(rig), "b2");
    end_all(rig, "a3"); /* b has its share: the shortest */
    assert_string_equal(started(rig), "a6");
}

/* Its binding fails and is tried again, and all the time its node shows it. */
TEST_ON(struct tenant_rig *rig, a_pod_bound_without_its_nomination_counts_on_the_share)
{
    wait_all(rig, "a1 a2 b1", 1000);
    assert_string_equal(started(rig), "a1 a2 b1");
    wait_all(rig, "b2", 1000);
    assert_string_equal(plan_rig_plan(rig->plan), "nomination b2 on n1: nvidia.com/gpu=3\n");
    struct plan_rig_pod *b2 = plan_rig_find(rig->plan, "b2");
    b2->bound = sl_pod_bound_to(&b2->pod, "n1", "nvidia.com/gpu=3", SL_POD_RUNNING);
    (void)plan_rig_plan(rig->plan);
    sl_planner_failed(rig->plan->planner, SL_STR("b2"), rig->plan->now_us);
    (void)plan_rig_plan(rig->plan);
    sl_planner_remove(rig->plan->planner, SL_STR("b2"), rig->plan->now_us);
    (void)plan_rig_plan(rig->plan);
    pass(rig, 1);
    wait_all(rig, "b3", 1000);
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "b3"), -1);
    end_all(rig, "b2");
    assert_string_equal(started(rig), "b3");
}

TEST_ON(struct tenant_rig *rig, a_tenant_without_weight_gets_what_others_leave)
{
    tenant_rig_add(rig, "c", 0);
    tenant_rig_configure(rig);
    wait_all(rig, "c1 c2 c3 c4 c5", 1);
    assert_string_equal(started(rig), "c1 c2 c3 c4");
    wait_all(rig, "a1 b1 b2", 1000);
    end_all(rig, "c1 c2 c3");
    assert_string_equal(started(rig), "a1 b1 b2");
    end_all(rig, "c4");
    assert_string_equal(started(rig), "c5");
}

/* ---- caps ---- */

static void set_cap(struct tenant_rig *rig, const char *tenant, int64_t units)
{
    struct sl_tenant_units *cap = &rig->tenants.cap[rig->tenants.n_caps];
    rig->tenants.n_caps++;
    *cap = (struct sl_tenant_units){.units = units, .resource = GPU};
    (void)snprintf(cap->tenant, sizeof(cap->tenant), "%s", tenant);
}

static void cap_units(struct tenant_rig *rig)
{
    set_cap(rig, "a", 2);
}

static void cap_running(struct tenant_rig *rig)
{
    rig->tenants.share[0].max_running = 2;
}

static void cap_waiting(struct tenant_rig *rig)
{
    rig->tenants.share[0].max_waiting = 2;
}

static void borrow_short(struct tenant_rig *rig)
{
    rig->tenants.borrow_max_timeout_us = SECONDS(99);
}

static const struct {
    const char *name;
    void (*set)(struct tenant_rig *rig);
    const char *first; /* that start */
    const char *state; /* of a3 then */
    const char *next;  /* once a1 has ended */
} caps[] = {
    {"units", cap_units, "a1 a2", "Held Cap", "a3"},
    {"pods that run", cap_running, "a1 a2", "Held Cap", "a3"},
    {"pods that wait", cap_waiting, "a1 a2", "Held Cap", ""},
    {"long runs that borrow", borrow_short, "a1 a2", "Held Borrow", "a3"},
};

/* b's pod is not held for it. */
TEST_ON_EACH(struct tenant_rig *rig, a_cap_holds_until_a_pod_leaves, caps)
{
    row->set(rig);
    tenant_rig_configure(rig);
    wait_all(rig, "a1 a2 a3 b1", 100);
    (void)plan_rig_plan(rig->plan);
    assert_string_equal(plan_rig_state(rig->plan, "a3"), row->state);
    assert_string_equal(plan_rig_state(rig->plan, "a2"), "Nominated None");
    assert_string_equal(plan_rig_state(rig->plan, "b1"), "Nominated None");
    if (row->set == cap_waiting) { /* the queue is shorter now */
        assert_string_equal(started(rig), "a3");
        return;
    }
    assert_string_equal(started(rig), "");
    tenant_rig_take_over(rig, 1 << 20);
    assert_string_equal(started(rig), "");
    assert_string_equal(plan_rig_state(rig->plan, "a3"), row->state);
    end_all(rig, "a1");
    assert_string_equal(started(rig), row->next);
}

TEST_ON(struct tenant_rig *rig, those_beyond_the_cap_of_waiting_pods_come_in_turn)
{
    cap_waiting(rig);
    set_cap(rig, "a", 1);
    tenant_rig_configure(rig);
    wait_all(rig, "a1 a2 a3 a4 a5 a6", 100);
    assert_string_equal(plan_rig_state(rig->plan, "a3"), "Held Cap");
    assert_string_equal(started(rig), "a1");
    sl_planner_remove(rig->plan->planner, SL_STR("a2"), rig->plan->now_us);
    tenant_rig_configure(rig);
    end_all(rig, "a1");
    assert_string_equal(started(rig), "a3");
    rig->tenants.share[0].max_waiting = 0;
    tenant_rig_configure(rig);
    end_all(rig, "a3");
    assert_string_equal(started(rig), "a4");
}

TEST_ON(struct tenant_rig *rig, a_timeout_beyond_the_tenants_longest_is_refused)
{
    rig->tenants.share[0].max_timeout_us = SECONDS(99);
    tenant_rig_configure(rig);
    wait_all(rig, "a1 b1", 100);
    wait_all(rig, "a2", 99);
    assert_string_equal(started(rig), "b1 a2");
    assert_string_equal(plan_rig_state(rig->plan, "a1"), "Refused Limit");
    struct sl_queue_row row;
    assert_true(plan_rig_row(rig->plan, "a1", &row));
    assert_int_equal(row.limit.max_timeout_us, SECONDS(99));
    rig->tenants.share[0].max_timeout_us = 0;
    tenant_rig_configure(rig);
    assert_string_equal(started(rig), "a1");
}

/* A due pod may run for longer than is borrowed, for it is within the share. */
TEST_ON(struct tenant_rig *rig, long_pods_hold_no_more_than_the_share)
{
    borrow_short(rig);
    tenant_rig_configure(rig);
    wait_all(rig, "a1 a2 a3", 100);
    wait_all(rig, "a4 a5 a6", 99);
    assert_string_equal(started(rig), "a1 a2 a4 a5");
    end_all(rig, "a4 a5");
    pass(rig, 1);
    assert_string_equal(started(rig), "a6");
}

/* ---- several resources ---- */

/* A pod that needs a unit of memory beside its GPUs. */
static struct plan_rig_pod *wait_both(struct tenant_rig *rig, const char *name, const char *tenant,
                                      int64_t memory, int64_t gpus)
{
    struct plan_rig_pod *p = plan_rig_pod(rig->plan, name, MEM, memory, 100);
    p->item[1] = (struct sl_ask_item){
        .resource = GPU, .key = sl_hash(GPU, strlen(GPU)), .kind = SL_KIND_WHOLE, .count = gpus};
    p->pod.n_items = 2;
    p->pod.namespace = tenant;
    plan_rig_put(rig->plan, p);
    return p;
}

/* a's share is 2 GPUs and 8 units of memory: a1 and a2 hold the GPUs. */
TEST_ON(struct tenant_rig *rig, a_pod_of_two_resources_is_due_when_both_are)
{
    plan_rig_share(&rig->plan->node[0], 4);
    wait_all(rig, "a1 a2 b1 b2", 100);
    (void)started(rig);
    (void)wait_both(rig, "a3", "a", 1, 1);
    (void)started(rig);
    for (int i = 0; i < 2; i++) {
        pass(rig, 5);
        assert_string_equal(started(rig), "");
        assert_int_equal(due_of(rig, "a3"), -1);
        tenant_rig_take_over(rig, 1 << 20); /* nor does a record make it so */
    }
    end_all(rig, "a1 b1");
    assert_string_equal(started(rig), "a3");
}

/* After a change of the leader too, and where none waits for the resource that the run holds. */
TEST_ON(struct tenant_rig *rig, the_cap_of_running_pods_counts_those_of_all_resources)
{
    plan_rig_share(&rig->plan->node[0], 4);
    rig->tenants.share[0].max_running = 1;
    tenant_rig_configure(rig);
    wait_all(rig, "a1", 100);
    assert_string_equal(started(rig), "a1");
    tenant_rig_take_over(rig, 1 << 20);
    (void)tenant_rig_wait(rig, "a2", "a", MEM, 1, 100);
    assert_string_equal(started(rig), "");
    assert_string_equal(plan_rig_state(rig->plan, "a2"), "Held Cap");
}

/* ---- namespaces ---- */

TEST_ON(struct tenant_rig *rig, a_relabelled_namespace_brings_its_pods_along)
{
    struct sl_error err = {0};
    wait_all(rig, "c1 c2 c3 c4", 1000); /* the others' */
    assert_string_equal(started(rig), "c1 c2 c3 c4");
    wait_all(rig, "c5", 10);
    wait_all(rig, "a1", 1000);
    (void)started(rig);
    assert_int_equal(sl_planner_namespace(rig->plan->planner, SL_STR("c"), SL_STR("new"),
                                          rig->plan->now_us, &err),
                     0);
    assert_string_equal(started(rig), "");
    end_all(rig, "c1");
    assert_string_equal(started(rig), "a1");
    assert_int_equal(
        sl_planner_namespace(rig->plan->planner, SL_STR("c"), SL_STR(""), rig->plan->now_us, &err),
        0);
    end_all(rig, "c2");
    assert_string_equal(started(rig), "c5");
}

/* ---- records ---- */

static void wait_and_be_due(struct tenant_rig *rig)
{
    wait_all(rig, "a1 a2 a3 a4", 1000);
    assert_string_equal(started(rig), "a1 a2 a3 a4");
    pass(rig, 10);
    wait_all(rig, "b1 b2", 2000);
    (void)started(rig);
    pass(rig, 5);
    wait_all(rig, "b3 a5", 30);
    assert_string_equal(started(rig), "");
}

static void are_as_due(struct tenant_rig *rig)
{
    assert_int_equal(due_of(rig, "b1"), 5);
    assert_int_equal(due_of(rig, "b2"), 5);
    assert_int_equal(due_of(rig, "b3"), -1);
    assert_int_equal(due_of(rig, "a5"), -1);
}

TEST_ON(struct tenant_rig *rig, due_pods_stay_due_over_restarts)
{
    wait_and_be_due(rig);
    are_as_due(rig);
    for (int i = 0; i < 3; i++) {
        tenant_rig_configure(rig);
        tenant_rig_configure(rig); /* before a run, too */
        assert_string_equal(started(rig), "");
        are_as_due(rig);
        tenant_rig_take_over(rig, 1 << 20);
        tenant_rig_take_over(rig, 1 << 20);
        assert_string_equal(started(rig), "");
        are_as_due(rig);
    }
    end_all(rig, "a1 a2 a3");
    assert_string_equal(started(rig), "b1 b2 b3");
}

TEST_ON(struct tenant_rig *rig, due_pods_stay_due_when_the_clock_is_put)
{
    wait_and_be_due(rig);
    for (int i = 0; i < 2; i++) {
        int64_t by_us = SECONDS(i == 0 ? 3600 : -3600);
        rig->plan->now_us += by_us;
        sl_planner_rebase(rig->plan->planner, by_us, rig->plan->now_us);
        sl_planner_audit(rig->plan->planner);
        assert_string_equal(started(rig), "");
        are_as_due(rig);
    }
    end_all(rig, "a1 a2 a3");
    assert_string_equal(started(rig), "b1 b2 b3");
}

/* What has ended in reality counts on the share until it would have ended there. */
TEST_ON(struct tenant_rig *rig, what_has_ended_still_counts_over_restarts)
{
    wait_all(rig, "a1 a2 a3 a4", 1000);
    (void)started(rig);
    pass(rig, 100);
    end_all(rig, "a1 a2 a3 a4"); /* a has had 400 s of its 2 GPUs: 200 s */
    wait_all(rig, "b1 b2 b3 b4", 500);
    (void)started(rig);
    wait_all(rig, "a5", 300);
    (void)started(rig);
    tenant_rig_take_over(rig, 1 << 20);
    (void)started(rig);
    pass(rig, 50);
    (void)started(rig);
    assert_int_equal(due_of(rig, "a5"), -1);
    tenant_rig_configure(rig);
    pass(rig, 50);
    (void)started(rig);
    assert_int_equal(due_of(rig, "a5"), 0);
}

static int64_t longest_of_all(const struct sl_planner *planner)
{
    int64_t longest_us = 0;
    for (const struct sl_plan_account_lane *account = sl_plan_account_first(planner->lane);
         account != NULL; account = sl_plan_account_next(account)) {
        for (size_t i = 0; i < account->n; i++) {
            const struct sl_plan_part *part = account->part[i];
            longest_us += part == NULL ? 0 : sl_share_longest(part->share);
        }
    }
    return longest_us / SL_SECOND_US;
}

/* Under fifo b1 starts after 4 s, and a4 and those that came with it wait for no longer. */
TEST_ON(struct tenant_rig *rig, the_longest_wait_under_fifo_is_the_same_over_restarts)
{
    rig->plan->config.order.kind = SL_ORDER_BOUNDED;
    rig->tenants.share[0].weight = 0;
    tenant_rig_configure(rig);
    wait_all(rig, "b1 b2 b3 b4", 4);
    (void)started(rig);
    wait_all(rig, "b5", 50);
    pass(rig, 3);
    wait_all(rig, "b6 b7 b8 b9", 3);
    (void)started(rig);
    pass(rig, 1);
    end_all(rig, "b1 b2 b3 b4");
    assert_string_equal(started(rig), "b6 b7 b8 b9");
    pass(rig, 1);
    tenant_rig_configure(rig);
    (void)started(rig);
    tenant_rig_take_over(rig, 1 << 20);
    (void)started(rig);
    pass(rig, 2);
    end_all(rig, "b6 b7 b8 b9");
    assert_string_equal(started(rig), "b5");
    assert_int_equal(longest_of_all(rig->plan->planner), 4);
}

/* Whatever a record says, pods start in the end, and no pod twice. */
static void survives(struct tenant_rig *rig, struct sl_str text)
{
    struct sl_error err = {0};
    struct plan_rig *plan = rig->plan;
    sl_planner_free(plan->planner);
    plan->planner = sl_planner_new(&plan->config, &err);
    assert_non_null(plan->planner);
    assert_int_equal(sl_planner_tenants_load(plan->planner, text, plan->now_us, &err), 0);
    size_t len = 0;
    free(sl_planner_tenants_save(plan->planner, 1000, &len));
    for (unsigned i = 0; i < plan->n_pods; i++) {
        if (plan->pod[i]->bound == NULL) {
            plan_rig_put(plan, plan->pod[i]);
        }
    }
    (void)plan_rig_plan(plan);
    (void)plan_rig_plan(plan);
    plan->now_us += 1000000; /* a save that is cut short */
    for (size_t max = 0; max < 600; max += 97) {
        free(sl_planner_tenants_save(plan->planner, max, &len));
        assert_in_range(len, 0, max);
    }
    plan->now_us -= 1000000;
}

TEST_ON(struct tenant_rig *rig, a_record_cut_anywhere_or_spoilt_costs_turns_at_most)
{
    static const char *const words[] = {"9223372036854775807",
                                        "-9223372036854775808",
                                        "4503599627",
                                        "-4503599627",
                                        "",
                                        "-",
                                        "99999999999999999999",
                                        "x",
                                        "0"};
    enum { WORDS = sizeof(words) / sizeof(words[0]), SPOILT = 600 };
    wait_and_be_due(rig);
    end_all(rig, "a3"); /* so that there is an ended pod */
    rig->tenants.share[1].users = true;
    assert_string_equal(started(rig), "b1");
    size_t len = 0;
    char text[2048] = "";
    char *saved = sl_planner_tenants_save(rig->plan->planner, sizeof(text) - 1, &len);
    uint64_t random = 1;
    memcpy(text, saved, len);
    free(saved);
    assert_non_null(strstr(text, "\ne "));
    assert_non_null(strstr(text, "\np "));
    for (size_t i = 0; i <= len; i++) {
        survives(rig, (struct sl_str){text, i});
    }
    for (int i = 0; i < SPOILT; i++) {
        char spoilt[sizeof(text) + 32];
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t at = (size_t)(random >> 33) % len;
        const char *word = words[(random >> 20) % WORDS];
        const char *rest = strpbrk(text + at, " \n"); /* a word, or the end of one, is another */
        int n = snprintf(spoilt, sizeof(spoilt), "%.*s%s%s", (int)at, text, word,
                         rest == NULL ? "" : rest);
        assert_in_range(n, 0, sizeof(spoilt) - 1);
        spoilt[(random >> 10) % (size_t)(n + 1)] = (char)(random >> 50);
        survives(rig, (struct sl_str){spoilt, (size_t)n});
    }
    tenant_rig_take_over(rig, 0);
    for (int i = 0; i < 3; i++) {
        (void)started(rig);
        pass(rig, 5000);
        for (unsigned p = 0; p < rig->plan->n_pods; p++) {
            if (rig->plan->pod[p]->bound != NULL) {
                plan_rig_end(rig->plan, rig->plan->pod[p]->name);
            }
        }
    }
    assert_string_equal(plan_rig_state(rig->plan, "b3"), "unknown");
}

static void count_held(void *context, const struct sl_tenant_row *row)
{
    *(int64_t *)context += row->held;
}

TEST_ON(struct tenant_rig *rig, what_others_started_counts_though_nobody_has_waited)
{
    int64_t held = 0;
    assert_string_equal(started(rig), "");
    plan_rig_run_on(rig->plan, "x1", "n1", 1, 1000);
    plan_rig_run_on(rig->plan, "x2", "n1", 2, 1000);
    assert_string_equal(started(rig), "");
    sl_planner_tenants(rig->plan->planner, count_held, &held);
    assert_int_equal(held, 3);
}
