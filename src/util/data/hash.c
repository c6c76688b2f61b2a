/* SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, with the rounds
 * that hash tables use), and a plain multiplicative hash. */
#include "util/data/hash.h"

#include <string.h>

struct state {
    uint64_t v0;
    uint64_t v1;
    uint64_t v2;
    uint64_t v3;
};

/* The state for the key 0, until a key is set. */
static struct state start = {
    UINT64_C(0x736f6d6570736575),
    UINT64_C(0x646f72616e646f6d),
    UINT64_C(0x6c7967656e657261),
    UINT64_C(0x7465646279746573),
};

/* Eight bytes, the lowest first. */
static uint64_t read_word(const uint8_t *at)
{
    uint64_t word = 0;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

void sl_hash_set_key(const uint8_t key[SL_HASH_KEY])
{
    const uint64_t k0 = read_word(key);
    const uint64_t k1 = read_word(key + 8);
    start = (struct state){
        UINT64_C(0x736f6d6570736575) ^ k0,
        UINT64_C(0x646f72616e646f6d) ^ k1,
        UINT64_C(0x6c7967656e657261) ^ k0,
        UINT64_C(0x7465646279746573) ^ k1,
    };
}

static inline uint64_t turn(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void state_mix(struct state *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = turn(s->v1, 13) ^ s->v0;
    s->v3 = turn(s->v3, 16) ^ s->v2;
    s->v0 = turn(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = turn(s->v1, 17) ^ s->v2;
    s->v3 = turn(s->v3, 21) ^ s->v0;
    s->v2 = turn(s->v2, 32);
}

static inline void word_take(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    state_mix(s);
    s->v0 ^= word;
}

/* The last n bytes before end, less than eight. */
static uint64_t read_rest(const uint8_t *end, size_t n)
{
    uint64_t word = 0;
    for (; n > 0; n--) {
        word = word << 8 | *--end;
    }
    return word;
}

uint64_t sl_hash(const char *text, size_t len)
{
    const uint8_t *at = (const uint8_t *)text;
    struct state s = start;
    size_t left = len;
    uint64_t rest = 0;
    for (; left >= 8; left -= 8, at += 8) {
        word_take(&s, read_word(at));
    }
    if (left > 0) {
        rest = len >= 8 ? read_word(at + left - 8) >> (64 - 8 * left) : read_rest(at + left, left);
    }
    word_take(&s, (uint64_t)len << 56 | rest);
    s.v2 ^= 0xff;
    state_mix(&s);
    state_mix(&s);
    state_mix(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* ---- the same in every process ---- */

static uint64_t plain_word(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
    return h ^ (h >> 32);
}

uint64_t sl_rank_hash(const char *text, size_t len)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ len;
    uint64_t word = 0;
    size_t at = 0;
    for (; at + sizeof(word) < len; at += sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        h = plain_word(h, word);
    }
    /* the last word may overlap the one before it */
    if (len >= sizeof(word)) {
        memcpy(&word, text + (len - sizeof(word)), sizeof(word));
    } else if (len > 0) {
        memcpy(&word, text, len);
    }
    h = plain_word(h, word);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ (h >> 32);
}
