/* Nobody gains by lying: a tenant that searches for gain, by strategies drawn at random, against
 * the same tenant honest in the same world. Its jobs end no sooner on average. */
#include <math.h>
#include <stdio.h>

#include "core/plan/state/calls.h"
#include "unit/core/plan/plan_defaults.h"
#include "unit/test.h"

enum {
    UNITS = 8,
    TENANTS = 4, /* of which the first searches */
    JOBS = 60,   /* of each */
    PODS = 8 * TENANTS * JOBS,
    WORLDS = 30,
    NAMESPACES = 5,
    PIECES = 4,
    NAME = 40,
};

static const char gpu[] = "nvidia.com/gpu";

enum strategy {
    HONEST,
    OVERSTATE,  /* timeouts of twice to five times the run time */
    UNDERSTATE, /* half of the run time: killed, and run again with the whole */
    SPREAD,     /* over namespaces of the tenant */
    RESUBMIT,   /* deleted and made anew while they wait */
    PLACEHOLD,  /* as many pods before, which do nothing when they start */
    PRIORITIES, /* at random */
    SPLIT,      /* in four, one after the other */
    STRATEGIES,
};

struct job {
    unsigned tenant;
    int64_t submit_us;
    int64_t run_us;
    int64_t end_us; /* of the pod that did its work; 0: none has */
};

struct pod {
    struct sl_pod pod;
    struct sl_ask_item item;
    char uid[NAME];
    char namespace[NAME];
    struct job *job;
    int64_t at_us;    /* comes */
    int64_t run_us;   /* ends of itself; -1: gives its units back at once */
    int64_t ends_us;  /* while it runs */
    int64_t again_us; /* waits until then, and is made anew; 0: never */
    struct sl_pod *bound;
    bool waits;
    unsigned more; /* pieces of its job to come */
};

struct world {
    uint64_t random;
    enum strategy strategy;
    int64_t now_us;
    struct job job[TENANTS * JOBS];
    struct pod *pod[PODS];
    unsigned n;
    unsigned first; /* of those that may still come */
    struct sl_node node;
    struct sl_device device[UNITS];
    struct sl_pool pool;
    struct sl_view *view;
    struct sl_planner *planner;
    bool changed; /* what runs */
};

static uint64_t draw(struct world *world, uint64_t below)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random % below;
}

static int64_t seconds(struct world *world, int64_t most)
{
    return (1 + (int64_t)draw(world, (uint64_t)most)) * SL_SECOND_US;
}

/* ---- pods ---- */

static struct pod *add_pod(struct world *world, struct job *job, int64_t at_us, int64_t run_us,
                           int64_t timeout_us)
{
    struct pod *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    assert_true(world->n < PODS);
    unsigned part =
        world->strategy == SPREAD && job->tenant == 0 ? (unsigned)draw(world, NAMESPACES) : 0;
    (void)snprintf(p->uid, sizeof(p->uid), "pod-%06u", world->n);
    (void)snprintf(p->namespace, sizeof(p->namespace), "tenant-%u-%u", job->tenant, part);
    p->item = (struct sl_ask_item){.resource = gpu, .key = sl_hash(gpu, strlen(gpu)), .count = 1};
    p->item.kind = SL_KIND_WHOLE;
    p->pod = (struct sl_pod){
        .namespace = p->namespace,
        .name = p->uid,
        .uid = p->uid,
        .gate = SL_GATE_OURS,
        .created_us = at_us,
        .timeout_s = (timeout_us + SL_SECOND_US - 1) / SL_SECOND_US,
        .items = &p->item,
        .n_items = 1,
        .refs = 1000000,
    };
    bool ranked = world->strategy == PRIORITIES && job->tenant == 0;
    p->pod.priority = ranked ? (int32_t)draw(world, 1000) : 0;
    p->job = job;
    p->at_us = at_us;
    p->run_us = run_us;
    world->pod[world->n++] = p;
    return p;
}

static void add_job(struct world *world, struct job *job)
{
    enum strategy strategy = job->tenant == 0 ? world->strategy : HONEST;
    int64_t timeout_us = job->run_us;
    if (strategy == OVERSTATE) {
        timeout_us *= 2 + (int64_t)draw(world, 4);
    } else if (strategy == UNDERSTATE) {
        timeout_us /= 2;
    } else if (strategy == PLACEHOLD) {
        int64_t before_us = seconds(world, 3600);
        int64_t at_us = job->submit_us > before_us ? job->submit_us - before_us : 0;
        (void)add_pod(world, job, at_us, -1, timeout_us);
    }
    int64_t piece = strategy == SPLIT ? PIECES : 1;
    struct pod *p = add_pod(world, job, job->submit_us, job->run_us / piece, timeout_us / piece);
    p->more = (unsigned)piece - 1;
    p->again_us = strategy == RESUBMIT ? job->submit_us + seconds(world, 1800) : 0;
}

