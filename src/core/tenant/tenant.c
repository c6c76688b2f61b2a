#include "core/tenant/tenant.h"

#include "util/data/sat.h"

#include <stdlib.h>

enum { ONE = 1000000 };

static const struct sl_tenant_share usual_share = {.weight = SL_TENANT_WEIGHT_ONE};

/* A Namespace with the tenant that its label names. */
struct label {
    struct sl_tenant *tenant;
    char namespace[];
};

struct sl_tenancy {
    struct sl_tenants config;
    uint8_t begin[SL_TENANT_RULES_MAX]; /* of config.space[]: bytes before a '*' or the end */
    struct sl_map by_name;
    struct sl_map labels; /* namespace -> struct label */
    struct sl_tenant *tenant[SL_TENANTS_MAX];
    size_t n;
    int64_t weights; /* the sum */
};

static const struct sl_tenant_share *share_of(const struct sl_tenancy *tenancy, struct sl_str name)
{
    for (unsigned i = 0; i < tenancy->config.n_shares; i++) {
        if (sl_str_eq(name, sl_str_of(tenancy->config.share[i].tenant))) {
            return &tenancy->config.share[i];
        }
    }
    return &usual_share;
}

static struct sl_tenant *tenant_find(const struct sl_tenancy *tenancy, struct sl_str name)
{
    return sl_map_get(&tenancy->by_name, name.s, name.len);
}

/* Can there be one more tenant, of that name, beside the others? */
static bool has_place(const struct sl_tenancy *tenancy, struct sl_str name)
{
    struct sl_str others = sl_str_of(SL_TENANT_OTHERS);
    bool kept = tenant_find(tenancy, others) == NULL && !sl_str_eq(name, others);
    return tenancy->n + kept < SL_TENANTS_MAX && name.len < SL_TENANT_NAME_MAX;
}

/* NULL: out of memory, or there are too many. */
static struct sl_tenant *tenant_get(struct sl_tenancy *tenancy, struct sl_str name)
{
    struct sl_tenant *tenant = tenant_find(tenancy, name);
    if (tenant != NULL || !has_place(tenancy, name)) {
        return tenant;
    }
    tenant = calloc(1, sizeof(*tenant));
    if (tenant == NULL) {
        return NULL;
    }
    memcpy(tenant->name, name.s, name.len);
    tenant->share = share_of(tenancy, name);
    tenant->index = (uint32_t)tenancy->n;
    if (sl_map_put(&tenancy->by_name, tenant->name, name.len, tenant, NULL) < 0) {
        free(tenant);
        return NULL;
    }
    tenancy->tenant[tenancy->n] = tenant;
    tenancy->n++;
    tenancy->weights += tenant->share->weight;
    return tenant;
}

struct sl_tenancy *sl_tenancy_new(const struct sl_tenants *tenants)
{
    struct sl_tenancy *tenancy = calloc(1, sizeof(*tenancy));
    if (tenancy == NULL) {
        return NULL;
    }
    tenancy->config = *tenants;
    bool whole = true;
    for (unsigned i = 0; i < tenants->n_shares; i++) {
        whole = whole && tenant_get(tenancy, sl_str_of(tenants->share[i].tenant)) != NULL;
    }
    for (unsigned i = 0; i < tenants->n_spaces; i++) {
        tenancy->begin[i] = (uint8_t)strcspn(tenants->space[i].namespace, "*");
        whole = whole && tenant_get(tenancy, sl_str_of(tenants->space[i].tenant)) != NULL;
    }
    whole = whole && (tenancy->n > 0 || tenant_get(tenancy, sl_str_of(SL_TENANT_OTHERS)) != NULL);
    if (!whole) {
        sl_tenancy_free(tenancy);
        return NULL;
    }
    return tenancy;
}

