/* Choice on small random nodes against a search that tries every placement, and shares nothing with
 * the code under test. */
#include "unit/core/rig.h"

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define MIG1   "nvidia.com/mig-1g.6gb"
#define MIG2   "nvidia.com/mig-2g.12gb"
#define MIGS   "nvidia.com/mig-1g.6gb.shared"

/* What is in use, in plain numbers. */
struct books {
    const struct sl_node *node;
    int64_t pool[4];
    int64_t whole[3], replicas[3], memory[3];
    int64_t instance[12];
};

static void books_of(struct books *books, const struct sl_view *view)
{
    *books = (struct books){.node = view->node};
    for (unsigned i = 0; i < view->node->n_pools; i++) {
        books->pool[i] = view->pool_used[i];
    }
    for (unsigned i = 0; i < view->node->n_devices; i++) {
        books->whole[i] = view->device[i].whole;
        books->replicas[i] = view->device[i].replicas;
        books->memory[i] = view->device[i].memory_units;
    }
    for (unsigned i = 0; i < view->node->n_instances; i++) {
        books->instance[i] = view->instance_used[i];
    }
}

static bool on_instances(const struct sl_node *node, unsigned pool)
{
    return node->pool[pool].profile != NULL;
}

/* Books units at a place and says whether that was allowed. */
static bool book(struct books *books, unsigned pool, int place, int64_t units, bool any_health)
{
    const struct sl_node *node = books->node;
    const struct sl_pool *p = &node->pool[pool];
    books->pool[pool] += units;
    if (books->pool[pool] > p->capacity) {
        return false;
    }
    if (place < 0) {
        return !p->on_devices;
    }
    bool instance = on_instances(node, pool);
    unsigned d = instance ? node->instance[place].device : (unsigned)place;
    if (!p->on_devices || (!node->device[d].healthy && !any_health) ||
        node->device[d].mig != instance) {
        return false;
    }
    if (instance) {
        books->instance[place] += units;
        return books->instance[place] <= p->replicas;
    }
    books->whole[d] += p->kind == SL_KIND_WHOLE ? units : 0;
    books->replicas[d] += p->kind == SL_KIND_REPLICA ? units : 0;
    books->memory[d] += p->kind == SL_KIND_MEMORY ? units : 0;
    return (p->kind != SL_KIND_REPLICA || books->replicas[d] <= p->replicas) &&
           (p->kind != SL_KIND_MEMORY || books->memory[d] <= node->device[d].memory_units) &&
           books->whole[d] <= 1 &&
           (books->whole[d] == 0 || books->replicas[d] + books->memory[d] == 0);
}

/* Tries all places for the unit-th unit of the item and everything after it. */
static bool exhaust(const struct books *books, const struct sl_ask *ask, unsigned item,
                    int64_t unit, bool any_health)
{
    if (item == ask->n) {
        return true;
    }
    if (unit == ask->item[item].count) {
        return exhaust(books, ask, item + 1, 0, any_health);
    }
    int pool = -1;
    for (unsigned i = 0; i < books->node->n_pools; i++) {
        pool = strcmp(books->node->pool[i].resource, ask->item[item].resource) == 0 ? (int)i : pool;
    }
    if (pool < 0) {
        return false;
    }
    bool at_once = books->node->pool[pool].kind == SL_KIND_MEMORY;
    int64_t units = at_once ? ask->item[item].count : 1;
    int places = on_instances(books->node, (unsigned)pool) ? books->node->n_instances
                                                           : books->node->n_devices;
    for (int place = -1; place < places; place++) {
        if (place >= 0 && on_instances(books->node, (unsigned)pool) &&
            books->node->instance[place].pool != pool) {
            continue;
        }
        struct books next = *books;
        if (book(&next, (unsigned)pool, place, units, any_health) &&
            exhaust(&next, ask, item, unit + units, any_health)) {
            return true;
        }
    }
    return false;
}

static const char *const resources[] = {MEM, GPU, SHARED, MIG1, MIG2, MIGS};

static void add_random_pool(struct rig *rig, uint64_t *seed, unsigned resource)
{
    static const enum sl_kind kinds[] = {SL_KIND_MEMORY, SL_KIND_WHOLE, SL_KIND_REPLICA,
                                         SL_KIND_MIG,    SL_KIND_MIG,   SL_KIND_REPLICA};
    unsigned pool = rig_pool(rig, resources[resource], kinds[resource],
                             kinds[resource] == SL_KIND_MEMORY ? 6 + rig_random(seed, 18)
                                                               : 1 + rig_random(seed, 8));
    if (kinds[resource] == SL_KIND_REPLICA) {
        rig->pool[pool].replicas = 1 + (int32_t)rig_random(seed, 3);
    }
    if (resource >= 3) {
        rig->pool[pool].profile = rig_profile(rig_model("A30-24GB"), "1g.6gb");
    }
    rig->pool[pool].on_devices = rig_random(seed, 8) > 0;
}

static struct rig *random_node(uint64_t *seed)
{
    struct rig *rig = rig_new();
    unsigned n = 1 + rig_random(seed, 3);
    for (unsigned r = 0; r < 3; r++) {
        if (rig_random(seed, 4) > 0) {
            add_random_pool(rig, seed, r);
        }
    }
    unsigned first = rig->node.n_pools;
    if (rig_random(seed, 2) > 0) {
        add_random_pool(rig, seed, 3 + 2 * rig_random(seed, 2));
    }
    for (unsigned d = 0; d < n; d++) {
        rig_device(rig, 2 + rig_random(seed, 7));
        rig->device[d].healthy = rig_random(seed, 5) > 0;
        unsigned instances = rig->node.n_pools > first ? rig_random(seed, 4) : 0;
        for (unsigned i = 0; i < instances && rig_random(seed, 4) > 0; i++) {
            rig_instance(rig, d, (int)i, first);
        }
        rig->device[d].mig |= rig_random(seed, 8) == 0;
        rig->measured[d] = sl_measured_none;
        rig->measured[d].load = (int16_t)((int)rig_random(seed, 3) * 500 - 1);
        rig->measured[d].apart = rig_random(seed, 2) == 0;
    }
    rig->n_measured = rig_random(seed, 2) == 0 ? 0 : n;
    return rig;
}

