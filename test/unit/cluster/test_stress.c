/* 64 threads nomination for, bind, end and remake pods on a cluster that is always too small, while
 * others read, and one withholds nodes as if to have them cut. Whether anything was given twice is
 * judged without the core: from the texts of the assignments, in a table of places where each
 * holder must find zero and leaves its own number. */
#include <pthread.h>
#include <stdatomic.h>

#include "unit/cluster/fixture.h"

enum {
    NODES = 16,
    GPUS = 2,   /* on each node */
    STARTS = 4, /* slices on each GPU */
    SLOTS = NODES * GPUS * STARTS,
    PODS = 400,
    BINDERS = 64,
    READERS = 4,
    BINDS = 10000,
    SLICES_MAX = 2, /* that one pod asks for */
};

/* Stands in for core/cut: which cuts the hardware allows is not the question here. */
bool sl_cut_allowed(const struct sl_view *view, const struct sl_cut *cut, size_t n,
                    struct sl_cut_limits limits,
                    char *reason, // NOLINT(readability-non-const-parameter)
                    size_t size)
{
    (void)cut;
    (void)n;
    (void)limits;
    (void)reason;
    (void)size;
    return !view->withheld;
}

enum { WAITING, BUSY, BOUND };

/* Who holds the token (state BUSY) may end the pod; who got the reservation may finish its bind. */
struct player {
    atomic_int state;
    atomic_uint uid;
    atomic_int reserved; /* calls that hold its reservation: 0 or 1 */
    unsigned slices;
    int node;
    char assignment[SL_ASSIGNMENT_TEXT_MAX];
};

static struct sl_store *store;
static struct player players[PODS];
static atomic_int holder[NODES][GPUS][STARTS]; /* pod + 1 */
static atomic_bool withheld[NODES];
static atomic_int defects;
static atomic_uint reserved;
static atomic_uint committed;
static atomic_uint rolled_back;
static atomic_uint refused;
static atomic_uint nominated;
static atomic_uint cuts;
static atomic_uint fed[PODS]; /* UID of the pod that the queue believes to wait, plus one */
static atomic_bool over;

static void check(bool good)
{
    if (!good) {
        atomic_fetch_add(&defects, 1);
    }
}

static void node_name(int node, char out[16])
{
    snprintf(out, 16, "node-%d", node);
}

static void pod_name(int pod, char out[16])
{
    snprintf(out, 16, "pod-%d", pod);
}

static void uid_name(int pod, unsigned uid, char out[32])
{
    snprintf(out, 32, "%d-%u", pod, uid);
}

/* Changes the places that the text names from one holder to another; counts what it finds wrong. */
static void mark(const char *text, int node, unsigned slices, int from, int to)
{
    const char *prefix = SLICE "=";
    check(strncmp(text, prefix, strlen(prefix)) == 0);
    const char *at = text + strlen(prefix);
    unsigned n = 0;
    while (*at != '\0') {
        unsigned gpu = (unsigned)(at[0] - '0');
        unsigned start = (unsigned)(at[2] - '0');
        bool good = at[1] == '/' && gpu < GPUS && start < STARTS;
        check(good);
        if (!good) {
            return;
        }
        int expected = from;
        check(atomic_compare_exchange_strong(&holder[node][gpu][start], &expected, to));
        n++;
        at += at[3] == ',' ? 4 : 3;
    }
    check(n == slices);
}

static void put_player(int pod)
{
    struct player *player = &players[pod];
    char name[16];
    char uid[32];
    char count[8];
    pod_name(pod, name);
    uid_name(pod, atomic_load(&player->uid), uid);
    snprintf(count, sizeof(count), "%u", player->slices);
    struct pod_spec spec = {.name = name, .uid = uid, .resource = SLICE, .count = count};
    check(sl_store_put_pod(store, pod_of(&spec), NULL) == 0);
}

