/* Writes the assignment as the text of the pod's annotation, and reads it back. */
#include "core/place/choose.h"

#include "core/node/pool.h"

/* ---- writing ---- */

struct text {
    char *out;
    size_t size;
    size_t len; /* greater than size: out was too small */
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
    size_t at = sizeof(digits);
    do {
        at--;
        digits[at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    put(text, digits + at, sizeof(digits) - at);
}

/* Returns the number of instances before this one on its device. */
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
    /* The item's resource tells which slices of the GPU. */
    if (part->instance >= 0 && node->instance[part->instance].slices == 0) {
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

/* Reads a number without sign, as parts have it. */
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

static int find_slices(const struct sl_node *node, int device, unsigned pool)
{
    for (unsigned i = 0; i < node->n_instances; i++) {
        if (node->instance[i].device == device && node->instance[i].pool == pool) {
            return (int)i;
        }
    }
    return -1;
}

/* Reads a part's place, "3" or "3/4" or "3/#1", on a node that knows its devices. */
static bool read_place(const struct sl_node *node, unsigned pool, struct sl_str text,
                       struct sl_assignment_part *out)
{
    bool slices = node->pool[pool].slices;
    bool on_instances = sl_pool_on_instances(node, pool) && !slices;
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
    if (slices) {
        out->instance = (int16_t)find_slices(node, device, pool);
        return out->instance >= 0;
    }
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

/* Returns the units of each part of a share of memory, when the first has this many: the whole
 * share on one GPU, or equal parts on as many GPUs as the item asks for. 0: neither. */
static int64_t share_of(const struct sl_ask_item *item, int64_t first)
{
    bool whole = first == item->count;
    bool equal =
        item->gpus > 1 && item->count % item->gpus == 0 && first == item->count / item->gpus;
    return whole || equal ? first : 0;
}

/* True when one place may hold that amount. *share is the amount of every part of a share of
 * memory, 0 before the first. */
static bool amount_allowed(const struct sl_pool *pool, const struct sl_ask_item *item,
                           int64_t amount, int64_t *share)
{
    if (!sl_kinds[pool->kind].memory) {
        return amount <= pool->replicas;
    }
    *share = *share == 0 ? share_of(item, amount) : *share;
    return amount == *share;
}

/* Reads the parts of one item; false when they are not places of the pool or do not add up to the
 * item. */
static bool read_item(const struct sl_node *node, const struct sl_ask_item *item, uint8_t index,
                      struct sl_str text, struct sl_assignment *out)
{
    int pool = sl_node_pool(node, item->key);
    int64_t left = item->count;
    int64_t share = 0; /* units of each part of a share of memory */
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
    if (n == 0 || n > SL_ASK_ITEMS_MAX) { /* such an ask never fits */
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
