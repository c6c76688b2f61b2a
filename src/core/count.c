/* Counts a pod's ask as Kubernetes does (KEP-753, "Resources calculation for scheduling and pod
 * admission"; PodRequests() in k8s.io/component-helpers): containers and sidecars run together;
 * before that each init step runs beside the sidecars that were started before it; the pod is given
 * the larger of the two, plus its overhead. */
#include "core/count.h"

#include "core/text.h"
#include "sliced/quantity.h"

struct tally {
    struct sl_str name;
    struct sl_resource resource;
    int64_t together; /* containers and sidecars */
    int64_t sidecars; /* those started so far */
    int64_t step;     /* largest init step */
    int64_t overhead;
};

struct counting {
    struct tally tally[SL_ASK_ITEMS_MAX];
    unsigned n;
    struct sl_text why;
};

enum role { ROLE_CONTAINER, ROLE_SIDECAR, ROLE_INIT, ROLE_OVERHEAD };

/* Where a number stands in the pod, for the text of a refusal. */
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
    sl_text_add(why, place->resource);
    sl_text_puts(why, "]: ");
}

static bool refuse_value(struct counting *counting, const struct place *place, struct sl_str value,
                         const char *complaint)
{
    say_place(counting, place);
    sl_text_quoted(&counting->why, value);
    sl_text_puts(&counting->why, complaint);
    return false;
}

static bool read_count(struct counting *counting, const struct place *place, struct sl_str value,
                       int64_t *out)
{
    struct sl_quantity q = {0};
    enum sl_quantity_result result = sl_quantity_parse(value.s, value.len, &q);
    if (result == SL_QUANTITY_RANGE) {
        return refuse_value(counting, place, value, " is too large");
    }
    if (result != SL_QUANTITY_OK) {
        return refuse_value(counting, place, value, " is not a quantity");
    }
    if (!sl_quantity_is_integer(q)) {
        return refuse_value(counting, place, value, " is not a whole number");
    }
    if (q.whole < 0) {
        return refuse_value(counting, place, value, " is negative");
    }
    *out = q.whole;
    return true;
}

static struct tally *tally_of(struct counting *counting, const struct place *place,
                              const struct sl_resource *resource)
{
    for (unsigned i = 0; i < counting->n; i++) {
        if (sl_str_eq(counting->tally[i].name, place->resource)) {
            return &counting->tally[i];
        }
    }
    if (counting->n == SL_ASK_ITEMS_MAX) {
        say_place(counting, place);
        sl_text_puts(&counting->why, "more than ");
        sl_text_i64(&counting->why, SL_ASK_ITEMS_MAX);
        sl_text_puts(&counting->why, " different GPU resources in one pod");
        return NULL;
    }
    struct tally *tally = &counting->tally[counting->n++];
    *tally = (struct tally){.name = place->resource, .resource = *resource};
    return tally;
}

static bool add(int64_t *sum, int64_t count)
{
    return !__builtin_add_overflow(*sum, count, sum);
}

static bool tally_add(struct tally *tally, enum role role, int64_t count)
{
    int64_t step = tally->sidecars;
    switch (role) {
    case ROLE_CONTAINER:
        return add(&tally->together, count);
    case ROLE_OVERHEAD:
        return add(&tally->overhead, count);
    case ROLE_SIDECAR:
        return add(&tally->sidecars, count) && add(&tally->together, count);
    case ROLE_INIT:
    default:
        if (!add(&step, count)) {
            return false;
        }
        tally->step = step > tally->step ? step : tally->step;
        return true;
    }
}

static bool count_pair(struct counting *counting, const struct place *where,
                       const struct sl_pair *pair, const struct sl_pair *limits)
{
    struct sl_resource resource;
    if (!sl_resource_parse(pair->key, &resource) || resource.inventory) {
        return true;
    }
    struct place place = *where;
    place.resource = pair->key;
    int64_t count = 0;
    if (!read_count(counting, &place, pair->value, &count)) {
        return false;
    }
    const struct sl_pair *limit = sl_pair_find(limits, pair->key);
    if (limit != NULL) {
        int64_t most = 0;
        struct place at_limit = place;
        at_limit.list = "limits";
        if (!read_count(counting, &at_limit, limit->value, &most)) {
            return false;
        }
        if (most != count) {
            /* Kubernetes does not overcommit extended resources. */
            refuse_value(counting, &place, pair->value, " differs from the limit ");
            sl_text_quoted(&counting->why, limit->value);
            return false;
        }
    }
    struct tally *tally = tally_of(counting, &place, &resource);
    if (tally == NULL) {
        return false;
    }
    if (!tally_add(tally, where->role, count)) {
        return refuse_value(counting, &place, pair->value,
                            " makes the sum over the containers too large");
    }
    return true;
}

