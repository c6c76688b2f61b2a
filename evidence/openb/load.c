/* Reading the lists of the openb trace. Pods without GPUs are kept: they compete for CPU. */
#include "evidence/openb/openb.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/input/csv.h"
#include "util/data/vec.h"

enum { TEXT = 24, MODELS_MAX = 32 };

void sl_openb_init(struct sl_openb *openb)
{
    memset(openb, 0, sizeof(*openb));
    sl_fleet_init(&openb->fleet);
}

void sl_openb_free(struct sl_openb *openb)
{
    for (uint32_t i = 0; i < openb->n_classes; i++) {
        sl_pod_unref(openb->class[i].pod);
        free(openb->class[i].models);
    }
    free(openb->class);
    free(openb->pod);
    sl_fleet_free(&openb->fleet);
    memset(openb, 0, sizeof(*openb));
}

/* ---- pods of a class ---- */

/* Required node affinity: the label nvidia.com/gpu.product is one of the models. */
struct models {
    struct sl_term_facts term;
    struct sl_expression_facts expression;
    struct sl_text_facts value[MODELS_MAX];
};

static void models_require(struct models *models, const char *text, struct sl_pod_facts *facts)
{
    unsigned n = 0;
    for (const char *at = text; *at != '\0' && n < MODELS_MAX; n++) {
        size_t len = strcspn(at, "|");
        models->value[n] =
            (struct sl_text_facts){.text = {at, len}, .next = n > 0 ? &models->value[n - 1] : NULL};
        at += len + (at[len] == '|' ? 1 : 0);
    }
    if (n == 0) {
        return;
    }
    models->expression = (struct sl_expression_facts){.key = SL_STR("nvidia.com/gpu.product"),
                                                      .op = SL_STR("In"),
                                                      .values = &models->value[n - 1]};
    models->term = (struct sl_term_facts){.expressions = &models->expression};
    facts->affinity = true;
    facts->terms = &models->term;
}

/* A share of a GPU is gpu-mem on nodes whose GPUs have a thousand units of it. */
static struct sl_pod *make_pod(const struct sl_openb_class *class, struct sl_error *err)
{
    char cpu[TEXT];
    char memory[TEXT];
    char count[TEXT];
    bool whole = class->milli >= SL_OPENB_GPU;
    (void)snprintf(cpu, sizeof(cpu), "%lldm", (long long)class->cpu_milli);
    (void)snprintf(memory, sizeof(memory), "%lldMi", (long long)class->memory_mib);
    (void)snprintf(count, sizeof(count), "%d", whole ? class->gpus : class->milli);
    struct sl_pair of_memory = {SL_STR("memory"), sl_str_of(memory), NULL};
    struct sl_pair of_cpu = {SL_STR("cpu"), sl_str_of(cpu), &of_memory};
    struct sl_pair gpu = {whole ? SL_STR("nvidia.com/gpu") : SL_STR("aliyun.com/gpu-mem"),
                          sl_str_of(count), NULL};
    struct sl_container_facts container = {.name = SL_STR("main"), .requests = &of_cpu};
    container.limits = class->gpus > 0 ? &gpu : NULL;
    struct models models = {.term = {.next = NULL}};
    struct sl_pod_facts facts = {.namespace = SL_STR("openb"),
                                 .name = SL_STR("pod"),
                                 .uid = SL_STR("pod"),
                                 .containers = &container};
    models_require(&models, class->models, &facts);
    return sl_pod_new(&facts, err);
}

static char *copy_text(struct sl_str text)
{
    char *copy = malloc(text.len + 1);
    if (copy != NULL) {
        memcpy(copy, text.s, text.len);
        copy[text.len] = '\0';
    }
    return copy;
}

static bool class_is(const struct sl_openb_class *class, const struct sl_openb_class *other,
                     struct sl_str models)
{
    return class->cpu_milli == other->cpu_milli && class->memory_mib == other->memory_mib &&
           class->gpus == other->gpus && class->milli == other->milli &&
           sl_str_eq(sl_str_of(class->models), models);
}

