/* The assignment as text, as the pod's annotation carries it, and back. */
#include "core/choose.h"

/* ---- writing ---- */

struct text {
    char *out;
    size_t size;
    size_t len; /* beyond size: did not fit */
};

static void put(struct text *text, const char *s, size_t len)
{
    if (text->len + len < text->size) {
        memcpy(text->out + text->len, s, len);
    }
    text->len += len;
}

static void put_number(struct text *text, int64_t n)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        at--;
        digits[at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    put(text, digits + at, sizeof digits - at);
}

/* How many instances of the same device stand before it. */
static int ordinal(const struct sl_node *node, unsigned instance)
{
    int n = 0;
    for (unsigned i = instance; i > 0; i--) {
        n += node->instance[i - 1].device == node->instance[instance].device;
    }
    return n;
}

static void put_part(struct text *text, const struct sl_node *node,
                     const struct sl_assignment_part *part)
{
    if (part->device < 0) {
        put(text, "?", 1);
    } else {
        put_number(text, node->device[part->device].index);
    }
    if (part->instance >= 0) {
        const struct sl_instance *instance = &node->instance[part->instance];
        bool known = instance->start >= 0;
        put(text, "/#", known ? 1 : 2);
        put_number(text, known ? instance->start : ordinal(node, (unsigned)part->instance));
    }
    if (part->amount != 1 || part->device < 0) {
        put(text, "*", 1);
        put_number(text, part->amount);
    }
}

size_t sl_assignment_format(const struct sl_node *node, const struct sl_ask *ask,
                            const struct sl_assignment *assignment, char *out, size_t size)
{
    struct text text = {out, size, 0};
    for (unsigned i = 0; i < ask->n; i++) {
        const char *name = ask->item[i].resource;
        const char *separator = "=";
        put(&text, ";", i > 0);
        put(&text, name, strlen(name));
        for (unsigned p = 0; p < assignment->n; p++) {
            if (assignment->part[p].item == i) {
                put(&text, separator, 1);
                put_part(&text, node, &assignment->part[p]);
                separator = ",";
            }
        }
    }
    bool fits = text.len < size;
    if (size > 0) {
        out[fits ? text.len : 0] = '\0';
    }
    return fits ? text.len : 0;
}

/* ---- reading ---- */

/* A number without sign, that a part may hold. */
static bool number(struct sl_str text, int64_t *out)
{
    return text.len > 0 && text.s[0] != '-' && sl_str_to_i64(text, out);
}

static int find_device(const struct sl_node *node, int64_t index)
{
    for (unsigned i = 0; i < node->n_devices; i++) {
        if (node->device[i].index == index) {
            return (int)i;
        }
    }
    return -1;
}

static int find_instance(const struct sl_node *node, int device, int64_t number, bool by_ordinal)
{
    int64_t seen = 0;
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->device != device) {
            continue;
        }
        if (by_ordinal ? seen == number && instance->start < 0 : instance->start == number) {
            return (int)i;
        }
        seen++;
    }
    return -1;
}

/* The place of a part, "3" or "3/4" or "3/#1", on a node that knows its devices. */
static bool read_place(const struct sl_node *node, unsigned pool, struct sl_str text,
                       struct sl_assignment_part *out)
{
    bool on_instances = sl_pool_on_instances(node, pool);
    struct sl_str index = sl_str_cut(&text, '/');
    int64_t n = 0;
    if (on_instances != (text.s != NULL) || !number(index, &n)) {
        return false;
    }
    int device = find_device(node, n);
    if (device < 0) {
        return false;
    }
    out->device = (int16_t)device;
    out->instance = -1;
    if (!on_instances) {
        return true;
    }
    bool by_ordinal = text.len > 0 && text.s[0] == '#';
    struct sl_str digits = {text.s + by_ordinal, text.len - by_ordinal};
    int instance = number(digits, &n) ? find_instance(node, device, n, by_ordinal) : -1;
    out->instance = (int16_t)instance;
    return instance >= 0 && node->instance[instance].pool == pool;
}

