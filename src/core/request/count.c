/* Counts a pod's ask as Kubernetes does (KEP-753, "Resources calculation for scheduling and pod
 * admission"; PodRequests() in k8s.io/component-helpers): containers and sidecars run together;
 * before that each init step runs beside the sidecars that were started before it; the pod is given
 * the larger of the two, plus its overhead. */
#include "core/request/count.h"

#include "core/request/text.h"
#include "sliced/quantity.h"
#include "util/data/sat.h"

/* The most of one resource that a pod's containers use at the same time. Sums stop at INT64_MAX. */
struct peak {
    int64_t together; /* containers and sidecars */
    int64_t sidecars; /* those started so far */
    int64_t step;     /* largest init step */
    int64_t overhead;
};

enum role { ROLE_CONTAINER, ROLE_SIDECAR, ROLE_INIT, ROLE_OVERHEAD };

static void peak_add(struct peak *peak, enum role role, int64_t amount)
{
    int64_t step = 0;
    switch (role) {
    case ROLE_CONTAINER:
        peak->together = sl_sat_add(peak->together, amount);
        break;
    case ROLE_OVERHEAD:
        peak->overhead = sl_sat_add(peak->overhead, amount);
        break;
    case ROLE_SIDECAR:
        peak->sidecars = sl_sat_add(peak->sidecars, amount);
        peak->together = sl_sat_add(peak->together, amount);
        break;
    case ROLE_INIT:
    default:
        step = sl_sat_add(peak->sidecars, amount);
        peak->step = step > peak->step ? step : peak->step;
        break;
    }
}

static int64_t without_overhead(const struct peak *peak)
{
    return peak->together > peak->step ? peak->together : peak->step;
}

static int64_t peak_of(const struct peak *peak, int64_t most)
{
    int64_t sum = sl_sat_add(without_overhead(peak), peak->overhead);
    return sum < most ? sum : most;
}

/* ---- GPU resources ---- */

/* One resource: gathered from both lists of a container, then added to the peak. */
struct tally {
    struct sl_str name;
    struct sl_resource resource;
    unsigned doubt;
    struct sl_str request; /* as the container spells it; s is NULL: absent */
    struct sl_str limit;
    int64_t units; /* the larger of the two */
    int64_t each;  /* the largest units of one container: what a device plugin is asked at once */
    struct peak peak;
};

struct counting {
    struct tally *tally;
    unsigned n;
    unsigned max;
    unsigned doubt;  /* the largest doubt in the tally */
    bool to_the_end; /* count on after a complaint, instead of stopping at it */
    bool malformed;
    struct sl_text why;
};

/* The position of a number in the pod, for the text of a refusal. */
struct place {
    enum role role;
    struct sl_str container;
    const char *list; /* "limits" */
    struct sl_str resource;
};

static void say_place(struct counting *counting, const struct place *place)
{
    struct sl_text *why = &counting->why;
    if (place->role == ROLE_OVERHEAD) {
        sl_text_puts(why, "overhead[");
    } else {
        sl_text_puts(why, place->role == ROLE_CONTAINER ? "container " : "init container ");
        sl_text_quoted(why, place->container);
        sl_text_puts(why, ": ");
        sl_text_puts(why, place->list);
        sl_text_puts(why, "[");
    }
    sl_text_shown(why, place->resource);
    sl_text_puts(why, "]: ");
}

/* Begins the sentence; false when an earlier refusal has one. */
static bool refuse(struct counting *counting, const struct place *place)
{
    bool first = !counting->malformed;
    counting->malformed = true;
    if (first) {
        say_place(counting, place);
    }
    return first;
}

static void refuse_value(struct counting *counting, const struct place *place, struct sl_str value,
                         const char *complaint)
{
    if (refuse(counting, place)) {
        sl_text_quoted(&counting->why, value);
        sl_text_puts(&counting->why, complaint);
    }
}

static void refuse_large(struct counting *counting, const struct place *place, struct sl_str value)
{
    if (refuse(counting, place)) {
        sl_text_quoted(&counting->why, value);
        sl_text_puts(&counting->why, " is too large: more than ");
        sl_text_i64(&counting->why, SL_UNITS_MAX);
    }
}

/* Returns 0..SL_UNITS_MAX units. A refused text counts as the most that it can mean, and as one if
 * it is no number. */
