/* Counts and fills one allocation; see pack.h. */
#include "core/request/pack.h"

#include "core/request/known.h"

#include <stdlib.h>

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
