/* The store under lack of memory. */
#include "unit/cluster/fixture.h"

#include "chaos/scenario.h"
#include "chaos/wrap.h"

/* Two nodes of 8 slices; a, b, e wait (b for 4, e for 8), r is reserved on gpu-1, c is bound there
 * and fills it, d was committed on gpu-2. What an operation puts is made beforehand. */
struct world {
    struct sl_store *store;
    struct sl_pod *pod;
    struct sl_node *node;
    bool half; /* the first half of a scenario of two is done */
};

/* given: the struct pod_spec of world->pod; NULL: none */
static void *setup_world(const void *given)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    struct sl_store *store = store_of(&roomy);
    world->store = store;
    world->pod = given == NULL ? NULL : pod_of(given);
    put_node(store, sliced_node("gpu-1", 8));
    put_node(store, sliced_node("gpu-2", 8));
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "b", .uid = "u-b", .resource = SLICE, .count = "4"});
    put_pod(store, (struct pod_spec){.name = "e", .uid = "u-e", .resource = SLICE, .count = "8"});
    put_pod(store, (struct pod_spec){.name = "r", .uid = "u-r", .resource = SLICE, .count = "4"});
    put_pod(store, (struct pod_spec){.name = "d", .uid = "u-d", .resource = SLICE});
    assert_int_equal(reserve_code(store, "r", "u-r", "gpu-1"), SL_BIND_RESERVED);
    assert_int_equal(reserve_code(store, "d", "u-d", "gpu-2"), SL_BIND_RESERVED);
    assert_true(sl_store_commit(store, SL_STR("u-d"), SL_POD_RUNNING));
    put_pod(store,
            (struct pod_spec){
                .name = "c", .uid = "u-c", .node = "gpu-1", .resource = SLICE, .count = "4"});
    return world;
}

static void teardown_world(void *context)
{
    struct world *world = context;
    sl_store_free(world->store);
    sl_pod_unref(world->pod);
    sl_node_unref(world->node);
    free(world);
}

static void write_view(const struct sl_view *view, struct sl_buf *out)
{
    sl_buf_printf(out, "node %s, cpu %lld of %u pods:", view->node->name,
                  (long long)view->cpu_milli, view->n_pods);
    for (unsigned i = 0; i < view->node->n_pools; i++) {
        sl_buf_printf(out, " %s %lld of %lld", view->node->pool[i].resource,
                      (long long)sl_view_free_units(view, i),
                      (long long)view->node->pool[i].capacity);
    }
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        sl_buf_printf(out, " [%s %s %s %s]", pod->name, pod->uid, sl_pod_phase_name(pod->phase),
                      pod->assignment == NULL ? "-" : pod->assignment);
    }
    sl_buf_putc(out, '\n');
}

static void write_waiting(void *context, const struct sl_pod *pod)
{
    sl_buf_printf(context, "waiting %s %s\n", pod->name, pod->uid);
}

/* What a failed allocation has kept from being published is published first, as the daemon's
 * timer does. */
static void digest_world(void *context, struct sl_buf *out)
{
    struct sl_store *store = ((struct world *)context)->store;
    struct sl_store_stats stats;
    sl_store_expire(store, 0);
    sl_store_visit_waiting(store, 1000, write_waiting, out);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    sl_buf_printf(out,
                  "generation %llu pods %zu waiting %zu bound %zu reserved %zu nominated %zu\n",
                  (unsigned long long)snapshot->generation, snapshot->n_pods, snapshot->n_waiting,
                  snapshot->n_bound, snapshot->n_reserved, snapshot->n_nominated);
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        write_view(snapshot->view[i], out);
        assert_int_equal(sl_snapshot_find(snapshot, sl_str_of(snapshot->view[i]->node->name), 0),
                         i);
    }
    for (uint8_t i = 0; i < snapshot->demand.n; i++) {
        sl_buf_printf(out, "demand %llx %d\n", (unsigned long long)snapshot->demand.row[i].key,
                      snapshot->demand.row[i].weight);
    }
    sl_store_release(store, snapshot);
    sl_store_stats(store, &stats);
    sl_buf_printf(out, "binds %llu expires %llu rollbacks %llu\n", (unsigned long long)stats.binds,
                  (unsigned long long)stats.expiries, (unsigned long long)stats.rollbacks);
}

