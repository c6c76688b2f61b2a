/* Access to the API server from kubeconfig files and from a pod's service account. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kube/access/kubeconfig.h"
#include "unit/kube/folder.h"

struct rig {
    char folder[64];
    char paths[512]; /* of the files written, joined by ':' */
    unsigned n;
    struct sl_arena arena;
    struct sl_kube_access access;
    struct sl_error err;
};

static void start(struct rig *rig)
{
    *rig = (struct rig){.folder = "/tmp/sliced-kube-XXXXXX"};
    assert_non_null(mkdtemp(rig->folder));
    sl_arena_init(&rig->arena, 4 << 20);
}

static void end(struct rig *rig)
{
    folder_remove(rig->folder);
    sl_arena_free(&rig->arena);
}

static void write_to(const struct rig *rig, const char *name, const char *text)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/%s", rig->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A further file of the configuration. */
static void add(struct rig *rig, const char *text)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "c%u", rig->n++);
    write_to(rig, name, text);
    size_t at = strlen(rig->paths);
    (void)snprintf(rig->paths + at, sizeof(rig->paths) - at, "%s%s/%s", at == 0 ? "" : ":",
                   rig->folder, name);
}

static int load(struct rig *rig, const char *context)
{
    return sl_kubeconfig_load(rig->paths, context, &rig->arena, &rig->access, &rig->err);
}

static void assert_path(const struct rig *rig, const char *actual, const char *name)
{
    char expected[160];
    (void)snprintf(expected, sizeof(expected), "%s/%s", rig->folder, name);
    assert_non_null(actual);
    assert_string_equal(actual, expected);
}

#define CLUSTER(name, server) "clusters: [{name: " name ", cluster: {server: \"" server "\"}}]\n"
#define CONTEXT(name, cluster, user)                                                               \
    "contexts: [{name: " name ", context: {cluster: " cluster ", user: " user "}}]\n"
#define USER(name, user) "users: [{name: " name ", user: {" user "}}]\n"
#define WITH_USER(user)                                                                            \
    "current-context: c\n" CLUSTER("k", "https://h:1") CONTEXT("c", "k", "u") USER("u", user)

TEST_FIXTURE_OF(struct rig, start, end)

TEST_ON(struct rig *rig, the_current_context_is_taken_unless_another_is_named)
{
    add(rig, "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: b\n"
             "clusters:\n- {name: k1, cluster: {server: \"https://one:6443/\"}}\n"
             "- {name: k2, cluster: {server: \"https://two/k8s/c-1//\"}}\n"
             "contexts:\n- {name: a, context: {cluster: k1, user: u, namespace: team}}\n"
             "- {name: b, context: {cluster: k2, user: u}}\n"
             "users:\n- {name: u, user: {token: t}}\n");

    assert_int_equal(load(rig, NULL), 0);
    assert_string_equal(rig->access.server, "https://two/k8s/c-1");
    assert_null(rig->access.namespace);
    assert_string_equal(rig->access.token, "t");

    assert_int_equal(load(rig, "a"), 0);
    assert_string_equal(rig->access.server, "https://one:6443");
    assert_string_equal(rig->access.namespace, "team");
}

TEST_ON(struct rig *rig, data_is_decoded_and_files_are_relative_to_the_file_that_names_them)
{
    add(rig, "current-context: c\n"
             "clusters: [{name: k, cluster: {server: \"https://h\", certificate-authority: ca.pem,"
             " certificate-authority-data: Zm9v}}]\n" CONTEXT("c", "k", "u")
                 USER("u", "client-certificate: sub/cert.pem, client-key: /etc/key.pem, "
                           "client-certificate-data: Zm9vYmFy, client-key-data: Zg==, "
                           "tokenFile: tok, username: n, password: p"));

    assert_int_equal(load(rig, NULL), 0);

    assert_path(rig, rig->access.ca_file, "ca.pem");
    assert_path(rig, rig->access.cert_file, "sub/cert.pem");
    assert_string_equal(rig->access.key_file, "/etc/key.pem");
    assert_path(rig, rig->access.token_file, "tok");
    assert_true(sl_str_eq(rig->access.ca_data, SL_STR("foo")));
    assert_true(sl_str_eq(rig->access.cert_data, SL_STR("foobar")));
    assert_true(sl_str_eq(rig->access.key_data, SL_STR("f")));
    assert_string_equal(rig->access.username, "n");
    assert_string_equal(rig->access.password, "p");
}

