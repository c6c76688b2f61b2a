/* Writes the manifests. */
#include "cluster_files.h"

#include "bench.h"
#include "bodies.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NODES_PER_FILE = 100 };

static void file_path(const struct bench_cluster *cluster, size_t i, char out[192])
{
    (void)snprintf(out, 192, "%s/%03zu.json", cluster->folder, i);
}

static void write_file(struct bench_cluster *cluster, const struct sl_buf *text)
{
    char path[192];
    file_path(cluster, cluster->files, path);
    FILE *file = fopen(path, "we");
    if (text->failed != SL_BUF_OK || file == NULL ||
        fwrite(text->data, 1, text->len, file) != text->len || fclose(file) != 0) {
        bench_die("cannot write %s", path);
    }
    cluster->files++;
}

void bench_cluster_write(struct bench_cluster *cluster, size_t nodes)
{
    const char *parent = getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe)
    *cluster = (struct bench_cluster){0};
    (void)snprintf(cluster->folder, sizeof(cluster->folder), "%s/sliced-bench-XXXXXX",
                   parent == NULL ? "/tmp" : parent);
    if (mkdtemp(cluster->folder) == NULL) {
        bench_die("cannot make the folder %s", cluster->folder);
    }
    struct sl_buf text;
    sl_buf_init(&text, (size_t)1 << 28);
    for (size_t first = 0; first < nodes; first += NODES_PER_FILE) {
        size_t n = nodes - first < NODES_PER_FILE ? nodes - first : NODES_PER_FILE;
        text.len = 0;
        bench_manifest_nodes(&text, first, n);
        write_file(cluster, &text);
        text.len = 0;
        bench_manifest_pods(&text, first * BENCH_PODS_PER_NODE, n * BENCH_PODS_PER_NODE);
        write_file(cluster, &text);
    }
    sl_buf_free(&text);
}

void bench_cluster_remove(const struct bench_cluster *cluster)
{
    char path[192];
    for (size_t i = 0; i < cluster->files; i++) {
        file_path(cluster, i, path);
        (void)unlink(path);
    }
    (void)rmdir(cluster->folder);
}
