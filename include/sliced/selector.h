/* Label selectors, as kubectl -l takes them, matched against hashes of labels. */
#ifndef SLICED_SELECTOR_H
#define SLICED_SELECTOR_H

#include "util/error.h"
#include "util/str.h"

#include <stdint.h>

enum { SL_SELECTOR_TEXT_MAX = 1000, SL_SELECTOR_RULES_MAX = 32, SL_SELECTOR_HASHES_MAX = 96 };

/* A requirement on labels: one of hash[first..first + n) is there, or, negated, none of them. */
struct sl_selector_rule {
    uint16_t first;
    uint16_t n;
    bool negated;
};

struct sl_selector {
    uint16_t n_rules; /* 0: everything matches */
    uint16_t n_hashes;
    struct sl_selector_rule rule[SL_SELECTOR_RULES_MAX];
    uint64_t hash[SL_SELECTOR_HASHES_MAX];
};

/* Parses "key=value,key!=value,key in (a,b),key notin (a,b),key,!key"; empty text matches all. -1
 * with *err set. */
int sl_selector_parse(struct sl_str text, struct sl_selector *out, struct sl_error *err);

/* True when all rules hold. label: two sl_hash of each label, of "key" and of "key=value",
 * ascending, as in struct sl_pod. */
bool sl_selector_matches(const struct sl_selector *selector, const uint64_t *label,
                         uint32_t n_labels);

#endif