static int add_pod(struct sl_openb *openb, const struct sl_openb_class *read, struct sl_str models,
                   struct sl_error *err)
{
    uint32_t at = 0;
    if (openb->n_pods == SL_OPENB_PODS_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d pods", SL_OPENB_PODS_MAX);
    }
    if (sl_vec_reserve(&openb->class, &openb->cap_classes, openb->n_classes + 1,
                       sizeof(*openb->class)) < 0 ||
        sl_vec_reserve(&openb->pod, &openb->cap_pods, openb->n_pods + 1, sizeof(*openb->pod)) < 0) {
        return sl_error_nomem(err);
    }
    while (at < openb->n_classes && !class_is(&openb->class[at], read, models)) {
        at++;
    }
    if (at == openb->n_classes) {
        struct sl_openb_class *fresh = &openb->class[at];
        *fresh = *read;
        fresh->models = copy_text(models);
        fresh->pod = fresh->models == NULL ? NULL : make_pod(fresh, err);
        if (fresh->pod == NULL) {
            free(fresh->models);
            return fresh->models == NULL ? sl_error_nomem(err) : -1;
        }
        sl_pod_ask(fresh->pod, &fresh->ask);
        openb->n_classes++;
    }
    openb->class[at].n++;
    openb->pod[openb->n_pods++] = at;
    return 0;
}

/* ---- files ---- */

enum { CPU, MEMORY, GPUS, MILLI, COLUMNS };

static int read_record(struct sl_openb *openb, const struct sl_csv *csv, const int *column,
                       int spec, struct sl_error *err)
{
    struct sl_openb_class class = {.pod = NULL};
    int64_t gpus = 0;
    int64_t milli = 0;
    if (sl_csv_i64(csv, column[CPU], 0, INT32_MAX, &class.cpu_milli, err) < 0 ||
        sl_csv_i64(csv, column[MEMORY], 0, INT32_MAX, &class.memory_mib, err) < 0 ||
        sl_csv_i64(csv, column[GPUS], 0, SL_OPENB_GPUS_MAX, &gpus, err) < 0 ||
        sl_csv_i64(csv, column[MILLI], 0, SL_OPENB_GPU, &milli, err) < 0) {
        return -1;
    }
    if (gpus > 1 && milli != SL_OPENB_GPU) {
        return sl_csv_wrong(csv, column[MILLI], "1000 where several GPUs are asked for", err);
    }
    class.gpus = milli > 0 ? (int32_t)gpus : 0;
    class.milli = gpus > 0 ? (int32_t)milli : 0;
    struct sl_str models = sl_csv_has(csv, spec) ? csv->field[spec] : SL_STR("");
    return add_pod(openb, &class, models, err);
}

static int read_pods(struct sl_openb *openb, const char *path, struct sl_error *err)
{
    static const char *const names[COLUMNS] = {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"};
    struct sl_csv csv;
    int column[COLUMNS];
    if (sl_csv_open(&csv, path, err) < 0) {
        return -1;
    }
    int rc = 0;
    for (unsigned i = 0; i < COLUMNS && rc == 0; i++) {
        column[i] = sl_csv_need(&csv, names[i], err);
        rc = column[i] < 0 ? -1 : 0;
    }
    int spec = sl_csv_column(&csv, "gpu_spec");
    int more = rc == 0 ? sl_csv_next(&csv, err) : -1;
    while (more > 0) {
        more = read_record(openb, &csv, column, spec, err) < 0 ? -1 : sl_csv_next(&csv, err);
    }
    sl_csv_close(&csv);
    return more < 0 ? sl_csv_locate(path, err) : 0;
}

int sl_openb_load(struct sl_openb *openb, const char *pods, const char *nodes, struct sl_error *err)
{
    char list[4096];
    (void)snprintf(list, sizeof(list), "openb:%s", nodes);
    if (sl_fleet_list(&openb->fleet, list, err) < 0 || sl_fleet_finish(&openb->fleet, err) < 0 ||
        read_pods(openb, pods, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < openb->fleet.n; i++) {
        if (openb->fleet.node[i]->n_devices > SL_OPENB_GPUS_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "%s: node \"%s\" has more than %d GPUs", nodes,
                                openb->fleet.node[i]->name, SL_OPENB_GPUS_MAX);
        }
        openb->milli += (int64_t)openb->fleet.node[i]->n_devices * SL_OPENB_GPU;
    }
    if (openb->n_pods == 0) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: has no pods", pods);
    }
    return 0;
}
