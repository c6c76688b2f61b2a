/* The parsed annotation sliced.dev/after. */
#ifndef SLICED_CORE_STAGE_AFTER_H
#define SLICED_CORE_STAGE_AFTER_H

#include "sliced/selector.h"
#include "sliced/stage.h"

enum {
    SL_STAGE_RULES_MAX = SL_SELECTOR_RULES_MAX,   /* in all selectors of one annotation */
    SL_STAGE_HASHES_MAX = SL_SELECTOR_HASHES_MAX, /* values in them */
};

struct sl_stage_item {
    enum sl_stage_kind kind;
    struct sl_str text; /* a name, or the selector without its parentheses; borrowed */
    uint16_t rule;      /* SELECTOR: index of its first rule */
    uint16_t n_rules;
};

struct sl_after {
    uint16_t n, n_rules, n_hashes;
    struct sl_stage_item item[SL_STAGE_ITEMS_MAX];
    struct sl_selector_rule rule[SL_STAGE_RULES_MAX];
    uint64_t hash[SL_STAGE_HASHES_MAX]; /* as in struct sl_pod's label */
};

/* Parses the annotation's text; the items point into it. Returns -1 with *err naming the wrong item
 * and why. */
int sl_after_parse(struct sl_str text, struct sl_after *out, struct sl_error *err);

/* True when the labels, as in struct sl_pod, meet all rules. */
bool sl_stage_matches(const struct sl_selector_rule *rule, uint32_t n_rules, const uint64_t *hash,
                      const uint64_t *label, uint32_t n_labels);

/* True when the hash is among the labels, which ascend. */
bool sl_stage_has_label(const uint64_t *label, uint32_t n_labels, uint64_t hash);

#endif