static int64_t read_units(struct counting *counting, const struct place *place, struct sl_str value)
{
    struct sl_quantity q = {0};
    int64_t units = 0;
    enum sl_quantity_result result = sl_quantity_parse(value.s, value.len, &q);
    if (result == SL_QUANTITY_SYNTAX) {
        refuse_value(counting, place, value, " is not a quantity");
        return 1;
    }
    if (result == SL_QUANTITY_OK && !sl_quantity_is_integer(q)) {
        refuse_value(counting, place, value, " is not a whole number");
    }
    if (result != SL_QUANTITY_OK || sl_quantity_ceil(q, &units) != SL_QUANTITY_OK ||
        units > SL_UNITS_MAX) {
        refuse_large(counting, place, value);
        return value.s[0] == '-' ? 0 : SL_UNITS_MAX;
    }
    if (units < 0) {
        refuse_value(counting, place, value, " is negative");
    }
    return units > 0 ? units : 0;
}

/* 1: a profile of the table; 2: one after a driver's rounding; 3: neither. */
static unsigned doubt_of_shape(struct sl_mig_shape shape)
{
    unsigned doubt = 3;
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        const struct sl_mig_profile *p = sl_mig_profile_of(sl_mig_model_at(m), shape);
        if (p != NULL && p->memory_gb == shape.memory_gb) {
            return 1;
        }
        doubt = p != NULL ? 2 : doubt;
    }
    return doubt;
}

/* How doubtful it is that a node offers the resource; larger is less likely. */
static unsigned doubt_of(const struct sl_resource *resource)
{
    if (resource->profile.len == 0) {
        return 0;
    }
    return resource->shape.compute == 0 ? 4 : doubt_of_shape(resource->shape);
}

static struct tally *most_doubtful(struct counting *counting)
{
    struct tally *worst = &counting->tally[0];
    for (unsigned i = 1; i < counting->n; i++) {
        worst = counting->tally[i].doubt > worst->doubt ? &counting->tally[i] : worst;
    }
    return worst;
}

static struct tally *find(const struct counting *counting, uint64_t key)
{
    for (unsigned i = 0; i < counting->n; i++) {
        if (counting->tally[i].resource.key == key) {
            return &counting->tally[i];
        }
    }
    return NULL;
}

/* Adds a resource, in the place of the most doubted one if the tally is full. NULL: no room, and
 * all others are as likely or likelier. */
static struct tally *add(struct counting *counting, const struct place *place,
                         const struct sl_resource *resource)
{
    const unsigned doubt = doubt_of(resource);
    if (counting->n == SL_ASK_ITEMS_MAX && refuse(counting, place)) {
        sl_text_puts(&counting->why, "more than ");
        sl_text_i64(&counting->why, SL_ASK_ITEMS_MAX);
        sl_text_puts(&counting->why, " different GPU resources in one pod");
    }
    struct tally *tally = NULL;
    if (counting->n < counting->max) {
        tally = &counting->tally[counting->n];
        counting->n++;
        counting->doubt = doubt > counting->doubt ? doubt : counting->doubt;
    } else if (doubt < counting->doubt) {
        tally = most_doubtful(counting);
        counting->doubt = tally->doubt;
        tally = tally->doubt > doubt ? tally : NULL;
    }
    if (tally != NULL) {
        *tally = (struct tally){.name = place->resource, .resource = *resource, .doubt = doubt};
    }
    return tally;
}

static bool is_done(const struct counting *counting)
{
    return counting->malformed && !counting->to_the_end;
}

/* Gathers one pair of a container's requests or limits, or of the overhead. */
static void gather(struct counting *counting, struct place *place, const struct sl_pair *pair,
                   bool limit)
{
    struct sl_resource resource;
    if (!sl_resource_parse(pair->key, &resource) || resource.inventory) {
        return;
    }
    place->resource = pair->key;
    const int64_t units = read_units(counting, place, pair->value);
    struct tally *tally = find(counting, resource.key);
    if (tally == NULL && units > 0) { /* a resource of 0 units takes no room */
        tally = add(counting, place, &resource);
    }
    if (tally != NULL) {
        *(limit ? &tally->limit : &tally->request) = pair->value;
        tally->units = units > tally->units ? units : tally->units;
    }
}

static bool is_same_amount(struct sl_str a, struct sl_str b)
{
    struct sl_quantity x = {0};
    struct sl_quantity y = {0};
    return sl_quantity_parse(a.s, a.len, &x) == SL_QUANTITY_OK &&
           sl_quantity_parse(b.s, b.len, &y) == SL_QUANTITY_OK && sl_quantity_cmp(x, y) == 0;
}

/* Kubernetes does not overcommit extended resources: request and limit must be equal. A request of
 * 0 has no room in the tally, and is looked up here. */