TEST_ON(struct rig *rig, a_clusters_manner_of_connection_is_taken)
{
    add(rig, "current-context: c\n"
             "clusters: [{name: k, cluster: {server: \"https://h\", tls-server-name: n,"
             " proxy-url: \"http://p:3128\", insecure-skip-tls-verify: true}}]\n"
             "contexts: [{name: c, context: {cluster: k}}]\n");
    assert_int_equal(load(rig, NULL), 0);
    assert_string_equal(rig->access.tls_server_name, "n");
    assert_string_equal(rig->access.proxy_url, "http://p:3128");
    assert_true(rig->access.insecure);
    assert_null(rig->access.token);
}

TEST_ON(struct rig *rig, json_is_yaml)
{
    add(rig, "{\"current-context\":\"c\",\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":"
             "\"http://127.0.0.1:8080\"}}],\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":"
             "\"k\",\"user\":\"\"}}],\"users\":null}");
    assert_int_equal(load(rig, NULL), 0);
    assert_string_equal(rig->access.server, "http://127.0.0.1:8080");
}

TEST_ON(struct rig *rig, of_several_files_the_first_to_name_a_thing_wins)
{
    char paths[512];
    add(rig, "current-context: c\n" USER("u", "token: first"));
    add(rig, "current-context: other\n" CLUSTER("k", "https://h") CONTEXT("c", "k", "u")
                 USER("u", "token: second"));
    assert_int_equal(load(rig, NULL), 0);
    assert_string_equal(rig->access.token, "first");
    assert_string_equal(rig->access.server, "https://h");

    /* those that are not there, and empty names, are passed over */
    (void)snprintf(paths, sizeof(paths), ":%s/none:%.400s:", rig->folder, rig->paths);
    assert_int_equal(sl_kubeconfig_load(paths, NULL, &rig->arena, &rig->access, &rig->err), 0);
    assert_string_equal(rig->access.token, "first");
}

TEST_ON(struct rig *rig, a_plugins_command_arguments_and_environment_are_taken)
{
    add(rig, WITH_USER("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./aws, "
                       "args: [eks, get-token, \"\"], env: [{name: A, value: b=c}, {name: D}], "
                       "interactiveMode: IfAvailable, provideClusterInfo: true, "
                       "installHint: brew}"));

    assert_int_equal(load(rig, NULL), 0);

    const struct sl_kube_exec *exec = &rig->access.exec;
    assert_string_equal(exec->api_version, "client.authentication.k8s.io/v1beta1");
    assert_path(rig, exec->command, "./aws");
    assert_string_equal(exec->args[0], "eks");
    assert_string_equal(exec->args[1], "get-token");
    assert_string_equal(exec->args[2], "");
    assert_null(exec->args[3]);
    assert_string_equal(exec->env[0], "A=b=c");
    assert_string_equal(exec->env[1], "D=");
    assert_null(exec->env[2]);
    assert_true(exec->provide_cluster_info);
}

TEST_ON(struct rig *rig, a_plugins_bare_name_is_looked_up_in_the_path)
{
    add(rig, WITH_USER("exec: {apiVersion: client.authentication.k8s.io/v1, command: aws}"));
    assert_int_equal(load(rig, NULL), 0);
    assert_string_equal(rig->access.exec.command, "aws");
    assert_null(rig->access.exec.args[0]);
}

