/* The tokenizer's inner loops against the plainest way to write them, at every alignment. */
#include "codec/stream/json_scan.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit/test.h"

enum { LONGEST = 100 };

static const char *plain_byte_by_byte(const char *p, const char *end)
{
    while (p < end && !sl_scan_is_special((unsigned char)*p)) {
        p++;
    }
    return p;
}

TEST_THAT(stops_at_each_special_byte_wherever_it_stands)
{
    for (unsigned c = 0; c < 256; c++) {
        int special = c < 0x20 || c == '"' || c == '\\' || c >= 0x80;
        for (size_t at = 0; at < LONGEST; at += c % 7 + 1) {
            char *text = malloc(LONGEST); /* of just that size, for the sanitizer */
            memset(text, 'x', LONGEST);
            text[at] = (char)c;
            const char *stop = sl_scan_plain(text, text + LONGEST);
            assert_int_equal(stop - text, special ? at : LONGEST);
            free(text);
        }
    }
}

static unsigned draw(unsigned below)
{
    static uint64_t seed = 1;
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

TEST_THAT(finds_the_first_of_many_special_bytes)
{
    static const char alphabet[] = "ab\"\\\x1f\x80\xff !#[]";
    for (int round = 0; round < 20000; round++) {
        char text[LONGEST];
        size_t from = draw(40);
        size_t to = from + draw((unsigned)(LONGEST - from));
        for (size_t i = 0; i < LONGEST; i++) {
            text[i] = draw(8) != 0 ? 'a' : alphabet[draw(sizeof(alphabet) - 1)];
        }
        const char *expected = plain_byte_by_byte(text + from, text + to);
        assert_ptr_equal(sl_scan_plain(text + from, text + to), expected);
    }
}

TEST_THAT(counts_spaces_and_nothing_else)
{
    for (size_t at = 0; at <= LONGEST; at++) {
        char *text = malloc(LONGEST + 1);
        memset(text, ' ', LONGEST + 1);
        text[at] = at % 2 == 0 ? '\n' : (char)0xa0;
        assert_ptr_equal(sl_scan_spaces(text, text + LONGEST), text + at);
        free(text);
    }
}

/* Every code point, and every sequence of up to three bytes, against the definition. */

static int is_scalar(uint32_t code)
{
    return code < 0xd800 || (code > 0xdfff && code <= 0x10ffff);
}

/* By decoding: right length for the code, no surrogate, in range. */
static int reference_length(const unsigned char *p, size_t n)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t i = 0; i < 3; i++) {
        if ((p[0] & forms[i].mask) == forms[i].lead && n >= i + 2) {
            uint32_t code = p[0] & (unsigned char)~forms[i].mask;
            for (size_t k = 1; k < i + 2; k++) {
                if ((p[k] & 0xc0) != 0x80) {
                    return -1;
                }
                code = code << 6 | (p[k] & 0x3f);
            }
            return code >= forms[i].least && is_scalar(code) ? (int)i + 2 : -1;
        }
    }
    return -1;
}

TEST_THAT(accepts_the_utf8_of_every_code_point)
{
    for (uint32_t code = 0x80; code <= 0x10ffff; code++) {
        char text[4];
        if (is_scalar(code)) {
            size_t n = sl_utf8_encode(code, text);
            assert_int_equal(sl_utf8_length(text, text + n), n);
            assert_int_equal(reference_length((const unsigned char *)text, n), n);
        }
    }
}

TEST_THAT(refuses_every_other_sequence)
{
    static const unsigned char thirds[] = {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff};
    for (unsigned a = 0x80; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            for (size_t c = 0; c < 36; c++) {
                unsigned char text[4] = {(unsigned char)a, (unsigned char)b, thirds[c / 6],
                                         thirds[c % 6]};
                int expected = reference_length(text, 4);
                assert_int_equal(sl_utf8_length((char *)text, (char *)text + 4), expected);
            }
        }
    }
}

TEST_THAT(says_that_a_character_is_cut_at_the_end)
{
    const char text[] = "\xf0\x9f\x98\x80";
    assert_int_equal(sl_utf8_length(text, text + 1), SL_UTF8_CUT);
    assert_int_equal(sl_utf8_length(text, text + 3), SL_UTF8_CUT);
    assert_int_equal(sl_utf8_length(text, text + 4), 4);
    const char bad[] = "\xf0\x8f";
    assert_int_equal(sl_utf8_length(bad, bad + 2), SL_UTF8_BAD);
}
