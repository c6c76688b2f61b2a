/* Drains: keeps a node's free units from pods that would run past a certain time. */
#include "core/plan/nodes/nodes.h"

#include <stdlib.h>

void sl_plan_drain_end(struct sl_planner *planner, struct sl_plan_node *node)
{
    if (node->drain_us == 0) {
        return;
    }
    free(node->drain_for->drain_text);
    node->drain_for->drain_text = NULL;
    node->drain_us = 0;
    node->drain_for = NULL;
    planner->fleet.n_drains--;
    sl_plan_touch(planner, SL_PLAN_NODES | SL_PLAN_RUN);
    sl_plan_node_grown(planner, node);
}

size_t sl_plan_drains_count(const struct sl_planner *planner)
{
    return planner->fleet.n_drains;
}

bool sl_plan_drains(const struct sl_plan_node *node, uint64_t key)
{
    bool found = false;
    for (size_t i = 0; i < node->n_drain_keys; i++) {
        found = found || node->drain_key[i] == key;
    }
    return found;
}

static bool same_keys(const struct sl_plan_node *node, const uint64_t *key, size_t n)
{
    return n == 0 ||
           (n == node->n_drain_keys && memcmp(key, node->drain_key, n * sizeof(*key)) == 0);
}

void sl_planner_drain(struct sl_planner *planner, struct sl_str node, struct sl_str uid,
                      int64_t until_us, const uint64_t *key, size_t n)
{
    char name[SL_PLAN_NODE_NAME_MAX];
    if (node.len >= sizeof(name)) {
        return;
    }
    memcpy(name, node.s, node.len);
    name[node.len] = '\0';
    struct sl_plan_node *known = sl_plan_node_find(planner, name);
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    n = n < SL_NODE_POOLS_MAX ? n : SL_NODE_POOLS_MAX;
    if (known == NULL ||
        (known->drain_us == until_us && known->drain_for == pod && same_keys(known, key, n))) {
        return;
    }
    sl_plan_drain_end(planner, known);
    if (pod != NULL && until_us > planner->now_us) {
        known->drain_us = until_us;
        known->drain_for = pod;
        if (n > 0) {
            memcpy(known->drain_key, key, n * sizeof(*key));
            known->n_drain_keys = n;
        }
        planner->fleet.n_drains++;
        sl_plan_touch(planner, SL_PLAN_NODES | SL_PLAN_RUN);
    }
}

void sl_planner_set_drain_text(struct sl_planner *planner, const char *node, const char *text)
{
    const struct sl_plan_node *known = sl_plan_node_find(planner, node);
    size_t size = strlen(text) + 1;
    if (known == NULL || known->drain_us == 0) {
        return;
    }
    struct sl_plan_pod *pod = known->drain_for;
    free(pod->drain_text);
    pod->drain_text = malloc(size);
    if (pod->drain_text != NULL) { /* without memory nothing is said */
        memcpy(pod->drain_text, text, size);
    }
}

void sl_plan_drain_expire(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    for (size_t i = 0; i < planner->fleet.n && planner->fleet.n_drains > 0; i++) {
        struct sl_plan_node *node = planner->fleet.node[i];
        if (node->drain_us > 0 &&
            (node->drain_us <= planner->now_us || (pod != NULL && node->drain_for == pod))) {
            sl_plan_drain_end(planner, node);
        }
    }
}

int64_t sl_plan_drain_wake(const struct sl_planner *planner)
{
    int64_t wake = INT64_MAX;
    for (size_t i = 0; i < planner->fleet.n && planner->fleet.n_drains > 0; i++) {
        int64_t at_us = planner->fleet.node[i]->drain_us;
        wake = at_us > 0 && at_us < wake ? at_us : wake;
    }
    return wake;
}
