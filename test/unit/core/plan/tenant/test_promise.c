/* What tenants are promised: for pods of one width each starts by its start on its tenant's own
 * share, or as soon after as the pods end that ran beyond their tenants' shares then. Random
 * tenants, loads and ends; configurations are read again, leaders change. The worlds are the same
 * in every run; `core_plan_tenant_promise` with SLICED_WORLDS=N tries N. */
#include "tenant_rig.h"

enum { WORLDS = 200, PODS = 150, TENANTS = 6, NEVER = INT32_MAX, BASE = 1000000 };

struct pod {
    struct plan_rig_pod *p;
    unsigned tenant;
    int come, timeout, run;
    int start;          /* NEVER: it waits */
    int due;            /* its start on the share, where that came before; NEVER: it did not */
    int latest;         /* while it is due */
    int64_t virtual_us; /* as the planner says; INT64_MAX: it has none */
    bool fresh;         /* started in this plan */
    bool gone;
};

struct world {
    struct tenant_rig rig;
    struct pod pod[PODS];
    uint64_t random;
    uint64_t seed;
    unsigned n_tenants;
    int64_t width;
    const char *resource;
    int now;
    int troubles; /* of a hundred events, so many are reloads or changes of the leader */
    bool forgets; /* records may be lost */
    bool lost;    /* one was: the promise is off */
};

static unsigned pick(struct world *w, unsigned n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->random >> 33) % n;
}

static const char *const namespaces[TENANTS][2] = {{"t0", "t0-b"}, {"t1", "t1-b"}, {"t2", "t2-b"},
                                                   {"t3", "t3-b"}, {"t4", "t4-b"}, {"t5", "t5-b"}};

/* ---- a world ---- */

/* Makes so many units: a node that has them all, or of one GPU each, or of several. */
static void make_nodes(struct world *w, unsigned units)
{
    struct plan_rig *plan = w->rig.plan;
    unsigned gpus = pick(w, 2) == 0 ? 1 : 8;
    char name[PLAN_NAME];
    w->width = 1;
    w->resource = GPU;
    if (pick(w, 3) == 0 || units > gpus * PLAN_NODES) {
        w->width = 1 + pick(w, 4);
        w->resource = MEM;
        plan_rig_share(plan_rig_node(plan, "n", 1), units * w->width);
        return;
    }
    for (unsigned i = 0; i < units; i += gpus) {
        (void)snprintf(name, sizeof(name), "n%02u", i);
        plan_rig_node(plan, name, units - i < gpus ? units - i : gpus);
    }
}

static void set_order(struct world *w)
{
    static const enum sl_order_kind kinds[] = {SL_ORDER_BOUNDED, SL_ORDER_SJF, SL_ORDER_FIFO,
                                               SL_ORDER_P};
    w->rig.plan->config.order.kind = kinds[pick(w, 4)];
}

/* Each tenant's share has room for a pod. */
static void make_tenants(struct world *w)
{
    unsigned weight[TENANTS];
    unsigned least = UINT32_MAX;
    unsigned sum = 0;
    w->n_tenants = 2 + pick(w, TENANTS - 1);
    for (unsigned i = 0; i < w->n_tenants; i++) {
        weight[i] = 1 + pick(w, 4);
        sum += weight[i];
        least = weight[i] < least ? weight[i] : least;
    }
    make_nodes(w, (sum + least - 1) / least + pick(w, 6));
    for (unsigned i = 0; i < w->n_tenants; i++) {
        struct sl_tenant_share *share = tenant_rig_add(&w->rig, namespaces[i][0], weight[i]);
        struct sl_tenant_space *space = &w->rig.tenants.space[w->rig.tenants.n_spaces - 1];
        (void)snprintf(space->namespace, sizeof(space->namespace), "t%u*", i);
        share->users = pick(w, 3) == 0;
    }
}