/* ---- the cluster ---- */

static void tell_cluster(struct world *world)
{
    struct sl_pod *pods[UNITS];
    struct sl_error err = {0};
    size_t n = 0;
    for (unsigned i = 0; i < world->n; i++) {
        if (world->pod[i]->bound != NULL) {
            assert_true(n < UNITS);
            pods[n++] = world->pod[i]->bound;
        }
    }
    struct sl_view *old = world->view;
    world->view = sl_view_new(&world->node, pods, n);
    assert_non_null(world->view);
    const struct sl_view *view = world->view;
    assert_int_equal(sl_planner_cluster(world->planner, &view, 1, world->now_us, &err), 0);
    sl_view_free(old);
    world->changed = false;
}

static void on_action(void *context, const struct sl_plan_action *action)
{
    struct world *world = context;
    assert_int_equal(action->kind, SL_PLAN_NOMINATE);
    for (unsigned i = 0; i < world->n; i++) {
        struct pod *p = world->pod[i];
        if (p->waits && strcmp(p->uid, action->pod->uid) == 0) {
            int64_t most_us = p->pod.timeout_s * SL_SECOND_US;
            int64_t run_us = p->run_us < most_us ? p->run_us : most_us;
            p->bound = sl_pod_bound_to(&p->pod, action->node, action->assignment, SL_POD_RUNNING);
            assert_non_null(p->bound);
            p->bound->started_us = world->now_us;
            p->ends_us = world->now_us + (run_us > 0 ? run_us : 1);
            p->waits = false;
            world->changed = true;
            return;
        }
    }
    fail_msg("no pod %s waits", action->pod->uid);
}

static void plan(struct world *world)
{
    struct sl_error err = {0};
    do {
        if (world->changed) {
            tell_cluster(world);
        }
        assert_int_equal(
            sl_planner_run(world->planner, NULL, UNITS, world->now_us, on_action, world, &err), 0);
        for (unsigned i = 0; i < world->n && world->changed; i++) {
            if (world->pod[i]->bound != NULL) {
                sl_planner_remove(world->planner, sl_str_of(world->pod[i]->uid), world->now_us);
            }
        }
    } while (world->changed);
}

static void end_pod(struct world *world, struct pod *p)
{
    bool killed = p->run_us > p->pod.timeout_s * SL_SECOND_US;
    sl_pod_unref(p->bound);
    p->bound = NULL;
    world->changed = true;
    if (killed) {
        (void)add_pod(world, p->job, world->now_us, p->job->run_us, p->job->run_us);
    } else if (p->more > 0) {
        add_pod(world, p->job, world->now_us, p->run_us, p->run_us)->more = p->more - 1;
    } else if (p->run_us > 0) {
        p->job->end_us = world->now_us;
    }
}

static void wait_anew(struct world *world, struct pod *p)
{
    sl_planner_remove(world->planner, sl_str_of(p->uid), world->now_us);
    p->waits = false;
    struct pod *fresh =
        add_pod(world, p->job, world->now_us, p->run_us, p->pod.timeout_s * SL_SECOND_US);
    fresh->again_us = world->now_us + seconds(world, 1800);
}

static int64_t next_event(const struct world *world)
{
    int64_t next_us = sl_planner_wake(world->planner);
    next_us = next_us > world->now_us ? next_us : INT64_MAX;
    for (unsigned i = 0; i < world->n; i++) {
        const struct pod *p = world->pod[i];
        int64_t at_us = p->bound != NULL                        ? p->ends_us
                        : p->waits && p->again_us > 0           ? p->again_us
                        : !p->waits && p->at_us > world->now_us ? p->at_us
                                                                : INT64_MAX;
        next_us = at_us < next_us ? at_us : next_us;
    }
    return next_us;
}

static void step(struct world *world)
{
    struct sl_error err = {0};
    unsigned n = world->n;
    for (unsigned i = 0; i < n; i++) {
        struct pod *p = world->pod[i];
        if (p->bound != NULL && p->ends_us <= world->now_us) {
            end_pod(world, p);
        } else if (p->waits && p->again_us > 0 && p->again_us <= world->now_us) {
            wait_anew(world, p);
        }
    }
    for (unsigned i = 0; i < world->n; i++) {
        struct pod *p = world->pod[i];
        if (p->at_us == world->now_us && !p->waits && p->bound == NULL && p->ends_us == 0) {
            p->waits = true;
            assert_int_equal(sl_planner_put(world->planner, &p->pod, world->now_us, &err), 0);
        }
    }
    plan(world);
}

