/* What is said of pods on random nodes where the kubelet has given other units than sliced assumed,
 * and the exporter names pods or does not: it is true of the units that they really have. */
#include "unit/core/rig.h"

#include "sliced/usage.h"

#define GPU   "nvidia.com/gpu"
#define SMALL "nvidia.com/mig-1g.5gb"
#define LARGE "nvidia.com/mig-3g.20gb"

enum {
    ROUNDS = 4000,
    PLAIN = 3,
    INSTANCES = 4,
    UNITS = PLAIN + INSTANCES,
    PODS = 5,
    RUNS_S = 500,
    SINCE = 1000
};

/* A GPU, or an instance of the last one. */
struct unit {
    int pod; /* -1: nobody's */
    int64_t idle_us;
    int32_t used_mib;
    bool told;
    bool named;
};

struct world {
    struct rig *rig;
    struct unit unit[UNITS];
    struct sl_usage_row row[UNITS];
    size_t n;
    unsigned n_pods;
    uint64_t seed;
};

static unsigned draw(struct world *world, unsigned n)
{
    return rig_random(&world->seed, n);
}

static struct rig *a_node(void)
{
    struct rig *rig = rig_new();
    const struct sl_mig_model *model = rig_model("A100-40GB / A800-40GB");
    rig_pool(rig, GPU, SL_KIND_WHOLE, PLAIN);
    unsigned small = rig_pool(rig, SMALL, SL_KIND_MIG, 2);
    unsigned large = rig_pool(rig, LARGE, SL_KIND_MIG, 2);
    rig->pool[small].profile = rig_profile(model, "1g.5gb");
    rig->pool[large].profile = rig_profile(model, "3g.20gb");
    for (unsigned d = 0; d <= PLAIN; d++) {
        rig->device[rig_device(rig, 0)].model = model;
    }
    rig->device[0].uuid = "GPU-a";
    rig->device[1].uuid = "GPU-b";
    rig_instance(rig, PLAIN, 0, small);
    rig_instance(rig, PLAIN, 1, small);
    rig_instance(rig, PLAIN, 2, large);
    rig_instance(rig, PLAIN, 4, large);
    return rig;
}

static const char *resource_of(unsigned unit)
{
    return unit < PLAIN ? GPU : unit < PLAIN + 2 ? SMALL : LARGE;
}

/* The kubelet gives the pod free units, whichever it likes. */
static bool give(struct world *world, const char *resource, unsigned count, int pod)
{
    unsigned first = draw(world, UNITS);
    unsigned free = 0;
    for (unsigned i = 0; i < UNITS; i++) {
        free += world->unit[i].pod < 0 && strcmp(resource_of(i), resource) == 0;
    }
    for (unsigned i = 0; i < UNITS && free >= count; i++) {
        struct unit *unit = &world->unit[(first + i) % UNITS];
        bool its = unit->pod < 0 && strcmp(resource_of((first + i) % UNITS), resource) == 0;
        unit->pod = its && count > 0 ? pod : unit->pod;
        count -= its && count > 0;
    }
    return count == 0;
}

static void start_pods(struct world *world)
{
    static const char *const resources[] = {GPU, SMALL, LARGE};
    for (unsigned i = draw(world, PODS); i > 0; i--) {
        struct sl_ask ask = rig_ask(resources[draw(world, 3)], 1 + draw(world, 2));
        if (give(world, ask.item[0].resource, (unsigned)ask.item[0].count, (int)world->n_pods)) {
            rig_run(world->rig, ask, NULL)->started_us =
                world->n_pods == 0 ? 0 : (int64_t)world->n_pods * RUNS_S * 1000000;
            world->n_pods++;
        }
    }
}

static void put_row(struct world *world, unsigned i, bool by_uuid)
{
    const struct unit *unit = &world->unit[i];
    struct sl_usage_row *row = &world->row[world->n++];
    const bool whole = i < PLAIN;
    *row = (struct sl_usage_row){.gpu = whole ? (int32_t)i : PLAIN,
                                 .instance = whole ? -1 : (int32_t)(7 + i),
                                 .measured = sl_measured_none,
                                 .idle_us = unit->idle_us,
                                 .since_us = SINCE + (int64_t)i};
    row->measured.used_mib = unit->used_mib;
    if (!whole) {
        (void)snprintf(row->profile, sizeof(row->profile), "%s",
                       i < PLAIN + 2 ? "1g.5gb" : "3g.20gb");
    } else if (by_uuid && i < 2) { /* the index is the exporter's own then */
        row->gpu = 1 - (int32_t)i;
        (void)snprintf(row->uuid, sizeof(row->uuid), "%s", i == 0 ? "GPU-a" : "GPU-b");
    }
    if (unit->named) {
        const struct sl_pod *pod = &world->rig->pods[unit->pod].pod;
        row->names.used_mib[row->names.n] = -1;
        row->names.pod[row->names.n++] =
            sl_usage_pod_key(sl_str_of(pod->namespace), sl_str_of(pod->name));
    }
}