static struct sl_ask_item random_item(const struct rig *rig, uint64_t *seed)
{
    bool offered = rig->node.n_pools > 0 && rig_random(seed, 10) > 0;
    const char *resource = offered ? rig->pool[rig_random(seed, rig->node.n_pools)].resource
                                   : resources[rig_random(seed, 6)];
    return rig_item(resource, 1 + rig_random(seed, strcmp(resource, MEM) == 0 ? 6 : 3));
}

static struct sl_ask random_ask(const struct rig *rig, uint64_t *seed)
{
    struct sl_ask ask = {.n = (uint8_t)(1 + rig_random(seed, 2))};
    ask.item[0] = random_item(rig, seed);
    ask.item[1] = random_item(rig, seed);
    if (ask.item[0].key == ask.item[1].key) {
        ask.n = 1;
    }
    return ask;
}

/* Is the choice allowed, booked part by part, and all that was asked? */
static void assert_allowed(const struct sl_view *view, const struct sl_ask *ask,
                           const struct sl_assignment *assignment)
{
    struct books books;
    int64_t units[2] = {0, 0};
    books_of(&books, view);
    for (unsigned i = 0; i < assignment->n; i++) {
        const struct sl_assignment_part *part = &assignment->part[i];
        int pool = sl_view_pool(view, ask->item[part->item].key);
        int place = part->instance >= 0 ? part->instance : part->device;
        assert_true(book(&books, (unsigned)pool, place, part->amount, false));
        units[part->item] += part->amount;
    }
    for (unsigned i = 0; i < ask->n; i++) {
        assert_int_equal(units[i], ask->item[i].count);
    }
}

static void check_ask(struct rig *rig, const struct sl_ask *ask)
{
    struct books books;
    struct sl_assignment assignment;
    struct sl_verdict verdict = rig_verdict(rig, *ask);
    books_of(&books, rig->view);
    bool fits = sl_choose(rig->view, ask, &assignment, NULL);
    assert_int_equal(fits, exhaust(&books, ask, 0, 0, false));
    assert_int_equal(fits, verdict.reason == SL_REASON_FITS);
    struct books empty = {.node = &rig->node};
    assert_int_equal(!sl_reason_is_never(verdict.reason), exhaust(&empty, ask, 0, 0, true));
    if (fits) {
        struct sl_assignment read;
        char text[SL_ASSIGNMENT_TEXT_MAX];
        assert_allowed(rig->view, ask, &assignment);
        assert_true(sl_assignment_format(&rig->node, ask, &assignment, text, sizeof text) > 0);
        assert_true(sl_assignment_parse(&rig->node, ask, sl_str_of(text), &read));
    }
}

TEST_THAT(choice_is_found_whenever_there_is_one)
{
    uint64_t seed = 1;
    unsigned fits = 0;
    for (unsigned round = 0; round < 20000; round++) {
        struct rig *rig = random_node(&seed);
        unsigned residents = rig_random(&seed, 4);
        for (unsigned i = 0; i < residents; i++) {
            struct sl_ask ask = random_ask(rig, &seed);
            char text[SL_ASSIGNMENT_TEXT_MAX];
            snprintf(text, sizeof text, "%s", rig_choose(rig, ask));
            rig_run(rig, ask, rig_random(&seed, 3) > 0 && text[0] != '\0' ? text : NULL);
        }
        struct sl_ask ask = random_ask(rig, &seed);
        check_ask(rig, &ask);
        fits += sl_fit(rig->view, &ask, NULL);
        rig_free(rig);
    }
    assert_in_range(fits, 3000, 17000); /* both outcomes are tried */
}

TEST_THAT(nothing_is_given_twice_however_often_choices_are_applied)
{
    uint64_t seed = 7;
    for (unsigned round = 0; round < 400; round++) {
        struct rig *rig = random_node(&seed);
        for (unsigned i = 0; i < 30; i++) {
            struct sl_ask ask = random_ask(rig, &seed);
            check_ask(rig, &ask);
            const char *text = rig_choose(rig, ask);
            if (text[0] != '\0') {
                rig_run(rig, ask, text);
            }
            if (rig->n_pods > 0 && rig_random(&seed, 4) == 0) {
                rig->pods[rig_random(&seed, rig->n_pods)].pod.phase = SL_POD_SUCCEEDED;
            }
        }
        const struct sl_view *view = rig_view(rig);
        struct books books = {.node = &rig->node};
        for (unsigned i = 0; i < view->n_residents; i++) {
            const struct sl_resident *r = &view->resident[i];
            assert_false(r->assumed);
            for (unsigned p = r->first_part; p < r->first_part + r->n_parts; p++) {
                const struct sl_assignment_part *part = &view->part[p];
                int pool = sl_view_pool(view, r->pod->items[part->item].key);
                int place = part->instance >= 0 ? part->instance : part->device;
                assert_true(book(&books, (unsigned)pool, place, part->amount, false));
            }
        }
        rig_free(rig);
    }
}