static void compare_lists(struct counting *counting, struct place *place, struct tally *tally,
                          const struct sl_container_facts *container)
{
    if (tally->request.s == NULL && counting->n <= SL_ASK_ITEMS_MAX) {
        const struct sl_pair *none = sl_pair_find(container->requests, tally->name);
        tally->request = none == NULL ? tally->request : none->value;
    }
    if (tally->request.s != NULL && tally->limit.s != NULL &&
        !is_same_amount(tally->request, tally->limit)) {
        place->list = "requests";
        place->resource = tally->name;
        if (refuse(counting, place)) {
            sl_text_quoted(&counting->why, tally->request);
            sl_text_puts(&counting->why, " differs from the limit ");
            sl_text_quoted(&counting->why, tally->limit);
        }
    }
}

/* Adds the amounts gathered from one container, or from the overhead (container is NULL), to the
 * peaks. */
static void settle(struct counting *counting, struct place *place,
                   const struct sl_container_facts *container)
{
    for (unsigned i = 0; i < counting->n; i++) {
        struct tally *tally = &counting->tally[i];
        if (container != NULL && tally->limit.s != NULL) {
            compare_lists(counting, place, tally, container);
        }
        peak_add(&tally->peak, place->role, tally->units);
        tally->each = container != NULL && tally->units > tally->each ? tally->units : tally->each;
        if (tally->units > 0 && without_overhead(&tally->peak) > SL_UNITS_MAX) {
            bool requested = tally->request.s != NULL;
            place->list = requested ? "requests" : "limits";
            place->resource = tally->name;
            refuse_value(counting, place, requested ? tally->request : tally->limit,
                         " makes the sum over the containers too large");
        }
        tally->units = 0;
        tally->request = (struct sl_str){0};
        tally->limit = (struct sl_str){0};
    }
}

static void count_container(struct counting *counting, const struct sl_container_facts *container,
                            enum role role)
{
    struct place place = {.role = role, .container = container->name, .list = "requests"};
    const struct sl_pair *pair = container->requests;
    for (; pair != NULL && !is_done(counting); pair = pair->next) {
        gather(counting, &place, pair, false);
    }
    place.list = "limits";
    for (pair = container->limits; pair != NULL && !is_done(counting); pair = pair->next) {
        gather(counting, &place, pair, true);
    }
    if (!is_done(counting)) {
        settle(counting, &place, container);
    }
}

static void count_overhead(struct counting *counting, const struct sl_pod_facts *facts)
{
    struct place place = {.role = ROLE_OVERHEAD, .list = "overhead"};
    const struct sl_pair *pair = facts->overhead;
    for (; pair != NULL && !is_done(counting); pair = pair->next) {
        gather(counting, &place, pair, false);
    }
    settle(counting, &place, NULL);
}

static void count_all(struct counting *counting, const struct sl_pod_facts *facts)
{
    const struct sl_container_facts *container = facts->init_containers;
    for (; container != NULL && !is_done(counting); container = container->next) {
        count_container(counting, container, container->restart_always ? ROLE_SIDECAR : ROLE_INIT);
    }
    container = facts->containers;
    for (; container != NULL && !is_done(counting); container = container->next) {
        count_container(counting, container, ROLE_CONTAINER);
    }
    if (!is_done(counting)) {
        count_overhead(counting, facts);
    }
}

/* Inserts the item in the order of names; there is room. */
static void insert_item(struct sl_ask_item *items, unsigned n, const struct sl_ask_item *item)
{
    unsigned at = n;
    for (; at > 0 && strcmp(items[at - 1].resource, item->resource) > 0; at--) {
        items[at] = items[at - 1];
    }
    items[at] = *item;
}

/* Writes at most counting->max items to out; returns how many. */
static unsigned finish(struct counting *counting, struct sl_ask_item *out)
{
    unsigned n = 0;
    for (unsigned i = 0; i < counting->n; i++) {
        const struct tally *tally = &counting->tally[i];
        const int64_t count = peak_of(&tally->peak, SL_UNITS_MAX);
        if (sl_sat_add(without_overhead(&tally->peak), tally->peak.overhead) > SL_UNITS_MAX) {
            const struct place place = {.role = ROLE_OVERHEAD, .resource = tally->name};
            if (refuse(counting, &place)) {
                sl_text_puts(&counting->why, "makes the pod's sum too large");
            }
        }
        insert_item(out, n,
                    &(struct sl_ask_item){
                        .resource = tally->name.s,
                        .key = tally->resource.key,
                        .count = count,
                        .each = (uint8_t)(tally->each < UINT8_MAX ? tally->each : UINT8_MAX),
                        .kind = tally->resource.kind,
                        .shape = tally->resource.shape,
                    });
        n++;
    }
    return n;
}

