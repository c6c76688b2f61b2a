/* One allocation for parts that point to each other. The same code packs them twice: into no memory
 * first, which counts their bytes, then into an allocation of so many. So no part can be forgotten
 * in the sum. */
#ifndef SLICED_CORE_PACK_H
#define SLICED_CORE_PACK_H

#include "util/str.h"

/* Zeroed: it counts. Parts aligned to 8 bytes come first, then text. */
struct sl_pack {
    char *words; /* NULL while it counts */
    char *text;
    size_t n_words; /* bytes so far */
    size_t n_text;
};

/* Takes size bytes for a part; NULL while it counts: then nothing may be written there. */
static inline void *sl_pack_words(struct sl_pack *at, size_t size)
{
    char *start = at->words == NULL ? NULL : at->words + at->n_words;
    at->n_words += size;
    return start;
}

/* Copies the text and a NUL, if it has any bytes; none: what to return for an empty one. NULL while
 * it counts. */
static inline const char *sl_pack_str(struct sl_pack *at, struct sl_str text, const char *none)
{
    if (text.len == 0) {
        return none;
    }
    char *start = at->words == NULL ? NULL : at->text + at->n_text;
    at->n_text += text.len + 1;
    if (start != NULL) {
        memcpy(start, text.s, text.len);
        start[text.len] = '\0';
    }
    return start;
}

/* The same for a text that may be a known one (known.h), which takes no bytes; NULL and "" stay
 * what they are. */
const char *sl_pack_text(struct sl_pack *at, const char *text);

/* Allocates what was counted. The first part begins the block, which free() frees. False when out
 * of memory. */
bool sl_pack_allocate(struct sl_pack *at);

#endif
