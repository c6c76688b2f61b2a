/* What a mistyped key may have meant. */
#ifndef SLICED_CONFIG_SUGGEST_H
#define SLICED_CONFIG_SUGGEST_H

#include <stddef.h>

/* The path of the known key or section nearest to a path that is none: one that is spelt exactly so
 * in any section (letters' case aside), or almost so in the same. NULL when none is near. */
const char *sl_suggest_key(const char *path);

/* The names that may stand where the path stands: "a, b, c". */
void sl_suggest_list(const char *path, char *out, size_t size);

#endif