/* The reservation is ours: commit it, or roll it back in one of eight cases. */
static void finish(int pod, int node, unsigned uid, const struct sl_bind_result *result,
                   uint64_t *seed)
{
    struct player *player = &players[pod];
    char uid_text[32];
    uid_name(pod, uid, uid_text);
    check(atomic_fetch_add(&player->reserved, 1) == 0);
    check(!atomic_load(&withheld[node]));
    mark(result->assignment, node, player->slices, 0, pod + 1);
    atomic_fetch_add(&reserved, 1);
    if (random_below(seed, 8) == 0) {
        mark(result->assignment, node, player->slices, pod + 1, 0);
        check(atomic_fetch_sub(&player->reserved, 1) == 1);
        check(sl_store_rollback(store, sl_str_of(uid_text)));
        atomic_fetch_add(&rolled_back, 1);
        return;
    }
    player->node = node;
    memcpy(player->assignment, result->assignment, sizeof(player->assignment));
    check(sl_store_commit(store, sl_str_of(uid_text), SL_POD_RUNNING));
    atomic_fetch_add(&committed, 1);
    check(atomic_fetch_sub(&player->reserved, 1) == 1);
    atomic_store(&player->state, BOUND);
}

static void try_bind(int pod, uint64_t *seed)
{
    char name[16];
    char uid_text[32];
    char node_text[16];
    int node = (int)random_below(seed, NODES);
    unsigned uid = atomic_load(&players[pod].uid);
    pod_name(pod, name);
    uid_name(pod, uid, uid_text);
    node_name(node, node_text);
    struct sl_bind_result result;
    reserve(store, name, uid_text, node_text, 0, &result);
    switch (result.code) {
    case SL_BIND_RESERVED:
        finish(pod, node, uid, &result, seed);
        break;
    case SL_BIND_NO_ROOM:
        check(result.verdict.free < (int64_t)players[pod].slices);
        atomic_fetch_add(&refused, 1);
        break;
    case SL_BIND_ALREADY:
        check(strncmp(result.assignment, SLICE "=", strlen(SLICE "=")) == 0);
        break;
    case SL_BIND_IN_PROGRESS:
    case SL_BIND_OTHER_NODE:
    case SL_BIND_OTHER_UID:
    case SL_BIND_UNKNOWN_POD:
        break;
    default:
        check(false);
        break;
    }
}

/* Nominations what a snapshot, old by then, says is free; or gives a nomination back. */
static void try_nominate(int pod, uint64_t *seed)
{
    char uid_text[32];
    struct sl_bind_result result;
    uid_name(pod, atomic_load(&players[pod].uid), uid_text);
    if (random_below(seed, 4) == 0) {
        (void)sl_store_withdraw(store, sl_str_of(uid_text));
        return;
    }
    struct sl_ask ask = {.n = 1};
    struct sl_assignment assignment;
    char text[SL_ASSIGNMENT_TEXT_MAX];
    ask.item[0] = (struct sl_ask_item){.resource = SLICE,
                                       .key = sl_hash(SLICE, strlen(SLICE)),
                                       .count = players[pod].slices,
                                       .kind = SL_KIND_MIG};
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    const struct sl_view *view = snapshot->view[random_below(seed, NODES)];
    if (sl_choose(view, &ask, &assignment, NULL) &&
        sl_assignment_format(view->node, &ask, &assignment, text, sizeof(text)) > 0) {
        sl_store_nominate(store, sl_str_of(uid_text), sl_str_of(view->node->name), sl_str_of(text),
                          &result);
        check(result.code == SL_BIND_RESERVED || result.code == SL_BIND_NOT_NOMINATED ||
              result.code == SL_BIND_ALREADY || result.code == SL_BIND_IN_PROGRESS ||
              result.code == SL_BIND_OTHER_NODE || result.code == SL_BIND_UNKNOWN_POD);
        check((result.code == SL_BIND_RESERVED) == (strcmp(result.assignment, text) == 0) ||
              result.code == SL_BIND_ALREADY);
        atomic_fetch_add(&nominated, result.code == SL_BIND_RESERVED ? 1 : 0);
    }
    sl_store_release(store, snapshot);
}