static bool named_twice(const struct sl_assignment *assignment,
                        const struct sl_assignment_part *part)
{
    for (unsigned i = 0; i < assignment->n; i++) {
        const struct sl_assignment_part *p = &assignment->part[i];
        if (p->item == part->item && p->device == part->device && p->instance == part->instance) {
            return true;
        }
    }
    return false;
}

/* How many units each part of a share of memory has, when the first has so many: all on one GPU, or
 * equal parts on as many as are asked for. 0: neither. */
static int64_t share_of(const struct sl_ask_item *item, int64_t first)
{
    bool whole = first == item->count;
    bool equal =
        item->gpus > 1 && item->count % item->gpus == 0 && first == item->count / item->gpus;
    return whole || equal ? first : 0;
}

/* May one place hold so many? *share is what all parts of a share of memory have, 0 before the
 * first. */
static bool amount_allowed(const struct sl_pool *pool, const struct sl_ask_item *item,
                           int64_t amount, int64_t *share)
{
    switch (pool->kind) {
    case SL_KIND_WHOLE:
    case SL_KIND_MIG:
        return amount == 1;
    case SL_KIND_REPLICA:
        return amount <= pool->replicas;
    case SL_KIND_MEMORY:
        break;
    }
    *share = *share == 0 ? share_of(item, amount) : *share;
    return amount == *share;
}

/* The parts of one item; false when they are not places of the pool or not as many as asked. */
static bool read_item(const struct sl_node *node, const struct sl_ask_item *item, uint8_t index,
                      struct sl_str text, struct sl_assignment *out)
{
    int pool = sl_node_pool(node, item->key);
    int64_t left = item->count;
    int64_t share = 0; /* of memory, that each part has */
    if (pool < 0) {
        return false;
    }
    const struct sl_pool *p = &node->pool[pool];
    while (text.s != NULL) {
        struct sl_str amount = sl_str_cut(&text, ',');
        struct sl_str place = sl_str_cut(&amount, '*');
        struct sl_assignment_part part = {.item = index, .device = -1, .instance = -1, .amount = 1};
        if ((amount.s != NULL && !number(amount, &part.amount)) || part.amount < 1 ||
            part.amount > left) {
            return false;
        }
        left -= part.amount;
        if (!p->on_devices) {
            continue;
        }
        bool ok = out->n < SL_ASSIGNMENT_MAX && amount_allowed(p, item, part.amount, &share) &&
                  read_place(node, (unsigned)pool, place, &part) && !named_twice(out, &part);
        if (!ok) {
            return false;
        }
        out->part[out->n] = part;
        out->n++;
    }
    if (left == 0 && !p->on_devices && out->n < SL_ASSIGNMENT_MAX) {
        out->part[out->n] = (struct sl_assignment_part){index, -1, -1, item->count};
        out->n++;
        return true;
    }
    return left == 0 && p->on_devices;
}

static int find_item(const struct sl_ask_item *item, unsigned n, struct sl_str name)
{
    for (unsigned i = 0; i < n; i++) {
        if (sl_str_eq(sl_str_of(item[i].resource), name)) {
            return (int)i;
        }
    }
    return -1;
}

bool sl_assignment_read(const struct sl_node *node, const struct sl_ask_item *item, unsigned n,
                        struct sl_str text, struct sl_assignment *out)
{
    unsigned seen = 0;
    out->n = 0;
    if (n == 0 || n > SL_ASK_ITEMS_MAX) { /* nobody writes one for an ask that nobody may make */
        return false;
    }
    while (text.s != NULL) {
        struct sl_str parts = sl_str_cut(&text, ';');
        struct sl_str name = sl_str_cut(&parts, '=');
        int i = find_item(item, n, name);
        if (i < 0 || (seen & (1u << i)) != 0 ||
            !read_item(node, &item[i], (uint8_t)i, parts, out)) {
            return false;
        }
        seen |= 1u << i;
    }
    return seen == (1u << n) - 1;
}

bool sl_assignment_parse(const struct sl_node *node, const struct sl_ask *ask, struct sl_str text,
                         struct sl_assignment *out)
{
    return sl_assignment_read(node, ask->item, ask->n, text, out);
}