void sl_tenancy_free(struct sl_tenancy *tenancy)
{
    if (tenancy == NULL) {
        return;
    }
    size_t at = 0;
    for (void *label = sl_map_next(&tenancy->labels, &at); label != NULL;
         label = sl_map_next(&tenancy->labels, &at)) {
        free(label);
    }
    for (size_t i = 0; i < tenancy->n; i++) {
        free(tenancy->tenant[i]);
    }
    sl_map_free(&tenancy->labels);
    sl_map_free(&tenancy->by_name);
    free(tenancy);
}

const struct sl_tenants *sl_tenancy_config(const struct sl_tenancy *tenancy)
{
    return &tenancy->config;
}

/* As sl_str_like, for entry i. */
static bool is_of(const struct sl_tenancy *tenancy, unsigned i, struct sl_str namespace)
{
    const char *pattern = tenancy->config.space[i].namespace;
    size_t len = tenancy->begin[i];
    return (namespace.len == len || (namespace.len > len && pattern[len] == '*')) &&
           memcmp(namespace.s, pattern, len) == 0;
}

struct sl_tenant *sl_tenancy_find(const struct sl_tenancy *tenancy, const char *namespace)
{
    const struct sl_str space = sl_str_of(namespace);
    unsigned i = 0;
    while (i < tenancy->config.n_spaces && !is_of(tenancy, i, space)) {
        i++;
    }
    if (i < tenancy->config.n_spaces) {
        const char *name = tenancy->config.space[i].tenant;
        return sl_map_get(&tenancy->by_name, name, strlen(name));
    }
    const struct label *label = sl_map_get(&tenancy->labels, namespace, strlen(namespace));
    return label != NULL
               ? label->tenant
               : sl_map_get(&tenancy->by_name, SL_TENANT_OTHERS, strlen(SL_TENANT_OTHERS));
}

struct sl_tenant *sl_tenancy_of(struct sl_tenancy *tenancy, const char *namespace)
{
    struct sl_tenant *tenant = sl_tenancy_find(tenancy, namespace);
    tenant = tenant != NULL ? tenant : tenant_get(tenancy, sl_str_of(SL_TENANT_OTHERS));
    return tenant != NULL ? tenant : tenancy->tenant[0];
}

int sl_tenancy_label(struct sl_tenancy *tenancy, struct sl_str namespace, struct sl_str tenant)
{
    struct label *label = sl_map_get(&tenancy->labels, namespace.s, namespace.len);
    struct sl_tenant *is = tenant.len == 0 ? NULL : tenant_get(tenancy, tenant);
    if (is == NULL && tenant.len > 0 && has_place(tenancy, tenant)) {
        return -1;
    }
    if (is == (label == NULL ? NULL : label->tenant)) {
        return 0;
    }
    if (is == NULL) {
        (void)sl_map_remove(&tenancy->labels, namespace.s, namespace.len);
        free(label);
        return 1;
    }
    if (label == NULL) {
        label = SL_MAP_ADD(&tenancy->labels, struct label, namespace, namespace);
        if (label == NULL) {
            return -1;
        }
    }
    label->tenant = is;
    return 1;
}

int sl_tenancy_relabel(struct sl_tenancy *tenancy, const struct sl_tenancy *from)
{
    size_t at = 0;
    int rc = 0;
    for (const struct label *label = sl_map_next(&from->labels, &at); label != NULL;
         label = sl_map_next(&from->labels, &at)) {
        int one =
            sl_tenancy_label(tenancy, sl_str_of(label->namespace), sl_str_of(label->tenant->name));
        rc = one < 0 ? one : rc;
    }
    return rc;
}

size_t sl_tenancy_count(const struct sl_tenancy *tenancy)
{
    return tenancy->n;
}

struct sl_tenant *sl_tenancy_at(const struct sl_tenancy *tenancy, size_t index)
{
    return tenancy->tenant[index];
}

static bool names(const struct sl_tenant_units *units, const char *resource, const char *model)
{
    return (units->resource[0] == '\0' || strcmp(units->resource, resource) == 0) &&
           (model[0] == '\0' || strcmp(units->model, model) == 0);
}

