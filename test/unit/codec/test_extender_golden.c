/* The extender's bodies: golden files in the shape that kube-scheduler sends, and recorded ones. */
#include "extender_rig.h"

#include <dirent.h>

/* A file's text; the caller frees it. */
struct file {
    char *text;
    size_t len;
};

static struct file read_file(const char *folder, const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s cannot be opened", path);
    }
    char *text = malloc(1 << 20);
    assert_non_null(text);
    size_t len = fread(text, 1, 1 << 20, file);
    (void)fclose(file);
    assert_true(len < 1 << 20);
    return (struct file){text, len};
}

static struct sl_str text_of(const struct file *file)
{
    return (struct sl_str){file->text, file->len};
}

#define UID_LOW "5d0c5f0e-3b0a-4a55-9f43-8a3f1c2b7e10"

static const char low_pod[] =
    "Pod namespace=vision name=detect-day-7xk2p uid=" UID_LOW " rv=41201 "
    "scheduler=default-scheduler phase=Pending preemption=PreemptLowerPriority "
    "created=1791188141000000 deadline=900\n"
    "  label app.kubernetes.io/name =detect-day\n"
    "  label batch.kubernetes.io/job-name =detect-day\n"
    "  label sliced.dev/team =detect\n"
    "  annotation sliced.dev/timeout =15m\n"
    "  init name=fetch\n"
    "    request nvidia.com/mig-1g.6gb =1\n"
    "    limit nvidia.com/mig-1g.6gb =1\n"
    "  init name=proxy sidecar\n"
    "  container name=work\n"
    "    request cpu =500m\n"
    "    request memory =4Gi\n"
    "    request nvidia.com/mig-1g.6gb =1\n"
    "    limit cpu =2\n"
    "    limit memory =4Gi\n"
    "    limit nvidia.com/mig-1g.6gb =1\n"
    "  toleration key=node.kubernetes.io/not-ready operator=Exists effect=NoExecute\n";

static const char vip_pod[] =
    "Pod namespace=vision name=detect-live-m4c9q uid=c1f0a1de-77b5-4c0c-8b1e-0d6f2f7c9a31 "
    "rv=41377 scheduler=default-scheduler phase=Pending preemption=PreemptLowerPriority "
    "created=1791188137000000 priority=100000\n"
    "  label app.kubernetes.io/name =detect-live\n"
    "  label batch.kubernetes.io/job-name =detect-live\n"
    "  label sliced.dev/team =detect\n"
    "  container name=work\n"
    "    request cpu =500m\n"
    "    request memory =4Gi\n"
    "    request nvidia.com/mig-1g.6gb =2\n"
    "    limit cpu =2\n"
    "    limit memory =4Gi\n"
    "    limit nvidia.com/mig-1g.6gb =2\n"
    "  toleration key=node.kubernetes.io/not-ready operator=Exists effect=NoExecute\n";

static const char four_names[] = "node a30-00\nnode a30-01\nnode a30-02\nnode a30-03\n";
static const char victims[] = "victims on a30-00\n"
                              "  victim 9e3779b1-4c1d-4e2f-9a3b-000001234567\n"
                              "  victim 3c6ef362-4c1d-4e2f-9a3b-000002468ace\n"
                              "  violations 0\n"
                              "victims on a30-01\n"
                              "  victim daa66d13-4c1d-4e2f-9a3b-00000369d035\n"
                              "  violations 1\n";
static const char one_victim[] = "victims on a30-00\n"
                                 "  victim 9e3779b1-4c1d-4e2f-9a3b-000001234567\n"
                                 "  violations 2\n";
static const char binding[] =
    "bind name=detect-day-7xk2p namespace=vision uid=" UID_LOW " node=a30-02\n";

