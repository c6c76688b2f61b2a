/* Whose a namespace is, and what part of a resource is a tenant's. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <stdio.h>

#include "core/tenant/tenant.h"
#include "unit/lack.h"
#include "unit/test.h"

#define GPU "nvidia.com/gpu"
#define MIG "nvidia.com/mig-1g.6gb"

/* As large as it is, the configuration is no stack's. */
static struct sl_tenants config;

static struct sl_tenant_share *share(const char *tenant, int64_t weight)
{
    struct sl_tenant_share *entry = &config.share[config.n_shares++];
    *entry = (struct sl_tenant_share){.weight = weight * SL_TENANT_WEIGHT_ONE};
    (void)snprintf(entry->tenant, sizeof(entry->tenant), "%s", tenant);
    return entry;
}

static void space(const char *namespace, const char *tenant)
{
    struct sl_tenant_space *entry = &config.space[config.n_spaces++];
    (void)snprintf(entry->namespace, sizeof(entry->namespace), "%s", namespace);
    (void)snprintf(entry->tenant, sizeof(entry->tenant), "%s", tenant);
}

static struct sl_tenant_units units(const char *tenant, const char *resource, int64_t n)
{
    struct sl_tenant_units entry = {.units = n};
    (void)snprintf(entry.tenant, sizeof(entry.tenant), "%s", tenant);
    (void)snprintf(entry.resource, sizeof(entry.resource), "%s", resource);
    return entry;
}

static struct sl_tenancy *tenancy_new(void)
{
    struct sl_tenancy *tenancy = sl_tenancy_new(&config);
    assert_non_null(tenancy);
    return tenancy;
}

static const char *owner(struct sl_tenancy *tenancy, const char *namespace)
{
    return sl_tenancy_of(tenancy, namespace)->name;
}

static int label(struct sl_tenancy *tenancy, const char *namespace, const char *tenant)
{
    return sl_tenancy_label(tenancy, sl_str_of(namespace), sl_str_of(tenant));
}

static const struct {
    const char *name;
    const char *namespace;
    const char *label;
    const char *tenant;
} owners[] = {
    {"by the namespace", "red", "", "a"},
    {"before the label", "red", "c", "a"},
    {"by how it begins", "red-7", "", "b"},
    {"by the first entry of two", "red-x", "c", "a"},
    {"a pattern needs all of its beginning", "red_", "", "others"},
    {"the name itself begins with the pattern", "red-", "", "b"},
    {"by the label", "blue", "c", "c"},
    {"by a label that names a tenant which is not configured", "blue", "new", "new"},
    {"of nobody", "blue", "", "others"},
    {"of no name", "", "", "others"},
};

TEST_EACH(a_namespace_has_a_tenant, owners)
{
    config = (struct sl_tenants){.n_shares = 0};
    share("a", 1);
    share("c", 1);
    space("red", "a");
    space("red-x", "a");
    space("red-*", "b");
    struct sl_tenancy *tenancy = tenancy_new();
    bool matters = row->label[0] != '\0'; /* by the label, that of an entry counts all the same */
    assert_int_equal(label(tenancy, row->namespace, row->label), matters);
    assert_string_equal(owner(tenancy, row->namespace), row->tenant);
    sl_tenancy_free(tenancy);
}

TEST_THAT(a_label_changes_and_goes)
{
    config = (struct sl_tenants){.n_shares = 0};
    share("a", 1);
    struct sl_tenancy *tenancy = tenancy_new();
    struct sl_tenancy *next = tenancy_new();
    assert_int_equal(label(tenancy, "n", "a"), 1);
    assert_int_equal(label(tenancy, "n", "a"), 0);
    assert_string_equal(owner(tenancy, "n"), "a");
    assert_int_equal(label(tenancy, "n", "b"), 1);
    assert_string_equal(owner(tenancy, "n"), "b");
    assert_int_equal(sl_tenancy_relabel(next, tenancy), 0);
    assert_string_equal(owner(next, "n"), "b");
    assert_int_equal(label(tenancy, "n", ""), 1);
    assert_int_equal(label(tenancy, "n", ""), 0);
    assert_string_equal(owner(tenancy, "n"), "others");
    sl_tenancy_free(tenancy);
    sl_tenancy_free(next);
}

