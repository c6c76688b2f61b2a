/* How a pod uses the GPUs that it holds. */
#include "core/place/choose.h"
#include "core/usage/names.h"
#include "util/data/sat.h"

enum {
    WHOLE = 1000,  /* a GPU, in thousandths */
    HOLDING = 200, /* permille of what an instance draws when always busy that it draws when idle:
                      an H100 with a context draws 123 W, and 700 W at most */
    HALF_BUSY = 500,
};

const struct sl_usage_row *sl_usage_row_of(const struct sl_usage_row *row, size_t n,
                                           const struct sl_device *device)
{
    const struct sl_usage_row *by_index = NULL;
    for (size_t i = 0; i < n; i++) {
        bool both = device->uuid != NULL && row[i].uuid[0] != '\0';
        if (row[i].instance >= 0) {
            continue;
        }
        if (both && strcmp(row[i].uuid, device->uuid) == 0) {
            return &row[i];
        }
        by_index = !both && row[i].gpu == device->index ? &row[i] : by_index;
    }
    return by_index;
}

/* The pod that is looked at, and what its resources could mean on the node. */
struct look {
    const struct sl_view *view;
    const struct sl_resident *resident;
    const struct sl_usage_row *row;
    size_t n;
    struct sl_pod_use *use;
    uint64_t devices;   /* that may be the pod's */
    int64_t longest_us; /* that one of the units has idled */
    int64_t used_mib;   /* of all units that were looked at; -1: not known of one */
    int64_t over_mib;
    unsigned units; /* that were looked at */
    unsigned busy;  /* of these, those of which is known how busy they are */
};

static const struct sl_assignment_part *part_of(const struct look *look,
                                                const struct sl_resident *resident, unsigned i)
{
    return &look->view->part[resident->first_part + i];
}

/* Takes one unit in that the pod has, or may have; NULL: nothing was measured of it. */
static void look_at(struct look *look, const struct sl_usage_row *row)
{
    struct sl_pod_use *use = look->use;
    look->units++;
    if (row == NULL || row->idle_us < 0) {
        use->idle_us = -1;
    } else if (use->idle_us >= 0) {
        look->longest_us = row->idle_us > look->longest_us ? row->idle_us : look->longest_us;
        use->idle_us = row->idle_us < use->idle_us ? row->idle_us : use->idle_us;
        use->since_us = row->since_us > use->since_us ? row->since_us : use->since_us;
        use->gpus |= row->gpu >= 0 && row->gpu < 64 ? UINT64_C(1) << row->gpu : 0;
    }
    bool used = row != NULL && row->measured.used_mib >= 0;
    look->used_mib = used && look->used_mib >= 0 ? look->used_mib + row->measured.used_mib : -1;
    look->over_mib += row == NULL ? 0 : row->measured.over_mib;
    if (row != NULL && row->measured.busy >= 0) {
        size_t i = (size_t)(row - look->row);
        use->row[i / 64] |= UINT64_C(1) << i % 64;
        look->busy++;
    }
}

/* ---- by the exporter's word ---- */

/* Has it memory of a GPU, of which a unit is no place? */
static bool has_memory(const struct look *look, const struct sl_resident *resident)
{
    bool has = false;
    for (unsigned i = 0; i < resident->n_parts; i++) {
        has = has || sl_kinds[sl_names_pool(look->view, resident, i)->kind].memory;
    }
    return has;
}

/* How many units more name the pod than it holds; below 0 where they show some of its units only,
 * or none: an exporter may name one pod of those that share a GPU. */
static int64_t named_beyond(const struct look *look, const struct sl_resident *resident)
{
    uint64_t key = sl_names_key(resident->pod);
    int64_t named = 0;
    for (size_t i = 0; i < look->n; i++) {
        named += sl_names_is_on(&look->row[i], key);
        if (look->row[i].names.crowded) {
            return -1;
        }
    }
    bool told = named > 0 && !has_memory(look, resident);
    return told ? named - sl_names_held(look->view, resident) : -1;
}

int32_t sl_usage_told(const struct sl_usage_names *names, uint64_t key)
{
    int32_t mib = -1;
    for (unsigned i = 0; i < names->n; i++) {
        mib = names->pod[i] == key ? names->used_mib[i] : mib;
    }
    return mib;
}

