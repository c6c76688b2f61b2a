/* Finds the pod that an exporter's labels name, and decides where such a name counts. */
#include "core/usage/names.h"
#include "util/data/hash.h"
#include "util/data/sat.h"

static bool is_said(const struct sl_str text[SL_USAGE_SAID_MAX], const char *own)
{
    bool said = false;
    for (unsigned i = 0; i < SL_USAGE_SAID_MAX; i++) {
        said = said || (text[i].len > 0 && sl_str_eq(text[i], sl_str_of(own)));
    }
    return said;
}

/* How many names beside that one. */
static unsigned others_of(const struct sl_usage_said *said, const char *name)
{
    unsigned n = 0;
    for (unsigned i = 0; i < SL_USAGE_SAID_MAX; i++) {
        bool known = said->pod[i].len == 0 || sl_str_eq(said->pod[i], sl_str_of(name));
        for (unsigned k = 0; k < i; k++) {
            known = known || sl_str_eq(said->pod[k], said->pod[i]);
        }
        n += !known;
    }
    return n;
}

uint64_t sl_usage_pod_key(struct sl_str namespace, struct sl_str name)
{
    uint64_t word[2] = {sl_hash(namespace.s, namespace.len), sl_hash(name.s, name.len)};
    return namespace.len == 0 || name.len == 0 ? 0 : sl_hash((const char *)word, sizeof(word)) | 1;
}

uint64_t sl_names_key(const struct sl_pod *pod)
{
    return sl_usage_pod_key(sl_str_of(pod->namespace), sl_str_of(pod->name));
}

int64_t sl_names_held(const struct sl_view *view, const struct sl_resident *resident)
{
    int64_t held = 0;
    for (unsigned i = 0; i < resident->n_parts; i++) {
        held = sl_sat_add(held, view->part[resident->first_part + i].amount);
    }
    return held;
}

static bool has_all_elsewhere(const struct sl_view *view, const struct sl_resident *resident,
                              const struct sl_usage_said *said)
{
    uint64_t key = sl_names_key(resident->pod);
    int64_t n = 0;
    for (size_t i = 0; i < said->n_elsewhere; i++) {
        n += said->elsewhere[i] == key;
    }
    return n > 0 && n >= sl_names_held(view, resident);
}

uint64_t sl_usage_named(const struct sl_view *view, const struct sl_usage_said *said, bool *doubt)
{
    const struct sl_pod *plain = NULL;
    const struct sl_pod *posing = NULL;
    unsigned n_plain = 0;
    unsigned n_posing = 0;
    unsigned others = said->others;
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        bool meant = !pod->set_aside && is_said(said->pod, pod->name) &&
                     is_said(said->namespace, pod->namespace);
        bool away = meant && has_all_elsewhere(view, &view->resident[i], said);
        others += away;
        meant = meant && !away;
        n_posing += meant && pod->poses;
        n_plain += meant && !pod->poses;
        posing = meant && pod->poses ? pod : posing;
        plain = meant && !pod->poses ? pod : plain;
    }
    *doubt = n_posing > 1 || (n_posing == 0 && n_plain > 1);
    if (said->more || n_posing > 1) {
        return 0;
    }
    bool alone = n_plain == 1 && others_of(said, plain->name) <= others;
    return n_posing > 0 ? sl_names_key(posing) : alone ? sl_names_key(plain) : 0;
}

const struct sl_usage_home *sl_usage_home(const struct sl_usage_home *home, size_t n)
{
    const struct sl_usage_home *having = NULL;
    bool several = false;
    bool clash = false;
    for (size_t i = 0; i < n; i++) {
        bool has = home[i].pod != 0;
        several = several || home[i].view != home[0].view;
        clash = clash || (has && having != NULL && home[i].view != having->view);
        having = has ? &home[i] : having;
    }
    return n == 0 || clash ? NULL : several ? having : &home[0];
}

/* ---- agreement ---- */

const struct sl_pool *sl_names_pool(const struct sl_view *view, const struct sl_resident *resident,
                                    unsigned i)
{
    const struct sl_assignment_part *part = &view->part[resident->first_part + i];
    return &view->node->pool[sl_view_pool(view, resident->pod->items[part->item].key)];
}

bool sl_names_shares(const struct sl_view *view, const struct sl_resident *resident)
{
    bool shares = false;
    for (unsigned i = 0; i < resident->n_parts; i++) {
        shares = shares || sl_kinds[sl_names_pool(view, resident, i)->kind].shares;
    }
    return shares;
}

bool sl_names_is_on(const struct sl_usage_row *row, uint64_t key)
{
    bool found = false;
    for (unsigned i = 0; i < row->names.n; i++) {
        found = found || (row->names.pod[i] == key && !row->names.unnamed[i]);
    }
    return found;
}

bool sl_names_is_of(const struct sl_node *node, const struct sl_usage_row *row,
                    const struct sl_mig_profile *profile)
{
    struct sl_str name = sl_str_of(row->profile);
    bool same = strcmp(row->profile, profile->name) == 0;
    for (unsigned i = 0; row->instance >= 0 && !same && i < node->n_devices; i++) {
        const struct sl_mig_model *model = node->device[i].model;
        same = model != NULL && sl_mig_profile_find(model, name) == profile;
    }
    return row->instance >= 0 &&
           (same || (node->model != NULL && sl_mig_profile_find(node->model, name) == profile));
}

/* May the resident have what the row is of? */
static bool may_have(const struct sl_view *view, const struct sl_resident *resident,
                     const struct sl_usage_row *row)
{
    bool may = false;
    for (unsigned i = 0; i < resident->n_parts; i++) {
        const struct sl_pool *pool = sl_names_pool(view, resident, i);
        bool instance = sl_kinds[pool->kind].instance || pool->profile != NULL;
        may = may ||
              (instance && pool->profile != NULL ? sl_names_is_of(view->node, row, pool->profile)
                                                 : instance == (row->instance >= 0));
    }
    return may;
}

/* Names the resident on the rows that it may have no longer, or (drop) on none. Returns on how many
 * it is named. */
static unsigned settle(const struct sl_view *view, const struct sl_resident *resident, bool drop,
                       struct sl_usage_row *row, size_t n)
{
    uint64_t key = sl_names_key(resident->pod);
    unsigned named = 0;
    for (size_t i = 0; i < n; i++) {
        struct sl_usage_names *names = &row[i].names;
        for (unsigned k = 0; k < names->n; k++) {
            bool own = names->pod[k] == key && !names->unnamed[k];
            bool keeps = own && !drop && may_have(view, resident, &row[i]);
            names->unnamed[k] = own ? !keeps : names->unnamed[k];
            named += keeps;
        }
    }
    return named;
}

void sl_usage_agree(const struct sl_view *view, struct sl_usage_row *row, size_t n)
{
    bool all = true; /* that share GPUs are named */
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        unsigned named = settle(view, resident, false, row, n);
        bool needed = !resident->pod->set_aside && sl_names_shares(view, resident);
        all = all && (!needed || named > 0);
    }
    for (unsigned i = 0; i < view->n_residents && !all; i++) {
        if (sl_names_shares(view, &view->resident[i])) {
            (void)settle(view, &view->resident[i], true, row, n);
        }
    }
}