/* The mean time from submission to end of the first tenant's jobs, in seconds. */
static double play(unsigned seed, enum strategy strategy)
{
    struct world *world = calloc(1, sizeof(*world));
    struct sl_tenants *tenants = calloc(1, sizeof(*tenants));
    struct sl_plan_config config;
    struct sl_error err = {0};
    assert_non_null(world);
    assert_non_null(tenants);
    world->random = UINT64_C(88172645463325252) + (uint64_t)seed * 2654435761u;
    world->now_us = SL_DAY_US * 20000;
    world->node = (struct sl_node){.name = "n",
                                   .layout = SL_LAYOUT_ANNOTATED,
                                   .n_devices = UNITS,
                                   .n_pools = 1,
                                   .device = world->device,
                                   .pool = &world->pool,
                                   .host = {-1, -1, -1},
                                   .refs = 1000000};
    world->pool = (struct sl_pool){.resource = gpu,
                                   .key = sl_hash(gpu, strlen(gpu)),
                                   .kind = SL_KIND_WHOLE,
                                   .capacity = UNITS,
                                   .replicas = 1,
                                   .on_devices = true};
    for (unsigned i = 0; i < UNITS; i++) {
        world->device[i] = (struct sl_device){.index = (int16_t)i, .healthy = true};
    }
    for (unsigned t = 0; t < TENANTS; t++) {
        (void)snprintf(tenants->space[t].namespace, SL_TENANT_NAME_MAX, "tenant-%u-*", t);
        (void)snprintf(tenants->space[t].tenant, SL_TENANT_NAME_MAX, "t%u", t);
        tenants->n_spaces++;
    }
    plan_defaults(&config);
    config.tenants = tenants;
    config.preemption = false;
    world->planner = sl_planner_new(&config, &err);
    assert_non_null(world->planner);
    /* The same jobs for every strategy: what a strategy draws comes after. */
    for (unsigned t = 0; t < TENANTS; t++) {
        int64_t at_us = world->now_us + seconds(world, 600);
        for (unsigned i = 0; i < JOBS; i++) {
            int64_t run_us = seconds(world, draw(world, 4) == 0 ? 7200 : 600);
            world->job[t * JOBS + i] =
                (struct job){.tenant = t, .submit_us = at_us, .run_us = run_us};
            at_us += seconds(world, 1000); /* in all about 1.1 times what there is */
        }
    }
    world->strategy = strategy;
    for (unsigned i = 0; i < TENANTS * JOBS; i++) {
        add_job(world, &world->job[i]);
    }
    world->changed = true;
    for (int64_t next_us = next_event(world); next_us < INT64_MAX; next_us = next_event(world)) {
        world->now_us = next_us;
        step(world);
    }
    double sum = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        assert_true(world->job[i].end_us > 0);
        sum += (double)(world->job[i].end_us - world->job[i].submit_us) / SL_SECOND_US;
    }
    sl_planner_free(world->planner);
    sl_view_free(world->view);
    for (unsigned i = 0; i < world->n; i++) {
        assert_int_equal(world->pod[i]->pod.refs, 1000000);
        free(world->pod[i]);
    }
    free(tenants);
    free(world);
    return sum / JOBS;
}

static const struct cheat {
    const char *name;
    enum strategy strategy;
} cheats[] = {
    {"overstated timeouts", OVERSTATE},
    {"understated timeouts", UNDERSTATE},
    {"many namespaces", SPREAD},
    {"deleted and made anew", RESUBMIT},
    {"pods that only hold a place", PLACEHOLD},
    {"priorities", PRIORITIES},
    {"jobs in pieces", SPLIT},
};

/* Above noise is what lies two standard errors above nothing, or 2 %. */
TEST_EACH(a_tenant_gains_nothing_by, cheats)
{
    const struct cheat *cheat = row;
    double sum = 0;
    double squares = 0;
    for (unsigned seed = 1; seed <= WORLDS; seed++) {
        double gain = 1 - play(seed, cheat->strategy) / play(seed, HONEST);
        sum += gain;
        squares += gain * gain;
    }
    double mean = sum / WORLDS;
    double error = sqrt((squares / WORLDS - mean * mean) / (WORLDS - 1));
    print_message("%s: gains %.1f %% (standard error %.1f)\n", cheat->name, 100 * mean,
                  100 * error);
    assert_true(mean < 0.02 || mean < 2 * error);
}
