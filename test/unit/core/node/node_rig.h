/* A node made from lines of text and told as text, for the tests of nodes. */
#ifndef SLICED_TEST_NODE_RIG_H
#define SLICED_TEST_NODE_RIG_H

#include "unit/core/request/facts_rig.h"

#include "sliced/node.h"

struct node_rig {
    struct facts_rig facts;
    struct sl_node_facts node;
    struct sl_node *made;
    char text[16384];
};

static inline int set_up(void **state)
{
    struct node_rig *rig = calloc(1, sizeof(*rig));
    assert_non_null(rig);
    facts_init(&rig->facts);
    rig->node.name = SL_STR("gpu-1");
    *state = rig;
    return 0;
}

static inline int tear_down(void **state)
{
    struct node_rig *rig = *state;
    sl_node_unref(rig->made);
    facts_free(&rig->facts);
    free(rig);
    return 0;
}

static inline void given(struct node_rig *rig, const char *labels, const char *allocatable)
{
    rig->node.labels = facts_pairs(&rig->facts, labels);
    rig->node.allocatable = facts_pairs(&rig->facts, allocatable);
}

static inline struct sl_device_facts *device(struct node_rig *rig, int index, const char *instances)
{
    return facts_device(&rig->facts, &rig->node, index, instances);
}

static inline void add(struct node_rig *rig, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void add(struct node_rig *rig, const char *format, ...)
{
    va_list args;
    size_t len = strlen(rig->text);
    va_start(args, format);
    (void)vsnprintf(rig->text + len, sizeof(rig->text) - len, format, args);
    va_end(args);
}

static inline const struct sl_node *make(struct node_rig *rig)
{
    struct sl_error err = {0};
    sl_node_unref(rig->made);
    rig->made = sl_node_new(&rig->node, &err);
    if (rig->made == NULL) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(err.code, SL_ERR_NONE);
    return rig->made;
}

/* One line a pool: resource kind [profile] capacity[xreplicas] on|off; one line a device:
 * index whole|mig [sick] [units] and its instances as profile@start, slices as <n>x<size>.
 * Instances must name a pool that is on. */
static inline void describe(struct node_rig *rig)
{
    const struct sl_node *n = make(rig);
    rig->text[0] = '\0';
    add(rig, "%s\n", sl_layout_name(n->layout));
    for (unsigned p = 0; p < n->n_pools; p++) {
        const struct sl_pool *pool = &n->pool[p];
        assert_true(pool->key == sl_hash(pool->resource, strlen(pool->resource)));
        assert_int_equal(sl_node_pool(n, pool->key), p);
        assert_true(p == 0 || strcmp(n->pool[p - 1].resource, pool->resource) < 0);
        add(rig, "%s %s%s%s %lld", pool->resource, sl_kind_name(pool->kind),
            pool->profile != NULL ? " " : "", pool->profile != NULL ? pool->profile->name : "",
            (long long)pool->capacity);
        if (pool->replicas != 1) {
            add(rig, "x%d", (int)pool->replicas);
        }
        add(rig, pool->on_devices ? " on\n" : " off\n");
    }
    unsigned i = 0;
    for (unsigned d = 0; d < n->n_devices; d++) {
        add(rig, "%d %s%s", n->device[d].index, n->device[d].mig ? "mig" : "whole",
            n->device[d].healthy ? "" : " sick");
        if (n->device[d].memory_units > 0) {
            add(rig, " %lld", (long long)n->device[d].memory_units);
        }
        for (; i < n->n_instances && n->instance[i].device == d; i++) {
            assert_true(n->instance[i].pool < n->n_pools);
            assert_true(n->pool[n->instance[i].pool].on_devices);
            if (n->instance[i].slices > 0) {
                add(rig, " %ux%s", n->instance[i].slices,
                    n->pool[n->instance[i].pool].resource + strlen("nvidia.com/gpu-"));
                continue;
            }
            add(rig, " %s@%d", n->instance[i].profile != NULL ? n->instance[i].profile->name : "?",
                n->instance[i].start);
        }
        add(rig, "\n");
    }
    assert_int_equal(i, n->n_instances);
    if (n->problem != NULL) {
        add(rig, "! %s\n", n->problem);
    }
}

static inline void check(struct node_rig *rig, const char *expected)
{
    describe(rig);
    assert_string_equal(rig->text, expected);
}

#define A100                                                                                       \
    "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB nvidia.com/gpu.memory=40960 "                    \
    "nvidia.com/mig.strategy=mixed "
#define A30                                                                                        \
    "nvidia.com/gpu.product=NVIDIA-A30 nvidia.com/gpu.memory=24576 "                               \
    "nvidia.com/mig.strategy=mixed "
#define T4 "nvidia.com/gpu.product=Tesla-T4 nvidia.com/gpu.memory=15360 "

/* ---- rows: what is given makes that text ---- */

enum { ROW_DEVICES = 4 };

struct node_row {
    const char *name; /* states the behaviour */
    const char *labels, *allocatable;
    const char *annotations;         /* NULL: none */
    const char *device[ROW_DEVICES]; /* its instances, or "whole"; NULL: no more are annotated */
    const char *text;
    const char *product, *model; /* NULL: any */
};

static inline void check_row(struct node_rig *rig, const struct node_row *row)
{
    given(rig, row->labels, row->allocatable);
    if (row->annotations != NULL) {
        rig->node.annotations = facts_pairs(&rig->facts, row->annotations);
    }
    for (int i = 0; i < ROW_DEVICES && row->device[i] != NULL; i++) {
        bool whole = strcmp(row->device[i], "whole") == 0;
        (void)device(rig, i, whole ? NULL : row->device[i]);
    }
    check(rig, row->text);
    if (row->product != NULL) {
        assert_string_equal(rig->made->product, row->product);
    }
    if (row->model != NULL) {
        assert_non_null(rig->made->model);
        assert_string_equal(rig->made->model->name, row->model);
    }
}

#define ROW(behaviour, ...)                                                                        \
    {                                                                                              \
        .name = #behaviour, __VA_ARGS__                                                            \
    }
#define MADE(behaviour, of_labels, of_allocatable, to_text)                                        \
    ROW(behaviour, .labels = (of_labels), .allocatable = (of_allocatable), .text = (to_text))
#define KNOWN(behaviour, as_product, as_model, of_labels, of_allocatable, to_text)                 \
    ROW(behaviour, .product = (as_product), .model = (as_model), .labels = (of_labels),            \
        .allocatable = (of_allocatable), .text = (to_text))
#define REPORTED(behaviour, of_labels, of_allocatable, of_annotations, to_text)                    \
    ROW(behaviour, .labels = (of_labels), .allocatable = (of_allocatable),                         \
        .annotations = (of_annotations), .text = (to_text))
#define DEVICES(behaviour, of_labels, of_allocatable, to_text, ...)                                \
    ROW(behaviour, .labels = (of_labels), .allocatable = (of_allocatable), .text = (to_text),      \
        .device = {__VA_ARGS__})

#endif