static void measure(struct world *world)
{
    const bool by_uuid = draw(world, 2) == 0;
    const unsigned naming = draw(world, 3); /* none, all, some */
    for (unsigned i = 0; i < UNITS; i++) {
        struct unit *unit = &world->unit[i];
        bool busy = unit->pod >= 0 && draw(world, 3) == 0;
        unit->idle_us = busy ? 0 : (int64_t)(1 + draw(world, 3000)) * 1000000;
        unit->idle_us = draw(world, 12) == 0 ? -1 : unit->idle_us; /* nobody knows */
        unit->used_mib = unit->pod < 0 ? 0 : (int32_t)draw(world, 9000);
        unit->named = unit->pod >= 0 && (naming == 1 || (naming == 2 && draw(world, 2) == 0));
        unit->told = draw(world, 12) > 0;
        if (unit->told) {
            put_row(world, i, by_uuid);
        }
    }
}

/* For how long the units all idle, or some: -1 when nobody knows. */
struct idle {
    int64_t least_us;
    int64_t most_us;
    unsigned n;
    unsigned named;
    int64_t used_mib;
};

static void add_unit(struct idle *idle, const struct unit *unit)
{
    int64_t idle_us = unit->told ? unit->idle_us : -1;
    idle->least_us = idle->n == 0 || idle_us < idle->least_us ? idle_us : idle->least_us;
    idle->most_us = idle_us > idle->most_us ? idle_us : idle->most_us;
    idle->used_mib = unit->told && idle->used_mib >= 0 ? idle->used_mib + unit->used_mib : -1;
    idle->named += unit->told && unit->named;
    idle->n++;
}

static int64_t expected_idle(const struct idle *own, const struct idle *like, int64_t runs_us)
{
    const bool named = own->named == own->n;
    int64_t idle_us = named ? own->least_us : like->least_us;
    bool mixed = !named && like->least_us == 0 && like->most_us > 0; /* whose are they? */
    return mixed || idle_us < 0 || runs_us < 0 ? -1 : idle_us < runs_us ? idle_us : runs_us;
}

static void check_pod(const struct world *world, unsigned resident)
{
    const struct sl_view *view = world->rig->view;
    const struct sl_resident *r = &view->resident[resident];
    const int64_t now_us = (int64_t)(PODS + 1) * RUNS_S * 1000000;
    const unsigned pod = (unsigned)strtoul(r->pod->uid + 1, NULL, 10);
    const char *resource = r->pod->items[0].resource;
    struct idle own = {.n = 0};
    struct idle like = {.n = 0};
    struct sl_pod_use use;
    bool alone = true;
    sl_usage_pod(view, r, world->row, world->n, now_us, &use);
    for (unsigned i = 0; i < UNITS; i++) {
        const struct unit *unit = &world->unit[i];
        if (strcmp(resource_of(i), resource) == 0) {
            add_unit(&like, unit);
            alone = alone && (unit->pod < 0 || unit->pod == (int)pod);
        }
        if (unit->pod == (int)pod) {
            add_unit(&own, unit);
        }
    }
    const int64_t runs_us = r->pod->started_us > 0 ? now_us - r->pod->started_us : -1;
    const bool named = own.named == own.n;
    assert_int_equal(use.idle_us, expected_idle(&own, &like, runs_us));
    assert_int_equal(use.since_us >= SINCE, use.idle_us >= 0);
    assert_true(use.idle_us <= own.least_us || own.least_us < 0); /* never more than is true */
    if (named) {
        assert_int_equal(use.used_mib, own.used_mib);
    } else { /* nobody is on the others: what all use is its own */
        bool shown = strcmp(resource, GPU) == 0 && alone;
        assert_int_equal(use.used_mib, shown ? like.used_mib : -1);
    }
    const int64_t eighths = strcmp(resource, GPU) == 0 ? 8 : strcmp(resource, LARGE) == 0 ? 4 : 1;
    assert_int_equal(use.share, r->pod->items[0].count * eighths * 1000 / 8);
    assert_int_equal(use.declared_mib, -1);
}

TEST_THAT(what_is_said_of_a_pod_is_true_of_the_units_that_it_has)
{
    struct world world = {.seed = 5};
    unsigned checked = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        world.rig = a_node();
        world.n = 0;
        world.n_pods = 0;
        for (unsigned i = 0; i < UNITS; i++) {
            world.unit[i] = (struct unit){.pod = -1};
        }
        start_pods(&world);
        measure(&world);
        (void)rig_view(world.rig);
        for (unsigned i = 0; i < world.rig->view->n_residents; i++) {
            check_pod(&world, i);
            checked++;
        }
        rig_free(world.rig);
    }
    assert_true(checked > ROUNDS);
}
