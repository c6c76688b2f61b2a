/* Reading the lists of the openb trace. Pods without GPUs are kept: they compete for CPU. */
#include "evidence/openb/openb.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/input/csv/record.h"
#include "sim/input/workload.h"
#include "util/data/vec.h"

enum { TEXT = 24 };

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
    struct sl_models_affinity models = {.term = {.next = NULL}};
    struct sl_pod_facts facts = {.namespace = SL_STR("openb"),
                                 .name = SL_STR("pod"),
                                 .uid = SL_STR("pod"),
                                 .containers = &container};
    sl_models_require(&models, class->models, &facts);
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

struct record {
    int64_t cpu_milli;
    int64_t memory_mib;
    int64_t gpus;
    int64_t milli;
    struct sl_str models;
};

#define COUNT(member, most)                                                                        \
    .kind = SL_FIELD_INTEGER, .at = offsetof(struct record, member), .min = 0, .max = (most)

static const struct sl_field fields[] = {
    {"cpu_milli", COUNT(cpu_milli, INT32_MAX)},
    {"memory_mib", COUNT(memory_mib, INT32_MAX)},
    {"num_gpu", COUNT(gpus, SL_OPENB_GPUS_MAX)},
    {"gpu_milli", COUNT(milli, SL_OPENB_GPU)},
    {"gpu_spec", SL_FIELD_TEXT, SL_FIELD_OPTIONAL, .at = offsetof(struct record, models)},
};

static int take_pod(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    const struct record *record = taken;
    if (record->gpus > 1 && record->milli != SL_OPENB_GPU) {
        return sl_record_wrong(csv, "gpu_milli", "1000 where several GPUs are asked for", err);
    }
    const struct sl_openb_class class = {
        .cpu_milli = record->cpu_milli,
        .memory_mib = record->memory_mib,
        .gpus = record->milli > 0 ? (int32_t)record->gpus : 0,
        .milli = record->gpus > 0 ? (int32_t)record->milli : 0,
    };
    return add_pod(context, &class, record->models, err);
}

static int read_pods(struct sl_openb *openb, const char *path, struct sl_error *err)
{
    struct record record = {.models = SL_STR("")};
    const struct sl_records records = SL_RECORDS(fields, take_pod, record, openb);
    return sl_records_read(&records, path, err);
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
