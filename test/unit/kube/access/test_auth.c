/* Credentials from each source, and plugins that behave in every way: real scripts, run for real.
 * The clock is the test's. */
#include "unit/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kube/access/auth.h"
#include "unit/kube/folder.h"
#include "util/timestamp.h"

#define S INT64_C(1000000)

static const int64_t t0 = INT64_C(1800000000) * INT64_C(1000000);

struct rig {
    char folder[64];
    char command[96];
    char token_file[96];
    const char *args[4];
    const char *env[4];
    struct sl_kube_access access;
    struct sl_auth *auth;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    unsigned wakes;
};

static void wake(void *context)
{
    struct rig *rig = context;
    (void)pthread_mutex_lock(&rig->lock);
    rig->wakes++;
    (void)pthread_cond_signal(&rig->woken);
    (void)pthread_mutex_unlock(&rig->lock);
}

static void wait_for_wake(struct rig *rig)
{
    (void)pthread_mutex_lock(&rig->lock);
    while (rig->wakes == 0) {
        (void)pthread_cond_wait(&rig->woken, &rig->lock);
    }
    rig->wakes--;
    (void)pthread_mutex_unlock(&rig->lock);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void start(struct rig *rig)
{
    *rig = (struct rig){.folder = "/tmp/sliced-auth-XXXXXX"};
    assert_non_null(mkdtemp(rig->folder));
    (void)snprintf(rig->command, sizeof(rig->command), "%s/plugin", rig->folder);
    (void)snprintf(rig->token_file, sizeof(rig->token_file), "%s/token", rig->folder);
    (void)pthread_mutex_init(&rig->lock, NULL);
    (void)pthread_cond_init(&rig->woken, NULL);
    rig->access.server = "https://10.0.0.1:6443";
}

static void make(struct rig *rig)
{
    struct sl_error err;
    rig->auth = sl_auth_new(&rig->access, wake, rig, &err);
    assert_non_null(rig->auth);
}

/* A plugin that is this shell script, in a folder of its own as $DIR. */
static void make_plugin(struct rig *rig, const char *script)
{
    char text[2048];
    static char dir[4][96];
    static unsigned n;
    char *variable = dir[n++ % 4];
    (void)snprintf(variable, sizeof(dir[0]), "DIR=%s", rig->folder);
    (void)snprintf(text, sizeof(text),
                   "#!/bin/sh\n"
                   "answer() {\n"
                   "  printf '{\"kind\":\"ExecCredential\",\"apiVersion\":"
                   "\"client.authentication.k8s.io/v1\",\"status\":{%%s}}' \"$1\"\n"
                   "}\n"
                   "%s\n",
                   script);
    write_file(rig->command, text);
    assert_int_equal(chmod(rig->command, 0700), 0);
    rig->env[0] = variable;
    rig->access.exec = (struct sl_kube_exec){.api_version = "client.authentication.k8s.io/v1",
                                             .command = rig->command,
                                             .args = rig->args,
                                             .env = rig->env};
    make(rig);
}

static void end(struct rig *rig)
{
    sl_auth_free(rig->auth);
    folder_remove(rig->folder);
    (void)pthread_cond_destroy(&rig->woken);
    (void)pthread_mutex_destroy(&rig->lock);
}

/* What is in force, after a plugin that had to be waited for. */
static int get(struct rig *rig, int64_t now_us, struct sl_credentials *out, struct sl_error *err)
{
    int result = sl_auth_get(rig->auth, now_us, out, err);
    while (result == SL_AUTH_WAIT) {
        wait_for_wake(rig);
        result = sl_auth_get(rig->auth, now_us, out, err);
    }
    return result;
}

static uint64_t assert_header(struct rig *rig, int64_t now_us, const char *expected)
{
    struct sl_credentials credentials;
    struct sl_error err;
    assert_int_equal(get(rig, now_us, &credentials, &err), SL_AUTH_READY);
    if (expected == NULL) {
        assert_null(credentials.authorization);
    } else {
        assert_non_null(credentials.authorization);
        assert_string_equal(credentials.authorization, expected);
    }
    assert_true(credentials.serial != 0);
    return credentials.serial;
}

static void assert_failure(struct rig *rig, int64_t now_us, const char *expected)
{
    struct sl_credentials credentials;
    struct sl_error err = {.code = SL_ERR_NONE};
    assert_int_equal(get(rig, now_us, &credentials, &err), -1);
    if (strstr(err.message, expected) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, expected);
    }
}

TEST_FIXTURE_OF(struct rig, start, end)

/* ---- what does not change ---- */