/* 0 or -1 for the lack of memory that err must tell of. */
static int told(int rc, const struct sl_error *err)
{
    assert_int_equal(err->code, rc == 0 ? SL_ERR_NONE : SL_ERR_NOMEM);
    return rc;
}

/* ---- putting ---- */

static int run_put_pod(void *context)
{
    struct world *world = context;
    struct sl_error err = {0};
    return told(sl_store_put_pod(world->store, sl_pod_ref(world->pod), &err), &err);
}

static int run_put_node(void *context)
{
    struct world *world = context;
    struct sl_error err = {0};
    return told(sl_store_put_node(world->store, sl_node_ref(world->node), &err), &err);
}

static void *with_new_node(const void *given)
{
    struct world *world = setup_world(given);
    world->node = whole_node("gpu-0", 2);
    return world;
}

static void *with_changed_node(const void *given)
{
    struct world *world = setup_world(given);
    world->node = sliced_node("gpu-1", 4);
    return world;
}

/* Enough to make every table and array grow. */
static int run_many(void *context)
{
    struct world *world = context;
    struct sl_error err = {0};
    for (int i = 0; i < 80; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "m%02d", i);
        const struct pod_spec spec = {.name = name, .uid = name, .resource = GPU, .node = name};
        struct sl_pod *pod = pod_from(&spec, &err);
        if (pod == NULL || sl_store_put_pod(world->store, pod, &err) < 0) {
            return told(-1, &err);
        }
        struct sl_node *node = whole_node_from(name, 1, &err);
        if (node == NULL || sl_store_put_node(world->store, node, &err) < 0) {
            return told(-1, &err);
        }
    }
    return 0;
}

static int run_batch(void *context)
{
    struct world *world = context;
    struct sl_error err = {0};
    sl_store_begin(world->store);
    int rc = sl_store_put_node(world->store, sl_node_ref(world->node), &err);
    if (rc == 0) {
        rc = sl_store_put_pod(world->store, sl_pod_ref(world->pod), &err);
    }
    if (rc == 0) {
        rc = sl_store_end(world->store, &err);
    } else {
        (void)sl_store_end(world->store, NULL);
    }
    return told(rc, &err);
}

/* The generation counts tries too when a part was done, so it is left out. */
static void digest_without_generation(void *context, struct sl_buf *out)
{
    struct sl_buf all;
    sl_buf_init(&all, 1 << 20);
    digest_world(context, &all);
    sl_buf_putc(&all, '\0');
    assert_int_equal(all.failed, SL_BUF_OK);
    char *at = strstr(all.data, "generation ");
    sl_buf_append(out, all.data, (size_t)(at - all.data));
    sl_buf_puts(out, strchr(at + strlen("generation "), ' '));
    sl_buf_free(&all);
}

/* ---- binding ---- */

static int run_reserve(void *context)
{
    struct world *world = context;
    struct sl_bind_result result;
    reserve(world->store, "b", "u-b", "gpu-2", 0, &result);
    assert_true(result.code == SL_BIND_RESERVED || result.code == SL_BIND_NOMEM);
    if (result.code == SL_BIND_NOMEM) {
        assert_string_equal(result.text, "out of memory, nothing was changed");
        assert_string_equal(result.assignment, "");
        return -1;
    }
    return 0;
}

static int nomination_for_b(struct sl_store *store, const char *node)
{
    struct sl_bind_result result;
    sl_store_nominate(store, SL_STR("u-b"), sl_str_of(node), SL_STR(SLICE "=1/0,1/1,1/2,1/3"),
                      &result);
    assert_true(result.code == SL_BIND_RESERVED || result.code == SL_BIND_NOMEM);
    assert_int_equal(result.assignment[0] == '\0', result.code == SL_BIND_NOMEM);
    return result.code == SL_BIND_RESERVED ? 0 : -1;
}

static int run_nominate(void *context)
{
    return nomination_for_b(((struct world *)context)->store, "gpu-2");
}

static void *with_nomination(const void *given)
{
    struct world *world = setup_world(given);
    assert_int_equal(nomination_for_b(world->store, "gpu-2"), 0);
    return world;
}

static void *with_nomination_and_room_elsewhere(const void *given)
{
    struct world *world = with_nomination(given);
    put_node(world->store, sliced_node("gpu-3", 8));
    return world;
}