TEST_ALONE(what_is_wrong_is_said_with_its_place)
{
    static const struct {
        const char *text;
        const char *words;
    } bad[] = {
        {"current-context: [", "c0:"},
        {WITH_USER("token: [1]"), "users[0].user.token"},
        {WITH_USER("token: {}"), "c0:4:"},
        {"clusters: {}\n", "clusters"},
        {"", "no current-context"},
        {"current-context: x\n", "no context \"x\""},
        {"current-context: c\n" CONTEXT("c", "k", "u"), "no cluster \"k\""},
        {"current-context: c\n" CLUSTER("k", "https://h") CONTEXT("c", "k", "u"), "no user \"u\""},
        {"current-context: c\n" CLUSTER("k", "ftp://h") CONTEXT("c", "k", "\"\""),
         "server is \"ftp://h\""},
        {"current-context: c\nclusters: [{name: k}]\n" CONTEXT("c", "k", "\"\""), "server is \"\""},
        {"current-context: c\nclusters: [{cluster: {}}]\ncontexts: [{name: c}]\n",
         "cluster \"\": server is \"\""},
        {WITH_USER("client-key-data: \"*\""), "client-key-data: not base64"},
        {WITH_USER("auth-provider: {name: gcp}"), "auth-provider"},
        {WITH_USER("as: someone"), "impersonation"},
        {WITH_USER("exec: {command: x}"), "exec apiVersion is \"\""},
        {WITH_USER("exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"),
         "expected client.authentication.k8s.io/v1 or v1beta1"},
        {WITH_USER("exec: {apiVersion: client.authentication.k8s.io/v1}"), "no command"},
        {WITH_USER("exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
                   "interactiveMode: Always}"),
         "interactiveMode"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rig rig;
        start(&rig);
        add(&rig, bad[i].text);
        assert_int_equal(load(&rig, NULL), -1);
        if (strstr(rig.err.message, bad[i].words) == NULL &&
            strstr(rig.err.field, bad[i].words) == NULL) {
            fail_msg("%zu: \"%s\" (%s) does not say \"%s\"", i, rig.err.message, rig.err.field,
                     bad[i].words);
        }
        end(&rig);
    }
}

TEST_ON(struct rig *rig, a_file_that_is_not_there_is_an_error_that_names_it)
{
    (void)snprintf(rig->paths, sizeof(rig->paths), "%s/none", rig->folder);
    assert_int_equal(load(rig, NULL), -1);
    assert_int_equal(rig->err.code, SL_ERR_NOTFOUND);
    assert_non_null(strstr(rig->err.message, rig->paths));
    (void)snprintf(rig->paths, sizeof(rig->paths), "/nonexistent/a:/nonexistent/b");
    assert_int_equal(load(rig, NULL), -1);
    assert_int_equal(rig->err.code, SL_ERR_NOTFOUND);
}

/* ---- in a pod ---- */

TEST_ON(struct rig *rig, in_a_pod_the_service_account_is_taken)
{
    write_to(rig, "namespace", "gpu-system");
    assert_int_equal(
        sl_kube_in_cluster(rig->folder, "10.96.0.1", "443", &rig->arena, &rig->access, &rig->err),
        0);
    assert_string_equal(rig->access.server, "https://10.96.0.1:443");
    assert_string_equal(rig->access.namespace, "gpu-system");
    assert_path(rig, rig->access.token_file, "token");
    assert_path(rig, rig->access.ca_file, "ca.crt");

    assert_int_equal(
        sl_kube_in_cluster(rig->folder, "fd00::1", "443", &rig->arena, &rig->access, &rig->err), 0);
    assert_string_equal(rig->access.server, "https://[fd00::1]:443");
}

TEST_ON(struct rig *rig, outside_a_pod_there_is_none)
{
    assert_int_equal(
        sl_kube_in_cluster(rig->folder, NULL, "443", &rig->arena, &rig->access, &rig->err), -1);
    assert_int_equal(rig->err.code, SL_ERR_NOTFOUND);
    assert_int_equal(sl_kube_in_cluster(rig->folder, "h", "", &rig->arena, &rig->access, &rig->err),
                     -1);
    assert_int_equal(rig->err.code, SL_ERR_NOTFOUND);
    /* in one, but with its files gone */
    assert_int_equal(
        sl_kube_in_cluster(rig->folder, "h", "1", &rig->arena, &rig->access, &rig->err), -1);
    assert_non_null(strstr(rig->err.message, "namespace"));
}
