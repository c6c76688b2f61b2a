/* The keys of tenants: what is taken, and what is said, and where, of what is not. */
#include "config/config.h"
#include "unit/test.h"

#define HEAD "apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\nqueue: {enabled: true}\n"

static const char three_teams[] =
    HEAD "tenants:\n"
         "  namespaceLabel: example.com/team\n"
         "  borrowMaxTimeout: 8h\n"
         "  shares:\n"
         "  - {tenant: vision, weight: 2.5, users: true}\n"
         "  - {tenant: Speech_1, weight: 0, maxRunning: 8, maxWaiting: 100, maxTimeout: 24h}\n"
         "  - {tenant: others}\n"
         "  namespaces:\n"
         "  - {namespace: vision, tenant: vision}\n"
         "  - {namespace: vision-*, tenant: vision}\n"
         "  guarantees:\n"
         "  - {tenant: vision, resource: nvidia.com/gpu, model: NVIDIA-H100-80GB-HBM3, units: 8}\n"
         "  - {tenant: vision, resource: nvidia.com/gpu, units: 4}\n"
         "  caps:\n"
         "  - {tenant: vision, resource: nvidia.com/gpu, units: 12}\n"
         "  - {tenant: others, resource: nvidia.com/gpu, units: 0}\n";

static void parse(const char *text, struct sl_config *out)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    if (sl_config_parse("f", text, strlen(text), out, NULL, &err) < 0) {
        fail_msg("%u:%u: %s: %s\nin\n%s", err.line, err.column, err.field, err.message, text);
    }
}

TEST_THAT(tenants_are_read_and_given_to_the_plan)
{
    struct sl_config config;
    struct sl_plan_config plan;
    parse(three_teams, &config);
    sl_config_plan(&config, &plan);
    const struct sl_tenants *t = plan.tenants;
    assert_ptr_equal(t, &config.tenants);
    assert_string_equal(t->label, "example.com/team");
    assert_int_equal(t->borrow_max_timeout_us, INT64_C(8) * 3600 * 1000000);
    assert_int_equal(t->n_shares, 3);
    assert_string_equal(t->share[0].tenant, "vision");
    assert_int_equal(t->share[0].weight, 2500000);
    assert_int_equal(t->share[0].max_running, 0);
    assert_int_equal(t->share[0].max_timeout_us, 0);
    assert_true(t->share[0].users);
    assert_string_equal(t->share[1].tenant, "Speech_1");
    assert_int_equal(t->share[1].weight, 0);
    assert_int_equal(t->share[1].max_running, 8);
    assert_int_equal(t->share[1].max_waiting, 100);
    assert_int_equal(t->share[1].max_timeout_us, INT64_C(24) * 3600 * 1000000);
    assert_int_equal(t->share[2].weight, SL_TENANT_WEIGHT_ONE);
    assert_false(t->share[2].users);
    assert_int_equal(t->n_spaces, 2);
    assert_string_equal(t->space[1].namespace, "vision-*");
    assert_string_equal(t->space[1].tenant, "vision");
    assert_int_equal(t->n_guarantees, 2);
    assert_string_equal(t->guarantee[0].model, "NVIDIA-H100-80GB-HBM3");
    assert_int_equal(t->guarantee[0].units, 8);
    assert_string_equal(t->guarantee[1].resource, "nvidia.com/gpu");
    assert_string_equal(t->guarantee[1].model, "");
    assert_int_equal(t->n_caps, 2);
    assert_string_equal(t->cap[1].tenant, "others");
    assert_int_equal(t->cap[1].units, 0);
}

TEST_THAT(without_tenants_the_plan_has_none)
{
    struct sl_config config;
    struct sl_plan_config plan;
    parse(HEAD "tenants: {borrowMaxTimeout: 1h, shares: [], caps: }\n", &config);
    sl_config_plan(&config, &plan);
    assert_null(plan.tenants);
}

#define T    HEAD "tenants:\n"
#define A    T "  shares: [{tenant: a}]\n"
#define UNIT "resource: nvidia.com/gpu, units: "

