/* The inner loops of the JSON tokenizer: pure functions over bytes, inlined into it. Two versions,
 * SSE2 and portable 64-bit words (SL_JSON_PORTABLE asks for the latter); both give the same. */
#ifndef SLICED_CODEC_JSON_SCAN_H
#define SLICED_CODEC_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__SSE2__) && !defined(SL_JSON_PORTABLE)
#define SL_JSON_SSE2 1
#else
#define SL_JSON_SSE2 0
#endif

/* Ends a run of plain text within a string: quote, backslash, control character, not ASCII. */
static inline int sl_scan_is_special(unsigned char c)
{
    return c < 0x20 || c >= 0x80 || c == '"' || c == '\\';
}

static inline const char *sl_scan_plain_bytes(const char *p, const char *end)
{
    while (p < end && !sl_scan_is_special((unsigned char)*p)) {
        p++;
    }
    return p;
}

static inline const char *sl_scan_plain_words(const char *p, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t tops = ones * 0x80;
    while (end - p >= 8) {
        uint64_t w;
        memcpy(&w, p, sizeof(w));
        uint64_t quote = w ^ (ones * '"');
        uint64_t slash = w ^ (ones * '\\');
        /* (x - ones) has a byte's top bit where that byte of x was 0, and maybe in bytes above */
        uint64_t hit =
            ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((w - ones * 0x20) & ~w) | w;
        if ((hit & tops) != 0) {
            break;
        }
        p += 8;
    }
    return sl_scan_plain_bytes(p, end);
}

static inline const char *sl_scan_spaces_bytes(const char *p, const char *end)
{
    while (p < end && *p == ' ') {
        p++;
    }
    return p;
}

#if defined(__SSE2__)
static inline unsigned sl_scan_special_mask(const char *p)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    /* signed: what is not ASCII is negative */
    __m128i hit = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'))),
        _mm_cmplt_epi8(x, _mm_set1_epi8(0x20)));
    return (unsigned)_mm_movemask_epi8(hit);
}

/* Less than 32 bytes are left at p. Not inlined: it would get in the way of the common case. */
static __attribute__((noinline, unused)) const char *
sl_scan_plain_tail(const char *begin, const char *p, const char *end)
{
    if (end - begin < 16) {
        return sl_scan_plain_words(p, end);
    }
    if (end - p >= 16) {
        unsigned mask = sl_scan_special_mask(p);
        if (mask != 0) {
            return p + __builtin_ctz(mask);
        }
    }
    /* the last 16 bytes, of which some were seen before and were plain */
    unsigned mask = sl_scan_special_mask(end - 16);
    return mask == 0 ? end : end - 16 + __builtin_ctz(mask);
}

static inline const char *sl_scan_plain_sse2(const char *p, const char *end)
{
    const char *begin = p;
    /* 32 at a time: nearly every string ends in the first step, which is one predictable branch */
    while (end - p >= 32) {
        unsigned mask = sl_scan_special_mask(p) | (sl_scan_special_mask(p + 16) << 16);
        if (mask != 0) {
            return p + __builtin_ctz(mask);
        }
        p += 32;
    }
    return sl_scan_plain_tail(begin, p, end);
}

static inline const char *sl_scan_spaces_sse2(const char *p, const char *end)
{
    while (end - p >= 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned same = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(' ')));
        if (same != 0xffffU) {
            return p + __builtin_ctz(~same);
        }
        p += 16;
    }
    return sl_scan_spaces_bytes(p, end);
}
#endif

/* The first special byte of [p, end), or end. */
static inline const char *sl_scan_plain(const char *p, const char *end)
{
#if SL_JSON_SSE2
    return sl_scan_plain_sse2(p, end);
#else
    return sl_scan_plain_words(p, end);
#endif
}

/* The first byte of [p, end) that is no space, or end. */
static inline const char *sl_scan_spaces(const char *p, const char *end)
{
#if SL_JSON_SSE2
    return sl_scan_spaces_sse2(p, end);
#else
    return sl_scan_spaces_bytes(p, end);
#endif
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
