/* Running a plugin: its time, and what it started. */
#include "unit/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "kube/access/plugin.h"

TEST_THAT(a_plugin_without_an_answer_in_time_is_killed)
{
    const char *argv[] = {"sh", "-c", "sleep 3600 & echo waiting >&2; wait", NULL};
    const char *envp[] = {"PATH=/usr/bin:/bin", NULL};
    const struct sl_plugin plugin = {.command = "sh", .argv = argv, .envp = envp};
    struct sl_buf out;
    struct sl_error err = {.code = SL_ERR_NONE};
    int stop[2];
    assert_int_equal(pipe(stop), 0);
    sl_buf_init(&out, 100);

    assert_int_equal(sl_plugin_run(&plugin, 300000, stop[0], &out, &err), -1);

    assert_non_null(strstr(err.message, "no answer within"));
    (void)close(stop[0]);
    (void)close(stop[1]);
    sl_buf_free(&out);
}

TEST_THAT(output_of_any_length_up_to_the_maximum_comes_whole)
{
    const char *argv[] = {"sh", "-c", "head -c 200000 /dev/zero; echo done >&2", NULL};
    const char *envp[] = {"PATH=/usr/bin:/bin", NULL};
    const struct sl_plugin plugin = {.command = "sh", .argv = argv, .envp = envp};
    struct sl_buf out;
    struct sl_error err = {.code = SL_ERR_NONE};
    int stop[2];
    assert_int_equal(pipe(stop), 0);
    sl_buf_init(&out, 200000);

    assert_int_equal(sl_plugin_run(&plugin, 30000000, stop[0], &out, &err), 0);

    assert_int_equal(out.len, 200000);
    assert_int_equal(err.code, SL_ERR_NONE);
    (void)close(stop[0]);
    (void)close(stop[1]);
    sl_buf_free(&out);
}