/* With the store's lock held: no two at once. */
static void hear(void *context, struct sl_pod *pod, bool waits)
{
    (void)context;
    long i = strtol(pod->name + strlen("pod-"), NULL, 10);
    unsigned uid = (unsigned)strtoul(strchr(pod->uid, '-') + 1, NULL, 10) + 1;
    unsigned before = atomic_exchange(&fed[i], waits ? uid : 0);
    check(waits ? before == 0 || before == uid : before == uid);
}

/* Ends a bound pod and makes it anew, with another UID. */
static void end_and_remake(int pod, uint64_t *seed)
{
    struct player *player = &players[pod];
    int expected = BOUND;
    if (!atomic_compare_exchange_strong(&player->state, &expected, BUSY)) {
        return;
    }
    char name[16];
    pod_name(pod, name);
    mark(player->assignment, player->node, player->slices, pod + 1, 0);
    bool remove = random_below(seed, 2) == 0;
    if (remove) {
        check(sl_store_delete_pod(store, SL_STR("default"), sl_str_of(name), SL_STR(""), NULL) ==
              0);
    }
    atomic_store(&player->state, WAITING);
    atomic_fetch_add(&player->uid, 1);
    put_player(pod);
}

static void *binder(void *context)
{
    uint64_t seed = *(const uint64_t *)context;
    /* until a cut was among them, however seldom its thread gets a processor */
    while (atomic_load(&reserved) < BINDS || atomic_load(&cuts) == 0) {
        int pod = (int)random_below(&seed, PODS);
        unsigned dice = random_below(&seed, 8);
        if (dice < 2) {
            end_and_remake(pod, &seed);
        } else if (dice == 2) {
            try_nominate(pod, &seed);
        } else {
            try_bind(pod, &seed);
        }
    }
    return NULL;
}

/* What every single snapshot must be: no place held twice, sums that agree. */
static void check_snapshot(const struct sl_snapshot *snapshot)
{
    size_t residents = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        const struct sl_view *view = snapshot->view[i];
        int64_t held[GPUS * STARTS] = {0};
        int64_t used = 0;
        residents += view->n_residents;
        for (uint32_t k = 0; k < view->n_residents; k++) {
            const struct sl_resident *resident = &view->resident[k];
            check(!resident->assumed);
            for (uint32_t p = 0; p < resident->n_parts; p++) {
                const struct sl_assignment_part *part = &view->part[resident->first_part + p];
                check(part->instance >= 0 && part->instance < GPUS * STARTS && part->amount == 1);
                check(held[part->instance]++ == 0);
                used++;
            }
        }
        check(free_at(snapshot, view->node->name, SLICE) ==
              (view->withheld ? 0 : (int64_t)GPUS * STARTS - used));
    }
    check(snapshot->n_bound + snapshot->n_nominated == residents);
    check(snapshot->n_nominated <= snapshot->n_waiting);
    check(snapshot->n_pods == snapshot->n_waiting + snapshot->n_bound);
    check(snapshot->n_reserved <= snapshot->n_bound);
}

static void *reader(void *context)
{
    uint64_t last = 0;
    (void)context;
    while (!atomic_load(&over)) {
        const struct sl_snapshot *snapshot = sl_store_acquire(store);
        check(snapshot->generation >= last);
        last = snapshot->generation;
        check_snapshot(snapshot);
        sl_store_release(store, snapshot);
    }
    return NULL;
}

