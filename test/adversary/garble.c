#include "adversary/garble.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *room_for(size_t n)
{
    char *text = malloc(n + 1);
    if (text == NULL) {
        abort();
    }
    return text;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '.';
}

char *garble_escape(struct rng *rng, char *text, size_t *len)
{
    enum { ESCAPE = 6 };
    char *out = room_for(*len * ESCAPE);
    size_t n = 0;
    bool inside = false;
    for (size_t i = 0; i < *len; i++) {
        if (inside && text[i] == '\\') { /* an escape stays whole, with the digits of \u001B */
            size_t escape = text[i + 1] == 'u' ? ESCAPE : 2;
            memcpy(out + n, text + i, escape);
            n += escape;
            i += escape - 1;
        } else if (inside && is_letter(text[i]) && rng_chance(rng, 3)) {
            n += (size_t)snprintf(out + n, ESCAPE + 1, rng_chance(rng, 50) ? "\\u%04x" : "\\u%04X",
                                  (unsigned)text[i]);
        } else {
            inside = text[i] == '"' ? !inside : inside;
            out[n++] = text[i];
        }
    }
    free(text);
    out[n] = '\0';
    *len = n;
    return out;
}

/* Puts other bytes in the place of len at that place. */
static char *replace(char *text, size_t *size, size_t at, size_t len, const char *with, size_t n)
{
    char *out = room_for(*size - len + n);
    memcpy(out, text, at);
    memcpy(out + at, with, n);
    memcpy(out + at + n, text + at + len, *size - at - len);
    *size = *size - len + n;
    out[*size] = '\0';
    free(text);
    return out;
}

static char *spoil_once(struct rng *rng, char *text, size_t *len)
{
    static const char *const parts[] = {"\xff",
                                        "\xc0\x80",
                                        "\xed\xa0\x80",
                                        "\x80",
                                        "\"",
                                        "\\",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "\n",
                                        "\\u0000",
                                        ",",
                                        "\\ud800",
                                        "\\uD834\\u0041",
                                        "\"a\":1,",
                                        "null",
                                        "-",
                                        "1e999",
                                        "\t",
                                        "\\x",
                                        ":",
                                        "\x1b[31m",
                                        "\"metadata\":{},",
                                        "\"spec\":null,",
                                        "\"status\":{\"phase\":\"Failed\"},"};
    static const char nul[] = {'\0'};
    size_t at = rng_next(rng) % (*len + 1);
    size_t left = *len - at;
    size_t part = left == 0 ? 0 : rng_next(rng) % (left < 200 ? left : 200);
    const char *with = rng_pick(rng, parts);
    const char *quote = memchr(text + at, '"', left);
    switch (rng_below(rng, 6)) {
    case 0:
        return replace(text, len, at, 0, nul, sizeof(nul));
    case 1:
        return replace(text, len, at, left == 0 ? 0 : 1, with, strlen(with));
    case 2:
        return replace(text, len, at, part, "", 0);
    case 3: { /* once more */
        char *copy = room_for(part);
        memcpy(copy, text + at, part);
        text = replace(text, len, at, 0, copy, part);
        free(copy);
        return text;
    }
    case 4: /* the rest of it never comes */
        return replace(text, len, at, left, "\n", 1);
    default: /* where a key or a text begins */
        return replace(text, len, quote == NULL ? at : (size_t)(quote - text), 0, with,
                       strlen(with));
    }
}

char *garble_spoil(struct rng *rng, char *text, size_t *len)
{
    unsigned n = 1 + rng_below(rng, 3);
    for (unsigned i = 0; i < n; i++) {
        text = spoil_once(rng, text, len);
    }
    return text;
}
