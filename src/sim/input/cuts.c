/* Cuts of a GPU by counts. */
#include "sim/input/cuts.h"

#include <stdio.h>

const struct sl_mig_model *sl_model_named(struct sl_str name)
{
    for (size_t i = 0; i < sl_mig_model_count(); i++) {
        if (sl_str_eq(name, sl_str_of(sl_mig_model_at(i)->name))) {
            return sl_mig_model_at(i);
        }
    }
    return sl_mig_model_find(name, 0);
}

unsigned sl_counts_instances(const struct sl_counts *counts)
{
    unsigned n = 0;
    for (unsigned i = 0; i < SL_MIG_PROFILES_MAX; i++) {
        n += counts->of[i];
    }
    return n;
}

/* ---- text ---- */

/* "2g.12gb*2" */
static int item_parse(struct sl_str item, const struct sl_mig_model *model, struct sl_counts *out,
                      struct sl_error *err)
{
    struct sl_str number = item;
    struct sl_str name = sl_str_cut(&number, '*');
    const struct sl_mig_profile *profile = sl_mig_profile_find(model, name);
    int64_t count = 1;
    if (profile == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "%s has no MIG profile \"%.*s\"", model->name,
                            (int)(name.len < 40 ? name.len : 40), name.s);
    }
    if (name.len < item.len &&
        (!sl_str_to_i64(number, &count) || count < 1 || count > SL_MIG_INSTANCES_MAX)) {
        return sl_error_set(err, SL_ERR_FIELD, "\"%.*s\": expected PROFILE*COUNT",
                            (int)(item.len < 40 ? item.len : 40), item.s);
    }
    if (sl_counts_instances(out) + count > SL_MIG_INSTANCES_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d instances on one GPU",
                            SL_MIG_INSTANCES_MAX);
    }
    uint8_t *of = &out->of[profile - model->profiles];
    *of = (uint8_t)(*of + count);
    return 0;
}

int sl_counts_parse(struct sl_str text, const struct sl_mig_model *model, struct sl_counts *out,
                    struct sl_error *err)
{
    const struct sl_mig_layout empty = {0};
    *out = (struct sl_counts){{0}};
    for (struct sl_str rest = text; rest.len > 0;) {
        if (item_parse(sl_str_cut(&rest, '+'), model, out, err) < 0) {
            return -1;
        }
    }
    if (!sl_mig_pack(model, &empty, out->of, NULL)) {
        return sl_error_set(err, SL_ERR_FIELD, "\"%.*s\" does not fit on one %s", (int)text.len,
                            text.s, model->name);
    }
    return 0;
}

size_t sl_counts_print(const struct sl_counts *counts, const struct sl_mig_model *model, char *out,
                       size_t size)
{
    size_t len = (size_t)snprintf(out, size, "%s", "");
    for (unsigned i = model->n_profiles; i-- > 0;) {
        if (counts->of[i] > 0 && len < size) {
            len += (size_t)snprintf(out + len, size - len, "%s%s*%u", len > 0 ? "+" : "",
                                    model->profiles[i].name, counts->of[i]);
        }
    }
    return len > 0 ? len : (size_t)snprintf(out, size, "whole");
}

/* ---- all that leave no room ---- */

struct search {
    const struct sl_mig_model *model;
    unsigned profiles;
    struct sl_counts *out;
    size_t n;
    size_t max;
};

static bool counts_fit(const struct sl_mig_model *model, const struct sl_counts *counts)
{
    const struct sl_mig_layout empty = {0};
    return sl_counts_instances(counts) <= SL_MIG_INSTANCES_MAX &&
           sl_mig_pack(model, &empty, counts->of, NULL);
}

static bool counts_full(const struct search *search, struct sl_counts counts)
{
    for (unsigned i = 0; i < search->model->n_profiles; i++) {
        if ((search->profiles >> i & 1U) != 0) {
            counts.of[i]++;
            if (counts_fit(search->model, &counts)) {
                return false;
            }
            counts.of[i]--;
        }
    }
    return true;
}

/* Tries all counts of the profiles below `top`, most of the largest first. */
static void search_below(struct search *search, unsigned top, struct sl_counts counts)
{
    if (top == 0) {
        if (search->n < search->max && counts_full(search, counts)) {
            search->out[search->n++] = counts;
        }
        return;
    }
    const struct sl_mig_profile *profile = &search->model->profiles[top - 1];
    bool wanted = (search->profiles >> (top - 1) & 1U) != 0;
    for (int k = wanted ? profile->max_count : 0; k >= 0; k--) {
        counts.of[top - 1] = (uint8_t)k;
        if (counts_fit(search->model, &counts)) {
            search_below(search, top - 1, counts);
        }
    }
}

size_t sl_counts_maximal(const struct sl_mig_model *model, unsigned profiles, struct sl_counts *out,
                         size_t max)
{
    struct search search = {.model = model, .profiles = profiles, .out = out, .max = max};
    search_below(&search, model->n_profiles, (struct sl_counts){{0}});
    return search.n;
}
