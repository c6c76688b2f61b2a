/* Keeps what constraints look at: labels, taints, and allocatable beside GPUs. */
#include <stdlib.h>

#include "core/node/draft.h"
#include "core/request/constraint_draft.h"
#include "core/request/count.h"
#include "sliced/quantity.h"

static int64_t allocatable(const struct sl_draft *draft, struct sl_str name,
                           enum sl_quantity_result (*measure)(struct sl_quantity q, int64_t *out))
{
    const struct sl_pair *pair = sl_pair_find(draft->facts->allocatable, name);
    struct sl_quantity q = {0};
    int64_t value = 0;
    if (pair == NULL || sl_quantity_parse(pair->value.s, pair->value.len, &q) != SL_QUANTITY_OK ||
        measure(q, &value) != SL_QUANTITY_OK || value < 0) {
        return -1;
    }
    return value < SL_HOST_MAX ? value : SL_HOST_MAX - 1; /* the largest ask never fits */
}

static void count_labels(struct sl_draft *draft)
{
    const struct sl_pair *pair = draft->facts->labels;
    for (; pair != NULL && draft->n_labels < SL_NODE_LABELS_MAX; pair = pair->next) {
        draft->n_labels++;
    }
    if (pair != NULL) {
        sl_draft_problem(draft, "metadata.labels: more than ");
        sl_text_i64(&draft->problem, SL_NODE_LABELS_MAX);
        sl_text_puts(&draft->problem, ": the rest is ignored");
    }
}

static void count_taints(struct sl_draft *draft)
{
    const struct sl_taint_facts *taint = draft->facts->taints;
    for (; taint != NULL && draft->n_taints < SL_NODE_TAINTS_MAX; taint = taint->next) {
        draft->n_taints++;
    }
    if (taint != NULL) {
        sl_draft_problem(draft, "spec.taints: more than ");
        sl_text_i64(&draft->problem, SL_NODE_TAINTS_MAX);
        sl_text_puts(&draft->problem, ": the rest is ignored");
    }
}

void sl_draft_site(struct sl_draft *draft)
{
    draft->n_labels = 0;
    draft->n_taints = 0;
    count_labels(draft);
    count_taints(draft);
    draft->host = (struct sl_host){
        .cpu_milli = allocatable(draft, SL_STR("cpu"), sl_quantity_milli),
        .memory_bytes = allocatable(draft, SL_STR("memory"), sl_quantity_ceil),
        .pods = allocatable(draft, SL_STR("pods"), sl_quantity_ceil),
    };
}

/* ---- filling in ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct sl_label *)a)->key, ((const struct sl_label *)b)->key);
}

/* Copies the text; "" when the facts have none. */
static const char *text_or_empty(struct sl_pack *at, struct sl_str text)
{
    return text.len == 0 ? "" : sl_pack_text(at, text.s);
}

static void pack_labels(const struct sl_draft *draft, struct sl_node *node, struct sl_pack *at)
{
    struct sl_label *label = sl_pack_words(at, draft->n_labels * sizeof(*label));
    const struct sl_pair *pair = draft->facts->labels;
    for (unsigned i = 0; i < draft->n_labels; i++, pair = pair->next) {
        struct sl_label one = {.key = text_or_empty(at, pair->key)};
        one.value = text_or_empty(at, pair->value);
        if (label != NULL) {
            label[i] = one;
        }
    }
    if (label != NULL) {
        qsort(label, draft->n_labels, sizeof(*label), by_key);
    }
    node->label = label;
    node->n_labels = (uint16_t)draft->n_labels;
}

static enum sl_taint_effect effect_of(struct sl_str text)
{
    if (sl_str_eq(text, SL_STR("NoSchedule"))) {
        return SL_TAINT_NO_SCHEDULE;
    }
    return sl_str_eq(text, SL_STR("NoExecute")) ? SL_TAINT_NO_EXECUTE : SL_TAINT_PREFER_NO_SCHEDULE;
}

static void pack_taints(const struct sl_draft *draft, struct sl_node *node, struct sl_pack *at)
{
    struct sl_taint *taint = sl_pack_words(at, draft->n_taints * sizeof(*taint));
    const struct sl_taint_facts *from = draft->facts->taints;
    for (unsigned i = 0; i < draft->n_taints; i++, from = from->next) {
        struct sl_taint one = {.key = text_or_empty(at, from->key)};
        one.value = text_or_empty(at, from->value);
        one.effect = (uint8_t)effect_of(from->effect);
        if (taint != NULL) {
            taint[i] = one;
        }
    }
    node->taint = taint;
    node->n_taints = (uint16_t)draft->n_taints;
}

/* Digests the labels whose values are unique to a node, or all others. */
static uint64_t digest_labels(const struct sl_node *node, bool own, uint64_t h)
{
    for (unsigned i = 0; i < node->n_labels; i++) {
        if (sl_label_is_own(node->label[i].key) == own) {
            h = sl_mix_text(sl_mix_text(h, node->label[i].key), node->label[i].value);
        }
    }
    return h;
}

/* Leaves out taints that keep no pod away, and labels whose values are unique to a node. */
static uint64_t digest(const struct sl_node *node)
{
    uint64_t h = digest_labels(node, false, sl_mix(1, node->unschedulable));
    for (unsigned i = 0; i < node->n_taints; i++) {
        if (node->taint[i].effect != SL_TAINT_PREFER_NO_SCHEDULE) {
            h = sl_mix_text(sl_mix_text(h, node->taint[i].key), node->taint[i].value);
            h = sl_mix(h, node->taint[i].effect);
        }
    }
    return h;
}

void sl_draft_site_pack(const struct sl_draft *draft, struct sl_node *node, struct sl_pack *at)
{
    pack_labels(draft, node, at);
    pack_taints(draft, node, at);
    node->host = draft->host;
    node->unschedulable = draft->facts->unschedulable;
    if (node->label != NULL) {
        node->site_digest = digest(node);
        node->own_digest = digest_labels(node, true, node->site_digest);
    }
}
