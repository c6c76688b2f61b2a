/* The order in which access to an API server is looked for, and what is said when there is none. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kube/access/find.h"

enum { PATH_SIZE = 160 };

static struct {
    char root[64];
    char named[PATH_SIZE];
    char env[PATH_SIZE];
    char home[PATH_SIZE];
    char home_dir[PATH_SIZE];
    char home_file[PATH_SIZE];
    char account[PATH_SIZE];
    struct sl_arena arena;
} g;

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_kubeconfig(const char *path, const char *host)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "apiVersion: v1\nkind: Config\ncurrent-context: one\n"
                   "clusters: [{name: c, cluster: {server: \"https://%s:1\"}},\n"
                   "  {name: d, cluster: {server: \"https://other-%s:1\"}}]\n"
                   "users: [{name: u, user: {token: t}}]\n"
                   "contexts: [{name: one, context: {cluster: c, user: u}},\n"
                   "  {name: two, context: {cluster: d, user: u}}]\n",
                   host, host);
    put(path, text);
}

static int set_up(void **state)
{
    char path[2 * PATH_SIZE];
    (void)state;
    (void)snprintf(g.root, sizeof(g.root), "/tmp/sliced-access-XXXXXX");
    assert_non_null(mkdtemp(g.root));
    (void)snprintf(g.named, PATH_SIZE, "%s/named", g.root);
    (void)snprintf(g.env, PATH_SIZE, "%s/env", g.root);
    (void)snprintf(g.home, PATH_SIZE, "%s/home", g.root);
    (void)snprintf(g.home_dir, PATH_SIZE, "%s/home/.kube", g.root);
    (void)snprintf(g.home_file, PATH_SIZE, "%s/home/.kube/config", g.root);
    (void)snprintf(g.account, PATH_SIZE, "%s/account", g.root);
    assert_int_equal(mkdir(g.home, 0700) + mkdir(g.home_dir, 0700) + mkdir(g.account, 0700), 0);
    put_kubeconfig(g.named, "named");
    put_kubeconfig(g.env, "env");
    put_kubeconfig(g.home_file, "home");
    (void)snprintf(path, sizeof(path), "%s/token", g.account);
    put(path, "t");
    (void)snprintf(path, sizeof(path), "%s/namespace", g.account);
    put(path, "ours");
    (void)snprintf(path, sizeof(path), "%s/ca.crt", g.account);
    put(path, "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n");
    sl_arena_init(&g.arena, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = {
        "named",         "env", "home/.kube/config", "account/token", "account/namespace",
        "account/ca.crt"};
    char path[2 * PATH_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", g.root, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(g.home_dir);
    (void)rmdir(g.home);
    (void)rmdir(g.account);
    sl_arena_free(&g.arena);
    return rmdir(g.root);
}

/* All there is. */
static struct sl_access_places everything(void)
{
    return (struct sl_access_places){.kubeconfig = g.named,
                                     .env = g.env,
                                     .home = g.home,
                                     .host = "10.0.0.1",
                                     .port = "443",
                                     .account = g.account};
}

static void assert_found(const struct sl_access_places *places, const char *server,
                         const char *where)
{
    struct sl_kube_access access;
    struct sl_error err = {.code = SL_ERR_NONE};
    char from[SL_ACCESS_FROM_MAX];
    memset(&access, 0, sizeof(access));
    if (sl_access_find(places, &g.arena, &access, from, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(access.server, server);
    assert_non_null(strstr(from, where));
}

static struct sl_error assert_none(const struct sl_access_places *places)
{
    struct sl_kube_access access;
    struct sl_error err = {.code = SL_ERR_NONE};
    char from[SL_ACCESS_FROM_MAX];
    assert_int_equal(sl_access_find(places, &g.arena, &access, from, &err), -1);
    return err;
}

TEST_FIXTURE(set_up, tear_down)

TEST_THAT(places_are_tried_in_order)
{
    struct sl_access_places places = everything();
    assert_found(&places, "https://named:1", "kubeconfig /tmp/sliced-access-");
    places.kubeconfig = "";
    assert_found(&places, "https://env:1", "/env");
    places.env = NULL;
    assert_found(&places, "https://10.0.0.1:443", "the pod's service account");
    places.host = NULL;
    assert_found(&places, "https://home:1", "/home/.kube/config");
}

TEST_THAT(a_context_is_of_a_file_and_never_of_the_service_account)
{
    struct sl_access_places places = everything();
    places.context = "two";
    assert_found(&places, "https://other-named:1", "/named");
    places.kubeconfig = NULL;
    places.env = "";
    assert_found(&places, "https://other-home:1", "/home/.kube/config");
    places.home = NULL;
    assert_non_null(strstr(assert_none(&places).message, "a context was asked for"));
}

TEST_THAT(what_was_named_must_be_there)
{
    struct sl_access_places places = everything();
    places.kubeconfig = "/nonexistent/file";
    assert_non_null(strstr(assert_none(&places).message, "/nonexistent/file"));
    places.kubeconfig = NULL;
    places.env = "/nonexistent/env";
    struct sl_error err = assert_none(&places);
    assert_non_null(strstr(err.message, "KUBECONFIG: "));
    assert_non_null(strstr(err.message, "/nonexistent/env"));
}

TEST_THAT(all_that_was_tried_is_named)
{
    const struct sl_access_places places = {.home = "/nonexistent"};
    struct sl_error err = assert_none(&places);
    static const char *const words[] = {"--kubeconfig", "kubernetes.kubeconfig", "KUBECONFIG",
                                        "KUBERNETES_SERVICE_HOST is not set",
                                        "/nonexistent/.kube/config"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_non_null(strstr(err.message, words[i]));
    }
    const struct sl_access_places nothing = {.account = "/nonexistent"};
    assert_non_null(strstr(assert_none(&nothing).message, "HOME is not set"));
}