TEST_ON(struct rig *rig, without_anything_there_is_no_header)
{
    make(rig);
    uint64_t serial = assert_header(rig, t0, NULL);
    assert_int_equal(assert_header(rig, t0 + 3600 * S, NULL), serial);
}

TEST_ON(struct rig *rig, a_fixed_token_is_a_bearer)
{
    rig->access.token = "abc.def";
    make(rig);
    uint64_t serial = assert_header(rig, t0, "Bearer abc.def");
    sl_auth_refused(rig->auth, serial);
    assert_header(rig, t0, "Bearer abc.def");
}

/* RFC 7617's own example */
TEST_ON(struct rig *rig, user_and_password_are_basic)
{
    rig->access.username = "Aladdin";
    rig->access.password = "open sesame";
    make(rig);
    assert_header(rig, t0, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

TEST_ALONE(a_token_that_would_break_the_header_is_refused)
{
    static const char *const bad[] = {"a\r\nX-Evil: 1", "a b", "a\x7f"};
    for (size_t i = 0; i < 3; i++) {
        struct rig rig;
        start(&rig);
        rig.access.token = bad[i];
        make(&rig);
        assert_failure(&rig, t0, "control character");
        end(&rig);
    }
}

/* ---- token files ---- */

TEST_ON(struct rig *rig, a_token_file_is_read_each_minute)
{
    rig->access.token_file = rig->token_file;
    rig->access.token = "other";
    make(rig);
    write_file(rig->token_file, "one\n");
    uint64_t serial = assert_header(rig, t0, "Bearer one");
    write_file(rig->token_file, "two");

    assert_int_equal(assert_header(rig, t0 + 59 * S, "Bearer one"), serial);
    assert_true(assert_header(rig, t0 + 60 * S, "Bearer two") != serial);
}

TEST_ON(struct rig *rig, a_token_file_is_read_at_once_after_a_refusal)
{
    rig->access.token_file = rig->token_file;
    make(rig);
    write_file(rig->token_file, "one");
    uint64_t first = assert_header(rig, t0, "Bearer one");
    write_file(rig->token_file, "two");

    sl_auth_refused(rig->auth, first);
    uint64_t second = assert_header(rig, t0, "Bearer two");

    /* many calls were under way with the first: their refusals say nothing of the second */
    write_file(rig->token_file, "three");
    sl_auth_refused(rig->auth, first);
    assert_int_equal(assert_header(rig, t0 + 1, "Bearer two"), second);
}

TEST_ON(struct rig *rig, a_clock_set_back_does_not_keep_an_old_token)
{
    rig->access.token_file = rig->token_file;
    make(rig);
    write_file(rig->token_file, "one");
    assert_header(rig, t0, "Bearer one");
    write_file(rig->token_file, "two");
    assert_header(rig, t0 - 3600 * S, "Bearer two");
}

TEST_ON(struct rig *rig, the_last_good_token_holds_while_the_file_cannot_be_read)
{
    rig->access.token_file = rig->token_file;
    make(rig);
    write_file(rig->token_file, "one");
    assert_header(rig, t0, "Bearer one");

    assert_int_equal(unlink(rig->token_file), 0);
    assert_header(rig, t0 + 61 * S, "Bearer one");
    write_file(rig->token_file, " \n");
    assert_header(rig, t0 + 122 * S, "Bearer one");
    write_file(rig->token_file, "two");
    assert_header(rig, t0 + 183 * S, "Bearer two");
}

TEST_ON(struct rig *rig, a_token_file_that_was_never_there_is_an_error_and_looked_for_again)
{
    rig->access.token_file = rig->token_file;
    make(rig);
    assert_failure(rig, t0, rig->token_file);
    write_file(rig->token_file, "one");
    assert_header(rig, t0 + 1, "Bearer one");
}

/* ---- plugins ---- */

#define COUNT "n=$(cat $DIR/n 2>/dev/null || echo 0); n=$((n+1)); echo $n >$DIR/n\n"

TEST_ON(struct rig *rig, a_plugin_gives_a_token_once_for_many_calls)
{
    make_plugin(rig, COUNT "answer \"\\\"token\\\":\\\"t$n\\\"\"");
    uint64_t serial = assert_header(rig, t0, "Bearer t1");
    assert_int_equal(assert_header(rig, t0 + 86400 * S, "Bearer t1"), serial);
}

TEST_ALONE(the_caller_is_told_to_wait_and_woken)
{
    struct rig rig;
    struct sl_credentials credentials;
    struct sl_error err;
    start(&rig);
    make_plugin(&rig, "answer '\"token\":\"t\"'");
    assert_int_equal(sl_auth_get(rig.auth, t0, &credentials, &err), SL_AUTH_WAIT);
    wait_for_wake(&rig);
    assert_int_equal(sl_auth_get(rig.auth, t0, &credentials, &err), SL_AUTH_READY);
    assert_string_equal(credentials.authorization, "Bearer t");
    end(&rig);
}

/* Its first credentials expire 100 s after t0. */
#define EXPIRING                                                                                   \
    COUNT "answer \"\\\"token\\\":\\\"t$n\\\",\\\"expirationTimestamp\\\":\\\"$WHEN\\\"\""

TEST_ALONE(a_plugin_runs_again_before_its_credentials_expire)
{
    struct rig rig;
    struct sl_credentials credentials;
    struct sl_error err;
    char when[48] = "WHEN=";
    start(&rig);
    sl_time_format(t0 + 100 * S, when + 5);
    rig.env[1] = when;
    make_plugin(&rig, EXPIRING);
    assert_header(&rig, t0, "Bearer t1");
    assert_header(&rig, t0 + 69 * S, "Bearer t1");

    /* 30 s before, the old ones stay in force while it runs */
    assert_int_equal(sl_auth_get(rig.auth, t0 + 70 * S, &credentials, &err), SL_AUTH_READY);
    assert_string_equal(credentials.authorization, "Bearer t1");
    wait_for_wake(&rig);
    assert_header(&rig, t0 + 70 * S, "Bearer t2");
    end(&rig);
}

TEST_ALONE(expired_credentials_are_waited_for)
{
    struct rig rig;
    struct sl_credentials credentials;
    struct sl_error err;
    char when[48] = "WHEN=";
    start(&rig);
    sl_time_format(t0 + 100 * S, when + 5);
    rig.env[1] = when;
    make_plugin(&rig, EXPIRING);
    assert_header(&rig, t0, "Bearer t1");
    assert_int_equal(sl_auth_get(rig.auth, t0 + 100 * S, &credentials, &err), SL_AUTH_WAIT);
    /* what it gives anew has expired as well: it is not run in a circle */
    assert_header(&rig, t0 + 100 * S, "Bearer t2");
    end(&rig);
}

TEST_ON(struct rig *rig, a_plugin_runs_again_after_a_refusal)
{
    make_plugin(rig, COUNT "answer \"\\\"token\\\":\\\"t$n\\\"\"");
    uint64_t first = assert_header(rig, t0, "Bearer t1");
    sl_auth_refused(rig->auth, first);
    uint64_t second = assert_header(rig, t0 + 2 * S, "Bearer t2");
    sl_auth_refused(rig->auth, first);
    assert_int_equal(assert_header(rig, t0 + 4 * S, "Bearer t2"), second);
}

TEST_ON(struct rig *rig, credentials_refused_as_soon_as_given_do_not_make_it_run_in_a_circle)
{
    make_plugin(rig, COUNT "answer \"\\\"token\\\":\\\"t$n\\\"\"");
    for (int i = 0; i < 5; i++) {
        sl_auth_refused(rig->auth, assert_header(rig, t0 + i, "Bearer t1"));
    }
    assert_header(rig, t0 + 2 * S, "Bearer t2");
}

TEST_ALONE(a_plugin_may_give_a_certificate)
{
    struct rig rig;
    struct sl_credentials credentials;
    struct sl_error err;
    start(&rig);
    make_plugin(&rig, "answer '\"clientCertificateData\":\"CERT\",\"clientKeyData\":\"KEY!\"'");
    assert_int_equal(get(&rig, t0, &credentials, &err), SL_AUTH_READY);
    assert_null(credentials.authorization);
    assert_true(sl_str_eq(credentials.cert, SL_STR("CERT")));
    assert_true(sl_str_eq(credentials.key, SL_STR("KEY!")));
    end(&rig);
}

TEST_ON(struct rig *rig, a_plugin_gets_its_arguments_environment_and_nothing_else)
{
    struct sl_str ca = SL_STR("CA PEM");
    rig->args[0] = "get token";
    rig->args[1] = "--x";
    rig->env[1] = "HOME=/elsewhere";
    rig->access.ca_data = ca;
    make_plugin(rig, "test \"$1\" = 'get token' && test \"$2\" = --x && test $# = 2 || exit 11\n"
                     "test $HOME = /elsewhere || exit 12\n"
                     "test -n \"$PATH\" || exit 13\n"
                     "test -z \"$(cat)\" || exit 14\n"
                     "test $(env | grep -c ^HOME=) = 1 || exit 15\n"
                     "ls /proc/self/fd | grep -qv '^[0-3]$' && exit 16\n"
                     "test \"$KUBERNETES_EXEC_INFO\" = '{\"kind\":\"ExecCredential\","
                     "\"apiVersion\":\"client.authentication.k8s.io/v1\","
                     "\"spec\":{\"interactive\":false}}' || exit 17\n"
                     "answer '\"token\":\"t\"'");
    assert_header(rig, t0, "Bearer t");
}

TEST_ON(struct rig *rig, a_plugin_that_asks_is_told_of_the_cluster)
{
    write_file(rig->token_file, "CA PEM");
    rig->access.ca_file = rig->token_file;
    rig->access.tls_server_name = "k8s";
    make_plugin(rig, "printf %s \"$KUBERNETES_EXEC_INFO\" | grep -qF "
                     "'\"cluster\":{\"server\":\"https://10.0.0.1:6443\","
                     "\"tls-server-name\":\"k8s\",\"certificate-authority-data\":\"Q0EgUEVN\"}'"
                     " || exit 1\nanswer '\"token\":\"t\"'");
    sl_auth_free(rig->auth);
    rig->access.exec.provide_cluster_info = true;
    make(rig);
    assert_header(rig, t0, "Bearer t");
}

TEST_ALONE(a_plugin_that_fails_is_told_of_with_its_words)
{
    static const struct {
        const char *script;
        const char *words;
    } bad[] = {
        {"echo 'please log in' >&2; exit 3", "exit status 3: please log in"},
        {"kill -9 $$", "ended by signal 9"},
        {"echo nonsense", "no JSON"},
        {"", "no JSON"},
        {"echo '{\"kind\":\"Pod\"}'", "kind is \"Pod\""},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"v9\"}'", "apiVersion is \"v9\""},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}'",
         "no status"},
        {"answer ''", "no token and no certificate"},
        {"answer '\"token\":5'", "token is no string"},
        {"answer '\"token\":\"a b\"'", "control character"},
        {"answer '\"clientKeyData\":\"k\"'", "not both"},
        {"answer '\"token\":\"t\",\"expirationTimestamp\":\"soon\"'", "no time"},
        {"head -c 300000 /dev/zero", "longer than"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rig rig;
        start(&rig);
        make_plugin(&rig, bad[i].script);
        assert_failure(&rig, t0, bad[i].words);
        assert_failure(&rig, t0, "credential plugin /tmp/sliced-auth-");
        end(&rig);
    }
}

