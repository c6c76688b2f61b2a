/* Hashes of texts: one under a key, to tell texts apart that users choose, and one without, to put
 * them in an order that is the same everywhere. */
#ifndef SLICED_UTIL_HASH_H
#define SLICED_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { SL_HASH_KEY = 16 };

/* SipHash-1-3 under the process' key: who does not know the key finds no two texts that agree.
 * Nothing that anybody sees may depend on its value. */
uint64_t sl_hash(const char *text, size_t len);

/* Sets the key, once, before there is a second thread or anything hashed. Without it the key is 0,
 * as in the simulator and in tests. */
void sl_hash_set_key(const uint8_t key[SL_HASH_KEY]);

/* Has no key: only for an order among what is told apart otherwise. Anybody can make two texts
 * agree. */
uint64_t sl_rank_hash(const char *text, size_t len);

#endif
