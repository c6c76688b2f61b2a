/* The last values of each of many keys. A table of fixed size: the key least lately added to goes
 * first. Keys are told apart by a hash: sets of eight, so that some keys crowd others out while
 * there is still room elsewhere. */
#ifndef SLICED_UTIL_PAST_H
#define SLICED_UTIL_PAST_H

#include <stddef.h>
#include <stdint.h>

enum { SL_PAST_VALUES = 16 /* of a key, the last ones */ };

struct sl_past;

/* n: keys that it remembers, at least 8. NULL when out of memory. */
struct sl_past *sl_past_new(size_t n);
void sl_past_free(struct sl_past *past); /* NULL is allowed */

void sl_past_add(struct sl_past *past, uint64_t key, int32_t value);

/* Forgets all values of the key. */
void sl_past_forget(struct sl_past *past, uint64_t key);

/* The key's values in no certain order, *n of them; borrowed until the next addition. *n is 0 for a
 * key without any, and for a past that is NULL. */
const int32_t *sl_past_values(const struct sl_past *past, uint64_t key, unsigned *n);

#endif
