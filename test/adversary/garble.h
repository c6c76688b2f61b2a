/* Lines as a network, or another API server, might write them. */
#ifndef SLICED_ADVERSARY_GARBLE_H
#define SLICED_ADVERSARY_GARBLE_H

#include <stddef.h>

#include "adversary/random.h"

/* Both take text, which malloc has made, and return what stands in its place. */

/* The same in other words: letters of strings, of keys as well, as escapes. */
char *garble_escape(struct rng *rng, char *text, size_t *len);
/* Something else: bytes that are no UTF-8 or no JSON, things said twice, things left out. */
char *garble_spoil(struct rng *rng, char *text, size_t *len);

#endif