static const struct {
    const char *name;
    const char *text;
    const char *told;
} mistakes[] = {
    {"reclaim", A "  reclaim: true\n",
     "f:6:3: tenants.reclaim: found true, expected queue.preemption: false beside it, or pods "
     "preempt those of lower priority without being due"},
    {"runtime", A "  minRuntime: 5\n",
     "f:6:15: tenants.minRuntime: found 5, expected a duration from 0s to 8760h (as 500ms, 5s, "
     "1m30s)"},
    {"label", T "  namespaceLabel: a b\n",
     "f:5:19: tenants.namespaceLabel: found \"a b\", expected a label's key or a resource's name, "
     "as team or example.com/team"},
    {"prefix", T "  namespaceLabel: Example/a\n",
     "f:5:19: tenants.namespaceLabel: found \"Example/a\", expected a label's key or a resource's "
     "name, as team or example.com/team"},
    {"weight", T "  shares: [{tenant: a, weight: 1000001}]\n",
     "f:5:32: tenants.shares[0].weight: found 1000001, expected a number from 0 to 1000000, with "
     "at most six digits behind the point"},
    {"below_0", T "  shares: [{tenant: a, weight: -1}]\n",
     "f:5:32: tenants.shares[0].weight: found -1, expected a number from 0 to 1000000, with at "
     "most six digits behind the point"},
    {"tenant", T "  shares: [{weight: 1}]\n",
     "f:5:12: tenants.shares[0]: found no tenant, expected one"},
    {"name", T "  shares: [{tenant: a.}]\n",
     "f:5:21: tenants.shares[0].tenant: found \"a.\", expected 1 to 63 letters, digits and -_., "
     "the first and last no sign"},
    {"no_name", T "  shares: [{tenant: \"\"}]\n",
     "f:5:21: tenants.shares[0].tenant: found \"\", expected 1 to 63 letters, digits and -_., the "
     "first and last no sign"},
    {"twice", T "  shares: [{tenant: a}, {tenant: b}, {tenant: a}]\n",
     "f:5:39: tenants.shares[2].tenant: found what tenants.shares[0] has, expected another"},
    {"pattern", T "  namespaces:\n  - {namespace: a, tenant: a}\n  - {namespace: b*c, tenant: a}\n",
     "f:7:17: tenants.namespaces[1].namespace: found \"b*c\", expected a namespace, or how names "
     "begin and "
     "then *"},
    {"nameless", T "  namespaces: [{namespace: \"\", tenant: a}]\n",
     "f:5:28: tenants.namespaces[0].namespace: found \"\", expected a namespace, or how names "
     "begin and "
     "then *"},
    {"space_twice", T "  namespaces: [{namespace: b, tenant: a}, {namespace: b, tenant: c}]\n",
     "f:5:44: tenants.namespaces[1].namespace: found what tenants.namespaces[0] has, expected "
     "another"},
    {"typo", A "  guarantees:\n  - {tenant: a, " UNIT "1}\n  - {tenant: aa, " UNIT "1}\n",
     "f:8:5: tenants.guarantees[1]: found the tenant \"aa\", expected one of tenants.shares"},
    {"capped_typo", A "  caps: [{tenant: others, " UNIT "1}]\n",
     "f:6:10: tenants.caps[0]: found the tenant \"others\", expected one of tenants.shares"},
    {"nothing", A "  guarantees: [{tenant: a, " UNIT "0}]\n",
     "f:6:61: tenants.guarantees[0].units: found 0, expected an integer from 1 to 1000000"},
    {"resource", A "  caps: [{tenant: a, resource: \"\", units: 1}]\n",
     "f:6:32: tenants.caps[0].resource: found \"\", expected a label's key or a resource's name, "
     "as team or example.com/team"},
    {"same",
     A "  guarantees: [{tenant: a, " UNIT "1}, {tenant: a, model: b, " UNIT "1},\n"
       "    {tenant: a, model: b, " UNIT "2}]\n",
     "f:7:17: tenants.guarantees[2].model: found what tenants.guarantees[1] has, expected another"},
    {"same_bare", A "  guarantees: [{tenant: a, " UNIT "1}, {tenant: a, " UNIT "2}]\n",
     "f:6:65: tenants.guarantees[1].model: found what tenants.guarantees[0] has, expected another"},
    {"above",
     A "  guarantees: [{tenant: a, " UNIT "3}, {tenant: a, model: m, " UNIT "2}]\n"
       "  caps:\n  - {tenant: a, " UNIT "4}\n",
     "f:8:5: tenants.caps[0]: found 4 of nvidia.com/gpu for \"a\", expected at least the 5 "
     "that tenants.guarantees gives it"},
    {"hrrn",
     "apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\n"
     "queue: {enabled: true, order: hrrn}\ntenants: {namespaceLabel: team}\n",
     "f:3:24: queue.order: found hrrn beside tenants.namespaceLabel, expected one of fifo, sjf, p, "
     "bounded"},
    {"no_queue",
     "apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\n"
     "tenants: {shares: [{tenant: a}]}\n",
     "f:3:11: tenants.shares: expected queue.enabled beside it"},
};

TEST_EACH(a_mistake_is_told_with_its_place, mistakes)
{
    char told[512];
    struct sl_config config;
    struct sl_error err = {.code = SL_ERR_NONE};
    assert_int_equal(sl_config_parse("f", row->text, strlen(row->text), &config, NULL, &err), -1);
    sl_config_describe("f", &err, told, sizeof(told));
    assert_string_equal(told, row->told);
}