/* MiB that the pod uses, where somebody tells it of each pod and each GPU that it holds; else -1.
 * No pod uses more than all do. */
static int64_t own_mib(const struct look *look)
{
    uint64_t key = sl_names_key(look->resident->pod);
    int64_t sum = -1;
    int told = 0;
    for (size_t i = 0; i < look->n; i++) {
        int32_t all = look->row[i].measured.used_mib;
        int32_t own = sl_usage_told(&look->row[i].names, key);
        sum = own < 0 ? sum : sl_most(sum, 0) + (all >= 0 && all < own ? all : own);
        told += own >= 0;
    }
    return told < __builtin_popcountll(look->use->held) ? -1 : sum;
}

static bool look_by_name(struct look *look)
{
    uint64_t key = sl_names_key(look->resident->pod);
    if (named_beyond(look, look->resident) < 0) {
        return false;
    }
    for (size_t i = 0; i < look->n; i++) {
        if (sl_names_is_on(&look->row[i], key)) {
            look_at(look, &look->row[i]);
        }
    }
    return true;
}

/* Is the other pod on units which do not name this one, by the exporter's word? */
static bool is_elsewhere(const struct look *look, const struct sl_resident *other)
{
    uint64_t own = sl_names_key(look->resident->pod);
    uint64_t key = sl_names_key(other->pod);
    bool elsewhere = named_beyond(look, other) >= 0;
    for (size_t i = 0; elsewhere && i < look->n; i++) {
        elsewhere = !sl_names_is_on(&look->row[i], own) || !sl_names_is_on(&look->row[i], key);
    }
    return elsewhere;
}

/* Do the units which name the pod belong to nobody else? Replicas do not if somebody who has some
 * of the node's may be there too. More units than the pod holds are not all its own. */
static bool is_alone_by_name(const struct look *look)
{
    const struct sl_view *view = look->view;
    bool alone = named_beyond(look, look->resident) == 0;
    bool shares = sl_names_shares(view, look->resident);
    for (unsigned r = 0; alone && shares && r < view->n_residents; r++) {
        const struct sl_resident *other = &view->resident[r];
        alone =
            other == look->resident || !sl_names_shares(view, other) || is_elsewhere(look, other);
    }
    return alone;
}

/* ---- by what the resource could mean ---- */

static void look_at_device(struct look *look, unsigned device)
{
    if ((look->devices & UINT64_C(1) << device) == 0) {
        const struct sl_usage_row *row =
            sl_usage_row_of(look->row, look->n, &look->view->node->device[device]);
        look->devices |= UINT64_C(1) << device;
        look_at(look, row);
        uint64_t judged = row == NULL ? 0 : row->measured.pods; /* 0: nobody has judged it */
        if (judged != 0 && judged != sl_view_pods_of(look->view, device)) {
            look->use->idle_us = -1; /* it was judged before the pods came that are there now */
        }
    }
}

/* All instances of the pool; which row is which of them nobody says, but there must be as many. */
static void look_at_instances(struct look *look, const struct sl_pool *pool)
{
    const struct sl_node *node = look->view->node;
    unsigned missing = 0;
    for (unsigned i = 0; i < node->n_instances; i++) {
        missing += &node->pool[node->instance[i].pool] == pool;
    }
    for (size_t i = 0; i < look->n; i++) {
        if (sl_names_is_of(node, &look->row[i], pool->profile)) {
            look_at(look, &look->row[i]);
            missing -= missing > 0;
        }
    }
    if (missing > 0) {
        look_at(look, NULL);
    }
}

static void look_by_pool(struct look *look, unsigned i_part)
{
    const struct sl_node *node = look->view->node;
    const struct sl_assignment_part *part = part_of(look, look->resident, i_part);
    const struct sl_pool *pool = sl_names_pool(look->view, look->resident, i_part);
    if (sl_kinds[pool->kind].instance && pool->profile == NULL) {
        look_at(look, NULL);
    } else if (sl_kinds[pool->kind].memory && part->device >= 0 && !look->resident->assumed) {
        look_at_device(look, (unsigned)part->device); /* its plugin does as it is told */
    } else if (pool->profile != NULL) {
        look_at_instances(look, pool);
    } else {
        for (unsigned i = 0; i < node->n_devices; i++) {
            if (!node->device[i].mig) {
                look_at_device(look, i);
            }
        }
    }
}

