/* The tables of fields: who sees what, and that each is whole. */
#include "unit/server/rig.h"

#include "server/model/node.h"
#include "server/model/partition.h"
#include "server/model/queue.h"
#include "server/model/tenant.h"
#include "server/model/usage.h"

struct kind {
    const struct sl_field *fields;
    const char *members; /* that users see, each with what it is in */
    const char *columns; /* of users' table */
};

/* No name of another pod is among them, nor what a node's pods are called. */
// NOLINTNEXTLINE(bugprone-suspicious-missing-comma): long texts
static const struct kind kinds[] = {
    {sl_model_pod, "ask.resource ask.count ask.kind priority timeoutSeconds", ""},
    {sl_model_queued,
     "position state reason message since ahead plannedTimeoutSeconds "
     "estimatedStart.sure estimatedStart.at latestStart node devices tenant due ownStart expiries "
     "remedy "
     "nodes.nodes nodes.excluded nodes.fit nodes.reasons.reason nodes.reasons.nodes "
     "nodes.reasons.never nodes.reasons.nearest nodes.reasons.help "
     "nodes.reasons.remedy nodes.uncut.why nodes.uncut.nodes nodes.uncut.text",
     "Position Ask Timeout Waited State Reason Ahead Start-In Node Sure Devices Priority Tenant "
     "Due Message"},
    {sl_model_estimate,
     "position ahead startsInSeconds estimatedStart estimateKind state reason node "
     "devices message delayed tenant due ownStart",
     ""},
    {sl_model_resident,
     "phase node assumed pickedBy devices.resource devices.device devices.uuid "
     "devices.instance devices.profile devices.start devices.amount startedAt endsBy",
     "Node Devices Ask Phase Ends-In Timeout Picked-By Priority"},
    {sl_model_node,
     "product layout problem resources.resource resources.kind resources.capacity "
     "resources.used resources.setAside resources.free devices.index devices.uuid "
     "devices.memoryMiB devices.healthy devices.mig devices.instances.profile "
     "devices.instances.start devices.instances.taken",
     "Product GPUs Used Set-Aside Free Problem Capacity Layout"},
    {sl_model_partition, "actuator state instances since until failures cut why text",
     "Actuator State Instances Cut Why Text"},
    {sl_model_usage,
     "node gpu profile usedMiB busyPermille bandwidthPermille powerWatts energyJoules "
     "state sampledAt roomMiB",
     "Node GPU Used-MiB Busy Idle Watts State Bandwidth Room-MiB Joules"},
    {sl_model_tenant,
     "tenant resource model shareMilli guaranteed cap held borrowedMilli lentMilli lentUntil "
     "waitingUnits "
     "podsWaiting podsDue dueSince podsRunning podsOverdue",
     "Tenant Resource Share Held Borrowed Lent Waiting Due Late Running Overdue Guaranteed Cap "
     "Model"},
    {sl_model_spent,
     "tenant resource since shareMilliHours heldMilliHours usedMilliHours borrowedMilliHours "
     "lentMilliHours waitedMilliHours",
     "Tenant Resource Since Share-Hours Held-Hours Used-Hours Borrowed-Hours Lent-Hours "
     "Waited-Hours"},
    {sl_model_pod_use, "", ""},
    {sl_model_space, "", ""},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void put_seen(struct sl_buf *out, const struct sl_field *fields, const char *path)
{
    for (const struct sl_field *field = fields; field->form != SL_AS_END; field++) {
        char own[128];
        bool in_place = field->form == SL_AS_MEMBERS;
        if ((field->seen & SL_SEEN_BY_USERS) == 0) {
            continue;
        }
        (void)snprintf(own, sizeof(own), "%s%s%s", path, path[0] == '\0' || in_place ? "" : ".",
                       in_place ? "" : field->name);
        if (field->sub != NULL) {
            put_seen(out, field->sub, own);
        } else {
            sl_buf_printf(out, "%s%s", out->len == 0 ? "" : " ", own);
        }
    }
}

static void put_columns(struct sl_buf *out, const struct sl_field *fields)
{
    const struct sl_field *column[SL_GRID_COLUMNS_MAX];
    unsigned n = sl_fields_columns(fields, column);
    for (unsigned i = 0; i < n; i++) {
        sl_buf_printf(out, "%s%s", i == 0 ? "" : " ", column[i]->shown.head);
    }
}

static void users_see_what_is_listed_here_and_nothing_else(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++) {
        struct sl_buf out;
        sl_buf_init(&out, 1 << 14);
        put_seen(&out, kinds[i].fields, "");
        assert_string_equal(rig_text(&out), kinds[i].members);
        sl_buf_free(&out);
        sl_buf_init(&out, 1 << 14);
        put_columns(&out, kinds[i].fields);
        assert_string_equal(rig_text(&out), kinds[i].columns);
        sl_buf_free(&out);
    }
}