static void make_pods(struct world *w)
{
    unsigned spread = 100 + pick(w, 3000);
    unsigned longest = 2 + pick(w, 200);
    unsigned greedy = pick(w, w->n_tenants); /* comes more often */
    for (unsigned i = 0; i < PODS; i++) {
        struct pod *pod = &w->pod[i];
        unsigned tenant = pick(w, 2) == 0 ? greedy : pick(w, w->n_tenants);
        unsigned burst = pick(w, 3) == 0 ? 10 * (spread / 10 + 1) : 1;
        *pod = (struct pod){.tenant = tenant,
                            .come = (int)(pick(w, spread) / burst * burst),
                            .timeout = 1 + (int)pick(w, longest),
                            .start = NEVER,
                            .due = NEVER};
        pod->run = 1 + (int)pick(w, (unsigned)pod->timeout);
    }
}

static void begin(struct world *w, uint64_t seed)
{
    *w = (struct world){.random = seed, .seed = seed, .rig.plan = plan_rig_new()};
    w->rig.plan->config.preemption = false;
    (void)pick(w, 2);
    set_order(w);
    make_tenants(w);
    make_pods(w);
    w->troubles = (int)pick(w, 2) * (int)pick(w, 20);
    w->forgets = pick(w, 6) == 0;
    tenant_rig_configure(&w->rig);
}

/* ---- what happens ---- */

/* The names are numbers, which the planner reads. */
static void come(struct world *w, unsigned i)
{
    struct pod *pod = &w->pod[i];
    char name[PLAN_NAME];
    (void)snprintf(name, sizeof(name), "%016x", i);
    pod->p = plan_rig_pod(w->rig.plan, name, w->resource, w->width, pod->timeout);
    pod->p->pod.namespace = namespaces[pod->tenant][pick(w, 2)];
    pod->p->pod.priority = pick(w, 5) == 0 ? (int32_t)pick(w, 3) : 0;
    plan_rig_put(w->rig.plan, pod->p);
}

static bool waits(const struct pod *pod)
{
    return pod->p != NULL && pod->start == NEVER && !pod->gone;
}

static bool runs(const struct pod *pod)
{
    return pod->start != NEVER && !pod->gone;
}

static void happen(struct world *w)
{
    for (unsigned i = 0; i < PODS; i++) {
        struct pod *pod = &w->pod[i];
        if (runs(pod) && pod->start + pod->run == w->now) {
            plan_rig_end(w->rig.plan, pod->p->name);
            pod->gone = true;
        } else if (waits(pod) && pick(w, 400) == 0) {
            sl_planner_remove(w->rig.plan->planner, sl_str_of(pod->p->name), w->rig.plan->now_us);
            pod->gone = true;
        } else if (pod->p == NULL && pod->come == w->now) {
            come(w, i);
        }
    }
}

/* True: something did. */
static bool trouble(struct world *w)
{
    if ((int)pick(w, 100) >= w->troubles) {
        return false;
    }
    if (pick(w, 2) == 0) {
        set_order(w);
        tenant_rig_configure(&w->rig);
        return true;
    }
    bool loses = w->forgets && pick(w, 3) == 0;
    w->lost = w->lost || loses;
    tenant_rig_take_over(&w->rig, loses ? pick(w, 2) * pick(w, 2000) : 1 << 20);
    return true;
}

/* ---- what must hold ---- */

static void note_virtual(void *context, struct sl_plan_account_pod *account)
{
    struct world *w = context;
    if (account->need[0].virtual != NULL) {
        assert_true(account->number < PODS);
        w->pod[account->number].virtual_us = sl_share_facts_of(account->need[0].virtual)->start_us;
    }
}

/* The longest that a pod can still run which runs beyond its tenant's share. */
static int borrowed(const struct world *w)
{
    int longest = 0;
    for (unsigned i = 0; i < PODS; i++) {
        const struct pod *pod = &w->pod[i];
        if (runs(pod) && pod->virtual_us == INT64_MAX) {
            int more = pod->start + pod->timeout - w->now;
            longest = more > longest ? more : longest;
        }
    }
    return longest;
}

static void fail_of(const struct world *w, unsigned i, const char *what)
{
    fail_msg("seed %llu, at %d: pod %u, due %d, latest %d: %s", (unsigned long long)w->seed, w->now,
             i, w->pod[i].due, w->pod[i].latest, what);
}

