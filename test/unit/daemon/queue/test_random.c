/* Whatever happens and whatever fails: a pod is released once for a nomination, every nomination
 * ends, the store has no nomination that nobody knows of, and in the end every pod has run. */
#include "queue_rig.h"

enum { SEEDS = 120, STEPS = 150, PODS_MAX = 24, NODES = 3 };

enum fate { FATE_WAITS, FATE_RUNS, FATE_OVER };

struct pod {
    char name[NAME_BYTES];
    char node[NAME_BYTES];
    enum fate fate;
    bool gated; /* the gate is shut */
};

struct world {
    struct queue_rig *rig;
    uint64_t random;
    struct pod pod[PODS_MAX];
    unsigned n;
    unsigned looked; /* releases that the checks have seen */
    enum sl_release_end end[RELEASES_MAX];
    uint64_t nomination[RELEASES_MAX];
};

static uint64_t draw(struct world *world, uint64_t n)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random % n;
}

static struct pod *pod_of(struct world *world, const char *uid)
{
    for (unsigned i = 0; i < world->n; i++) {
        if (strcmp(world->pod[i].name, uid + 2) == 0) {
            return &world->pod[i];
        }
    }
    return NULL;
}

static void show(struct world *world, const struct pod *pod)
{
    const struct rig_pod spec = {.name = pod->name,
                                 .node = pod->fate == FATE_WAITS ? NULL : pod->node,
                                 .gated = pod->gated,
                                 .ended = pod->fate == FATE_OVER,
                                 .timeout = "1h",
                                 .gpus = 1 + (pod->name[1] - '0') % 2};
    struct sl_pod *made = rig_pod_new(world->rig, &spec);
    (void)sl_store_put_pod(world->rig->store, made, NULL);
}

static void add_pod(struct world *world)
{
    struct pod *pod = &world->pod[world->n];
    if (world->n == PODS_MAX) {
        return;
    }
    *pod = (struct pod){.gated = draw(world, 4) > 0};
    (void)snprintf(pod->name, sizeof(pod->name), "p%02u", world->n);
    world->n++;
    show(world, pod);
}

/* kube-scheduler binds one that it has, where it was nominated or somewhere else. */
static void bind_pod(struct world *world, struct pod *pod)
{
    char uid[NAME_BYTES];
    char node[300];
    struct sl_bind_result result;
    (void)snprintf(uid, sizeof(uid), "u-%.60s", pod->name);
    if (pod->fate != FATE_WAITS || pod->gated ||
        rig_state(world->rig, pod->name) != SL_QUEUE_NOMINATED) {
        return;
    }
    if (!sl_store_nominated_node(world->rig->store, sl_str_of(uid), node, sizeof(node)) ||
        draw(world, 6) == 0) {
        (void)snprintf(node, sizeof(node), "n%u", (unsigned)draw(world, NODES));
    }
    sl_store_reserve(world->rig->store, SL_STR("default"), sl_str_of(pod->name), sl_str_of(uid),
                     sl_str_of(node), world->rig->now_us, &result);
    if (result.code != SL_BIND_RESERVED) {
        return;
    }
    if (draw(world, 5) == 0) {
        (void)sl_store_rollback(world->rig->store, sl_str_of(uid)); /* the API server refused it */
        return;
    }
    (void)snprintf(pod->node, sizeof(pod->node), "%.*s", NAME_BYTES - 1, node);
    pod->fate = FATE_RUNS;
    assert_true(sl_store_commit(world->rig->store, sl_str_of(uid), SL_POD_PENDING));
    show(world, pod);
}

static void answer_one(struct world *world, bool well)
{
    struct queue_rig *rig = world->rig;
    for (unsigned i = 0; i < rig->n_released; i++) {
        struct pod *pod = pod_of(world, rig->released[i].uid);
        if (rig->released[i].call == NULL || (!well && draw(world, 3) == 0)) {
            continue;
        }
        enum sl_release_end end =
            well ? SL_RELEASE_RELEASED : (enum sl_release_end)draw(world, SL_RELEASE_ENDS);
        end = end == SL_RELEASE_GONE ? SL_RELEASE_RELEASED : end;
        if (pod != NULL &&
            (end == SL_RELEASE_RELEASED || (end == SL_RELEASE_UNKNOWN && draw(world, 2) == 0))) {
            pod->gated = false;
            show(world, pod);
        }
        world->end[i] = end;
        rig_answer(rig, i, end);
        return;
    }
}

