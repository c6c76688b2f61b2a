/* The inner loops of the JSON tokenizer: pure functions over bytes, eight at a time, inlined into
 * it.
 */
#ifndef SLICED_CODEC_JSON_SCAN_H
#define SLICED_CODEC_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SL_SCAN_WORD = sizeof(uint64_t) };

/* Eight bytes, the first in the lowest place. */
static inline uint64_t sl_scan_word(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Eight times the byte. */
static inline uint64_t sl_scan_fill(unsigned char byte)
{
    return UINT64_C(0x0101010101010101) * byte;
}

/* The place of the lowest byte that has a bit. */
static inline int sl_scan_lowest(uint64_t word)
{
    return __builtin_ctzll(word) / 8;
}

/* Ends a run of plain text within a string: quote, backslash, control character, not ASCII. */
static inline int sl_scan_is_special(unsigned char c)
{
    return c < 0x20 || c >= 0x80 || c == '"' || c == '\\';
}

/* The first special byte of [p, end), or end. */
static inline const char *sl_scan_plain(const char *p, const char *end)
{
    for (; end - p >= SL_SCAN_WORD; p += SL_SCAN_WORD) {
        uint64_t word = sl_scan_word(p);
        /* A subtraction sets the top bit of a byte that it takes below 0, and may borrow from those
         * above: the lowest is right. Bytes that had their top bit before are not ASCII. */
        uint64_t hit =
            (((word ^ sl_scan_fill('"')) - sl_scan_fill(1)) |
             ((word ^ sl_scan_fill('\\')) - sl_scan_fill(1)) | (word - sl_scan_fill(0x20)) | word) &
            sl_scan_fill(0x80);
        if (hit != 0) {
            return p + sl_scan_lowest(hit);
        }
    }
    while (p < end && !sl_scan_is_special((unsigned char)*p)) {
        p++;
    }
    return p;
}

/* The first byte of [p, end) that is no space, or end. */
static inline const char *sl_scan_spaces(const char *p, const char *end)
{
    for (; end - p >= SL_SCAN_WORD; p += SL_SCAN_WORD) {
        uint64_t other = sl_scan_word(p) ^ sl_scan_fill(' ');
        if (other != 0) {
            return p + sl_scan_lowest(other);
        }
    }
    while (p < end && *p == ' ') {
        p++;
    }
    return p;
}

/* ---- UTF-8, byte by byte (Unicode 15, table 3-7) ---- */

struct sl_utf8 {
    unsigned char need; /* continuation bytes still to come */
    unsigned char low;  /* range of the next one */
    unsigned char high;
};

/* A byte >= 0x80 that stands where a character begins; 0 when none can begin so. */
static inline int sl_utf8_begin(struct sl_utf8 *u, unsigned char c)
{
    u->low = 0x80;
    u->high = 0xbf;
    if (c >= 0xc2 && c <= 0xdf) {
        u->need = 1;
    } else if (c >= 0xe0 && c <= 0xef) {
        u->need = 2;
        u->low = c == 0xe0 ? 0xa0 : 0x80;
        u->high = c == 0xed ? 0x9f : 0xbf;
    } else if (c >= 0xf0 && c <= 0xf4) {
        u->need = 3;
        u->low = c == 0xf0 ? 0x90 : 0x80;
        u->high = c == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0;
    }
    return 1;
}

/* The next continuation byte; 0 when it is none that may stand here. */
static inline int sl_utf8_next(struct sl_utf8 *u, unsigned char c)
{
    if (c < u->low || c > u->high) {
        return 0;
    }
    u->need--;
    u->low = 0x80;
    u->high = 0xbf;
    return 1;
}

enum { SL_UTF8_CUT = 0, SL_UTF8_BAD = -1 };

/* Length of the character that begins at p with a byte >= 0x80, SL_UTF8_CUT when the text ends
 * within it, SL_UTF8_BAD. */
static inline int sl_utf8_length(const char *p, const char *end)
{
    struct sl_utf8 u;
    if (!sl_utf8_begin(&u, (unsigned char)*p)) {
        return SL_UTF8_BAD;
    }
    int length = 1;
    while (u.need > 0) {
        if (p + length == end) {
            return SL_UTF8_CUT;
        }
        if (!sl_utf8_next(&u, (unsigned char)p[length])) {
            return SL_UTF8_BAD;
        }
        length++;
    }
    return length;
}

/* Writes a code point (no surrogate) and returns how many bytes it took. */
static inline size_t sl_utf8_encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(unsigned char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(unsigned char)(lead[n] | code);
    return n;
}

#endif