static const struct golden {
    const char *file;
    enum sl_body_kind kind;
    const char *told; /* to the sink */
    const char *read;
} goldens[] = {
    {"names-filter.json", SL_BODY_ARGS, four_names, low_pod},
    {"names-prioritize.json", SL_BODY_ARGS, "node a30-01\nnode a30-02\n", low_pod},
    {"names-preempt.json", SL_BODY_PREEMPT, victims, vip_pod},
    {"names-bind.json", SL_BODY_BINDING, "", binding},
    {"nodes-filter.json", SL_BODY_ARGS, "node a30-00\nnode a30-01\nnode cpu-00\nby nodes\n",
     low_pod},
    {"nodes-preempt.json", SL_BODY_PREEMPT, victims, vip_pod},
    {"anycase-filter.json", SL_BODY_ARGS, four_names, low_pod},
    {"anycase-bind.json", SL_BODY_BINDING, "", binding},
    {"anycase-preempt.json", SL_BODY_PREEMPT, one_victim, vip_pod},
};

enum { GOLDENS = sizeof(goldens) / sizeof(goldens[0]) };

TEST_FIXTURE(setup, teardown)

TEST_ON(struct fixture *f, golden_bodies_decode_in_pieces_of_any_size)
{
    static const size_t chunks[] = {0, 1, 2, 3, 7, 64, 1000};
    for (size_t i = 0; i < GOLDENS; i++) {
        char expected[4096];
        struct file file = read_file(SL_SOURCE_DIR "/test/data/wire", goldens[i].file);
        (void)snprintf(expected, sizeof(expected), "%s%s", goldens[i].told, goldens[i].read);
        for (size_t c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++) {
            assert_string_equal(decode(f, goldens[i].kind, text_of(&file), chunks[c]), expected);
        }
        free(file.text);
    }
}

TEST_ON(struct fixture *f, golden_bodies_that_are_cut_short_are_refused)
{
    for (size_t i = 0; i < GOLDENS; i++) {
        struct file file = read_file(SL_SOURCE_DIR "/test/data/wire", goldens[i].file);
        for (size_t len = 0; len < file.len; len += len < 200 ? 1 : 37) {
            const char *out = decode(f, goldens[i].kind, (struct sl_str){file.text, len}, 0);
            const char *error = strstr(out, "Syntax ");
            assert_non_null(error);
            assert_non_null(strstr(error, "found the end of the text"));
        }
        free(file.text);
    }
}

/* A folder of bodies that real schedulers sent; each is named ...-VERB.json. */
TEST_ON(struct fixture *f, recorded_bodies_decode)
{
    const char *data = getenv("SLICED_DATA"); // NOLINT(concurrency-mt-unsafe)
    char folder[1024];
    if (data == NULL) {
        print_message("SLICED_DATA is not set: no recorded bodies\n");
        skip();
    }
    (void)snprintf(folder, sizeof(folder), "%s/wire", data);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int decoded = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strstr(entry->d_name, ".json") == NULL) {
            continue;
        }
        enum sl_body_kind kind = SL_BODY_ARGS;
        if (strstr(entry->d_name, "-bind.json") != NULL) {
            kind = SL_BODY_BINDING;
        } else if (strstr(entry->d_name, "-preempt.json") != NULL) {
            kind = SL_BODY_PREEMPT;
        }
        struct file file = read_file(folder, entry->d_name);
        char *whole = strdup(decode(f, kind, text_of(&file), 0));
        assert_non_null(whole);
        if (kind == SL_BODY_BINDING) {
            assert_int_equal(strncmp(whole, "bind name=", 10), 0);
        } else {
            assert_non_null(strstr(whole, kind == SL_BODY_ARGS ? "node " : "  violations "));
            assert_non_null(strstr(whole, "\nPod namespace="));
            assert_non_null(strstr(whole, "  container name="));
        }
        assert_string_equal(decode(f, kind, text_of(&file), 1), whole);
        free(whole);
        free(file.text);
        decoded++;
    }
    (void)closedir(dir);
    assert_true(decoded > 0);
}