static void happen(struct world *world)
{
    struct queue_rig *rig = world->rig;
    struct pod *pod = world->n == 0 ? NULL : &world->pod[draw(world, world->n)];
    switch (draw(world, 12)) {
    case 0:
    case 1:
    case 2:
        add_pod(world);
        break;
    case 3:
    case 4:
    case 5:
        answer_one(world, false);
        break;
    case 6:
    case 7:
    case 8:
        if (pod != NULL) {
            bind_pod(world, pod);
        }
        break;
    case 9:
        if (pod != NULL && pod->fate == FATE_RUNS) {
            pod->fate = FATE_OVER;
            show(world, pod);
        }
        break;
    case 10:
        rig->worker->max_letters = draw(world, 4) == 0 ? 0 : 1000;
        rig->now_us += (int64_t)draw(world, 8) * SECOND;
        break;
    default:
        if (draw(world, 8) == 0) {
            rig->leadership = draw(world, 3) == 0 ? 0 : rig->leadership + 1;
        }
        break;
    }
}

/* The same nomination is released again only after its release has surely failed. */
static void check_releases(struct world *world)
{
    const struct queue_rig *rig = world->rig;
    for (; world->looked < rig->n_released; world->looked++) {
        const struct released *fresh = &rig->released[world->looked];
        const struct sl_queue_call *call = fresh->call;
        uint64_t number = call->number + (call->leaderships << 32);
        world->nomination[world->looked] = number;
        assert_int_equal(fresh->leadership, rig->leadership);
        for (unsigned i = 0; i < world->looked; i++) {
            if (world->nomination[i] == number) {
                assert_string_equal(rig->released[i].uid, fresh->uid);
                assert_null(rig->released[i].call);
                assert_int_equal(world->end[i], SL_RELEASE_FAILED);
            }
        }
    }
}

static void check_nominations(struct world *world)
{
    struct queue_rig *rig = world->rig;
    struct sl_queue_stats stats;
    unsigned nominated = 0;
    unsigned in_store = 0;
    for (unsigned i = 0; i < world->n; i++) {
        bool is = rig_state(rig, world->pod[i].name) == SL_QUEUE_NOMINATED;
        bool has = rig_nominate(rig, world->pod[i].name)[0] != '\0';
        nominated += is ? 1 : 0;
        in_store += has ? 1 : 0;
        assert_true(is || !has); /* no nomination that the queue does not know of */
    }
    sl_queue_stats(rig->worker, &stats);
    assert_int_equal(stats.outstanding, nominated);
    const struct sl_snapshot *snapshot = sl_store_acquire(rig->store);
    assert_int_equal(snapshot->n_nominated, in_store);
    sl_store_release(rig->store, snapshot);
}

static void step(struct world *world)
{
    (void)rig_round(world->rig);
    check_releases(world);
    check_nominations(world);
}

/* From here on nothing fails: every pod gets its turn, runs and ends. */
static void finish(struct world *world)
{
    struct queue_rig *rig = world->rig;
    rig->leadership++;
    rig->worker->max_letters = 1000;
    for (unsigned i = 0; i < 40 * PODS_MAX; i++) {
        unsigned over = 0;
        answer_one(world, true);
        for (unsigned k = 0; k < world->n; k++) {
            struct pod *pod = &world->pod[k];
            bind_pod(world, pod);
            if (pod->fate == FATE_RUNS && draw(world, 2) == 0) {
                pod->fate = FATE_OVER;
                show(world, pod);
            }
            over += pod->fate == FATE_OVER ? 1 : 0;
        }
        if (over == world->n) {
            break;
        }
        rig->now_us += 5 * SECOND;
        step(world);
    }
    for (unsigned i = 0; i < world->n; i++) {
        if (world->pod[i].fate != FATE_OVER) {
            fail_msg("pod %s has not run", world->pod[i].name);
        }
    }
    step(world);
    assert_int_equal(rig->worker->outstanding, 0);
}

TEST_THAT(whatever_fails_a_nomination_is_released_once_and_ends)
{
    static struct queue_rig rig;
    static struct world world;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        memset(&world, 0, sizeof(world));
        world.rig = &rig;
        world.random = seed * UINT64_C(0x9e3779b97f4a7c15);
        rig_begin(&rig);
        rig.config.queue.hold_s = 10;
        rig.config.queue.order = (enum sl_order_kind)draw(&world, SL_ORDER_KINDS);
        for (unsigned i = 0; i < NODES; i++) {
            char name[8];
            (void)snprintf(name, sizeof(name), "n%u", i);
            rig_node(&rig, name, 2);
        }
        rig_start(&rig);
        for (unsigned i = 0; i < STEPS; i++) {
            happen(&world);
            if (draw(&world, 3) > 0) {
                step(&world);
            }
        }
        finish(&world);
        rig_end(&rig);
    }
}
