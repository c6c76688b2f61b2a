/* See show.h. */
#include "util/show.h"

/* Unicode 15: controls, separators of lines and paragraphs, marks of direction, and what has no
 * width but joins nothing that people write. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f}, {0x00ad, 0x00ad}, {0x061c, 0x061c},   {0x115f, 0x1160},
    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},
    {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static bool is_hidden(uint32_t code)
{
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        if (code >= hidden[i].first && code <= hidden[i].last) {
            return true;
        }
    }
    return false;
}

/* The length of the text's first character, and its code; 0 when it is no UTF-8. */
static size_t char_decode(struct sl_str text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char c = (unsigned char)text.s[0];
    size_t len = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;
    if (len == 0 || len > text.len) {
        return 0;
    }
    *code = len == 1 ? c : c & (0xffU >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        unsigned char more = (unsigned char)text.s[i];
        if ((more & 0xc0) != 0x80) {
            return 0;
        }
        *code = *code << 6 | (more & 0x3fU);
    }
    bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return *code < least[len] || *code > 0x10ffff || surrogate ? 0 : len;
}

static size_t put_escape(uint32_t unit, char *out)
{
    static const char hex[] = "0123456789abcdef";
    out[0] = '\\';
    out[1] = 'u';
    for (unsigned i = 0; i < 4; i++) {
        out[2 + i] = hex[(unit >> (12 - 4 * i)) & 0xf];
    }
    return 6;
}

size_t sl_show_next(struct sl_str *rest, char out[SL_SHOWN_MAX])
{
    struct sl_str text = *rest;
    uint32_t code = 0;
    size_t len = char_decode(text, &code);
    size_t taken = len == 0 ? 1 : len;
    *rest = (struct sl_str){text.s + taken, text.len - taken};
    if (len == 0) {
        static const char replacement[] = {(char)0xef, (char)0xbf, (char)0xbd};
        memcpy(out, replacement, sizeof(replacement));
        return sizeof(replacement);
    }
    if (!is_hidden(code)) {
        memcpy(out, text.s, len);
        return len;
    }
    if (code < 0x10000) {
        return put_escape(code, out);
    }
    code -= 0x10000;
    len = put_escape(0xd800 + (code >> 10), out);
    return len + put_escape(0xdc00 + (code & 0x3ff), out + len);
}

size_t sl_show(struct sl_str text, char *out, size_t size)
{
    char shown[SL_SHOWN_MAX];
    size_t len = 0;
    while (text.len > 0) {
        size_t n = sl_show_next(&text, shown);
        if (n > size - 1 - len) {
            break;
        }
        memcpy(out + len, shown, n);
        len += n;
    }
    out[len] = '\0';
    return len;
}
