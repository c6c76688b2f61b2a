/* Tables of the server, whole ones and others. */
#include "unit/cli/rig.h"

#include "cli/table.h"

#define COLUMNS                                                                                    \
    "\"columnDefinitions\":[{\"name\":\"Name\",\"priority\":0},{\"name\":\"Start-In\","            \
    "\"priority\":0},{\"name\":\"Message\",\"priority\":1}]"

static const char *shown(const char *json, bool wide, bool namespaces)
{
    struct sl_cli_table table;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf out;
    sl_buf_init(&out, 1 << 16);
    sl_cli_table_init(&table, wide, namespaces);
    if (sl_cli_table_add(&table, rig_value(json), &err) < 0) {
        fail_msg("%s", err.message);
    }
    sl_cli_table_write(&table, &out);
    sl_cli_table_free(&table);
    return rig_text(&out);
}

static const char rows[] =
    "{\"kind\":\"Table\"," COLUMNS ",\"rows\":["
    "{\"cells\":[\"train-1\",\"8h\",\"held\"],\"object\":{\"metadata\":{\"namespace\":\"a\"}}},"
    "{\"cells\":[\"x\",null,12],\"object\":{\"metadata\":{\"namespace\":\"team\"}}}]}";

TEST_PROGRAM(rig_begin, rig_end)

TEST_THAT(heads_are_upper_and_columns_of_priority_are_for_wide)
{
    assert_string_equal(shown(rows, false, false), "NAME      START-IN\n"
                                                   "train-1   8h\n"
                                                   "x         -\n");
    assert_string_equal(shown(rows, true, false), "NAME      START-IN   MESSAGE\n"
                                                  "train-1   8h         held\n"
                                                  "x         -          12\n");
}

TEST_THAT(namespaces_stand_first_where_there_are_several)
{
    assert_string_equal(shown(rows, false, true), "NAMESPACE   NAME      START-IN\n"
                                                  "a           train-1   8h\n"
                                                  "team        x         -\n");
}

TEST_THAT(rows_of_other_lengths_do_not_shift_the_others)
{
    assert_string_equal(
        shown("{\"kind\":\"Table\"," COLUMNS ",\"rows\":[{\"cells\":[\"a\"]},"
              "{\"cells\":[\"b\",true,1,2,3,4]},{\"cells\":[]},{},{\"cells\":[{},[1]]},"
              "{\"cells\":[\"c\",\"d\"]}]}",
              false, false),
        "NAME   START-IN\na      -\nb      true\n-      -\nc      d\n");
}

TEST_THAT(nothing_hostile_reaches_the_terminal)
{
    const char *text =
        shown("{\"kind\":\"Table\",\"columnDefinitions\":[{\"name\":\"\\u001b[2J\"}],"
              "\"rows\":[{\"cells\":[\"a\\nb\\u001b]0;x\\u0007\\u202e\\u009b\"],"
              "\"object\":{\"metadata\":{\"namespace\":\"\\r\\u007f\"}}}]}",
              false, true);
    rig_assert_tame(text);
    assert_non_null(strstr(text, "a\\u000ab\\u001b]0;x\\u0007\\u202e\\u009b"));
}

static void assert_no_table(const char *json, const char *why)
{
    struct sl_cli_table table;
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_cli_table_init(&table, true, true);
    assert_int_equal(sl_cli_table_add(&table, rig_value(json), &err), -1);
    assert_non_null(strstr(err.message, why));
    sl_cli_table_free(&table);
}

TEST_THAT(what_is_no_table_is_said_to_be_none)
{
    char many[2048];
    size_t at = 0;
    assert_no_table("{}", "no table");
    assert_no_table("[]", "no table");
    assert_no_table("{\"kind\":\"QueuedPodList\",\"items\":[]}", "no table");
    assert_no_table("{\"kind\":\"Table\",\"rows\":[]}", "no table");
    assert_no_table("{\"kind\":\"Table\",\"rows\":null,\"columnDefinitions\":\"x\"}", "no table");
    assert_no_table("{\"kind\":\"Table\",\"rows\":[],\"columnDefinitions\":[]}", "no columns");
    at += (size_t)snprintf(many, sizeof(many),
                           "{\"kind\":\"Table\",\"rows\":[],"
                           "\"columnDefinitions\":[{}");
    for (int i = 0; i < SL_GRID_COLUMNS_MAX; i++) {
        at += (size_t)snprintf(many + at, sizeof(many) - at, ",{}");
    }
    (void)snprintf(many + at, sizeof(many) - at, "]}");
    assert_no_table(many, "more than");
}

TEST_THAT(rows_of_a_watch_go_below_the_head)
{
    struct sl_cli_table table;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf out;
    sl_buf_init(&out, 1 << 16);
    sl_cli_table_init(&table, false, false);
    assert_int_equal(sl_cli_table_add(&table, rig_value(rows), &err), 0);
    sl_cli_table_write(&table, &out);
    out.len = 0;
    assert_int_equal(
        sl_cli_table_add(&table,
                         rig_value("{\"kind\":\"Table\",\"columnDefinitions\":[],\"rows\":"
                                   "[{\"cells\":[\"y\",\"5m\",\"\"]}]}"),
                         &err),
        0);
    sl_cli_table_write(&table, &out);
    assert_string_equal(rig_text(&out), "y         5m\n");
    sl_cli_table_free(&table);
}