static int run_reserve_elsewhere(void *context)
{
    struct world *world = context;
    struct sl_bind_result result;
    reserve(world->store, "b", "u-b", "gpu-3", 0, &result);
    assert_true(result.code == SL_BIND_RESERVED || result.code == SL_BIND_NOMEM);
    return result.code == SL_BIND_RESERVED ? 0 : -1;
}

static int run_withdraw(void *context)
{
    struct world *world = context;
    return sl_store_withdraw(world->store, SL_STR("u-b")) ? 0 : -1;
}

static int run_delete_nominated_node(void *context)
{
    struct world *world = context;
    return sl_store_delete_node(world->store, SL_STR("gpu-2"), NULL);
}

static int run_commit(void *context)
{
    struct world *world = context;
    return sl_store_commit(world->store, SL_STR("u-r"), SL_POD_PENDING) ? 0 : -1;
}

static int run_rollback(void *context)
{
    struct world *world = context;
    return sl_store_rollback(world->store, SL_STR("u-r")) ? 0 : -1;
}

static int run_expire(void *context)
{
    struct world *world = context;
    return sl_store_expire(world->store, INT64_MAX) == 1 ? 0 : -1;
}

static int run_delete_pod(void *context)
{
    struct world *world = context;
    return delete_pod(world->store, "c");
}

static int run_delete_node(void *context)
{
    struct world *world = context;
    return sl_store_delete_node(world->store, SL_STR("gpu-1"), NULL);
}

/* A list without pods and with one node; what was reserved for the pods goes with them. */
static int run_sweep(void *context)
{
    struct world *world = context;
    sl_store_sweep_begin(world->store, SL_SWEEP_NODES);
    sl_store_sweep_begin(world->store, SL_SWEEP_PODS);
    sl_store_sweep_keep_node(world->store, SL_STR("gpu-2"));
    sl_store_sweep_keep_pod(world->store, SL_STR("default"), SL_STR("d"));
    assert_int_equal(sl_store_sweep_end(world->store, SL_SWEEP_PODS), 5);
    return sl_store_sweep_end(world->store, SL_SWEEP_NODES) == 1 ? 0 : -1;
}

/* Without memory for the phase that commit was told, the pod stands all the same. */
static int run_commit_running(void *context)
{
    struct world *world = context;
    assert_true(sl_store_commit(world->store, SL_STR("u-r"), SL_POD_RUNNING));
    struct sl_pod *pod = sl_store_pod(world->store, SL_STR("default"), SL_STR("r"));
    assert_string_equal(pod->node, "gpu-1");
    assert_string_equal(pod->assignment, SLICE "=0/0,0/1,0/2,0/3");
    sl_pod_unref(pod);
    return 0;
}

static void digest_free(void *context, struct sl_buf *out)
{
    struct world *world = context;
    sl_store_expire(world->store, 0);
    sl_buf_printf(out, "%lld %lld", (long long)free_now(world->store, "gpu-1", SLICE),
                  (long long)free_now(world->store, "gpu-2", SLICE));
}

/* All of gpu-1 is given back, whatever could be published; then e must find room for all 8. */
static int run_give_back_then_bind(void *context)
{
    struct world *world = context;
    struct sl_bind_result result;
    if (!world->half) {
        assert_true(sl_store_rollback(world->store, SL_STR("u-r")));
        assert_int_equal(delete_pod(world->store, "c"), 0);
        world->half = true;
    }
    reserve(world->store, "e", "u-e", "gpu-1", 0, &result);
    assert_true(result.code == SL_BIND_RESERVED || result.code == SL_BIND_NOMEM);
    return result.code == SL_BIND_RESERVED ? 0 : -1;
}

/* A pod comes to gpu-2 in a batch that could not be published; the bind must not give its slices.
 */
static int run_unpublished_then_bind(void *context)
{
    struct world *world = context;
    struct sl_bind_result result;
    if (!world->half) {
        sl_store_begin(world->store);
        int rc = sl_store_put_pod(world->store, sl_pod_ref(world->pod), NULL);
        world->half = rc == 0;
        (void)sl_store_end(world->store, NULL);
        if (rc < 0) {
            return -1;
        }
    }
    reserve(world->store, "b", "u-b", "gpu-2", 0, &result);
    assert_true(result.code == SL_BIND_NO_ROOM || result.code == SL_BIND_NOMEM);
    return result.code == SL_BIND_NO_ROOM ? 0 : -1;
}

