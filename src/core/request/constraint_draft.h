/* A pod's constraints while they are read, and their copying into the pod's one allocation. */
#ifndef SLICED_CORE_CONSTRAINT_DRAFT_H
#define SLICED_CORE_CONSTRAINT_DRAFT_H

#include "core/request/pack.h"
#include "core/request/text.h"
#include "sliced/constraint.h"

struct sl_constraint_draft {
    struct sl_constraints constraints; /* points into the arrays below and to text of the facts */
    unsigned n_matches;
    unsigned n_values;
    size_t text;        /* bytes of all keys and values */
    bool said_affinity; /* that an operator of it is not known */
    bool said_tolerations;
    struct sl_match match[SL_CONSTRAINT_MATCHES_MAX];
    struct sl_match_term term[SL_CONSTRAINT_TERMS_MAX];
    struct sl_toleration toleration[SL_CONSTRAINT_TOLERATIONS_MAX];
    const char *value[SL_CONSTRAINT_VALUES_MAX];
};

/* Reads the constraints except the requests of CPU and memory, which the caller has set; adds a
 * sentence to problem for each part left out. NULL when the pod has neither constraints nor
 * requests. */
const struct sl_constraints *sl_constraint_read(struct sl_constraint_draft *draft,
                                                const struct sl_pod_facts *facts,
                                                struct sl_text *problem);

/* Copies them; NULL stays NULL, as it is while the pack counts. */
const struct sl_constraints *sl_constraint_pack(const struct sl_constraints *constraints,
                                                struct sl_pack *at);

/* True for labels whose values are unique to a node: its host name, the time of its feature
 * discovery, the name of its cut. */
bool sl_label_is_own(const char *key);

static inline uint64_t sl_mix(uint64_t h, uint64_t value)
{
    const uint64_t both[] = {h, value};
    return sl_hash((const char *)both, sizeof(both));
}

static inline uint64_t sl_mix_text(uint64_t h, const char *text)
{
    return sl_mix(h, text == NULL ? 0 : sl_hash(text, strlen(text)));
}

#endif
