/* A pod's constraints while they are read, and how they get into the pod's one allocation. */
#ifndef SLICED_CORE_CONSTRAINT_DRAFT_H
#define SLICED_CORE_CONSTRAINT_DRAFT_H

#include "core/text.h"
#include "sliced/constraint.h"

struct sl_constraint_draft {
    struct sl_constraints constraints; /* points into the arrays, and to text of the facts */
    unsigned n_matches;
    unsigned n_values;
    size_t text; /* bytes of all keys and values */
    struct sl_match match[SL_CONSTRAINT_MATCHES_MAX];
    struct sl_match_term term[SL_CONSTRAINT_TERMS_MAX];
    struct sl_toleration toleration[SL_CONSTRAINT_TOLERATIONS_MAX];
    const char *value[SL_CONSTRAINT_VALUES_MAX];
};

/* Reads all but the requests of CPU and memory, which the caller has set; problem gets a sentence
 * for what is left out. NULL when the pod constrains nothing and requests nothing. */
const struct sl_constraints *sl_constraint_read(struct sl_constraint_draft *draft,
                                                const struct sl_pod_facts *facts,
                                                struct sl_text *problem);

/* Where the parts of an allocation go: first all that is aligned to 8 bytes, then text. */
struct sl_pack {
    char *words;
    char *text;
};

/* Adds what a copy takes of each; NULL takes nothing. */
void sl_constraint_measure(const struct sl_constraints *constraints, size_t *words, size_t *text);
const struct sl_constraints *sl_constraint_pack(const struct sl_constraints *constraints,
                                                struct sl_pack *at);

/* What a copy of the text takes (known ones none), and the copy. */
size_t sl_pack_text_size(const char *text);
const char *sl_pack_text(struct sl_pack *at, const char *text);

/* A label whose value is each node's own: its host name, the time of its last feature discovery. */
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