/* Withholds a node whenever nothing is about to start there; reads the cluster meanwhile. */
static void *cutter(void *context)
{
    uint64_t seed = 7;
    (void)context;
    while (!atomic_load(&over)) {
        char name[16];
        char reason[160];
        unsigned node = random_below(&seed, NODES);
        node_name((int)node, name);
        if (!sl_store_cut_begin(store, sl_str_of(name), NULL, 0, (struct sl_cut_limits){0}, reason,
                                sizeof(reason))) {
            continue;
        }
        atomic_store(&withheld[node], true);
        const struct sl_snapshot *snapshot = sl_store_acquire(store);
        check(view_at(snapshot, name)->withheld);
        check_snapshot(snapshot);
        sl_store_release(store, snapshot);
        atomic_store(&withheld[node], false);
        check(sl_store_cut_end(store, sl_str_of(name)));
        atomic_fetch_add(&cuts, 1);
    }
    return NULL;
}

static void play(void)
{
    pthread_t threads[BINDERS + READERS];
    pthread_t cutting;
    uint64_t seeds[BINDERS];
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&threads[BINDERS + i], NULL, reader, NULL), 0);
    }
    assert_int_equal(pthread_create(&cutting, NULL, cutter, NULL), 0);
    for (int i = 0; i < BINDERS; i++) {
        seeds[i] = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
        assert_int_equal(pthread_create(&threads[i], NULL, binder, &seeds[i]), 0);
    }
    for (int i = 0; i < BINDERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    atomic_store(&over, true);
    assert_int_equal(pthread_join(cutting, NULL), 0);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(threads[BINDERS + i], NULL), 0);
    }
}

/* At the end the texts of those that are bound and the table must agree place by place. */
static void expect_table_of_the_bound(void)
{
    size_t bound = 0;
    size_t slices = 0;
    (void)sl_store_withdraw_all(store);
    for (int pod = 0; pod < PODS; pod++) {
        bool waits = atomic_load(&players[pod].state) == WAITING;
        assert_int_equal(atomic_load(&fed[pod]), waits ? atomic_load(&players[pod].uid) + 1 : 0);
        if (atomic_load(&players[pod].state) == BOUND) {
            mark(players[pod].assignment, players[pod].node, players[pod].slices, pod + 1, 0);
            bound++;
            slices += players[pod].slices;
        }
    }
    for (int node = 0; node < NODES; node++) {
        for (int slot = 0; slot < GPUS * STARTS; slot++) {
            assert_int_equal(atomic_load(&holder[node][slot / STARTS][slot % STARTS]), 0);
        }
    }
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    int64_t left = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        left += free_at(snapshot, snapshot->view[i]->node->name, SLICE);
    }
    assert_int_equal(left, SLOTS - slices);
    assert_int_equal(snapshot->n_bound, bound);
    assert_int_equal(snapshot->n_reserved, 0);
    assert_int_equal(snapshot->n_pods, PODS);
    check_snapshot(snapshot);
    sl_store_release(store, snapshot);
}

TEST_THAT(nothing_is_given_twice_by_ten_thousand_binds_of_64_threads)
{
    store = store_of(&roomy);
    sl_store_set_feed(store, hear, NULL);
    for (int node = 0; node < NODES; node++) {
        char name[16];
        node_name(node, name);
        put_node(store, sliced_node(name, GPUS * STARTS));
    }
    for (int pod = 0; pod < PODS; pod++) {
        players[pod].slices = 1 + (unsigned)pod % SLICES_MAX;
        put_player(pod);
    }

    play();

    struct sl_store_stats stats;
    sl_store_stats(store, &stats);
    expect_table_of_the_bound();
    assert_int_equal(atomic_load(&defects), 0);
    assert_true(atomic_load(&reserved) >= BINDS);
    assert_true(atomic_load(&refused) > 0);
    assert_true(atomic_load(&nominated) > 0);
    assert_true(atomic_load(&cuts) > 0);
    assert_int_equal(stats.binds, atomic_load(&committed));
    assert_int_equal(stats.rollbacks, atomic_load(&rolled_back));
    assert_int_equal(stats.binds + stats.rollbacks, atomic_load(&reserved));
    assert_int_equal(stats.expiries, 0);
    sl_store_free(store);
}
