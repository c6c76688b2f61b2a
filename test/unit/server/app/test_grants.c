/* Victims granted to a preemptor count as gone for it, and for it alone. */
#include "unit/server/rig.h"

#include "server/app/grants.h"

#define MIG "nvidia.com/mig-1g.6gb"

static const int64_t second_ns = 1000000000;

#define HOLDER(name, going)                                                                        \
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " name ", uid: " name going "}\n"            \
    "spec: {nodeName: n1, containers: [{name: c, resources: {limits: {" MIG ": \"1\"}}}]}\n"       \
    "status: {phase: Running}\n"

static const char full[] = RIG_NODE("n1", MIG, "2") HOLDER("low-1", "") HOLDER("low-2", "");
static const char full_and_going[] = RIG_NODE("n1", MIG, "2") HOLDER("low-1", "")
    HOLDER("low-2", ", deletionTimestamp: \"2026-11-21T10:00:00Z\"");

static struct sl_ask ask_one(void)
{
    struct sl_resource resource;
    struct sl_ask ask = {.n = 1};
    assert_true(sl_resource_parse(SL_STR(MIG), &resource));
    ask.item[0] = (struct sl_ask_item){.resource = MIG,
                                       .key = resource.key,
                                       .count = 1,
                                       .kind = SL_KIND_MIG,
                                       .shape = resource.shape};
    return ask;
}

static struct sl_grant *grant_of(const char *preemptor, const char *node, const char *victim)
{
    struct sl_grant *grant = sl_grant_new(sl_str_of(preemptor), 1, 0);
    assert_non_null(grant);
    grant->row[grant->n++] =
        (struct sl_grant_row){sl_hash(node, strlen(node)), sl_hash(victim, strlen(victim))};
    return grant;
}

/* Does an ask of one instance fit on the first node with that grant, so long after it? */
static bool fits(const char *yaml, const char *node, const char *victim, int64_t age_ns)
{
    struct sl_store *store = rig_store(yaml);
    struct sl_ask ask = ask_one();
    struct sl_grant *grant = grant_of("vip", node, victim);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_false(sl_fit(snapshot->view[0], &ask, NULL));
    bool result = sl_grant_fits(grant, snapshot->view[0], &ask, age_ns);
    sl_store_release(store, snapshot);
    sl_store_free(store);
    sl_grant_unref(grant);
    return result;
}

TEST_THAT(granted_victim_counts_as_gone)
{
    assert_true(fits(full, "n1", "low-1", second_ns));
}

TEST_THAT(others_on_the_node_count)
{
    assert_false(fits(full, "n1", "stranger", second_ns));
    assert_false(fits(full, "n2", "low-1", second_ns));
}

TEST_THAT(victim_that_does_not_go_counts_again_after_seconds)
{
    assert_false(fits(full, "n1", "low-2", 60 * second_ns));
    assert_true(fits(full_and_going, "n1", "low-2", 60 * second_ns));
}

TEST_THAT(grant_is_for_its_preemptor_and_is_forgotten)
{
    struct sl_grants grants;
    sl_grants_init(&grants);
    sl_grants_put(&grants, grant_of("vip", "n1", "a"));
    assert_null(sl_grants_get(&grants, SL_STR("other"), second_ns));
    struct sl_grant *grant = sl_grants_get(&grants, SL_STR("vip"), second_ns);
    assert_non_null(grant);
    sl_grants_put(&grants, grant_of("vip", "n2", "b")); /* replaces it; ours stays valid */
    assert_true(grant->row[0].node == sl_hash("n1", 2));
    sl_grant_unref(grant);
    assert_null(sl_grants_get(&grants, SL_STR("vip"), 600 * second_ns));
    sl_grants_free(&grants);
}

TEST_THAT(oldest_preemptor_makes_room)
{
    struct sl_grants grants;
    char name[16];
    sl_grants_init(&grants);
    for (int i = 0; i <= SL_GRANTS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "vip-%d", i);
        sl_grants_put(&grants, grant_of(name, "n1", "a"));
    }
    assert_null(sl_grants_get(&grants, SL_STR("vip-0"), 0));
    struct sl_grant *grant = sl_grants_get(&grants, SL_STR("vip-1"), 0);
    assert_non_null(grant);
    sl_grant_unref(grant);
    sl_grants_free(&grants);
}
