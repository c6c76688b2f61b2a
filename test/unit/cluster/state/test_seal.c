/* Nobody changes what the store has published: a build whose checks stop sees who does. */
#include "unit/cluster/fixture.h"

#include "util/check.h"

#ifdef SL_CHECKS_STOP
enum { SEEN = 1 };
#else
enum { SEEN = 0 }; /* a release keeps no seals */
#endif

static int failures;

/* Take the places of the library's, one of which stops. */
void sl_check_failed(const char *what, const char *file, int line)
{
    (void)file;
    (void)line;
    assert_non_null(strstr(what, "seal"));
    failures++;
}

uint64_t sl_checks_failed(void)
{
    return (uint64_t)failures;
}

enum what {
    NOTHING,
    ROOM,
    USE,
    PLACES,
    RESIDENT,
    HOST,
    IDLE,
    MEASURED,
    POD,
    NODE,
    DEVICE,
    VIEWS,
    COUNTS
};

/* A byte of what a snapshot shows, which is constant for all who hold one. */
static void *byte_of(const struct sl_snapshot *snapshot, enum what what)
{
    const struct sl_view *view = snapshot->view[0];
    switch (what) {
    case ROOM:
        return (void *)&view->room[0].free;
    case USE:
        return &view->instance_used[0];
    case PLACES:
        return &view->part[0].instance;
    case RESIDENT:
        return &view->resident[0].assumed;
    case HOST:
        return (void *)&view->cpu_milli;
    case IDLE:
        return &view->gap[1];
    case MEASURED:
        return &view->measured[1].load;
    case POD:
        return &view->resident[0].pod->timeout_s;
    case NODE:
        return &view->node->unschedulable;
    case DEVICE:
        return &view->node->device[1].healthy;
    case VIEWS:
        return (void *)&snapshot->view[0];
    case COUNTS:
        return (void *)&snapshot->n_waiting;
    default:
        return NULL;
    }
}

/* Changes it, and forgets earlier failures. */
static void flip(const struct sl_snapshot *snapshot, enum what what)
{
    uint8_t *byte = byte_of(snapshot, what);
    failures = 0;
    if (byte != NULL) {
        *byte ^= 1;
    }
}

static const struct {
    const char *name;
    enum what what;
    int seen;
} changes[] = {
    {"nothing", NOTHING, 0},
    {"room", ROOM, SEEN},
    {"use", USE, SEEN},
    {"places", PLACES, SEEN},
    {"a resident", RESIDENT, SEEN},
    {"the host", HOST, SEEN},
    {"idle steps", IDLE, SEEN},
    {"a measurement", MEASURED, SEEN},
    {"a pod", POD, SEEN},
    {"the node", NODE, SEEN},
    {"a device", DEVICE, SEEN},
    {"views", VIEWS, SEEN},
    {"counts", COUNTS, SEEN},
};

/* It is seen once nobody holds what was changed any more. */
TEST_EACH(a_change_behind_the_stores_back_is_seen, changes)
{
    struct sl_store *store = store_of(&roomy);
    const struct sl_measured measured[2] = {sl_measured_none, sl_measured_none};
    const struct sl_node_measured node = {SL_STR("gpu-1"), measured, 2};
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    assert_int_equal(sl_store_put_measured(store, &node, 1, NULL), 0);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    flip(snapshot, row->what);
    sl_store_release(store, snapshot);
    sl_store_free(store);
    assert_int_equal(failures, row->seen);
}

/* It does not take the store's end: a replaced view is looked at when it is freed. */
TEST_THAT(a_change_of_a_view_that_is_replaced_is_seen)
{
    struct sl_store *store = store_of(&roomy);
    put_node(store, sliced_node("gpu-1", 8));
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    flip(snapshot, ROOM);
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    assert_int_equal(failures, 0);
    sl_store_release(store, snapshot);
    assert_int_equal(failures, SEEN);
    sl_store_free(store);
    assert_int_equal(failures, SEEN);
}
