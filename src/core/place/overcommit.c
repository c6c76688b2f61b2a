/* Finds the units that pods hold beyond the node's. */
#include "sliced/overcommit.h"

#include "core/request/text.h"
#include "util/data/sat.h"

struct excess {
    int64_t placed[SL_NODE_POOLS_MAX]; /* units that have a place */
    const struct sl_ask_item *absent;  /* the first resource held that the node does not offer */
    int64_t absent_units;
};

static void note_item(const struct sl_view *view, const struct sl_ask_item *item,
                      struct excess *excess)
{
    if (sl_view_pool(view, item->key) >= 0) {
        return;
    }
    if (excess->absent == NULL) {
        excess->absent = item;
    }
    if (excess->absent->key == item->key) {
        excess->absent_units = sl_sat_add(excess->absent_units, item->count);
    }
}

/* False for a share of memory in more parts than it asks for: no device had room for it. */
static bool has_a_place(const struct sl_ask_item *item, const struct sl_assignment_part *part)
{
    return !sl_kinds[item->kind].memory ||
           part->amount >= item->count / (item->gpus > 1 ? item->gpus : 1);
}

static void add_up(const struct sl_view *view, struct excess *excess)
{
    *excess = (struct excess){.absent = NULL};
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        for (unsigned p = 0; p < resident->n_parts; p++) {
            const struct sl_assignment_part *part = &view->part[resident->first_part + p];
            const struct sl_ask_item *item = &resident->pod->items[part->item];
            int pool = sl_view_pool(view, item->key);
            excess->placed[pool] += has_a_place(item, part) ? part->amount : 0;
        }
        for (unsigned k = 0; k < resident->pod->n_items; k++) {
            note_item(view, &resident->pod->items[k], excess);
        }
    }
}

static bool pool_is_over(const struct sl_view *view, const struct excess *excess, unsigned pool)
{
    int64_t used = view->pool_used[pool];
    return used > view->node->pool[pool].capacity || used > excess->placed[pool];
}

static bool gpu_is_over(const struct sl_view *view, unsigned device)
{
    return view->device[device].memory_units > view->node->device[device].memory_units;
}

static bool declared_is_over(const struct sl_view *view, unsigned device)
{
    int64_t mib = view->node->device[device].memory_mib;
    bool by_use = view->measured != NULL && view->measured[device].by_use;
    return !by_use && mib > 0 && view->device[device].declared_mib > mib;
}

bool sl_view_overcommitted(const struct sl_view *view)
{
    struct excess excess;
    add_up(view, &excess);
    bool over = excess.absent != NULL;
    for (unsigned i = 0; i < view->n_pools; i++) {
        over = over || pool_is_over(view, &excess, i);
    }
    for (unsigned i = 0; i < view->node->n_devices; i++) {
        over = over || gpu_is_over(view, i) || declared_is_over(view, i);
    }
    return over;
}

/* ---- words ---- */

static void begin(struct sl_text *text, int64_t units, const char *what)
{
    if (text->len > 0) {
        sl_text_puts(text, "; ");
    }
    sl_text_i64(text, units);
    sl_text_puts(text, what);
}

static void say_pool(struct sl_text *text, const struct sl_view *view, const struct excess *excess,
                     unsigned pool)
{
    const struct sl_pool *p = &view->node->pool[pool];
    if (view->pool_used[pool] > p->capacity) {
        begin(text, view->pool_used[pool], " in use of ");
        sl_text_i64(text, p->capacity);
        sl_text_puts(text, " ");
        sl_text_puts(text, p->resource);
    } else {
        begin(text, view->pool_used[pool] - excess->placed[pool], " ");
        sl_text_puts(text, p->resource);
        sl_text_puts(text, " in use beside what else is, for which there is no place");
    }
}

static void say_gpu(struct sl_text *text, const struct sl_view *view, unsigned device)
{
    begin(text, view->device[device].memory_units, " in use of ");
    sl_text_i64(text, view->node->device[device].memory_units);
    sl_text_puts(text, " units of memory on GPU ");
    sl_text_i64(text, view->node->device[device].index);
}

static void say_declared(struct sl_text *text, const struct sl_view *view, unsigned device)
{
    begin(text, view->device[device].declared_mib, " MiB declared of the ");
    sl_text_i64(text, view->node->device[device].memory_mib);
    sl_text_puts(text, " MiB of GPU ");
    sl_text_i64(text, view->node->device[device].index);
}

void sl_overcommit_text(const struct sl_view *view, char *out, size_t size)
{
    struct excess excess;
    struct sl_text text;
    sl_text_init(&text, out, size);
    add_up(view, &excess);
    for (unsigned i = 0; i < view->n_pools; i++) {
        if (pool_is_over(view, &excess, i)) {
            say_pool(&text, view, &excess, i);
        }
    }
    for (unsigned i = 0; i < view->node->n_devices; i++) {
        if (gpu_is_over(view, i)) {
            say_gpu(&text, view, i);
        }
        if (declared_is_over(view, i)) {
            say_declared(&text, view, i);
        }
    }
    if (excess.absent != NULL) {
        begin(&text, excess.absent_units, " ");
        sl_text_puts(&text, excess.absent->resource);
        sl_text_puts(&text, " in use, which the node does not offer");
    }
}