/* The units that the entries give the tenant (NULL: all) of the resource; -1: none does. */
static int64_t units_of(const struct sl_tenant_units *units, unsigned n, const char *tenant,
                        const char *resource, const char *model)
{
    int64_t sum = -1;
    for (unsigned i = 0; i < n; i++) {
        if ((tenant == NULL || strcmp(units[i].tenant, tenant) == 0) &&
            names(&units[i], resource, model)) {
            sum = sl_sat_add(sum < 0 ? 0 : sum, units[i].units);
        }
    }
    return sum;
}

int sl_tenants_check(const struct sl_tenants *tenants, sl_tenants_capacity_fn capacity,
                     const void *context, struct sl_error *err)
{
    for (unsigned i = 0; i < 2U * tenants->n_guarantees; i++) {
        const struct sl_tenant_units *one = &tenants->guarantee[i / 2];
        const char *model = i % 2 == 0 ? "" : one->model; /* of all models, too */
        int64_t sum = 0;
        for (unsigned k = 0; k < tenants->n_guarantees; k++) {
            const struct sl_tenant_units *other = &tenants->guarantee[k];
            bool same = strcmp(one->resource, other->resource) == 0 &&
                        (model[0] == '\0' || strcmp(model, other->model) == 0);
            sum = sl_sat_add(sum, same ? other->units : 0);
        }
        int64_t units = capacity(context, one->resource, model);
        if (sum > units) {
            return sl_error_set(err, SL_ERR_FIELD,
                                "tenants.guarantees: %lld of %s%s%s are guaranteed in all, and the "
                                "nodes have %lld",
                                (long long)sum, one->resource, model[0] == '\0' ? "" : " on ",
                                model, (long long)units);
        }
    }
    return 0;
}

const char *sl_tenancy_model(const struct sl_tenancy *tenancy, const char *resource,
                             const char *model)
{
    const struct sl_tenants *config = &tenancy->config;
    for (unsigned i = 0; model != NULL && model[0] != '\0' && i < config->n_guarantees; i++) {
        if (names(&config->guarantee[i], resource, model)) {
            return config->guarantee[i].model;
        }
    }
    return NULL;
}

int64_t sl_tenancy_guaranteed(const struct sl_tenancy *tenancy, const char *resource,
                              const char *model)
{
    const struct sl_tenants *config = &tenancy->config;
    int64_t units = units_of(config->guarantee, config->n_guarantees, NULL, resource, model);
    return units < 0 ? 0 : units;
}

int64_t sl_tenancy_guarantee(const struct sl_tenancy *tenancy, const struct sl_tenant *tenant,
                             const char *resource, const char *model)
{
    const struct sl_tenants *config = &tenancy->config;
    int64_t units =
        units_of(config->guarantee, config->n_guarantees, tenant->name, resource, model);
    return units < 0 ? 0 : units;
}

int64_t sl_tenancy_cap(const struct sl_tenancy *tenancy, const struct sl_tenant *tenant,
                       const char *resource)
{
    const struct sl_tenants *config = &tenancy->config;
    int64_t units = units_of(config->cap, config->n_caps, tenant->name, resource, "");
    return units < 0 ? INT64_MAX : units;
}

int64_t sl_tenancy_part(const struct sl_tenancy *tenancy, const struct sl_tenant *tenant,
                        const char *resource, const char *model, int64_t capacity)
{
    int64_t own = sl_tenancy_guarantee(tenancy, tenant, resource, model);
    int64_t all = sl_tenancy_guaranteed(tenancy, resource, model);
    int64_t cap = sl_tenancy_cap(tenancy, tenant, resource);
    double units = (double)own;
    if (all > capacity) {
        units = units * (double)capacity / (double)all;
    } else if (tenancy->weights > 0) {
        units +=
            (double)(capacity - all) * (double)tenant->share->weight / (double)tenancy->weights;
    }
    units = units < (double)cap ? units : (double)cap;
    return (int64_t)(units * ONE + 0.5);
}