/* Has no other pod of the node units which may be on these devices? */
static bool is_alone(const struct look *look)
{
    const struct sl_view *view = look->view;
    for (unsigned r = 0; r < view->n_residents; r++) {
        const struct sl_resident *other = &view->resident[r];
        for (unsigned i = 0; other != look->resident && i < other->n_parts; i++) {
            int16_t device = view->part[other->first_part + i].device;
            if (device < 0 || (look->devices & UINT64_C(1) << device) != 0) {
                return false;
            }
        }
    }
    return look->devices != 0;
}

/* ---- what it holds ---- */

static int64_t declared_of(const struct look *look)
{
    int64_t sum = -1;
    for (unsigned i = 0; i < look->resident->n_parts; i++) {
        const struct sl_assignment_part *part = part_of(look, look->resident, i);
        const struct sl_ask_item *item = &look->resident->pod->items[part->item];
        const struct sl_device *device =
            part->device < 0 ? NULL : &look->view->node->device[part->device];
        int64_t mib = item->memory_mib * part->amount;
        if (sl_kinds[item->kind].memory && device != NULL && device->memory_units > 0) {
            mib = part->amount * device->memory_mib / device->memory_units;
        }
        sum = mib > 0 ? mib + (sum < 0 ? 0 : sum) : sum;
    }
    return sum;
}

/* Thousandths of a GPU that so many units are; instances count by their memory. */
static int64_t share_of(const struct sl_node *node, const struct sl_pool *pool,
                        const struct sl_device *device, int64_t amount)
{
    const struct sl_mig_model *model = device == NULL ? node->model : device->model;
    int64_t whole = amount * WHOLE;
    if (sl_kinds[pool->kind].memory) {
        return device != NULL && device->memory_units > 0 ? whole / device->memory_units : 0;
    }
    if (pool->slices) {
        bool known = device != NULL && device->memory_mib > 0;
        return known ? whole * pool->memory_mib / device->memory_mib : 0;
    }
    if (pool->profile != NULL && model != NULL) {
        whole = whole * pool->profile->memory / model->memory_slices;
    }
    return whole / (pool->replicas > 0 ? pool->replicas : 1);
}

static void count_held(const struct look *look)
{
    const struct sl_node *node = look->view->node;
    for (unsigned i = 0; i < look->resident->n_parts; i++) {
        const struct sl_assignment_part *part = part_of(look, look->resident, i);
        const struct sl_device *device = part->device < 0 ? NULL : &node->device[part->device];
        look->use->held |= device == NULL ? 0 : UINT64_C(1) << part->device;
        look->use->share +=
            share_of(node, sl_names_pool(look->view, look->resident, i), device, part->amount);
    }
}

/* For how long the pod has idled by the units that were looked at; -1: nobody knows. */
static int64_t idle_of(const struct look *look, bool named, int64_t now_us)
{
    const struct sl_pod_use *use = look->use;
    int64_t started_us = look->resident->pod->started_us;
    int64_t runs_us = started_us > 0 ? now_us - started_us : -1;
    /* some are busy and some are not: nobody knows which are the pod's */
    bool mixed = !named && use->idle_us == 0 && look->longest_us > 0;
    bool known = look->units > 0 && use->idle_us >= 0 && !mixed && runs_us >= 0;
    return !known ? -1 : use->idle_us < runs_us ? use->idle_us : runs_us;
}

/* Are the units that were looked at the pod's, all of them and no others? What shares GPUs may have
 * several units of one. */
static bool are_its_own(const struct look *look, bool named)
{
    bool counted = named || !sl_names_shares(look->view, look->resident);
    return look->units == 1 ||
           (counted && look->units <= sl_names_held(look->view, look->resident));
}

static void look_by_pools(struct look *look)
{
    for (unsigned i = 0; i < look->resident->n_parts; i++) {
        look_by_pool(look, i);
    }
}

/* The same without the exporter's word. */
static int64_t idle_without_names(const struct look *look, int64_t now_us)
{
    struct sl_pod_use use = {.idle_us = INT64_MAX};
    struct look all = {.view = look->view,
                       .resident = look->resident,
                       .row = look->row,
                       .n = look->n,
                       .use = &use};
    look_by_pools(&all);
    return idle_of(&all, false, now_us);
}

