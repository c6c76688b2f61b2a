/* A borrowed piece of text: pointer and length, not NUL-terminated unless said. */
#ifndef SLICED_UTIL_STR_H
#define SLICED_UTIL_STR_H

#include "util/data/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sl_str {
    const char *s; /* NULL only when len is 0 */
    size_t len;
};

#define SL_STR(literal) ((struct sl_str){(literal), sizeof(literal) - 1})

static inline struct sl_str sl_str_of(const char *s)
{
    return (struct sl_str){s, s == NULL ? 0 : strlen(s)};
}

/* NULL for an empty text, and for NULL. */
static inline const char *sl_text_or_null(const char *text)
{
    return text == NULL || text[0] == '\0' ? NULL : text;
}

static inline bool sl_str_eq(struct sl_str a, struct sl_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.s, b.s, a.len) == 0);
}

static inline bool sl_str_starts(struct sl_str a, struct sl_str prefix)
{
    return a.len >= prefix.len && (prefix.len == 0 || memcmp(a.s, prefix.s, prefix.len) == 0);
}

static inline bool sl_str_ends(struct sl_str a, struct sl_str suffix)
{
    return a.len >= suffix.len && memcmp(a.s + (a.len - suffix.len), suffix.s, suffix.len) == 0;
}

/* Is it the pattern, or does it begin as a pattern that ends in "*"? */
static inline bool sl_str_like(struct sl_str text, const char *pattern)
{
    size_t len = strcspn(pattern, "*");
    struct sl_str begin = {pattern, len};
    return pattern[len] == '*' ? sl_str_starts(text, begin) : sl_str_eq(text, begin);
}

/* Takes the text before the first separator off the front of *rest, and drops the separator.
 * Without a separator it takes all and leaves rest->s NULL. */
struct sl_str sl_str_cut(struct sl_str *rest, char separator);

/* Reads a decimal integer with an optional '-'; false for anything else, and on overflow. */
bool sl_str_to_i64(struct sl_str text, int64_t *out);

#endif
