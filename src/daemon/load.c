/* Loads manifests into the store. A node, pod or Namespace given twice is an error, as either could
 * be meant. */
#include "daemon/load.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "server/api/embedded.h"
#include "util/data/map.h"
#include "util/log.h"
#include "util/process/file.h"

enum { NAMES_MAX_BYTES = 1 << 30, KEY_MAX = 600 };

struct loader {
    struct sl_store *store;
    struct sl_namespaces *namespaces;
    const struct sl_config *config;
    struct sl_load_counts counts;
    struct sl_dra dra;
    struct sl_arena names; /* keys of seen */
    struct sl_map seen;    /* "node/NAME", "pod/NAMESPACE/NAME" */
};

/* ---- objects ---- */

/* Notes that the object was given. */
static int object_see(struct loader *loader, const char *kind, const char *ns, const char *name,
                      struct sl_error *err)
{
    char key[KEY_MAX];
    int n = snprintf(key, sizeof(key), "%s/%s/%s", kind, ns, name);
    size_t len = n < 0 || (size_t)n >= sizeof(key) ? sizeof(key) - 1 : (size_t)n;
    if (sl_map_get(&loader->seen, key, len) != NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "%s %s%s%s is given twice", kind, ns,
                            ns[0] == '\0' ? "" : "/", name);
    }
    char *copy = sl_arena_strdup(&loader->names, key, len);
    if (copy == NULL || sl_map_put(&loader->seen, copy, len, copy, NULL) < 0) {
        return sl_error_nomem(err);
    }
    return 0;
}

static int take_node(struct loader *loader, const struct sl_node_facts *facts, struct sl_error *err)
{
    struct sl_node *node = sl_node_new(facts, err);
    if (node == NULL) {
        return -1;
    }
    if (object_see(loader, "node", "", node->name, err) < 0) {
        sl_node_unref(node);
        return -1;
    }
    if (node->problem != NULL) {
        sl_log(SL_LOG_WARN, "node is odd", "node", node->name, "problem", node->problem,
               (char *)NULL);
    }
    loader->counts.nodes++;
    return sl_store_put_node(loader->store, node, err);
}

static int take_pod(struct loader *loader, const struct sl_pod_facts *facts, struct sl_error *err)
{
    struct sl_pod *pod = sl_embedded_pod_new(facts, err);
    if (pod == NULL) {
        return -1;
    }
    if (object_see(loader, "pod", pod->namespace, pod->name, err) < 0) {
        sl_pod_unref(pod);
        return -1;
    }
    if (pod->malformed != NULL) {
        sl_log_pod(SL_LOG_WARN, sl_str_of(pod->namespace), sl_str_of(pod->name),
                   "the pod's request is malformed", "problem", pod->malformed, (char *)NULL);
    }
    loader->counts.pods++;
    return sl_store_put_pod(loader->store, pod, err);
}

static int take_object(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct loader *loader = context;
    if (object->node != NULL) {
        return take_node(loader, object->node, err);
    }
    if (object->pod != NULL) {
        return take_pod(loader, object->pod, err);
    }
    if (object->space.len > 0 && loader->namespaces != NULL &&
        (object_see(loader, "namespace", "", object->space.s, err) < 0 ||
         sl_namespaces_put(loader->namespaces, object->space, object->labels, err) < 0)) {
        return -1;
    }
    sl_dra_add(&loader->dra, object->extended);
    sl_store_set_dra(loader->store, &loader->dra);
    loader->counts.others++;
    return 0;
}

/* ---- files ---- */

static int text_decode(struct loader *loader, const char *name, const struct sl_buf *text,
                       struct sl_error *err)
{
    const struct sl_config *config = loader->config;
    const struct sl_text_limits limits = {.max_bytes = (size_t)config->cluster.max_manifest_bytes,
                                          .max_string = (size_t)config->decode.max_string,
                                          .max_depth = (unsigned)config->decode.max_depth};
    size_t before = loader->counts.nodes + loader->counts.pods;
    if (text->len == 0) {
        sl_log(SL_LOG_WARN, "manifest is empty", "file", name, (char *)NULL);
        return 0;
    }
    int rc = sl_manifest_decode(text->data, text->len, &limits, take_object, loader, err);
    if (rc == 0 && loader->counts.nodes + loader->counts.pods == before) {
        sl_log(SL_LOG_WARN, "manifest has no Node and no Pod", "file", name, (char *)NULL);
    }
    return rc;
}

/* path: "-" is standard input. */
static int load_file(struct loader *loader, const char *path, struct sl_error *err)
{
    struct sl_buf text;
    struct sl_load_counts before = loader->counts;
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    sl_buf_init(&text, (size_t)loader->config->cluster.max_manifest_bytes + 1);
    int rc = sl_file_load(strcmp(path, "-") == 0 ? NULL : path, &text, err);
    if (rc < 0 && text.failed == SL_BUF_FULL) {
        (void)sl_error_wrap(err, "cluster.maxManifestBytes");
    } else if (rc == 0) {
        rc = text_decode(loader, name, &text, err);
    }
    sl_buf_free(&text);
    if (rc < 0) {
        return sl_error_locate(err, name);
    }
    sl_log(SL_LOG_INFO, "manifest loaded", "file", name, "#nodes",
           SL_LOG_NUMBER(loader->counts.nodes - before.nodes), "#pods",
           SL_LOG_NUMBER(loader->counts.pods - before.pods), (char *)NULL);
    return 0;
}

static int is_manifest(const struct dirent *entry)
{
    struct sl_str name = sl_str_of(entry->d_name);
    return name.s[0] != '.' &&
           (sl_str_ends(name, SL_STR(".yaml")) || sl_str_ends(name, SL_STR(".yml")) ||
            sl_str_ends(name, SL_STR(".json")));
}

static int load_folder(struct loader *loader, const char *path, struct sl_error *err)
{
    struct dirent **list = NULL;
    int n = scandir(path, &list, is_manifest, alphasort);
    if (n < 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "%s: %s", path,
                            strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    int rc = 0;
    if (n == 0) {
        rc = sl_error_set(err, SL_ERR_FIELD, "%s: no *.yaml, *.yml or *.json in this folder", path);
    }
    for (int i = 0; i < n; i++) {
        char file[PATH_MAX];
        if (rc == 0) {
            (void)snprintf(file, sizeof(file), "%s/%s", path, list[i]->d_name);
            rc = load_file(loader, file, err);
        }
        free(list[i]);
    }
    free(list);
    return rc;
}

static int load_path(struct loader *loader, const char *path, struct sl_error *err)
{
    struct stat info;
    if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return load_folder(loader, path, err);
    }
    return load_file(loader, path, err);
}

int sl_load_cluster(struct sl_store *store, struct sl_namespaces *namespaces,
                    const struct sl_config *config, const char *const *paths, size_t n,
                    struct sl_load_counts *counts, struct sl_error *err)
{
    struct loader loader = {.store = store, .namespaces = namespaces, .config = config};
    sl_arena_init(&loader.names, NAMES_MAX_BYTES);
    sl_store_begin(store);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = load_path(&loader, paths[i], err);
    }
    if (sl_store_end(store, rc == 0 ? err : NULL) < 0) {
        rc = -1;
    }
    sl_map_free(&loader.seen);
    sl_arena_free(&loader.names);
    *counts = loader.counts;
    return rc;
}
