/* What tenants had, as Prometheus answers it: hours of a unit, and what is said until it answers.
 */
#include "unit/telemetry/telemetry_rig.h"

#include <stdlib.h>

#include "telemetry/prometheus/spent.h"

#define ANSWER(result)                                                                             \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[" result "]}}"
#define ROW(tenant, kind, since, value)                                                            \
    "{\"metric\":{\"tenant\":\"" tenant "\",\"resource\":\"nvidia.com/gpu\",\"kind\":\"" kind      \
    "\",\"since\":\"" since "\"},\"value\":[1,\"" value "\"]}"

#define AND_ROW(...) "," ROW(__VA_ARGS__)

struct scene {
    struct sl_spents *spents;
    struct sl_spent *row;
    size_t n;
};

static void begin(struct scene *scene)
{
    rig_begin();
    rig.least_us = SL_SECOND_US;
    scene->row = NULL;
    scene->spents = sl_spents_new(NULL, &rig.config);
    assert_non_null(scene->spents);
}

static void end(struct scene *scene)
{
    free(scene->row);
    sl_spents_free(scene->spents);
}

TEST_FIXTURE_OF(struct scene, begin, end)

static void assert_says(struct scene *scene, enum sl_error_code code, const char *text)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    assert_int_equal(sl_spents_read(scene->spents, &scene->row, &scene->n, &err), -1);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.message, text));
}

static void read_rows(struct scene *scene, size_t n)
{
    free(scene->row);
    assert_int_equal(sl_spents_read(scene->spents, &scene->row, &scene->n, NULL), 0);
    assert_int_equal(scene->n, n);
}

TEST_ON(struct scene *scene, figures_become_hours_by_the_step_of_their_span)
{
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 0); /* nobody looks */
    assert_says(scene, SL_ERR_LIMIT, "ask again");
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 1);
    assert_says(scene, SL_ERR_LIMIT, "ask again");
    (void)rig_answer(&rig.call[0],
                     ANSWER(ROW("a", "held", "30d", "8") AND_ROW("a", "share", "30d", "2") AND_ROW(
                         "a", "held", "1d", "30") AND_ROW("b", "waiting", "90d", "-1")
                                AND_ROW("a", "used", "1d", "15") AND_ROW("b", "others", "30d", "1")
                                    AND_ROW("b", "held", "31d", "1")));
    read_rows(scene, 3);
    assert_string_equal(scene->row[0].name, "a.nvidia.com.gpu.30d");
    assert_string_equal(scene->row[0].resource, "nvidia.com/gpu");
    assert_true(scene->row[0].hours[0] == 2 && scene->row[0].hours[1] == 8);
    assert_true(scene->row[0].hours[SL_SPENT_USED] < 0); /* nothing was measured */
    assert_true(scene->row[1].hours[1] == 1 && scene->row[1].hours[SL_SPENT_USED] == 0.5);
    assert_true(scene->row[2].hours[4] == 0); /* none is below nothing */
}

TEST_ON(struct scene *scene, what_was_known_stays_and_is_asked_for_anew_a_quarter_of_an_hour_later)
{
    assert_says(scene, SL_ERR_LIMIT, "ask again");
    (void)rig_tick();
    (void)rig_answer(&rig.call[0], "{\"status\":\"error\",\"error\":\"too many samples\"}");
    assert_says(scene, SL_ERR_SYSTEM, "too many samples");
    rig.monotonic_us += 15 * SL_MINUTE_US;
    (void)rig_tick();
    (void)rig_answer(&rig.call[0], ANSWER(ROW("a", "held", "30d", "8")));
    read_rows(scene, 1);
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 2);
    rig.monotonic_us += 15 * SL_MINUTE_US;
    read_rows(scene, 1);
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 3);
    (void)rig_answer(&rig.call[0], "<html>gateway</html>");
    read_rows(scene, 1);
}

TEST_ON(struct scene *scene, rows_are_bounded)
{
    enum { MANY = SL_SPENT_ROWS_MAX + 5 };
    struct sl_buf text;
    assert_says(scene, SL_ERR_LIMIT, "ask again");
    (void)rig_tick();
    sl_buf_init(&text, 64 << 20);
    sl_buf_puts(&text, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[");
    for (unsigned i = 0; i < MANY; i++) {
        sl_buf_printf(&text,
                      "%s{\"metric\":{\"tenant\":\"t%u\",\"resource\":\"r\",\"kind\":\"held\","
                      "\"since\":\"1d\"},\"value\":[1,\"1\"]}",
                      i == 0 ? "" : ",", i);
    }
    sl_buf_puts(&text, "]}}");
    sl_buf_putc(&text, '\0');
    (void)rig_answer(&rig.call[0], text.data);
    read_rows(scene, SL_SPENT_ROWS_MAX);
    sl_buf_free(&text);
}