/* ---- reading ---- */

static int run_fit(void *context)
{
    struct world *world = context;
    const struct sl_snapshot *snapshot = sl_store_acquire(world->store);
    const struct sl_score_config config = {.weight = {1, 1, 1}};
    struct sl_ask ask;
    struct sl_pod *pod = sl_store_pod(world->store, SL_STR("default"), SL_STR("b"));
    sl_pod_ask(pod, &ask);
    unsigned fits = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        struct sl_verdict verdict;
        struct sl_assignment assignment;
        struct sl_score score;
        bool fit = sl_fit(snapshot->view[i], &ask, &verdict);
        assert_int_equal(sl_choose(snapshot->view[i], &ask, &assignment, &verdict), fit);
        sl_score(snapshot->view[i], &ask, &snapshot->demand, &config, &score);
        fits += fit;
    }
    assert_int_equal(fits, 1);
    sl_pod_unref(pod);
    sl_store_release(world->store, snapshot);
    return 0;
}

static void *setup_nothing(const void *given)
{
    (void)given;
    return calloc(1, sizeof(struct world));
}

static int run_store_new(void *context)
{
    struct world *world = context;
    struct sl_error err = {0};
    world->store = sl_store_new(&roomy, &err);
    return told(world->store == NULL ? -1 : 0, &err);
}

static void digest_exists(void *context, struct sl_buf *out)
{
    sl_buf_puts(out, ((struct world *)context)->store == NULL ? "none" : "there");
}

/* A pod of a resource and on a node that nobody else names, a bind that expires, one that ends, and
 * a node that comes and goes. */