/* Nobody goes before a pod that is due. */
static void due_pods_went_first(const struct world *w)
{
    unsigned due = PODS;
    unsigned other = PODS;
    for (unsigned i = 0; i < PODS; i++) {
        const struct pod *pod = &w->pod[i];
        due = waits(pod) && pod->virtual_us != INT64_MAX ? i : due;
        other = pod->fresh && pod->virtual_us == INT64_MAX ? i : other;
    }
    if (due < PODS && other < PODS) {
        fail_of(w, due, "another started that was not due");
    }
}

static void promises_hold(struct world *w)
{
    int longest = borrowed(w);
    for (unsigned i = 0; i < PODS && !w->lost; i++) {
        struct pod *pod = &w->pod[i];
        if (!waits(pod)) {
            continue;
        }
        int at = pod->virtual_us == INT64_MAX ? NEVER : (int)(pod->virtual_us / 1000000) - BASE;
        if (pod->due != NEVER && at != pod->due) {
            fail_of(w, i, "its own start moved");
        }
        if (pod->due == NEVER && at != NEVER) {
            pod->due = at;
            pod->latest = at + longest;
            if (at != w->now) {
                fail_of(w, i, "nobody noticed when it was due");
            }
        }
        if (pod->due != NEVER && w->now >= pod->latest) {
            fail_of(w, i, "it is late");
        }
    }
}

/* Plans, and starts what is nominated; true: something is. */
static bool plan(struct world *w)
{
    bool any = false;
    (void)plan_rig_plan(w->rig.plan);
    for (unsigned i = 0; i < PODS; i++) {
        struct pod *pod = &w->pod[i];
        struct sl_queue_row row;
        pod->virtual_us = INT64_MAX;
        pod->fresh = waits(pod) && plan_rig_row(w->rig.plan, pod->p->name, &row) &&
                     row.state == SL_QUEUE_NOMINATED;
        if (pod->fresh) {
            plan_rig_bind(w->rig.plan, pod->p->name);
            pod->start = w->now;
            any = true;
        }
    }
    sl_plan_each_account(w->rig.plan->planner, note_virtual, w);
    due_pods_went_first(w);
    return any || sl_planner_wake(w->rig.plan->planner) <= w->rig.plan->now_us;
}

static int next_of(struct world *w)
{
    int64_t wake_us = sl_planner_wake(w->rig.plan->planner);
    int next = wake_us == INT64_MAX ? NEVER : (int)((wake_us + 999999) / 1000000 - BASE);
    for (unsigned i = 0; i < PODS; i++) {
        const struct pod *pod = &w->pod[i];
        int at = NEVER;
        if (!pod->gone) {
            at = pod->p == NULL ? pod->come : runs(pod) ? pod->start + pod->run : NEVER;
        }
        next = at < next ? at : next;
    }
    return next;
}

static void live_through(uint64_t seed)
{
    static struct world w;
    begin(&w, seed);
    int events = 0;
    for (w.now = 0; w.now != NEVER; w.now = next_of(&w)) {
        w.rig.plan->now_us = SECONDS(BASE + w.now);
        assert_true(events++ < PODS * 100);
        happen(&w);
        (void)trouble(&w);
        bool again = true;
        for (int i = 0; again || trouble(&w); i++) {
            assert_true(i < PODS);
            again = plan(&w);
        }
        promises_hold(&w);
    }
    for (unsigned i = 0; i < PODS; i++) {
        if (!w.pod[i].gone) {
            fail_of(&w, i, "it never started");
        }
    }
    plan_rig_free(w.rig.plan);
}

TEST_THAT(nobody_waits_for_longer_than_others_borrowed_runs_last)
{
    const char *more = getenv("SLICED_WORLDS"); // NOLINT(concurrency-mt-unsafe)
    unsigned long worlds = more == NULL ? WORLDS : strtoul(more, NULL, 10);
    for (uint64_t seed = 0; seed < worlds; seed++) {
        live_through(seed);
    }
}
