/* The record of the tenants' shares: what the queue leaves to the next leader, and finds. */
#include "queue_rig.h"

static struct {
    const char *found; /* NULL: nothing */
    unsigned finds;
    unsigned keeps;
    uint64_t leadership; /* of the last */
    size_t len;
    char text[SL_LEASE_NOTE_MAX + 1];
} record;

static void keep(void *context, uint64_t leadership, struct sl_str text)
{
    (void)context;
    record.keeps++;
    record.leadership = leadership;
    assert_true(text.len <= SL_LEASE_NOTE_MAX);
    record.len = text.len;
    (void)snprintf(record.text, sizeof(record.text), "%.*s", (int)text.len,
                   text.len == 0 ? "" : text.s);
}

static void find(void *context, struct sl_buf *out)
{
    const struct queue_rig *rig = context;
    record.finds++;
    assert_int_equal(rig->worker->entries.len, 0);
    sl_buf_puts(out, record.found == NULL ? "" : record.found);
}

static void start(struct queue_rig *rig)
{
    memset(&record, 0, sizeof(record));
    rig_begin(rig);
}

TEST_FIXTURE_OF(struct queue_rig, start, rig_end)

/* The pods of that namespace are of that tenant. */
static void tenant_add(struct queue_rig *rig, const char *namespace, const char *tenant)
{
    struct sl_tenants *tenants = &rig->config.tenants;
    struct sl_tenant_space *space = &tenants->space[tenants->n_spaces++];
    (void)snprintf(space->namespace, sizeof(space->namespace), "%s", namespace);
    (void)snprintf(space->tenant, sizeof(space->tenant), "%s", tenant);
}

static void begin(struct queue_rig *rig)
{
    rig_start_on(rig, 2);
    rig->worker->options.keep = keep;
    rig->worker->options.find = find;
}

TEST_ON(struct queue_rig *rig, it_is_kept_after_plans_at_most_once_a_renewal)
{
    int64_t period_us = rig->config.election.retry_period_us;
    tenant_add(rig, "default", "a");
    begin(rig);
    rig_come(rig, "p1");
    assert_int_equal(record.keeps, 1);
    assert_non_null(strstr(record.text, "s a nvidia.com/gpu "));
    assert_null(strstr(record.text, "s b"));
    rig_come(rig, "p2");
    rig_later(rig, period_us - 1);
    assert_int_equal(record.keeps, 1);
    rig_later(rig, 1); /* without a plan */
    assert_int_equal(record.keeps, 2);
    for (unsigned i = 0; i < 3; i++) {
        rig_later(rig, period_us);
    }
    assert_int_equal(record.keeps, 2);
    assert_int_equal(record.leadership, 1);
}

TEST_ON(struct queue_rig *rig, who_leads_no_more_keeps_nothing_and_each_leadership_finds_its_own)
{
    tenant_add(rig, "default", "a");
    begin(rig);
    rig_come(rig, "p1");
    rig->leadership = 0;
    rig_come(rig, "p2");
    rig_later(rig, HOUR);
    assert_int_equal(record.keeps, 1);
    assert_int_equal(record.finds, 1);
    rig->leadership = 3;
    rig_round(rig);
    assert_int_equal(record.keeps, 2);
    assert_int_equal(record.finds, 2);
    assert_int_equal(record.leadership, 3);
    rig->leadership = 4; /* lost and come back between two looks */
    rig_round(rig);
    assert_int_equal(record.keeps, 3);
    assert_int_equal(record.finds, 3);
    assert_int_equal(record.leadership, 4);
}

TEST_ON(struct queue_rig *rig, it_is_empty_without_tenants_and_follows_a_reload)
{
    begin(rig);
    rig_come(rig, "p1");
    assert_int_equal(record.keeps, 1);
    assert_int_equal(record.len, 0);
    for (unsigned i = 0; i < 4; i++) {
        rig->config.tenants.n_spaces = 0;
        if (i % 2 == 0) {
            tenant_add(rig, "default", "a");
        }
        sl_queue_worker_configure(rig->worker, &rig->config);
        rig_later(rig, HOUR);
        assert_int_equal(record.keeps, 2 + i);
        assert_int_equal(strncmp(record.text, "tenants1 ", 9) == 0, i % 2 == 0);
        assert_int_equal(record.len > 0, i % 2 == 0);
    }
}

TEST_ON(struct queue_rig *rig, what_was_found_lives_on)
{
    record.found = "tenants1 3600000\ns a nvidia.com/gpu 4711\nnonsense\n";
    tenant_add(rig, "default", "a");
    begin(rig);
    rig_gated(rig, "p1");
    rig_round(rig);
    assert_non_null(strstr(record.text, "s a nvidia.com/gpu 4711\n"));
}

static void wake(void *context)
{
    sl_queue_worker_wake(((struct queue_rig *)context)->worker);
}

/* The planner begins anew when it is told of Namespaces: with the first plan. */
TEST_ON(struct queue_rig *rig, what_was_found_lives_on_for_tenants_by_labels)
{
    struct sl_pair label = {SL_STR("team"), SL_STR("x"), NULL};
    const struct sl_namespaces_options options = {.wake = wake, .context = rig};
    (void)snprintf(rig->config.tenants.label, sizeof(rig->config.tenants.label), "team");
    rig->namespaces = sl_namespaces_new(&options, NULL);
    assert_int_equal(sl_namespaces_put(rig->namespaces, SL_STR("default"), &label, NULL), 0);
    record.found = "tenants1 3600000\ns x nvidia.com/gpu 4711\n";
    begin(rig);
    assert_int_equal(sl_namespaces_follow(rig->namespaces, "team", NULL), 0);
    rig_come(rig, "p1");
    assert_non_null(strstr(record.text, "s x nvidia.com/gpu 4711\n"));
    sl_namespaces_free(rig->namespaces);
}

/* It would lack the pods that the plan lacks. */
TEST_ON(struct queue_rig *rig, nothing_is_kept_while_memory_is_short)
{
    tenant_add(rig, "default", "a");
    begin(rig);
    rig_round(rig);
    rig->worker->short_of_memory = true;
    rig->worker->unkept = true;
    rig_later(rig, HOUR / 2);
    assert_int_equal(record.keeps, 1);
    rig_come(rig, "p1"); /* all went well again */
    assert_int_equal(record.keeps, 2);
}

TEST_ON(struct queue_rig *rig, a_record_that_is_too_long_is_cut_at_a_line_and_counted)
{
    char name[NAME_BYTES];
    char tenant[SL_TENANT_NAME_MAX];
    struct sl_queue_stats stats;
    for (unsigned i = 0; i < SL_TENANT_RULES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "s%03u", i);
        (void)snprintf(tenant, sizeof(tenant), "t%03u-%050u", i, 0);
        tenant_add(rig, name, tenant);
        rig_put(rig, (struct rig_pod){.name = name,
                                      .namespace = rig->config.tenants.space[i].namespace,
                                      .gated = true});
    }
    begin(rig);
    rig_round(rig);
    sl_queue_stats(rig->worker, &stats);
    assert_int_equal(stats.counts.cuts, 1);
    assert_in_range(record.len, SL_LEASE_NOTE_MAX - 100, SL_LEASE_NOTE_MAX);
    assert_int_equal(record.text[record.len - 1], '\n');
}