TEST_ON(struct rig *rig, a_plugin_that_is_not_there_is_an_error)
{
    make_plugin(rig, "");
    assert_int_equal(unlink(rig->command), 0);
    assert_failure(rig, t0, "No such file");
}

TEST_ON(struct rig *rig, a_failure_stands_for_a_second_then_it_runs_again)
{
    make_plugin(rig, COUNT "test $n = 1 && exit 1\nanswer \"\\\"token\\\":\\\"t$n\\\"\"");
    assert_failure(rig, t0, "exit status 1");
    assert_failure(rig, t0 + S / 2, "exit status 1");
    assert_header(rig, t0 + S, "Bearer t2");
}

TEST_ON(struct rig *rig, a_failed_renewal_leaves_what_is_in_force)
{
    char when[48] = "WHEN=";
    sl_time_format(t0 + 100 * S, when + 5);
    rig->env[1] = when;
    make_plugin(rig, COUNT "test $n = 1 || exit 1\nn=1\n"
                           "answer \"\\\"token\\\":\\\"t$n\\\",\\\"expirationTimestamp\\\":"
                           "\\\"$WHEN\\\"\"");
    assert_header(rig, t0, "Bearer t1");
    assert_header(rig, t0 + 80 * S, "Bearer t1");
    wait_for_wake(rig);
    assert_header(rig, t0 + 80 * S, "Bearer t1");
    assert_failure(rig, t0 + 100 * S, "exit status 1");
}

TEST_ON(struct rig *rig, a_plugin_that_leaves_a_child_behind_is_over_when_it_ends)
{
    make_plugin(rig, "sleep 5 &\nanswer '\"token\":\"t\"'");
    assert_header(rig, t0, "Bearer t");
}

TEST_ALONE(a_plugin_that_hangs_is_killed_at_the_end)
{
    struct rig rig;
    struct sl_credentials credentials;
    struct sl_error err;
    start(&rig);
    make_plugin(&rig, "sleep 3600");
    assert_int_equal(sl_auth_get(rig.auth, t0, &credentials, &err), SL_AUTH_WAIT);
    end(&rig); /* returns */
}