static void check_helps(const struct sl_field *fields)
{
    for (const struct sl_field *field = fields; field->form != SL_AS_END; field++) {
        bool users = (field->seen & SL_SEEN_BY_USERS) != 0 && field->form != SL_AS_MEMBERS;
        if ((users || field->shown.place > 0) && (field->help == NULL || field->help[0] == '\0')) {
            fail_msg("%s has no description",
                     field->name == NULL ? field->shown.head : field->name);
        }
        if (field->seen != 0 && field->sub != NULL) {
            check_helps(field->sub);
        }
    }
}

static void what_users_see_is_described(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++) {
        check_helps(kinds[i].fields);
    }
}

/* How many fields have that place in users' table, or in the debug API's. */
static unsigned count_at(const struct sl_field *fields, unsigned place, bool shown)
{
    unsigned n = 0;
    for (const struct sl_field *field = fields; field->form != SL_AS_END; field++) {
        n += (shown ? field->shown.place : field->column.place) == place;
    }
    return n;
}

static void check_places(const struct sl_field *fields, const struct sl_field *further, bool shown)
{
    const struct sl_field none = SL_FIELDS_END;
    bool over = false;
    for (unsigned place = 1; place <= 2 * SL_GRID_COLUMNS_MAX; place++) {
        unsigned n = count_at(fields, place, shown) +
                     count_at(further == NULL ? &none : further, place, shown);
        assert_true(n <= 1 && !(over && n > 0) && !(n > 0 && place > SL_GRID_COLUMNS_MAX));
        over = n == 0;
    }
}

static void each_column_has_a_place_of_its_own_without_gaps(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++) {
        bool pairs = kinds[i].fields == sl_model_node || kinds[i].fields == sl_model_partition;
        check_places(kinds[i].fields, NULL, true);
        if (!pairs) {
            check_places(kinds[i].fields, NULL, false);
        }
    }
    check_places(sl_model_queued, sl_model_queued_tenant, false);
    check_places(sl_model_node, sl_model_pools.sub, false);
    check_places(sl_model_partition, sl_model_cut_gpus.sub, false);
}

/* An embedded cluster, of which no cuts are told. */
static void a_node_is_shown_where_nobody_cuts(void **state)
{
    const struct sl_partition_reader nobody = {.status = NULL};
    struct sl_store *store = rig_store(RIG_NODE("n", "nvidia.com/gpu", "1"));
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    struct sl_model_partition partition;
    struct sl_buf out;
    struct sl_writer w = {.buf = &out};
    (void)state;
    sl_buf_init(&out, 1 << 14);
    sl_model_partition_of(&nobody, snapshot->view[0], 0, &partition);
    sl_fields_item(&w, sl_model_partition, SL_SEEN_IN_LISTS, &partition);
    assert_non_null(
        strstr(rig_text(&out), "\"cut\":null,\"pods\":null,\"why\":null,\"text\":null"));
    sl_buf_free(&out);
    sl_store_release(store, snapshot);
    sl_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_see_what_is_listed_here_and_nothing_else),
        cmocka_unit_test(what_users_see_is_described),
        cmocka_unit_test(a_node_is_shown_where_nobody_cuts),
        cmocka_unit_test(each_column_has_a_place_of_its_own_without_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
