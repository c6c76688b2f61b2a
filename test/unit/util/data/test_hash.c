/* The keyed hash against the vectors that are published for SipHash-1-3, and what it is for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/test.h"
#include "util/data/hash.h"

/* Of the texts 00, 00 01, 00 01 02, ... under the key 00 01 ... 0f, the empty one first. */
static const uint64_t vectors[64] = {
    0xabac0158050fc4dc, 0xc9f49bf37d57ca93, 0x82cb9b024dc7d44d, 0x8bf80ab8e7ddf7fb,
    0xcf75576088d38328, 0xdef9d52f49533b67, 0xc50d2b50c59f22a7, 0xd3927d989bb11140,
    0x369095118d299a8e, 0x25a48eb36c063de4, 0x79de85ee92ff097f, 0x70c118c1f94dc352,
    0x78a384b157b4d9a2, 0x306f760c1229ffa7, 0x605aa111c0f95d34, 0xd320d86d2a519956,
    0xcc4fdd1a7d908b66, 0x9cf2689063dbd80c, 0x8ffc389cb473e63e, 0xf21f9de58d297d1c,
    0xc0dc2f46a6cce040, 0xb992abfe2b45f844, 0x7ffe7b9ba320872e, 0x525a0e7fdae6c123,
    0xf464aeb267349c8c, 0x45cd5928705b0979, 0x3a3e35e3ca9913a5, 0xa91dc74e4ade3b35,
    0xfb0bed02ef6cd00d, 0x88d93cb44ab1e1f4, 0x540f11d643c5e663, 0x2370dd1f8c21d1bc,
    0x81157b6c16a7b60d, 0x4d54b9e57a8ff9bf, 0x759f12781f2a753e, 0xcea1a3bebf186b91,
    0x2cf508d3ada26206, 0xb6101c2da3c33057, 0xb3f47496ae3a36a1, 0x626b57547b108392,
    0xc1d2363299e41531, 0x667cc1923f1ad944, 0x65704ffec8138825, 0x24f280d1c28949a6,
    0xc2ca1cedfaf8876b, 0xc2164bfc9f042196, 0xa16e9c9368b1d623, 0x49fb169c8b5114fd,
    0x9f3143f8df074c46, 0xc6fdaf2412cc86b3, 0x7eaf49d10a52098f, 0x1cf313559d292f9a,
    0xc44a30dda2f41f12, 0x36fae98943a71ed0, 0x318fb34c73f0bce6, 0xa27abf3670a7e980,
    0xb4bcc0db243c6d75, 0x23f8d852fdb71513, 0x8f035f4da67d8a08, 0xd89cd0e5b7e8f148,
    0xf6f4e6bcf7a644ee, 0xaec59ad80f1837f2, 0xc3b2f6154b6694e0, 0x9d199062b7bbb3a8,
};

static int forget_key(void **state)
{
    static const uint8_t none[SL_HASH_KEY] = {0};
    (void)state;
    sl_hash_set_key(none);
    return 0;
}

TEST_FIXTURE(NULL, forget_key)

TEST_THAT(the_published_vectors_come_out)
{
    uint8_t key[SL_HASH_KEY];
    for (unsigned i = 0; i < SL_HASH_KEY; i++) {
        key[i] = (uint8_t)i;
    }
    sl_hash_set_key(key);
    for (size_t len = 0; len < 64; len++) {
        /* a block of just that size, at any alignment: nothing beyond it is read */
        for (size_t shift = 0; shift < 8; shift++) {
            char *block = malloc(shift + len + 1);
            assert_non_null(block);
            for (size_t i = 0; i < len; i++) {
                block[shift + i] = (char)i;
            }
            assert_true(sl_hash(block + shift, len) == vectors[len]);
            free(block);
        }
    }
}

TEST_THAT(without_a_key_it_is_the_same_everywhere)
{
    assert_true(sl_hash("nvidia.com/gpu", 14) == sl_hash("nvidia.com/gpu", 14));
    assert_true(sl_hash("", 0) == UINT64_C(0xd1fba762150c532c));
    assert_true(sl_rank_hash("abc", 3) == sl_rank_hash("abc", 3));
}

/* Two texts that the hash without a key takes for one: its words can be undone one by one. */
TEST_THAT(texts_made_to_agree_are_told_apart)
{
    uint8_t key[SL_HASH_KEY] = {7};
    char a[24];
    char b[24];
    uint64_t word = 0;
    memcpy(a, "aaaaaaaabbbbbbbbcccccccc", sizeof a);
    memcpy(b, "AAAAAAAAbbbbbbbbcccccccc", sizeof b);
    /* h(a) ^ word = h(b) ^ word', where h is the state behind the first eight bytes */
    uint64_t h[2];
    const char *text[2] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        memcpy(&word, text[i], sizeof word);
        h[i] = ((UINT64_C(0xcbf29ce484222325) ^ sizeof a) ^ word) * UINT64_C(0x9fb21c651e98df25);
        h[i] ^= h[i] >> 32;
    }
    memcpy(&word, a + 8, sizeof word);
    word ^= h[0] ^ h[1];
    memcpy(b + 8, &word, sizeof word);
    assert_true(sl_rank_hash(a, sizeof a) == sl_rank_hash(b, sizeof b));
    for (unsigned i = 0; i < 2; i++) {
        assert_true(sl_hash(a, sizeof a) != sl_hash(b, sizeof b));
        sl_hash_set_key(key);
    }
}

TEST_THAT(another_key_is_another_hash)
{
    uint8_t key[SL_HASH_KEY] = {0};
    uint64_t before = sl_hash("nvidia.com/gpu", 14);
    uint64_t rank = sl_rank_hash("nvidia.com/gpu", 14);
    for (unsigned i = 0; i < SL_HASH_KEY; i++) {
        key[i] ^= 1;
        sl_hash_set_key(key);
        assert_true(sl_hash("nvidia.com/gpu", 14) != before);
        before = sl_hash("nvidia.com/gpu", 14);
    }
    assert_true(sl_rank_hash("nvidia.com/gpu", 14) == rank);
}
