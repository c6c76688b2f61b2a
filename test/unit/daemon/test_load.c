/* What the manifests of an embedded cluster say of tenants. */
#include "unit/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/load.h"
#include "util/log.h"

static void never(void *context)
{
    (void)context;
}

static int note(void *context, struct sl_str name, struct sl_str tenant)
{
    char *text = context;
    (void)snprintf(text + strlen(text), 64, "%.*s=%.*s ", (int)name.len, name.s, (int)tenant.len,
                   tenant.s);
    return 0;
}

/* Whoever may create a pod writes its labels. */
TEST_THAT(only_labels_of_namespaces_name_tenants_never_those_of_pods)
{
    static const char manifest[] =
        "apiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: Node, metadata: {name: n, labels: {team: node}}}\n"
        "- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a, labels: {team: evil}}}\n"
        "- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: b, labels: {team: evil}}}\n"
        "- {apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {team: vision},\n"
        "   annotations: {team: evil}}}\n"
        "- {apiVersion: v1, kind: Namespace, metadata: {name: b}}\n"
        "- {apiVersion: example.com/v1, kind: Namespace, metadata: {name: c, labels: {team: "
        "evil}}}\n";
    static const struct sl_store_limits limits = {10, 10, 10, 30000000};
    const struct sl_namespaces_options options = {.wake = never};
    char path[] = "/tmp/sliced-load-XXXXXX";
    const char *const paths[] = {path};
    char text[512] = "";
    struct sl_config config;
    struct sl_load_counts counts;
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_log_configure(SL_LOG_ERROR, false);
    sl_config_defaults(&config);
    struct sl_store *store = sl_store_new(&limits, NULL);
    struct sl_namespaces *namespaces = sl_namespaces_new(&options, NULL);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, manifest, strlen(manifest)), (ssize_t)strlen(manifest));
    assert_int_equal(close(fd), 0);
    if (sl_load_cluster(store, namespaces, &config, paths, 1, &counts, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(counts.pods, 2);
    assert_int_equal(sl_namespaces_follow(namespaces, "team", NULL), 0);
    assert_true(sl_namespaces_tell(namespaces, false, note, text));
    assert_string_equal(text, "a=vision ");
    sl_namespaces_free(namespaces);
    sl_store_free(store);
}