TEST_THAT(beyond_so_many_tenants_all_are_of_the_others)
{
    config = (struct sl_tenants){.n_shares = 0};
    char name[32];
    share("a", 1);
    struct sl_tenancy *tenancy = tenancy_new();
    for (int i = 0; i < SL_TENANTS_MAX + 10; i++) {
        (void)snprintf(name, sizeof(name), "t%d", i);
        (void)label(tenancy, name, name);
    }
    assert_string_equal(owner(tenancy, "t0"), "t0");
    assert_string_equal(owner(tenancy, name), "others");
    assert_string_equal(owner(tenancy, "nobodys"), "others");
    assert_int_equal(sl_tenancy_count(tenancy), SL_TENANTS_MAX);
    for (size_t i = 0; i < SL_TENANTS_MAX; i++) {
        assert_int_equal(sl_tenancy_at(tenancy, i)->index, i);
    }
    sl_tenancy_free(tenancy);
}

TEST_THAT(a_lack_of_memory_is_told_and_changes_nothing)
{
    config = (struct sl_tenants){.n_shares = 0};
    const int64_t live = lack.live;
    bool hit = true;
    share("a", 1);
    for (size_t n = 1; hit; n++) {
        lack_arm(n, false);
        struct sl_tenancy *tenancy = sl_tenancy_new(&config);
        if (tenancy != NULL) {
            int told = label(tenancy, "n", "new");
            hit = lack_disarm();
            assert_int_equal(told, hit ? -1 : 1);
            assert_string_equal(owner(tenancy, "n"), hit ? "others" : "new");
            assert_int_equal(label(tenancy, "n", "new"), hit);
            sl_tenancy_free(tenancy);
        }
        assert_true(lack_disarm() == hit && n < 50);
        assert_int_equal(lack.live, live);
    }
}

/* ---- parts ---- */

enum { TENANTS = 3, NONE = -1 };

static const struct {
    const char *name;
    int64_t capacity;
    int64_t weight[TENANTS];
    int64_t guarantee[TENANTS]; /* NONE: no entry */
    int64_t cap[TENANTS];
    double part[TENANTS];
} parts[] = {
    {"even", 12, {1, 1, 1}, {NONE, NONE, NONE}, {NONE, NONE, NONE}, {4, 4, 4}},
    {"by weight", 12, {1, 2, 3}, {NONE, NONE, NONE}, {NONE, NONE, NONE}, {2, 4, 6}},
    {"by halves", 1, {1, 1, 0}, {NONE, NONE, NONE}, {NONE, NONE, NONE}, {0.5, 0.5, 0}},
    {"a guarantee comes first", 12, {1, 1, 1}, {6, NONE, NONE}, {NONE, NONE, NONE}, {8, 2, 2}},
    {"a guarantee without weight", 12, {0, 1, 2}, {6, NONE, NONE}, {NONE, NONE, NONE}, {6, 2, 4}},
    {"all is guaranteed", 12, {1, 1, 1}, {6, 4, 2}, {NONE, NONE, NONE}, {6, 4, 2}},
    {"more is guaranteed than there is", 6, {1, 1, 1}, {6, 4, 2}, {NONE, NONE, NONE}, {3, 2, 1}},
    {"a cap is below the weight", 12, {1, 1, 1}, {NONE, NONE, NONE}, {1, NONE, NONE}, {1, 4, 4}},
    {"a cap of nothing", 12, {1, 1, 1}, {NONE, NONE, NONE}, {0, NONE, NONE}, {0, 4, 4}},
    {"a cap above the part", 12, {1, 1, 1}, {NONE, NONE, NONE}, {9, NONE, NONE}, {4, 4, 4}},
    {"nobody has weight", 12, {0, 0, 0}, {5, NONE, NONE}, {NONE, NONE, NONE}, {5, 0, 0}},
    {"there is nothing", 0, {1, 2, 3}, {5, NONE, NONE}, {NONE, NONE, NONE}, {0, 0, 0}},
};

static const char *const names[TENANTS] = {"a", "b", "c"};

static void set_units(const int64_t *n, struct sl_tenant_units *entry, uint8_t *count)
{
    for (int i = 0; i < TENANTS; i++) {
        if (n[i] != NONE) {
            entry[(*count)++] = units(names[i], GPU, n[i]);
        }
    }
}