bool sl_ask_count(const struct sl_pod_facts *facts, struct sl_ask *out, char why[SL_ASK_WHY_MAX])
{
    struct tally tally[SL_ASK_ITEMS_MAX];
    struct counting counting = {.tally = tally, .max = SL_ASK_ITEMS_MAX};
    sl_text_init(&counting.why, why, SL_ASK_WHY_MAX);
    count_all(&counting, facts);
    unsigned n = is_done(&counting) ? 0 : finish(&counting, out->item);
    out->malformed = counting.malformed;
    out->n = (uint8_t)(out->malformed ? 0 : n);
    return !out->malformed;
}

unsigned sl_ask_count_all(const struct sl_pod_facts *facts,
                          struct sl_ask_item out[SL_POD_ITEMS_MAX])
{
    struct tally tally[SL_POD_ITEMS_MAX];
    struct counting counting = {.tally = tally, .max = SL_POD_ITEMS_MAX, .to_the_end = true};
    sl_text_init(&counting.why, NULL, 0);
    count_all(&counting, facts);
    return finish(&counting, out);
}

/* ---- CPU and memory ---- */

/* sl_quantity_milli or sl_quantity_ceil. */
typedef enum sl_quantity_result (*measure_fn)(struct sl_quantity q, int64_t *out);

/* Returns 0..SL_HOST_MAX; -1: absent, or no quantity. */
static int64_t read_host(const struct sl_pair *pair, measure_fn measure)
{
    struct sl_quantity q = {0};
    int64_t value = 0;
    enum sl_quantity_result result =
        pair == NULL ? SL_QUANTITY_SYNTAX : sl_quantity_parse(pair->value.s, pair->value.len, &q);
    if (result == SL_QUANTITY_OK) {
        result = measure(q, &value);
    }
    if (result == SL_QUANTITY_SYNTAX) {
        return -1;
    }
    if (result != SL_QUANTITY_OK) {
        value = pair->value.s[0] == '-' ? 0 : SL_HOST_MAX;
    }
    value = value > 0 ? value : 0;
    return value < SL_HOST_MAX ? value : SL_HOST_MAX;
}

static int64_t host_of(const struct sl_pair *first, const struct sl_pair *second,
                       struct sl_str name, measure_fn measure)
{
    int64_t value = read_host(sl_pair_find(first, name), measure);
    value = value < 0 ? read_host(sl_pair_find(second, name), measure) : value;
    return value > 0 ? value : 0;
}

/* A request of the pod takes the place of the containers' sum. Its limit stands for one that is
 * absent where no container asks either, as the API server sets it. Kubernetes counts CPU, memory
 * and huge pages so, never extended resources (IsSupportedPodLevelResource() in
 * k8s.io/component-helpers). */
static void replace_sum(struct peak *peak, const struct sl_container_facts *whole,
                        struct sl_str name, measure_fn measure)
{
    int64_t value = read_host(sl_pair_find(whole->requests, name), measure);
    if (value < 0 && without_overhead(peak) == 0) {
        value = read_host(sl_pair_find(whole->limits, name), measure);
    }
    if (value >= 0) {
        peak->together = value;
        peak->step = 0;
    }
}

static int64_t count_host(const struct sl_pod_facts *facts, struct sl_str name, measure_fn measure)
{
    struct peak peak = {.overhead = host_of(facts->overhead, NULL, name, measure)};
    const struct sl_container_facts *c = facts->init_containers;
    for (; c != NULL; c = c->next) {
        enum role role = c->restart_always ? ROLE_SIDECAR : ROLE_INIT;
        peak_add(&peak, role, host_of(c->requests, c->limits, name, measure));
    }
    for (c = facts->containers; c != NULL; c = c->next) {
        peak_add(&peak, ROLE_CONTAINER, host_of(c->requests, c->limits, name, measure));
    }
    replace_sum(&peak, &facts->whole, name, measure);
    return peak_of(&peak, SL_HOST_MAX);
}

struct sl_host_ask sl_host_count(const struct sl_pod_facts *facts)
{
    return (struct sl_host_ask){
        .cpu_milli = count_host(facts, SL_STR("cpu"), sl_quantity_milli),
        .memory_bytes = count_host(facts, SL_STR("memory"), sl_quantity_ceil),
    };
}
