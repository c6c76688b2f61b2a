/* Counts and fills one allocation; see pack.h. */
#include "core/request/pack.h"

#include "core/request/known.h"

#include <stdlib.h>

void *sl_pack_words(struct sl_pack *at, size_t size)
{
    char *start = at->words == NULL ? NULL : at->words + at->n_words;
    at->n_words += size;
    return start;
}

const char *sl_pack_str(struct sl_pack *at, struct sl_str text, const char *none)
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

const char *sl_pack_text(struct sl_pack *at, const char *text)
{
    struct sl_str str = sl_str_of(text);
    const char *known = str.len == 0 ? NULL : sl_known_text(str);
    return known != NULL ? known : sl_pack_str(at, str, text == NULL ? NULL : "");
}

bool sl_pack_allocate(struct sl_pack *at)
{
    char *block = malloc(at->n_words + at->n_text);
    *at = (struct sl_pack){.words = block, .text = block == NULL ? NULL : block + at->n_words};
    return block != NULL;
}
