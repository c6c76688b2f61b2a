/* Pods that are alike share a class; classes with equal requests share an ask; asks share lanes,
 * one for each resource. An answer for one pod holds for all of its class. */
#include "core/plan/state/state.h"

#include <stdlib.h>

enum {
    HEAD = 1,              /* words of a class' key before its ask's */
    OWN = SL_PLAN_ASK_OWN, /* words of an ask's key before its items' */
};

static size_t ask_key(const struct sl_pod *pod, uint64_t *out)
{
    out[0] = (uint64_t)pod->gpu_memory_mib << 32 | (uint64_t)pod->min_gpu_memory_mib;
    out[1] = 0;
    size_t n = pod->n_items < SL_ASK_ITEMS_MAX ? pod->n_items : SL_ASK_ITEMS_MAX;
    for (size_t i = 0; i < n; i++) {
        out[1] = pod->items[i].workload != 0 ? pod->items[i].workload : out[1];
        out[OWN + 3 * i] = pod->items[i].key;
        out[OWN + 3 * i + 1] = (uint64_t)pod->items[i].each << 32 | (uint64_t)pod->items[i].count;
        out[OWN + 3 * i + 2] = pod->items[i].gpus;
    }
    return OWN + 3 * n;
}

static size_t class_key(const struct sl_pod *pod, uint64_t *out)
{
    out[0] = pod->constraints == NULL ? 0 : pod->constraints->digest;
    return HEAD + ask_key(pod, out + HEAD);
}

/* ---- asks ---- */

static void ask_unref(struct sl_planner *planner, struct sl_plan_ask *ask)
{
    ask->refs--;
    if (ask->refs > 0) {
        return;
    }
    sl_map_remove(&planner->asks.by_key, (const char *)ask->key,
                  (OWN + 3 * (size_t)ask->ask.n) * sizeof(ask->key[0]));
    for (unsigned i = 0; i < ask->ask.n; i++) {
        if (ask->lane[i] != NULL) {
            ask->lane[i]->refs--;
        }
    }
    sl_list_remove(&planner->asks.all, &ask->all);
    planner->asks.changed = true;
    sl_pod_unref(ask->pod);
    free(ask);
}

static struct sl_plan_ask *ask_get(struct sl_planner *planner, struct sl_pod *pod)
{
    uint64_t key[OWN + 3 * SL_ASK_ITEMS_MAX];
    size_t len = ask_key(pod, key) * sizeof(key[0]);
    struct sl_plan_ask *ask = sl_map_get(&planner->asks.by_key, (const char *)key, len);
    if (ask != NULL) {
        ask->refs++;
        return ask;
    }
    ask = calloc(1, sizeof(*ask));
    if (ask == NULL) {
        return NULL;
    }
    ask->refs = 1;
    ask->pod = sl_pod_ref(pod);
    memcpy(ask->key, key, len);
    sl_pod_ask(pod, &ask->ask);
    sl_list_add_first(&planner->asks.all, &ask->all);
    planner->asks.changed = true;
    bool whole = sl_map_put(&planner->asks.by_key, (const char *)ask->key, len, ask, NULL) == 0;
    for (unsigned i = 0; whole && i < ask->ask.n; i++) {
        ask->lane[i] = sl_plan_lane_get(planner, &ask->ask.item[i]);
        whole = ask->lane[i] != NULL;
    }
    if (!whole) {
        ask_unref(planner, ask);
        sl_plan_lane_tidy(planner);
        return NULL;
    }
    sl_plan_touch(planner, SL_PLAN_RUN);
    return ask;
}

bool sl_plan_ask_move(struct sl_planner *planner, struct sl_plan_ask *ask)
{
    struct sl_plan_lane *to[SL_ASK_ITEMS_MAX] = {NULL};
    bool whole = true;
    for (unsigned i = 0; i < ask->ask.n && whole; i++) {
        to[i] = ask->lane[i];
        if (to[i] == planner->nowhere) {
            to[i] = sl_plan_lane_get(planner, &ask->ask.item[i]);
        } else if (to[i] != NULL) { /* it stays, also when no node offers it any more */
            to[i]->refs++;
        }
        whole = to[i] != NULL;
    }
    whole = whole && to[0] != NULL &&
            sl_vec_reserve(&to[0]->queue, &to[0]->queue_cap, (size_t)to[0]->members + ask->members,
                           sizeof(struct sl_plan_pod *)) == 0;
    if (whole) {
        ask->lane[0]->members -= ask->members;
        to[0]->members += ask->members;
    }
    for (unsigned i = 0; i < ask->ask.n; i++) {
        struct sl_plan_lane *left = whole ? ask->lane[i] : to[i];
        ask->lane[i] = whole ? to[i] : ask->lane[i];
        if (left != NULL) {
            left->refs--;
        }
    }
    planner->asks.changed = true;
    return whole;
}

struct sl_plan_ask *sl_plan_ask_first(const struct sl_planner *planner)
{
    return sl_plan_ask_at(planner->asks.all.first);
}

bool sl_plan_asks_changed(struct sl_planner *planner)
{
    bool changed = planner->asks.changed;
    planner->asks.changed = false;
    return changed;
}

/* ---- classes ---- */

bool sl_plan_class_is_of(const struct sl_plan_class *class, const struct sl_pod *pod)
{
    uint64_t key[HEAD + OWN + 3 * SL_ASK_ITEMS_MAX];
    size_t words = class_key(pod, key);
    return words == class->key_words && memcmp(key, class->key, words * sizeof(key[0])) == 0;
}

void sl_plan_class_unref(struct sl_planner *planner, struct sl_plan_class *class)
{
    class->refs--;
    if (class->refs > 0) {
        return;
    }
    sl_map_remove(&planner->asks.classes, (const char *)class->key,
                  class->key_words * sizeof(class->key[0]));
    if (class->ask != NULL) {
        ask_unref(planner, class->ask);
    }
    sl_pod_unref(class->pod);
    free(class);
}

struct sl_plan_class *sl_plan_class_get(struct sl_planner *planner, struct sl_pod *pod)
{
    uint64_t key[HEAD + OWN + 3 * SL_ASK_ITEMS_MAX];
    size_t words = class_key(pod, key);
    size_t len = words * sizeof(key[0]);
    struct sl_plan_class *class = sl_map_get(&planner->asks.classes, (const char *)key, len);
    if (class != NULL) {
        class->refs++;
        return class;
    }
    class = calloc(1, sizeof(*class) + len);
    if (class == NULL) {
        return NULL;
    }
    class->refs = 1;
    class->key_words = (uint32_t)words;
    class->pod = sl_pod_ref(pod);
    class->constraints = pod->constraints;
    class->weight = sl_constraints_looks(pod->constraints);
    memcpy(class->key, key, len);
    class->ask = ask_get(planner, pod);
    if (class->ask == NULL ||
        sl_map_put(&planner->asks.classes, (const char *)class->key, len, class, NULL) < 0) {
        sl_plan_class_unref(planner, class);
        return NULL;
    }
    return class;
}
