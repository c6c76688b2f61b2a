/* Two hashes of texts: one under a key tells texts of users apart; one without a key puts them in
 * an order that is the same everywhere. */
#ifndef SLICED_UTIL_HASH_H
#define SLICED_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { SL_HASH_KEY = 16 };

/* SipHash-1-3 under the process' key: nobody without the key finds two texts that collide. Nothing
 * visible may depend on its value. */
uint64_t sl_hash(const char *text, size_t len);

/* Sets the key; call it once, before a second thread starts and before anything is hashed. The
 * simulator and tests leave it 0. */
void sl_hash_set_key(const uint8_t key[SL_HASH_KEY]);

/* Has no key, so that anybody can make two texts collide: use it only to order what something else
 * tells apart. */
uint64_t sl_rank_hash(const char *text, size_t len);

#endif