static bool count_container(struct counting *counting, const struct sl_container_facts *container,
                            enum role role)
{
    struct place place = {.role = role, .container = container->name, .list = "requests"};
    for (const struct sl_pair *pair = container->requests; pair != NULL; pair = pair->next) {
        if (!count_pair(counting, &place, pair, container->limits)) {
            return false;
        }
    }
    place.list = "limits";
    for (const struct sl_pair *pair = container->limits; pair != NULL; pair = pair->next) {
        if (sl_pair_find(container->requests, pair->key) == NULL &&
            !count_pair(counting, &place, pair, NULL)) {
            return false;
        }
    }
    return true;
}

static bool count_all(struct counting *counting, const struct sl_pod_facts *facts)
{
    const struct sl_container_facts *container = facts->init_containers;
    for (; container != NULL; container = container->next) {
        enum role role = container->restart_always ? ROLE_SIDECAR : ROLE_INIT;
        if (!count_container(counting, container, role)) {
            return false;
        }
    }
    for (container = facts->containers; container != NULL; container = container->next) {
        if (!count_container(counting, container, ROLE_CONTAINER)) {
            return false;
        }
    }
    const struct place overhead = {.role = ROLE_OVERHEAD, .list = "overhead"};
    for (const struct sl_pair *pair = facts->overhead; pair != NULL; pair = pair->next) {
        if (!count_pair(counting, &overhead, pair, NULL)) {
            return false;
        }
    }
    return true;
}

/* Puts the item where it belongs by name; there is room. */
static void insert_item(struct sl_ask *ask, const struct sl_ask_item *item)
{
    unsigned at = ask->n++;
    for (; at > 0 && strcmp(ask->item[at - 1].resource, item->resource) > 0; at--) {
        ask->item[at] = ask->item[at - 1];
    }
    ask->item[at] = *item;
}

static bool finish(struct counting *counting, struct sl_ask *out)
{
    for (unsigned i = 0; i < counting->n; i++) {
        const struct tally *tally = &counting->tally[i];
        int64_t count = tally->together > tally->step ? tally->together : tally->step;
        if (!add(&count, tally->overhead)) {
            sl_text_puts(&counting->why, "overhead[");
            sl_text_add(&counting->why, tally->name);
            sl_text_puts(&counting->why, "]: makes the pod's sum too large");
            return false;
        }
        if (count == 0) {
            continue;
        }
        insert_item(out, &(struct sl_ask_item){
                             .resource = tally->name.s,
                             .key = tally->resource.key,
                             .count = count,
                             .kind = tally->resource.kind,
                             .shape = tally->resource.shape,
                         });
    }
    return true;
}

bool sl_ask_count(const struct sl_pod_facts *facts, struct sl_ask *out, char why[SL_ASK_WHY_MAX])
{
    struct counting counting;
    counting.n = 0;
    sl_text_init(&counting.why, why, SL_ASK_WHY_MAX);
    out->n = 0;
    out->malformed = false;
    if (!count_all(&counting, facts) || !finish(&counting, out)) {
        out->n = 0;
        out->malformed = true;
        return false;
    }
    return true;
}

/* ---- CPU and memory ---- */

/* sl_quantity_milli or sl_quantity_ceil. */
typedef enum sl_quantity_result (*measure_fn)(struct sl_quantity q, int64_t *out);

static int64_t read_host(const struct sl_pair *pair, measure_fn measure)
{
    struct sl_quantity q = {0};
    int64_t value = 0;
    if (pair == NULL) {
        return 0;
    }
    enum sl_quantity_result result = sl_quantity_parse(pair->value.s, pair->value.len, &q);
    if (result == SL_QUANTITY_OK) {
        result = measure(q, &value);
    }
    if (result == SL_QUANTITY_RANGE) {
        return INT64_MAX;
    }
    return result == SL_QUANTITY_OK && value > 0 ? value : 0;
}

static int64_t host_of(const struct sl_container_facts *container, struct sl_str name,
                       measure_fn measure)
{
    const struct sl_pair *request = sl_pair_find(container->requests, name);
    return read_host(request != NULL ? request : sl_pair_find(container->limits, name), measure);
}

static int64_t count_host(const struct sl_pod_facts *facts, struct sl_str name, measure_fn measure)
{
    struct tally tally = {0};
    bool good =
        tally_add(&tally, ROLE_OVERHEAD, read_host(sl_pair_find(facts->overhead, name), measure));
    const struct sl_container_facts *container = facts->init_containers;
    for (; container != NULL; container = container->next) {
        enum role role = container->restart_always ? ROLE_SIDECAR : ROLE_INIT;
        good = tally_add(&tally, role, host_of(container, name, measure)) && good;
    }
    for (container = facts->containers; container != NULL; container = container->next) {
        good = tally_add(&tally, ROLE_CONTAINER, host_of(container, name, measure)) && good;
    }
    int64_t sum = tally.together > tally.step ? tally.together : tally.step;
    return good && add(&sum, tally.overhead) ? sum : INT64_MAX;
}

struct sl_host_ask sl_host_count(const struct sl_pod_facts *facts)
{
    return (struct sl_host_ask){
        .cpu_milli = count_host(facts, SL_STR("cpu"), sl_quantity_milli),
        .memory_bytes = count_host(facts, SL_STR("memory"), sl_quantity_ceil),
    };
}