TEST_EACH(a_tenant_has_its_part, parts)
{
    config = (struct sl_tenants){.n_shares = 0};
    for (int i = 0; i < TENANTS; i++) {
        share(names[i], row->weight[i]);
    }
    set_units(row->guarantee, config.guarantee, &config.n_guarantees);
    set_units(row->cap, config.cap, &config.n_caps);
    struct sl_tenancy *tenancy = tenancy_new();
    for (size_t i = 0; i < TENANTS; i++) {
        assert_int_equal(
            sl_tenancy_part(tenancy, sl_tenancy_at(tenancy, i), GPU, "", row->capacity),
            (int64_t)(row->part[i] * SL_TENANT_WEIGHT_ONE));
    }
    sl_tenancy_free(tenancy);
}

/* But for what is rounded. */
TEST_THAT(parts_are_together_what_there_is)
{
    uint64_t random = 1;
    for (int i = 0; i < 2000; i++) {
        int64_t sum = 0;
        config = (struct sl_tenants){.n_shares = 0};
        random = random * 6364136223846793005u + 1442695040888963407u;
        int64_t n = 1 + (int64_t)(random >> 33) % 40;
        int64_t capacity = (int64_t)(random >> 40) % (i % 2 == 0 ? 100 : 10000000);
        for (int64_t t = 0; t < n; t++) {
            char name[16];
            random = random * 6364136223846793005u + 1442695040888963407u;
            (void)snprintf(name, sizeof(name), "t%d", (int)t);
            share(name, 0)->weight = 1 + (int64_t)(random >> 20) % SL_TENANT_WEIGHT_MAX;
            if ((random >> 60) == 0) {
                config.guarantee[config.n_guarantees++] =
                    units(name, GPU, (int64_t)(random >> 33) % (capacity + 1));
            }
        }
        struct sl_tenancy *tenancy = tenancy_new();
        for (int64_t t = 0; t < n; t++) {
            sum += sl_tenancy_part(tenancy, sl_tenancy_at(tenancy, (size_t)t), GPU, "", capacity);
        }
        assert_true(llabs(sum - capacity * SL_TENANT_WEIGHT_ONE) <= n);
        sl_tenancy_free(tenancy);
    }
}

TEST_THAT(units_are_of_one_resource_or_of_all)
{
    config = (struct sl_tenants){.n_shares = 0};
    share("a", 0);
    share("b", 0);
    config.cap[config.n_caps++] = units("a", GPU, 3);
    config.cap[config.n_caps++] = units("b", "", 2);
    config.guarantee[config.n_guarantees++] = units("a", MIG, 4);
    config.guarantee[config.n_guarantees] = units("a", MIG, 1);
    (void)snprintf(config.guarantee[config.n_guarantees++].model, SL_TENANT_NAME_MAX, "m");
    config.guarantee[config.n_guarantees++] = units("b", MIG, 2);
    struct sl_tenancy *tenancy = tenancy_new();
    const struct sl_tenant *a = sl_tenancy_at(tenancy, 0);
    const struct sl_tenant *b = sl_tenancy_at(tenancy, 1);
    assert_int_equal(sl_tenancy_cap(tenancy, a, GPU), 3);
    assert_int_equal(sl_tenancy_cap(tenancy, a, MIG), INT64_MAX);
    assert_int_equal(sl_tenancy_cap(tenancy, b, MIG), 2);
    assert_int_equal(sl_tenancy_guaranteed(tenancy, MIG, ""), 7);
    assert_int_equal(sl_tenancy_guaranteed(tenancy, GPU, ""), 0);
    assert_int_equal(sl_tenancy_part(tenancy, a, MIG, "", 100), 5 * SL_TENANT_WEIGHT_ONE);
    assert_int_equal(sl_tenancy_part(tenancy, b, MIG, "", 100), 2 * SL_TENANT_WEIGHT_ONE);
    assert_int_equal(sl_tenancy_guaranteed(tenancy, MIG, "m"), 1);
    assert_int_equal(sl_tenancy_part(tenancy, a, MIG, "m", 100), 1 * SL_TENANT_WEIGHT_ONE);
    assert_int_equal(sl_tenancy_part(tenancy, b, MIG, "m", 100), 0);
    assert_string_equal(sl_tenancy_model(tenancy, MIG, "m"), "m");
    assert_null(sl_tenancy_model(tenancy, GPU, "m"));
    assert_null(sl_tenancy_model(tenancy, MIG, "n"));
    assert_null(sl_tenancy_model(tenancy, MIG, ""));
    assert_null(sl_tenancy_model(tenancy, MIG, NULL));
    sl_tenancy_free(tenancy);
}