static void one_round(struct sl_store *store, int round)
{
    char name[32];
    char resource[64];
    struct sl_bind_result result;
    (void)snprintf(name, sizeof(name), "x%d", round);
    (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-1g.%dgb", 1000 + round);
    put_pod(store,
            (struct pod_spec){.name = name, .uid = name, .resource = resource, .node = name});
    assert_int_equal(delete_pod(store, name), 0);
    reserve(store, "a", "u-a", "gpu-2", round, &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    assert_true(sl_store_rollback(store, SL_STR("u-a")));
    put_node(store, whole_node(name, 1));
    put_pod(store, (struct pod_spec){.name = name, .uid = name, .resource = GPU});
    reserve(store, name, name, name, round, &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    assert_true(sl_store_commit(store, sl_str_of(name), SL_POD_RUNNING));
    put_pod(store,
            (struct pod_spec){
                .name = name, .uid = name, .resource = GPU, .node = name, .phase = "Failed"});
    assert_int_equal(sl_store_delete_node(store, sl_str_of(name), NULL), 0);
    assert_int_equal(delete_pod(store, name), 0);
}

void coming_and_going_leaves_nothing_behind(void **state)
{
    (void)state;
    struct world *world = setup_world(NULL);
    size_t live = 0;
    for (int round = 0; round < 20; round++) {
        one_round(world->store, round);
        if (round == 1) {
            live = chaos_live();
        }
    }
    assert_int_equal(chaos_live(), live);
    teardown_world(world);
}

#define WORLD .digest = digest_world, .teardown = teardown_world
#define POD(...)                                                                                   \
    .given = &(const struct pod_spec)                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define PUT  .setup = setup_world, .run = run_put_pod, WORLD
#define BACK .setup = setup_world, .must_finish = true, WORLD

const struct scenario cluster_scenarios[] = {
    {.name = "a store is made",
     .setup = setup_nothing,
     .run = run_store_new,
     .digest = digest_exists,
     .teardown = teardown_world},
    {.name = "a waiting pod comes", POD(.name = "n", .uid = "u-n", .resource = GPU), PUT},
    {.name = "a pod of two resources comes",
     POD(.name = "n", .uid = "u-n", .resource = GPU, .second = "nvidia.com/mig-2g.12gb"),
     PUT},
    {.name = "a bound pod comes",
     POD(.name = "n", .uid = "u-n", .resource = SLICE, .node = "gpu-2"),
     PUT},
    {.name = "a pod on a node not yet known comes",
     POD(.name = "n", .uid = "u-n", .resource = GPU, .node = "gpu-9"),
     PUT},
    {.name = "a pod moves",
     POD(.name = "c", .uid = "u-c", .resource = SLICE, .node = "gpu-2", .count = "4"),
     PUT},
    {.name = "a pod ends",
     POD(.name = "c", .uid = "u-c", .resource = SLICE, .node = "gpu-1", .count = "4",
         .phase = "Succeeded"),
     PUT},
    {.name = "a reserved pod is made anew", POD(.name = "r", .uid = "u-r2", .resource = GPU), PUT},
    {.name = "a reserved pod is seen bound",
     POD(.name = "r", .uid = "u-r", .resource = SLICE, .node = "gpu-1", .count = "4"),
     PUT},
    {.name = "a reserved pod is bound elsewhere",
     POD(.name = "r", .uid = "u-r", .resource = SLICE, .node = "gpu-2", .count = "4"),
     PUT},
    {.name = "news of a reserved pod",
     POD(.name = "r", .uid = "u-r", .resource = SLICE, .count = "4", .deleting = true),
     PUT},
    {.name = "a pod of no interest comes", POD(.name = "n", .uid = "u-n", .node = "gpu-2"), PUT},
    {.name = "a pod of no interest comes on a node not yet known",
     POD(.name = "n", .uid = "u-n", .node = "gpu-9"),
     PUT},
    {.name = "a pod asks for nothing any more",
     POD(.name = "c", .uid = "u-c", .node = "gpu-1"),
     PUT},
    {.name = "a node comes", .setup = with_new_node, .run = run_put_node, WORLD},
    {.name = "a node changes", .setup = with_changed_node, .run = run_put_node, WORLD},
    {.name = "many nodes and pods come",
     .setup = setup_world,
     .run = run_many,
     .digest = digest_without_generation,
     .teardown = teardown_world,
     .partial = true},
    {.name = "a batch",
     .setup = with_new_node,
     POD(.name = "n", .uid = "u-n", .resource = GPU, .node = "gpu-0"),
     .run = run_batch,
     .digest = digest_without_generation,
     .teardown = teardown_world,
     .partial = true},
    {.name = "reserve", .setup = setup_world, .run = run_reserve, WORLD},
    {.name = "nomination", .setup = setup_world, .run = run_nominate, WORLD},
    {.name = "reserve what is nominated", .setup = with_nomination, .run = run_reserve, WORLD},
    {.name = "reserve elsewhere than nominated",
     .setup = with_nomination_and_room_elsewhere,
     .run = run_reserve_elsewhere,
     WORLD},
    {.name = "a pod with a nomination is bound elsewhere",
     .setup = with_nomination,
     POD(.name = "b", .uid = "u-b", .resource = SLICE, .count = "4", .node = "gpu-1"),
     .run = run_put_pod,
     WORLD},
    {.name = "withdraw", .setup = with_nomination, .run = run_withdraw, .must_finish = true, WORLD},
    {.name = "delete a node with a nomination",
     .setup = with_nomination,
     .run = run_delete_nominated_node,
     .must_finish = true,
     WORLD},
    {.name = "commit", .run = run_commit, BACK},
    {.name = "roll back", .run = run_rollback, BACK},
    {.name = "expire", .run = run_expire, BACK},
    {.name = "delete a pod", .run = run_delete_pod, BACK},
    {.name = "delete a node", .run = run_delete_node, BACK},
    {.name = "sweep", .run = run_sweep, BACK},
    {.name = "commit in another phase",
     .setup = setup_world,
     .run = run_commit_running,
     .digest = digest_free,
     .teardown = teardown_world,
     .must_finish = true},
    {.name = "give back, then bind",
     .setup = setup_world,
     .run = run_give_back_then_bind,
     .digest = digest_without_generation,
     .teardown = teardown_world,
     .partial = true},
    {.name = "bind beside what is not published",
     .setup = setup_world,
     POD(.name = "c", .uid = "u-c", .resource = SLICE, .node = "gpu-2", .count = "4"),
     .run = run_unpublished_then_bind,
     .digest = digest_without_generation,
     .teardown = teardown_world,
     .partial = true},
    {.name = "fit, choose and score",
     .setup = setup_world,
     .run = run_fit,
     .no_memory = true,
     WORLD},
};

const size_t n_cluster_scenarios = sizeof(cluster_scenarios) / sizeof(cluster_scenarios[0]);