void sl_usage_pod(const struct sl_view *view, const struct sl_resident *resident,
                  const struct sl_usage_row *row, size_t n, int64_t now_us, struct sl_pod_use *out)
{
    struct look look = {.view = view, .resident = resident, .row = row, .n = n, .use = out};
    *out = (struct sl_pod_use){
        .used_mib = -1, .since_us = resident->pod->started_us, .idle_us = INT64_MAX};
    out->declared_mib = declared_of(&look);
    count_held(&look);
    bool named = look_by_name(&look);
    if (!named) {
        look_by_pools(&look);
    }
    if (look.busy < look.units || !are_its_own(&look, named)) {
        memset(out->row, 0, sizeof(out->row));
    }
    out->idle_us = idle_of(&look, named, now_us);
    out->since_us = out->idle_us >= 0 ? out->since_us : 0;
    bool doubted = named && sl_names_shares(view, resident);
    out->sure_us = doubted ? idle_without_names(&look, now_us) : out->idle_us;
    int64_t own = own_mib(&look);
    bool alone = named ? is_alone_by_name(&look) : is_alone(&look);
    bool shown = own >= 0 || (alone && look.units == 1 && look.over_mib > 0);
    out->used_mib = own >= 0 ? own : alone ? look.used_mib : -1;
    int64_t beyond = out->used_mib - out->declared_mib;
    out->over_mib = shown && out->declared_mib >= 0 && beyond > SL_USAGE_CONTEXT_MIB ? beyond : 0;
}

/* ---- what it draws ---- */

/* Permille of the time in which the pod's instances on that GPU were busy, as far as is known; -1:
 * no unit of that GPU names the pod. */
static int64_t busy_by_name(const struct look *look, const struct sl_usage_row *gpu)
{
    uint64_t key = sl_names_key(look->resident->pod);
    int64_t sum = 0;
    int64_t n = 0;
    for (size_t i = 0; i < look->n; i++) {
        const struct sl_usage_row *row = &look->row[i];
        if (row->gpu == gpu->gpu && sl_names_is_on(row, key)) {
            sum += row->measured.busy < 0 ? HALF_BUSY : row->measured.busy;
            n++;
        }
    }
    return n > 0 ? sum / n : -1;
}

/* The pod's weight among those who hold the GPU; 0: it does not, as far as is known. */
static int64_t weight_on(const struct look *look, const struct sl_usage_row *gpu)
{
    const struct sl_node *node = look->view->node;
    bool named = named_beyond(look, look->resident) >= 0;
    int64_t busy = named ? busy_by_name(look, gpu) : HALF_BUSY;
    bool there = named && busy >= 0;
    int64_t size = 0; /* of its instances */
    for (unsigned i = 0; i < look->resident->n_parts; i++) {
        const struct sl_assignment_part *part = part_of(look, look->resident, i);
        const struct sl_pool *pool = sl_names_pool(look->view, look->resident, i);
        const struct sl_device *device = part->device < 0 ? NULL : &node->device[part->device];
        bool told = !named && device != NULL;
        there = there || (told && sl_usage_row_of(look->row, look->n, device) == gpu);
        size += pool->profile == NULL ? 0 : share_of(node, pool, device, part->amount);
    }
    bool holds = there && !look->resident->pod->set_aside;
    return !holds ? 0 : size == 0 ? WHOLE : size * (HOLDING + busy);
}

int64_t sl_usage_charge(const struct sl_view *view, const struct sl_usage_row *row, size_t n,
                        size_t gpu, int64_t mj, struct sl_usage_charge *charge)
{
    int64_t sum = 0;
    int64_t rest = mj;
    for (unsigned i = 0; i < view->n_residents; i++) {
        struct look look = {.view = view, .resident = &view->resident[i], .row = row, .n = n};
        charge[i].weight = weight_on(&look, &row[gpu]);
        sum = sl_sat_add(sum, charge[i].weight);
    }
    for (unsigned i = 0; sum > 0 && i < view->n_residents; i++) {
        int64_t own = mj / sum * charge[i].weight + mj % sum * charge[i].weight / sum;
        charge[i].mj = sl_sat_add(charge[i].mj, own);
        rest -= own;
    }
    return rest;
}
